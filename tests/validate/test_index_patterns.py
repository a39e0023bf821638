"""Index patterns of networks, and whether each is decided; onnxruntime judges at the edges of what verdicts say.

A run inside the conditions never fails; one outside of tight ones does, unless it reads nothing. Where a condition is
not tight, one of the runs is outside of it and does not fail: so there is none of this form that is needed as well.
"""

from __future__ import annotations

import pytest

from gather_infer.validate import Elements, VerdictKind
from tests.validate.pattern_models import LEAST, MOST, Pattern, Runs, feeds_of, holds, judged

IDS = (-7, -6, -5, -1, 0, 1, 4, 5, 6)
ENDS = (LEAST, LEAST + 1, -(2**32), 2**32, MOST - 1, MOST)
TOPK = (
    "fl = Flatten <axis = 1> (s) sh = Shape (s) b = Gather (sh, zero) k = Gather (sh, one) v = Gather (sh, two) "
    "w, ix = TopK (fl, s2)"
)
SOME = {"B": (1, 2, 3), "K": (1, 2, 3), "V": (2, 3, 5)}
STACKED = "float[9] t, float[T] x"
TRIPS = "s = Shape (x) m = Squeeze (s)"


def loop(limit: str, state: str, kind: str, body: str) -> str:
    """A Loop that carries `a`, of which a body makes `b`, and stacks the rows of `t` that it reads, `e`."""
    return (
        f"f, y = Loop ({limit}, , {state}) <body = g (int64 i, bool c, {kind} a) => (bool d, {kind} b, float e) "
        f"{{ d = Identity (c) {body} }}>"
    )


CHOSEN = {
    "within both bounds, else 0": Pattern(
        "float[5] t, int64[S] i",
        "a = LessOrEqual (zero, i) b = Less (i, five) c = And (a, b) k = Where (c, i, zero) y = Gather (t, k)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*IDS, *ENDS),
    ),
    "within the rows of a table": Pattern(
        "float[N] t, int64[S] i",
        "s = Shape (t) n = Squeeze (s) a = GreaterOrEqual (i, zero) b = Less (i, n) c = And (a, b) "
        "k = Where (c, i, zero) y = Gather (t, k)",
        "N >= 1", tight=False, sizes={"N": (0, 1, 2, 5), "S": (0, 1, 3)}, numbers=(*IDS, *ENDS),
    ),
    "outside one of the bounds": Pattern(
        "float[5] t, int64[S] i",
        "a = Less (i, zero) b = GreaterOrEqual (i, five) c = Or (a, b) k = Where (c, zero, i) y = Gather (t, k)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*IDS, *ENDS),
    ),
    "not within both bounds": Pattern(
        "float[5] t, int64[S] i",
        "a = LessOrEqual (zero, i) b = Less (i, five) c = And (a, b) d = Not (c) k = Where (d, zero, i) "
        "y = Gather (t, k)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*IDS, *ENDS),
    ),
    "within both bounds, and a mask": Pattern(
        "float[5] t, int64[S] i, bool[S] p",
        "a = LessOrEqual (zero, i) b = Less (i, five) c = And (a, p) d = And (c, b) k = Where (d, i, zero) "
        "y = Gather (t, k)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*IDS, *ENDS),
    ),
    "one bound or the other is kept": Pattern(
        "float[5] t, int64[S] i",
        "a = GreaterOrEqual (i, zero) b = Less (i, five) c = Or (a, b) k = Where (c, i, zero) y = Gather (t, k)",
        "-5 <= i < 5", sizes={"S": (1, 3)}, numbers=IDS,
    ),
    "a mask says nothing where either is false": Pattern(
        "float[5] t, int64[S] i, bool[S] p",
        "b = GreaterOrEqual (i, five) c = And (b, p) k = Where (c, zero, i) y = Gather (t, k)",
        "-5 <= i < 5", sizes={"S": (1, 3)}, numbers=(0, 4), given={"i": IDS},
    ),
    "padding of a vocabulary": Pattern(
        "float[5] t, int64[S] i",
        "c = Equal (i, flat) k = Where (c, zero, i) y = Gather (t, k)",
        "-5 <= i < 5", sizes={"S": (1, 3)}, numbers=IDS,
    ),
    "the one number that is picked": Pattern(
        "float[5] t, int64[S] i",
        "c = Equal (four, i) k = Where (c, i, zero) y = Gather (t, k)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*IDS, *ENDS),
    ),
    "bounds of two tensors": Pattern(
        "float[5] t, int64[S] i, int64[S] j",
        "a = LessOrEqual (zero, i) b = Less (i, five) g = GreaterOrEqual (j, zero) h = Less (j, five) c = And (a, b) "
        "d = And (g, h) e = And (c, d) k = Where (e, j, zero) y = Gather (t, k)",
        "proved", sizes={"S": (1, 2)}, numbers=(-6, -1, 0, 4, 5, MOST),
    ),
}  # fmt: skip

