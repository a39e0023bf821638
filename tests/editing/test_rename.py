"""`rename`: each place where a name occurs, scopes, names in use, and equality with the original."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

import gather_infer
from gather_infer import EditRefused, UnknownName, UsageError, rename
from gather_infer.contract import KEY, Contract
from gather_infer.editing.renaming import require_paired_inputs, with_original_interface
from tests.editing.editing_models import interface, parsed, run, same_bits

PLAIN = parsed("""g (float[N, M] x, int64[M] i) => (float[K, M] y) <float[4] w = {1, 2, 3, 4}, float[N, M] a> {
    a = Relu(x) b = Gather(a, i) y = Neg(b) }""")
BODIES = parsed("""g (float[N] x, bool c) => (float[M] y) {
    y = If (c) <then_branch = t () => (float[N] u) {
                    z = Identity(c)
                    u = If (z) <then_branch = tt () => (float[N] v) { v = Neg(x) },
                                else_branch = te () => (float[N] x) { }> },
                else_branch = e () => (float[N] w) { w = Exp(x) }> }""")
SHADOW = onnx.ModelProto()
SHADOW.CopyFrom(BODIES)
_BODY = SHADOW.graph.node[0].attribute[1].g
del _BODY.node[:]
_BODY.node.append(onnx.helper.make_node("Constant", [], ["x"], value_floats=[1.0]))
_BODY.node.append(onnx.helper.make_node("Exp", ["x"], ["w"]))


def texts(model: ModelProto) -> str:
    return str(onnx.printer.to_text(model))


def test_an_input_and_an_output() -> None:
    before = PLAIN.SerializeToString()
    result = rename(PLAIN, inputs=["x=pixels"], outputs={"y": "logits"})
    assert PLAIN.SerializeToString() == before
    assert interface(result.proto) == (["pixels", "i"], ["logits"])
    assert [[*node.input, *node.output] for node in result.proto.graph.node] == [
        ["pixels", "a"], ["a", "i", "b"], ["b", "logits"],
    ]  # fmt: skip
    assert (result.renamed_inputs, result.renamed_outputs) == ({"x": "pixels"}, {"y": "logits"})
    onnx.checker.check_model(result.proto, full_check=True)


def test_values_that_bodies_capture_and_return() -> None:
    result = rename(BODIES, inputs="x=data", outputs="y=result")
    outer = result.proto.graph.node[0].attribute[0].g
    inner = outer.node[1]
    assert inner.attribute[0].g.node[0].input[0] == "data"
    assert [value.name for value in inner.attribute[1].g.output] == ["data"]
    assert "x" not in [name for node in result.proto.graph.node[0].attribute[1].g.node for name in node.input]
    feeds = {"c": np.array(True), "x": np.array([1, -2], np.float32)}
    (found,) = ReferenceEvaluator(result.proto).run(None, {"c": feeds["c"], "data": feeds["x"]})
    (wanted,) = ReferenceEvaluator(BODIES).run(None, feeds)
    assert same_bits(found, wanted)


def test_a_name_that_a_body_defines_itself_stays() -> None:
    result = rename(SHADOW, inputs="x=data")
    shadowing = result.proto.graph.node[0].attribute[1].g
    assert [[*node.input, *node.output] for node in shadowing.node] == [["x"], ["x", "w"]]


def test_names_are_exchanged() -> None:
    model = parsed("g (float[N] x, float[N] z) => (float[N] y) { y = Sub(x, z) }")
    result = rename(model, inputs=["x=z", "z=x"])
    assert interface(result.proto)[0] == ["z", "x"]
    assert list(result.proto.graph.node[0].input) == ["z", "x"]
    for compared in (with_original_interface, require_paired_inputs):
        with pytest.raises(UsageError, match="exchange their names"):
            compared(result)


def test_inputs_are_paired_by_position() -> None:
    """A proof compares the files as they are: an input that gets the name of an output that is renamed, too."""
    model = parsed("g (float[N] x, float[N] z) => (float[N] y, float[N] w) { y = Sub(x, z) w = Exp(z) }")
    result = rename(model, inputs={"x": "y", "z": "x"}, outputs={"y": "w", "w": "v"})
    require_paired_inputs(result)
    assert gather_infer.diff(model, result.proto, outputs=result.renamed_outputs, runs=0, details=False).is_proved
    result.proto.graph.node[0].input[:] = ["x", "y"]
    assert not gather_infer.diff(model, result.proto, outputs=result.renamed_outputs, runs=0, details=False).is_proved


DIMS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    # test: (graph, dims, declared types of inputs and outputs)
    "a name": ("g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }", {"N": "batch"}, ["batch,4", "batch,4"]),
    "an expression": (
        'g (float[N, M, "N + M"] x) => (float["2*N"] y) { y = my.Op(x) }', {"N": "a"}, ["a,M,M + a", "2*a"],
    ),
    "exchanged": ("g (float[N, M] x) => (float[N, M] y) { y = Relu(x) }", {"N": "M", "M": "N"}, ["M,N", "M,N"]),
    "a name that is no expression": (
        'g (float[N, "N-1"] x) => (float[N] y) { y = my.Op(x) }', {"N": "a"}, ["a,N-1", "a"],
    ),
    "a name of that kind": (
        'g (float["batch-size"] x) => (float[4] y) { y = my.Op(x) }', {"batch-size": "b"}, ["b", "4"],
    ),
    "a pattern": ("g (float[n_in, n_out] x) => (float[n_in] y) { y = my.Op(x) }", {"s": ""}, ["in,out", "in"]),
}  # fmt: skip


@pytest.mark.parametrize("case", DIMS)
def test_dims(case: str) -> None:
    text, dims, expected = DIMS[case]
    given: Any = ["s/^n_//"] if case == "a pattern" else dims
    proto = rename(parsed(text, '<ir_version: 9, opset_import: ["": 18, "my": 1]>'), dims=given).proto
    found = [
        ",".join(d.dim_param or str(d.dim_value) for d in value.type.tensor_type.shape.dim)
        for value in (*proto.graph.input, *proto.graph.output)
    ]
    assert found == expected


def test_dims_in_bodies_functions_and_attributes() -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "f": 1]>
        g (float[N] x, bool c) => (float[N] y) <float[N] h> { h = f.act(x)
            y = If (c) <then_branch = t () => (float[N] u) { u = Neg(h) },
                        else_branch = e () => (float[N] v) { v = Abs(h) }> }
        <domain: "f", opset_import: ["": 18]> act (x) => (y) <float[N] k> { k = Abs(x) y = Relu(k) }""")
    held = onnx.helper.make_tensor_type_proto(1, ["N"])
    model.graph.node.append(onnx.helper.make_node("Optional", [], ["o"], type=held))
    model.graph.output.append(onnx.helper.make_value_info("o", onnx.helper.make_optional_type_proto(held)))
    proto = rename(model, dims="N=rows").proto
    assert b"rows" in proto.SerializeToString() and "[N]" not in texts(proto)
    assert proto.SerializeToString().count(b"rows") == model.SerializeToString().count(b"\x12\x01N")


