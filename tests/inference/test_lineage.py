"""What is kept of where elements come from: spans and verdicts of an index, held against onnxruntime on many inputs.

Each row makes an index `y`, by which a table of 9 rows is gathered. What is said of any tensor on the way holds in every
run, the ends of the span of `y` are elements in some run, and the verdict is what the runs say.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from gather_infer import Inference, OpCall, RuleSet, infer
from gather_infer.symbolic import evaluate
from gather_infer.tensor import DType, Span, SymbolicTensor
from gather_infer.validate import Condition, Elements, Kind, Verdict, bounds, verdicts
from gather_infer.validate.condition import difference
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare

Array: TypeAlias = np.ndarray[Any, Any]

ROWS = 9
INPUTS = {
    # name: (element type in ONNX's text form, shape)
    "x": ("int64", ("N",)),
    "w": ("int32", ("N",)),
    "u": ("uint64", ("N",)),
    "k": ("int64", ("N",)),
    "scores": ("float", ("N", ROWS)),
    "mask": ("float", (ROWS, 4)),
    "boxes": ("float", (1, 6, 4)),
    "classes": ("float", (1, 2, 6)),
    "byte": ("uint8", ("N",)),
}
# a and p are in [0, 8]
HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() two = Constant<value_int = 2>() four = Constant<value_int = 4>()
    eight = Constant<value_int = 8>() nine = Constant<value_int = 9>() ten = Constant<value_int = 10>() neg = Constant<value_int = -1>()
    far = Constant<value_int = 18>() v0 = Constant<value_ints = [0]>() v1 = Constant<value_ints = [1]>() v2 = Constant<value_ints = [2]>()
    all = Constant<value_ints = [-1]>() five = Constant<value_float = 5.0>() fifth = Constant<value_float = 0.2>() big = Constant<value_int = 44>()
    a = ArgMax<axis = 1, keepdims = 0>(scores) p = Clip(x, zero, eight)"""

