"""What is wrong inside readable models: every fault is a diagnostic with its code, the allowed range and what was found."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gather_infer import ModelReadError, infer
from tests.inference.models import model, shapes
from tests.inference.mutations import variants


def found(proto: ModelProto) -> list[tuple[str, str]]:
    """(code, message) of every finding, the notes on declared symbols left out."""
    return [(d.code, d.message) for d in infer(proto).diagnostics if d.code != "GI203"]


def graph(nodes: list[NodeProto], **changes: object) -> ModelProto:
    """A model of `nodes` over x: float32[N, 3], opset 17."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x], []), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    for node in proto.graph.node[-1:]:
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    return proto


def node(op_type: str, inputs: str, outputs: str, **attributes: object) -> NodeProto:
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def tensor(dims: list[int], data_type: int = TensorProto.INT64, raw: bytes = b"") -> TensorProto:
    return TensorProto(name="k", dims=dims, data_type=data_type, raw_data=raw)


NODES = {
    # id: (nodes, code, message)
    "an input that nothing defines": ([node("Abs", "gone", "y")], "GI103", "input gone is not defined"),
    "a cycle": (
        [node("Add", "x b", "a", name="A"), node("Abs", "a", "b", name="B")],
        "GI102", "B -> A -> B is a cycle",
    ),
    "a node that reads itself": ([node("Add", "x a", "a", name="A")], "GI102", "A -> A is a cycle"),
    "two nodes define a name": ([node("Abs", "x", "y"), node("Neg", "x", "y")], "GI101", "value y is defined more than once"),
    "a node defines an input": ([node("Abs", "x", "x")], "GI101", "value x is defined more than once"),
    "an operator that nobody knows": ([node("Nonsense", "x", "y")], "GI105", "operator Nonsense is not known in opset 17"),
    "an operator of a later opset": ([node("Gelu", "x", "y")], "GI105", "operator Gelu is not known in opset 17"),
    "a domain that is not imported": (
        [node("Abs", "x", "y", domain="nowhere")], "GI104", "the model imports no opset for domain nowhere",
    ),
    "an unknown attribute": ([node("Abs", "x", "y", axis=1)], "GI106", "attribute axis is unknown to Abs-13"),
    "an attribute of the wrong type": (
        [node("Softmax", "x", "y", axis=1.0)], "GI106", "attribute axis must be int, is float",
    ),
    "a missing attribute": ([node("Concat", "x x", "y")], "GI106", "attribute axis is missing"),
    "a reference outside a function": (
        [NodeProto(op_type="Softmax", input=["x"], output=["y"], attribute=[
            AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="k")])],
        "GI106", "attribute axis refers to a function's attribute k, there is no function around it",
    ),
    "too few inputs": ([node("Add", "x", "y")], "GI107", "the operator takes 2 inputs, found 1"),
    "too many inputs": ([node("Abs", "x x", "y")], "GI107", "the operator takes 1 inputs, found 2"),
    "no outputs": ([NodeProto(op_type="Abs", input=["x"])], "GI107", "the operator takes 1 outputs, found 0"),
    "too many outputs": ([node("Abs", "x", "y z")], "GI107", "the operator takes 1 outputs, found 2"),
    "an axis past the rank": ([node("Softmax", "x", "y", axis=2)], "GI304", "axis = 2 is outside [-2, 1]"),
    "a constant whose payload is short": (
        [NodeProto(op_type="Constant", output=["y"], attribute=[
            AttributeProto(name="value", type=AttributeProto.TENSOR, t=tensor([3]))])],
        "GI204", "attribute value: int64[3] needs 24 bytes of data, found 0",
    ),
    "an If without a condition": (
        [node("If", "", "y", then_branch=onnx.GraphProto(), else_branch=onnx.GraphProto())], "GI107", "",
    ),
    "an OpenVINO-style Gather": (
        [node("Constant", "", "i", value_int=0), node("Gather", "x i i", "y")],
        "GI309", "Gather takes 2 inputs, found 3: this is OpenVINO's Gather with the axis as an input",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NODES)