BEAMS = {
    "the beam of a flat candidate": Pattern(
        "float[B, K, V] s, float[B, K] t",
        f"{TOPK} q = Div (ix, v) y = GatherElements <axis = 1> (t, q)",
        "proved", sizes=SOME,
    ),
    "the token of a flat candidate": Pattern(
        "float[B, K, V] s, float[V] t", f"{TOPK} q = Mod (ix, v) y = Gather (t, q)", "proved", sizes=SOME,
    ),
    "a flat candidate of a fixed vocabulary": Pattern(
        "float[B, 12] s, float[B, 4] t",
        "v = Constant <value_int = 3> () w, ix = TopK (s, s2) q = Div (ix, v) y = GatherElements <axis = 1> (t, q)",
        "proved", sizes={"B": (0, 1, 3)},
    ),
    "a flat candidate of a larger vocabulary": Pattern(
        "float[B, 12] s, float[B, 4] t",
        "w, ix = TopK (s, s2) q = Div (ix, two) y = GatherElements <axis = 1> (t, q)",
        "undecided", sizes={"B": (0, 1, 2)},
    ),
    "rows of every beam of every batch": Pattern(
        "float[B, K, V] s, float[B, K, 2] h",
        f"{TOPK} q = Div (ix, v) r = Range (zero, b, one) o = Mul (r, k) oo = Unsqueeze (o, s1) z = Add (q, oo) "
        "f = Reshape (h, pairs) y = Gather (f, z)",
        "proved", sizes=SOME,
    ),
    "beams that are an input": Pattern(
        "float[B, K, 2] h, int64[B, M] bi",
        "sh = Shape (h) b = Gather (sh, zero) k = Gather (sh, one) r = Range (zero, b, one) o = Mul (r, k) "
        "oo = Unsqueeze (o, s1) z = Add (bi, oo) f = Reshape (h, pairs) y = Gather (f, z)",
        "-B*K <= bi < K", tight=False, sizes={"B": (1, 2, 3), "K": (1, 2, 3), "M": (0, 1, 2)},
        numbers=(-9, -7, -4, -3, -2, -1, 0, 1, 2, 3, MOST),
    ),
}  # fmt: skip

