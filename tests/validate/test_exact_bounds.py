"""Verdicts that were wrong once, each beside runs of onnxruntime that stay in bounds and runs that do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime
import pytest

import gather_infer
from gather_infer.validate import Kind, verdicts
from tests.validate.access_models import by_node

onnxruntime.set_default_logger_severity(4)
NUMPY = {7: np.int64, 6: np.int32, 2: np.uint8, 13: np.uint64, 9: np.bool_, 1: np.float32}
Feeds = dict[str, object]
ROWS = "n = Shape (x) rows = Squeeze (n)"
ZERO, ONE = "int64 zero = {0}", "int64 one = {1}"


def loop(dtype: str, body: str) -> str:
    """The attribute of a Loop with the counter i and one state, v before and w after an iteration."""
    return f"<body = b (int64 i, bool c, {dtype} v) => (bool d, {dtype} w) {{ d = Identity (c) {body} }}>"


COUNT = loop("float", "r = Gather (x, i) w = Add (v, r)")
KEEP = loop("int64", "w = Identity (i)")


def x(rows: int) -> Feeds:
    return {"x": np.zeros(rows, np.float32)}


CASES: dict[str, tuple[str, str, str, Kind, str, list[Feeds], list[Feeds]]] = {
    # id: (inputs, body, constants, kind, conditions, runs in bounds, runs out of bounds)
    "a limit past the end, where it is chosen": (
        "float[9] x, int64[N] i, bool[N] p",
        "c = Clip (i, low, high) w = Where (p, c, zero) y = Gather (x, w)",
        f"int64 low = {{10}}, int64 high = {{20}}, {ZERO}",
        Kind.UNDECIDED,
        "",
        [{"i": [5], "p": [False]}],
        [{"i": [5], "p": [True]}],
    ),
    "a number past the end, where it is chosen": (
        "float[6] x, int64[N] i, bool[N] p",
        "c = Clip (i, zero, five) w = Where (p, past, c) y = Gather (x, w)",
        f"{ZERO}, int64 five = {{5}}, int64 past = {{100}}",
        Kind.UNDECIDED,
        "",
        [{"i": [5], "p": [False]}],
        [{"i": [5], "p": [True]}],
    ),
    "the number of rows, where it is chosen": (
        "float[N] x, bool[N] p",
        f"{ROWS} r = Range (zero, rows, one) w = Where (p, r, rows) y = Gather (x, w)",
        f"{ZERO}, {ONE}",
        Kind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True]}],
        [x(2) | {"p": [True, False]}],
    ),
    "the number of rows, with GatherElements": (
        "float[N] x, bool[N] p",
        f"{ROWS} r = Range (zero, rows, one) w = Where (p, r, rows) y = GatherElements (x, w)",
        f"{ZERO}, {ONE}",
        Kind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True]}],
        [x(2) | {"p": [True, False]}],
    ),
    "before the first row, where it is chosen, with GatherND": (
        "float[N] x, bool[N] p",
        f"{ROWS} r = Range (zero, rows, one) m = Neg (rows) b = Sub (m, one) w = Where (p, r, b) "
        "u = Unsqueeze (w, last) y = GatherND (x, u)",
        f"{ZERO}, {ONE}, int64[1] last = {{-1}}",
        Kind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True]}],
        [x(2) | {"p": [True, False]}],
    ),
    "the number of rows, in a branch": (
        "float[N] x, bool[N] p, bool t",
        f"{ROWS} r = Range (zero, rows, one) y = If (t) <then_branch = a () => (u) "
        "{ w = Where (p, r, rows) u = Gather (x, w) }, else_branch = e () => (q) { q = Identity (x) }>",
        f"{ZERO}, {ONE}",
        Kind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True], "t": True}],
        [x(2) | {"p": [True, False], "t": True}],
    ),
    "all of two parts past the end": (
        "float[6] x, int64[N] i",
        "c = Concat <axis = 0> (i, i) w = Max (c, past) y = Gather (x, w)",
        "int64 past = {128}",
        Kind.VIOLATED,
        "",
        [],
        [{"i": [0]}, {"i": [3, 200]}],
    ),
    "the number of rows for a number": (
        "float[N] x, int64[M] i",
        f"{ROWS} e = Equal (i, k) w = Where (e, rows, i) y = Gather (x, w)",
        "int64 k = {1}",
        Kind.UNDECIDED,
        "",
        [x(2) | {"i": [0, -2]}],
        [x(2) | {"i": [0, 1]}],
    ),
    "a number that no element need have": (
        "float[N] x, int64[M] i",
        "e = Equal (i, k) w = Where (e, past, i) y = Gather (x, w)",
        "int64 k = {99}, int64 past = {128}",
        Kind.CONDITIONAL,
        "N >= 129 and -N <= i < N",
        [x(2) | {"i": [1, -2]}],
        [x(2) | {"i": [99]}],
    ),
    "a sum that wraps into the axis": (
        "float[9] x, uint8[M] i",
        "a = Add (i, three) w = Cast <to = 7> (a) y = Gather (x, w)",
        "uint8 three = {3}",
        Kind.CONDITIONAL,
        "i < 6",
        [{"i": [5, 0]}, {"i": [253, 255]}],
        [{"i": [6]}, {"i": [252]}],
    ),
    "a difference that wraps away from the axis": (
        "float[9] x, uint8[M] i",
        "a = Sub (i, three) w = Cast <to = 7> (a) y = Gather (x, w)",
        "uint8 three = {3}",
        Kind.CONDITIONAL,
        "3 <= i < 12",
        [{"i": [3, 11]}],
        [{"i": [2]}, {"i": [12]}],
    ),
    "a branch that wraps": (
        "float[6] x, uint8[M] i",
        "l = Less (i, three) a = Sub (i, five) b = Where (l, a, none) w = Cast <to = 7> (b) y = Gather (x, w)",
        "uint8 three = {3}, uint8 five = {5}, uint8 none = {0}",
        Kind.CONDITIONAL,
        "5 <= i < 11",  # of those that are read, which are all below 3
        [{"i": [3]}],
        [{"i": [2]}],
    ),
    "a Cast that wraps into the axis": (
        "float[9] x, int64[M] i",
        "w = Cast <to = 6> (i) y = Gather (x, w)",
        "",
        Kind.CONDITIONAL,
        "-9 <= i < 9",
        [{"i": [8, -9]}, {"i": [2**32 + 8]}],
        [{"i": [9]}],
    ),
    "the largest uint64 numbers are -1 and the like": (
        "float[9] x, uint64[M] i",
        "w = Cast <to = 7> (i) y = Gather (x, w)",
        "",
        Kind.CONDITIONAL,
        "i < 9",
        [{"i": [8]}, {"i": [2**64 - 1]}],
        [{"i": [9]}],
    ),
    "a sum of int64 that wraps stays outside": (
        "float[9] x, int64[M] i",
        "w = Add (i, one) y = Gather (x, w)",
        ONE,
        Kind.CONDITIONAL,
        "-10 <= i < 8",
        [{"i": [-10, 7]}],
        [{"i": [8]}, {"i": [-11]}, {"i": [2**63 - 1]}],
    ),
    "limits that cross: the last one wins": (
        "float[N] x, int64[M] i",
        "w = Clip (i, seven, five) y = Gather (x, w)",
        "int64 seven = {7}, int64 five = {5}",
        Kind.CONDITIONAL,
        "N >= 8 and i < N",
        [x(6) | {"i": [0, 9]}],
        [x(5) | {"i": [0]}],
    ),
    "a limit that is a size": (
        "float[N] x, int64[M] i, float[K] z",
        "k = Shape (z) w = Max (i, k) y = Gather (x, w)",
        "",
        Kind.CONDITIONAL,
        "K <= N - 1 and i < N",
        [x(3) | {"i": [2], "z": [0, 0]}],
        [x(3) | {"i": [2], "z": [0, 0, 0]}, x(3) | {"i": [3], "z": []}],
    ),
    "a part that may be empty": (
        "float[2] x, float[S] s, float[P] z",
        "p = Shape (z) q = Shape (s) e = Add (p, q) a = Squeeze (p) b = Squeeze (e) r = Range (a, b, one) "
        "w = Concat <axis = 0> (r, none) y = Gather (x, w)",
        f"{ONE}, int64[1] none = {{0}}",
        Kind.CONDITIONAL,
        "P + S <= 2",
        [{"s": [0], "z": [0]}, {"s": [], "z": [0, 0, 0]}],
        [{"s": [0, 0], "z": [0]}],
    ),
    "a part that may be empty and begins at 0": (
        "float[2] x, float[S] s",
        "q = Shape (s) b = Squeeze (q) r = Range (zero, b, one) w = Concat <axis = 0> (r, none) y = Gather (x, w)",
        f"{ZERO}, {ONE}, int64[1] none = {{0}}",
        Kind.CONDITIONAL,
        "S <= 2",
        [{"s": [0, 0]}, {"s": []}],
        [{"s": [0, 0, 0]}],
    ),
    "parts that may stand in either column": (
        "float[100, 2] x, int64[1] i",
        "a = Max (i, six) b = Clip (i, zero, one) c = Concat <axis = 0> (a, b) w = Reshape (c, pair) "
        "y = GatherND (x, w)",
        f"int64 six = {{6}}, {ZERO}, {ONE}, int64[2] pair = {{1, 2}}",
        Kind.UNDECIDED,
        "",
        [{"x": np.zeros((100, 2), np.float32), "i": [6]}],
        [{"x": np.zeros((100, 2), np.float32), "i": [100]}],
    ),
    "repeated no times": (
        "float[9] x, int64[1] i, float[K] z",
        "k = Shape (z) a = Expand (i, k) w = Concat <axis = 0> (a, none) y = Gather (x, w)",
        "int64[1] none = {0}",
        Kind.CONDITIONAL,
        "-9 <= i < 9",
        [{"i": [8], "z": [0]}, {"i": [9], "z": []}],  # of the second nothing is read
        [{"i": [9], "z": [0]}],
    ),
    "no rows": ("float[0] x, int64[N] i", "y = Gather (x, i)", "", Kind.VIOLATED, "", [], [{"i": [0]}, {"i": [-1]}]),
    "a remainder by the number of rows": (
        "float[N] x, int64[M] i",
        "n = Shape (x) w = Mod (i, n) y = Gather (x, w)",
        "",
        Kind.PROVED,
        "",
        [x(3) | {"i": [-4, -3, -1, 0, 2, 3, 2**63 - 1]}, x(1) | {"i": [7]}],
        [],
    ),
    "a C remainder by the number of rows": (
        "float[N] x, int64[M] i",
        "n = Shape (x) w = Mod <fmod = 1> (i, n) y = Gather (x, w)",
        "",
        Kind.PROVED,
        "",
        [x(3) | {"i": [-4, -3, -1, 0, 2, 3]}, x(1) | {"i": [7]}],
        [],
    ),
    "a remainder by minus the number of rows": (
        "float[N] x, int64[M] i",
        "n = Shape (x) m = Neg (n) r = Mod (i, m) w = Sub (r, one) y = Gather (x, w)",
        ONE,
        Kind.PROVED,
        "",
        [x(3) | {"i": [-4, -3, -1, 0, 2, 3]}, x(1) | {"i": [7]}],
        [],
    ),
    "a sum of int64 that wraps below a limit, where it is chosen": (
        "float[9] x, int64[N] i",
        "k = Add (i, one) c = Less (k, zero) j = Where (c, k, zero) y = Gather (x, j)",
        f"{ZERO}, {ONE}",
        Kind.CONDITIONAL,
        "-10 <= i < 8",
        [x(9) | {"i": [-10, 7]}],
        [x(9) | {"i": [0, 2**63 - 1]}, x(9) | {"i": [-11]}],
    ),
    "a number with an axis added by a sum": (
        "float[5] x, int64 i",
        "k = Add (i, d) y = GatherND (x, k)",
        "int64[1] d = {-1}",
        Kind.CONDITIONAL,
        "-4 <= i < 6",
        [x(5) | {"i": -4}, x(5) | {"i": 5}],
        [x(5) | {"i": -5}, x(5) | {"i": 6}],
    ),
    "a number with an axis added by a limit": (
        "float[5] x, int64 i",
        "k = Max (i, d) y = GatherND (x, k)",
        "int64[1] d = {-1}",
        Kind.CONDITIONAL,
        "i < 5",
        [x(5) | {"i": -9}, x(5) | {"i": 4}],
        [x(5) | {"i": 5}],
    ),
    "a number with an axis added by a choice": (
        "float[5] x, int64 i",
        "c = Less (i, zero) p = Add (i, five) k = Where (c, p, i) y = GatherND (x, k)",
        "int64 zero = {0}, int64[1] five = {5}",
        Kind.CONDITIONAL,
        "-10 <= i < 5",
        [x(5) | {"i": -10}, x(5) | {"i": 4}],
        [x(5) | {"i": -11}, x(5) | {"i": 5}],
    ),
    "counter of a loop of 3": (
        "float[N] x, float s",
        f"y = Loop (n, , s) {COUNT}",
        "int64 n = {3}",
        Kind.CONDITIONAL,
        "N >= 3",
        [x(3) | {"s": 0}],
        [x(2) | {"s": 0}],
    ),
    "counter of a loop of 3 over 2 rows": (
        "float[2] x, float s",
        f"y = Loop (n, , s) {COUNT}",
        "int64 n = {3}",
        Kind.VIOLATED,
        "",
        [],
        [x(2) | {"s": 0}],
    ),
    "counter of a loop over another tensor": (
        "float[N] x, float[M] z, float s",
        f"n = Size (z) y = Loop (n, , s) {COUNT}",
        "",
        Kind.CONDITIONAL,
        "M <= N",
        [x(2) | {"z": [0, 0], "s": 0}, x(0) | {"z": [], "s": 0}],
        [x(2) | {"z": [0, 0, 0], "s": 0}],
    ),
    "counter of a loop, from the end": (
        "float[N] x, float s",
        f"y = Loop (n, , s) {loop('float', 'j = Sub (i, five) r = Gather (x, j) w = Add (v, r)')}",
        "int64 n = {3}, int64 five = {5}",
        Kind.CONDITIONAL,
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
        Kind.UNDECIDED,
        "",
        [x(2) | {"s": 0, "p": False}],
        [x(2) | {"s": 0, "p": True}],
    ),
    "counters of two loops": (
        "float[N] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "w = Loop (m, , v) <body = e (int64 j, bool f, float p) => (bool g, float q) "
        "{ g = Identity (f) k = Add (i, j) r = Gather (x, k) q = Add (p, r) }> }>",
        "int64 n = {3}, int64 m = {4}",
        Kind.CONDITIONAL,
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
        Kind.UNDECIDED,
        "",
        [x(4) | {"s": 0}],
        [x(3) | {"s": 0}],
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
        Kind.UNDECIDED,
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
        Kind.CONDITIONAL,
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
        Kind.UNDECIDED,
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
        Kind.UNDECIDED,
        "",
        [x(5) | {"s": 0, "m": [[True, False]] * 5 + [[False, False]]}],
        [x(5) | {"s": 0, "m": [[True, False]] * 6}],
    ),
    "counter of a loop of 3, kept": (
        "float[N] x",
        f"q = Loop (n, , zero) {KEEP} y = Gather (x, q)",
        f"int64 n = {{3}}, {ZERO}",
        Kind.CONDITIONAL,
        "N >= 3",
        [x(3)],
        [x(2)],
    ),
    "counter of a loop that may not run, kept": (
        "float[N] x, float[M] z",
        f"n = Size (z) q = Loop (n, , zero) {KEEP} y = Gather (x, q)",
        ZERO,
        Kind.CONDITIONAL,
        "N >= 1 and M <= N",
        [x(1) | {"z": []}, x(1) | {"z": [0]}, x(3) | {"z": [0, 0, 0]}],
        [x(0) | {"z": []}, x(2) | {"z": [0, 0, 0]}],
    ),
    "counter of a loop that may not run, kept beside something else": (
        "float[N] x, float[M] z",
        f"n = Size (z) q = Loop (n, , seven) {KEEP} y = Gather (x, q)",
        "int64 seven = {7}",
        Kind.CONDITIONAL,
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
        Kind.UNDECIDED,
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
            ("j = Sub (two, i)", Kind.CONDITIONAL, "N >= 3", 3),
            ("j = Mul (i, two)", Kind.CONDITIONAL, "N >= 5", 5),
            ("k = Mul (i, two) j = Sub (four, k)", Kind.CONDITIONAL, "N >= 5", 5),
            ("k = Mul (i, two) j = Sub (two, k)", Kind.CONDITIONAL, "N >= 3", 3),
            ("j = Mul (i, i)", Kind.UNDECIDED, "", 5),
            ("j = Add (i, four)", Kind.CONDITIONAL, "N >= 7", 7),
        )
    },
    "counter of rows that grow with it": (
        "float[N] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) { d = Identity (c) "
        "e = Add (i, one) u = Unsqueeze (e, first) g = ConstantOfShape (u) r = Gather (g, i) w = Add (v, r) }>",
        f"int64 n = {{3}}, {ONE}, int64[1] first = {{0}}",
        Kind.PROVED,
        "",
        [x(1) | {"s": 0}],
        [],
    ),
    "counter of rows that shrink with it": (
        "float[N] x, float s",
        f"{ROWS} y = Loop (t, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) {{ d = Identity (c) "
        "e = Sub (rows, i) u = Unsqueeze (e, first) g = ConstantOfShape (u) r = Gather (g, i) w = Add (v, r) }>",
        "int64 t = {3}, int64[1] first = {0}",
        Kind.UNDECIDED,
        "",
        [x(5) | {"s": 0}],
        [x(4) | {"s": 0}],
    ),
    "counter of a loop until its condition": (
        "float[N] x, float s",
        f"{ROWS} g = Less (zero, rows) y = Loop (, g, s) <body = b (int64 i, bool c, float v) => (bool d, float w) "
        "{ e = Add (i, one) d = Less (e, rows) r = Gather (x, i) w = Add (v, r) }>",
        f"{ZERO}, {ONE}",
        Kind.PROVED,
        "",
        [x(3) | {"s": 0}, x(0) | {"s": 0}],
        [],
    ),
    "counter of a scan": (
        "float[N] x, float[M] z",
        "q, y = Scan <num_scan_inputs = 1, body = b (int64 v, float e) => (int64 w, float r) "
        "{ w = Add (v, one) r = Gather (x, v) }> (zero, x)",
        f"{ZERO}, {ONE}",
        Kind.PROVED,
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
        Kind.UNDECIDED,
        "",
        [x(2) | {"s": 0, "p": False}],
        [x(2) | {"s": 0, "p": True}],
    ),
    "both columns past the end": (
        "float[9, 7] x, float[M, 2, 4] z",
        "a = ArgMax <axis = 2, keepdims = 0> (z) i = Add (a, nine) y = GatherND (x, i)",
        "int64 nine = {9}",
        Kind.VIOLATED,
        "",
        [],
        [{"z": np.zeros((1, 2, 4))}],
    ),
    "the second column past the end": (
        "float[20, 7] x, float[M, 2, 4] z",
        "a = ArgMax <axis = 2, keepdims = 0> (z) i = Add (a, nine) y = GatherND (x, i)",
        "int64 nine = {9}",
        Kind.VIOLATED,
        "",
        [],
        [{"z": np.zeros((1, 2, 4))}],
    ),
    "numbers in two columns": (
        "float[3, 4] x, float[M] z",
        "m = Size (z) l = Mul (m, two) r = Range (zero, l, one) i = Reshape (r, pairs) y = GatherND (x, i)",
        f"{ZERO}, {ONE}, int64 two = {{2}}, int64[2] pairs = {{-1, 2}}",
        Kind.CONDITIONAL,
        "M <= 1",
        [{"z": [0, 0]}, {"z": [0]}],
        [{"z": [0, 0, 0]}],
    ),
    "two parts in two columns": (
        "float[9, 7] x, int64[M] i, float[K, 4] z",
        "a = ArgMax <axis = 1, keepdims = 0> (z) b = Add (a, nine) c = Concat <axis = 0> (i, b) "
        "j = Reshape (c, pairs) y = GatherND (x, j)",
        "int64 nine = {9}, int64[2] pairs = {-1, 2}",
        Kind.UNDECIDED,
        "",
        [{"i": [1, 2], "z": np.zeros((0, 4))}],
        [{"i": [1, 2], "z": np.zeros((2, 4))}],
    ),
    "past the end where there is no index": (
        "float[9] x, int64[N] i",
        "s = Shape (i) n = Squeeze (s) t = Less (n, one) j = Clip (i, ten) y = If (t) <then_branch = a () => (u) "
        "{ u = Gather (x, j) }, else_branch = e () => (q) { q = Identity (x) }>",
        f"{ONE}, int64 ten = {{10}}",
        Kind.PROVED,
        "",
        [{"i": []}, {"i": [3]}],
        [],
    ),
    "no index, no rows": ("float[0] x, int64[0] i", "y = Gather (x, i)", ONE, Kind.PROVED, "", [{}], []),
    "one index where there are any": (
        "float[N] x, int64[M] i",
        "s = Shape (i) r = Squeeze (s) l = Sub (r, one) j = Expand (l, s) y = Gather (x, j)",
        ONE,
        Kind.CONDITIONAL,
        "M <= N",
        [x(2) | {"i": [0, 0]}, x(0) | {"i": []}],
        [x(1) | {"i": [0, 0]}],
    ),
}


ENOUGH = {
    "a number that no element need have",
    "a sum that wraps into the axis",
    "a Cast that wraps into the axis",
    "the largest uint64 numbers are -1 and the like",
    "limits that cross: the last one wins",
    "a part that may be empty",
    "counter of a loop that may not run, kept beside something else",
    "numbers in two columns",
    "one index where there are any",
    "positions of which there may be none while the loop runs",
}
"""Cases whose conditions are not tight."""


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def passes(model: onnx.ModelProto, feeds: Feeds, runtime: onnxruntime.InferenceSession) -> bool:
    """Whether onnxruntime runs the model on the feeds; what they lack is zeros."""
    arrays: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape: Sequence[int] = [d.dim_value for d in tensor.shape.dim]
        arrays[value.name] = np.asarray(feeds.get(value.name, np.zeros(shape)), NUMPY[tensor.elem_type])
    try:
        runtime.run(None, arrays)
    except Exception as error:  # noqa: BLE001 - each failure of the runtime has a class of its own
        assert "out of" in str(error).lower() or "invalid index" in str(error), error
        return False
    return True


@pytest.mark.parametrize("case", CASES)
def test_verdict_is_what_runs_say(case: str) -> None:
    inputs, body, given, kind, condition, fine, failing = CASES[case]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    found = by_node(verdicts(gather_infer.infer(model)))[-1]
    assert (found.kind, found.condition, found.tight) == (kind, condition, case not in ENOUGH), found
    for value in model.graph.output:  # of one type, float
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    runtime = session(model)
    assert [passes(model, feeds, runtime) for feeds in fine] == [True] * len(fine)
    assert [passes(model, feeds, runtime) for feeds in failing] == [False] * len(failing)


def test_what_is_enough_says_so() -> None:
    inputs, body, given, *_ = CASES["a part that may be empty"]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    finding = by_node(verdicts(gather_infer.infer(model)))[-1].diagnostic()
    assert finding is not None
    assert finding.code == "GI302"
    assert finding.message.startswith("surely in bounds for P + S <= 2: indices are computed from data")
    assert not any("past the end" in line for line in finding.detail)


DETAILS = {
    # id: (inputs, nodes, constants, severity, message, detail)
    "violated": (
        "float[9] x", "y = Gather (x, i)", "int64 i = {9}", "error", "index 9 is outside [-9, 8]",
        ("data x: float32[9], axis 0",),
    ),
    "violated, a range": (
        "float[9] x, int64[M] i", "j = Clip (i, ten) y = Gather (x, j)", "int64 ten = {10}", "error",
        "indices in [10, ...] are outside [-9, 8]", ("data x: float32[9], axis 0",),
    ),
    "conditional": (
        "float[1, 9] x, int64[M] i", "y = Gather <axis = 1> (x, i)", ONE, "note",
        "in bounds only for -9 <= i < 9: its elements are the indices, the axis has 9 rows",
        ("data x: float32[1, 9], axis 1", "i = 9 is past the end"),
    ),
    "conditional on one row": (
        "float[1] x, int64[M] i", "y = Gather (x, i)", ONE, "note",
        "in bounds only for -1 <= i < 1: its elements are the indices, the axis has 1 row",
        ("data x: float32[1], axis 0", "i = 1 is past the end"),
    ),
    "undecided": (
        "float[9] x, int64[M] i, int64[M] j", "k = Add (i, j) y = Gather (x, k)", ONE, "note",
        "it is not known whether every index is in bounds: indices are computed from data; "
        "indices in [..., ...], the axis has 9 rows",
        ("data x: float32[9], axis 0",),
    ),
    "a tree": (
        "int64[T, B, K] x, int64[T, B, K] i, int64[B] l, int64 e", "y = openvino.GatherTree (x, i, l, e)", ONE, "note",
        "in bounds only for 0 <= i < K: those of its elements that are read are indices, the axis has K rows",
        ("data x: int64[T, B, K], axis 2", "i = K is past the end"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DETAILS)
def test_what_a_finding_says(case: str) -> None:
    inputs, body, given, severity, message, detail = DETAILS[case]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17, "openvino": 1]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    finding = verdicts(gather_infer.infer(model))[-1].diagnostic()
    assert finding is not None
    assert (str(finding.severity), finding.message, finding.detail) == (severity, message, detail)


def test_an_index_that_may_be_empty() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[0] x, int64[N] i) => (y) { y = Gather (x, i) }'
    )
    (found,) = by_node(verdicts(gather_infer.infer(model)))
    assert found.reason == "every index is out of bounds where indices is not empty: the axis it addresses has length 0"
    for value in model.graph.output:
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    assert passes(model, {"i": []}, session(model))