def test_a_broken_node_is_one_finding(name: str) -> None:
    nodes, code, message = NODES[name]
    (finding,) = found(graph(nodes))
    assert finding[0] == code
    assert message in finding[1]


def test_an_attribute_given_twice() -> None:
    twice = node("Softmax", "x", "y", axis=1)
    twice.attribute.add().CopyFrom(twice.attribute[0])
    assert found(graph([twice])) == [("GI106", "attribute axis is given twice")]


def test_an_attribute_without_a_type_means_the_one_of_the_schema() -> None:
    old = node("Softmax", "x", "y", axis=5)
    old.attribute[0].type = AttributeProto.UNDEFINED
    ((code, _),) = found(graph([old]))
    assert code == "GI304"


def test_all_problems_come_out_in_one_run() -> None:
    nodes = [
        node("Abs", "gone", "a"),
        node("Nonsense", "x", "b"),
        node("Softmax", "x", "c", axis=9),
        node("Neg", "x", "y"),
    ]
    proto = graph(nodes)
    assert [code for code, _ in found(proto)] == ["GI103", "GI105", "GI304"]
    assert shapes(proto)["y"] == "float32[N, 3]"


def test_an_output_left_out_is_no_name() -> None:
    proto = graph([node("TopK", "x k", "v i"), node("Abs", "x", "y")])
    proto.graph.node[0].output[0] = ""
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "k"))
    assert "" not in infer(proto)
    assert found(proto) == []


def test_an_output_that_nothing_defines() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.output.add(name="gone")
    assert found(proto) == [("GI103", "graph output gone is not defined")]


def test_names_defined_twice() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.input.add().CopyFrom(proto.graph.input[0])
    proto.graph.output.add(name="y")
    for _ in range(2):
        proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "k"))
    assert found(proto) == [
        ("GI101", "input x is defined more than once"),
        ("GI101", "initializer k is defined more than once"),
        ("GI101", "output y is defined more than once"),
    ]


def test_nodes_of_one_name_keep_their_subgraphs_apart() -> None:
    def branch(dims: int) -> onnx.GraphProto:
        value = numpy_helper.from_array(np.zeros(dims, np.float32))
        return helper.make_graph([node("Constant", "", "v", value=value)], "b", [], [onnx.ValueInfoProto(name="v")])

    ifs = [
        node("If", "c", out, name="If", then_branch=branch(n), else_branch=branch(n)) for out, n in (("y", 1), ("z", 2))
    ]
    proto = graph(ifs)
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    inference = infer(proto)
    assert (str(inference["y"]), str(inference["z"])) == ("float32[1] = [0.0]", "float32[2] = [0.0, 0.0]")
    inner = [a.g.value_info for n in inference.annotated().graph.node for a in n.attribute]
    assert all(len(v) == 0 for v in inner)
    assert len({path for path in inference.scopes if path}) == 4


@pytest.mark.parametrize(
    ("version", "code", "message"),
    [
        (0, "GI104", "opset 0 of domain ai.onnx is not known, the first is 1"),
        (-3, "GI104", "opset -3 of domain ai.onnx is not known, the first is 1"),
        (
            99,
            "GI109",
            f"opset 99 of domain ai.onnx is newer than {onnx.defs.onnx_opset_version()}, whose rules are used",
        ),
        (
            2**62,
            "GI109",
            f"opset {2**62} of domain ai.onnx is newer than {onnx.defs.onnx_opset_version()}, whose rules are used",
        ),
    ],
)
def test_opset_versions_out_of_range(version: int, code: str, message: str) -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.opset_import[0].version = version
    assert (code, message) in found(proto)
    if version > 0:
        assert shapes(proto)["y"] == "float32[N, 3]"


def test_a_domain_imported_as_two_versions() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.opset_import.add(domain="ai.onnx", version=11)
    assert found(proto) == [("GI109", "domain ai.onnx is imported as 17 and as 11; 17 is used")]


def test_a_huge_version_of_another_domain() -> None:
    proto = graph([node("Binarizer", "x", "y", domain="ai.onnx.ml")])
    proto.opset_import.add(domain="ai.onnx.ml", version=2**60)
    assert found(proto) == []


