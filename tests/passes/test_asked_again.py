# ruff: noqa: E501  (models as text)
"""Nodes that see something new are asked again, and what nobody reads any more goes at once: nothing is left for a
second round, in which the whole model is looked at anew."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

from gather_infer.passes import fold, optimize
from tests.passes.folding_models import assert_same_outputs, ops

ASKED = {
    # id: (the graph, its nodes afterwards)
    "another reader has gone, and the last one is asked": (
        """g (float[2,4,3] x) => (float[2,3] y, int64[3] z) <float[3] c = {1, 2, 3}, int64 i = {1}> {
            a = Add(x, c) s = Shape(a) z = Neg(s) y = Gather<axis = 1>(a, i) }""",
        ["Gather", "Add"],
    ),
    "a reader has gone, and the node is asked that it has read": (
        """g (float[2,4,3] x) => (float[2,4,3] y, int64[3] z) {
            a = Abs(x) b, m = Dropout(a) y = Neg(b) s = Shape(m) z = Neg(s) }""",
        ["Abs", "Neg"],
    ),
    "what is read has come to be another value": (
        """g (float[2,3] x) => (float[2,3] y) { a = Transpose(x) b = Identity(a) c = Identity(b) d = Transpose(c) y = Neg(d) }""",
        ["Neg"],
    ),
    "constants have become one, and so do those who read them": (
        "g (float[2,3] x) => (float[2,3] y) <float[1] c = {2}, float[1] d = {2}> { a = Mul(x, c) b = Mul(x, d) y = Add(a, b) }",
        ["Mul", "Add"],
    ),
    "a new node is asked itself": (
        """g (float[2,4,3] x) => (float[2,4,3] y) {
            a = Transpose<perm = [1, 2, 0]>(x) b = Transpose<perm = [1, 2, 0]>(a) c = Transpose<perm = [1, 2, 0]>(b) y = Neg(c) }""",
        ["Neg"],
    ),
    "a body has taken the place of its node": (
        """g (float[2,3] x) => (float[2,3] y) <bool c = {1}> {
            a = Transpose(x)
            b = If (c) <then_branch = t () => (float[2,3] p) { q = Neg(a) p = Transpose(q) }, else_branch = e () => (float[2,3] r) { r = Abs(x) }>
            y = Neg(b) }""",
        None,
    ),
}


@pytest.mark.parametrize("what", ASKED)
def test_in_one_round(what: str) -> None:
    text, nodes = ASKED[what]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    result = optimize(made)
    assert result.done
    assert not any(len(each.journal) for each in result.rounds[1:]), result.edits
    assert nodes is None or ops(result.proto.graph) == nodes
    shape = [dim.dim_value for dim in made.graph.input[0].type.tensor_type.shape.dim]
    assert_same_outputs(made, result.proto, {"x": np.random.default_rng(0).standard_normal(shape).astype("f4")})


LEFT = {
    # id: (the graph, its initializers after `fold`, which has no second look)
    "a result that nobody reads": (
        "g (float[N] x) => (float[M] y) <float[4] w = {1, 2, 3, 4}> { a, b = Split<num_outputs = 2>(w) y = Concat<axis = 0>(x, a) }",
        ["a"],
    ),
    "equal results": (
        "g (float[N] x) => (float[M] y) <float[2] w = {1, 2}> { a = Neg(w) b = Neg(w) y = Concat<axis = 0>(x, a, b) }",
        ["b"],
    ),
    "a chain": (
        "g (float[N] x) => (float[M] y) <float[2] w = {1, 2}> { a = Neg(w) b = Abs(a) c = Sqrt(b) y = Concat<axis = 0>(x, c) }",
        ["c"],
    ),
}


@pytest.mark.parametrize("what", LEFT)
def test_fold_leaves_nothing(what: str) -> None:
    text, left = LEFT[what]
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    after = fold(made).proto
    assert len(after.graph.initializer) == len(left), [tensor.name for tensor in after.graph.initializer]
    assert_same_outputs(made, after, {"x": np.ones(3, "f4")})