PAGES = {
    "the block of a slot": Pattern(
        "float[N, 4] cache, int64[S] slot", "b = Div (slot, four) y = Gather (cache, b)",
        "N >= 1 and -4*N - 3 <= slot < 4*N", sizes={"N": (0, 1, 2, 3), "S": (0, 1, 2)},
        numbers=(*ENDS, -17, -16, -15, -12, -11, -8, -7, -4, -3, -1, 0, 3, 4, 7, 8, 11, 12),
    ),
    "the block of a slot of int32": Pattern(
        "float[6, 4] cache, int32[S] slot",
        "d = Cast <to = 6> (four) b = Div (slot, d) y = Gather (cache, b)",
        "-27 <= slot < 24", sizes={"S": (0, 1, 2)}, numbers=(-(2**31), -28, -27, -24, -1, 0, 23, 24, 2**31 - 1),
    ),
    "the block of a slot and the place in it": Pattern(
        "float[N, 4] cache, int64[S] slot",
        "b = Div (slot, four) o = Mod (slot, four) bb = Unsqueeze (b, flat) oo = Unsqueeze (o, flat) "
        "i = Concat <axis = -1> (bb, oo) y = GatherND (cache, i)",
        "N >= 1 and -4*N - 3 <= slot < 4*N", sizes={"N": (1, 2, 3), "S": (0, 1, 2)},
        numbers=(*ENDS, -16, -15, -12, -11, -8, -7, -4, -3, -1, 0, 3, 4, 7, 8, 11, 12),
    ),
    "the block after that of a slot": Pattern(
        "float[6, 4] cache, int64[S] slot",
        "a = Add (slot, five) b = Div (a, four) c = Add (b, one) y = Gather (cache, c)",
        "-36 <= slot < 15", sizes={"S": (0, 1, 2)}, numbers=(*ENDS, -37, -36, -33, -1, 0, 14, 15),
    ),
    "a block no earlier than the first": Pattern(
        "float[6, 4] cache, int64[S] slot",
        "b = Div (slot, four) c = Max (b, zero) y = Gather (cache, c)",
        "slot < 24", sizes={"S": (0, 1, 2)}, numbers=(*ENDS, -37, -36, -33, -1, 0, 23, 24),
    ),
    "blocks whose length is a size": Pattern(
        "float[N, L] cache, int64[S] slot",
        "s = Shape (cache) l = Gather (s, one) p = Max (l, one) b = Div (slot, p) y = Gather (cache, b)",
        "N >= 1 and 1 - N*max(1, L) - max(1, L) <= slot < N*max(1, L)",
        sizes={"N": (0, 1, 2), "L": (1, 3), "S": (0, 1, 2)}, numbers=(-9, -8, -6, -4, -3, -2, 0, 2, 3, 5, 6),
    ),
    "shifted to the right": Pattern(
        "float[60] t, uint8[S] p",
        'k = Constant <value = uint8 {2}> () j = BitShift <direction = "RIGHT"> (p, k) i = Cast <to = 7> (j) '
        "y = Gather (t, i)",
        "p < 240", sizes={"S": (0, 1, 3)}, numbers=(0, 1, 3, 4, 239, 240, 255),
    ),
}  # fmt: skip

