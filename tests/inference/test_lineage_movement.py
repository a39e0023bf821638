"""Spans and verdicts of an index that is made of elements that move: reshaped, repeated, picked, stacked, scanned."""

from __future__ import annotations

import pytest

from tests.inference.lineage_runs import Row, check, said

TABLE: dict[str, Row] = {
    "one of those past the end": ("q = Add(a, far) y = Slice(q, v0, v1)", "18, 26", "violated"),
    "one of several, some past the end": ("q = Add(a, far) c = Concat<axis = 0>(a, q) y = Slice(c, v0, v1)", "0, 26", "undecided (proved)"),
    "int32 products side by side": ("q = Mul(w, w) y = Concat<axis = 0>(q, w)", "-2147483648, 2147483647", "undecided"),
    "split of data": ("q = Mul(x, x) e = Tile(q, v2) f, y = Split<num_outputs = 2>(e)", "", "undecided"),
    "rows transposed, the other": ("v01 = Constant<value_ints = [0, 1]>() i = Unsqueeze(x, v01) o = Unsqueeze(k, v01) b = Concat<axis = 1>(i, o) t = Transpose(b) y = Gather<axis = 1>(t, zero)", "", "-9 <= x < 9"),
    "rows transposed by a permutation": ("v01 = Constant<value_ints = [0, 1]>() i = Unsqueeze(x, v01) o = Unsqueeze(k, v01) b = Concat<axis = 1>(i, o) t = Transpose<perm = [1, 2, 0]>(b) y = Gather(t, one)", "", "-9 <= k < 9"),
    # id: (nodes, span of y, the verdict or its conditions)
    "an input": ("y = Identity(x)", "", "-9 <= x < 9"),
    "an input, moved": ("r = Reshape(x, all) e = Unsqueeze(r, v0) q = Squeeze(e, v0) y = Flatten<axis = 0>(q)", "", "-9 <= x < 9"),
    "an input, repeated": ("e = Unsqueeze(x, v0) sh = Concat<axis = 0>(v2, v1) t = Expand(e, sh) y = Transpose(t)", "", "-9 <= x < 9"),
    "repeated once": ("e = Shape(x) sh = Concat<axis = 0>(v1, e) t = Expand(x, sh) y = Squeeze(t, v0)", "", "-9 <= x < 9"),
    "tiled": ("y = Tile(x, v2)", "", "-9 <= x < 9"),
    "argmax": ("y = Identity(a)", "0, 8", "proved"),
    "in a row": ("y = Concat<axis = 0>(a, p)", "0, 8", "proved"),
    "in a row, input": ("y = Concat<axis = 0>(a, x)", "", "-9 <= x < 9"),
    "in a row, out with one": ("c = Constant<value_ints = [9]>() y = Concat<axis = 0>(a, c)", "0, 9", "violated"),
    "in a row, in with one": ("c = Constant<value_ints = [8]>() y = Concat<axis = 0>(a, c)", "0, 8", "proved"),
    "in a row, nothing": ("c = Slice(a, v0, v0, v0) y = Concat<axis = 0>(a, c)", "0, 8", "proved"),
    "in a row, no rows": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) e = Slice(q, v0, v0, v0) y = Concat<axis = 0>(o, e)", "", "-9 <= x < 9"),
    "compressed": ("t = Less(x, four) y = Compress<axis = 0>(x, t)", "", "-9 <= x < 9"),
    "sliced": ("y = Slice(x, v0, v1)", "", "-9 <= x < 9"),
    "slice that is everything": ("e = Shape(x) y = Slice(x, v0, e)", "", "-9 <= x < 9"),
    "reversed": ("e = Constant<value_ints = [-9223372036854775807]>() y = Slice(x, all, e, v0, all)", "", "-9 <= x < 9"),
    "split": ("e = Tile(x, v2) y, other = Split<num_outputs = 2>(e)", "", "-9 <= x < 9"),
    "rows of different bounds": ("o = Unsqueeze(a, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) y = Gather(b, one)", "0, 8", "proved"),
    "rows of inputs": ("o = Unsqueeze(k, v0) q = Unsqueeze(x, v0) b = Concat<axis = 0>(q, o) y = Gather(b, one)", "", "-9 <= k < 9"),
    "columns of inputs": ("o = Unsqueeze(k, v1) q = Unsqueeze(x, v1) b = Concat<axis = 1>(q, o) y = Gather<axis = 1>(b, zero)", "", "-9 <= x < 9"),
    "if one is anything": ("d = ReduceSum<keepdims = 0>(scores) t = Less(d, five) y = If (t) <then_branch = g () => (y1) { y1 = Identity(p) }, else_branch = h () => (y2) { y2 = Identity(x) }>", "", "undecided"),
    "stacked by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go) <body = b (int64 i, bool c) => (bool c2, int64 s2) { c2 = Identity(c) s2 = Identity(i) }>", "0, 3", "proved"),
    "read by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go) <body = b (int64 i, bool c) => (bool c2, int64[L] s2) { c2 = Identity(c) s2 = Identity(p) }>", "0, 8", "proved"),
    "reversed in rows": ("e = Unsqueeze(x, v0) l = Shape(x) r = ReverseSequence<batch_axis = 0, time_axis = 1>(e, l) y = Squeeze(r, v0)", "", "-9 <= x < 9"),
    "the largest": ("y, at = TopK(x, v1)", "", "-9 <= x < 9"),
    "where the largest are": ("most, y = TopK(x, v1)", "0, N - 1", "enough: N <= 9"),
    "different ones": ("y = Unique(x)", "", "-9 <= x < 9"),
    "different ones of rows": ("y = Unique<axis = 0>(x)", "", "-9 <= x < 9"),
    "repeated as often as there are": ("e = Shape(x) sh = Concat<axis = 0>(e, e) t = Expand(x, sh) y = Reshape(t, all)", "", "-9 <= x < 9"),
    "repeated twice": ("sh = Constant<value_ints = [2, 1]>() t = Expand(x, sh) y = Reshape(t, all)", "", "-9 <= x < 9"),
    "number repeated": ("s = ReduceMax<keepdims = 0>(x) e = Shape(x) y = Expand(s, e)", "", "undecided"),
    "rows of an input, sliced": ("sh = Constant<value_ints = [1, -1]>() o = Reshape(x, sh) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) y = Slice(b, v0, v1, v0)", "", "-9 <= k < 9"),
    "rows of an input, sliced, other axis": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) s = Slice(b, v0, v1, v1) y = Gather(s, one)", "", "-9 <= x < 9"),
    "rows of an input, split": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) g, y = Split<num_outputs = 2>(b)", "", "-9 <= x < 9"),
    "rows of an input, turned and split": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) t = Transpose(b) g, y = Split<num_outputs = 2, axis = -1>(t)", "", "-9 <= x < 9"),
    "split first of inputs": ("b = Concat<axis = 0>(x, k) y, g = Split<num_outputs = 2>(b)", "", "-9 <= x < 9 and -9 <= k < 9"),
    "in a row of nine": ("y = Concat<axis = 0>(a, a, a, a, a, a, a, a, p)", "0, 8", "proved"),
    "in a row of eight": ("y = Concat<axis = 0>(a, a, a, a, a, a, a, x)", "", "-9 <= x < 9"),
    "in a row, an input and a row out": ("c = Constant<value_ints = [9]>() y = Concat<axis = 0>(x, c)", "", "violated"),
    "in a row, an input and a row in": ("c = Constant<value_ints = [8]>() y = Concat<axis = 0>(x, c)", "", "-9 <= x < 9"),
    "rows, one of two": ("c = Concat<axis = 0>(a, p) d = Concat<axis = 0>(p, x) i = Unsqueeze(c, v0) o = Unsqueeze(d, v0) b = Concat<axis = 0>(i, o) y = Gather(b, zero)", "0, 8", "proved"),
    "alone after nothing": ("c = Slice(a, v0, v0, v0) y = Concat<axis = 0>(c, x)", "", "-9 <= x < 9"),
    "rows of a point, sliced": ("o = Unsqueeze(x, v0) e = Shape(o) q = Expand(nine, e) b = Concat<axis = 0>(o, q) s = Slice(b, v0, v1, v1) y = Gather(s, one)", "9, 9", "violated"),
    "in a row with a size": ("e = Shape(x) y = Concat<axis = 0>(a, e)", "0, max(8, N)", "N <= 8"),
    "rows with a size, picked": ("e = Shape(x) s = Squeeze(e) q = Expand(s, e) o = Unsqueeze(q, v0) h = Unsqueeze(a, v0) b = Concat<axis = 0>(o, h) y = Gather(b, one)", "0, 8", "proved"),
    "in a row, one element in": ("m = ReduceMax(a) y = Concat<axis = 0>(x, m)", "", "undecided"),
    "in a row, anything": ("m = ReduceMax(k) y = Concat<axis = 0>(a, m)", "", "undecided"),
    "in a row, the largest in": ("t, at = TopK(a, v1) y = Concat<axis = 0>(x, t)", "", "-9 <= x < 9"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_what_is_said(name: str) -> None:
    said(TABLE[name])


@pytest.mark.parametrize("name", TABLE)
def test_what_is_said_holds(name: str) -> None:
    check(name, TABLE[name])