TABLE = {
    # id: (nodes, span of y, the verdict or its conditions; in brackets what the runs say, where that is more)
    "an input": ("y = Identity(x)", "", "-9 <= x < 9"),
    "an input, moved": ("r = Reshape(x, all) e = Unsqueeze(r, v0) q = Squeeze(e, v0) y = Flatten<axis = 0>(q)", "", "-9 <= x < 9"),
    "an input, repeated": ("e = Unsqueeze(x, v0) sh = Concat<axis = 0>(v2, v1) t = Expand(e, sh) y = Transpose(t)", "", "-9 <= x < 9"),
    "repeated at times": ("e = Shape(x) s = Squeeze(e) d = Sub(s, eight) l = Max(d, zero) i = Unsqueeze(l, v0) sh = Concat<axis = 0>(i, e) o = Unsqueeze(x, v0) t = Expand(o, sh) r = Reshape(t, all) y = Concat<axis = 0>(r, a)", "", "-9 <= x < 9"),
    "repeated once": ("e = Shape(x) sh = Concat<axis = 0>(v1, e) t = Expand(x, sh) y = Squeeze(t, v0)", "", "-9 <= x < 9"),
    "tiled": ("y = Tile(x, v2)", "", "-9 <= x < 9"),
    "limited": ("y = Clip(x, zero, eight)", "0, 8", "proved"),
    "limited below": ("y = Clip(x, zero)", "0, ...", "x < 9"),
    "limited above": ("y = Clip(x, , eight)", "..., 8", "x >= -9"),
    "limited past the end": ("y = Clip(x, , nine)", "..., 9", "-9 <= x < 9"),
    "limited from past the end": ("y = Clip(x, nine)", "9, ...", "violated"),
    "limited to one past both": ("y = Clip(x, four, ten)", "4, 10", "x < 9"),
    "Max and Min": ("m = Max(x, zero) y = Min(eight, m)", "0, 8", "proved"),
    "Max of number first": ("y = Max(zero, x)", "0, ...", "x < 9"),
    "Min of a number that is negative": ("m = Constant<value_int = -10>() y = Min(x, m)", "..., -10", "violated"),
    "limited and moved": ("c = Clip(x, one, nine) y = Sub(c, one)", "0, 8", "proved"),
    "moved and limited": ("c = Add(x, four) y = Clip(c, zero, eight)", "0, 8", "proved"),
    "number plus": ("y = Add(four, x)", "", "-13 <= x < 5"),
    "minus number": ("y = Sub(x, four)", "", "-5 <= x < 13"),
    "number minus": ("y = Sub(four, x)", "", "undecided"),
    "limited, number minus": ("y = Sub(eight, p)", "0, 8", "proved"),
    "limited plus": ("y = Add(p, one)", "1, 9", "x < 8"),
    "limited minus ten": ("y = Sub(p, far)", "-18, -10", "violated"),
    "argmax": ("y = Identity(a)", "0, 8", "proved"),
    "argmax plus": ("y = Add(a, one)", "1, 9", "undecided"),
    "argmax minus rows": ("y = Sub(a, nine)", "-9, -1", "proved"),
    "argmax plus rows": ("y = Add(a, nine)", "9, 17", "violated"),
    "sum of two": ("y = Add(a, p)", "0, 16", "undecided"),
    "wrapped": ("t = Less(x, zero) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "wrapped, other test": ("t = GreaterOrEqual(x, zero) q = Add(nine, x) y = Where(t, x, q)", "", "-18 <= x < 9"),
    "wrapped, mirrored": ("t = Greater(zero, x) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "wrapped, mirrored or equal": ("t = LessOrEqual(zero, x) q = Add(x, nine) y = Where(t, x, q)", "", "-18 <= x < 9"),
    "wrapped, negated": ("t = Less(x, zero) n = Not(t) q = Add(x, nine) y = Where(n, x, q)", "", "-18 <= x < 9"),
    "wrapped, by -1": ("t = LessOrEqual(x, neg) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "wrapped, by greater": ("t = Greater(x, neg) q = Add(x, nine) y = Where(t, x, q)", "", "-18 <= x < 9"),
    "wrapped by less": ("t = Less(x, zero) q = Add(x, eight) y = Where(t, q, x)", "", "-17 <= x < 9"),
    "wrapped by more": ("t = Less(x, zero) q = Add(x, far) y = Where(t, q, x)", "", "undecided"),
    "wrapped, moved before": ("b = Add(x, one) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "", "-19 <= x < 8"),
    "wrapped at one": ("t = Less(x, one) q = Add(x, nine) y = Where(t, q, x)", "", "-18 <= x < 0"),
    "wrapped the wrong way": ("t = Less(x, zero) q = Add(x, nine) y = Where(t, x, q)", "", "-9 <= x < 0"),
    "wrapped, another test": ("t = Less(k, zero) q = Add(x, nine) y = Where(t, q, x)", "", "-9 <= x < 0"),
    "wrapped and plus": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) y = Add(r, one)", "", "undecided"),
    "wrapped argmax": ("b = Sub(a, nine) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "0, 8", "proved"),
    "wrapped, limited": ("c = Clip(x, neg, eight) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, 8", "proved"),
    "half of a": ("t = Less(a, four) q = Add(a, four) y = Where(t, q, a)", "4, 8", "proved"),
    "half of a, above": ("t = Greater(a, four) q = Sub(a, four) y = Where(t, q, a)", "0, 4", "proved"),
    "half of a, sums": ("t = Less(a, four) q = Add(a, p) r = Min(q, eight) y = Where(t, q, p)", "0, 11", "undecided"),
    "half of a, differences": ("t = GreaterOrEqual(a, eight) q = Sub(a, p) y = Where(t, q, p)", "0, 8", "proved"),
    "two inputs chosen": ("t = Less(a, four) y = Where(t, x, x)", "", "-9 <= x < 9"),
    "in a row": ("y = Concat<axis = 0>(a, p)", "0, 8", "proved"),
    "in a row, input": ("y = Concat<axis = 0>(a, x)", "", "-9 <= x < 9"),
    "in a row, one surely out": ("q = Add(a, nine) y = Concat<axis = 0>(a, q)", "0, 17", "undecided (violated)"),
    "in a row, out with one": ("c = Constant<value_ints = [9]>() y = Concat<axis = 0>(a, c)", "0, 9", "violated"),
    "in a row, in with one": ("c = Constant<value_ints = [8]>() y = Concat<axis = 0>(a, c)", "0, 8", "proved"),
    "in a row, nothing": ("c = Slice(a, v0, v0, v0) y = Concat<axis = 0>(a, c)", "0, 8", "proved"),
    "in a row, no rows": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) e = Slice(q, v0, v0, v0) y = Concat<axis = 0>(o, e)", "", "-9 <= x < 9"),
    "in a row, alone": ("e = Shape(x) s = Squeeze(e) l = Mul(s, ten) r = Range(zero, l, one) y = Concat<axis = 0>(r)", "0, 10*N - 1", "violated"),
    "some of two": ("q = Add(a, nine) c = Concat<axis = 0>(q, a) sh = Shape(a) n = Squeeze(sh) h = Mod(k, two) j = Mul(h, n) y = Gather(c, j)", "0, 17", "undecided"),
    "some of two, out both": ("r = Add(p, nine) q = Add(a, nine) c = Concat<axis = 0>(r, q) j = Mod(k, two) y = Gather(c, j)", "9, 17", "violated"),
    "some of one": ("j = Mod(k, one) q = Add(a, nine) y = Gather(q, j)", "9, 17", "violated"),
    "some of an input": ("j = Mod(k, one) y = Gather(x, j)", "", "-9 <= x < 9"),
    "elements of an input": ("j = Mod(k, one) y = GatherElements(x, j)", "", "-9 <= x < 9"),
    "compressed": ("t = Less(x, four) y = Compress<axis = 0>(x, t)", "", "-9 <= x < 9"),
    "compressed of two": ("q = Add(a, nine) c = Concat<axis = 0>(a, q) t = Less(k, four) n = Not(t) tn = Concat<axis = 0>(t, n) y = Compress<axis = 0>(c, tn)", "0, 17", "undecided"),
    "sliced": ("y = Slice(x, v0, v1)", "", "-9 <= x < 9"),
    "slice that is everything": ("e = Shape(x) y = Slice(x, v0, e)", "", "-9 <= x < 9"),
    "reversed": ("e = Constant<value_ints = [-9223372036854775807]>() y = Slice(x, all, e, v0, all)", "", "-9 <= x < 9"),
    "split": ("e = Tile(x, v2) y, other = Split<num_outputs = 2>(e)", "", "-9 <= x < 9"),
    "nonzero rows": ("n = NonZero(mask) y = Gather(n, zero)", "0, 8", "proved"),
    "nonzero columns": ("n = NonZero(mask) y = Gather(n, one)", "0, 3", "proved"),
    "nonzero columns from the end": ("n = NonZero(mask) y = Gather(n, neg)", "0, 3", "proved"),
    "nonzero rows from the end": ("n = NonZero(mask) i = Neg(two) y = Gather(n, i)", "0, 8", "proved"),
    "nonzero": ("y = NonZero(mask)", "0, 8", "proved"),
    "nonzero of one": ("e = Constant<value_float = 3.0>() t = Mod<fmod = 1>(e, five) n = NonZero(t) c = Flatten<axis = 0>(n) y = Clip(x, zero, eight)", "0, 8", "proved"),
    "nonzero transposed": ("n = NonZero(mask) t = Transpose(n) y = Gather<axis = 1>(t, one)", "0, 3", "proved"),
    "nonzero transposed, other axis": ("n = NonZero(mask) t = Transpose(n) l = Mod(k, two) j = Sub(l, one) y = Gather(t, j)", "0, 8", "proved"),
    "nonzero transposed, named": ("n = NonZero(mask) t = Transpose<perm = [1, 0]>(n) y = Gather<axis = -1>(t, one)", "0, 3", "proved"),
    "nonzero sliced": ("n = NonZero(mask) y = Slice(n, v1, v2, v0)", "0, 3", "proved"),
    "nonzero sliced from the end": ("n = NonZero(mask) e = Constant<value_ints = [9]>() y = Slice(n, all, e, v0)", "0, 3", "proved"),
    "nonzero sliced first": ("n = NonZero(mask) y = Slice(n, v0, v1, v0, v1)", "0, 8", "proved"),
    "nonzero sliced, other axis": ("n = NonZero(mask) e = Constant<value_ints = [99]>() s = Slice(n, v1, e, v1) y = Gather(s, one)", "0, 3", "proved"),
    "nonzero split": ("n = NonZero(mask) f, y = Split<num_outputs = 2>(n)", "0, 3", "proved"),
    "nonzero split first": ("n = NonZero(mask) y, f = Split<num_outputs = 2>(n)", "0, 8", "proved"),
    "nonzero split, others": ("n = NonZero(mask) t = Transpose(n) f, y = Split<num_outputs = 2, axis = 1>(t)", "0, 3", "proved"),
    "nonzero plus": ("n = NonZero(mask) m = Add(n, four) y = Gather(m, one)", "4, 7", "proved"),
    "nonzero limited": ("n = NonZero(mask) y = Clip(n, zero, eight)", "0, 8", "proved"),
    "nonzero concat": ("n = NonZero(mask) m = Add(n, one) c = Concat<axis = 0>(n, m) y = Gather(c, two)", "0, 9", "undecided"),
    "nonzero concat row": ("n = NonZero(mask) f = Slice(n, v0, v1, v0) g = Slice(n, v1, v2, v0) c = Concat<axis = 0>(g, f) y = Gather(c, zero)", "0, 3", "proved"),
    "boxes": ("b = NonMaxSuppression(boxes, classes, v2) y = Gather<axis = 1>(b, two)", "0, 5", "proved"),
    "boxes classes": ("b = NonMaxSuppression(boxes, classes, v2) y = Gather<axis = 1>(b, one)", "0, 1", "proved"),
    "boxes batch": ("b = NonMaxSuppression(boxes, classes, v2) y = Gather<axis = 1>(b, zero)", "0, 0", "proved"),
    "range": ("y = Range(zero, nine, one)", "0, 8", "proved"),
    "range by sizes": ("e = Shape(x) s = Squeeze(e) y = Range(zero, s, one)", "0, N - 1", "N <= 9"),
    "range by sizes, limited": ("e = Shape(x) s = Squeeze(e) l = Min(s, nine) y = Range(zero, l, one)", "0, min(9, N) - 1", "proved"),
    "range down": ("e = Shape(x) s = Squeeze(e) y = Range(s, zero, neg)", "1, N", "N <= 8"),
    "range by two": ("e = Shape(x) s = Squeeze(e) y = Range(zero, s, two)", "0, N - 1", "enough: N <= 9"),
    "range to data": ("j = ReduceMax<keepdims = 0>(k) m = Mod(j, far) y = Range(zero, m, one)", "0, 16", "undecided"),
    "range from data": ("j = ReduceMax<keepdims = 0>(k) m = Mod(j, far) y = Range(m, nine, one)", "0, 8", "proved"),
    "range from": ("e = Shape(x) s = Squeeze(e) l = Add(s, nine) y = Range(nine, l, one)", "9, N + 8", "violated"),
    "cast to int32": ("y = Cast<to = 6>(x)", "", "enough: -9 <= x < 9"),
    "cast to int32 limited": ("y = Cast<to = 6>(p)", "0, 8", "proved"),
    "cast to int32 limited below": ("c = Max(x, zero) y = Cast<to = 6>(c)", "", "undecided"),
    "cast from int32": ("y = Cast<to = 7>(w)", "-2147483648, 2147483647", "-9 <= w < 9"),
    "cast to int8": ("b = Cast<to = 3>(x) y = Cast<to = 7>(b)", "-128, 127", "undecided"),
    "cast from uint64": ("y = Cast<to = 7>(u)", "", "enough: u < 9"),
    "cast from uint32 to int32": ("b = Cast<to = 12>(x) y = Cast<to = 6>(b)", "", "undecided"),
    "cast from uint32 to int64": ("b = Cast<to = 12>(x) y = Cast<to = 7>(b)", "0, 4294967295", "undecided"),
    "cast from uint8 to int32": ("b = Cast<to = 2>(x) y = Cast<to = 6>(b)", "0, 255", "undecided"),
    "int32 plus": ("f = Cast<to = 6>(four) y = Add(w, f)", "", "-13 <= w < 5"),
    "int32 plus and limited": ("f = Cast<to = 6>(four) g = Cast<to = 6>(zero) e = Cast<to = 6>(eight) b = Add(w, f) m = Max(b, g) y = Min(m, e)", "0, 8", "proved"),
    "int32 minus limited": ("f = Cast<to = 6>(four) m = Min(w, f) y = Sub(m, f)", "", "w >= -5"),
    "floor of a quotient": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) g = Floor(q) y = Cast<to = 7>(g)", "0, 8", "proved"),
    "ceiling of a quotient": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) g = Ceil(q) y = Cast<to = 7>(g)", "0, 9", "undecided"),
    "quotient truncated": ("c = Clip(x, zero, big) f = Cast<to = 11>(c) d = Cast<to = 11>(five) q = Div(f, d) y = Cast<to = 7>(q)", "0, 8", "proved"),
    "quotient of negatives": ("m = Neg(big) c = Clip(x, m, big) f = Cast<to = 1>(c) q = Div(f, five) y = Cast<to = 7>(q)", "-8, 8", "proved"),
    "floor of negatives": ("m = Neg(big) c = Clip(x, m, big) f = Cast<to = 1>(c) q = Div(f, five) g = Floor(q) y = Cast<to = 7>(g)", "-9, 8", "proved"),
    "product": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Mul(f, fifth) y = Cast<to = 7>(q)", "0, 8", "proved"),
    "product mirrored": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Mul(fifth, f) y = Cast<to = 7>(q)", "", "undecided (proved)"),
    "quotient moved": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) r = Reshape(q, all) t = Tile(r, v2) y = Cast<to = 6>(t)", "0, 8", "proved"),
    "quotient to int8": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) g = Cast<to = 3>(q) y = Cast<to = 7>(g)", "0, 8", "proved"),
    "product to int8": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Mul(f, five) g = Cast<to = 3>(q) y = Cast<to = 7>(g)", "-128, 127", "undecided"),
    "quotient by negative": ("f = Cast<to = 1>(p) m = Neg(five) q = Div(f, m) y = Cast<to = 7>(q)", "", "undecided (proved)"),
    "number by quotient": ("f = Cast<to = 1>(p) q = Div(five, f) y = Cast<to = 7>(q)", "", "undecided"),
    "quotient of sizes": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) q = Div(f, five) g = Floor(q) y = Cast<to = 7>(g)", "0, max(0, (N + 4)//5 - 1)", "enough: (N + 4)//5 <= 9"),
    "quotient of sizes by 2^24": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) d = Constant<value_float = 16777216.0>() q = Div(f, d) y = Cast<to = 7>(q)", "0, max(0, (N + 16777215)//16777216 - 1)", "enough: (N + 16777215)//16777216 <= 9 (proved)"),
    "quotient of sizes double": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 11>(r) d = Cast<to = 11>(five) q = Div(f, d) y = Cast<to = 7>(q)", "0, max(0, (N + 4)//5 - 1)", "enough: (N + 4)//5 <= 9"),
    "quotients of sizes twice": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 11>(r) d = Cast<to = 11>(five) q = Div(f, d) g = Floor(q) h = Div(g, d) y = Cast<to = 7>(h)", "0, max(0, (N + 24)//25 - 1)", "enough: (N + 24)//25 <= 9"),
    "floats wide": ("b = Constant<value_int = 33554432>() c = Clip(x, zero, b) f = Cast<to = 1>(c) g = Floor(f) y = Cast<to = 7>(g)", "", "undecided"),
    "grows": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) y = Where(t, j, zero)", "0, 8", "proved"),
    "grows, rounded up to an integer": ("m = Max(x, zero) s = Constant<value_int = 25>() c = Constant<value_float = 0.04>() t = LessOrEqual(m, s) f = Cast<to = 1>(m) q = Mul(f, c) j = Cast<to = 7>(q) y = Where(t, j, zero)", "0, 1", "proved"),
    "grows, rounded below an integer": ("m = Min(x, big) c = Constant<value_float = 0.95272374>() d = Constant<value_float = 0.10496222>() t = GreaterOrEqual(m, ten) f = Cast<to = 1>(m) q = Mul(f, c) r = Mul(q, d) j = Cast<to = 7>(r) y = Where(t, j, one)", "0, 4", "proved"),
    "grows, number first": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Mul(fifth, f) j = Cast<to = 7>(q) y = Where(t, j, zero)", "0, 8", "proved"),
    "grows, by a number": ("m = Max(x, one) t = Less(m, ten) f = Cast<to = 1>(m) q = Div(five, f) j = Cast<to = 7>(q) y = Where(t, j, zero)", "", "undecided (proved)"),
    "grows by log": ("m = Max(x, one) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Log(f) r = Mul(q, five) j = Cast<to = 7>(r) e = Min(j, eight) y = Where(t, e, zero)", "0, 8", "proved"),
    "grows by log from zero": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Log(f) j = Cast<to = 7>(q) e = Min(j, two) y = Where(t, e, zero)", "..., 2", "undecided"),
    "grows and more": ("m = Max(x, zero) t = Less(m, ten) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Add(j, eight) y = Where(t, e, eight)", "8, 9", "undecided"),
    "grows, in half floats": ("c = Constant<value_int = 2051>() m = Clip(x, zero, c) t = LessOrEqual(m, c) f = Cast<to = 10>(m) j = Cast<to = 7>(f) y = Where(t, j, zero)", "", "undecided"),
    "grows past what floats hold": ("b = Constant<value_float = 1e30>() m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Mul(f, b) r = Mul(q, b) h = Div(r, b) i = Div(h, b) j = Cast<to = 7>(i) y = Where(t, j, zero)", "", "undecided"),
    "grows, broadcast": ("c = Constant<value = int64[1, 1] {8}>() m = Max(x, zero) t = LessOrEqual(m, nine) f = Cast<to = 1>(m) j = Cast<to = 7>(f) e = Min(j, c) d = Where(t, e, zero) y = Squeeze(d, v0)", "0, 8", "proved"),
    "grows by another": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Add(j, p) y = Where(t, e, zero)", "", "undecided"),
    "grows, limited by another": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) n = Neg(p) e = Min(j, n) y = Where(t, e, zero)", "..., 0", "undecided (proved)"),
    "grows, limited": ("t = Less(x, ten) f = Cast<to = 1>(x) q = Div(f, five) j = Cast<to = 7>(q) e = Max(j, zero) y = Where(t, e, eight)", "0, 8", "proved"),
    "grows, limited, number first": ("t = Less(x, ten) f = Cast<to = 1>(x) q = Div(f, five) j = Cast<to = 7>(q) e = Max(zero, j) y = Where(t, e, eight)", "0, 8", "proved"),
    "grows, limited above": ("t = GreaterOrEqual(x, far) f = Cast<to = 1>(x) q = Div(f, five) j = Cast<to = 7>(q) e = Min(j, eight) y = Where(t, e, eight)", "3, 8", "proved"),
    "grows in int32": ("i10 = Cast<to = 6>(far) t = GreaterOrEqual(w, i10) f = Cast<to = 1>(w) q = Div(f, five) j = Cast<to = 6>(q) i8 = Cast<to = 6>(eight) e = Min(j, i8) y = Where(t, e, i8)", "3, 8", "proved"),
    "grows, other half": ("m = Max(x, zero) t = Less(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) y = Where(t, zero, j)", "0, 1844730702795793920", "undecided"),
    "grows, of another": ("m = Max(x, zero) n = Max(k, zero) t = Less(m, big) f = Cast<to = 1>(n) q = Div(f, five) j = Cast<to = 7>(q) y = Where(t, j, zero)", "", "undecided"),
    "grows, in double": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 11>(m) d = Cast<to = 11>(five) q = Div(f, d) g = Identity(q) h = Cast<to = 1>(g) j = Cast<to = 7>(h) y = Where(t, j, zero)", "0, 8", "proved"),
    "numbers of int32 and floats": ("c = Clip(x, zero, big) i = Cast<to = 6>(c) f = Cast<to = 1>(i) q = Div(f, five) g = Floor(q) y = Cast<to = 6>(g)", "0, 8", "proved"),
    "minus in half": ("t = Greater(x, eight) m = Min(x, big) q = Sub(m, eight) y = Where(t, q, zero)", "", "-1 <= x < 17"),
    "shifted in half": ("t = Greater(p, four) q = Sub(x, four) r = Sub(p, four) y = Where(t, r, p)", "0, 4", "proved"),
    "shifted in half, of an input": ("m = Max(x, zero) t = Less(m, ten) q = Add(m, neg) y = Where(t, q, eight)", "-1, 8", "proved"),
    "chosen by a bool of the model": ("f = Cast<to = 1>(k) l = Less(f, five) q = Add(a, nine) y = Where(l, a, q)", "0, 17", "undecided"),
    "two conditions": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) s = GreaterOrEqual(r, nine) e = Sub(r, nine) y = Where(s, e, r)", "", "undecided"),
    "gathered from a constant": ("c = Constant<value_ints = [0, 3, 8]>() two3 = Clip(x, zero, two) y = Gather(c, two3)", "0, 8", "proved"),
    "gathered from a constant past": ("c = Constant<value_ints = [9, 13, 18]>() two3 = Clip(x, zero, two) y = Gather(c, two3)", "9, 18", "violated"),
    "rows sliced, other axis": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) i = Unsqueeze(r, v0) b = Concat<axis = 0>(i, i) f = Slice(b, v0, v1, v1) y = Gather(f, zero)", "0, N - 1", "enough: N <= 9 (proved)"),
    "rows sliced": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) i = Unsqueeze(r, v0) o = Unsqueeze(a, v0) b = Concat<axis = 0>(i, o) f = Slice(b, v1, v2, v0) y = Squeeze(f, v0)", "0, 8", "proved"),
    "rows of different bounds": ("o = Unsqueeze(a, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) y = Gather(b, one)", "0, 8", "proved"),
    "rows, one out": ("n = Add(a, nine) o = Unsqueeze(n, v0) q = Unsqueeze(a, v0) b = Concat<axis = 0>(q, o) y = Gather(b, one)", "9, 17", "violated"),
    "rows turned": ("n = Add(a, nine) o = Unsqueeze(n, v0) q = Unsqueeze(a, v0) b = Concat<axis = 0>(q, o) t = Transpose(b) y = Gather<axis = -1>(t, zero)", "0, 8", "proved"),
    "rows limited": ("o = Unsqueeze(k, v0) q = Unsqueeze(a, v0) b = Concat<axis = 0>(q, o) d = Clip(b, one, nine) y = Gather(d, zero)", "1, 9", "k < 9 (proved)"),
    "rows of inputs": ("o = Unsqueeze(k, v0) q = Unsqueeze(x, v0) b = Concat<axis = 0>(q, o) y = Gather(b, one)", "", "-9 <= k < 9"),
    "columns of inputs": ("o = Unsqueeze(k, v1) q = Unsqueeze(x, v1) b = Concat<axis = 1>(q, o) y = Gather<axis = 1>(b, zero)", "", "-9 <= x < 9"),
    "if both limited": ("d = ReduceSum<keepdims = 0>(scores) t = Less(d, five) lo = Clip(x, zero, four) hi = Clip(x, two, eight) y = If (t) <then_branch = g () => (y1) { y1 = Identity(lo) }, else_branch = h () => (y2) { y2 = Identity(hi) }>", "0, 8", "proved"),
    "if one is out": ("d = ReduceSum<keepdims = 0>(scores) t = Less(d, five) hi = Clip(x, nine, far) y = If (t) <then_branch = g () => (y1) { y1 = Identity(p) }, else_branch = h () => (y2) { y2 = Identity(hi) }>", "0, 18", "undecided"),
    "if both are out": ("d = ReduceSum<keepdims = 0>(scores) t = Less(d, five) hi = Clip(x, nine, far) y = If (t) <then_branch = g () => (y1) { y1 = Add(a, nine) }, else_branch = h () => (y2) { y2 = Identity(hi) }>", "9, 18", "violated"),
    "if one is anything": ("d = ReduceSum<keepdims = 0>(scores) t = Less(d, five) y = If (t) <then_branch = g () => (y1) { y1 = Identity(p) }, else_branch = h () => (y2) { y2 = Identity(x) }>", "", "undecided"),
    "kept by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) l = Min(s, four) m = Add(l, one) s2 = Max(m, zero) }>", "0, 8", "proved"),
    "raised by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) s2 = Add(s, one) }>", "", "undecided"),
    "stacked by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go) <body = b (int64 i, bool c) => (bool c2, int64 s2) { c2 = Identity(c) s2 = Identity(i) }>", "0, 3", "proved"),
    "read by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go) <body = b (int64 i, bool c) => (bool c2, int64[L] s2) { c2 = Identity(c) s2 = Identity(p) }>", "0, 8", "proved"),
    "scanned": ("y = Scan<num_scan_inputs = 1, body = b (int64 s) => (int64 s2) { s2 = Sub(eight, s) }>(p)", "0, 8", "proved"),
    "some of a range": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) j = Mod(k, one) y = Gather(r, j)", "0, N - 1", "enough: N <= 9 (proved)"),
    "elements of a range": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) j = Mod(k, one) y = GatherElements(r, j)", "0, N - 1", "enough: N <= 9 (proved)"),
    "limited range": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) y = Min(r, eight)", "0, min(8, N - 1)", "proved"),
    "range plus": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) y = Add(r, four)", "4, N + 3", "N <= 5"),
    "range and one": ("e = Shape(x) c = Squeeze(e) r = Range(zero, c, one) y = Concat<axis = 0>(r, v1)", "0, max(1, N - 1)", "N <= 9"),
    "rows of two": ("n = Add(a, nine) c = Concat<axis = 0>(a, n) d = Concat<axis = 0>(a, a) i = Unsqueeze(c, v0) o = Unsqueeze(d, v0) b = Concat<axis = 0>(i, o) y = Gather(b, zero)", "0, 17", "undecided (violated)"),
    "rows of two, the other": ("n = Add(a, nine) c = Concat<axis = 0>(a, n) d = Concat<axis = 0>(a, a) i = Unsqueeze(c, v0) o = Unsqueeze(d, v0) b = Concat<axis = 0>(i, o) y = Gather(b, one)", "0, 8", "proved"),
    "raised to a limit by a loop": ("go = Constant<value = bool {1}>() y = Loop(ten, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) l = Add(s, one) s2 = Min(l, eight) }>", "0, 8", "proved"),
    "lowered by a loop": ("go = Constant<value = bool {1}>() y = Loop(ten, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) s2 = Sub(s, one) }>", "", "undecided"),
    "lowered to a limit by a loop": ("go = Constant<value = bool {1}>() y = Loop(ten, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) l = Sub(s, one) s2 = Max(l, zero) }>", "0, 8", "proved"),
    "boxes, transposed": ("b = NonMaxSuppression(boxes, classes, v2) t = Transpose(b) y = Gather(t, two)", "0, 5", "proved"),
    "boxes, all": ("y = NonMaxSuppression(boxes, classes, v2)", "0, 5", "proved"),
    "sum of a and another in half": ("t = Less(a, four) q = Add(p, a) y = Where(t, q, zero)", "0, 11", "undecided"),
    "difference in half": ("t = Less(a, four) q = Sub(p, a) y = Where(t, q, zero)", "-3, 8", "proved"),
    "sum with an input in half": ("t = Less(a, four) q = Add(x, a) y = Where(t, q, zero)", "", "undecided"),
    "doubled in half": ("t = Less(a, four) q = Add(a, a) y = Where(t, q, zero)", "0, 6", "proved"),
    "kept from below by a loop": ("go = Constant<value = bool {1}>() y = Loop(four, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) l = Add(s, one) s2 = Max(l, zero) }>", "0, ...", "undecided"),
    "kept from above by a loop": ("go = Constant<value = bool {1}>() y = Loop(ten, go, p) <body = b (int64 i, bool c, int64[L] s) => (bool c2, int64[L] s2) { c2 = Identity(c) l = Sub(s, one) s2 = Min(l, eight) }>", "..., 8", "undecided"),
    "reversed in rows": ("e = Unsqueeze(x, v0) l = Shape(x) r = ReverseSequence<batch_axis = 0, time_axis = 1>(e, l) y = Squeeze(r, v0)", "", "-9 <= x < 9"),
    "depth and space": ("sh = Constant<value_ints = [1, 1, 1, -1]>() e = Reshape(x, sh) f = Cast<to = 1>(e) d = SpaceToDepth<blocksize = 1>(f) b = DepthToSpace<blocksize = 1>(d) i = Cast<to = 7>(b) y = Clip(i, zero, eight)", "0, 8", "proved"),
    "the largest": ("y, at = TopK(x, v1)", "", "-9 <= x < 9"),
    "the largest of argmax plus": ("q = Add(a, nine) y, at = TopK(q, v1)", "9, 17", "violated"),
    "where the largest are": ("most, y = TopK(x, v1)", "0, N - 1", "enough: N <= 9"),
    "different ones": ("y = Unique(x)", "", "-9 <= x < 9"),
    "different ones of rows": ("y = Unique<axis = 0>(x)", "", "-9 <= x < 9"),
    "quotient picked": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) r = Slice(q, v0, v1) y = Cast<to = 7>(r)", "0, 8", "proved"),
    "quotient, the largest": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) r, at = TopK(q, v1) g = Floor(r) y = Cast<to = 7>(g)", "0, 8", "proved"),
    "quotient of sizes picked": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) q = Div(f, five) g = Floor(q) h = Gather(g, zero) y = Cast<to = 7>(h)", "0, (N + 4)//5 - 1", "enough: (N + 4)//5 <= 9 (proved)"),
    "sliced, of any rank": ("w2 = Constant<value_ints = [-1, 1]>() h = Slice(k, v0, v1) g = Mod(h, two) e = Add(g, v1) sh = Slice(w2, v0, e) f = Reshape(x, sh) y = Slice(f, v0, v1)", "", "-9 <= x < 9"),
    "wrapped, cast to int32": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) y = Cast<to = 6>(r)", "", "undecided"),
    "wrapped and limited, cast to int32": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) c = Clip(r, neg, nine) y = Cast<to = 6>(c)", "-1, 9", "undecided"),
    "limited past int32, cast": ("l = Constant<value_int = 4294967299>() f = Cast<to = 7>(w) m = Max(f, l) y = Cast<to = 6>(m)", "", "undecided (proved)"),
    "limited, cast to int32, limited": ("m = Max(x, zero) f = Cast<to = 6>(m) e = Cast<to = 6>(eight) y = Min(f, e)", "-2147483648, 8", "undecided (proved)"),
    "limited above, cast to int32": ("m = Min(x, eight) y = Cast<to = 6>(m)", "", "undecided"),
    "plus, cast to int32": ("q = Add(x, four) y = Cast<to = 6>(q)", "", "undecided"),
    "uint64 plus, cast to int32": ("f = Cast<to = 7>(u) q = Add(f, four) y = Cast<to = 6>(q)", "", "undecided"),
    "uint64 cast to int32": ("y = Cast<to = 6>(u)", "", "undecided"),
    "uint8 to int64": ("y = Cast<to = 7>(byte)", "0, 255", "byte < 9"),
    "uint8 to int32": ("y = Cast<to = 6>(byte)", "0, 255", "byte < 9"),
    "uint8 plus": ("f = Cast<to = 2>(four) q = Add(byte, f) y = Cast<to = 6>(q)", "0, 255", "undecided"),
    "uint8 minus": ("f = Cast<to = 2>(four) q = Sub(byte, f) y = Cast<to = 7>(q)", "0, 255", "4 <= byte < 13"),
    "uint8 plus, plus again": ("f = Cast<to = 2>(four) q = Add(byte, f) c = Cast<to = 7>(q) y = Add(c, one)", "1, 256", "undecided"),
    "uint8 plus, limited": ("f = Cast<to = 2>(four) q = Add(byte, f) c = Cast<to = 7>(q) y = Min(c, nine)", "0, 9", "undecided"),
    "range cast": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) y = Cast<to = 6>(r)", "0, N - 1", "undecided"),
    "nonzero cast": ("n = NonZero(mask) c = Cast<to = 6>(n) y = Gather(c, one)", "0, 3", "proved"),
    "of any rank, transposed": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Transpose(f)", "", "-9 <= x < 9"),
    "of any rank, repeated": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Expand(f, v1)", "", "-9 <= x < 9"),
    "of any rank, tiled": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) sh = Shape(f) o = Mul(sh, zero) q = Add(o, one) y = Tile(f, q)", "", "-9 <= x < 9"),
    "of any rank, limited": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Clip(f, zero)", "0, ...", "x < 9"),
    "of any rank, plus": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Add(f, four)", "", "-13 <= x < 5"),
    "of any rank, split": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Split<num_outputs = 1>(f)", "", "-9 <= x < 9"),
    "of any rank, split last": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Split<num_outputs = 1, axis = -1>(f)", "", "-9 <= x < 9"),
    "of any rank, in a row": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Concat<axis = -1>(f, f)", "", "-9 <= x < 9"),
    "of any rank, in a row first": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Concat<axis = 0>(f, f)", "", "-9 <= x < 9"),
    "of any rank, picked": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Gather(f, zero)", "", "-9 <= x < 9"),
    "of any rank, cast": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = Cast<to = 6>(f)", "", "undecided"),
    "of any rank, chosen": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) t = Less(f, zero) q = Add(f, nine) y = Where(t, q, f)", "", "-18 <= x < 9"),
    "nonzero of any rank": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) y = NonZero(f)", "0, ...", "undecided"),
    "nonzero of any rank, rows": ("w2 = Constant<value_ints = [-1, 1]>() h0 = Slice(k, v0, v1) g0 = Mod(h0, two) e0 = Add(g0, v1) sh0 = Slice(w2, v0, e0) f = Reshape(x, sh0) t = Less(f, four) n = NonZero(t) y = Gather(n, zero)", "0, ...", "undecided"),
    "boxes of any rank": ("w2 = Constant<value_ints = [1, 2, -1]>() h = Slice(k, v0, v1) g = Abs(h) e = Mul(g, v0) d = Add(e, w3) w3 = Constant<value_ints = [3]>() sh = Slice(w2, v0, d) f = Reshape(classes, sh) b = NonMaxSuppression(boxes, f, v2) y = Gather<axis = 1>(b, two)", "0, ...", "undecided (proved)"),
    "nonzero of a scalar": ("h = ReduceMax<keepdims = 0>(mask) y = NonZero(h)", "0, 0", "proved"),
    "repeated as often as there are": ("e = Shape(x) sh = Concat<axis = 0>(e, e) t = Expand(x, sh) y = Reshape(t, all)", "", "-9 <= x < 9"),
    "repeated twice": ("sh = Constant<value_ints = [2, 1]>() t = Expand(x, sh) y = Reshape(t, all)", "", "-9 <= x < 9"),
    "repeated at times, tiled": ("e = Shape(k) s = Squeeze(e) d = Sub(s, eight) l = Max(d, zero) i = Unsqueeze(l, v0) t = Tile(x, i) y = Concat<axis = 0>(t, a)", "", "-9 <= x < 9"),
    "number repeated": ("s = ReduceMax<keepdims = 0>(x) e = Shape(x) y = Expand(s, e)", "", "undecided"),
    "nonzero turned twice": ("n = NonZero(mask) t = Transpose(n) e = Transpose(t) y = Gather(e, one)", "0, 3", "proved"),
    "nonzero of three axes": ("sh = Constant<value_ints = [3, 3, 4]>() m = Reshape(mask, sh) n = NonZero(m) y = Gather(n, two)", "0, 3", "proved"),
    "nonzero of three axes, last from the end": ("sh = Constant<value_ints = [3, 3, 4]>() m = Reshape(mask, sh) n = NonZero(m) y = Gather(n, neg)", "0, 3", "proved"),
    "nonzero of three axes, from the end": ("sh = Constant<value_ints = [3, 3, 4]>() m = Reshape(mask, sh) n = NonZero(m) i = Constant<value_int = -3>() y = Gather(n, i)", "0, 2", "proved"),
    "nonzero of three axes, some": ("sh = Constant<value_ints = [3, 3, 4]>() m = Reshape(mask, sh) n = NonZero(m) y = Slice(n, v1, w3, v0) w3 = Constant<value_ints = [3]>()", "0, 3", "proved"),
    "nonzero of three axes, split": ("sh = Constant<value_ints = [3, 3, 4]>() m = Reshape(mask, sh) n = NonZero(m) g, y = Split<num_outputs = 2>(n)", "0, 3", "proved"),
    "nonzero of three axes, split apart": ("sh = Constant<value_ints = [3, 3, 4]>() l = Constant<value_ints = [1, 1, 1]>() m = Reshape(mask, sh) n = NonZero(m) g, y, h = Split(n, l)", "0, 2", "proved"),
    "nonzero picked, several": ("n = NonZero(mask) y = Gather(n, v1)", "0, 3", "proved"),
    "nonzero picked by data": ("n = NonZero(mask) h = Slice(k, v0, v1) j = Mod(h, two) y = Gather(n, j)", "0, 8", "proved"),
    "nonzero picked at another axis": ("n = NonZero(mask) y = Gather<axis = 1>(n, zero)", "0, 8", "proved"),
    "nonzero sliced with steps": ("n = NonZero(mask) y = Slice(n, v1, v2, v0, v1)", "0, 3", "proved"),
    "nonzero sliced by two": ("sh = Constant<value_ints = [3, 3, 4]>() m = Reshape(mask, sh) n = NonZero(m) w3 = Constant<value_ints = [3]>() y = Slice(n, v1, w3, v0, v2)", "0, 3", "proved"),
    "nonzero reversed": ("n = NonZero(mask) e = Constant<value_ints = [-99]>() s = Slice(n, all, e, v0, all) y = Gather(s, zero)", "0, 8", "proved"),
    "nonzero sliced from data": ("n = NonZero(mask) h = Slice(k, v0, v1) j = Mod(h, v2) y = Slice(n, j, v2, v0)", "0, 8", "proved"),
    "nonzero sliced to data": ("n = NonZero(mask) h = Slice(k, v0, v1) j = Mod(h, v2) g = Add(j, v1) y = Slice(n, v0, g, v0)", "0, 8", "proved"),
    "nonzero sliced, last axis from the end": ("n = NonZero(mask) e = Constant<value_ints = [99]>() s = Slice(n, v1, e, all) y = Gather(s, one)", "0, 3", "proved"),
    "nonzero sliced, first axis from the end": ("n = NonZero(mask) m = Constant<value_ints = [-2]>() y = Slice(n, v1, v2, m)", "0, 3", "proved"),
    "nonzero sliced, nothing": ("n = NonZero(mask) s = Slice(n, v2, v2, v0) r = Reshape(s, all) y = Concat<axis = 0>(r, a)", "0, 8", "proved"),
    "rows of an input, sliced": ("sh = Constant<value_ints = [1, -1]>() o = Reshape(x, sh) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) y = Slice(b, v0, v1, v0)", "", "-9 <= k < 9"),
    "rows of an input, sliced, other axis": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) s = Slice(b, v0, v1, v1) y = Gather(s, one)", "", "-9 <= x < 9"),
    "rows of an input, split": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) g, y = Split<num_outputs = 2>(b)", "", "-9 <= x < 9"),
    "rows of an input, turned and split": ("o = Unsqueeze(x, v0) q = Unsqueeze(k, v0) b = Concat<axis = 0>(q, o) t = Transpose(b) g, y = Split<num_outputs = 2, axis = -1>(t)", "", "-9 <= x < 9"),
    "split first of inputs": ("b = Concat<axis = 0>(x, k) y, g = Split<num_outputs = 2>(b)", "", "-9 <= x < 9 and -9 <= k < 9"),
    "wrapped, another shifted": ("t = Less(x, zero) q = Add(k, nine) y = Where(t, q, x)", "", "-18 <= k < 0 and x < 9"),
    "wrapped, another kept": ("t = Less(x, zero) q = Add(x, nine) y = Where(t, q, k)", "", "x >= -18 and -9 <= k < 9"),
    "wrapped, limited before, by more": ("c = Clip(x, neg) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, ...", "x < 9"),
    "wrapped, twice": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) s = Less(r, zero) p2 = Add(r, nine) y = Where(s, p2, r)", "", "undecided"),
    "wrapped, of two": ("c = Concat<axis = 0>(x, k) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "", "-18 <= x < 0 and -18 <= k < 0 and -9 <= x < 9 and -9 <= k < 9"),
    "wrapped by sizes": ("e = Shape(x) s = Squeeze(e) t = Less(x, zero) q = Add(x, s) y = Where(t, q, x)", "", "undecided"),
    "wrapped in int32": ("o = Cast<to = 6>(zero) n = Cast<to = 6>(nine) t = Less(w, o) q = Add(w, n) y = Where(t, q, w)", "-2147483639, 2147483647", "-18 <= w < 9"),
    "wrapped int32 plus": ("o = Cast<to = 6>(zero) n = Cast<to = 6>(nine) b = Add(w, n) t = Less(b, o) q = Add(b, n) y = Where(t, q, b)", "-2147483639, 2147483647", "-27 <= w < -9 and w < 0"),
    "wrapped by minus": ("m = Neg(nine) t = Less(x, zero) q = Sub(x, m) y = Where(t, q, x)", "", "-18 <= x < 9"),
    "chosen, a number": ("t = Less(x, four) y = Where(t, four, x)", "4, ...", "x < 9"),
    "chosen, a number above": ("t = Greater(x, eight) y = Where(t, eight, x)", "..., 8", "x >= -9"),
    "chosen, a number below": ("t = Less(x, zero) y = Where(t, zero, x)", "0, ...", "x < 9"),
    "chosen, numbers": ("t = Less(x, zero) y = Where(t, one, nine)", "1, 9", "undecided"),
    "chosen of limited": ("t = Less(k, zero) c = Clip(x, zero, four) d = Clip(x, two, eight) y = Where(t, c, d)", "0, 8", "proved"),
    "chosen of a and x": ("t = Less(k, zero) y = Where(t, a, x)", "", "-9 <= x < 9"),
    "chosen of a and x limited": ("t = Less(k, zero) c = Clip(x, zero, four) y = Where(t, a, c)", "0, 8", "proved"),
    "chosen, past both ends": ("t = Less(k, zero) q = Add(a, nine) m = Sub(a, far) y = Where(t, q, m)", "-18, 17", "violated"),
    "chosen, past both ends, numbers": ("t = Less(k, zero) m = Sub(neg, nine) y = Where(t, nine, m)", "-10, 9", "violated"),
    "chosen of two parts": ("t = Less(k, zero) c = Concat<axis = 0>(a, p) tt = Concat<axis = 0>(t, t) d = Concat<axis = 0>(p, a) y = Where(tt, c, d)", "0, 8", "proved"),
    "half of a at the ends": ("t = LessOrEqual(a, eight) q = Sub(a, eight) y = Where(t, q, nine)", "-8, 9", "undecided (proved)"),
    "half of a, none below": ("t = Less(a, zero) y = Where(t, nine, a)", "0, 9", "undecided (proved)"),
    "half of p shifted twice": ("t = Less(p, four) q = Add(p, one) r = Add(q, one) y = Where(t, r, p)", "2, 10", "x < 7 (proved)"),
    "test of a difference": ("d = Sub(a, p) t = Less(d, zero) n = Neg(d) y = Where(t, n, d)", "-8, 8", "proved"),
    "test by a float": ("f = Cast<to = 1>(a) t = Less(f, five) y = Where(t, a, zero)", "0, 8", "proved"),
    "test by another tensor": ("t = Less(a, p) y = Where(t, a, p)", "0, 8", "proved"),
    "test, not not": ("t = Less(a, four) n = Not(t) m = Not(n) q = Add(a, four) y = Where(m, q, a)", "4, 8", "proved"),
    "test, not of a bool": ("b = Cast<to = 9>(k) t = Not(b) y = Where(t, a, p)", "0, 8", "proved"),
    "test of int32": ("f = Cast<to = 6>(four) b = Cast<to = 6>(a) t = Less(b, f) q = Add(b, f) y = Where(t, q, b)", "4, 8", "proved"),
    "sum in half, floats between": ("t = Less(a, four) q = Sub(a, a) y = Where(t, q, zero)", "-3, 3", "proved"),
    "range limited past": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) y = Min(r, ten)", "0, min(10, N - 1)", "min(10, N - 1) <= 8"),
    "range limited from": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) y = Max(r, four)", "4, max(4, N - 1)", "N <= 9"),
    "range limited and plus": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) m = Max(r, four) y = Add(m, one)", "5, max(4, N - 1) + 1", "N <= 8"),
    "Min of three": ("y = Min(x, eight, four)", "..., 4", "undecided"),
    "Max of one": ("y = Max(x)", "", "undecided"),
    "Min of two tensors": ("y = Min(x, p)", "..., 8", "undecided"),
    "Clip by data": ("m = ReduceMax<keepdims = 0>(k) y = Clip(x, zero, m)", "", "undecided"),
    "Clip by data below": ("m = ReduceMax<keepdims = 0>(k) y = Clip(x, m, eight)", "..., 8", "undecided (proved)"),
    "Clip, ends crossed": ("y = Clip(x, nine, four)", "4, 4", "proved"),
    "Clip by sizes": ("e = Shape(x) s = Squeeze(e) d = Sub(s, one) y = Clip(x, zero, d)", "min(0, N - 1), N - 1", "undecided"),
    "wrapped and limited": ("t = Less(x, zero) q = Add(x, nine) r = Where(t, q, x) y = Clip(r, zero, nine)", "0, 9", "undecided"),
    "limited twice": ("c = Clip(x, zero, nine) y = Min(c, eight)", "0, 8", "proved"),
    "limited, number first, past": ("y = Min(nine, x)", "..., 9", "-9 <= x < 9"),
    "plus a huge number": ("h = Constant<value_int = 9007199254740993>() y = Add(x, h)", "", "undecided (violated)"),
    "plus 2^53": ("h = Constant<value_int = 9007199254740992>() y = Add(x, h)", "", "-9007199254741001 <= x < -9007199254740983 (violated)"),
    "minus a huge number": ("h = Constant<value_int = 9007199254740993>() y = Sub(x, h)", "", "undecided (violated)"),
    "plus and minus": ("q = Add(x, four) y = Sub(q, four)", "", "-9 <= x < 9"),
    "plus a size": ("e = Shape(x) s = Squeeze(e) y = Add(x, s)", "", "-N - 9 <= x < 9 - N"),
    "minus a size": ("e = Shape(x) s = Squeeze(e) y = Sub(x, s)", "", "N - 9 <= x < N + 9"),
    "plus one row": ("r = Unsqueeze(four, v0) o = Unsqueeze(r, v0) y = Add(x, o)", "", "-13 <= x < 5"),
    "rows plus": ("o = Unsqueeze(k, v0) q = Unsqueeze(x, v0) b = Concat<axis = 0>(q, o) d = Add(b, one) y = Gather(d, one)", "", "-10 <= k < 8"),
    "rows plus one more axis": ("n = NonZero(mask) o = Reshape(one, u3) u3 = Constant<value_ints = [1, 1, 1]>() d = Add(n, o) y = Gather<axis = 1>(d, zero)", "1, 9", "undecided"),
    "two numbers": ("y = Add(four, four)", "", "proved"),
    "in a row of nine": ("y = Concat<axis = 0>(a, a, a, a, a, a, a, a, p)", "0, 8", "proved"),
    "in a row of eight": ("y = Concat<axis = 0>(a, a, a, a, a, a, a, x)", "", "-9 <= x < 9"),
    "in a row, an input and a row out": ("c = Constant<value_ints = [9]>() y = Concat<axis = 0>(x, c)", "", "violated"),
    "in a row, an input and a row in": ("c = Constant<value_ints = [8]>() y = Concat<axis = 0>(x, c)", "", "-9 <= x < 9"),
    "in a row, an input that may be empty": ("e = Shape(x) s = Squeeze(e) d = Sub(s, eight) m = Max(d, zero) i = Unsqueeze(m, v0) b = Slice(k, v0, i) y = Concat<axis = 0>(b, a)", "", "-9 <= k < 9"),
    "in a row, out that may be empty": ("e = Shape(x) s = Squeeze(e) d = Sub(s, eight) m = Max(d, zero) i = Unsqueeze(m, v0) q = Add(a, nine) b = Slice(q, v0, i) y = Concat<axis = 0>(b, a)", "0, 17", "undecided"),
    "in a row, range that may be empty": ("e = Shape(x) s = Squeeze(e) d = Sub(s, eight) r = Range(zero, d, one) y = Concat<axis = 0>(r, a)", "0, max(8, N - 9)", "N <= 17"),
    "rows, one of two": ("c = Concat<axis = 0>(a, p) d = Concat<axis = 0>(p, x) i = Unsqueeze(c, v0) o = Unsqueeze(d, v0) b = Concat<axis = 0>(i, o) y = Gather(b, zero)", "0, 8", "proved"),
    "rows, two in one": ("n = NonZero(mask) f = Slice(n, v0, v1, v0) c = Concat<axis = 0>(n, f) y = Gather(c, two)", "0, 8", "proved"),
    "alone after nothing": ("c = Slice(a, v0, v0, v0) y = Concat<axis = 0>(c, x)", "", "-9 <= x < 9"),
    "range down by data": ("j = ReduceMax<keepdims = 0>(k) m = Mod(j, nine) y = Range(eight, m, neg)", "1, 8", "proved"),
    "range of int32": ("e = Shape(x) s = Squeeze(e) l = Min(s, nine) m = Cast<to = 6>(l) o = Cast<to = 6>(zero) i = Cast<to = 6>(one) y = Range(o, m, i)", "0, min(9, N) - 1", "undecided (proved)"),
    "range by a step of sizes": ("e = Shape(x) s = Squeeze(e) m = Max(s, one) y = Range(zero, nine, m)", "0, 8", "proved"),
    "some of a point": ("j = Mod(k, one) n = Add(zero, nine) o = Unsqueeze(n, v0) b = Expand(o, e) e = Shape(x) y = Gather(b, j)", "9, 9", "violated"),
    "rows of a point, sliced": ("o = Unsqueeze(x, v0) e = Shape(o) q = Expand(nine, e) b = Concat<axis = 0>(o, q) s = Slice(b, v0, v1, v1) y = Gather(s, one)", "9, 9", "violated"),
    "size picked": ("e = Shape(x) b = Concat<axis = 0>(e, e) j = Mod(k, two) y = Gather(b, j)", "N, N", "undecided"),
    "size repeated": ("e = Shape(x) s = Squeeze(e) q = Sub(s, one) y = Expand(q, e)", "N - 1, N - 1", "undecided"),
    "size repeated, chosen": ("e = Shape(x) s = Squeeze(e) t = Less(k, zero) y = Where(t, s, zero)", "0, N", "undecided"),
    "size repeated, picked": ("e = Shape(x) s = Squeeze(e) q = Sub(s, one) b = Expand(q, e) j = Mod(k, one) y = Gather(b, j)", "N - 1, N - 1", "undecided"),
    "floats of exact size": ("b = Constant<value_int = 16777216>() c = Clip(x, zero, b) f = Cast<to = 1>(c) g = Floor(f) h = Cast<to = 7>(g) y = Min(h, eight)", "0, 8", "proved"),
    "floats of one more": ("b = Constant<value_int = 16777217>() c = Clip(x, zero, b) f = Cast<to = 1>(c) g = Floor(f) y = Cast<to = 7>(g)", "", "undecided"),
    "floats of negatives": ("b = Constant<value_int = -16777216>() c = Clip(x, b, zero) f = Cast<to = 1>(c) g = Floor(f) y = Cast<to = 7>(g)", "-16777216, 0", "undecided"),
    "floats of one less": ("b = Constant<value_int = -16777217>() c = Clip(x, b, zero) f = Cast<to = 1>(c) g = Floor(f) y = Cast<to = 7>(g)", "", "undecided"),
    "floats to int8 at its least": ("m = Constant<value_int = -128>() c = Clip(x, m, eight) f = Cast<to = 1>(c) g = Floor(f) h = Cast<to = 3>(g) y = Cast<to = 7>(h)", "-128, 8", "undecided"),
    "floats to int8 at its most": ("m = Constant<value_int = 127>() c = Clip(x, neg, m) f = Cast<to = 1>(c) g = Floor(f) h = Cast<to = 3>(g) y = Cast<to = 7>(h)", "-1, 127", "undecided"),
    "floats to int8 past its least": ("m = Constant<value_int = -129>() c = Clip(x, m, eight) f = Cast<to = 1>(c) g = Floor(f) h = Cast<to = 3>(g) y = Cast<to = 7>(h)", "-128, 127", "undecided"),
    "floats to int8 past its most": ("m = Constant<value_int = 128>() c = Clip(x, neg, m) f = Cast<to = 1>(c) g = Floor(f) h = Cast<to = 3>(g) y = Cast<to = 7>(h)", "-128, 127", "undecided"),
    "floats to uint8": ("c = Clip(x, zero, eight) f = Cast<to = 1>(c) g = Floor(f) h = Cast<to = 2>(g) y = Cast<to = 7>(h)", "0, 8", "proved"),
    "quotient by zero": ("c = Clip(x, zero, eight) o = Constant<value_float = 0.0>() f = Cast<to = 1>(c) q = Mul(f, o) y = Cast<to = 7>(q)", "", "undecided (proved)"),
    "quotient by infinity": ("c = Clip(x, zero, eight) b = Constant<value_float = 1e30>() i = Mul(b, b) f = Cast<to = 1>(c) q = Div(f, i) y = Cast<to = 7>(q)", "", "undecided (proved)"),
    "product past exact": ("c = Clip(x, zero, big) b = Constant<value_float = 1e7>() f = Cast<to = 1>(c) q = Mul(f, b) d = Div(q, b) y = Cast<to = 7>(d)", "", "undecided"),
    "quotient of sizes by a half": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) h = Constant<value_float = 0.5>() q = Div(f, h) y = Cast<to = 7>(q)", "", "undecided"),
    "quotient of sizes by one and a half": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) h = Constant<value_float = 2.5>() q = Div(f, h) y = Cast<to = 7>(q)", "", "undecided"),
    "quotient of sizes by more than 2^24": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) d = Constant<value_float = 16777218.0>() q = Div(f, d) y = Cast<to = 7>(q)", "", "undecided (proved)"),
    "quotient of quotient of sizes": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) q = Div(f, five) h = Div(q, five) y = Cast<to = 7>(h)", "", "undecided"),
    "product of sizes": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) q = Mul(f, five) y = Cast<to = 7>(q)", "", "undecided"),
    "ceiling of sizes": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) q = Div(f, five) c = Ceil(q) y = Cast<to = 7>(c)", "", "undecided"),
    "quotient of sizes to int32": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 11>(r) d = Cast<to = 11>(five) q = Div(f, d) y = Cast<to = 6>(q)", "0, max(0, (N + 4)//5 - 1)", "undecided"),
    "quotient of sizes to int8": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) q = Div(f, five) c = Cast<to = 3>(q) y = Cast<to = 7>(c)", "-128, 127", "undecided"),
    "quotient of sizes below zero": ("e = Shape(x) s = Squeeze(e) r = Range(neg, s, one) f = Cast<to = 1>(r) q = Div(f, five) y = Cast<to = 7>(q)", "0, max(0, (N + 4)//5 - 1)", "undecided"),
    "floats to double": ("c = Clip(x, zero, big) f = Cast<to = 1>(c) d = Cast<to = 11>(f) v5 = Cast<to = 11>(five) q = Div(d, v5) y = Cast<to = 7>(q)", "", "undecided (proved)"),
    "floats in double": ("c = Clip(x, zero, big) f = Cast<to = 11>(c) d = Cast<to = 11>(fifth) q = Mul(f, d) g = Ceil(q) y = Cast<to = 7>(g)", "0, 9", "undecided"),
    "grows, to 2^30 in int32": ("m = Constant<value_int = 1073741824>() i = Cast<to = 6>(m) o = Cast<to = 6>(zero) t = GreaterOrEqual(w, o) l = Min(w, i) f = Cast<to = 11>(l) j = Cast<to = 6>(f) e = Add(j, o) y = Where(t, e, o)", "", "undecided"),
    "grows, past 2^30 in int32": ("m = Constant<value_int = 1073741825>() i = Cast<to = 6>(m) o = Cast<to = 6>(zero) t = GreaterOrEqual(w, o) l = Min(w, i) f = Cast<to = 11>(l) j = Cast<to = 6>(f) e = Add(j, o) y = Where(t, e, o)", "", "undecided"),
    "grows, a large number added": ("b = Constant<value_int = 4611686018427387904>() m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Add(j, b) g = Sub(e, b) y = Where(t, g, zero)", "", "undecided (proved)"),
    "grows, below zero": ("b = Constant<value_int = -44>() m = Min(x, zero) t = GreaterOrEqual(m, b) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) y = Where(t, j, zero)", "-8, 0", "proved"),
    "grows, other test is falling": ("t = Less(x, ten) f = Cast<to = 1>(x) q = Div(f, five) j = Cast<to = 7>(q) e = Min(j, eight) y = Where(t, e, zero)", "-1844730702795793920, 1", "undecided"),
    "grows, to int8": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 3>(q) i = Cast<to = 7>(j) y = Where(t, i, zero)", "-128, 127", "undecided (proved)"),
    "grows, by zero": ("o = Constant<value_float = 0.0>() m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Mul(f, o) j = Cast<to = 7>(q) y = Where(t, j, zero)", "", "undecided (proved)"),
    "grows, by data": ("d = ReduceSum<keepdims = 0>(scores) m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Mul(f, d) j = Cast<to = 7>(q) y = Where(t, j, zero)", "", "undecided"),
    "grows, Max of two numbers": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Max(j, one, two) y = Where(t, e, two)", "2, ...", "undecided (proved)"),
    "grows, log of one": ("m = Max(x, zero) t = GreaterOrEqual(m, one) l = Min(m, big) f = Cast<to = 1>(l) q = Log(f) j = Cast<to = 7>(q) y = Where(t, j, zero)", "", "undecided (proved)"),
    "grows, and the same": ("m = Max(x, zero) t = LessOrEqual(m, eight) f = Cast<to = 1>(m) j = Cast<to = 7>(f) i = Identity(j) y = Where(t, i, zero)", "0, 8", "proved"),
    "grows, by a size": ("e = Shape(x) s = Squeeze(e) m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) l = Min(j, s) y = Where(t, l, zero)", "..., N", "undecided (proved)"),
    "grows, from a bool": ("t = Less(x, zero) f = Cast<to = 1>(t) j = Cast<to = 7>(f) y = Where(t, j, zero)", "", "undecided (proved)"),
    "rows transposed by a permutation": ("v01 = Constant<value_ints = [0, 1]>() i = Unsqueeze(x, v01) o = Unsqueeze(k, v01) b = Concat<axis = 1>(i, o) t = Transpose<perm = [1, 2, 0]>(b) y = Gather(t, one)", "", "-9 <= k < 9"),
    "rows transposed, the other": ("v01 = Constant<value_ints = [0, 1]>() i = Unsqueeze(x, v01) o = Unsqueeze(k, v01) b = Concat<axis = 1>(i, o) t = Transpose(b) y = Gather<axis = 1>(t, zero)", "", "-9 <= x < 9"),
    "floats past exact, there and back": ("b = Constant<value_int = 16777219>() d = Constant<value_int = 16777211>() c = Clip(x, zero, b) f = Cast<to = 1>(c) g = Cast<to = 7>(f) l = Sub(g, d) y = Max(l, zero)", "0, ...", "undecided"),
    "floats before exact, there and back": ("b = Constant<value_int = -16777219>() d = Constant<value_int = 16777211>() c = Clip(x, b, zero) f = Cast<to = 1>(c) g = Cast<to = 7>(f) l = Add(g, d) y = Min(l, zero)", "..., 0", "undecided (proved)"),
    "nonzero split by data": ("n = NonZero(mask) j = ReduceMax<keepdims = 1>(k) a1 = Mod(j, two) s1 = Add(a1, one) s0 = Sub(two, a1) s2 = Sub(s0, one) sp = Concat<axis = 0>(s1, s2) y, f = Split<axis = 0>(n, sp)", "0, 8", "proved"),
    "nonzero split by data, from one": ("n = NonZero(mask) m = Add(n, one) j = ReduceMax<keepdims = 1>(k) a1 = Mod(j, two) s1 = Add(a1, one) s0 = Sub(two, a1) s2 = Sub(s0, one) sp = Concat<axis = 0>(s1, s2) y, f = Split<axis = 0>(m, sp)", "1, 9", "undecided"),
    "split of data": ("q = Mul(x, x) e = Tile(q, v2) f, y = Split<num_outputs = 2>(e)", "", "undecided"),
    "wrapped, limited below before": ("c = Max(x, neg) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, ...", "x < 9"),
    "wrapped, limited above before": ("c = Min(x, eight) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "..., 8", "x >= -18"),
    "positions in steps of two": ("c = Constant<value = int64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>() e = Shape(x) y = Slice(c, v0, e, v0, v2)", "0, 11", "undecided"),
    "positions in steps of one": ("c = Constant<value = int64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>() e = Shape(x) y = Slice(c, v0, e, v0, v1)", "0, min(12, N) - 1", "min(12, N) <= 9"),
    "positions, no steps, no axes": ("c = Constant<value = int64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>() e = Shape(x) y = Slice(c, v0, e)", "0, min(12, N) - 1", "min(12, N) <= 9"),
    "positions by two": ("c = Constant<value = int64[7] {0, 2, 4, 6, 8, 10, 12}>() e = Shape(x) y = Slice(c, v0, e)", "0, 2*min(7, N) - 2", "min(7, N) <= 5"),
    "positions falling": ("c = Constant<value = int64[7] {11, 10, 9, 8, 7, 6, 5}>() e = Shape(x) y = Slice(c, v1, e)", "11 - max(0, min(6, N - 1)), 10", "violated"),
    "no positions": ("c = Constant<value = int64[7] {0, 1, 2, 3, 5, 8, 13}>() e = Shape(x) y = Slice(c, v0, e)", "0, 13", "undecided"),
    "positions from the end": ("c = Constant<value = int64[12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>() e = Shape(x) m = Neg(e) b = Constant<value_ints = [99]>() y = Slice(c, m, b)", "0, 11", "undecided (violated)"),
    "positions in columns": ("c = Constant<value = int64[2, 12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}>() e = Shape(x) y = Slice(c, v0, e, all)", "0, min(12, N) - 1", "min(12, N) <= 9"),
    "other positions in rows": ("c = Constant<value = int64[2, 12] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>() e = Shape(x) y = Slice(c, v0, e, all)", "0, 12", "undecided"),
    "grows, a float added": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) g = Add(f, five) q = Div(g, five) j = Cast<to = 7>(q) y = Where(t, j, zero)", "0, 9", "undecided"),
    "grows, Max of a number": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Max(j, four) y = Where(t, e, four)", "4, 8", "proved"),
    "grows, Min of a number": ("m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Min(j, four) y = Where(t, e, four)", "0, 4", "proved"),
    "grows, to a base of int32": ("o = Cast<to = 6>(zero) b = Cast<to = 6>(big) m = Max(w, o) t = LessOrEqual(m, b) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 6>(q) y = Where(t, j, o)", "0, 8", "proved"),
    "nonzero sliced, no axes": ("n = NonZero(mask) y = Slice(n, v1, v2)", "0, 8", "proved"),
    "nonzero of a scalar, plus": ("h = ReduceMax<keepdims = 0>(mask) n = NonZero(h) y = Add(n, nine)", "9, 9", "violated"),
    "limited below by a size": ("e = Shape(x) s = Squeeze(e) d = Sub(s, far) y = Max(x, d)", "N - 18, ...", "undecided"),
    "limited above by a size": ("e = Shape(x) s = Squeeze(e) y = Min(x, s)", "..., N", "undecided"),
    "limited by a size and plus": ("e = Shape(x) s = Squeeze(e) d = Max(x, s) y = Sub(d, s)", "0, ...", "x < N + 9"),
    "wrapped range": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) b = Sub(r, nine) t = Less(b, zero) q = Add(b, nine) y = Where(t, q, b)", "0, max(N - 10, min(0, N - 9) + 8)", "undecided"),
    "wrapped of a cast": ("f = Cast<to = 7>(w) t = Less(f, zero) q = Add(f, nine) y = Where(t, q, f)", "-2147483639, 2147483647", "-18 <= w < 9"),
    "wrapped of a plus that wraps": ("f = Cast<to = 6>(nine) o = Cast<to = 6>(zero) b = Add(w, f) c = Cast<to = 7>(b) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "-2147483639, 2147483647", "undecided"),
    "wrapped uint8": ("f = Cast<to = 2>(nine) b = Sub(byte, f) c = Cast<to = 7>(b) t = Less(c, zero) q = Add(c, nine) y = Where(t, q, c)", "0, 255", "9 <= byte < 18"),
    "int32 at its least": ("m = Constant<value_int = -2147483648>() f = Cast<to = 6>(m) g = Cast<to = 6>(zero) c = Min(w, g) y = Max(c, f)", "-2147483648, 0", "w >= -9"),
    "an end at the least of int64": ("m = Constant<value_int = -9223372036854775807>() c = Clip(x, m, eight) y = Sub(c, one)", "-9223372036854775808, 7", "x >= -8"),
    "an end at the most of int64": ("m = Constant<value_int = 9223372036854775806>() c = Clip(x, zero, m) y = Add(c, one)", "1, 9223372036854775807", "x < 8"),
    "an end past the most of int64": ("m = Constant<value_int = 9223372036854775806>() c = Clip(x, zero, m) y = Add(c, two)", "", "x < 7"),
    "int32 plus at its end": ("m = Constant<value_int = 2147483646>() f = Cast<to = 6>(m) g = Cast<to = 6>(zero) h = Cast<to = 6>(one) l = Max(w, g) c = Min(l, f) y = Add(c, h)", "1, 2147483647", "w < 8"),
    "int32 plus past its end": ("m = Constant<value_int = 2147483647>() f = Cast<to = 6>(m) g = Cast<to = 6>(zero) h = Cast<to = 6>(one) l = Max(w, g) c = Min(l, f) y = Add(c, h)", "", "w < 8"),
    "range down by sizes": ("e = Shape(x) s = Squeeze(e) d = Sub(s, one) y = Range(d, neg, neg)", "0, N - 1", "N <= 9"),
    "range by one of three": ("e = Shape(x) s = Squeeze(e) y = Range(one, s, one)", "1, N - 1", "N <= 9"),
    "in a row with a range": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) y = Concat<axis = 0>(r, a)", "0, max(8, N - 1)", "N <= 9"),
    "in a row with a range past": ("e = Shape(x) s = Squeeze(e) r = Range(nine, far, one) y = Concat<axis = 0>(a, r)", "0, 17", "violated"),
    "in a row with a size": ("e = Shape(x) y = Concat<axis = 0>(a, e)", "0, max(8, N)", "N <= 8"),
    "in a row with a size less": ("e = Shape(x) d = Sub(e, v1) y = Concat<axis = 0>(x, d)", "", "-9 <= x < 9 and N <= 9"),
    "rows with a size, picked": ("e = Shape(x) s = Squeeze(e) q = Expand(s, e) o = Unsqueeze(q, v0) h = Unsqueeze(a, v0) b = Concat<axis = 0>(o, h) y = Gather(b, one)", "0, 8", "proved"),
    "sum of two limited": ("c = Clip(x, zero, four) d = Clip(k, zero, four) y = Add(c, d)", "0, 8", "proved"),
    "difference in the other half": ("t = Less(a, four) q = Sub(a, p) y = Where(t, zero, q)", "-4, 8", "proved"),
    "sum in the other half": ("t = GreaterOrEqual(a, four) q = Add(p, a) y = Where(t, zero, q)", "0, 11", "undecided"),
    "limited sum in half": ("c = Clip(x, zero, four) t = Less(c, two) q = Add(c, p) y = Where(t, q, zero)", "0, 9", "undecided (proved)"),
    "half of uint8": ("f = Cast<to = 2>(nine) c = Cast<to = 7>(byte) t = Less(c, nine) y = Where(t, c, zero)", "0, 8", "proved"),
    "test with a size": ("e = Shape(x) s = Squeeze(e) t = Less(x, s) y = Where(t, x, s)", "..., N", "undecided"),
    "test from above with a size": ("e = Shape(x) s = Squeeze(e) m = Max(x, zero) t = GreaterOrEqual(m, s) y = Where(t, zero, m)", "0, max(0, N - 1)", "x < 9"),
    "grows between": ("m = Clip(x, zero, big) t = Less(m, ten) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) y = Where(t, zero, j)", "0, 8", "proved"),
    "grows, in int32 to the end": ("z6 = Cast<to = 6>(zero) t = GreaterOrEqual(w, z6) f = Cast<to = 11>(w) j = Cast<to = 6>(f) i8 = Cast<to = 6>(eight) e = Min(j, i8) y = Where(t, e, z6)", "-2147483648, 8", "undecided (proved)"),
    "grows, Max of a large number": ("b = Constant<value_int = 4611686018427387903>() m = Max(x, zero) t = LessOrEqual(m, big) f = Cast<to = 1>(m) q = Div(f, five) j = Cast<to = 7>(q) e = Max(j, b) y = Where(t, zero, e)", "0, 4611686018427387903", "undecided"),
    "grows, Div by a number below one": ("h = Constant<value_float = 0.5>() m = Max(x, zero) t = LessOrEqual(m, four) f = Cast<to = 1>(m) q = Div(f, h) j = Cast<to = 7>(q) y = Where(t, j, zero)", "0, 8", "proved"),
    "quotient of negative sizes": ("e = Shape(x) s = Squeeze(e) n = Neg(s) r = Range(n, zero, one) f = Cast<to = 1>(r) q = Div(f, five) y = Cast<to = 7>(q)", "", "undecided"),
    "floor of a quotient by sizes": ("e = Shape(x) s = Squeeze(e) r = Range(zero, s, one) f = Cast<to = 1>(r) o = Constant<value_float = 1.0>() q = Div(f, o) g = Floor(q) y = Cast<to = 6>(g)", "0, max(0, N - 1)", "undecided"),
    "in a row, one element out": ("m = ReduceMax(a) q = Add(m, nine) y = Concat<axis = 0>(a, q)", "..., 17", "undecided (violated)"),
    "in a row, one element in": ("m = ReduceMax(a) y = Concat<axis = 0>(x, m)", "", "undecided"),
    "in a row, one element of two": ("m = ReduceMax(a) q = Add(m, one) y = Concat<axis = 0>(x, q)", "", "undecided"),
    "in a row, anything": ("m = ReduceMax(k) y = Concat<axis = 0>(a, m)", "", "undecided"),
    "in a row, at least zero": ("m = ReduceMax(k) l = Max(m, zero) y = Concat<axis = 0>(a, l)", "0, ...", "undecided"),
    "in a row, at most eight": ("m = ReduceMax(k) l = Min(m, eight) y = Concat<axis = 0>(a, l)", "..., 8", "undecided"),
    "in a row, a range of sizes out": ("e = Shape(x) s = Squeeze(e) l = Add(s, ten) r = Range(zero, l, one) y = Concat<axis = 0>(a, r)", "0, N + 9", "violated"),
    "a range of sizes out below": ("e = Shape(x) s = Squeeze(e) n = Neg(s) l = Sub(n, ten) y = Range(l, zero, one)", "-N - 10, -1", "violated"),
    "a range of sizes from below": ("e = Shape(x) s = Squeeze(e) n = Neg(s) y = Range(n, zero, one)", "-N, -1", "N <= 9"),
    "a range of sizes from below to past": ("e = Shape(x) s = Squeeze(e) n = Neg(s) y = Range(n, ten, one)", "-N, 9", "violated"),
    "sizes of one axis": ("e = Shape(x) d = Concat<axis = 0>(e, e) i = Gather(d, zero) y = Sub(i, one)", "", "N <= 9"),
    "in a row, the largest out": ("t, at = TopK(a, v1) q = Add(t, nine) y = Concat<axis = 0>(x, q)", "", "violated"),
    "in a row, the largest in": ("t, at = TopK(a, v1) y = Concat<axis = 0>(x, t)", "", "-9 <= x < 9"),
    "in a row, the largest may be out": ("t, at = TopK(a, v1) q = Add(t, one) y = Concat<axis = 0>(a, q)", "0, 9", "undecided"),
    "nonzero of eight axes": ("sh = Constant<value_ints = [1, 1, 1, 1, 1, 1, 9, 4]>() m = Reshape(mask, sh) n = NonZero(m) y = Gather(n, neg)", "0, 3", "proved"),
    "uint8 to int64, plus": ("c = Cast<to = 7>(byte) y = Add(c, four)", "4, 259", "byte < 5"),
    "uint8 to int64, minus": ("c = Cast<to = 7>(byte) y = Sub(c, four)", "-4, 251", "byte < 13"),
    "int32 plus a size": ("e = Shape(x) s = Squeeze(e) f = Cast<to = 6>(s) y = Add(w, f)", "", "undecided"),
    "uint8 to int64, plus a size": ("e = Shape(x) s = Squeeze(e) c = Cast<to = 7>(byte) y = Add(c, s)", "N, N + 255", "byte < 9 - N"),
    "int32, cast and plus a size": ("e = Shape(x) s = Squeeze(e) f = Add(x, s) y = Cast<to = 6>(f)", "", "undecided"),
}  # fmt: skip

