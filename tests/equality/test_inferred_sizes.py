"""The size that a Reshape computes for -1 with `allowzero`, in runs with sizes of 0 too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gather_infer import DiffVerdict, diff
from tests.equality.runs import are_equal, outputs_of, proved
from tests.verification.models import model

INPUTS = "(float[N, S, 32] x, float[M, S, 32] w, float[2, N] u, float[M, 3] v) => (y, z)"
CONSTANTS = (
    "<int64[2] heads = {-1, 8}, int64[4] copied = {0, 0, 4, 8}, int64[1] m = {-1}, int64[1] e = {8}, int64[1] f = {4}>"
)
SIZES = "n = Shape<end=1>(x) s = Shape<start=1, end=2>(x)"
SAME = "z = MatMul(u, v)"
"""M is N, which only this node needs."""
FIRST = "t = Concat<axis=0>(n, s, heads) y = Reshape<allowzero=1>(w, t)"

CASES: dict[str, tuple[str, str, bool]] = {
    # nodes of both models, whether they are equal
    "sizes on the same axes": (f"{FIRST} {SAME}", f"y = Reshape(w, copied) {SAME}", True),
    "a size that may be another": (f"{FIRST} z = Neg(w)", "y = Reshape(w, copied) z = Neg(w)", False),
    "a size on the same axis that may be another": (
        f"{FIRST.replace('y =', 'r =')} y = Shape(r) z = Neg(w)",
        f"{FIRST.replace('y =', 'r =')} y = Concat<axis=0>(n, s, f, e) z = Neg(w)",
        False,
    ),
    "a size on another axis": (
        f"t = Concat<axis=0>(s, heads) y = Reshape<allowzero=1>(w, t) {SAME}",
        f"p = Mul(n, f) t = Concat<axis=0>(s, p, e) y = Reshape<allowzero=1>(w, t) {SAME}",
        False,
    ),
    "a size that may be 0 and is merged": (
        f"t = Concat<axis=0>(n, m) y = Reshape<allowzero=1>(w, t) {SAME}",
        f"p = Shape<start=2>(x) q = Mul(s, p) t = Concat<axis=0>(n, q) y = Reshape<allowzero=1>(w, t) {SAME}",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_are_computed(name: str) -> None:
    before, after, is_equal = CASES[name]
    first, second = (model(f"{INPUTS} {CONSTANTS} {{ {SIZES} {nodes} }}") for nodes in (before, after))
    assert proved(first, second) == is_equal
    assert diff(first, second, runs=0).verdict is (DiffVerdict.PROVED if is_equal else DiffVerdict.UNKNOWN)
    different = 0
    for n, m, s in product((0, 1, 2), (0, 1, 2), (0, 1, 3)):
        feeds = {"x": np.ones((n, s, 32)), "w": np.arange(m * s * 32).reshape(m, s, 32)}
        feeds |= {"u": np.ones((2, n)), "v": np.ones((m, 3))}
        outputs = outputs_of(first, feeds)
        if outputs is not None:
            others = outputs_of(second, feeds)
            different += others is None or not are_equal(outputs, others)
    assert bool(different) is not is_equal


@pytest.mark.parametrize("given", [(), ("N=1..",)])
def test_a_difference_where_all_sizes_are_0(given: tuple[str, ...]) -> None:
    """Without elements, a -1 is 1 in onnxruntime; with a bound of the caller it is proved."""
    nodes = "s = Shape<start=1>(x) t = Concat<axis=0>(m, s) r = Reshape<allowzero=1>(x, t) y = Neg(r)"
    first = model(f"(float[N, S] x) => (y) <int64[1] m = {{-1}}> {{ {nodes} }}")
    second = model("(float[N, S] x) => (y) { y = Neg(x) }")
    found = diff(first, second, dims=given)
    if given:
        assert found.verdict is DiffVerdict.PROVED
    else:
        assert found.verdict is DiffVerdict.DIFFERENT and found.witness is not None
        assert found.outputs[0].reason == "at N=0 S=0, is float32[0, 0], was float32[1, 0]"
        assert [each.shape for each in found.witness.values()] == [(0, 0)]