RANGES = {
    "positions after those of an input": Pattern(
        "float[12] t, int64 past, float[seq] x",
        "s = Shape (x) q = Squeeze (s) e = Add (past, q) r = Range (past, e, one) y = Gather (t, r)",
        "-12 <= past < 13 - seq", sizes={"seq": (0, 1, 2, 12, 13)},
        numbers=(*ENDS, -14, -13, -12, -11, -1, 0, 1, 10, 11, 12, 13),
    ),
    "positions after those of an input of int32": Pattern(
        "float[12] t, int32[1] past, float[seq] x",
        "s = Shape (x) q = Squeeze (s) c = Cast <to = 7> (past) p = Squeeze (c) e = Add (p, q) r = Range (p, e, one) "
        "y = Gather (t, r)",
        "-12 <= past < 13 - seq", sizes={"seq": (0, 1, 2, 12, 13)},
        numbers=(-(2**31), -13, -12, -11, -1, 0, 1, 10, 11, 12, 13, 2**31 - 1),
    ),
    "positions added to those of an input": Pattern(
        "float[12] t, int64 past, float[seq] x",
        "s = Shape (x) q = Squeeze (s) p = Range (zero, q, one) r = Add (p, past) y = Gather (t, r)",
        "-12 <= past < 13 - seq", sizes={"seq": (0, 1, 2, 12, 13)},
        numbers=(*ENDS, -13, -12, -11, -1, 0, 1, 10, 11, 12, 13),
    ),
    "positions for each of a batch": Pattern(
        "float[12] t, int64 past, float[batch, seq] x",
        "s = Shape (x) q = Gather (s, one) e = Add (past, q) r = Range (past, e, one) u = Unsqueeze (r, s0) "
        "z = Expand (u, s) y = Gather (t, z)",
        "-12 <= past < 13 - seq", sizes={"batch": (0, 1, 2), "seq": (1, 2, 12, 13)},
        numbers=(-13, -12, -11, -1, 0, 1, 10, 11, 12, 13),
    ),
    "positions beside others": Pattern(
        "float[12] t, int64 past, int64[S] i, float[seq] x",
        "s = Shape (x) q = Squeeze (s) e = Add (past, q) r = Range (past, e, one) c = Concat <axis = 0> (r, i) "
        "y = Gather (t, c)",
        "-12 <= past < 13 - seq and -12 <= i < 12", tight=False, sizes={"S": (0, 1, 2), "seq": (0, 1, 2, 13)},
        numbers=(0, 3), given={"past": (*ENDS, -13, -12, 0, 11, 12), "i": (-13, -12, -1, 0, 11, 12)},
    ),
    "positions backwards": Pattern(
        "float[12] t, int64 past, float[seq] x",
        "s = Shape (x) q = Squeeze (s) p = Range (zero, q, one) r = Sub (past, p) y = Gather (t, r)",
        "seq - 13 <= past < 12", sizes={"seq": (0, 1, 2, 12, 13, 24, 25)},
        numbers=(*ENDS, -13, -12, -11, -1, 0, 1, 10, 11, 12, 13),
    ),
    "positions after those of an input, counted from the end": Pattern(
        "float[12] t, int64 past, float[seq] x",
        "s = Shape (x) q = Squeeze (s) e = Add (past, q) r = Range (past, e, one) d = Sub (five, r) y = Gather (t, d)",
        "-6 <= past < 19 - seq", sizes={"seq": (0, 1, 2, 12, 13, 24, 25)},
        numbers=(*ENDS, -8, -7, -6, -5, -1, 0, 4, 5, 6, 7, 15, 16, 17, 18),
    ),
    "every other position": Pattern(
        "float[12] t, int64 past, float[seq] x",
        "s = Shape (x) q = Squeeze (s) e = Add (past, q) r = Range (past, e, two) y = Gather (t, r)",
        "-12 <= past < 13 - seq", tight=False, sizes={"seq": (0, 1, 2, 11, 12, 13)},
        numbers=(-14, -13, -12, -11, -1, 0, 1, 10, 11, 12, 13),
    ),
    "as many as an input says": Pattern(
        "float[N] t, int64 m", "r = Range (zero, m, one) y = Gather (t, r)",
        "m < N + 1", sizes={"N": (0, 1, 5)}, numbers=(LEAST, -3, 0, 1, 2, 5, 6, 9),
    ),
    "twice as many as an input says": Pattern(
        "float[N] t, int64 m", "r = Range (zero, m, one) d = Mul (r, two) y = Gather (t, d)",
        "m < (N + 1)//2 + 1", sizes={"N": (1, 4, 5)}, numbers=(-3, 0, 1, 2, 3, 4, 5),
    ),
    "from N on": Pattern(
        "float[N] t, float[M] x",
        "s = Shape (t) n = Squeeze (s) u = Shape (x) m = Squeeze (u) e = Add (n, m) r = Range (n, e, one) "
        "y = Gather (t, r)",
        "violated", sizes={"N": (0, 1, 4), "M": (0, 1, 3)},
    ),
    "from N up to an input": Pattern(
        "float[N] t, int64 m",
        "s = Shape (t) n = Squeeze (s) r = Range (n, m, one) y = Gather (t, r)",
        "violated", sizes={"N": (0, 1, 4)}, numbers=(-1, 0, 1, 2, 4, 5, 9),
    ),
    "one sequence of many": Pattern(
        "float[9] t, int64[B] cu",
        "a = Gather (cu, one) b = Gather (cu, two) r = Range (a, b, one) y = Gather (t, r)",
        "cu[..., 1] >= -9 and cu[..., 2] < 10", tight=False, sizes={"B": (3, 4)},
        numbers=(-20, -10, -9, -1, 0, 3, 8, 9, 10, 11),
    ),
    "one sequence of two, of int32": Pattern(
        "float[9] t, int32[3] cu",
        "c = Cast <to = 7> (cu) a = Gather (c, one) b = Gather (c, two) r = Range (a, b, one) y = Gather (t, r)",
        "cu[..., 1] >= -9 and cu[..., 2] < 10", tight=False, numbers=(-20, -10, -9, -1, 0, 3, 8, 9, 10, 11),
    ),
    "between two elements that nobody can tell apart": Pattern(
        "float[9] t, int64[B] cu, int64 j",
        "a = Gather (cu, j) b = Gather (cu, zero) r = Range (a, b, one) y = Gather (t, r)",
        "cu >= -9 and cu[..., 0] < 10", tight=False, sizes={"B": (3,)},
        numbers=(-10, -9, -1, 0, 3, 8, 9, 10, 11), given={"j": (0, 1, 2)},
    ),
}  # fmt: skip