def test_no_import_at_all() -> None:
    proto = graph([node("Abs", "x", "y")])
    del proto.opset_import[:]
    assert found(proto) == [("GI104", "the model imports no opset for domain ai.onnx")]
    proto.ir_version = 2  # there were no imports then, and one opset
    assert found(proto) == []


@pytest.mark.parametrize("version", [0, -1, 1000])
def test_ir_versions_out_of_range(version: int) -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.ir_version = version
    assert found(proto) == [("GI109", f"IR version {version} is outside [1, {onnx.IR_VERSION}]")]


INITIALIZERS = {
    # id: (tensor, message)
    "too few bytes": (tensor([2, 2]), "int64[2, 2] needs 32 bytes of data, found 0"),
    "too many bytes": (tensor([], raw=bytes(9)), "int64[] needs 8 bytes of data, found 9"),
    "a negative dim": (tensor([2, -1]), "dims must be >= 0, are [2, -1]"),
    "no element type": (tensor([1], 0), "element type 0 is not one of ONNX"),
    "an unknown element type": (tensor([1], 99), "element type 99 is not one of ONNX"),
    "a product that overflows": (tensor([2**62, 4]), f"int64[{2**62}, 4] needs {2**67} bytes of data, found 0"),
    "typed data that is short": (
        TensorProto(name="k", dims=[3], data_type=7, int64_data=[1]), "the dims ask for 3 elements of data, found 1",
    ),
    "strings that are short": (
        TensorProto(name="k", dims=[2], data_type=8, string_data=[b"\xff"]), "the dims ask for 2 elements of data, found 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", ["graph", "subgraph", "default of an input"])
@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers_that_contradict_themselves(name: str, where: str) -> None:
    broken, message = INITIALIZERS[name]
    proto = graph([node("Identity", "k", "y")])
    if where == "graph":
        proto.graph.initializer.append(broken)
    elif where == "subgraph":
        branch = onnx.GraphProto(name="b", node=[node("Identity", "k", "v")], initializer=[broken])
        branch.output.add(name="v")
        proto.graph.node[0].CopyFrom(node("If", "c", "y", then_branch=branch, else_branch=branch))
        proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    else:
        proto.graph.initializer.append(broken)
        proto.graph.input.add(name="k")
    assert ("GI204", message) in found(proto)


def test_an_axis_of_nothing_may_be_as_long_as_it_likes() -> None:
    proto = graph([node("Shape", "k", "y")])
    proto.graph.initializer.append(tensor([2**62, 0]))
    assert shapes(proto)["y"] == f"int64[2] = [{2**62}, 0]"
    assert found(proto) == []


def test_a_default_that_is_not_of_its_inputs_type() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros((20, 4), np.float32), "x"))
    assert found(proto) == [("GI204", "the default is float32[20, 4], the input is float32[N, 3]")]
    proto.ir_version = 3  # then x is a constant
    assert shapes(proto)["y"] == "float32[20, 4]"
    assert infer(proto).inputs == ()


def test_a_default_is_no_constant() -> None:
    proto = graph([node("Expand", "x k", "y")])
    proto.graph.initializer.append(numpy_helper.from_array(np.array([2, 5, 3]), "k"))
    proto.graph.input.append(helper.make_tensor_value_info("k", TensorProto.INT64, [3]))
    inference = infer(proto)
    assert inference.is_generated(inference["y"].shape[0])
    proto.ir_version = 3
    assert shapes(proto)["y"].startswith("float32[2, ")


DIMS = {
    # id: (dim of x, fact of y = x)
    "-1 is unknown": (-1, "float32[x.0, 3]"),
    "a very long axis": (2**62 - 1, f"float32[{2**62 - 1}, 3]"),
    "a name with a space": ("batch size", "float32['batch size', 3]"),
    "an expression of unknown names": ("2*N", "float32['2*N', 3]"),
    "half a parenthesis": ("N)", "float32['N)', 3]"),
    "half a sum": ("N+", "float32['N+', 3]"),
    "nothing": ("", "float32[x.0, 3]"),
    "a number in text": ("7", "float32['7', 3]"),
    "a negative number in text": ("-1", "float32['-1', 3]"),
    "a question mark": ("?", "float32['?', 3]"),
    "not ASCII": ("größe", "float32['größe', 3]"),
    "a quote": ("it's", "float32['it\\'s', 3]"),
}


