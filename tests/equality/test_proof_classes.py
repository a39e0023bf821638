# ruff: noqa: E501  (models as text)
"""The class of a proof: what it takes for granted about kernels."""

from __future__ import annotations

import pytest

from gather_infer import diff
from gather_infer.equality import ProofClass
from tests.equality.runs import are_equal, outputs_of
from tests.verification.models import model


def test_the_class_of_a_proof() -> None:
    """An inexact operator that sees its elements at other positions makes a proof pointwise."""
    before = model("(float[N, M] x) => (y) { t = Transpose(x) u = Tanh(t) y = Transpose(u) }")
    moved = diff(before, model("(float[N, M] x) => (y) { y = Tanh(x) }"), runs=0)
    assert [each.proof_class for each in moved.outputs] == [ProofClass.POINTWISE]
    same = diff(before, before, runs=0)
    assert [each.proof_class for each in same.outputs] == [ProofClass.SAME_CALLS]


ZEROS: dict[str, tuple[str, str, ProofClass]] = {
    "a negated condition": ("y = Where(p, x, z)", "q = Not(p) y = Where(q, z, x)", ProofClass.POINTWISE),
    "a negated condition of integers": ("y = Where(p, i, j)", "q = Not(p) y = Where(q, j, i)", ProofClass.SAME_CALLS),
    "a negated condition of numbers without a sign": (
        "a = Abs(x) y = Where(p, a, o)", "a = Abs(x) q = Not(p) y = Where(q, o, a)", ProofClass.SAME_CALLS
    ),
    "a negated condition before a number without a sign": (
        "a = Abs(x) y = Where(p, z, a)", "a = Abs(x) q = Not(p) y = Where(q, a, z)", ProofClass.POINTWISE
    ),
    "one value": ("y = Identity(x)", "y = Where(p, x, x)", ProofClass.POINTWISE),
    "a condition that is true": ("y = Identity(x)", "y = Where(t, x, z)", ProofClass.POINTWISE),
    "a condition that is false": ("y = Identity(x)", "y = Where(f, z, x)", ProofClass.SAME_CALLS),
    "of constants": ("y = Identity(m)", "y = Where(t, m, o)", ProofClass.POINTWISE),
}  # fmt: skip


@pytest.mark.parametrize("name", ZEROS)
def test_a_where_may_drop_the_sign_of_a_zero(name: str) -> None:
    """onnxruntime returns 0.0 for a -0.0 of the second operand."""
    first, second, kind = ZEROS[name]
    inputs = "(bool[N] p, float[N] x, float[N] z, int64[N] i, int64[N] j) => (y) <bool t = {1}, bool f = {0}, float o = {1.0}, float m = {-0.0}>"
    before, after = (model(f"{inputs} {{ {text} }}") for text in (first, second))
    found = diff(before, after, runs=0, details=False)
    assert [each.proof_class for each in found.outputs] == [kind]
    feeds = {"p": [True, False], "x": [-0.0, -0.0], "z": [-0.0, 1.0], "i": [0, 1], "j": [2, 3]}
    mine, its = outputs_of(before, feeds), outputs_of(after, feeds)
    assert mine is not None and its is not None
    assert are_equal(mine, its) == (kind is ProofClass.SAME_CALLS)
