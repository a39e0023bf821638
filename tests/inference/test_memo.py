"""Calls that are not walked again: two calls get one answer only where nothing that the body sees differs."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from gather_infer import infer
from gather_infer.symbolic import known_eq
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import verdicts


def calling(graph: str, functions: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 17, "f" : 1]> g {graph} {functions}')


def shapes(model: ModelProto, **feeds: object) -> dict[str, tuple[int, ...]]:
    names = [output.name for output in model.graph.output]
    results = ReferenceEvaluator(model).run(None, {name: np.asarray(value) for name, value in feeds.items()})
    return {name: np.shape(result) for name, result in zip(names, results, strict=True)}


def test_attributes_of_the_call_take_part() -> None:
    model = calling(
        "(float[2, 3] x) => (a, b) { a = f.twice <axis = 0> (x) b = f.twice <axis = 1> (x) }",
        '<domain: "f", opset_import: ["" : 17]> twice <axis> (v) => (w) { w = Concat <axis: int = @axis> (v, v) }',
    )
    found = infer(model)
    for name, shape in shapes(model, x=np.zeros((2, 3), np.float32)).items():
        value = found[name]
        assert isinstance(value, SymbolicTensor) and value.shape == shape


def test_where_the_arguments_come_from_takes_part() -> None:
    model = calling(
        "(float[9] t, int64[S] i, int64[S] j) => (a, b) { a = f.pick (t, i) b = f.pick (t, j) }",
        '<domain: "f", opset_import: ["" : 17]> pick (v, k) => (w) { w = Gather (v, k) }',
    )
    assert [found.condition for found in verdicts(infer(model))] == ["-9 <= i < 9", "-9 <= j < 9"]


def test_a_body_that_makes_a_symbol_makes_one_for_each_call() -> None:
    model = calling(
        "(bool[N] p, bool[N] q) => (a, b) { a = f.count (p) b = f.count (q) }",
        '<domain: "f", opset_import: ["" : 17]> count (v) => (w) { w = NonZero (v) }',
    )
    assert shapes(model, p=[True, True], q=[True, False]) == {"a": (1, 2), "b": (1, 1)}
    a, b = (infer(model)[name] for name in ("a", "b"))
    assert isinstance(a, SymbolicTensor) and isinstance(b, SymbolicTensor)
    assert a.shape is not None and b.shape is not None and a.shape[1] != b.shape[1]


def test_where_the_results_come_from_takes_part() -> None:
    """Each access is in bounds exactly where its own input is: the other one's index is no concern of it."""
    model = calling(
        "(float[9] t, int64[S] i, int64[S] j) => (a, b) { k = f.next (i) l = f.next (j) a = Gather (t, k) b = Gather (t, l) }",
        '<domain: "f", opset_import: ["" : 17]> next (v) => (w) { one = Constant <value_int = 1> () w = Add (v, one) }',
    )
    inference = infer(model)
    good, bad = np.array([-10, 7]), np.array([8])
    runtime = ReferenceEvaluator(model)
    for i, j, name in ((good, bad, "b"), (bad, good, "a")):
        with pytest.raises(IndexError):
            runtime.run([name], {"t": np.zeros(9, np.float32), "i": i, "j": j})
    assert [found.condition for found in verdicts(inference)] == ["-10 <= i < 8", "-10 <= j < 8"]


def test_where_the_results_come_from_is_kept_for_the_next_call() -> None:
    model = calling(
        "(float[9] t, int64[S] i) => (a, b) { k = f.next (i) l = f.next (i) a = Gather (t, k) b = Gather (t, l) }",
        '<domain: "f", opset_import: ["" : 17]> next (v) => (w) { one = Constant <value_int = 1> () w = Add (v, one) }',
    )
    assert [found.condition for found in verdicts(infer(model))] == ["-10 <= i < 8"] * 2


BROKEN = {
    "an undefined name": "w = Add (v, nothing)",
    "a broken specification": "w = Transpose <perm = [5]> (v)",
    "an unknown operator": "w = Odd (v)",
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_error_in_a_body_is_reported_for_each_call(name: str) -> None:
    model = calling(
        "(float[S] x, float[S] y) => (a, b) { [first] a = f.wrong (x) [second] b = f.wrong (y) }",
        f'<domain: "f", opset_import: ["" : 17]> wrong (v) => (w) {{ {BROKEN[name]} }}',
    )
    labels = [str(found.location.node).partition("/")[0] for found in infer(model).diagnostics]
    assert labels == ["first", "second"]


def test_a_body_with_a_size_that_depends_on_data_has_one_for_each_call() -> None:
    model = calling(
        "(int64 n, int64 m) => (a, b) { a = f.count (n) b = f.count (m) }",
        '<domain: "f", opset_import: ["" : 17]> count (v) => (w) { zero = Constant <value_int = 0> () one = Constant <value_int = 1> () w = Range (zero, v, one) }',
    )
    inference, sizes = infer(model), shapes(model, n=3, m=5)
    assert sizes == {"a": (3,), "b": (5,)}
    a, b = (inference[name] for name in sizes)
    assert isinstance(a, SymbolicTensor) and isinstance(b, SymbolicTensor)
    assert a.shape is not None and b.shape is not None and known_eq(a.shape[0], b.shape[0]) is None