@pytest.mark.parametrize("name", DIMS)
def test_odd_dims(name: str) -> None:
    dim, fact = DIMS[name]
    proto = graph([node("Concat", "x x", "z", axis=0), node("Abs", "x", "y")])
    entry = proto.graph.input[0].type.tensor_type.shape.dim[0]
    if isinstance(dim, int):
        entry.dim_value = dim
    else:
        entry.dim_param = dim
    assert shapes(proto)["y"] == fact
    annotated = infer(proto).annotated()
    assert shapes(annotated) == shapes(proto)
    assert found(proto) == found(annotated) == []


def test_a_very_long_name_and_a_very_long_expression() -> None:
    for text in ("n" * 100_000, "N + " * 20_000 + "N", "(" * 5000 + "N" + ")" * 5000):
        proto = graph([node("Abs", "x", "y")])
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = text
        assert infer(proto)["y"].shape[1] == 3


def test_a_dim_below_minus_one_is_reported() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -7
    assert found(proto) == [("GI109", "a dim of x must be >= 0, is -7; it is taken as unknown")]
    assert shapes(proto)["y"] == "float32[N, x.1]"


def test_a_declared_difference_is_a_size() -> None:
    """`N - 5` is a dim only where N >= 5, in every legal run."""
    proto = model("(float[N] a, float[M] b) => (float y) { y = Abs(b) }")
    proto.graph.output[0].ClearField("type")
    del proto.graph.input[1].type.tensor_type.shape.dim[:]
    proto.graph.input[1].type.tensor_type.shape.dim.add(dim_param="N - 5")
    body = model(
        "(float[N] a) => (float y) { f = Constant<value = int64[1] {5}>() e = Constant<value = int64[1] {10000}>() z = Slice(a, f, e) }"
    )
    proto.graph.node.extend(body.graph.node)
    inference = infer(proto)
    assert str(inference["b"]) == "float32[N - 5]"
    assert str(inference["z"]) == "float32[min(9995, N - 5)]"


def test_a_missing_shape_is_no_scalar() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    assert shapes(proto)["y"] == "float32[...]"
    proto.graph.input[0].type.tensor_type.shape.SetInParent()
    assert shapes(proto)["y"] == "float32[]"


DECLARED = {
    # id: (type of y, (code, message) as an output; None: nothing is wrong)
    "another size": (("float", ["N", 4]), "float32[N, 4]"),
    "another rank": (("float", ["N"]), "float32[N]"),
    "another element type": (("int64", ["N", 3]), "int64[N, 3]"),
    "a size that is never right": (("float", ["N + 1", 3]), "float32[N + 1, 3]"),
    "a symbol": (("float", ["K", 3]), None),
    "a size that may be right": (("float", [5, 3]), None),
    "no shape": (("float", None), None),
}


@pytest.mark.parametrize("where", ["value_info", "output"])
@pytest.mark.parametrize("name", DECLARED)
def test_declared_against_inferred(name: str, where: str) -> None:
    (kind, dims), text = DECLARED[name]
    proto = graph([node("Abs", "x", "y"), node("Neg", "y", "z")])
    declared = helper.make_tensor_value_info("y", TensorProto.FLOAT if kind == "float" else TensorProto.INT64, dims)
    (proto.graph.value_info if where == "value_info" else proto.graph.output).append(declared)
    expected = []
    if text is not None and where == "value_info":
        expected = [("GI201", f"value_info of y says {text}, the inputs imply float32[N, 3]")]
    elif text is not None:
        expected = [("GI202", f"output y is declared {text}, the inputs imply float32[N, 3]")]
    assert found(proto) == expected
    assert shapes(proto)["z"] == "float32[N, 3]"
    errors = [d.code for d in infer(proto).errors]  # of an output that differs in its shape alone runtimes only warn
    assert errors == (["GI202"] if where == "output" and kind != "float" else [])