LOOPS = {
    "each index of a Scan": Pattern(
        "float[5] t, int64[T] ids",
        "f, y = Scan <num_scan_inputs = 1, body = g (float a, int64 i) => (float b, float c) "
        "{ c = Gather (t, i) b = Add (a, c) }> (f0, ids)",
        "-5 <= ids < 5", sizes={"T": (1, 2, 4)}, numbers=IDS,
    ),
    "between the slices of a Scan, forwards and backwards": Pattern(
        "float[5] t, int64[T] ids",
        "f, y = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1], body = g (float a, int64 i, int64 j) "
        "=> (float b, float c) { r = Range (i, j, one) e = Gather (t, r) c = ReduceSum <keepdims = 0> (e) "
        "b = Add (a, c) }> (f0, ids, ids)",
        "-5 <= ids < 6", tight=False, sizes={"T": (1, 2, 4)}, numbers=(-6, -5, -1, 0, 4, 5, 6, 7),
    ),
    "the counter of as many trips as an input says": Pattern(
        "float[5] t, int64 m", loop("m", "zero", "int64", "e = Gather (t, i) b = Identity (a)"),
        "m < 6", numbers=(-2, 0, 1, 2, 5, 6, 7),
    ),
    "a state that grows by 1": Pattern(
        STACKED, f"{TRIPS} {loop('m', 'zero', 'int64', 'e = Gather (t, a) b = Add (a, one)')}",
        "T <= 9", sizes={"T": (0, 1, 9, 10)},
    ),
    "a state that grows from an input on": Pattern(
        f"{STACKED}, int64 past", f"{TRIPS} {loop('m', 'past', 'int64', 'e = Gather (t, a) b = Add (a, one)')}",
        "-9 <= past < 10 - T", sizes={"T": (0, 1, 2, 9, 10)}, numbers=(*ENDS, -11, -10, -9, -8, -1, 0, 1, 7, 8, 9, 10),
    ),
    "a state that falls from an input on": Pattern(
        f"{STACKED}, int64 past", f"{TRIPS} {loop('m', 'past', 'int64', 'e = Gather (t, a) b = Sub (a, one)')}",
        "T - 10 <= past < 9", sizes={"T": (0, 1, 2, 9, 10, 18, 19)},
        numbers=(*ENDS, -11, -10, -9, -8, -1, 0, 1, 7, 8, 9, 10),
    ),
    "a state that grows as often as an input says": Pattern(
        "float[9] t, int64 m", loop("m", "zero", "int64", "e = Gather (t, a) b = Add (a, one)"),
        "m < 10", numbers=(-2, 0, 1, 2, 8, 9, 10, 11),
    ),
    "a state that grows by 2 and is halved": Pattern(
        f"{STACKED}, int64 past",
        f"{TRIPS} {loop('m', 'past', 'int64', 'h = Div (a, two) e = Gather (t, h) b = Add (a, two)')}",
        "-19 <= past < 20 - 2*T", sizes={"T": (0, 1, 2, 9, 10)},
        numbers=(-21, -20, -19, -18, -1, 0, 1, 15, 16, 17, 18, 19),
    ),
    "a state taken off a number": Pattern(
        f"{STACKED}, int64 past",
        f"{TRIPS} {loop('m', 'past', 'int64', 'h = Sub (five, a) e = Gather (t, h) b = Add (a, one)')}",
        "-3 <= past < 16 - T", sizes={"T": (0, 1, 2, 9, 10)}, numbers=(-5, -4, -3, -2, 0, 5, 6, 12, 13, 14, 15),
    ),
    "a state that goes round": Pattern(
        "float[9] t, int64 m",
        loop("m", "zero", "int64", "e = Gather (t, a) p = Add (a, one) b = Mod (p, nine)"),
        "proved", numbers=(-2, 0, 1, 9, 20),
    ),
    "a state that goes round from an input on": Pattern(
        "float[9] t, int64 m, int64 first",
        loop("m", "first", "int64", "e = Gather (t, a) p = Add (a, one) b = Mod (p, nine)"),
        "-9 <= first < 9", numbers=(-10, -9, -8, -1, 0, 8, 9, MOST), given={"m": (0, 1, 2, 12)},
    ),
    "the token that was found before": Pattern(
        "float[V] t, float[V, V] w, int64 m, int64 token",
        loop("m", "token", "int64", "e = Gather (t, a) r = Gather (w, a) b = ArgMax <axis = 0, keepdims = 0> (r)"),
        "-V <= token < V", sizes={"V": (1, 3)}, numbers=(-4, -3, -1, 0, 1, 2, 3), given={"m": (0, 1, 4)},
    ),
    "a state that only passes by": Pattern(
        "float[5] t, int64 ids, int64 m", loop("m", "ids", "int64", "e = Gather (t, a) b = Identity (a)"),
        "-5 <= ids < 5", numbers=IDS, given={"m": (0, 1, 3)},
    ),
    "a state that another one follows": Pattern(
        "float[9] t, int64 m, int64 first", loop("m", "first", "int64", "e = Gather (t, a) b = Add (first, five)"),
        "-9 <= first < 9 and first < 4", tight=False,
        numbers=(-10, -9, -8, -1, 0, 3, 4, 8, 9, MOST), given={"m": (0, 1, 2, 12)},
    ),
    "the counter of the iteration before, in a loop that data end": Pattern(
        "float[5] t, float[9] p, int64 m",
        "z, y = Loop (m, , zero, f0) <body = g (int64 i, bool c, int64 v, float a) => (bool d, int64 w, float b) "
        "{ k = Gather (p, i) e = Gather (t, v) h = Constant <value_float = 0.95> () d = Less (k, h) w = Identity (i) "
        "b = Add (a, e) }>",
        "m < 7", tight=False, numbers=(-2, 0, 1, 2, 5, 6, 7, 8),
    ),
    "a loop that data end": Pattern(
        "float[5] t, float[9] p, int64 m",
        "y = Loop (m, , f0) <body = g (int64 i, bool c, float a) => (bool d, float b) "
        "{ k = Gather (p, i) e = Gather (t, i) h = Constant <value_float = 0.5> () d = Less (k, h) b = Add (a, e) }>",
        "m < 6", tight=False, numbers=(-2, 0, 1, 2, 5, 6, 7),
    ),
    "what a loop leaves behind": Pattern(
        "float[5] t, float[T] x, int64 past",
        f"{TRIPS} f = Loop (m, , past) <body = g (int64 i, bool c, int64 a) => (bool d, int64 b) "
        "{ d = Identity (c) b = Add (a, one) }> y = Gather (t, f)",
        "-T - 5 <= past < 5 - T", sizes={"T": (0, 1, 3)}, numbers=(*ENDS, -9, -8, -7, -6, -5, -1, 0, 1, 2, 3, 4, 5),
    ),
}  # fmt: skip

