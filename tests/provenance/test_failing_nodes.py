"""Nodes that violate their specification: rows and axes are unknown there."""

from __future__ import annotations

import pytest
from onnx.parser import parse_model

from gather_infer import IndependenceVerdict, axis_provenance, check, independence

FAILING = {
    # name: inputs and nodes of which one fails in every run, so that its result has the declared type
    "tuples of length 0": "(float[B, 4] x, int64[B, 0] i) => ({y}) { y = GatherND (x, i) }",
    "no lengths": "(float[B, 4] x) => ({y}) { y = ReverseSequence <time_axis = 1, batch_axis = 0> (x) }",
    "no target": "(float[B, 4] x) => ({y}) { y = Reshape (x) }",
    "a vector as a start": "(int64[B] x) => ({y}) <int64 one = {1}> { y = Range (x, x, one) }",
    "axes that repeat": "(float[B, 4] x) => ({y}) { y = Transpose <perm = [1, 1]> (x) }",
    "an axis outside": "(float[B, 4] x) => ({y}) { y = Concat <axis = 2> (x, x) }",
    "both branches": (
        "(float[B, 4] x, bool c) => ({y}) { y = If (c) <then_branch = t () => ({u}) { u = ReverseSequence (x) },"
        " else_branch = e () => ({v}) { v = Reshape (x) }> }"
    ),
}


@pytest.mark.parametrize("declared", ["float", "float[B]", "float[B, a, c]"])
@pytest.mark.parametrize("text", FAILING.values(), ids=FAILING)
def test_rows_are_unknown_at_a_failing_node(text: str, declared: str) -> None:
    for name in "yuv":
        text = text.replace(f"{{{name}}}", f"{declared} {name}")
    model = parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    assert independence(model, rows=["x.0"], run=False).verdict is IndependenceVerdict.OPEN
    axes = axis_provenance(model)
    assert str(axes["x"][0]) == "x.0" and not any(factor.input for axis in axes["y"] for factor in axis.factors)
    assert check(model).errors