def test_a_declared_symbol_that_stands_for_two_dims() -> None:
    proto = graph([node("Concat", "x x", "y", axis=1), node("Concat", "x x x", "z", axis=1)])
    for name in "yz":
        proto.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", "K"]))
    del proto.graph.output[0]
    assert found(proto) == [("GI202", "declared dim K stands for 6 and for 9")]


def test_value_info_of_an_input_changes_nothing() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.value_info.append(helper.make_tensor_value_info("x", TensorProto.INT64, [9]))
    assert shapes(proto)["y"] == "float32[N, 3]"


def test_value_info_stands_in_for_an_unknown_operator() -> None:
    proto = graph([node("Custom", "x", "a", domain="my"), node("Abs", "a", "y")])
    proto.opset_import.add(domain="my", version=1)
    proto.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["K", "2*N"]))
    assert shapes(proto)["y"] == "float32[K, 2*N]"


NONZERO = [node("NonZero", "x", "i"), node("Transpose", "i", "y")]


def test_generated_names_of_our_own_are_not_taken_for_declared_ones() -> None:
    proto = graph(NONZERO)
    once = infer(proto).annotated()
    assert shapes(once) == shapes(proto)
    assert infer(once).annotated() == once
    # the same name for another value: first declared, then generated
    proto.graph.node.insert(0, node("Custom", "x", "a", domain="my"))
    proto.opset_import.add(domain="my", version=1)
    proto.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["nonzero_0"]))
    facts = shapes(proto)
    assert facts["a"] == "float32[nonzero_0]"
    assert facts["i"] == "int64[2, nonzero_1]"
    # ... and first generated, then declared
    proto.graph.node.append(proto.graph.node[0])
    del proto.graph.node[0]
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "nonzero_0_declared"
    facts = shapes(proto)
    assert facts["i"] == "int64[2, nonzero_0]"
    assert facts["a"] == "float32[nonzero_0_declared_]"


def test_an_input_with_a_name_like_a_generated_one() -> None:
    proto = graph(NONZERO)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "nonzero_0"
    assert shapes(proto)["i"] == "int64[2, nonzero_1]"
    again = infer(infer(proto).annotated())
    assert str(again["i"]) == "int64[2, nonzero_1]"


def test_a_dim_with_the_address_of_an_anonymous_one() -> None:
    proto = graph([node("Abs", "x", "y"), node("Abs", "z", "w")])
    proto.graph.input[0].type.tensor_type.shape.dim[0].ClearField("value")
    proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["x.0"]))
    facts = shapes(proto)
    assert facts["w"] == "float32[x.0]"
    assert facts["y"] == "float32[x.0_, 3]"


def test_facts_of_one_pass_do_not_meet_other_dims_of_that_name_in_the_next() -> None:
    """In the first pass the sum of a and b is broadcast_0, at least 4 long; later a >= 1 and b >= 1 are implied, so that
    the name goes to the sum of c and d, which may be shorter."""
    proto = model(
        """(float[A] a, float[B] b, float[C] c, float[D] d) => (float y) {
          three = Constant<value = int64 {3}>() t1 = Constant<value = int64[1] {3}>() e1 = Constant<value = int64[1] {9999}>()
          s = Add(a, b) g = Gather(s, three) r = Add(c, d) y = Slice(r, t1, e1)
          zero = Constant<value = int64 {0}>() a0 = Gather(a, zero) b0 = Gather(b, zero) }"""
    )
    proto.graph.output[0].ClearField("type")
    inference = infer(proto)
    assert str(inference["s"]) == "float32[max(A, B)]"
    assert str(inference["y"]).startswith("float32[max(0, ")


