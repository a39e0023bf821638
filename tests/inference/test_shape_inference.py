"""`gather_infer.shape_inference` in the place of `onnx.shape_inference`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, TypeProto, helper, numpy_helper, parser

import gather_infer
from gather_infer import infer, shape_inference
from gather_infer.shape_inference import (
    InferenceError,
    infer_function_output_types,
    infer_node_outputs,
    infer_shapes,
    infer_shapes_path,
)
from tests.onnx_versions import needs_onnx


def model(text: str, header: str = 'ir_version: 9, opset_import: ["" : 18]') -> ModelProto:
    return parser.parse_model(f"<{header}>\n{text}")


def dims(proto: TypeProto) -> list[int | str]:
    return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in proto.tensor_type.shape.dim]


def shapes(proto: ModelProto) -> dict[str, list[int | str]]:
    return {v.name: dims(v.type) for v in (*proto.graph.value_info, *proto.graph.output)}


def tensor(*shape: int | str | None, dtype: int = TensorProto.FLOAT) -> TypeProto:
    return helper.make_tensor_type_proto(dtype, shape)


def test_the_import_can_be_switched() -> None:
    proto = model("g (float[N, 3] x) => (float y) { z = Concat<axis = 0>(x, x) y = ReduceSum<keepdims = 0>(z) }")
    found = {module: module.infer_shapes(proto, strict_mode=True) for module in (onnx.shape_inference, shape_inference)}
    assert shapes(found[onnx.shape_inference])["z"] == ["unk__0", 3]
    assert shapes(found[shape_inference])["z"] == ["2*N", 3]
    assert shape_inference.InferenceError is onnx.shape_inference.InferenceError


def test_bytes_are_a_model_too() -> None:
    proto = model("g (float[2] x) => (y) { z = Relu(x) y = Relu(z) }")
    assert infer_shapes(proto.SerializeToString()) == infer_shapes(proto)
    assert shapes(infer_shapes(proto)) == {"z": [2], "y": [2]}
    assert shapes(proto) == {"y": []}, "the argument stays as it is"
    assert infer_shapes(b"") == ModelProto(graph={})


def test_unknown_sizes_are_named_as_onnx_names_them() -> None:
    proto = model(
        'g (float[N, "unk__0"] x) => (int64[2, K] y) {'
        " i = NonZero(x) y = Relu(i) twice = Concat<axis = 1>(i, i) r = Relu(x) j = NonZero(r) }"
    )
    found = shapes(infer_shapes(proto))
    assert found["i"] == [2, "unk__1"]
    assert found["twice"] == [2, "2*unk__1"]
    assert found["j"] == [2, "unk__2"], "of another tensor, another symbol"
    assert found["y"] == [2, "K"], "what is declared stays"


def test_declarations_are_completed() -> None:
    proto = model(
        "g (float[N, 3] x, float[4, ?] w) => (float[?, ?] y) <float[rows, ?] z, float[?, 9] v>"
        " { z = Relu(x) v = Relu(w) y = Relu(z) }"
    )
    proto.graph.value_info[0].doc_string = "kept"
    done = infer_shapes(proto)
    assert shapes(done) == {"z": ["rows", 3], "v": [4, 9], "y": ["N", 3]}
    assert done.graph.value_info[0].doc_string == "kept"
    assert infer_shapes(done) == done


def test_a_contradiction_is_an_error_of_strict_mode() -> None:
    proto = model("g (float[2, 3] x) => (float[2, 3] y) <float[2, 4] z> { z = Relu(x) y = Relu(z) }")
    assert shapes(infer_shapes(proto))["z"] == [2, 4]
    with pytest.raises(InferenceError, match="z is declared"):
        infer_shapes(proto, strict_mode=True)


def test_a_node_in_error_is_an_error_of_strict_mode() -> None:
    proto = model("g (float[2, 3] x) => (y) { z = MatMul(x, x) w = Relu(x) y = Relu(z) }")
    assert shapes(infer_shapes(proto))["w"] == [2, 3]
    with pytest.raises(InferenceError, match="MatMul"):
        infer_shapes(proto, strict_mode=True)


def test_element_types_are_checked_on_demand() -> None:
    proto = model("g (int64[2] x) => (y) { y = Sigmoid(x) }")
    for strict in (False, True):
        assert shapes(infer_shapes(proto, strict_mode=strict))["y"] == [2]
        with pytest.raises(InferenceError, match="Sigmoid-13 allows no int64"):
            infer_shapes(proto, check_type=True, strict_mode=strict)


def test_a_domain_that_is_not_imported_is_an_error_always() -> None:
    with pytest.raises(InferenceError, match="imports no opset"):
        infer_shapes(model("g (float[2] x) => (y) { y = far.Away(x) }"))


def test_an_operator_of_nobody_is_no_error() -> None:
    proto = model("g (float[2] x) => (float[2] y) { z = far.Away(x) y = Relu(z) }", 'ir_version: 9, opset_import: ["" : 18, "far" : 1]')  # fmt: skip
    assert infer_shapes(proto, strict_mode=True) == proto


def test_an_initializer_is_a_constant_even_if_it_is_an_input() -> None:
    proto = model("g (float[N] x, int64[2] s = {3, -1}) => (y) { y = Reshape(x, s) }")
    assert shapes(infer_shapes(proto)) == {"y": [3, "N//3"]}
    assert [i.name for i in infer_shapes(proto).graph.input] == ["x", "s"]


def test_subgraphs_are_filled_in() -> None:
    proto = model(
        "g (float[N, 3] x, bool c) => (y) { y = If (c)"
        " <then_branch = a () => (u) { t = Relu(x) u = Relu(t) }, else_branch = b () => (v) { v = Relu(x) }> }"
    )
    branch = infer_shapes(proto).graph.node[0].attribute[0].g
    assert [(v.name, dims(v.type)) for v in (*branch.value_info, *branch.output)] == [("t", ["N", 3]), ("u", ["N", 3])]


@pytest.mark.parametrize("wrong", ["model.onnx", Path("model.onnx"), 3, None])
def test_other_kinds_of_objects(wrong: Any) -> None:
    with pytest.raises(TypeError, match="only accepts ModelProto or bytes"):
        infer_shapes(wrong)


def test_bytes_that_are_no_model() -> None:
    with pytest.raises(ValueError, match="Unable to parse proto"):
        infer_shapes(b"no model")


def test_from_file_to_file(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.zeros((512, 1024), np.float32), "w")  # past what is parsed whole
    proto = model("g (float[N, 512] x) => (y) { z = MatMul(x, w) y = Relu(z) }")
    proto.graph.initializer.append(weight)
    source, target = tmp_path / "source.onnx", tmp_path / "target.onnx"
    source.write_bytes(proto.SerializeToString())
    infer_shapes_path(source, str(target))
    assert onnx.load(target) == infer_shapes(proto)
    assert onnx.load(source) == proto
    infer_shapes_path(str(source))
    assert source.read_bytes() == target.read_bytes()


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    good = tmp_path / "good.onnx"
    good.write_bytes(model("g (float[2] x) => (y) { y = Relu(x) }").SerializeToString())
    with pytest.raises(onnx.checker.ValidationError, match="absent"):
        infer_shapes_path(tmp_path / "absent.onnx")
    with pytest.raises(onnx.checker.ValidationError):
        infer_shapes_path(good, tmp_path / "absent" / "out.onnx")
    with pytest.raises(TypeError, match="only accepts model Path"):
        infer_shapes_path(onnx.load(good))
    with pytest.raises(TypeError, match="incorrect model path type"):
        infer_shapes_path(3)  # type: ignore[arg-type]  # what callers without types may say
    with pytest.raises(TypeError, match="incorrect output path type"):
        infer_shapes_path(good, 3)  # type: ignore[arg-type]  # as above


def test_outputs_of_a_node() -> None:
    node = helper.make_node("Gather", ["data", "indices"], ["result"], axis=1)
    given = {"data": tensor("N", 7, None), "indices": tensor(2, dtype=TensorProto.INT64)}
    found = infer_node_outputs(onnx.defs.get_schema("Gather", 13), node, given)
    assert {name: dims(proto) for name, proto in found.items()} == {"result": ["N", 2, ""]}
    index = numpy_helper.from_array(np.array([1, 7]), "indices")
    with pytest.raises(InferenceError, match="index 7"):
        infer_node_outputs(onnx.defs.get_schema("Gather", 13), node, given, {"indices": index})
    with pytest.raises(KeyError):
        infer_node_outputs(onnx.defs.get_schema("Gather", 13), node, {"data": given["data"]})


def test_outputs_of_a_function() -> None:
    function = parser.parse_function(
        '<domain: "own", opset_import: ["" : 18]> pair <axis>(a, b) => (both, one)'
        " { both = Concat<axis: int = @axis>(a, b) one = Relu(a) }"
    )
    axis = helper.make_attribute("axis", 0)
    both, one = infer_function_output_types(function, [tensor("N", 3), tensor("N", 3)], [axis])
    assert (dims(both), dims(one)) == (["2*N", 3], ["N", 3])
    with pytest.raises(InferenceError):
        infer_function_output_types(function, [tensor(2, 3), tensor(2, 4)], [axis])


def test_a_name_that_means_two_sizes_is_no_error() -> None:
    """Exporters reuse names of dims; onnx compares numbers only."""
    proto = model("g (float[N, 3] x) => (float[N, 3] y) <float[N, 3] z> { z = Concat<axis = 0>(x, x, x) y = Relu(z) }")
    assert shapes(infer_shapes(proto, strict_mode=True)) == {"z": ["N", 3], "y": ["N", 3]}
    for declared in (proto.graph.value_info[0], proto.graph.output[0]):
        declared.type.tensor_type.shape.dim[1].dim_value = 4
        with pytest.raises(InferenceError, match=f"{declared.name} is declared"):
            infer_shapes(proto, strict_mode=True)
        declared.type.tensor_type.shape.dim[1].dim_value = 3


def test_a_default_that_does_not_fit_is_an_error_always() -> None:
    proto = model("g (float[2] x, float[2] w = {1, 2}) => (y) { y = Add(x, w) }")
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 3
    with pytest.raises(InferenceError, match="the default is"):
        infer_shapes(proto)


def test_a_function_that_calls_itself_is_an_error_always() -> None:
    proto = model("g (float[2] x) => (y) { y = own.f(x) }", 'ir_version: 9, opset_import: ["" : 18, "own" : 1]')
    proto.functions.append(parser.parse_function('<domain: "own", opset_import: ["own" : 1]> f (a) => (b) { b = own.f(a) }'))  # fmt: skip
    with pytest.raises(onnx.checker.ValidationError, match="calls itself"):
        infer_shapes(proto)


def test_arity_is_part_of_the_types() -> None:
    proto = model("g (float[2] x) => (y) { y = Sigmoid(x, x) }")
    infer_shapes(proto)
    with pytest.raises(InferenceError, match="takes 1 input,"):
        infer_shapes(proto, check_type=True)


@needs_onnx("1.19", "inference functions in Python")
def test_schemas_of_ones_own_come_and_go() -> None:
    proto = model("g (float[N, 3] x) => (y) { y = Twice(x) }", 'ir_version: 9, opset_import: ["" : 18]')
    assert shapes(infer_shapes(proto))["y"] == []

    def twice(context: onnx.shape_inference.InferenceContext) -> None:
        given = context.get_input_type(0)
        given.tensor_type.shape.dim.add().dim_value = 2
        context.set_output_type(0, given)

    formal = onnx.defs.OpSchema.FormalParameter
    schema = onnx.defs.OpSchema("Twice", "", 1, inputs=[formal("a", "tensor(float)")], outputs=[formal("b", "tensor(float)")])  # fmt: skip
    schema.set_type_and_shape_inference_function(twice)
    onnx.defs.register_schema(schema)
    try:
        assert len(shapes(infer_shapes(proto))["y"]) == 3
    finally:
        onnx.defs.deregister_schema("Twice", 1, "")
    assert shapes(infer_shapes(proto))["y"] == []


def test_a_schema_of_ones_own_that_is_registered_anew_is_read_anew() -> None:
    formal = onnx.defs.OpSchema.FormalParameter
    proto = model("g (float[2] x) => (y) { y = Fresh(x) }", 'ir_version: 9, opset_import: ["" : 18]')
    codes = []
    for inputs in (["a"], ["a", "b"]):
        given = [formal(name, "tensor(float)") for name in inputs]
        onnx.defs.register_schema(
            onnx.defs.OpSchema("Fresh", "", 1, inputs=given, outputs=[formal("c", "tensor(float)")])
        )
        try:
            codes.append([d.code for d in gather_infer.infer(proto).diagnostics])
        finally:
            onnx.defs.deregister_schema("Fresh", 1, "")
    assert codes == [[], ["GI107"]]


def test_misuse_of_a_node() -> None:
    schema = onnx.defs.get_schema("Add", 14)
    for inputs in (["a"], ["a", "b"]):
        given = {"a": tensor(3), "b": tensor(3, dtype=TensorProto.INT64)}
        with pytest.raises(onnx.checker.ValidationError):
            infer_node_outputs(schema, helper.make_node("Add", inputs, ["c"]), {name: given[name] for name in inputs})


@pytest.mark.parametrize(
    "node",
    ["Concat<axis = 0>(x, x)", "Pad(x, pads)", "Tile(x, repeats)"],
)
def test_a_size_that_no_tensor_can_have(node: str) -> None:
    proto = model(
        f"g (float[{2**62}] x) => (y) <int64[2] pads = {{{2**62}, 0}}, int64[1] repeats = {{3}}> {{ y = {node} }}"
    )
    assert not infer_shapes(proto).graph.output[0].type.HasField("tensor_type")
    with pytest.raises(InferenceError, match=r"a size must be <= 2\^63 - 1"):
        infer_shapes(proto, strict_mode=True)


def test_what_onnx_rejects_of_an_operator_with_a_body() -> None:
    proto = model(
        "g (float[2, 3] x, float[4] s) => (y) { y = LayerNormalization(x, s) }",
        'ir_version: 9, opset_import: ["" : 17]',
    )
    body = model("g (float[N, 3] x) => (y) { y = Celu(x) }", 'ir_version: 9, opset_import: ["" : 12]')
    assert shapes(infer_shapes(body, strict_mode=True))["y"] == ["N", 3]
    with pytest.raises(InferenceError):
        infer_shapes(proto, strict_mode=True)


def typed(kind: str, *dims: int | str | None, dtype: int = onnx.TensorProto.FLOAT) -> onnx.TypeProto:
    helper = onnx.helper
    tensor = helper.make_tensor_type_proto(dtype, dims if dims != (None,) else None)
    makers = {"seq": helper.make_sequence_type_proto, "optional": helper.make_optional_type_proto}
    return makers[kind](tensor) if kind in makers else tensor


DECLARED: dict[str, Any] = {
    # id:                       (type of the input, type that is declared for its copy)
    "the same":                 (typed("tensor", "N", 3), typed("tensor", "N", 3)),
    "another size":             (typed("tensor", "N", 3), typed("tensor", "N", 4)),
    "a name for a size":        (typed("tensor", "N", 3), typed("tensor", "N", "M")),
    "a size for a name":        (typed("tensor", "N", 3), typed("tensor", 4, 3)),
    "an open dim":              (typed("tensor", 2, 3), typed("tensor", "", 3)),
    "no rank":                  (typed("tensor", 2, 3), typed("tensor", None)),
    "another rank":             (typed("tensor", 2, 3), typed("tensor", 2)),
    "another element type":     (typed("tensor", 2), typed("tensor", 2, dtype=7)),
    "a sequence":               (typed("seq", 2, 3), typed("seq", 2, 3)),
    "a size in a sequence":     (typed("seq", 2, 3), typed("seq", 2, "M")),
    "another size in one":      (typed("seq", 2, 3), typed("seq", 2, 4)),
    "another type in one":      (typed("seq", 2), typed("seq", 2, dtype=7)),
    "no rank in one":           (typed("seq", 2), typed("seq", None)),
    "a sequence for a tensor":  (typed("tensor", 2), typed("seq", 2)),
    "an optional":              (typed("optional", 2, "N"), typed("optional", "M", "N")),
    "another optional":         (typed("optional", 2), typed("optional", 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
def test_declarations_are_completed_as_onnx_does(name: str) -> None:
    given, declared = DECLARED[name]
    helper = onnx.helper
    nodes = [helper.make_node("Identity", ["x"], ["h"]), helper.make_node("Identity", ["h"], ["y"])]
    inputs, outputs = [helper.make_value_info("x", given)], [onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, value_info=[helper.make_value_info("h", declared)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found: list[Any] = []
    for module in (onnx.shape_inference, shape_inference):
        try:
            made = module.infer_shapes(proto, strict_mode=True)
        except module.InferenceError:
            found.append("an error")
        else:
            found.append(made.graph.value_info[0].type)
    assert found[0] == found[1]


@needs_onnx("1.19", "inference functions in Python")
def test_a_registered_operator_is_asked_with_what_is_known() -> None:
    """Its own inference reads the elements of its input: those that are known, of the type that they have."""

    def filled(context: onnx.shape_inference.InferenceContext) -> None:
        data = context.get_input_data(0)
        made = onnx.TypeProto()
        made.tensor_type.elem_type = TensorProto.FLOAT
        if data is not None:
            made.tensor_type.shape.SetInParent()
            for size in onnx.numpy_helper.to_array(data):
                made.tensor_type.shape.dim.add().dim_value = size
        context.set_output_type(0, made)

    formal = onnx.defs.OpSchema.FormalParameter
    types = [("I", ["tensor(int32)", "tensor(int64)"], "")]
    schema = onnx.defs.OpSchema(
        "Filled", "local.filled", 1, inputs=[formal("a", "I")], outputs=[formal("b", "tensor(float)")],
        type_constraints=types,
    )  # fmt: skip
    schema.set_type_and_shape_inference_function(filled)
    onnx.defs.register_schema(schema)
    cases = {
        # constant of the model:                             the result
        "Constant<value_ints = [2, 5]>()":                   "float32[2, 5]",
        "Constant<value = int32[3] {4, 0, 1}>()":            "float32[4, 0, 1]",
        "Shape(x)":                                          "float32[...]",
        "Slice(s, one, two)":                                "float32[7]",
        "Identity(k)":                                       "float32[...]",
        "my.Foo(k)":                                         "?[...]",
    }  # fmt: skip
    try:
        for source, expected in cases.items():
            proto = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17, "local.filled" : 1, "my" : 1]>
                g (float[N, 7] x, int64[2] k) => (y) {{ one = Constant<value_ints = [1]>() two = Constant<value_ints = [2]>()
                    s = Shape(x) c = {source} y = local.filled.Filled(c) }}""")
            assert str(infer(proto)["y"]) == expected, source
    finally:
        onnx.defs.deregister_schema("Filled", 1, "local.filled")
