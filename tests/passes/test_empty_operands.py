"""Concat of operands without elements: onnxruntime lets their other dims differ, the specification does not."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from gather_infer import infer
from gather_infer.passes import optimize
from tests.rewrites.table import run

Shapes = tuple[tuple[int, ...], ...]

Refusal = onnxruntime.capi.onnxruntime_pybind11_state.Fail

MODELS: dict[str, tuple[str, list[Shapes]]] = {
    "any two": (
        "g (float[A, B] x, float[C, D] z) => (float[P, Q] y) { c = Concat<axis = 0>(x, z) y = Neg(c) }",
        [((0, 3), (2, 4)), ((2, 3), (0, 4)), ((0, 3), (0, 4)), ((1, 3), (1, 4)), ((1, 3), (2, 3))],
    ),
    "one that is always empty": (
        "g (float[0, B] x, float[C, D] z) => (float[P, Q] y) { c = Concat<axis = 0>(x, z) y = Neg(c) }",
        [((0, 3), (2, 4)), ((0, 3), (2, 3))],
    ),
    "one of another": (
        """g (float[A, B] x, float[C, D] z, float[E, F] w) => (float[P, Q] y) {
            c = Concat<axis = 0>(x, z) d = Concat<axis = 0>(c, w) y = Neg(d) }""",
        [((0, 3), (2, 4), (1, 4)), ((0, 3), (0, 4), (1, 5)), ((2, 3), (0, 4), (0, 5)), ((1, 3), (0, 3), (2, 3))],
    ),
    "and its shape": (
        "g (float[A, B] x, float[C, D] z) => (float[P, Q] y, int64[R] s) { y = Concat<axis = 0>(x, z) s = Shape(y) }",
        [((0, 3), (2, 4)), ((2, 3), (0, 4)), ((1, 4), (1, 4))],
    ),
    "one that has a static dim": (
        "g (float[A, B] x, float[C, 4] z) => (float[P, Q] y) { c = Concat<axis = 0>(x, z) y = Neg(c) }",
        [((0, 3), (2, 4)), ((2, 3), (0, 4)), ((1, 4), (0, 4))],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_onnxruntime_makes_of_them_stays(name: str) -> None:
    text, instances = MODELS[name]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    after = optimize(made).proto
    assert any(c.relation == "==" for c in infer(made).constraints), "the page requires it"
    for shapes in instances:
        feeds = {
            value.name: np.arange(np.prod(shape), dtype="f4").reshape(shape)
            for value, shape in zip(made.graph.input, shapes, strict=True)
        }
        before, now = run(made, feeds), run(after, feeds)
        assert (before is None) is (now is None), f"one of them fails at {shapes}"
        for old, new in zip(before or (), now or (), strict=True):
            assert np.array_equal(old, new)


def test_static_dims_that_differ_are_an_error_for_all() -> None:
    text = "g (float[0, 3] x, float[2, 4] z) => (float[P, Q] y) { y = Concat<axis = 0>(x, z) }"
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    assert [d.code for d in infer(made).errors] == ["GI212"]
    assert not optimize(made).applied
    feeds = {"x": np.zeros((0, 3), "f4"), "z": np.zeros((2, 4), "f4")}
    with pytest.raises(Refusal):
        run(made, feeds)
    with pytest.raises(ValueError):
        ReferenceEvaluator(made).run(None, feeds)
