"""`outputs`: which outputs a model has afterwards, what else stays, and that the common ones keep their bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from gather_infer import EditRefused, UnknownName, UsageError, outputs
from gather_infer.editing.output_selection import with_common_outputs
from tests.editing.editing_models import interface, parsed, run, same_bits

MODEL = parsed("""g (float[N, 4] x, float[N, 4] other) => (float[N, 4] y, float[N, 1] z)
    <float[4] w = {1, 2, 3, 4}> { a = Relu(x) b = Add(a, w) y = Neg(b) c = Mul(a, other)
    z = ReduceSum<keepdims = 1>(c) dead = Exp(x) }""")
ALL = ["Relu", "Add", "Neg", "Mul", "ReduceSum", "Exp"]

CASES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    # test: (arguments, outputs, operators)
    "add":              ({"add": "a"}, ["y", "z", "a"], ALL),
    "add several":      ({"add": "c,a"}, ["y", "z", "c", "a"], ALL),
    "add a glob":       ({"add": "[a-c]"}, ["y", "z", "a", "b", "c"], ALL),
    "add an input":     ({"add": "x"}, ["y", "z", "x"], ALL),
    "add a constant":   ({"add": "w"}, ["y", "z", "w"], ALL),
    "keep":             ({"keep": "z"}, ["z"], ["Relu", "Mul", "ReduceSum"]),
    "drop":             ({"drop": "z"}, ["y"], ["Relu", "Add", "Neg"]),
    "drop a glob":      ({"drop": "[xyw]"}, ["z"], ["Relu", "Mul", "ReduceSum"]),
    "keep and add":     ({"keep": "y", "add": "c"}, ["y", "c"], ["Relu", "Add", "Neg", "Mul"]),
    "only new ones":    ({"drop": "*", "add": "b"}, ["b"], ["Relu", "Add"]),
    "keep nodes":       ({"drop": "z", "keep_nodes": True}, ["y"], ALL),
    "keep all":         ({"keep": "*"}, ["y", "z"], ALL),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_outputs(case: str) -> None:
    arguments, names, operators = CASES[case]
    before = MODEL.SerializeToString()
    result = outputs(MODEL, **arguments)
    assert MODEL.SerializeToString() == before
    assert interface(result.proto) == (["x", "other"], names)
    assert [node.op_type for node in result.proto.graph.node] == operators
    onnx.checker.check_model(result.proto, full_check=True)
    feeds = {name: np.random.default_rng(1).standard_normal((2, 4), np.float32) for name in ("x", "other")}
    first = dict(zip(("y", "z"), run(MODEL, feeds), strict=True))
    second = dict(zip(names, run(result.proto, feeds), strict=True))
    assert all(same_bits(second[name], first[name]) for name in first.keys() & second.keys())


def test_an_initializer_that_no_output_needs_is_removed() -> None:
    assert [t.name for t in outputs(MODEL, drop="y").proto.graph.initializer] == []
    assert [t.name for t in outputs(MODEL, drop="y", keep_nodes=True).proto.graph.initializer] == ["w"]


def test_the_declaration_of_a_dropped_output_stays_with_the_value() -> None:
    model = ModelProto()
    model.CopyFrom(MODEL)
    model.graph.output[0].doc_string = "logits"
    found = outputs(model, drop="y", keep_nodes=True).proto
    assert [(v.name, v.doc_string) for v in found.graph.value_info] == [("y", "logits")]
    again = outputs(found, add="y").proto
    assert [(v.name, v.doc_string) for v in again.graph.output] == [("z", ""), ("y", "logits")]
    assert not again.graph.value_info


WRONG: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    # message: (exception, arguments)
    "no tensor 'q'": (UnknownName, {"add": "q"}),
    "no output 'yy'; did you mean 'y'?": (UnknownName, {"drop": "yy"}),
    "no output matches 'k*'": (UsageError, {"keep": "k*"}),
    "nothing to do: add, keep or drop is missing": (UsageError, {}),
    "these are outputs already": (UsageError, {"add": "y"}),
    "no output is left": (EditRefused, {"drop": "*"}),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_names(message: str) -> None:
    exception, arguments = WRONG[message]
    with pytest.raises(exception) as caught:
        outputs(MODEL, **arguments)
    assert message in str(caught.value)


def test_training_graphs_keep_the_values_that_they_read() -> None:
    model = ModelProto()
    model.CopyFrom(MODEL)
    training = model.training_info.add()
    training.algorithm.CopyFrom(onnx.parser.parse_graph("t () => (float[4] u) { u = Neg(w) }"))
    training.update_binding.add(key="w", value="u")
    found = outputs(model, drop="y").proto
    assert [t.name for t in found.graph.initializer] == ["w"]
    assert found.training_info == model.training_info


def test_models_are_compared_by_their_common_outputs() -> None:
    before, after = with_common_outputs(outputs(MODEL, add="a", drop="z"))
    assert interface(before.proto) == interface(after) == (["x", "other"], ["y"])
    with pytest.raises(UsageError, match="no output in common"):
        with_common_outputs(outputs(MODEL, add="a", drop="*"))


@pytest.mark.parametrize(("version", "kept"), [(9, ["w"]), (3, [])])
def test_the_default_of_an_input_that_is_not_read(version: int, kept: list[str]) -> None:
    """It stays with its input; in files of IR version 3 all initializers are inputs, and no caller feeds them."""
    text = "g (float[4] x, float[4] w) => (float[4] y, float[4] z) { y = Add(x, w) z = Relu(x) }"
    model = parsed(text, f'<ir_version: {version}, opset_import: ["": 8]>')
    model.graph.initializer.add(name="w", data_type=1, dims=[4], float_data=[1, 2, 3, 4])
    found = outputs(model, drop="y").proto
    assert [tensor.name for tensor in found.graph.initializer] == kept
    assert interface(found)[0] == ["x", *kept]
