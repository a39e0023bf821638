"""`extract`: what a cut keeps, which inputs it needs, and which types they get."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import gather_infer
from gather_infer import EditRefused, UnknownName, UsageError, extract
from tests.editing.editing_models import interface, parsed, run, same_bits

CHAIN = parsed("""g (float[N, 4] x, float[N, 4] other) => (float[N, 4] y, float[1, 1] z)
    <float[4] w = {1, 2, 3, 4}, float[4] unread = {5, 6, 7, 8}> {
    a = Relu(x) b = Add(a, w) c = Mul(b, other) y = Neg(c) z = ReduceSum<keepdims = 1>(b) }""")
SPLIT = parsed("""g (float[N, 4] x) => (float[N, 2] y) {
    left, right = Split<axis = 1, num_outputs = 2>(x) n = Neg(left) y = Add(n, right) }""")
BRANCH = parsed("""g (float[N] x, bool c) => (float[M] y) <float[1] one = {1}> {
    h = Abs(x) k = Neg(x)
    y = If (c) <then_branch = t () => (float[K] u) { u = Add(h, one) },
                else_branch = e () => (float[L] v) { v = Mul(k, one) }> z = Exp(k) }""")

CUTS: dict[str, tuple[ModelProto, dict[str, Any], tuple[list[str], list[str]], list[str]]] = {
    # test: (model, arguments, inputs and outputs, operators)
    "from the inputs":      (CHAIN, {"outputs": "b"}, (["x"], ["b"]), ["Relu", "Add"]),
    "to the outputs":       (CHAIN, {"inputs": "b,other"}, (["other", "b"], ["y", "z"]), ["Mul", "Neg", "ReduceSum"]),
    "in the order given":   (CHAIN, {"inputs": ["other", "x"], "outputs": ["z", "y"]}, (["other", "x"], ["z", "y"]),
                             ["Relu", "Add", "Mul", "Neg", "ReduceSum"]),
    "a glob":               (CHAIN, {"inputs": "[ab]", "outputs": "z"}, (["b"], ["z"]), ["ReduceSum"]),
    "by a node":            (CHAIN, {"from_nodes": "Add_1", "to_nodes": "Add_1"}, (["a"], ["b"]), ["Add"]),
    "by nodes":             (CHAIN, {"from_nodes": ["Mul_2", "Neg_3"], "to_nodes": "Neg_3"},
                             (["other", "b"], ["y"]), ["Mul", "Neg"]),
    "an unread input":      (CHAIN, {"inputs": "b,x", "outputs": "z"}, (["x", "b"], ["z"]), ["ReduceSum"]),
    "an input as output":   (CHAIN, {"outputs": "x"}, (["x"], ["x"]), []),
    "an initializer":       (CHAIN, {"inputs": "a,w", "outputs": "b"}, (["a", "w"], ["b"]), ["Add"]),
    "one of two outputs":   (SPLIT, {"inputs": "left,x", "outputs": "y"}, (["x", "left"], ["y"]),
                             ["Split", "Neg", "Add"]),
    "captured values":      (BRANCH, {"inputs": "h,k,c", "outputs": "y"}, (["c", "h", "k"], ["y"]), ["If"]),
    "what bodies read":     (BRANCH, {"outputs": "y"}, (["x", "c"], ["y"]), ["Abs", "Neg", "If"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CUTS)
def test_cuts(case: str) -> None:
    model, arguments, expected, operators = CUTS[case]
    before = model.SerializeToString()
    result = extract(model, **arguments)
    assert model.SerializeToString() == before
    names = interface(result.proto)
    wanted = expected if "order" in case else tuple(map(sorted, expected))
    assert (names if "order" in case else tuple(map(sorted, names))) == wanted
    assert [node.op_type for node in result.proto.graph.node] == operators
    onnx.checker.check_model(result.proto, full_check=True)


def test_inputs_come_in_the_order_given() -> None:
    for order in (["b", "other"], ["other", "b"]):
        assert interface(extract(CHAIN, inputs=order).proto)[0] == order


@pytest.mark.parametrize("case", CUTS)
def test_the_part_computes_what_the_whole_does(case: str) -> None:
    model, arguments, _, _ = CUTS[case]
    proto = extract(model, **arguments).proto
    inputs, outputs = interface(proto)
    rng = np.random.default_rng(0)
    feeds = {v.name: rng.standard_normal((3,) if model is BRANCH else (3, 4), np.float32) for v in model.graph.input}
    if model is BRANCH:
        feeds["c"] = np.array(True)
    named = [name for name in [*inputs, *outputs] if name not in {v.name for v in model.graph.input} | {"w"}]
    whole = gather_infer.outputs(model, add=named).proto if set(named) - set(interface(model)[1]) else model
    known = dict(zip(interface(whole)[1], run(whole, feeds), strict=True)) | feeds
    known["w"] = np.array([1, 2, 3, 4], np.float32)
    for name, found in zip(outputs, run(proto, {name: known[name] for name in inputs}), strict=True):
        assert same_bits(found, known[name]), name


REFUSED: dict[str, dict[str, Any]] = {
    # message: arguments
    "the outputs also need the inputs other (node Mul_2)": {"inputs": "x", "outputs": "y"},
    "the outputs also need the inputs x (node Relu_0), other (node Mul_2)": {"inputs": "w", "outputs": "y"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_cut_that_needs_more_is_refused(message: str) -> None:
    with pytest.raises(EditRefused) as caught:
        extract(CHAIN, **REFUSED[message])
    assert message in str(caught.value)


WRONG: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    # message: (exception, arguments)
    "no tensor 'aa'; did you mean 'a'?": (UnknownName, {"outputs": "aa"}),
    "no tensor matches 'q*'": (UsageError, {"outputs": "q*"}),
    "no node 'Rellu_0'; did you mean 'Relu_0'?": (UnknownName, {"from_nodes": "Rellu_0"}),
    "nothing to extract": (UsageError, {}),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_names(message: str) -> None:
    exception, arguments = WRONG[message]
    with pytest.raises(exception) as caught:
        extract(CHAIN, **arguments)
    assert message in str(caught.value)


def test_a_model_without_outputs() -> None:
    model = ModelProto()
    model.CopyFrom(CHAIN)
    model.graph.ClearField("output")
    with pytest.raises(EditRefused, match="<model>: has no outputs, and no tensor or node is named as the end"):
        extract(model, inputs="a")
    assert interface(extract(model, inputs="a", outputs="b").proto) == (["a"], ["b"])


def test_a_glob_takes_no_tensor_without_a_name() -> None:
    model = parsed("g (float[N, 4] x) => (float[N, 4] y) { a = Relu(x) y = Neg(a) }")
    model.graph.initializer.add(data_type=onnx.TensorProto.FLOAT, dims=[1], float_data=[1])
    assert interface(extract(model, outputs="*").proto)[1] == ["x", "a", "y"]
    assert interface(gather_infer.outputs(model, add="*").proto)[1] == ["y", "x", "a"]


def test_a_tensor_of_a_body_is_no_output() -> None:
    with pytest.raises(UsageError, match="u is a tensor of If_2/then_branch, not of the main graph"):
        extract(BRANCH, outputs="u")


def test_training_graphs_are_refused() -> None:
    model = ModelProto()
    model.CopyFrom(CHAIN)
    model.training_info.add()
    with pytest.raises(EditRefused, match="training graphs"):
        extract(model, outputs="b")


TYPES: dict[str, tuple[ModelProto, dict[str, Any], list[tuple[str, str]]]] = {
    # test: (model, arguments, declared inputs and outputs)
    "symbols of the model": (CHAIN, {"inputs": "b,other"}, [("b", "float32[N, 4]"), ("other", "float32[N, 4]")]),
    "an expression": (
        parsed("g (float[N, 4] x) => (float[M] y) <int64[1] m = {-1}> { f = Reshape(x, m) y = Abs(f) }"),
        {"inputs": "f"}, [("f", "float32['4*N']")],
    ),
    "a generated symbol": (
        parsed("g (float[N] x) => (int64[1, M] y) { f = NonZero(x) y = Abs(f) }"),
        {"inputs": "f"}, [("f", "int64[1, nonzero_0]")],
    ),
    "a sequence": (
        parsed("g (float[N] x) => (float[N] y) <int64 i = {0}> { s = SequenceConstruct(x) y = SequenceAt(s, i) }"),
        {"inputs": "s"}, [("s", "seq(float32[N])")],
    ),
    "sizes that are given": (CHAIN, {"inputs": "b", "outputs": "z", "dims": ["N=3"]}, [("b", "float32[3, 4]")]),
}  # fmt: skip


@pytest.mark.parametrize("case", TYPES)
def test_new_inputs_have_inferred_types(case: str) -> None:
    model, arguments, expected = TYPES[case]
    found = dict(extract(model, **arguments).inputs)
    assert found == dict(expected)


def test_an_unknown_element_type_is_refused() -> None:
    model = parsed(
        "g (float[N] x) => (float[N] y) { f = my.Op(x) y = Abs(f) }", '<ir_version: 9, opset_import: ["": 18, "my": 1]>'
    )
    with pytest.raises(EditRefused, match="<model>: the element type of f is unknown"):
        extract(model, inputs="f")


def test_values_that_a_contract_is_about_are_gone() -> None:
    embedded = gather_infer.contract_of(CHAIN).embedded()
    embedded.metadata_props.add(key="author", value="me")
    embedded.metadata_props.add(key="gather_infer.dims", value="N=1..8")
    result = extract(embedded, inputs="a,other")
    assert {entry.key: entry.value for entry in result.proto.metadata_props} == {
        "author": "me",
        "gather_infer.dims": "N=1..8",
    }
    assert result.notes == ("gather_infer.contract in the metadata: is about other inputs",)
    fixed = parsed("g (float[N] x) => (float y) { f = ReduceSum<keepdims = 0>(x) y = Abs(f) }")
    fixed.metadata_props.add(key="gather_infer.dims", value="N=1..8")
    assert not extract(fixed, inputs="f").proto.metadata_props


def test_functions_that_nodes_call_stay() -> None:
    text = """<ir_version: 9, opset_import: ["": 18, "f": 1]>
        g (float[N] x) => (float[N] y) { a = f.outer(x) y = f.other(a) }
        <domain: "f", opset_import: ["": 18, "f": 1]> outer (x) => (y) { y = f.inner(x) }
        <domain: "f", opset_import: ["": 18]> inner (x) => (y) { y = Relu(x) }
        <domain: "f", opset_import: ["": 18]> other (x) => (y) { y = Exp(x) }"""
    model = onnx.parser.parse_model(text)
    assert [f.name for f in extract(model, outputs="a").proto.functions] == ["outer", "inner"]
    assert [f.name for f in extract(model, inputs="a").proto.functions] == ["other"]


def test_outputs_of_the_last_nodes_are_what_others_read() -> None:
    """An output of the model counts, although no node reads it; a value between the last nodes does not."""
    text = (
        '<ir_version: 10, opset_import: ["" : 21]> g (float[4, N] x) => (float[2, N] p, float[2, N] z) {'
        " [cut] p, q = Split <axis = 0, num_outputs = 2> (x) [one] r = Relu (q) [two] s = Neg (r) [end] z = Abs (s) }"
    )
    model = onnx.parser.parse_model(text)
    assert [value.name for value in extract(model, to_nodes="cut").proto.graph.output] == ["p", "q"]
    assert [value.name for value in extract(model, to_nodes=["one", "two"]).proto.graph.output] == ["s"]


def test_declarations_of_inputs_of_the_model() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[N, 4] x, float[N, 4] w) => (float[N, 4] z)'
        " { y = Add (x, w) z = Abs (y) }"
    )
    model.graph.input[0].doc_string = "a batch"
    model.graph.input[0].type.denotation = "IMAGE"
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    found = extract(model, inputs=["x", "w"], outputs="y").proto
    assert list(found.graph.input) == list(model.graph.input)
    model.graph.input[1].type.tensor_type.ClearField("shape")  # inferred as a tensor of any rank
    found = extract(model, inputs=["w", "x"], outputs="y").proto
    assert list(found.graph.input) == list(model.graph.input)[::-1]