def test_outputs_that_are_inputs_or_initializers() -> None:
    proto = graph([])
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1, 2]), "k"))
    proto.graph.output.extend(onnx.ValueInfoProto(name=n) for n in ("x", "k"))
    assert found(proto) == []
    assert shapes(proto) == {"x": "float32[N, 3]", "k": "int64[2] = [1, 2]"}


def test_a_graph_of_nothing() -> None:
    proto = ModelProto(ir_version=8)
    proto.graph.SetInParent()
    proto.opset_import.add(version=17)
    assert shapes(proto) == {}
    assert found(proto) == []


def test_names_of_any_characters() -> None:
    names = ["a b", "a/b", "über", "x:0", "'", "\n", "%s{}", "🙂"]
    nodes = [helper.make_node("Abs", [n], [m], name=n) for n, m in zip(["x", *names], names, strict=False)]
    proto = graph(nodes)
    assert found(proto) == []
    assert infer(infer(proto).annotated())[names[-1]] == infer(proto)["x"]


def test_strings_that_are_not_utf8() -> None:
    bad = node("Pad", "x k", "y", mode=b"\xff\xfe")
    proto = graph([bad])
    proto.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1]), "k"))
    for finding in infer(proto).diagnostics:
        finding.text("m.onnx").encode()


def test_names_that_are_not_utf8() -> None:
    raw = graph([node("Abs", "x", "yyyyyyyy")]).SerializeToString().replace(b"yyyyyyyy", b"\xff" * 8)
    with pytest.raises(ModelReadError, match="not UTF-8"):
        infer(ModelProto.FromString(raw))