def test_nodes_of_all_graphs() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(BODIES)
    model.graph.node[0].name = "m/if"
    model.graph.node[0].attribute[1].g.node[0].name = "m/exp"
    proto = rename(model, nodes="s#^m/##").proto
    assert (proto.graph.node[0].name, proto.graph.node[0].attribute[1].g.node[0].name) == ("if", "exp")


SUBSTITUTIONS = {
    # text: names
    "s/^model\\.//": {"model.a.b": "a.b", "model.c": "c"},
    "s/\\./_/": {"model.a.b": "model_a.b", "model.c": "model_c"},
    "s/\\./_/g": {"model.a.b": "model_a_b", "model.c": "model_c"},
    "s|model.(\\w)|\\1|": {"model.a.b": "a.b", "model.c": "c"},
    "s/model\\/*\\.//": {"model.a.b": "a.b", "model.c": "c"},
    "model.c=a=b": {"model.c": "a=b"},
    "s=t": {"s": "t"},
}


@pytest.mark.parametrize("text", SUBSTITUTIONS)
def test_substitutions(text: str) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(parsed("g (float[N] a, float[N] c, float[N] s) => (float[N] y) { b = Add(a, c) y = Add(b, s) }"))
    changed = rename(model, inputs={"a": "model.a.b", "c": "model.c"}).proto
    names = ["model.a.b", "model.c", "s"]
    assert interface(changed)[0] == names
    found = rename(changed, inputs=[text]).proto
    assert interface(found)[0] == [SUBSTITUTIONS[text].get(name, name) for name in names]