LOOSE = {
    "positions in steps of two",
    "range by two", "nonzero concat", "cast from int32", "cast to int8", "product to int8", "grows, other half",
    "rows limited", "kept by a loop", "raised to a limit by a loop", "lowered to a limit by a loop",
    "kept from below by a loop", "kept from above by a loop", "the largest of argmax plus",
    "nonzero sliced, no axes", "wrapped of a cast", "wrapped of a plus that wraps", "int32 at its least",
    "an end at the least of int64", "an end at the most of int64", "int32 plus at its end", "limited sum in half",
    "grows, in int32 to the end",
    "limited, cast to int32, limited", "uint8 plus", "uint8 plus, plus again", "nonzero picked at another axis",
    "nonzero sliced by two", "nonzero reversed", "wrapped in int32", "wrapped int32 plus",
    "half of a at the ends", "half of a, none below", "half of p shifted twice", "test of a difference",
    "test by a float", "sum in half, floats between", "floats to int8 past its least", "floats to int8 past its most",
    "quotient of sizes to int8", "grows, other test is falling", "grows, to int8",
}  # fmt: skip
"""Rows whose span has an end that is no element."""

READ = {
    "tiled", "split", "wrapped the wrong way", "two inputs chosen", "compressed", "different ones", "different ones of rows",
    "wrapped, moved before",
    "wrapped uint8",
    "of any rank, repeated", "of any rank, tiled", "of any rank, split", "of any rank, split last",
    "wrapped, limited before, by more", "wrapped, limited below before", "chosen, a number", "chosen, a number above", "chosen, a number below",
}  # fmt: skip
"""Rows that are said to read some elements of an input, nobody knows which, and read all that matter in every run."""