WRAPPED = {
    "a number minus uint8": Pattern(
        "float[100] t, uint8[S] p",
        "k = Constant <value = uint8 {200}> () j = Sub (k, p) i = Cast <to = 7> (j) y = Gather (t, i)",
        "101 <= p < 201", sizes={"S": (0, 1, 3)}, numbers=(*range(0, 256, 5), 99, 101, 199, 201, 254),
    ),
    "a number minus uint8, of all rows": Pattern(
        "float[256] t, uint8[S] p",
        "k = Constant <value = uint8 {200}> () j = Sub (k, p) i = Cast <to = 7> (j) y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=tuple(range(256)),
    ),
    "a number minus uint8, of rows that come again": Pattern(
        "float[230] t, uint8[S] p",
        "k = Constant <value = uint8 {200}> () j = Sub (k, p) i = Cast <to = 7> (j) y = Gather (t, i)",
        "p < 201", tight=False, sizes={"S": (1, 3)}, numbers=tuple(range(256)),
    ),
    "int8 taken off a number": Pattern(
        "float[9] t, int8[S] p",
        "k = Constant <value = int8 {100}> () j = Sub (k, p) i = Cast <to = 7> (j) y = Gather (t, i)",
        "92 <= p < 110", sizes={"S": (1, 3)}, numbers=tuple(range(-128, 128)),
    ),
    "65536 times int32": Pattern(
        "float[65537] t, int32[S] p", "k = Constant <value = int32 {65536}> () j = Mul (k, p) y = Gather (t, j)",
        "-1 <= p < 2", tight=False, sizes={"S": (1, 2)}, numbers=(-65536, -2, -1, 0, 1, 2, 32768, 65536, 65537),
    ),
    "twice int64": Pattern(
        "float[9] t, int64[S] p", "j = Mul (two, p) y = Gather (t, j)",
        "-4 <= p < 5", tight=False, sizes={"S": (1, 2)}, numbers=(LEAST, LEAST + 1, -5, -4, -1, 0, 4, 5, 2**62, MOST),
    ),
    "twice int32 as int64": Pattern(
        "float[9] t, int32[S] p", "c = Cast <to = 7> (p) j = Mul (two, c) k = Add (j, one) y = Gather (t, k)",
        "-5 <= p < 4", sizes={"S": (1, 2)}, numbers=(-(2**31), -6, -5, -1, 0, 3, 4, 2**31 - 1),
    ),
    "minus int64": Pattern(
        "float[9] t, int64[S] p", "j = Neg (p) y = Gather (t, j)",
        "-8 <= p < 10", sizes={"S": (1, 2)}, numbers=(*ENDS, -9, -8, -1, 0, 8, 9, 10),
    ),
    "counted from the end": Pattern(
        "float[N] t, int64[S] p", "s = Shape (t) n = Squeeze (s) m = Sub (n, one) j = Sub (m, p) y = Gather (t, j)",
        "0 <= p < 2*N", sizes={"N": (0, 1, 4), "S": (0, 1, 2)}, numbers=(*ENDS, -1, 0, 1, 2, 3, 4, 7, 8, 9),
    ),
    "uint8 shifted to the left": Pattern(
        "float[64] t, uint8[S] p",
        'k = Constant <value = uint8 {1}> () j = BitShift <direction = "LEFT"> (p, k) i = Cast <to = 7> (j) '
        "y = Gather (t, i)",
        "p < 32", tight=False, sizes={"S": (1, 2)}, numbers=tuple(range(256)),
    ),
}  # fmt: skip