REFUSED: dict[str, dict[str, Any]] = {
    # message: arguments
    "x cannot become i, which is a tensor already": {"inputs": "x=i"},
    "x cannot become w, which is a tensor already": {"inputs": "x=w"},
    "y cannot become b, which is a tensor already": {"outputs": "y=b"},
    "x and i cannot both become k": {"inputs": ["x=k", "i=k"]},
    "N cannot become M, which is a dim already": {"dims": "N=M"},
    "node Relu_0 cannot become Neg_2, which is a node already": {"nodes": "Relu_0=Neg_2"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_name_in_use_is_refused(message: str) -> None:
    with pytest.raises(EditRefused) as caught:
        rename(PLAIN, **REFUSED[message])
    assert message in str(caught.value)


def test_a_name_that_a_body_uses_is_refused() -> None:
    with pytest.raises(EditRefused, match="x cannot become v, which is a tensor of If_0/then_branch/If#1/then_branch"):
        rename(BODIES, inputs="x=v")
    with pytest.raises(EditRefused, match="c cannot become x, which is a tensor of If_0/else_branch already"):
        rename(SHADOW, inputs={"x": "d", "c": "x"})  # the body might read c where it defines x


WRONG: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    # message: (exception, arguments)
    "no input 'pixel'": (UnknownName, {"inputs": {"pixel": "x"}}),
    "no output 'x'": (UnknownName, {"outputs": "x=z"}),
    "no dim 'n'": (UnknownName, {"dims": "n=m"}),
    "no node matches 's/q/r/'": (UsageError, {"nodes": "s/q/r/"}),
    "input 'x' needs a name": (UsageError, {"inputs": "x="}),
    "'a b' is no name of a dim": (UsageError, {"dims": "N=a b"}),
    "is renamed to both 'a' and 'b'": (UsageError, {"inputs": ["x=a", "x=b"]}),
    "nothing to rename": (UsageError, {}),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_names(message: str) -> None:
    exception, arguments = WRONG[message]
    with pytest.raises(exception) as caught:
        rename(PLAIN, **arguments)
    assert message in str(caught.value)


def test_an_input_that_is_an_output() -> None:
    model = parsed("g (float[N] x) => (float[N] x, float[N] y) { y = Neg(x) }")
    with pytest.raises(UsageError, match="'x' is an input and an output"):
        rename(model, inputs="x=z")
    assert interface(rename(model, inputs="x=z", outputs="x=z").proto) == (["z"], ["z", "y"])


def test_the_stored_contract_and_bounds_follow() -> None:
    model = parsed("""g (int64[N] ids, float[N, 4] x) => (float[N, 4] y) <float[2, 4] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
        a = Gather(w, ids) y = Add(a, x) }""")
    model.metadata_props.add(key="gather_infer.dims", value="N=1..8")
    stored = gather_infer.contract_of(model).embedded()
    result = rename(stored, inputs="ids=tokens", dims="N=rows", nodes="Gather_0=look_up")
    metadata = {entry.key: entry.value for entry in result.proto.metadata_props}
    assert metadata["gather_infer.dims"] == "rows=1..8"
    contract = Contract.from_json(json.loads(metadata[KEY]))
    assert [line.text for line in contract.lines] == ["-2 <= tokens < 2"]
    assert contract.lines[0].nodes == ("look_up",)
    assert [line.text for line in contract.declared] == [
        line.text.replace("N", "rows") for line in gather_infer.contract_of(model).contract.declared
    ]
    again = gather_infer.contract_of(result.proto).contract
    assert (again.inputs, again.lines, again.declared) == (contract.inputs, contract.lines, contract.declared)


@pytest.mark.parametrize("stored", ["{not json", "3", "[]", "null", '{"schema": 1}', "[" * 100_000, ""])
def test_a_stored_contract_that_cannot_be_read_is_left_out(stored: str) -> None:
    model = parsed("g (float[N] x) => (float[N] y) { y = Relu(x) }")
    model.metadata_props.add(key="gather_infer.contract", value=stored)
    model.metadata_props.add(key="author", value="me")
    result = rename(model, inputs="x=data")
    assert [entry.key for entry in result.proto.metadata_props] == ["author"]
    assert result.notes == (
        "gather_infer.contract in the metadata: cannot be read as a contract, so its names cannot follow",
    )


def test_the_default_of_an_input_follows() -> None:
    model = parsed("g (float[4] x, float[4] w) => (float[4] y) { y = Add(x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w"))
    result = rename(model, inputs=["w=weight", "x=data"])
    assert [t.name for t in result.proto.graph.initializer] == ["weight"]
    feeds = np.ones(4, np.float32)
    assert same_bits(run(result.proto, {"data": feeds})[0], run(model, {"x": feeds})[0])
    compared = with_original_interface(result)
    assert interface(compared) == interface(model)
    assert same_bits(run(compared, {"x": feeds, "w": feeds})[0], run(model, {"x": feeds, "w": feeds})[0])


def test_a_wrong_rename_is_found_by_a_proof_and_by_runs() -> None:
    """The models that --prove and --verify compare differ if a reader of the old name is missed."""
    model = parsed("g (float[N] x, float[N] z) => (float[N] y) { a = Neg(x) b = Mul(a, z) y = Add(b, x) }")
    result = rename(model, inputs="x=data")
    compared = with_original_interface(result)
    assert gather_infer.diff(model, compared, runs=0, details=False).is_proved
    compared.graph.node[1].input[0] = "z"  # the first reader
    assert not gather_infer.diff(model, compared, runs=0, details=False).is_proved