def proto_of(nodes: str, *, with_table: bool) -> Any:
    used = {name: kind for name, kind in INPUTS.items() if f"({name}" in HEAD + nodes or f" {name}" in HEAD + nodes}
    inputs = [f"{kind}[{', '.join(map(str, shape))}] {name}" for name, (kind, shape) in used.items()]
    last = "z = Gather(table, y)" if with_table else ""
    return model(f"(float[{ROWS}, 2] table, {', '.join(inputs)}) => (y) {{ {HEAD} {nodes} {last} }}", opset=18)


@cache
def inferred(nodes: str) -> Inference:
    return infer(proto_of(nodes, with_table=True))


@cache
def runs(nodes: str) -> tuple[tuple[dict[str, int], dict[str, Array], dict[str, Any]], ...]:
    """Sizes, inputs and every value of runs up to the index."""
    proto, rng = proto_of(nodes, with_table=False), np.random.default_rng(7)
    runtime = Runtime(proto)
    found = []
    for n in (1, 1, 2, 2, 5, 8, 9, 10, 11, 30, 47, 300):
        for _ in range(4):
            feeds = {}
            for given in proto.graph.input:
                kind, shape = INPUTS.get(given.name, ("float", (ROWS, 2)))
                sizes = tuple(n if d == "N" else int(d) for d in shape)
                if kind == "float":
                    feeds[given.name] = np.maximum(rng.normal(size=sizes), 0).astype(np.float32)
                else:
                    feeds[given.name] = _integers(rng, np.dtype(kind), sizes)
            found.append(({"N": n}, feeds, runtime.run(feeds)))
    return tuple(found)