CALL = '<domain: "local", opset_import: ["" : 17, "local" : 1]>'
FUNCTIONS = {
    # id: (functions, findings)
    "calls itself": (f"{CALL} f (a) => (b) {{ b = local.f(a) }}", [("GI108", "function f calls itself")]),
    "call each other": (
        f"{CALL} f (a) => (b) {{ b = local.g(a) }} {CALL} g (a) => (b) {{ b = local.f(a) }}",
        [("GI108", "function f calls itself")],
    ),
    "an output that nothing defines": (
        f"{CALL} f (a) => (b) {{ c = Abs(a) }}", [("GI103", "function output b is not defined")],
    ),
    "too many inputs": (f"{CALL} f () => (b) {{ b = Constant<value = int64 {{0}}>() }}", [
        ("GI107", "function f takes at most 0 inputs, found 1")]),
    "too many outputs": (f"{CALL} f (a) => () {{ b = Abs(a) }}", [
        ("GI107", "function f has at most 0 outputs, found 1")]),
    "an attribute that the function lacks": (
        f"{CALL} f (a) => (b) {{ b = Softmax<axis: int = @k>(a) }}",
        [("GI106", "attribute axis refers to a function's attribute k, the function has none")],
    ),
    "reads the graph around the call": (f"{CALL} f (a) => (b) {{ b = Add(a, x) }}", [("GI103", "input x is not defined")]),
    "defined twice": (
        f"{CALL} f (a) => (b) {{ b = Abs(a) }} {CALL} f (a) => (b) {{ b = Neg(a) }}",
        [("GI101", "function local.f is defined more than once")],
    ),
    "imports no opset": (
        '<domain: "local", opset_import: ["local" : 1]> f (a) => (b) { b = Abs(a) }',
        [("GI104", "the model imports no opset for domain ai.onnx")],
    ),
    "the same output twice": (f"{CALL} f (a) => (b) {{ b = Abs(a) b = Neg(a) }}", [
        ("GI101", "value b is defined more than once")]),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_broken_functions(name: str) -> None:
    functions, expected = FUNCTIONS[name]
    proto = model("(float[N, 3] x) => (y) { y = local.f(x) z = Abs(x) }", functions=functions, domains=', "local" : 1')
    assert found(proto) == expected
    assert shapes(proto)["z"] == "float32[N, 3]"


BODIES = {
    # id: (node, code, message)
    "a branch with inputs": (
        "y = If(c) <then_branch = t (float[1] i) => (float[1] o) { o = Abs(i) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI110", "then_branch must have no inputs, has 1",
    ),
    "a branch with too few outputs": (
        "y = If(c) <then_branch = t () => () { o = Abs(x) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI110", "then_branch must have 1 outputs, has 0",
    ),
    "no else branch": ("y = If(c) <then_branch = t () => (float[1] o) { o = Abs(x) }>", "GI106", "attribute else_branch is missing"),
    "a loop body with too few inputs": (
        "y = Loop(m, c, x) <body = b (int64 i) => (bool k, float[N] o) { k = Identity(c) o = Abs(x) }>",
        "GI110", "the body must have 3 inputs (i, cond, 1 states), has 1",
    ),
    "a loop body with too many outputs": (
        "y = Loop(m, c) <body = b (int64 i, bool k) => (bool k2, float[N] o, float[N] p) { k2 = Identity(k) o = Abs(x) p = Abs(x) }>",
        "GI110", "the body must have 2 outputs (cond and 1), has 3",
    ),
    "more scan inputs than inputs": (
        "y = Scan<num_scan_inputs = 3, body = b (float r) => (float o) { o = Abs(r) }>(x)",
        "GI110", "num_scan_inputs must be in [1, 1], is 3",
    ),
    "a scan axis past the rank": (
        "y = Scan<num_scan_inputs = 1, scan_input_axes = [4], body = b (float r) => (float o) { o = Abs(r) }>(x)",
        "GI304", "scan input axis 4 is outside [-1, 0], the input has rank 1",
    ),
    "a scan over a scalar": (
        "y = Scan<num_scan_inputs = 1, body = b (float r) => (float o) { o = Abs(r) }>(m)", "GI304", "scan input axis 0 is outside",
    ),
    "a body that stacks a sequence": (
        "y = Loop(m, c) <body = b (int64 i, bool k) => (bool k2, seq(float[N]) o) { k2 = Identity(k) o = SequenceConstruct(x) }>",
        "GI110", "a scan output must be a tensor",
    ),
    "a cycle inside a body": (
        "y = If(c) <then_branch = t () => (float[1] o) { o = Add(x, p) p = Abs(o) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI102", "is a cycle",
    ),
    "a body that reads what its node defines": (
        "y = If(c) <then_branch = t () => (float[1] o) { o = Abs(y) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI102", "is a cycle",
    ),
    "a body with an undefined output": (
        "y = If(c) <then_branch = t () => (float[1] o) { q = Abs(x) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI103", "graph output o is not defined",
    ),
    "a name twice in a body": (
        "y = If(c) <then_branch = t () => (float[1] o) { o = Abs(x) o = Neg(x) }, else_branch = e () => (float[1] p) { p = Abs(x) }>",
        "GI101", "value o is defined more than once",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_do_not_fit(name: str) -> None:
    text, code, message = BODIES[name]
    proto = model(f"(float[N] x, bool c, int64 m) => (y) {{ {text} z = Abs(x) }}")
    (finding,) = found(proto)
    assert finding[0] == code
    assert message in finding[1]
    assert shapes(proto)["z"] == "float32[N]"


def test_a_branch_that_never_runs_may_break_the_rules_of_sizes() -> None:
    """An exporter's `if rank and size allow it: squeeze`: its other branch is never legal, and never runs."""
    squeeze = "then_branch = t () => (o) { o = Squeeze(x, one) q = Gather(x, nine) }, else_branch = e () => (p) { p = Identity(x) }"
    head = "one = Constant<value = int64[1] {1}>() nine = Constant<value = int64 {9}>() n = Shape<start = 1>(x) c = Equal(n, one)"
    proto = model(f"(float[9, 3] x) => (y) {{ {head} y = If(c) <{squeeze}> }}")
    inference = infer(proto)
    assert inference.diagnostics == ()
    assert inference.accesses == ()
    assert str(inference["y"]) == "float32[9, 3]"
    unknown = model(f"(float[9, 3] x, bool c) => (y) {{ {head.rsplit(' c =', 1)[0]} y = If(c) <{squeeze}> }}")
    assert "GI210" in [code for code, _ in found(unknown)] or "GI212" in [code for code, _ in found(unknown)]


def test_nesting_past_the_limit() -> None:
    proto = graph([])
    body = proto.graph
    for _ in range(300):
        inner = body.node.add(op_type="If", input=["c"], output=["v"])
        for name in ("else_branch", "then_branch"):
            attribute = inner.attribute.add(name=name, type=AttributeProto.GRAPH)
            attribute.g.output.add(name="v")
            attribute.g.node.add(op_type="Abs", input=["x"], output=["v"])
        body = attribute.g
        del body.node[:]
    body.node.add(op_type="Abs", input=["x"], output=["v"])
    proto.graph.node.append(node("Neg", "x", "z"))
    proto.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    assert found(proto) == [("GI108", "subgraphs and calls nest deeper than 40")]
    assert shapes(proto)["z"] == "float32[N, 3]"


def test_calls_past_the_limit() -> None:
    chain = [f"{CALL} f{i} (a) => (b) {{ b = local.f{i + 1}(a) }}" for i in range(300)]
    last = f"{CALL} f300 (a) => (b) {{ b = Abs(a) }}"
    proto = model(
        "(float[N, 3] x) => (y) { y = local.f0(x) }", functions=" ".join([*chain, last]), domains=', "local" : 1'
    )
    assert found(proto) == [("GI108", "subgraphs and calls nest deeper than 40")]


def test_loops_in_loops_do_not_take_forever() -> None:
    """Each body asks for several walks of what is inside it: 2 ** 12 at the least."""
    text = "r12 = Concat<axis=0>(s11, x)"
    for level in reversed(range(12)):
        state = f"s{level - 1}" if level else "x"
        text = (
            f"r{level} = Loop(m, c, {state}) <body = b{level} (int64 i{level}, bool c{level}, float[p] s{level}) => "
            f"(bool d{level}, float[q] r{level + 1}) {{ d{level} = Identity(c{level}) {text} }}>"
        )
    proto = model(f"(float[N] x, bool c, int64 m) => (y) {{ {text} y = Identity(r0) }}")
    assert found(proto) == []


@pytest.mark.parametrize("domain", ["openvino.opset8", "com.microsoft"])
def test_attributes_of_every_kind_on_operators_without_a_schema(domain: str) -> None:
    for kind in AttributeProto.AttributeType.values():
        odd = NodeProto(op_type="GatherND", domain=domain, input=["x", "k"], output=["y"])
        attribute = odd.attribute.add(name="batch_dims", type=kind, graphs=[onnx.GraphProto()], ints=[1], floats=[1.0])
        attribute.tensors.add(data_type=7, dims=[1], int64_data=[1])
        attribute.type_protos.add()
        attribute.sparse_tensors.add()
        proto = graph([odd])
        proto.opset_import.add(domain=domain, version=1)
        proto.graph.initializer.append(numpy_helper.from_array(np.array([[0]]), "k"))
        infer(proto)


def test_sparse_constants() -> None:
    proto = graph([node("Abs", "x", "y")])
    sparse = proto.graph.sparse_initializer.add(dims=[3, -1])
    sparse.values.name, sparse.values.data_type = "sp", TensorProto.INT64
    assert found(proto) == [("GI204", "dims must be >= 0, are [3, -1]")]
    sparse.dims[1] = 4
    assert shapes(proto)["sp"] == "int64[3, 4]"


def test_external_data_of_a_model_in_memory_is_out_of_reach() -> None:
    proto = graph([node("Expand", "x k", "y")])
    external = TensorProto(name="k", dims=[2], data_type=7, data_location=TensorProto.EXTERNAL)
    external.external_data.add(key="location", value="weights.bin")
    proto.graph.initializer.append(external)
    assert shapes(proto)["k"] == "int64[2]"
    assert found(proto) == []


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_changed_there_are_only_diagnostics(seed: int) -> None:
    for proto in variants(500, seed):
        try:
            inference = infer(proto)
        except ModelReadError as error:
            assert "\n" not in str(error)
            continue
        for finding in inference.diagnostics:
            finding.text("m.onnx").encode()
        inference.annotated()
