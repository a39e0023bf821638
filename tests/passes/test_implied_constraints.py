# ruff: noqa: E501  (models as text)
"""Constraints that nodes imply are known when other nodes are rewritten, where every run reaches them."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto

from gather_infer.passes import optimize
from tests.passes.folding_models import assert_same_outputs, ops


def parsed(text: str) -> ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    onnx.checker.check_model(made)
    return made


SAME_COUNT = """g (float[R, 4] x, float[B, S] q) => (float[C, D] y) <int64[1] c = {4}, int64[2] u = {-1, 4}> {
    s = Shape(q) t = Concat<axis = 0>(s, c) v = Reshape<allowzero = 1>(x, t) w = Exp(v) y = Reshape(w, u) }"""


def test_a_view_has_as_many_elements_as_it_is_of() -> None:
    made = parsed(SAME_COUNT)
    after = optimize(made).proto
    assert ops(after.graph) == ["Exp"]
    for b, s in product((0, 1, 2, 3), repeat=2):
        feeds = {"x": np.arange(4 * b * s, dtype="f4").reshape(b * s, 4), "q": np.zeros((b, s), "f4")}
        assert_same_outputs(made, after, feeds)


SLICE = "n = Shape(z) a = Slice(x, o, n) w = Exp(a)"
"""All of x, where z is as long."""

BESIDE = "u = Unsqueeze(x, o) v = Unsqueeze(z, o)"
GIVEN = "<int64[1] o = {0}>"


def test_what_is_put_side_by_side_is_of_one_length() -> None:
    made = parsed(
        f"g (float[M] x, float[N] z) => (float[2, K] y, float[A] w) {GIVEN} {{ {BESIDE} y = Concat<axis = 0>(u, v) {SLICE} }}"
    )
    after = optimize(made).proto
    assert "Slice" not in ops(after.graph)
    for places in (0, 1, 3):
        assert_same_outputs(made, after, {"x": np.arange(places, dtype="f4"), "z": np.ones(places, "f4")})


ELSEWHERE = {
    "in a branch": """y = If (b) <then_branch = t () => (float[2, C] p) { p = Concat<axis = 0>(u, v) },
        else_branch = e () => (float[1, D] q) { q = Neg(u) }>""",
    "in a loop": """k = Cast<to = 7>(b)
        y = Loop (k, "", u) <body = l (int64 i, bool go, float[E, F] s) => (bool still, float[G, H] r) {
            still = Identity(go) p = Concat<axis = 0>(u, v) r = Neg(p) }>""",
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_what_is_demanded_elsewhere_need_not_hold(where: str) -> None:
    made = parsed(
        f"g (float[M] x, float[N] z, bool b) => (float[B, K] y, float[A] w) {GIVEN} {{ {BESIDE} {ELSEWHERE[where]} {SLICE} }}"
    )
    after = optimize(made).proto
    for one, other, flag in ((3, 3, True), (3, 3, False), (5, 3, False), (3, 5, False), (2, 0, False)):
        feeds = {"x": np.arange(one, dtype="f4"), "z": np.ones(other, "f4"), "b": np.array(flag)}
        assert_same_outputs(made, after, feeds)


def test_of_two_demands_that_cannot_both_hold_the_first_is_known() -> None:
    made = parsed(
        """g (float[M] x, float[1, 4] z, float[1, 5] v) => (float[2, K] y, float[2, L] l, float[A] w, float[B] s) <int64[1] o = {0}, int64[1] three = {3}, int64[1] four = {4}> {
            u = Unsqueeze(x, o) y = Concat<axis = 0>(u, z) l = Concat<axis = 0>(u, v)
            a = Slice(x, o, three) w = Exp(a) b = Slice(x, o, four) s = Abs(b) }"""
    )
    after = optimize(made).proto
    assert [list(node.input) for node in after.graph.node if node.op_type in ("Exp", "Abs")] == [["a"], ["x"]]