def _integers(rng: np.random.Generator, kind: np.dtype[Any], sizes: tuple[int, ...]) -> Array:
    """Small ones, ones up to 2^30, or the same one many times.

    Larger ones than 2^31 are not for onnxruntime 1.31, whose Clip of several int64 looks at 32 bits of some of them.
    """
    least, most = rng.choice([(-20, 20), (-9, 8), (-18, 8), (0, 8), (1, 8), (-60, 60), (0, 0)])
    made = rng.integers(least, most, sizes, np.int64, endpoint=True)
    match rng.integers(5):
        case 0:
            made = (2.0 ** rng.uniform(0, 30, sizes)).astype(np.int64) * rng.choice([-1, 1], sizes)
        case 1:
            made = np.full(sizes, made.flat[0])
    if kind.kind == "u":
        made = np.abs(made)
    return made.astype(kind)


def holds(condition: Condition, sizes: Mapping[str, int], feeds: Mapping[str, Array]) -> bool:
    if not isinstance(condition.left, Elements):
        return evaluate(difference(condition), sizes) >= 0
    elements = feeds[condition.left.input]
    if condition.left.column is not None:
        elements = elements[..., condition.left.column]
    limit = evaluate(condition.right, sizes)
    return bool(np.all(elements >= limit) if condition.relation == ">=" else np.all(elements < limit))