BITS = {
    "two parts joined": Pattern(
        "float[32] t, int64[S] p, int64[S] q",
        "k = Constant <value_int = 16> () a = Mod (p, four) b = Mod (q, two) c = Mul (b, k) i = BitwiseOr (a, c) "
        "y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*ENDS, -3, -1, 0, 1, 2, 3, 7),
    ),
    "a part picked": Pattern(
        "float[8] t, int64[S] p", "k = Constant <value_int = 7> () i = BitwiseAnd (p, k) y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*ENDS, -3, -1, 0, 1, 2, 3, 7, 8),
    ),
    "bits turned, of int64": Pattern(
        "float[4] t, int64[S] p", "a = Mod (p, four) i = BitwiseNot (a) y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*ENDS, -3, -1, 0, 1, 2, 3, 7, 8),
    ),
    "bits turned, of uint8": Pattern(
        "float[256] t, uint8[S] p", "a = BitwiseNot (p) i = Cast <to = 7> (a) y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=tuple(range(256)),
    ),
    "bits that differ": Pattern(
        "float[8] t, int64[S] p, int64[S] q",
        "a = Mod (p, five) b = Mod (q, four) i = BitwiseXor (a, b) y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=(*ENDS, -3, -1, 0, 1, 2, 3, 7, 8),
    ),
    "a part shifted down": Pattern(
        "float[16] t, uint8[S] p",
        'k = Constant <value = uint8 {4}> () j = BitShift <direction = "RIGHT"> (p, k) i = Cast <to = 7> (j) '
        "y = Gather (t, i)",
        "proved", sizes={"S": (0, 1, 3)}, numbers=tuple(range(256)),
    ),
}  # fmt: skip

