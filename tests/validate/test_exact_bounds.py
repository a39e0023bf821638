"""Verdicts that were wrong once, each beside runs of onnxruntime that stay in bounds and runs that do not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import gather_infer
from gather_infer.validate import VerdictKind, verdicts
from tests.validate.access_models import by_node
from tests.validate.bound_runs import ONE, ROWS, ZERO, Case, check, passes, session, x

CASES: dict[str, Case] = {
    "rows that the access itself makes five, in a model that is walked again": (
        "float[N] x, float[Q, 1] w",
        "a = Slice (x, v0, v5) b = Unsqueeze (a, v1) c = Concat <axis = 1> (b, w) y = Gather (a, four)",
        "int64[1] v0 = {0}, int64[1] v1 = {1}, int64[1] v5 = {5}, int64 four = {4}",
        VerdictKind.CONDITIONAL,
        "N >= 5",
        [x(5) | {"w": np.zeros((5, 1), np.float32)}, x(7) | {"w": np.zeros((5, 1), np.float32)}],
        [x(4) | {"w": np.zeros((4, 1), np.float32)}],
    ),
    # id: (inputs, body, constants, kind, conditions, runs in bounds, runs out of bounds)
    "a limit past the end, where it is chosen": (
        "float[9] x, int64[N] i, bool[N] p",
        "c = Clip (i, low, high) w = Where (p, c, zero) y = Gather (x, w)",
        f"int64 low = {{10}}, int64 high = {{20}}, {ZERO}",
        VerdictKind.UNDECIDED,
        "",
        [{"i": [5], "p": [False]}],
        [{"i": [5], "p": [True]}],
    ),
    "a number past the end, where it is chosen": (
        "float[6] x, int64[N] i, bool[N] p",
        "c = Clip (i, zero, five) w = Where (p, past, c) y = Gather (x, w)",
        f"{ZERO}, int64 five = {{5}}, int64 past = {{100}}",
        VerdictKind.UNDECIDED,
        "",
        [{"i": [5], "p": [False]}],
        [{"i": [5], "p": [True]}],
    ),
    "the number of rows, where it is chosen": (
        "float[N] x, bool[N] p",
        f"{ROWS} r = Range (zero, rows, one) w = Where (p, r, rows) y = Gather (x, w)",
        f"{ZERO}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True]}],
        [x(2) | {"p": [True, False]}],
    ),
    "the number of rows, with GatherElements": (
        "float[N] x, bool[N] p",
        f"{ROWS} r = Range (zero, rows, one) w = Where (p, r, rows) y = GatherElements (x, w)",
        f"{ZERO}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True]}],
        [x(2) | {"p": [True, False]}],
    ),
    "before the first row, where it is chosen, with GatherND": (
        "float[N] x, bool[N] p",
        f"{ROWS} r = Range (zero, rows, one) m = Neg (rows) b = Sub (m, one) w = Where (p, r, b) "
        "u = Unsqueeze (w, last) y = GatherND (x, u)",
        f"{ZERO}, {ONE}, int64[1] last = {{-1}}",
        VerdictKind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True]}],
        [x(2) | {"p": [True, False]}],
    ),
    "the number of rows, in a branch": (
        "float[N] x, bool[N] p, bool t",
        f"{ROWS} r = Range (zero, rows, one) y = If (t) <then_branch = a () => (u) "
        "{ w = Where (p, r, rows) u = Gather (x, w) }, else_branch = e () => (q) { q = Identity (x) }>",
        f"{ZERO}, {ONE}",
        VerdictKind.UNDECIDED,
        "",
        [x(2) | {"p": [True, True], "t": True}],
        [x(2) | {"p": [True, False], "t": True}],
    ),
    "all of two parts past the end": (
        "float[6] x, int64[N] i",
        "c = Concat <axis = 0> (i, i) w = Max (c, past) y = Gather (x, w)",
        "int64 past = {128}",
        VerdictKind.VIOLATED,
        "",
        [],
        [{"i": [0]}, {"i": [3, 200]}],
    ),
    "the number of rows for a number": (
        "float[N] x, int64[M] i",
        f"{ROWS} e = Equal (i, k) w = Where (e, rows, i) y = Gather (x, w)",
        "int64 k = {1}",
        VerdictKind.UNDECIDED,
        "",
        [x(2) | {"i": [0, -2]}],
        [x(2) | {"i": [0, 1]}],
    ),
    "a number that no element need have": (
        "float[N] x, int64[M] i",
        "e = Equal (i, k) w = Where (e, past, i) y = Gather (x, w)",
        "int64 k = {99}, int64 past = {128}",
        VerdictKind.CONDITIONAL,
        "N >= 129 and -N <= i < N",
        [x(2) | {"i": [1, -2]}],
        [x(2) | {"i": [99]}],
    ),
    "a sum that wraps into the axis": (
        "float[9] x, uint8[M] i",
        "a = Add (i, three) w = Cast <to = 7> (a) y = Gather (x, w)",
        "uint8 three = {3}",
        VerdictKind.CONDITIONAL,
        "i < 6",
        [{"i": [5, 0]}, {"i": [253, 255]}],
        [{"i": [6]}, {"i": [252]}],
    ),
    "a difference that wraps away from the axis": (
        "float[9] x, uint8[M] i",
        "a = Sub (i, three) w = Cast <to = 7> (a) y = Gather (x, w)",
        "uint8 three = {3}",
        VerdictKind.CONDITIONAL,
        "3 <= i < 12",
        [{"i": [3, 11]}],
        [{"i": [2]}, {"i": [12]}],
    ),
    "a branch that wraps": (
        "float[6] x, uint8[M] i",
        "l = Less (i, three) a = Sub (i, five) b = Where (l, a, none) w = Cast <to = 7> (b) y = Gather (x, w)",
        "uint8 three = {3}, uint8 five = {5}, uint8 none = {0}",
        VerdictKind.CONDITIONAL,
        "5 <= i < 11",  # of those that are read, which are all below 3
        [{"i": [3]}],
        [{"i": [2]}],
    ),
    "a Cast that wraps into the axis": (
        "float[9] x, int64[M] i",
        "w = Cast <to = 6> (i) y = Gather (x, w)",
        "",
        VerdictKind.CONDITIONAL,
        "-9 <= i < 9",
        [{"i": [8, -9]}, {"i": [2**32 + 8]}],
        [{"i": [9]}],
    ),
    "the largest uint64 numbers are -1 and the like": (
        "float[9] x, uint64[M] i",
        "w = Cast <to = 7> (i) y = Gather (x, w)",
        "",
        VerdictKind.CONDITIONAL,
        "i < 9",
        [{"i": [8]}, {"i": [2**64 - 1]}],
        [{"i": [9]}],
    ),
    "a sum of int64 that wraps stays outside": (
        "float[9] x, int64[M] i",
        "w = Add (i, one) y = Gather (x, w)",
        ONE,
        VerdictKind.CONDITIONAL,
        "-10 <= i < 8",
        [{"i": [-10, 7]}],
        [{"i": [8]}, {"i": [-11]}, {"i": [2**63 - 1]}],
    ),
    "limits that cross: the last one wins": (
        "float[N] x, int64[M] i",
        "w = Clip (i, seven, five) y = Gather (x, w)",
        "int64 seven = {7}, int64 five = {5}",
        VerdictKind.CONDITIONAL,
        "N >= 8 and i < N",
        [x(6) | {"i": [0, 9]}],
        [x(5) | {"i": [0]}],
    ),
    "a limit that is a size": (
        "float[N] x, int64[M] i, float[K] z",
        "k = Shape (z) w = Max (i, k) y = Gather (x, w)",
        "",
        VerdictKind.CONDITIONAL,
        "K <= N - 1 and i < N",
        [x(3) | {"i": [2], "z": [0, 0]}],
        [x(3) | {"i": [2], "z": [0, 0, 0]}, x(3) | {"i": [3], "z": []}],
    ),
    "a part that may be empty": (
        "float[2] x, float[S] s, float[P] z",
        "p = Shape (z) q = Shape (s) e = Add (p, q) a = Squeeze (p) b = Squeeze (e) r = Range (a, b, one) "
        "w = Concat <axis = 0> (r, none) y = Gather (x, w)",
        f"{ONE}, int64[1] none = {{0}}",
        VerdictKind.CONDITIONAL,
        "P + S <= 2",
        [{"s": [0], "z": [0]}, {"s": [], "z": [0, 0, 0]}],
        [{"s": [0, 0], "z": [0]}],
    ),
    "a part that may be empty and begins at 0": (
        "float[2] x, float[S] s",
        "q = Shape (s) b = Squeeze (q) r = Range (zero, b, one) w = Concat <axis = 0> (r, none) y = Gather (x, w)",
        f"{ZERO}, {ONE}, int64[1] none = {{0}}",
        VerdictKind.CONDITIONAL,
        "S <= 2",
        [{"s": [0, 0]}, {"s": []}],
        [{"s": [0, 0, 0]}],
    ),
    "parts that may stand in either column": (
        "float[100, 2] x, int64[1] i",
        "a = Max (i, six) b = Clip (i, zero, one) c = Concat <axis = 0> (a, b) w = Reshape (c, pair) "
        "y = GatherND (x, w)",
        f"int64 six = {{6}}, {ZERO}, {ONE}, int64[2] pair = {{1, 2}}",
        VerdictKind.UNDECIDED,
        "",
        [{"x": np.zeros((100, 2), np.float32), "i": [6]}],
        [{"x": np.zeros((100, 2), np.float32), "i": [100]}],
    ),
    "repeated no times": (
        "float[9] x, int64[1] i, float[K] z",
        "k = Shape (z) a = Expand (i, k) w = Concat <axis = 0> (a, none) y = Gather (x, w)",
        "int64[1] none = {0}",
        VerdictKind.CONDITIONAL,
        "-9 <= i < 9",
        [{"i": [8], "z": [0]}, {"i": [9], "z": []}],  # of the second nothing is read
        [{"i": [9], "z": [0]}],
    ),
    "no rows": (
        "float[0] x, int64[N] i",
        "y = Gather (x, i)",
        "",
        VerdictKind.VIOLATED,
        "",
        [],
        [{"i": [0]}, {"i": [-1]}],
    ),
    "a remainder by the number of rows": (
        "float[N] x, int64[M] i",
        "n = Shape (x) w = Mod (i, n) y = Gather (x, w)",
        "",
        VerdictKind.PROVED,
        "",
        [x(3) | {"i": [-4, -3, -1, 0, 2, 3, 2**63 - 1]}, x(1) | {"i": [7]}],
        [],
    ),
    "a C remainder by the number of rows": (
        "float[N] x, int64[M] i",
        "n = Shape (x) w = Mod <fmod = 1> (i, n) y = Gather (x, w)",
        "",
        VerdictKind.PROVED,
        "",
        [x(3) | {"i": [-4, -3, -1, 0, 2, 3]}, x(1) | {"i": [7]}],
        [],
    ),
    "a remainder by minus the number of rows": (
        "float[N] x, int64[M] i",
        "n = Shape (x) m = Neg (n) r = Mod (i, m) w = Sub (r, one) y = Gather (x, w)",
        ONE,
        VerdictKind.PROVED,
        "",
        [x(3) | {"i": [-4, -3, -1, 0, 2, 3]}, x(1) | {"i": [7]}],
        [],
    ),
    "both columns past the end": (
        "float[9, 7] x, float[M, 2, 4] z",
        "a = ArgMax <axis = 2, keepdims = 0> (z) i = Add (a, nine) y = GatherND (x, i)",
        "int64 nine = {9}",
        VerdictKind.VIOLATED,
        "",
        [],
        [{"z": np.zeros((1, 2, 4))}],
    ),
    "the second column past the end": (
        "float[20, 7] x, float[M, 2, 4] z",
        "a = ArgMax <axis = 2, keepdims = 0> (z) i = Add (a, nine) y = GatherND (x, i)",
        "int64 nine = {9}",
        VerdictKind.VIOLATED,
        "",
        [],
        [{"z": np.zeros((1, 2, 4))}],
    ),
    "numbers in two columns": (
        "float[3, 4] x, float[M] z",
        "m = Size (z) l = Mul (m, two) r = Range (zero, l, one) i = Reshape (r, pairs) y = GatherND (x, i)",
        f"{ZERO}, {ONE}, int64 two = {{2}}, int64[2] pairs = {{-1, 2}}",
        VerdictKind.CONDITIONAL,
        "M <= 1",
        [{"z": [0, 0]}, {"z": [0]}],
        [{"z": [0, 0, 0]}],
    ),
    "two parts in two columns": (
        "float[9, 7] x, int64[M] i, float[K, 4] z",
        "a = ArgMax <axis = 1, keepdims = 0> (z) b = Add (a, nine) c = Concat <axis = 0> (i, b) "
        "j = Reshape (c, pairs) y = GatherND (x, j)",
        "int64 nine = {9}, int64[2] pairs = {-1, 2}",
        VerdictKind.UNDECIDED,
        "",
        [{"i": [1, 2], "z": np.zeros((0, 4))}],
        [{"i": [1, 2], "z": np.zeros((2, 4))}],
    ),
    "past the end where there is no index": (
        "float[9] x, int64[N] i",
        "s = Shape (i) n = Squeeze (s) t = Less (n, one) j = Clip (i, ten) y = If (t) <then_branch = a () => (u) "
        "{ u = Gather (x, j) }, else_branch = e () => (q) { q = Identity (x) }>",
        f"{ONE}, int64 ten = {{10}}",
        VerdictKind.PROVED,
        "",
        [{"i": []}, {"i": [3]}],
        [],
    ),
    "no index, no rows": ("float[0] x, int64[0] i", "y = Gather (x, i)", ONE, VerdictKind.PROVED, "", [{}], []),
    "one index where there are any": (
        "float[N] x, int64[M] i",
        "s = Shape (i) r = Squeeze (s) l = Sub (r, one) j = Expand (l, s) y = Gather (x, j)",
        ONE,
        VerdictKind.CONDITIONAL,
        "M <= N",
        [x(2) | {"i": [0, 0]}, x(0) | {"i": []}],
        [x(1) | {"i": [0, 0]}],
    ),
    "a sum of int64 that wraps below a limit, where it is chosen": (
        "float[9] x, int64[N] i",
        "k = Add (i, one) c = Less (k, zero) j = Where (c, k, zero) y = Gather (x, j)",
        f"{ZERO}, {ONE}",
        VerdictKind.CONDITIONAL,
        "-10 <= i < 9223372036854775807",
        [x(9) | {"i": [-10, 7, 8, 2**63 - 2]}],
        [x(9) | {"i": [0, 2**63 - 1]}, x(9) | {"i": [-11]}],
    ),
    "a number with an axis added by a sum": (
        "float[5] x, int64 i",
        "k = Add (i, d) y = GatherND (x, k)",
        "int64[1] d = {-1}",
        VerdictKind.CONDITIONAL,
        "-4 <= i < 6",
        [x(5) | {"i": -4}, x(5) | {"i": 5}],
        [x(5) | {"i": -5}, x(5) | {"i": 6}],
    ),
    "a number with an axis added by a limit": (
        "float[5] x, int64 i",
        "k = Max (i, d) y = GatherND (x, k)",
        "int64[1] d = {-1}",
        VerdictKind.CONDITIONAL,
        "i < 5",
        [x(5) | {"i": -9}, x(5) | {"i": 4}],
        [x(5) | {"i": 5}],
    ),
    "a number with an axis added by a choice": (
        "float[5] x, int64 i",
        "c = Less (i, zero) p = Add (i, five) k = Where (c, p, i) y = GatherND (x, k)",
        "int64 zero = {0}, int64[1] five = {5}",
        VerdictKind.CONDITIONAL,
        "-10 <= i < 5",
        [x(5) | {"i": -10}, x(5) | {"i": 4}],
        [x(5) | {"i": -11}, x(5) | {"i": 5}],
    ),
}

ENOUGH = {
    "a number that no element need have",
    "a sum that wraps into the axis",
    "a Cast that wraps into the axis",
    "the largest uint64 numbers are -1 and the like",
    "limits that cross: the last one wins",
    "a part that may be empty",
    "numbers in two columns",
    "one index where there are any",
}
"""Cases whose conditions are not tight."""


@pytest.mark.parametrize("case", CASES)
def test_verdict_is_what_runs_say(case: str) -> None:
    check(CASES[case], tight=case not in ENOUGH)


def test_an_index_that_may_be_empty() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[0] x, int64[N] i) => (y) { y = Gather (x, i) }'
    )
    (found,) = by_node(verdicts(gather_infer.infer(model)))
    assert found.reason == "every index is out of bounds where indices is not empty: the axis it addresses has length 0"
    for value in model.graph.output:
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    assert passes(model, {"i": []}, session(model))