def outcomes(nodes: str) -> Iterator[bool]:
    """Of each run with an index whether it is in bounds."""
    for _, _, values in runs(nodes):
        if values["y"].size:
            yield bool(np.all((values["y"] >= -ROWS) & (values["y"] < ROWS)))


def check_conditions(verdict: Verdict, nodes: str) -> bool:
    """The conditions are exact; of elements of which only some are read, as far as these go. Whether some are not read.

    Those that are not tight are enough.
    """
    is_exact = verdict.tight and all(c.left.whole for c in verdict.conditions if isinstance(c.left, Elements))
    passed_unmet = False
    for (sizes, feeds, _), passes in zip((r for r in runs(nodes) if r[2]["y"].size), outcomes(nodes), strict=True):
        met = all(holds(c, sizes, feeds) for c in verdict.conditions)
        assert passes if met else not (is_exact and passes), (sizes, feeds)
        passed_unmet |= passes and not met
    return is_exact or passed_unmet or not verdict.tight


def ends(span: Span | None) -> str:
    return "" if span is None else f"{'...' if span.lo is None else span.lo}, {'...' if span.hi is None else span.hi}"


@pytest.mark.parametrize("name", TABLE)
def test_what_is_said_holds(name: str) -> None:
    nodes, span, verdict = TABLE[name]
    inference = inferred(nodes)
    for sizes, _, values in runs(nodes):
        assert compare(inference, values, sizes).wrong == [], sizes
    y = inference["y"]
    assert isinstance(y, SymbolicTensor)
    assert ends(y.span) == span
    if y.span is not None and name not in LOOSE:
        for end, pick in ((y.span.lo, np.min), (y.span.hi, np.max)):
            reached = [
                pick(values["y"]) == evaluate(end, sizes)
                for sizes, _, values in runs(nodes)
                if end is not None and values["y"].size
            ]
            assert end is None or any(reached), (end, "is never reached")
    found = verdicts(inference)[-1]
    said, _, is_ = re.fullmatch(r"(.*?)( \((proved|violated)\))?", verdict).groups("")
    assert (found.condition if found.tight else f"enough: {found.condition}") or str(found.kind) == said
    seen = set(outcomes(nodes))
    expected = {"proved": {True}, "violated": {False}}.get(is_ or said, {True, False})
    assert seen == expected
    if found.kind is Kind.CONDITIONAL:
        assert check_conditions(found, nodes) or name in READ


