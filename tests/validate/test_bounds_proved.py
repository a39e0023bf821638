"""Accesses that are in bounds in every run."""

from __future__ import annotations

import onnx
import pytest

import gather_infer
from gather_infer.validate import VerdictKind, verdicts
from tests.validate.checked_bounds import BUCKETS, ONE, SIXTEEN, ZERO, last

PROVED = {
    # id: (inputs, body, constants)
    "constant": ("float[6, 4] x", "y = Gather (x, i)", "int64[3] i = {0, -6, 5}"),
    "empty index": ("float[0, 4] x", "y = Gather (x, i)", "int64[0] i = {}"),
    "ArgMax of the axis": (
        "float[N, V] s, float[V, 4] t",
        "i = ArgMax <axis = 1, keepdims = 0> (s) y = Gather (t, i)",
    ),
    "ArgMin of the axis": ("float[V] s, float[V] t", "i = ArgMin <axis = 0> (s) y = Gather (t, i)"),
    "TopK of the axis": (
        "float[N, V] s, float[V, 4] t",
        "v, i = TopK <axis = 1> (s, k) y = Gather (t, i)",
        "int64[1] k = {2}",
    ),
    "Range of the axis": (
        "float[N] x",
        "n = Shape (x) s = Squeeze (n) i = Range (zero, s, one) y = Gather (x, i)",
        f"{ZERO}, {ONE}",
    ),
    "Clip": ("float[9] x, int64[N] i", "c = Clip (i, zero, m) y = Gather (x, c)", f"{ZERO}, int64 m = {{8}}"),
    "Mod": ("float[9] x, int64[N] i", "c = Mod (i, m) y = Gather (x, c)", "int64 m = {9}"),
    "fmod": ("float[9] x, int64[N] i", "c = Mod <fmod = 1> (i, m) y = Gather (x, c)", "int64 m = {9}"),
    "Min and Max": (
        "float[9] x, int64[N] i",
        "a = Max (i, zero) b = Min (a, m) y = Gather (x, b)",
        f"{ZERO}, int64 m = {{8}}",
    ),
    "a logarithm of what is large enough": ("float[32] x, int64[N] d", BUCKETS, f"{SIXTEEN}, int64 few = {{16}}"),
    "a negative logarithm": ("float[32] x, int64[N] d", BUCKETS, f"{SIXTEEN}, int64 few = {{1}}"),
    "uint8": ("float[256] x, uint8[N] i", "c = Cast <to = 7> (i) y = Gather (x, c)"),
    "int8, from the end": ("float[128] x, int8[N] i", "c = Cast <to = 6> (i) y = Gather (x, c)"),
    "bool": ("float[2] x, bool[N] i", "c = Cast <to = 7> (i) y = Gather (x, c)"),
    "negative made positive": (
        "float[V] t, float[V] s",
        "a = ArgMax <axis = 0> (s) n = Shape (t) b = Sub (a, n) c = Less (b, zero) d = Add (b, n) "
        "i = Where (c, d, b) y = Gather (t, i)",
        ZERO,
    ),
    "negative made positive, not less": (
        "float[9] t, int8[N] j",
        "b = Cast <to = 7> (j) e = Mod <fmod = 1> (b, n) c = GreaterOrEqual (e, zero) d = Add (n, e) "
        "i = Where (c, e, d) y = ai.onnx.ml.ArrayFeatureExtractor (t, i)",
        f"{ZERO}, int64 n = {{9}}",
    ),
    "a quotient of floats, rounded down": (
        "float[200] s, float[40] t",
        "i = ArgMax <axis = 0> (s) f = Cast <to = 1> (i) q = Div (f, five) r = Floor (q) j = Cast <to = 7> (r) "
        "y = Gather (t, j)",
        "float five = {5.0}",
    ),
    "a quotient of floats, rounded down, of a size": (
        "float[N, B, 29] s, float[B, 4] t",
        "f = Reshape (s, flat) v, i = TopK <axis = 1> (f, three) g = Cast <to = 1> (i) q = Div (g, vocab) "
        "r = Floor (q) j = Cast <to = 7> (r) y = Gather (t, j)",
        "int64[2] flat = {0, -1}, int64[1] three = {3}, float vocab = {29.0}",
    ),
    "a quotient of floats, truncated": (
        "float[B, 29] s, float[B, 4] t",
        "f = Reshape (s, flat) i = ArgMax <axis = 0> (f) g = Cast <to = 1> (i) q = Div (g, vocab) "
        "j = Cast <to = 7> (q) y = Gather (t, j)",
        "int64[1] flat = {-1}, float vocab = {29.0}",
    ),
    "limited to the axis, and as long": (
        "float[N] x, int64[N] i",
        "n = Size (x) m = Sub (n, one) c = Clip (i, zero, m) y = Gather (x, c)",
        f"{ZERO}, {ONE}",
    ),
    "a slot of a group, if there are slots": (
        "float[N, E] s, float[P] x, int64[N] i",
        "k = Shape <start = 0, end = 1> (s) m = Sub (k, one) e = ArgMax <axis = 1, keepdims = 0> (s) a = Mul (e, k) "
        "c = Clip (i, zero, m) b = Add (a, c) t = Reshape (s, flat) y = Gather (t, b)",
        "int64 zero = {0}, int64 one = {1}, int64[1] flat = {-1}",
    ),
    "a slot of a group, or the one behind them": (
        "float[C, E] s, float[P] x, int64[N] i",
        "k = Shape <start = 0, end = 1> (s) e = ArgMax <axis = 1, keepdims = 0> (s) a = Mul (e, k) "
        "j = Max (i, zero) b = Add (j, a) n = Size (s) p = Less (j, k) w = Where (p, b, n) "
        "f = Reshape (s, flat) t = Concat <axis = 0> (f, rest) y = Gather (t, w)",
        "int64 zero = {0}, int64[1] flat = {-1}, float[1] rest = {0.0}",
    ),
    "the places before, counted from the end": (
        "float[N] x, int64[N] i",
        "k = Shape (x) r = Range (zero, m, one) j = Max (i, zero) d = Sub (k, j) p = Greater (j, k) "
        "w = Where (p, zero, d) t = Concat <axis = 0> (x, rest) y = Gather (t, w)",
        "int64 zero = {0}, int64 one = {1}, int64 m = {3}, float[1] rest = {0.0}",
    ),
    "NonZero of the tensor": (
        "float[A, B] x",
        "n = NonZero (x) i = Transpose <perm = [1, 0]> (n) y = GatherND (x, i)",
    ),
    "a row of NonZero": (
        "float[A, B] x, float[B] t",
        "n = NonZero (x) i = Gather (n, one) y = Gather (t, i)",
        ONE,
    ),
    "rows of NonZero, split": (
        "float[A, B] x, float[B] t",
        "n = NonZero (x) a, b = Split <axis = 0> (n) i = Squeeze (b, z) y = Gather (t, i)",
        "int64[1] z = {0}",
    ),
    "boxes of NonMaxSuppression": (
        "float[B, S, 4] boxes, float[B, C, S] scores, float[S, 9] t",
        "n = NonMaxSuppression (boxes, scores, k) i = Gather <axis = 1> (n, two) y = Gather (t, i)",
        "int64[1] k = {3}, int64 two = {2}",
    ),
    "inverse of Unique": (
        "int64[N] x",
        "u, f, i, c = Unique (x) y = Gather (u, i)",
    ),
    "first occurrences of Unique": ("int64[N] x", "u, i, v, c = Unique (x) y = Gather (x, i)"),
    "columns of a tuple": (
        "float[A, B] x, float[A] s, float[B] t",
        "a = ArgMax <axis = 0> (s) b = ArgMax <axis = 0> (t) i = Concat <axis = 0> (a, b) y = GatherND (x, i)",
    ),
    "a Gather before has the same index": (
        "float[N] x, float[N] z",
        "a = Gather (x, i) b = Gather (z, i) y = Add (a, b)",
        "int64 i = {5}",
    ),
    "counter of a loop": (
        "float[9] x, float s",
        "y = Loop (n, , s) <body = b (int64 i, bool c, float v) => (bool d, float w) "
        "{ d = Identity (c) r = Gather (x, i) w = Add (v, r) }>",
        "int64 n = {9}",
    ),
    "GatherBlockQuantized": (
        "uint8[9, 16] x, float[9, 1] s",
        "y = com.microsoft.GatherBlockQuantized <block_size = 32> (x, i, s)",
        "int64[1] i = {-9}",
    ),
    "through a branch": (
        "bool c, float[V] s, float[V] t",
        "i = ArgMax <axis = 0> (s) y = If (c) <then_branch = a () => (u) { u = Gather (t, i) }, "
        "else_branch = b () => (v) { v = Identity (s) }>",
    ),
}


@pytest.mark.parametrize("case", PROVED)
def test_proved(case: str) -> None:
    found = last(*PROVED[case])
    assert (found.kind, found.conditions, found.diagnostic()) == (VerdictKind.PROVED, (), None), found


def test_a_size_that_floats_have_to_hold_is_assumed() -> None:
    inputs, body, given = PROVED["a quotient of floats, rounded down, of a size"]
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{given}> {{ {body} }}'
    )
    assert "B <= 578524 (node Cast#5)" in map(str, gather_infer.infer(model).assumptions)
    assert verdicts(gather_infer.infer(model, assume=False))[-1].kind is VerdictKind.UNDECIDED
