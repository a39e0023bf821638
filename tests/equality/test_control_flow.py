# ruff: noqa: E501  (models as text)
"""Branches and Loops: facts of a body hold where that body is executed, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gather_infer import diff
from tests.equality.runs import are_equal, outputs_of
from tests.verification.models import model

INPUTS = "(float[8] x, float[8] w, float[5] t, int64 n, bool p, bool q) => ({}) <bool c = {{1}}, int64 five = {{5}}, int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] eight = {{8}}>"
LOOP = "{} = Loop(n, c, x)<body = b{} (int64 i, bool k, float[8] s) => (bool l, float[8] u, {} v) {{ l = Identity(k) {} }}>"
TURNED = "a = Slice(s, one, eight) b = Slice(s, zero, one) u = Concat<axis=0>(a, b)"
SAME = "u = Identity(s)"
LARGEST = "h = ArgMax<axis=0, keepdims=0>(s)"
READS = LOOP.format("e, f", 1, "float", f"{SAME} {LARGEST} v = Gather(t, h)")
BELOW = f"{LARGEST} v = Less(h, five)"
TRUE = f"{LARGEST} v = Equal(h, h)"
FEEDS = {"x": np.arange(8)[::-1], "w": np.arange(8), "t": np.arange(5), "n": 6, "p": True, "q": False}


def loops(*bodies: str) -> str:
    """Loops with the same operands, whose scan output is a truth value."""
    return " ".join(LOOP.format(f"g{at}, y{at}", at, "bool", body) for at, body in enumerate(bodies))


INDEX = "h = ArgMax<axis=0, keepdims=0>(w)"
DIFFERENT: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    # outputs, of which the last one differs; the nodes of both models; and what feeds are other than above
    "a Loop with other carried values": (
        "f, y0", f"{READS} {loops(f'{TURNED} {BELOW}')}", f"{READS} {loops(f'{TURNED} {TRUE}')}", {},
    ),
    "Loops in the other order": (
        "f, y0", f"{READS} {loops(f'{TURNED} {TRUE}')}", f"{loops(f'{TURNED} {BELOW}')} {READS}", {},
    ),
    "a branch under another condition": (
        "z, y", f"{INDEX} l = Less(h, five) z = If(p)<then_branch = a () => (m) {{ m = Gather(t, h) }}, else_branch = b () => (o) {{ k = Constant<value = int64 {{0}}>() o = Gather(t, k) }}> y = If(q)<then_branch = d () => (j) {{ j = Less(h, five) }}, else_branch = e () => (r) {{ r = Equal(h, five) }}>",
        f"{INDEX} l = Less(h, five) z = If(p)<then_branch = a () => (m) {{ m = Gather(t, h) }}, else_branch = b () => (o) {{ k = Constant<value = int64 {{0}}>() o = Gather(t, k) }}> y = If(q)<then_branch = d () => (j) {{ j = Equal(h, h) }}, else_branch = e () => (r) {{ r = Equal(h, five) }}>",
        {"p": False, "q": True},
    ),
    "the other branch of one condition": (
        "z, y", f"{INDEX} z = If(p)<then_branch = a () => (m) {{ m = Gather(t, h) }}, else_branch = b () => (o) {{ k = Constant<value = int64 {{0}}>() o = Gather(t, k) }}> y = If(p)<then_branch = d () => (j) {{ j = Equal(h, five) }}, else_branch = e () => (r) {{ r = Less(h, five) }}>",
        f"{INDEX} z = If(p)<then_branch = a () => (m) {{ m = Gather(t, h) }}, else_branch = b () => (o) {{ k = Constant<value = int64 {{0}}>() o = Gather(t, k) }}> y = If(p)<then_branch = d () => (j) {{ j = Equal(h, five) }}, else_branch = e () => (r) {{ r = Equal(h, h) }}>",
        {"p": False},
    ),
    "carried values exchanged": (
        "y, z", "y, z = Loop(n, c, x, w)<body = d (int64 i, bool k, float[8] s, float[8] r) => (bool l, float[8] u, float[8] v) { l = Identity(k) u = Identity(r) v = Identity(s) }>",
        "y, z = Loop(n, c, x, w)<body = d (int64 i, bool k, float[8] s, float[8] r) => (bool l, float[8] u, float[8] v) { l = Identity(k) u = Identity(s) v = Identity(r) }>",
        {"n": 1},
    ),
    "the number of the iteration of an outer Loop": (
        "y, z", "y, z = Loop(n, c, n)<body = d (int64 i, bool k, int64 s) => (bool l, int64 u, int64 v) { l = Identity(k) u = Identity(s) m, v2 = Loop(n, c, s)<body = e (int64 j, bool f, int64 g) => (bool l2, int64 u2, int64 r2) { l2 = Identity(f) u2 = Identity(g) r2 = Neg(i) }> v = ReduceSum<keepdims=0>(v2) }>",
        "y, z = Loop(n, c, n)<body = d (int64 i, bool k, int64 s) => (bool l, int64 u, int64 v) { l = Identity(k) u = Identity(s) m, v2 = Loop(n, c, s)<body = e (int64 j, bool f, int64 g) => (bool l2, int64 u2, int64 r2) { l2 = Identity(f) u2 = Identity(g) r2 = Neg(j) }> v = ReduceSum<keepdims=0>(v2) }>",
        {"n": 3},
    ),
}  # fmt: skip

EQUAL: dict[str, tuple[str, str, str]] = {
    "Loops with the same operands": (
        "f, y0, y1", f"{READS} {loops(f'{TURNED} {BELOW}', f'{SAME} {TRUE}')}", f"{READS} {loops(f'b0 = Identity(s) {TURNED} {BELOW}', f'{SAME} v = Equal(i, i)')}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_in_a_run_and_not_proved(name: str) -> None:
    outputs, first, second, other = DIFFERENT[name]
    one, two = (model(f"{INPUTS.format(outputs)} {{ {text} }}") for text in (first, second))
    feeds = {**FEEDS, **other}
    mine, its = outputs_of(one, feeds), outputs_of(two, feeds)
    assert mine is not None and its is not None and not are_equal(mine, its)
    found = diff(one, two, runs=0, details=False)
    assert found.outputs[-1].proof_class is None
    assert diff(one, one, runs=0, details=False).is_proved


@pytest.mark.parametrize("name", EQUAL)
def test_equal_and_proved(name: str) -> None:
    outputs, first, second = EQUAL[name]
    one, two = (model(f"{INPUTS.format(outputs)} {{ {text} }}") for text in (first, second))
    mine, its = outputs_of(one, FEEDS), outputs_of(two, FEEDS)
    assert mine is not None and its is not None and are_equal(mine, its)
    assert diff(one, two, runs=0, details=False).is_proved
