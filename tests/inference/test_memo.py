"""Calls that are not walked again: two calls get one answer only where nothing that the body sees differs."""

from __future__ import annotations

import numpy as np
import onnx.parser
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from gather_infer import infer
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