def test_an_operator_of_another_domain_is_not_followed() -> None:
    """Whatever it is called: only the rule of the caller knows what `local.Range` is."""
    rules = RuleSet("local")

    @rules.rule("Range")
    def anything(op: OpCall) -> list[SymbolicTensor]:
        return [SymbolicTensor(DType.INT64, (op.fresh("it depends on data"),))]

    body = f"(float[{ROWS}, 2] table, float[N] scores) => (z) {{ {HEAD.partition('a = ')[0]} y = local.Range(zero, nine, one) z = Gather(table, y) }}"
    inference = infer(model(body, domains=', "local": 1'), rules=[rules])
    assert inference["y"].span is None
    assert verdicts(inference)[-1].kind is Kind.UNDECIDED


@pytest.mark.parametrize(
    ("moves", "permutes", "said"),
    [(None, False, "undecided"), (0, False, "undecided"), (1, False, "-9 <= x < 9"), (1, True, "-9 <= x < 9")],
)
def test_an_operator_of_another_domain_is_followed_where_it_moves(moves: int | None, permutes: bool, said: str) -> None:
    """What `local.Turn` gives are elements of x, and of nothing else; x itself is an input of the graph."""
    rules = RuleSet("local")

    @rules.rule("Turn", moves=moves, permutes=permutes)
    def turn(op: OpCall) -> list[SymbolicTensor]:
        return [SymbolicTensor(DType.INT64, op.tensor(1).shape)]

    body = f"(float[{ROWS}, 2] table, int64[N] x, int64[M] other) => (z) {{ q = Mul(other, other) y = local.Turn(q, x) z = Gather(table, y) }}"
    inference = infer(model(body, domains=', "local": 1'), rules=[rules])
    verdict = verdicts(inference)[-1]
    assert (verdict.condition or str(verdict.kind)) == said
    whole = [c.left.whole for c in verdict.conditions if isinstance(c.left, Elements)]
    assert whole == ([permutes, permutes] if moves == 1 else [])


