"""`unfreeze` of lengths: positions in merged axes, tables, masks, and numbers that may follow the length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gather_infer import unfreeze
from gather_infer.unfreezing.constants.tables import why_not_cut
from gather_infer.unfreezing.row_checks.rows import _Check
from tests.unfreezing.cases import Case, check_dynamic, check_refused
from tests.verification.models import model

SEQ = ("x.1=seq",)
LARGE = (1, 2, 3, 7)
LENGTH = "n = Shape<start=1, end=2>(x) l = Squeeze(n) r = Range(z, l, o) "
CASES = {
    "positions that are not 0, in rows and columns as one axis": Case(
        "(float[2,3,2] x) => (float[n,2] y) <int64[2] s = {6,2}, int64[1] t = {1}, float z = {0}, int64[1] a = {0}> "
        "{ d = Reshape(x, s) m = ReduceSum<keepdims=0>(d, t) g = Greater(m, z) n = NonZero(g) i = Squeeze(n, a) "
        "y = Gather<axis=0>(d, i) }",
        "(float[2,seq,2] x) => (float[n,2] y) <int64[2] s = {-1,2}, int64[1] t = {1}, float z = {0}, int64[1] a = {0}> "
        "{ d = Reshape(x, s) m = ReduceSum<keepdims=0>(d, t) g = Greater(m, z) n = NonZero(g) i = Squeeze(n, a) "
        "y = Gather<axis=0>(d, i) }",
        SEQ,
        sizes=LARGE,
    ),
    "elements written back to such positions": Case(
        "(float[2,3,2] x) => (float[2,3,2] y) <int64[2] s = {6,2}, int64[1] t = {1}, float z = {0}, "
        "float[6,2] o = {0,0,0,0,0,0,0,0,0,0,0,0}, int64[3] u = {2,3,2}> "
        "{ d = Reshape(x, s) m = ReduceSum<keepdims=0>(d, t) g = Greater(m, z) n = NonZero(g) "
        "i = Transpose<perm=[1,0]>(n) v = GatherND(d, i) w = Neg(v) q = ScatterND(o, i, w) r = Reshape(q, u) "
        "y = Add(r, x) }",
        "(float[2,seq,2] x) => (float[2,seq,2] y) <int64[1] t = {2}, float z = {0}> "
        "{ m = ReduceSum(x, t) g = Greater(m, z) n = Neg(x) e = Sub(x, x) w = Where(g, n, e) y = Add(w, x) }",
        SEQ,
        sizes=LARGE,
    ),
    "components of positions that a Split parts": Case(
        "(float[2,3] x) => (float[2,3] y) <int64[1] s = {6}, float z = {0}, int64[2] one = {1,1}, int64[1] a = {1}, "
        "float[6] o = {0,0,0,0,0,0}, int64[2] u = {2,3}, int64[2] v = {1,6}> "
        "{ f = Reshape(x, v) g = Greater(f, z) n = NonZero(g) t = Transpose<perm=[1,0]>(n) "
        "b, c = Split<axis=1>(t, one) i = Squeeze(c, a) d = Reshape(x, s) e = Gather(d, i) "
        "q = ScatterElements(o, i, e) y = Reshape(q, u) }",
        "(float[2,seq] x) => (float[2,seq] y) { y = Relu(x) }",
        SEQ,
        sizes=LARGE,
    ),
    "rows times the number of columns, plus a column": Case(
        "(float[2,3] x) => (float[n] y) <int64[1] s = {6}, float z = {0}, int64 p = {0}, int64 q = {1}, int64 w = {3}> "
        "{ f = Reshape(x, s) g = Greater(x, z) n = NonZero(g) b = Gather(n, p) c = Gather(n, q) m = Mul(b, w) "
        "i = Add(m, c) y = Gather(f, i) }",
        "(float[2,seq] x) => (float[n] y) <int64[1] s = {-1}, float z = {0}> "
        "{ g = Greater(x, z) f = Reshape(x, s) h = Reshape(g, s) y = Compress<axis=0>(f, h) }",
        SEQ,
        sizes=LARGE,
    ),
    "row and column of the largest element": Case(
        "(float[2,3] x) => (float[3] u, float[2] v) <int64[1] s = {6}, int64 w = {3}> "
        "{ f = Reshape(x, s) i = ArgMax<axis=0, keepdims=0>(f) b = Div(i, w) c = Mod(i, w) u = Gather<axis=0>(x, b) "
        "v = Gather<axis=1>(x, c) }",
        "(float[2,seq] x) => (float[seq] u, float[2] v) <int64[1] s = {-1}, int64 o = {1}> "
        "{ n = Shape(x) w = Gather(n, o) f = Reshape(x, s) i = ArgMax<axis=0, keepdims=0>(f) b = Div(i, w) "
        "c = Mod(i, w) u = Gather<axis=0>(x, b) v = Gather<axis=1>(x, c) }",
        SEQ,
        sizes=LARGE,
    ),
    "the row of the largest element in merged rows": Case(
        "(float[2,3,2] x) => (float[2] y) <int64[1] s = {12}, int64[2] u = {6,2}, int64 w = {2}> "
        "{ f = Reshape(x, s) i = ArgMax<axis=0, keepdims=0>(f) t = Div(i, w) d = Reshape(x, u) y = Gather(d, t) }",
        "(float[2,seq,2] x) => (float[2] y) <int64[1] s = {-1}, int64[2] u = {-1,2}, int64 w = {2}> "
        "{ f = Reshape(x, s) i = ArgMax<axis=0, keepdims=0>(f) t = Div(i, w) d = Reshape(x, u) y = Gather(d, t) }",
        SEQ,
        sizes=LARGE,
    ),
    "rows of positions by a division of floats that rounds to 0": Case(
        "(float[2,3] x) => (float[n] y) <int64[1] s = {6}, float z = {0}, int64[1] a = {0}, float w = {3}, "
        "float[2] t = {5,9}> { f = Reshape(x, s) g = Greater(f, z) n = NonZero(g) i = Squeeze(n, a) c = Cast<to=1>(i) "
        "d = Div(c, w) b = Abs(d) h = Floor(b) q = Sign(d) m = Mul(h, q) r = Cast<to=7>(m) e = Gather(f, i) "
        "v = Gather(t, r) y = Mul(e, v) }",
        "(float[2,seq] x) => (float[n] y) <int64[1] s = {-1}, float z = {0}, float[2,1] t = {5,9}> "
        "{ g = Greater(x, z) e = Mul(x, t) f = Reshape(e, s) h = Reshape(g, s) y = Compress<axis=0>(f, h) }",
        SEQ,
        sizes=LARGE,
    ),
    "sines and cosines of numbered positions, parted by a Split": Case(
        "(float[1,3,1] x) => (float[1,3,1] y) <float[1,8,2] t = {1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2}, "
        "int64[1,3,2] i = {2,2,3,3,4,4}, int64[2] h = {1,1}> "
        "{ j = Identity(i) g = GatherElements<axis=1>(t, j) a, b = Split<axis=2>(g, h) m = Mul(x, a) y = Add(m, b) }",
        "(float[1,seq,1] x) => (float[1,seq,1] y) <float[1,8,2] t = {1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2}, "
        "int64 z = {2}, int64 two = {2}, int64 o = {1}, int64[2] h = {1,1}> "
        "{ n = Shape<start=1, end=2>(x) k = Squeeze(n) l = Add(k, two) r = Range(z, l, o) g = Gather<axis=1>(t, r) "
        "a, b = Split<axis=2>(g, h) m = Mul(x, a) y = Add(m, b) }",
        SEQ,
        sizes=(1, 2, 3, 6),
    ),
    "a table of positions as a factor": Case(
        "(float[1,3,2] x) => (float[1,3,3] y) <float[2,3] t = {1,2,3,5,9,8}> "
        "{ p = MatMul(x, t) q = Transpose<perm=[0,2,1]>(x) c = MatMul(x, q) y = Add(c, p) }",
        "(float[1,seq,2] x) => (float[1,seq,seq] y) <float[2,3] t = {1,2,3,5,9,8}, int64[1] z = {0}, int64[1] a = {1}> "
        "{ n = Shape<start=1, end=2>(x) k = Slice(t, z, n, a) p = MatMul(x, k) q = Transpose<perm=[0,2,1]>(x) "
        "c = MatMul(x, q) y = Add(c, p) }",
        SEQ,
        most=3,
    ),
    "two numbers, which any two are a progression of": Case(
        "(float[1,2,3] x) => (float[1,2,3] y) <int64[2] k = {1,3}, float[4,1] t = {1,2,4,8}> "
        "{ g = Gather(t, k) y = Add(x, g) }",
        "(float[1,seq,3] x) => (float[1,seq,3] y) <int64[2] k = {1,3}, float[4,1] t = {1,2,4,8}, int64[1] z = {0}> "
        "{ n = Shape<start=1, end=2>(x) c = Slice(k, z, n) g = Gather(t, c) y = Add(x, g) }",
        SEQ,
        most=2,
    ),
    "a repeated constant that is reshaped, with a target that keeps no size": Case(
        "(float[1,3,2,2] x) => (float[1,3,2,2] y) <float[1,1,4] q = {1,2,3,4}, int64[3] r = {1,3,1}, "
        "int64[4] s = {1,3,2,2}> { k = Tile(q, r) t = Reshape<allowzero=1>(k, s) y = Add(x, t) }",
        "(float[1,seq,2,2] x) => (float[1,seq,2,2] y) <float[1,1,2,2] q = {1,2,3,4}> { y = Add(x, q) }",
        SEQ,
    ),
    "a table of distances to positions of a past": Case(
        "(float[1,3,1] x, float[1,2,1] c) => (float[1,3,5] y) "
        "<float[1,3,5] t = {1,2,4,8,9,3,1,2,4,8,7,3,1,2,4}> "
        "{ k = Concat<axis=1>(c, x) p = Transpose<perm=[0,2,1]>(k) m = MatMul(x, p) y = Add(m, t) }",
        "(float[1,seq,1] x, float[1,2,1] c) => (float[1,seq,total] y) "
        "<float[1,3,5] t = {1,2,4,8,9,3,1,2,4,8,7,3,1,2,4}, int64[2] z = {0,0}, int64[2] a = {1,2}> "
        "{ k = Concat<axis=1>(c, x) p = Transpose<perm=[0,2,1]>(k) m = MatMul(x, p) e = Shape<start=1>(m) "
        "s = Slice(t, z, e, a) y = Add(m, s) }",
        SEQ,
        most=3,
    ),
    "a mask of a window of the last two positions": Case(
        "(float[1,4,4] x) => (float[1,4,4] y) <bool[1,4,4] m = {1,0,0,0,1,1,0,0,0,1,1,0,0,0,1,1}, float z = {-9}> "
        "{ y = Where(m, x, z) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <float z = {-9}, int64 k = {-1}> "
        "{ o = Shape(x) e = ConstantOfShape<value = float[1] {1}>(o) l = Trilu<upper=0>(e) u = Trilu<upper=1>(l, k) "
        "m = Cast<to=9>(u) y = Where(m, x, z) }",
        ("x.1=seq", "x.2=seq"),
        sizes=(1, 2, 3, 4, 7),
    ),
    "a mask of the positions of a past and before": Case(
        "(float[1,3,1] x, float[1,2,1] c) => (float[1,3,5] y) <bool[3,5] m = {1,1,1,0,0,1,1,1,1,0,1,1,1,1,1}, "
        "float z = {-9}> { k = Concat<axis=1>(c, x) p = Transpose<perm=[0,2,1]>(k) q = MatMul(x, p) "
        "y = Where(m, q, z) }",
        "(float[1,seq,1] x, float[1,2,1] c) => (float[1,seq,total] y) <float z = {-9}, int64 d = {2}> "
        "{ k = Concat<axis=1>(c, x) p = Transpose<perm=[0,2,1]>(k) q = MatMul(x, p) o = Shape(q) "
        "e = ConstantOfShape<value = float[1] {1}>(o) l = Trilu<upper=0>(e, d) m = Cast<to=9>(l) y = Where(m, q, z) }",
        SEQ,
        sizes=LARGE,
    ),
    "an index of rows and positions, the same for each of two": Case(
        "(float[1,3,2] x) => (float[2,3] y) <int64[1] s = {6}, int64[2,3] i = {0,2,4,0,2,4}> "
        "{ f = Reshape(x, s) y = Gather(f, i) }",
        "(float[1,seq,2] x) => (float[2,seq] y) <int64 z = {0}> { a = Gather<axis=2>(x, z) y = Concat<axis=0>(a, a) }",
        SEQ,
        sizes=LARGE,
    ),
    "parts of which none is empty where the model runs": Case(
        "(float[1,4] x) => (float[1,4] y) <float z = {0}, int64[1] a = {1}, int64[2] h = {1,1}> "
        "{ p = ReduceMax<keepdims=0>(x, a) n = ReduceMin<keepdims=0>(x, a) g = Greater(p, z) l = Less(n, z) "
        "f = Concat<axis=0>(g, l) k = NonZero(f) u, v = Split<axis=1>(k, h) w = Cast<to=1>(v) y = Add(x, w) }",
        "(float[1,seq] x) => (float[1,seq] y) <float o = {1}> { y = Add(x, o) }",
        SEQ,
        sizes=(4, 5, 7),
    ),
    "a mask of numbers, outside of a window": Case(
        "(float[1,4,4] x) => (float[1,4,4] y) <float[4,4] m = {0,0,5,5,0,0,0,5,5,0,0,0,5,5,0,0}> { y = Add(x, m) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <float z = {0}, float f = {5}, int64 k = {-1}, int64 j = {1}> "
        "{ o = Shape(x) e = ConstantOfShape<value = float[1] {1}>(o) l = Trilu<upper=0>(e, j) u = Trilu<upper=1>(l, k) "
        "m = Cast<to=9>(u) w = Where(m, z, f) y = Add(x, w) }",
        ("x.1=seq", "x.2=seq"),
        sizes=(1, 2, 3, 4, 7),
    ),
    "as many positions of a padded axis as there were": Case(
        "(float[1,1,5] x) => (float[1,1,5] y) <float[1,1,3] w = {1,2,4}, int64[1] b = {0}, int64[1] e = {5}, "
        "int64[1] a = {2}> { c = Conv<pads=[2,2]>(x, w) s = Slice(c, b, e, a) y = Add(s, x) }",
        "(float[1,1,seq] x) => (float[1,1,seq] y) <float[1,1,3] w = {1,2,4}> "
        "{ c = Conv<pads=[2,0]>(x, w) y = Add(c, x) }",
        ("x.2=seq",),
    ),
    "the positions after those of a past": Case(
        "(float[1,3] x, int64[1,5] m) => (float[1,3] y) <int64[1] b = {2}, int64[1] e = {9223372036854775807}, "
        "int64[1] a = {1}> { s = Slice(m, b, e, a) f = Cast<to=1>(s) y = Add(f, x) }",
        "(float[1,seq] x, int64[1,total] m) => (float[1,seq] y) <int64[1] b = {2}, int64[1] e = {9223372036854775807}, "
        "int64[1] a = {1}> { s = Slice(m, b, e, a) f = Cast<to=1>(s) y = Add(f, x) }",
        ("x.1=seq", "m.1=seq+2"),
        sizes=(),
    ),
    "the largest of each row, written to rows of as many": Case(
        f"(float[1,7,7] x) => (float[1,7,7] y) <int64[1] k = {{2}}, float[1,7,7] o = {{{', '.join('0' * 49)}}}, "
        f"float[1,7,2] u = {{{', '.join('1' * 14)}}}> "
        "{ v, i = TopK(x, k) m = ScatterElements<axis=-1>(o, i, u) y = Mul(m, x) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <int64[1] k = {2}> "
        "{ v, i = TopK(x, k) n = Shape(x) e = Shape(i) o = ConstantOfShape(n) "
        "u = ConstantOfShape<value = float[1] {1}>(e) m = ScatterElements<axis=-1>(o, i, u) y = Mul(m, x) }",
        ("x.1=seq", "x.2=seq"),
        sizes=LARGE[1:],
    ),
    "parts of positions with others before and behind": Case(
        "(float[1,3,1] x, float[1,1,1] c) => (float[1,1,1] w, float[1,3,1] y, float[1,1,1] z) "
        "<int64[3] p = {1,3,1}> "
        "{ k = Concat<axis=1>(c, x, c) r = Neg(k) w, y, z = Split<axis=1>(r, p) }",
        "(float[1,seq,1] x, float[1,1,1] c) => (float[1,1,1] w, float[1,seq,1] y, float[1,1,1] z) "
        "{ w = Neg(c) y = Neg(x) z = Neg(c) }",
        SEQ,
    ),
    "all but the first, to the number that there were": Case(
        "(float[1,3] x) => (float[1,2] y) <int64[1] b = {1}, int64[1] e = {3}> { y = Slice(x, b, e, b) }",
        "(float[1,seq] x) => (float[1,rest] y) <int64[1] b = {1}, int64[1] e = {9223372036854775807}> "
        "{ y = Slice(x, b, e, b) }",
        SEQ,
    ),
    "the positions behind as many as there were": Case(
        "(float[1,3,1] x, float[1,2,1] c) => (float[1,3,1] y, float[1,2,1] z) <int64[1] b = {0}, int64[1] e = {3}, "
        "int64[1] l = {9223372036854775807}, int64[1] a = {1}> "
        "{ k = Concat<axis=1>(x, c) r = Neg(k) y = Slice(r, b, e, a) z = Slice(r, e, l, a) }",
        "(float[1,seq,1] x, float[1,2,1] c) => (float[1,seq,1] y, float[1,2,1] z) { y = Neg(x) z = Neg(c) }",
        SEQ,
    ),
    "as many at the end as an axis has more": Case(
        "(float[1,5,1] x, float[1,2,1] c) => (float[1,2,1] y) <int64[1] b = {-2}, int64[1] e = {7}, int64[1] a = {1}> "
        "{ k = Concat<axis=1>(c, x) y = Slice(k, b, e, a) }",
        "(float[1,seq,1] x, float[1,2,1] c) => (float[1,2,1] y) "
        "<int64[1] b = {-2}, int64[1] e = {9223372036854775807}, int64[1] a = {1}> "
        "{ k = Concat<axis=1>(c, x) y = Slice(k, b, e, a) }",
        SEQ,
    ),
    "one of the first two positions": Case(
        "(float[1,5] x, int64[2] z) => (float[1,2] y) <int64 k = {2}> { i = Mod(z, k) y = Gather<axis=1>(x, i) }",
        "(float[1,seq] x, int64[2] z) => (float[1,2] y) <int64 k = {2}> { i = Mod(z, k) y = Gather<axis=1>(x, i) }",
        SEQ,
        sizes=(2, 3, 5, 7),
    ),
    "a sort is one up to the old length": Case(
        "(float[1,4] x) => (float[1,4] y, int64[1,4] i) <int64[1] k = {4}> { y, i = TopK<axis=1>(x, k) }",
        "(float[1,seq] x) => (float[1,seq] y, int64[1,seq] i) { k = Shape<start=1>(x) y, i = TopK<axis=1>(x, k) }",
        SEQ,
        most=4,
        sizes=(1, 2, 3, 4),
    ),
    "position numbers as floats": Case(
        "(float[1,3] x) => (float[1,3] y) <float[1,3] p = {0,1,2}> { y = Add(x, p) }",
        "(float[1,seq] x) => (float[1,seq] y) <int64 z = {0}, int64 o = {1}> "
        "{ " + LENGTH + "p = Cast<to=1>(r) y = Add(x, p) }",
        SEQ,
        sizes=LARGE,
    ),
    "linear biases that end at 0": Case(
        "(float[1,2,3] x) => (float[1,2,3] y) <float[2,3] p = {-0.5,-0.25,0,-0.2,-0.1,0}> { y = Add(x, p) }",
        "(float[1,2,seq] x) => (float[1,2,seq] y) <int64 z = {0}, int64 o = {1}, float[2,1] k = {0.25,0.1}> "
        "{ n = Shape<start=2, end=3>(x) l = Squeeze(n) r = Range(z, l, o) e = Sub(l, o) d = Sub(r, e) "
        "q = Cast<to=1>(d) p = Mul(q, k) y = Add(x, p) }",
        ("x.2=seq",),
        sizes=LARGE,
    ),
    "linear biases that begin at 0": Case(
        "(float[1,1,4] x) => (float[1,1,4] y) <float[4] p = {0,0.125,0.25,0.375}> { y = Add(x, p) }",
        "(float[1,1,seq] x) => (float[1,1,seq] y) <int64 z = {0}, int64 o = {1}, float k = {0.125}> "
        "{ n = Shape<start=2, end=3>(x) l = Squeeze(n) r = Range(z, l, o) q = Cast<to=1>(r) p = Mul(q, k) "
        "y = Add(x, p) }",
        ("x.2=seq",),
        sizes=LARGE,
    ),
    "position numbers that count down to 0": Case(
        "(float[1,3] x) => (float[1,3] y) <int64[1,3] p = {4,2,0}> { q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,seq] x) => (float[1,seq] y) <int64 z = {0}, int64 o = {1}, int64 k = {2}> "
        "{ " + LENGTH + "e = Sub(l, o) d = Sub(e, r) p = Mul(d, k) q = Cast<to=1>(p) y = Add(x, q) }",
        SEQ,
        sizes=LARGE,
    ),
    "distances of two positions": Case(
        "(float[1,3,3] x) => (float[1,3,3] y) <int64[3,3] p = {0,1,2,-1,0,1,-2,-1,0}> "
        "{ q = Cast<to=1>(p) y = Add(x, q) }",
        "(float[1,seq,seq] x) => (float[1,seq,seq] y) <int64 z = {0}, int64 o = {1}, int64[1] a = {1}> "
        "{ " + LENGTH + "c = Unsqueeze(r, a) p = Sub(r, c) q = Cast<to=1>(p) y = Add(x, q) }",
        ("x.1=seq", "x.2=seq"),
        sizes=LARGE,
    ),
    "the place of a position in blocks as long as the old length": Case(
        "(float[1,3] x) => (int64[1] y) <int64 w = {3}> { i = ArgMax<axis=1, keepdims=0>(x) y = Mod(i, w) }",
        "(float[1,seq] x) => (int64[1] y) <int64 w = {3}> { i = ArgMax<axis=1, keepdims=0>(x) y = Mod(i, w) }",
        SEQ,
        most=3,
    ),
    "positions in reverse": Case(
        "(float[1,3] x) => (float[1,3] y) <int64[3] i = {2,1,0}> { y = Gather<axis=1>(x, i) }",
        "(float[1,seq] x) => (float[1,seq] y) <int64[1] b = {-1}, int64[1] e = {-999}, int64[1] a = {1}> "
        "{ y = Slice(x, b, e, a, b) }",
        SEQ,
        sizes=LARGE,
    ),
    "a tensor that is written at all positions of a length": Case(
        "(float[1,3] x) => (float[1,3,2] y) <float[1,3,2] o = {0,0,0,0,0,0}, int64[1,3,3] i = {0,0,1,0,1,1,0,2,1}> "
        "{ y = ScatterND(o, i, x) }",
        "(float[1,seq] x) => (float[1,seq,2] y) <int64[1] a = {2}> "
        "{ e = Sub(x, x) d = Unsqueeze(e, a) u = Unsqueeze(x, a) y = Concat<axis=2>(d, u) }",
        SEQ,
        sizes=LARGE,
    ),
    "places below a number that they do not reach": Case(
        "(float[1,3] x) => (bool[1,3] y) <float z = {0}, int64 a = {1}, int64 c = {4}> "
        "{ g = Greater(x, z) i = Cast<to=7>(g) p = CumSum(i, a) y = Less(p, c) }",
        "(float[1,seq] x) => (bool[1,seq] y) <float z = {0}, int64 a = {1}, int64[1] o = {1}> "
        "{ g = Greater(x, z) i = Cast<to=7>(g) p = CumSum(i, a) n = Shape<start=1>(x) c = Add(n, o) y = Less(p, c) }",
        SEQ,
        most=3,
    ),
}  # fmt: skip
REFUSED = {
    "a mean as a sum and a division": (
        "(float[1,4] x) => (float[1,1] y) <int64[1] a = {1}, float n = {4}> { s = ReduceSum(x, a) y = Div(s, n) }",
        SEQ,
        "node Div#1 (Div): scales a sum over 4 positions by 4",
    ),
    "a variance as a sum and a product": (
        "(float[1,5] x) => (float[1] y) <int64[1] a = {1}, float n = {0.25}> "
        "{ q = Mul(x, x) s = ReduceSum<keepdims=0>(q, a) y = Mul(s, n) }",
        SEQ,
        "scales a sum over 5 positions by 0.25",
    ),
    "places below a capacity": (
        "(float[1,6] x) => (bool[1,6] y) <float z = {0}, int64 a = {1}, int64 c = {3}> "
        "{ g = Greater(x, z) i = Cast<to=7>(g) p = CumSum(i, a) y = Less(p, c) }",
        SEQ,
        "node Less#3 (Less): compares a count of up to 6 positions with 3",
    ),
    "an LSTM that reads a number of positions": (
        "(float[1,3,1] x) => (float[3,1,1,1] y) <float[1,4,1] w = {1,2,3,4}, float[1,4,1] r = {1,1,1,1}, "
        "int32[1] n = {3}> { t = Transpose<perm=[1,0,2]>(x) y = LSTM<hidden_size=1>(t, w, r, , n) }",
        SEQ,
        "node LSTM#1 (LSTM): requires 3 <= seq",
    ),
    "places below the number of positions": (
        "(float[1,3] x) => (bool[1,3] y) <float z = {0}, int64 a = {1}, int64 c = {3}> "
        "{ g = Greater(x, z) i = Cast<to=7>(g) p = CumSum(i, a) y = Less(p, c) }",
        SEQ,
        "compares a count of up to 3 positions with 3",
    ),
    "a table of positions and positions of a past, not of distances": (
        "(float[1,3,1] x, float[1,2,1] c) => (float[1,3,5] y) "
        "<float[1,3,5] t = {1,2,4,8,9,3,7,2,5,8,7,3,6,2,4}> "
        "{ k = Concat<axis=1>(c, x) p = Transpose<perm=[0,2,1]>(k) m = MatMul(x, p) y = Add(m, t) }",
        SEQ,
        "may be first, last or between",
    ),
    "a table of two rows, which may be counted from the last one": (
        "(float[1,2,2] x) => (float[1,2,2] y) <float[2,1] p = {-1,0}> { y = Add(x, p) }",
        SEQ,
        "its rows may be counted from the last one",
    ),
    "a table that is counted from the last position": (
        "(float[1,3,2] x) => (float[1,3,2] y) <float[3,2] p = {0.9,-0.4,0.8,0.5,0,1}> { y = Add(x, p) }",
        SEQ,
        "its rows may be counted from the last one",
    ),
    "a window function": (
        "(float[1,5] x) => (float[1,5] y) <float[5] p = {0,0.5,1,0.5,0}> { y = Mul(x, p) }",
        SEQ,
        "its rows are symmetric around the middle",
    ),
    "a periodic window function": (
        "(float[1,4] x) => (float[1,4] y) <float[4] p = {0.1,0.5,1,0.5}> { y = Mul(x, p) }",
        SEQ,
        "its rows have the length as their period",
    ),
    "positions from 0 to 1": (
        "(float[1,5] x) => (float[1,5] y) <float[5] p = {0,0.25,0.5,0.75,1}> { y = Add(x, p) }",
        SEQ,
        "its rows are fractions of the length",
    ),
    "positions as fractions of the length": (
        "(float[1,5] x) => (float[1,5] y) <float[5] p = {0.25,0.5,0.75,1,1.25}> { y = Add(x, p) }",
        SEQ,
        "its rows are fractions of the length",
    ),
    "numbers that count down to a past": (
        "(float[1,3] x) => (float[1,3] y) <int64[1,3] p = {4,3,2}> { q = Cast<to=1>(p) y = Add(x, q) }",
        SEQ,
        "may begin or end at a number that depends on the length",
    ),
    "numbers on both sides of 0": (
        "(float[1,3] x) => (float[1,3] y) <int64[1,3] p = {-1,0,1}> { q = Cast<to=1>(p) y = Add(x, q) }",
        SEQ,
        "may begin or end at a number that depends on the length",
    ),
    "the second of two positions, or all but the first": (
        "(float[1,2] x) => (float[1,1] y) <int64[1] b = {1}, int64[1] e = {2}> { y = Slice(x, b, e, b) }",
        SEQ,
        "cuts [1:2] out of an axis of seq",
    ),
    "parts of which two have as many positions": (
        "(float[1,3,1] x, float[1,3,1] c) => (float[1,3,1] y, float[1,3,1] z) <int64[2] p = {3,3}> "
        "{ k = Concat<axis=1>(c, x) y, z = Split<axis=1>(k, p) }",
        SEQ,
        "(Split): requires seq == 3",
    ),
    "half of an axis, whose past is as long": (
        "(float[1,2] x, int64[1,4] m) => (float[1,2] y) <int64[1] b = {2}, int64[1] e = {4}, int64[1] a = {1}> "
        "{ s = Slice(m, b, e, a) f = Cast<to=1>(s) y = Add(f, x) }",
        ("x.1=seq", "m.1=seq+2"),
        "cuts [2:4] out of an axis of seq + 2",
    ),
    "rows beside those of a past": (
        "(float[1,3,1] x, float[1,2,1] c) => (float[1,5,1] y) <float[1,5,1] t = {1,2,4,8,9}> "
        "{ k = Concat<axis=1>(c, x) y = Add(k, t) }",
        SEQ,
        "rows of its constant [1, 5, 1] along seq + 2 may be first, last or between",
    ),
    "positions that wrap around at the length": (
        "(float[1,5] x, int64[2] z) => (float[1,2] y) <int64 k = {5}> { i = Mod(z, k) y = Gather<axis=1>(x, i) }",
        SEQ,
        "reads the number 5, which may follow the length",
    ),
    "positions of a table that is as long": (
        "(float[1,5] x, float[4,5] z) => (float[1,4] y) { i = ArgMax<axis=1, keepdims=0>(z) y = Gather<axis=1>(x, i) }",
        SEQ,
        "node Gather#1 (Gather): its index is in bounds for seq >= 5 alone",
    ),
    "a running count that is divided by the number of positions": (
        "(float[1,4] x) => (int64[1,4] y) <float z = {0}, int64 a = {1}, int64 c = {4}> "
        "{ g = Greater(x, z) i = Cast<to=7>(g) p = CumSum(i, a) y = Div(p, c) }",
        SEQ,
        "scales a sum over 4 positions by 4",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_follow_the_length_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)


def test_a_length_is_compared_at_the_old_size_alone() -> None:
    rows = unfreeze(model("(float[1,4] x) => (float[1,4] y) { y = Neg(x) }"), SEQ).rows
    assert rows is not None and rows.runs == ("seq=4",)
    assert rows.ran == ("seq=1", "seq=2", "seq=3", "seq=5", "seq=8", "seq=9") and not rows.skipped


def test_a_length_that_is_not_compared_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """That the result runs at other lengths does not tell what it computes."""
    drawn = _Check._drawn
    monkeypatch.setattr(
        _Check, "_drawn", lambda check, sizes, attempt: None if sizes == {"seq": 4} else drawn(check, sizes, attempt)
    )
    result = unfreeze(model("(float[1,4] x) => (float[1,4] y) { y = Neg(x) }"), SEQ)
    assert result.rows is not None and not result.rows.runs and "seq=5" in result.rows.ran
    assert result.why_refused == "rows not compared: no inputs were found on which the original runs, seq=4"


def test_an_attention_that_reads_a_number_of_positions_is_refused() -> None:
    proto = model(
        "(float[1,3,8] x) => (float[1,3,8] y) <int32[1] k = {2}, int32 n = {3}> "
        "{ y = com.microsoft.GroupQueryAttention<num_heads=1, kv_num_heads=1>(x, x, x, , , k, n) }"
    )
    proto.opset_import.add(domain="com.microsoft", version=1)
    result = unfreeze(proto, SEQ)
    assert "reads 2 positions, which may be the old size of seq" in result.why_refused


@pytest.mark.parametrize("size", [3, 4, 7])
def test_tables_of_positions_are_cut(size: int) -> None:
    positions = np.arange(size)[:, None]
    angles = positions * np.array([1.0, 0.1, 0.01])
    learned = np.random.default_rng(size).standard_normal((size, 4))
    buckets = np.abs(positions - positions.T).astype(np.float32)
    for table in (np.sin(angles), np.cos(angles), np.hstack([np.sin(angles), np.cos(angles)]), learned, buckets):
        for axis in range(2 if table is buckets else 1):
            assert why_not_cut(table.astype(np.float32), axis) == ""


@pytest.mark.parametrize("size", [3, 4, 7])
def test_tables_that_depend_on_their_end_are_not_cut(size: int) -> None:
    positions = np.arange(size)[:, None]
    angles = positions * np.array([1.0, 0.1])
    steps = np.arange(size)[None, :] * positions
    assert why_not_cut(np.hstack([np.sin(angles), np.cos(angles)])[::-1], 0)
    assert why_not_cut(np.cos(2 * np.pi * steps / size).astype(np.float32), 0)  # of a Fourier transform
    assert why_not_cut(np.hstack([np.cos(2 * np.pi * steps / size), np.sin(2 * np.pi * steps / size)]), 0)
    for fractions in (
        np.linspace(-1, 1, size),
        np.linspace(0, 2, size),
        np.arange(size) / size,
        (np.arange(size) + 0.5) / (size - 1),
    ):
        assert why_not_cut(fractions, 0)
    assert why_not_cut(np.hanning(size), 0)
