"""Ranges that are guessed for what an index is made of: of `i*7 + j` below 63, with operators on the way from i.

onnxruntime passes at the ends of what is said, and fails past it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from gather_infer import infer
from gather_infer.symbolic import Dim, Scope, evaluate, symbol
from gather_infer.validate import VerdictKind, verdicts
from gather_infer.validate.guess_and_check import COUNTING, LINEAR, MOVING, _IndexTerms, _mixed_radix_ranges
from tests.inference.models import model
from tests.oracle.soundness import Runtime

A, B = symbol("A"), symbol("B")
HEAD = """seven = Constant<value_int = 7>() zero = Constant<value_int = 0>() eight = Constant<value_int = 8>()
    two = Constant<value_int = 2>() v0 = Constant<value_ints = [0]>() v1 = Constant<value_ints = [1]>()
    all = Constant<value_ints = [-1]>() far = Constant<value_ints = [99]>() n = Shape(i)
    none = ConstantOfShape<value = int64[1] {0}>(n) tr = Less(j, eight)"""
STEPS = {
    # operator: nodes that make a of i
    "Cast": "s = Cast<to = 6>(i) a = Cast<to = 7>(s)",
    "Expand": "a = Expand(i, v1)",
    "Flatten": "f = Flatten<axis = 0>(i) a = Squeeze(f, v0)",
    "Gather": "g = Unsqueeze(i, v0) a = Gather(g, zero)",
    "GatherElements": "a = GatherElements(i, none)",
    "Identity": "a = Identity(i)",
    "Reshape": "a = Reshape(i, all)",
    "Slice": "a = Slice(i, v0, far)",
    "Squeeze": "u = Unsqueeze(i, v0) a = Squeeze(u, v0)",
    "Tile": "a = Tile(i, v1)",
    "Transpose": "a = Transpose(i)",
    "Unsqueeze": "u = Unsqueeze(i, v0) a = Squeeze(u, v0)",
    "Add": "a = Add(i, none)",
    "Clip": "a = Clip(i, zero)",
    "Concat": "e = Slice(i, far, far) a = Concat<axis = 0>(i, e)",
    "Max": "a = Max(i, zero)",
    "Min": "b = Mul(eight, two) a = Min(i, b)",
    "Where": "a = Where(tr, i, i)",
}


def test_every_operator_has_a_row() -> None:
    assert set(STEPS) == MOVING | LINEAR
    assert {"CumSum", "ReduceSum"} == COUNTING


@pytest.mark.parametrize("op", STEPS)
def test_the_digits_of_a_number(op: str) -> None:
    nodes = f"{STEPS[op]} m = Mul(a, seven) k = Add(m, j) y = Gather(t, k)"
    proto = model(f"(float[63] t, int64[N] i, int64[N] j) => (y) {{ {HEAD} {nodes} }}")
    found = verdicts(infer(proto))[-1]
    assert (found.kind, found.tight) == (VerdictKind.CONDITIONAL, False)
    limits = {(str(c.left), c.relation): c.right for c in found.conditions}
    assert limits == {("i", ">="): 0, ("i", "<"): 9, ("j", ">="): 0, ("j", "<"): 7}
    runtime, t = Runtime(proto), np.zeros(63, np.float32)
    for i, j in ((0, 0), (8, 0), (0, 6), (8, 6)):
        runtime.run({"t": t, "i": np.array([i]), "j": np.array([j])})
    with pytest.raises(InvalidArgument):
        runtime.run({"t": t, "i": np.array([9]), "j": np.array([0])})


SHARES: dict[str, tuple[dict[str, set[Dim | None]], set[Dim], Dim, dict[str, Dim]]] = {
    # id: (how often each input counts, how often numbers do, the length of the axis, how many numbers each has)
    "two digits": ({"i": {7}, "j": {1}}, set(), 63, {"i": 9, "j": 7}),
    "two digits, in rows": ({"i": {B}, "j": {1}}, set(), A * B, {"i": A, "j": B}),
    "three digits": ({"i": {12}, "j": {4}, "k": {1}}, set(), 60, {"i": 5, "j": 3, "k": 4}),
    "one": ({"i": {1}}, set(), 9, {"i": 9}),
    "what is left of the axis is not used": ({"i": {7}, "j": {1}}, set(), 65, {"i": 9, "j": 7}),
    "in two places": ({"i": {7, 1}}, set(), 63, {"i": 7}),
    "a number beside": ({"j": {1}}, {7}, 63, {"j": 7}),
    "a number beside at the end": ({"i": {7}}, {1}, 63, {"i": 9}),
    "as often as the axis is long": ({"i": {63}, "j": {1}}, set(), 63, {"i": 1, "j": 63}),
    "alike": ({"i": {1}, "j": {1}}, set(), 63, {}),
    "not known": ({"i": {None}, "j": {1}}, set(), 63, {"j": 63}),
    "known in part": ({"i": {7, None}, "j": {1}}, set(), 63, {"j": 63}),
    "never": ({"i": {0}, "j": {1}}, set(), 63, {}),
    "less than never": ({"i": {-1}}, set(), 63, {}),
    "more often than the axis is long": ({"i": {64}}, set(), 63, {}),
    "in no order": ({"i": {A}, "j": {B}}, set(), A * B, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARES)
def test_how_many_numbers_an_input_has(name: str) -> None:
    """The sum of the largest of each input, as often as it counts, is below the length: they have the axis together."""
    times, beside, size, expected = SHARES[name]
    found = _mixed_radix_ranges(
        _IndexTerms({n: set(counts) for n, counts in times.items()}, set(), beside), size, Scope()
    )
    assert found == expected
    if None not in set().union(*times.values()) and found:
        sizes = {"A": 5, "B": 4}
        most = sum(
            (evaluate(found[n], sizes) - 1) * evaluate(count, sizes)
            for n in found
            for count in times[n]
            if count is not None
        )
        assert most < evaluate(size, sizes)


@pytest.mark.parametrize(
    ("count", "kind"),
    [
        (1, VerdictKind.CONDITIONAL),
        (3, VerdictKind.CONDITIONAL),
        (4, VerdictKind.CONDITIONAL),
        (5, VerdictKind.UNDECIDED),
    ],
)
def test_so_many_digits_are_distinguished(count: int, kind: VerdictKind) -> None:
    inputs = ", ".join(f"int64[N] i{k}" for k in range(count))
    nodes = "s0 = Identity(i0) " + " ".join(
        f"m{k} = Mul(s{k - 1}, two) s{k} = Add(m{k}, i{k})" for k in range(1, count)
    )  # fmt: skip
    head = "two = Constant<value_int = 2>()"
    proto = model(f"(float[{2**count}] t, {inputs}) => (y) {{ {head} {nodes} y = Gather(t, s{count - 1}) }}")
    found = verdicts(infer(proto))[-1]
    assert found.kind is kind
    if kind is VerdictKind.CONDITIONAL and count > 1:
        limits = {(str(c.left), c.relation): c.right for c in found.conditions}
        assert limits == {(f"i{k}", r): n for k in range(count) for r, n in ((">=", 0), ("<", 2))}
        ones = {f"i{k}": np.array([1]) for k in range(count)}
        Runtime(proto).run({"t": np.zeros(2**count, np.float32), **ones})


def test_ranges_that_the_caller_gives_are_not_guessed() -> None:
    nodes = "seven = Constant<value_int = 7>() m = Mul(i, seven) k = Add(m, j) y = Gather(t, k)"
    proto = model(f"(float[63] t, int64[N] i, int64[N] j) => (y) {{ {nodes} }}")
    one = verdicts(infer(proto, ranges=["i=0..8"]))[-1]
    assert {str(c.left) for c in one.conditions} == {"j"}
    both = verdicts(infer(proto, ranges=["i=0..8", "j=0..6"]))[-1]
    assert both.kind is VerdictKind.PROVED
    wide = verdicts(infer(proto, ranges=["i=0..9", "j=0..6"]))[-1]
    assert wide.kind is VerdictKind.UNDECIDED


DIFFERENCES = {
    # id: (rows of the first column's table, of the second's, of the difference's, the range of both columns)
    "as many rows": (9, 9, 9, 9),
    "the fewest": (9, 7, 7, 7),
    "more rows than are needed": (9, 9, 12, 9),
    "too few": (9, 9, 8, None),
    "too few for the fewest": (7, 9, 6, None),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_difference_of_columns_that_are_indices_elsewhere(name: str) -> None:
    left, right, rows, size = DIFFERENCES[name]
    nodes = (
        "a = Gather<axis = 1>(x, zero) b = Gather<axis = 1>(x, one) p = Gather(l, a) q = Gather(r, b) d = Sub(b, a) "
        "o = Gather(t, d) s = Add(p, q) y = Add(s, o)"
    )
    head = "zero = Constant<value_int = 0>() one = Constant<value_int = 1>()"
    proto = model(f"(float[{left}] l, float[{right}] r, float[{rows}] t, int64[N, 2] x) => (y) {{ {head} {nodes} }}")
    found = verdicts(infer(proto))[-1]
    if size is None:
        assert found.kind is VerdictKind.UNDECIDED
    else:
        assert [str(c) for c in found.conditions] == ["x >= 0", f"x < {size}"] and not found.tight
    runtime = Runtime(proto)
    tables = {"l": np.zeros(left, np.float32), "r": np.zeros(right, np.float32), "t": np.zeros(rows, np.float32)}
    for i, j in itertools.product(range(min(left, right)), repeat=2):
        if size is not None or abs(j - i) < rows:
            runtime.run({**tables, "x": np.array([[i, j]])})
    wrong = [0, min(left, right) - 1] if size is None else [-left, right - 1]  # in bounds of both tables
    with pytest.raises(InvalidArgument, match="out of data bounds"):
        runtime.run({**tables, "x": np.array([wrong])})


def test_the_difference_of_columns_that_nothing_is_known_of_is_open() -> None:
    head = "zero = Constant<value_int = 0>() one = Constant<value_int = 1>()"
    nodes = "a = Gather<axis = 1>(x, zero) b = Gather<axis = 1>(x, one) d = Sub(b, a) y = Gather(t, d)"
    proto = model(f"(float[9] t, int64[N, 2] x) => (y) {{ {head} {nodes} }}")
    assert verdicts(infer(proto))[-1].kind is VerdictKind.UNDECIDED


ASSUMED = {
    # id: (what rests on an assumption where i < 9, the assumption, a size at which it does not hold)
    "no less": ("b = Neg(w) z = Slice(x, b, v1)", "N >= 1", 0),
    "no more": ("z = Cast<to = 1>(w)", "N <= 16777216", 16777217),
}


@pytest.mark.parametrize("name", ASSUMED)
def test_what_is_assumed_under_the_ranges_is_a_condition_that_is_enough(name: str) -> None:
    """The index is in bounds without it too."""
    last, assumed, size = ASSUMED[name]
    nodes = f"""{HEAD} m = Mul(i, seven) k = Add(m, j) y = Gather(t, k)
        nine = Constant<value_int = 9>() s = Shape(x) is_low = Less(i, nine) w = Where(is_low, s, o) {last}"""
    inputs = "float[63] t, int64[1] i, int64[1] j, int64[1] o, float[N] x"
    proto = model(f"({inputs}) => (y, z) {{ {nodes} }}")
    assert infer(proto).assumptions == ()
    assert [str(a).split(" (")[0] for a in infer(proto, ranges=["i=0..8"]).assumptions] == [assumed]
    found = verdicts(infer(proto))[-1]
    assert found.kind is VerdictKind.CONDITIONAL
    assert {str(c): c.tight for c in found.conditions} == dict.fromkeys(
        (assumed, "i >= 0", "i < 9", "j >= 0", "j < 7"), False
    )
    one, x = np.array([8]), np.zeros(size, np.float32)
    Runtime(proto).run({"t": np.zeros(63, np.float32), "i": one, "j": one - 2, "o": one, "x": x})