TIED = {
    "places that data mark, in a table as long as a count": Pattern(
        "bool[batch, seq] p, float[batch, seq] x",
        "c = Cast <to = 7> (p) n = ReduceSum <keepdims = 0> (c, s1) m = ReduceMax <keepdims = 0> (n) "
        "r = Range (zero, m, one) u = Unsqueeze (n, s1) l = Less (r, u) w = NonZero (l) i = Transpose (w) "
        "sh = Shape (x) b = Slice (sh, s0, s1) mm = Unsqueeze (m, s0) d = Concat <axis = 0> (b, mm) "
        "z = ConstantOfShape (d) y = GatherND (z, i)",
        "proved", sizes={"batch": (1, 2, 3), "seq": (1, 2, 5)},
    ),
    "the same, with the table before the places": Pattern(
        "bool[batch, seq] p, float[batch, seq] x",
        "c = Cast <to = 7> (p) n = ReduceSum <keepdims = 0> (c, s1) m = ReduceMax <keepdims = 0> (n) "
        "sh = Shape (x) b = Slice (sh, s0, s1) mm = Unsqueeze (m, s0) d = Concat <axis = 0> (b, mm) "
        "z = ConstantOfShape (d) r = Range (zero, m, one) u = Unsqueeze (n, s1) l = Less (r, u) w = NonZero (l) "
        "i = Transpose (w) g = GatherND (z, i) y = ScatterND (z, i, g)",
        "proved", sizes={"batch": (1, 2, 3), "seq": (1, 2, 5)},
    ),
    "coordinates unbound and joined again": Pattern(
        "float[A, B] x, int64[A, B] p",
        "n = NonZero (p) q = Transpose (n) s = SplitToSequence <axis = 1, keepdims = 0> (q, one) "
        "i = SequenceAt (s, zero) j = SequenceAt (s, one) ii = Unsqueeze (i, flat) jj = Unsqueeze (j, flat) "
        "k = Concat <axis = -1> (ii, jj) "
        "y = GatherND (x, k)",
        "proved", sizes={"A": (0, 1, 3), "B": (0, 1, 5)}, numbers=(0, 0, 1),
    ),
    "coordinates unbound and exchanged": Pattern(
        "float[A, B] x, int64[A, B] p",
        "n = NonZero (p) q = Transpose (n) s = SplitToSequence <axis = 1, keepdims = 0> (q, one) "
        "i = SequenceAt (s, zero) j = SequenceAt (s, one) ii = Unsqueeze (i, flat) jj = Unsqueeze (j, flat) "
        "k = Concat <axis = -1> (jj, ii) "
        "y = GatherND (x, k)",
        "B <= A and A <= B", tight=False, sizes={"A": (0, 1, 3), "B": (0, 1, 5)}, numbers=(0, 0, 1),
    ),
}  # fmt: skip

PATTERNS = {
    **CHOSEN,
    **BEAMS,
    **PAGES,
    **RANGES,
    **LOOPS,
    **WRAPPED,
    **BITS,
    **TIED,
}


DECIDED = VerdictKind.PROVED, VerdictKind.CONDITIONAL


@pytest.mark.parametrize("name", PATTERNS)
def test_expected_results(name: str) -> None:
    pattern = PATTERNS[name]
    found = judged(pattern)[-1]
    assert found.kind is pattern.kind, found.reason
    if pattern.kind is VerdictKind.CONDITIONAL:
        assert (found.condition, found.tight) == (pattern.condition, pattern.tight)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PATTERNS)
def test_runs_agree(name: str) -> None:
    pattern = PATTERNS[name]
    runs, found = Runs(pattern), judged(pattern)
    last, outcomes, shows = found[-1], set(), False
    is_needed = last.tight and all(c.left.whole for c in last.conditions if isinstance(c.left, Elements))
    for sizes, feeds in feeds_of(pattern):
        made = runs.result(feeds)
        if all(v.kind in DECIDED and all(holds(c, sizes, feeds) for c in v.conditions) for v in found):
            assert made is not None, (sizes, feeds)
        is_met = all(holds(condition, sizes, feeds) for condition in last.conditions)
        shows |= made is not None and not is_met
        if made is not None and made.size == 0:
            continue
        outcomes.add(made is not None)
        if last.kind is VerdictKind.VIOLATED or (is_needed and not is_met):
            assert made is None, (sizes, feeds)
    assert outcomes == {VerdictKind.PROVED: {True}, VerdictKind.VIOLATED: {False}}.get(last.kind, {True, False})
    assert shows or last.tight, "of a condition that is not needed a run has to show that it is not"
