"""Accesses of which nothing exact is known: undecided ones, guesses, conditions that are enough."""

from __future__ import annotations

import pytest

from gather_infer.validate import VerdictKind
from tests.validate.checked_bounds import BUCKETS, ONE, SIXTEEN, ZERO, last

UNDECIDED = {
    "a logarithm of 0": (
        "float[32] x, int64[N] d",
        BUCKETS,
        f"{SIXTEEN}, int64 few = {{0}}",
        "indices are computed from data; indices in [..., 31], the axis has 32 rows",
    ),
    "a logarithm beside a test of another tensor": (
        "float[32] x, int64[N] d, int64[N] o",
        BUCKETS.replace("Less (p, few)", "Less (o, few)"),
        f"{SIXTEEN}, int64 few = {{16}}",
        "indices are computed from data; indices in [..., 31], the axis has 32 rows",
    ),
    # id: (inputs, body, constants, reason)
    "floats as integers of a type that is too short": (
        "float[200] s, float[100] t",
        "i = ArgMax <axis = 0> (s) f = Cast <to = 1> (i) a = Cast <to = 3> (f) j = Cast <to = 7> (a) y = Gather (t, j)",
        "",
        "indices are computed from data; indices in [-128, 127], the axis has 100 rows",
    ),
    "a quotient of floats, rounded up": (
        "float[B, 29] s, float[B, 4] t",
        "f = Reshape (s, flat) i = ArgMax <axis = 0> (f) g = Cast <to = 1> (i) q = Div (g, vocab) r = Ceil (q) "
        "j = Cast <to = 7> (r) y = Gather (t, j)",
        "int64[1] flat = {-1}, float vocab = {29.0}",
        "indices are computed from data; indices in [..., ...], the axis has B rows",
    ),
    "computed from data": (
        "float[9] x, int64[N] i",
        "j = Mul (i, i) y = Gather (x, j)",
        "",
        "indices are computed from data; indices in [..., ...], the axis has 9 rows",
    ),
    "float data": (
        "float[9] x, float[N] i",
        "j = Cast <to = 7> (i) y = Gather (x, j)",
        "",
        "indices are computed from data; indices in [..., ...], the axis has 9 rows",
    ),
    "as many as are not 0": (
        "float[N] x, float[9] t",
        "n = NonZero (x) s = Shape <start = 1> (n) y = Gather (t, s)",
        "",
        "it depends on sizes that are not known: the number of elements that are not 0 depends on the data "
        "(node NonZero#0); index nonzero_0, the axis has 9 rows",
    ),
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_undecided(case: str) -> None:
    *model, reason = UNDECIDED[case]
    found = last(*model)
    assert (found.kind, found.reason) == (VerdictKind.UNDECIDED, reason)


GUESSED = {
    # id: (inputs, body, constants, condition)
    "limited after it may have wrapped": (
        "float[9] x, int64[N] i",
        "a = Max (i, zero) b = Cast <to = 6> (a) c = Min (b, m) y = Gather (x, c)",
        f"{ZERO}, int32 m = {{8}}",
        "0 <= i < 9",
    ),
    "limited after a sum that may have wrapped": (
        "float[9] x, int64[N] i",
        "a = Add (i, one) c = Min (a, m) y = Gather (x, c)",
        f"{ONE}, int64 m = {{8}}",
        "0 <= i < 9",
    ),
    "uint64 that may have wrapped": (
        "float[9] x, uint64[N] i",
        "a = Cast <to = 7> (i) c = Min (a, m) y = Gather (x, c)",
        "int64 m = {8}",
        "0 <= i < 9",
    ),
}


@pytest.mark.parametrize("case", GUESSED)
def test_what_is_guessed(case: str) -> None:
    *model, condition = GUESSED[case]
    found = last(*model)
    assert (found.kind, found.condition, found.tight) == (VerdictKind.CONDITIONAL, condition, False)


@pytest.mark.parametrize("body", ["k = Add (i, j)", "k = Add (i, i)", "k = Mul (i, j)", "k = Mul (i, i)"])
def test_what_has_no_natural_range_stays_open(body: str) -> None:
    """Which of two inputs that count alike has which share of the axis would be made up."""
    assert last("float[9] x, int64[N] i, int64[N] j", f"{body} y = Gather (x, k)").kind is VerdictKind.UNDECIDED


def test_what_is_enough_is_a_condition_that_is_not_tight() -> None:
    found = last("float[W] s, float[9] t", "i = ArgMax <axis = 0> (s) y = Gather (t, i)")
    assert (found.kind, found.condition, found.tight) == (VerdictKind.CONDITIONAL, "W <= 9", False)
    assert found.reason == "indices are computed from data; indices in [0, W - 1], the axis has 9 rows"
