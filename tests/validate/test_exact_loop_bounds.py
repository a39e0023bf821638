"""Verdicts by counters and in bodies that were wrong once, each beside runs of onnxruntime that say what is right."""

from __future__ import annotations

import pytest

from gather_infer.validate import VerdictKind
from tests.validate.bound_runs import ONE, ROWS, ZERO, Case, check, x


def loop(dtype: str, body: str) -> str:
    """The attribute of a Loop with the counter i and one state, v before and w after an iteration."""
    return f"<body = b (int64 i, bool c, {dtype} v) => (bool d, {dtype} w) {{ d = Identity (c) {body} }}>"


COUNT = loop("float", "r = Gather (x, i) w = Add (v, r)")
KEEP = loop("int64", "w = Identity (i)")

CASES: dict[str, Case] = {
    # id: (inputs, body, constants, kind, conditions, runs in bounds, runs out of bounds)
    "counter of a loop of 3": (
        "float[N] x, float s",
        f"y = Loop (n, , s) {COUNT}",
        "int64 n = {3}",
        VerdictKind.CONDITIONAL,
        "N >= 3",
        [x(3) | {"s": 0}],
        [x(2) | {"s": 0}],
    ),
    "counter of a loop of 3 over 2 rows": (
        "float[2] x, float s",
        f"y = Loop (n, , s) {COUNT}",
        "int64 n = {3}",
        VerdictKind.VIOLATED,
        "",
        [],
        [x(2) | {"s": 0}],
    ),
    "counter of a loop over another tensor": (
        "float[N] x, float[M] z, float s",
        f"n = Size (z) y = Loop (n, , s) {COUNT}",
        "",
        VerdictKind.CONDITIONAL,
        "M <= N",
        [x(2) | {"z": [0, 0], "s": 0}, x(0) | {"z": [], "s": 0}],
        [x(2) | {"z": [0, 0, 0], "s": 0}],
    ),
    "counter of a loop, from the end": (
        "float[N] x, float s",
        f"y = Loop (n, , s) {loop('float', 'j = Sub (i, five) r = Gather (x, j) w = Add (v, r)')}",
        "int64 n = {3}, int64 five = {5}",
        VerdictKind.CONDITIONAL,
        "N >= 5",
        [x(5) | {"s": 0}],
        [x(4) | {"s": 0}],
    ),
    "counter of a loop, in a branch": (
        "float[N] x, float s, bool p",
        "y = Loop (n, , s) "
        + loop(
            "float",
            "w = If (p) <then_branch = a () => (u) { u = Gather (x, i) }, "
            "else_branch = e () => (q) { q = Identity (v) }>",
        ),
        "int64 n = {3}",
        VerdictKind.CONDITIONAL,
        "N >= 3",
        [x(2) | {"s": 0, "p": False}],
        [x(2) | {"s": 0, "p": True}],
    ),
    "counters of two loops": (
        "float[N] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "w = Loop (m, , v) <body = e (int64 j, bool f, float p) => (bool g, float q) "
        "{ g = Identity (f) k = Add (i, j) r = Gather (x, k) q = Add (p, r) }> }>",
        "int64 n = {3}, int64 m = {4}",
        VerdictKind.CONDITIONAL,
        "N >= 6",
        [x(6) | {"s": 0}],
        [x(5) | {"s": 0}],
    ),
    "counters of two loops, one as often as the other says": (
        "float[N] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "w = Loop (i, , v) <body = e (int64 j, bool f, float p) => (bool g, float q) "
        "{ g = Identity (f) k = Add (i, j) r = Gather (x, k) q = Add (p, r) }> }>",
        "int64 n = {3}",
        VerdictKind.CONDITIONAL,
        "N >= 4",
        [x(4) | {"s": 0}],
        [x(3) | {"s": 0}],
    ),
    "counter of a loop of 3, kept": (
        "float[N] x",
        f"q = Loop (n, , zero) {KEEP} y = Gather (x, q)",
        f"int64 n = {{3}}, {ZERO}",
        VerdictKind.CONDITIONAL,
        "N >= 3",
        [x(3)],
        [x(2)],
    ),
    "counter of a loop that may not run, kept": (
        "float[N] x, float[M] z",
        f"n = Size (z) q = Loop (n, , zero) {KEEP} y = Gather (x, q)",
        ZERO,
        VerdictKind.CONDITIONAL,
        "N >= 1 and M <= N",
        [x(1) | {"z": []}, x(1) | {"z": [0]}, x(3) | {"z": [0, 0, 0]}],
        [x(0) | {"z": []}, x(2) | {"z": [0, 0, 0]}],
    ),
    "counter of a loop that may not run, kept beside something else": (
        "float[N] x, float[M] z",
        f"n = Size (z) q = Loop (n, , seven) {KEEP} y = Gather (x, q)",
        "int64 seven = {7}",
        VerdictKind.CONDITIONAL,
        "N >= 8 and M <= N",
        [x(1) | {"z": [0]}, x(8) | {"z": []}],
        [x(7) | {"z": []}],
    ),
    "counter times a size, nobody knows which way": (
        "float[N] x, float s",
        f"{ROWS} k = Sub (one, rows) y = Loop (t, , s) "
        "<body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "j = Mul (i, k) r = Gather (x, j) w = Add (v, r) }>",
        f"int64 t = {{3}}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(1) | {"s": 0}, x(2) | {"s": 0}],
        [x(3) | {"s": 0}, x(0) | {"s": 0}],
    ),
    **{
        f"counter in {steps}": (
            "float[N] x, float s",
            "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
            f"{steps} r = Gather (x, j) w = Add (v, r) }}>",
            "int64 n = {3}, int64 two = {2}, int64 four = {4}",
            kind,
            condition,
            [x(rows) | {"s": 0}],
            [x(rows - 1) | {"s": 0}],
        )
        for steps, kind, condition, rows in (
            ("j = Sub (two, i)", VerdictKind.CONDITIONAL, "N >= 3", 3),
            ("j = Mul (i, two)", VerdictKind.CONDITIONAL, "N >= 5", 5),
            ("k = Mul (i, two) j = Sub (four, k)", VerdictKind.CONDITIONAL, "N >= 5", 5),
            ("k = Mul (i, two) j = Sub (two, k)", VerdictKind.CONDITIONAL, "N >= 3", 3),
            ("j = Mul (i, i)", VerdictKind.UNDECIDED, "", 5),
            ("j = Add (i, four)", VerdictKind.CONDITIONAL, "N >= 7", 7),
        )
    },
    "counter of rows that grow with it": (
        "float[N] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "e = Add (i, one) u = Unsqueeze (e, first) g = ConstantOfShape (u) r = Gather (g, i) w = Add (v, r) }>",
        f"int64 n = {{3}}, {ONE}, int64[1] first = {{0}}",
        VerdictKind.PROVED,
        "",
        [x(1) | {"s": 0}],
        [],
    ),
    "counter of rows that shrink with it": (
        "float[N] x, float s",
        f"{ROWS} y = Loop (t, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) {{ d = Identity (c) "
        "e = Sub (rows, i) u = Unsqueeze (e, first) g = ConstantOfShape (u) r = Gather (g, i) w = Add (v, r) }>",
        "int64 t = {3}, int64[1] first = {0}",
        VerdictKind.UNDECIDED,
        "",
        [x(5) | {"s": 0}],
        [x(4) | {"s": 0}],
    ),
    "counter of a loop until its condition": (
        "float[N] x, float s",
        f"{ROWS} g = Less (zero, rows) y = Loop (, g, s) <body = b (int64 i, bool c, float v) => (bool d, float w) "
        "{ e = Add (i, one) d = Less (e, rows) r = Gather (x, i) w = Add (v, r) }>",
        f"{ZERO}, {ONE}",
        VerdictKind.PROVED,
        "",
        [x(3) | {"s": 0}, x(0) | {"s": 0}],
        [],
    ),
    "counter of a scan": (
        "float[N] x, float[M] z",
        "q, y = Scan <num_scan_inputs = 1, body = b (int64 v, float e) => (int64 w, float r) "
        "{ w = Add (v, one) r = Gather (x, v) }> (zero, x)",
        f"{ZERO}, {ONE}",
        VerdictKind.PROVED,
        "",
        [x(3) | {"z": []}],
        [],
    ),
    "in a body for each member of a sequence, in a loop": (
        "float[N] x, float s, bool p",
        "q = If (p) <then_branch = a () => (u) { u = SequenceConstruct (s) }, "
        "else_branch = h () => (g) { g = SequenceEmpty <dtype = 1> () }> "
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) "
        "{ d = Identity (c) l = SequenceMap (q) <body = e (float m) => (float r) { r = Gather (x, i) }> "
        "w = Identity (v) }>",
        "int64 n = {3}",
        VerdictKind.CONDITIONAL,
        "N >= 3",
        [x(2) | {"s": 0, "p": False}],
        [x(2) | {"s": 0, "p": True}],
    ),
    "positions that run out before the loop does": (
        "float[5] x, float s",
        "y = Loop (n, , s) "
        + loop(
            "float",
            "lo = Add (i, i) hi = Add (i, three) j = Range (lo, hi, one) r = Gather (x, j) "
            "t = ReduceSum <keepdims = 0> (r) w = Add (v, t)",
        ),
        f"int64 n = {{5}}, int64 three = {{3}}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(5) | {"s": 0}],
        [],
    ),
    "positions of which there may be none while the loop runs": (
        "float[N] x, float[M] z, float s",
        "n = Size (z) y = Loop (n, , s) "
        + loop(
            "float",
            "lo = Add (i, i) hi = Add (i, three) j = Range (lo, hi, one) r = Gather (x, j) "
            "t = ReduceSum <keepdims = 0> (r) w = Add (v, t)",
        ),
        f"int64 three = {{3}}, {ONE}",
        VerdictKind.CONDITIONAL,
        "M <= N - 2",
        [x(5) | {"z": [0] * 3, "s": 0}, x(5) | {"z": [0] * 4, "s": 0}],
        [x(4) | {"z": [0] * 3, "s": 0}],
    ),
    "positions that data leave out in the last iteration": (
        "bool[6, 2] m, float[5] x, float s",
        "y = Loop (n, , s) "
        + loop(
            "float",
            "row = Gather (m, i) z = NonZero (row) e = Shape (z) k = Gather (e, one) hi = Add (i, k) "
            "j = Range (i, hi, one) r = Gather (x, j) t = ReduceSum <keepdims = 0> (r) w = Add (v, t)",
        ),
        f"int64 n = {{6}}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(5) | {"s": 0, "m": [[True, False]] * 5 + [[False, False]]}],
        [x(5) | {"s": 0, "m": [[True, False]] * 6}],
    ),
    "counters of two loops, one as often as data say": (
        "bool[6, 2] m, float[5] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "row = Gather (m, i) z = NonZero (row) e = Shape (z) k = Gather (e, one) "
        "w = Loop (k, , v) <body = h (int64 j, bool f, float p) => (bool g, float q) "
        "{ g = Identity (f) a = Add (i, j) r = Gather (x, a) q = Add (p, r) }> }>",
        f"int64 n = {{6}}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(5) | {"s": 0, "m": [[True, False]] * 5 + [[False, False]]}],
        [x(5) | {"s": 0, "m": [[True, False]] * 6}],
    ),
}

ENOUGH = {
    "counter of a loop, in a branch",
    "counters of two loops, one as often as the other says",
    "in a body for each member of a sequence, in a loop",
    "counter of a loop that may not run, kept beside something else",
    "positions of which there may be none while the loop runs",
}
"""Cases whose conditions are not tight."""


@pytest.mark.parametrize("case", CASES)
def test_verdict_is_what_runs_say(case: str) -> None:
    check(CASES[case], tight=case not in ENOUGH)
