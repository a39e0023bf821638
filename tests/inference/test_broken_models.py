"""Faults inside readable models: every one is a diagnostic with its code, the allowed range and what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper, parser

from gather_infer import ModelReadError, Severity, fold, freeze, infer, optimize
from gather_infer.inference.proto.releases import NEWEST_IR_VERSION, NEWEST_OPSET
from tests.inference.models import found, graph, model, node, shapes
from tests.inference.mutations import variants
from tests.onnx_versions import needs_onnx


def tensor(dims: list[int], data_type: int = TensorProto.INT64, raw: bytes = b"") -> TensorProto:
    return TensorProto(name="k", dims=dims, data_type=data_type, raw_data=raw)


NODES: dict[str, Any] = {
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
    "too many inputs": ([node("Abs", "x x", "y")], "GI107", "the operator takes 1 input, found 2"),
    "too many of several inputs": (
        [node("Clip", "x x x x", "y")], "GI107", "the operator takes 1 to 3 inputs, found 4",
    ),
    "none of any number of inputs": (
        [node("Concat", "", "y", axis=0)], "GI107", "the operator takes at least 1 input, found 0",
    ),
    "a required input that is left out": (
        [NodeProto(op_type="Gather", input=["x", ""], output=["y"])], "GI107", "input 1 is missing",
    ),
    "one of any number of inputs that is left out": (  # onnxruntime crashes in the run
        [NodeProto(op_type="Sum", input=["x", ""], output=["y"])], "GI107", "input 1 is missing",
    ),
    "a cycle that others wait for": (
        [node("Add", "x b", "a", name="A"), node("Abs", "a", "b", name="B"), node("Neg", "b", "c", name="C")],
        "GI102", "B -> A -> B is a cycle; 3 nodes wait for it",
    ),
    "a constant without a value": (
        [node("Constant", "", "y")], "GI106", "exactly one attribute must give the value, found none",
    ),
    "no outputs": ([NodeProto(op_type="Abs", input=["x"])], "GI107", "the operator takes 1 output, found 0"),
    "too many outputs": ([node("Abs", "x", "y z")], "GI107", "the operator takes 1 output, found 2"),
    "an axis past the rank": ([node("Softmax", "x", "y", axis=2)], "GI304", "axis = 2 is outside [-2, 1], input has rank 2"),
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
    assert finding == (code, message or finding[1])


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
        ("GI101", "output y is listed more than once"),
    ]


def test_an_output_that_is_listed_twice_is_given_twice() -> None:
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N] x) => (float[N] y, float[N] y) { a = Neg(x)  b = Identity(a)  y = Neg(b) }""")
    onnx.checker.check_model(proto, full_check=True)
    assert [(d.code, d.severity) for d in infer(proto).diagnostics] == [("GI101", Severity.WARNING)]
    feeds = {"x": np.array([1.5, -2.0], np.float32)}
    for written in (proto, optimize(proto).proto, fold(proto).proto, freeze(proto, dims=["N=2"]).proto):
        session = ort.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])
        assert [value.tolist() for value in session.run(None, feeds)] == [[1.5, -2.0]] * 2


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
    assert len(set(inference.labels.values())) == len(inference.scopes) == 5


