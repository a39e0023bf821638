# ruff: noqa: E501  (models as text)
"""One run of `optimize` finds all that a second one would: what takes the place of a value tells more of it."""

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


ENDS = {"a number": ("int64[1] n = {99}, ", ""), "a size": ("", "n = Shape<end = 1>(p)")}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("dims", ["N", "N, M", "N, N", "N, 4"])
def test_a_view_back_to_the_shape_of_a_slice(dims: str, start: int, end: str) -> None:
    """Reshape(Reshape(v, -1), Shape(v)): the shape of the result is known in fewer words once it is v."""
    held, computed = ENDS[end]
    rank = dims.count(",") + 1
    made = parsed(
        f"""g (float[{dims}] x, float[N] p) => (float[{", ".join("ABC"[:rank])}] y) <{held}int64[1] o = {{{start}}}, int64[1] k = {{-1}}> {{
            {computed} v = Slice(x, o, n) r = Reshape(v, k) s = Shape(v) y = Reshape(r, s) }}"""
    )
    found = optimize(made)
    assert "Reshape" not in ops(found.proto.graph)
    assert not optimize(found.proto).done
    for n, m in product((2, 3, 5), (1, 2)):
        sizes = [{"N": n, "M": m, "4": 4}[dim.strip()] for dim in dims.split(",")]
        feeds = {"x": np.arange(np.prod(sizes), dtype="f4").reshape(sizes), "p": np.zeros(n, "f4")}
        assert_same_outputs(made, found.proto, feeds)


def test_what_a_loop_gives_that_runs_once() -> None:
    """The facts of a body are functions of the iteration, of which there is one."""
    made = parsed(
        """g (float[4, N] x, float[N, N] z, bool go) => (int64[C] y, int64[D] w) <int64 one = {1}> {
            a = Shape<start = 1, end = 2>(x) w = Neg(a) s = Shape(z)
            y = Loop (one, "", s) <body = b (int64 i, bool c, int64[K] r) => (bool d, int64[L] q) {
                d = Identity(c) q = Concat<axis = 0>(r, s) }> }"""
    )
    found = optimize(made)
    assert "Loop" not in ops(found.proto.graph)
    assert not optimize(found.proto).done
    for n in (0, 1, 3):
        feeds = {"x": np.zeros((4, n), "f4"), "z": np.zeros((n, n), "f4"), "go": np.array(True)}
        assert_same_outputs(made, found.proto, feeds)


def test_integers_that_are_none() -> None:
    """A tensor without elements is known where its shape is, whatever it is computed from."""
    made = parsed("g (float[0] x) => (int64[A] y) { y = Cast<to = 7>(x) }")
    found = optimize(made)
    assert ops(found.proto.graph) == []
    assert_same_outputs(made, found.proto, {"x": np.zeros(0, "f4")})


def test_a_branch_that_was_rewritten_is_inferred_again() -> None:
    made = parsed(
        """g (bool c, float[N] x) => (float[A] y, int64[B] s) {
            y = If (c) <then_branch = t () => (float[P] a) <float[0] e = {}> { a = Concat<axis = 0>(x, e) },
                        else_branch = f () => (float[Q] b) { b = Identity(x) }> s = Shape(y) }"""
    )
    found = optimize(made)
    assert len(found.rounds) == 2
    assert not optimize(found.proto).done
    for c, n in product((False, True), (0, 3)):
        assert_same_outputs(made, found.proto, {"c": np.array(c), "x": np.arange(n, dtype="f4")})