@pytest.mark.parametrize("dtype", [DType.INT64, DType.FLOAT32, DType.BOOL])
def test_what_moves_may_be_left_out(dtype: DType) -> None:
    rules = RuleSet("local")
    rules.rule("Turn", moves=1, permutes=True)(lambda op: [SymbolicTensor(dtype, op.tensor(0).shape)])
    inference = infer(model("(int64[N] x) => (y) { y = local.Turn(x) }", domains=', "local": 1'), rules=[rules])
    assert inference["y"] == SymbolicTensor(dtype, inference["x"].shape)


def test_floats_are_followed_through_an_operator_of_another_domain() -> None:
    rules = RuleSet("local")
    rules.rule("Turn", moves=0, permutes=True)(lambda op: [SymbolicTensor(DType.FLOAT32, op.tensor(0).shape)])
    nodes = "c = Clip(x, zero, big) f = Cast<to = 1>(c) q = Div(f, five) r = {} (q) y = Cast<to = 7>(r) z = Gather(table, y)"
    head = HEAD.partition("a = ")[0]
    for turn in ("local.Turn", "Transpose"):
        body = f"(float[{ROWS}, 2] table, int64[N] x) => (z) {{ {head} {nodes.format(turn)} }}"
        inference = infer(model(body, domains=', "local": 1'), rules=[rules])
        assert verdicts(inference)[-1].kind is Kind.PROVED, turn


def test_a_rule_of_the_caller_leaves_an_operator_what_it_is() -> None:
    """It is the same Reshape, whoever has written its rule."""
    rules = RuleSet("")
    rules.rule("Reshape")(lambda op: [SymbolicTensor(DType.INT64, (op.tensor(0).shape or (0,))[:1])])
    body = f"(float[{ROWS}, 2] table, int64[N] x) => (z) {{ {HEAD.partition('a = ')[0]} y = Reshape(x, all) z = Gather(table, y) }}"
    verdict = verdicts(infer(model(body), rules=[rules]))[-1]
    assert verdict.condition == "-9 <= x < 9"
    assert all(c.left.whole for c in verdict.conditions if isinstance(c.left, Elements))


def test_counts_are_kept_by_what_permutes_only() -> None:
    """NonZero(m) has as many columns as ReduceSum(m) says; what may leave elements out says nothing of the sum."""
    for permutes in (True, False):
        rules = RuleSet("local")
        rules.rule("Turn", moves=0, permutes=permutes)(lambda op: [SymbolicTensor(DType.INT64, op.tensor(0).shape)])
        body = "(bool[N] m) => (n, s) { n = NonZero(m) c = Cast<to = 7>(m) t = local.Turn(c) s = ReduceSum<keepdims = 0>(t) }"
        inference = infer(model(body, domains=', "local": 1'), rules=[rules])
        n, s = inference["n"], inference["s"]
        assert isinstance(n, SymbolicTensor) and isinstance(s, SymbolicTensor) and n.shape is not None
        assert (s.only_element == n.shape[1]) is permutes


def test_a_column_of_an_index_is_an_input_of_its_own() -> None:
    """Both have one column, so neither has a column 1 of which something could be demanded."""
    proto = model(
        "(float[9, 7] table, int64[N, 1] u, int64[N, 1] v) => (y) { i = Concat<axis = -1>(u, v) y = GatherND(table, i) }"
    )
    assert [found.condition for found in verdicts(infer(proto))] == ["-9 <= u < 9", "-7 <= v < 7"]
    runtime, table = Runtime(proto), np.zeros((9, 7), np.float32)
    for u, v, passes in ((8, 6, True), (-9, -7, True), (9, 0, False), (0, 7, False), (-10, 0, False), (0, -8, False)):
        feeds = {"table": table, "u": np.array([[u]]), "v": np.array([[v]])}
        if passes:
            runtime.run(feeds)
        else:
            with pytest.raises(InvalidArgument, match="invalid index found"):
                runtime.run(feeds)


def test_a_column_that_an_input_does_not_have_is_not_spoken_of() -> None:
    """Where repeats the one column of u, so that it is both the row and the column of an index."""
    proto = model(
        "(float[9, 7] table, bool[N, 1] t, int64[N, 1] u, int64[N, 2] v) => (y) { i = Where(t, u, v) y = GatherND(table, i) }"
    )
    runtime = Runtime(proto)
    feeds = {"table": np.zeros((9, 7), np.float32), "t": np.array([[True]]), "v": np.array([[0, 0]])}
    runtime.run({**feeds, "u": np.array([[6]])})
    with pytest.raises(InvalidArgument, match="invalid index found"):
        runtime.run({**feeds, "u": np.array([[8]])})
    for verdict in verdicts(infer(proto)):
        assert verdict.kind in (Kind.UNDECIDED, Kind.CONDITIONAL)
        assert all(c.left.input == "v" for c in verdict.conditions if isinstance(c.left, Elements) and c.left.column)


@pytest.mark.parametrize("pick", ["Gather<axis = 1>(v, j)", "GatherElements<axis = 1>(v, j2)"])
def test_columns_that_are_picked_are_not_told_apart(pick: str) -> None:
    """The index (8, 8) is made of the one column 0, whose 8 is in bounds of the rows alone."""
    proto = model(
        f"(float[9, 7] table, int64[N, 2] v, int64[2] j) => (y) {{ v0 = Constant<value_ints = [0]>() j2 = Unsqueeze(j, v0) i = {pick} y = GatherND(table, i) }}"
    )
    feeds = {"table": np.zeros((9, 7), np.float32), "v": np.array([[8, 6]])}
    Runtime(proto).run({**feeds, "j": np.array([0, 1])})
    with pytest.raises(InvalidArgument, match="invalid index found"):
        Runtime(proto).run({**feeds, "j": np.array([0, 0])})
    for access in infer(proto).accesses[-2:]:
        assert bounds.verdict(access).kind is Kind.UNDECIDED


COLUMNS = {
    # id: (nodes that make the index i of (row, column) from v, what is said of either)
    "as it is": ("i = Identity(v)", "-9 <= v[..., 0] < 9; -7 <= v[..., 1] < 7"),
    "turned": ("i = Transpose(v)", "undecided; undecided"),
    "turned by name": ("i = Transpose<perm = [1, 0]>(v)", "undecided; undecided"),
    "turned twice": ("t = Transpose(v) i = Transpose(t)", "undecided; undecided"),
    "rows in another order": ("i = Slice(v, last, far, v0, last)", "undecided; undecided"),
    "columns in another order": ("i = Slice(v, last, far, v1, last)", "undecided; undecided"),
    "the first row": ("i = Slice(v, v0, v1, v0)", "undecided; undecided"),
    "the last row": ("i = Gather(v, last)", "undecided; undecided"),
    "the first column twice": ("c = Slice(v, v0, v1, v1) i = Concat<axis = 1>(c, c)", "-9 <= v < 9; -7 <= v < 7"),
    "the columns apart": ("c = Slice(v, v0, v1, v1) d = Slice(v, v1, v2, v1) i = Concat<axis = 1>(d, c)", "-9 <= v < 9; -7 <= v < 7"),
    "twice": ("i = Concat<axis = 0>(v, v)", "undecided; undecided"),
    "reshaped": ("s = Concat<axis = 0>(v2, v2) i = Reshape(v, s)", "undecided; undecided"),
    "flat and back": ("f = Reshape(v, last) s = Concat<axis = 0>(v2, v2) i = Reshape(f, s)", "undecided; undecided"),
    "repeated": ("s = Concat<axis = 0>(v2, v1) i = Tile(v, s)", "undecided; undecided"),
    "repeated nowhere": ("s = Concat<axis = 0>(v2, v2) i = Expand(v, s)", "undecided; undecided"),
    "split": ("i, r = Split<axis = 0>(v)", "undecided; undecided"),
    "split in columns": ("c, d = Split<axis = 1>(v) i = Concat<axis = 1>(d, c)", "-9 <= v < 9; -7 <= v < 7"),
    "limited": ("i = Clip(v, zero, six)", "proved; proved"),
    "limited below": ("i = Clip(v, zero)", "v[..., 0] < 9; v[..., 1] < 7"),
    "plus": ("i = Add(v, one)", "-10 <= v[..., 0] < 8; -8 <= v[..., 1] < 6"),
    "plus, rows turned": ("p = Add(v, one) i = Slice(p, last, far, v0, last)", "undecided; undecided"),
    "wrapped": ("t = Less(v, zero) p = Add(v, six) i = Where(t, p, v)", "-15 <= v[..., 0] < 9; -13 <= v[..., 1] < 7"),
    "chosen": ("t = Less(v, one) i = Where(t, v, v)", "undecided; undecided"),
    "reversed along": ("n = Concat<axis = 0>(v2, v2) i = ReverseSequence<batch_axis = 0, time_axis = 1>(v, n)", "undecided; undecided"),
    "one more axis": ("i = Unsqueeze(v, v0)", "undecided; undecided"),
}  # fmt: skip
COLUMNS_HEAD = """zero = Constant<value_int = 0>() one = Constant<value_int = 1>() six = Constant<value_int = 6>() v0 = Constant<value_ints = [0]>()
    v1 = Constant<value_ints = [1]>() v2 = Constant<value_ints = [2]>() last = Constant<value_ints = [-1]>() far = Constant<value_ints = [-99]>()"""


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_demanded_of_a_column(name: str) -> None:
    """All of it is met wherever onnxruntime passes; where no access is undecided it passes wherever all is met."""
    nodes, said = COLUMNS[name]
    proto = model(f"(float[9, 7] table, int64[2, 2] v) => (y) {{ {COLUMNS_HEAD} {nodes} y = GatherND(table, i) }}")
    found = [bounds.verdict(access) for access in infer(proto).accesses[-2:]]
    assert "; ".join(verdict.condition or str(verdict.kind) for verdict in found) == said
    assert [verdict.access.axis for verdict in found] == [0, 1]
    runtime, seen = Runtime(proto), set()
    for numbers in itertools.product((-14, -8, 6, 8), repeat=4):
        v = np.array(numbers).reshape(2, 2)
        feeds = {"table": np.zeros((9, 7), np.float32), "v": v}
        met = all(holds(c, {}, feeds) for verdict in found for c in verdict.conditions)
        exact = all(c.left.whole for verdict in found for c in verdict.conditions if isinstance(c.left, Elements))
        try:
            runtime.run(feeds)
        except InvalidArgument:
            assert not met or Kind.UNDECIDED in {verdict.kind for verdict in found}, v
        else:
            assert met or not exact, v
            seen.add(met)
    assert True in seen