@pytest.mark.parametrize(
    ("version", "code", "message"),
    [
        (0, "GI104", "opset 0 of domain ai.onnx is not known, the first is 1"),
        (-3, "GI104", "opset -3 of domain ai.onnx is not known, the first is 1"),
        (
            NEWEST_OPSET + 10,
            "GI109",
            f"opset {NEWEST_OPSET + 10} of domain ai.onnx is newer than {NEWEST_OPSET}, whose rules are used",
        ),
        (
            2**31 - 1,
            "GI104",
            f"opset {2**31 - 1} of domain ai.onnx is not known, the newest is {NEWEST_OPSET}",
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
    proto.opset_import.add(domain="ai.onnx.ml", version=2**31 - 1)
    assert [code for code, _ in found(proto)] == ["GI104"]
    assert shapes(proto)["y"] == "float32[N, 3]"


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
    assert found(proto) == [("GI109", f"IR version {version} is outside [1, {NEWEST_IR_VERSION}]")]


@pytest.mark.parametrize("version", [1, NEWEST_IR_VERSION])
def test_the_oldest_and_the_newest_ir_version(version: int) -> None:
    proto = graph([node("Abs", "x", "y")])
    if version == 1:
        del proto.opset_import[:]
    proto.ir_version = version
    assert found(proto) == []


INITIALIZERS: dict[str, Any] = {
    # id: (tensor, message)
    "too few bytes": (tensor([2, 2]), "int64[2, 2] needs 32 bytes of data, found 0"),
    "too many bytes": (tensor([], raw=bytes(9)), "int64[] needs 8 bytes of data, found 9"),
    "a negative dim": (tensor([2, -1]), "dims must be >= 0, are [2, -1]"),
    "no element type": (tensor([1], 0), "element type 0 is not one of ONNX"),
    "an unknown element type": (tensor([1], 99), "element type 99 is not one of ONNX"),
    "a product that overflows": (tensor([2**62, 4]), f"int64[{2**62}, 4] needs {2**67} bytes of data, found 0"),
    "typed data that is short": (
        TensorProto(name="k", dims=[3], data_type=7, int64_data=[1]), "the dims require 3 elements of data, found 1",
    ),
    "strings that are short": (
        TensorProto(name="k", dims=[2], data_type=8, string_data=[b"\xff"]), "the dims require 2 elements of data, found 1",
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
    places = {(d.location.graph, d.location.value) for d in infer(proto).diagnostics if d.code == "GI204"}
    assert places == ({("If#0/then_branch", "k"), ("If#0/else_branch", "k")} if where == "subgraph" else {("", "k")})


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


def test_a_default_of_another_element_type() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.initializer.append(numpy_helper.from_array(np.zeros((20, 3), np.int64), "x"))
    assert found(proto) == [("GI204", "the default is int64[20, 3], the input is float32[N, 3]")]
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.UNDEFINED
    assert found(proto) == []


def test_a_default_is_no_constant() -> None:
    proto = graph([node("Expand", "x k", "y")])
    proto.graph.initializer.append(numpy_helper.from_array(np.array([2, 5, 3]), "k"))
    proto.graph.input.append(helper.make_tensor_value_info("k", TensorProto.INT64, [3]))
    inference = infer(proto)
    y: Any = inference["y"]
    assert inference.is_generated(y.shape[0])
    proto.ir_version = 3
    assert shapes(proto)["y"].startswith("float32[2, ")


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


BAD = b"\xff" * 8
TEXTS = {
    # id: (the node that has the text, what is said)
    "a name": (node("Abs", "x", "yyyyyyyy"), f"the name {BAD!r} is not UTF-8"),
    "an operator": (node("yyyyyyyy", "x", "y"), "a text of node '' is not UTF-8"),
    "a domain": (node("Abs", "x", "y", domain="yyyyyyyy"), "a text of node '' is not UTF-8"),
    "an attribute": (node("Abs", "x", "y", yyyyyyyy=1), "a text of node '' is not UTF-8"),
    "an overload": (node("Abs", "x", "y", overload="yyyyyyyy"), "a text of node '' is not UTF-8"),
}


@pytest.mark.parametrize("has_weights", [False, True], ids=["small", "large weights"])
@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_not_utf8(name: str, has_weights: bool) -> None:
    bad, message = TEXTS[name]
    proto = graph([bad])
    if has_weights:  # then the model is not serialized
        proto.graph.initializer.append(numpy_helper.from_array(np.zeros(5000, np.float32), "weights"))
    raw = proto.SerializeToString().replace(b"yyyyyyyy", BAD)
    with pytest.raises(ModelReadError) as error:
        infer(ModelProto.FromString(raw))
    assert str(error.value) == message


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
    assert [d.location and d.location.value for d in infer(proto).diagnostics] == ["sp"]
    sparse.dims[1] = 4
    assert shapes(proto)["sp"] == "int64[3, 4]"


def test_a_sparse_default_leaves_its_input_open() -> None:
    proto = graph([node("Abs", "x", "y")])
    sparse = proto.graph.sparse_initializer.add(dims=[2, 3])
    sparse.values.name, sparse.values.data_type = "x", TensorProto.FLOAT
    assert shapes(proto)["y"] == "float32[N, 3]"


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


@pytest.mark.parametrize(("count", "shown"), [(5, 5), (6, 6), (7, 6), (8, 6)])
def test_a_cycle_is_shown_up_to_six_nodes(count: int, shown: int) -> None:
    nodes = " ".join(f"v{i} = Neg(v{(i - 1) % count})" for i in range(count))
    messages = [d.message for d in infer(model(f"(float[N] x) => (y) {{ {nodes} y = Abs(x) }}")).diagnostics]
    (told,) = [m for m in messages if " -> " in m]
    path = told[told.index("Neg") : told.index(" is a cycle")].split(" -> ")
    assert len(path) == shown + 1 + (count > 6) and path[0] == path[-1]
    assert (path[-2] == "...") is (count > 6)


@needs_onnx("1.22", "FlexAttention")
def test_an_attribute_that_is_unknown_to_an_operator_without_a_rule() -> None:
    """onnx's own inference, which is asked then, raises another error than for inputs that do not fit."""
    model = onnx.parser.parse_model(
        '<ir_version: 13, opset_import: ["": 26, "ai.onnx.preview": 1]>'
        "g (float[2,3,4,8] q, float[2,3,4,8] k) => (float[A,B,C,D] y) {"
        "y = ai.onnx.preview.FlexAttention<body = 1>(q, k, k) }"
    )
    codes = [d.code for d in infer(model).diagnostics]
    assert "GI106" in codes and "GI210" in codes
