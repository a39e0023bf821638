"""`unfreeze`: constant indices into an axis of a freed size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unfreezing.cases import BATCH, Case, check_dynamic, check_refused

SEQ = ("x.1=seq",)

CASES = {
    "an index that counts along another axis of the old size": Case(
        "(float[3,3,2] x) => (float[3,2] y) <int64[3,2] i = {0,0,1,0,2,0}> { y = GatherND(x, i) }",
        "(float[3,seq,2] x) => (float[3,2] y) <int64 i = {0}> { y = Gather<axis=1>(x, i) }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "an index of the diagonal": Case(
        "(float[3,3,2] x) => (float[3,2] y) <int64[3,2] i = {0,0,1,1,2,2}> { y = GatherND(x, i) }",
        "(float[seq,seq,2] x) => (float[seq,2] y) <int64[1] a = {1}, int64[1] s = {2}> "
        "{ o = Shape<end=2>(x) e = ConstantOfShape<value = float[1] {1}>(o) "
        "l = Trilu<upper=0>(e) u = Trilu<upper=1>(l) m = Unsqueeze(u, s) k = Mul(x, m) "
        "y = ReduceSum<keepdims=0>(k, a) }",
        ("x.0=seq", "x.1=seq"),
        sizes=(1, 2, 3, 7),
    ),
    "an index of each row and of the first position": Case(
        "(float[2,3] x) => (float[2] y) <int64[2,2] i = {0,0,1,0}> { y = GatherND(x, i) }",
        "(float[batch,seq] x) => (float[batch] y) <int64 i = {0}> { y = Gather<axis=1>(x, i) }",
        ("x.0=batch", "x.1=seq"),
    ),
    "rows that are scattered to the places of their numbers": Case(
        "(float[2,3] x) => (float[2,3] y) <float[2,3] d = {0,0,0,0,0,0}, int64[2,2] i = {0,1,1,1}, int64[1] a = {1}> "
        "{ u = ReduceMax<keepdims=0>(x, a) y = ScatterND(d, i, u) }",
        "(float[batch,3] x) => (float[batch,3] y) <float[3] k = {0,1,0}, int64[1] a = {1}> "
        "{ u = ReduceMax<keepdims=1>(x, a) y = Mul(u, k) }",
    ),
    "old size 1: a constant index into merged rows gets the row": Case(
        "(float[1,3] x) => (float[1] y) <int64[1] s = {3}, int64[1] i = {2}> { r = Reshape(x, s) y = Gather(r, i) }",
        "(float[batch,3] x) => (float[batch] y) <int64 i = {2}> { y = Gather<axis=1>(x, i) }",
    ),
    "a length beside an axis that a scatter addresses": Case(
        "(float[1,3,2] x) => (float[1,3,2] y) <float[1,3,2] d = {0,0,0,0,0,0}, float[1,3,1] u = {1,1,1}> "
        "{ i = ArgMax<axis=2>(x) s = ScatterElements<axis=2>(d, i, u) y = Add(s, x) }",
        "(float[1,seq,2] x) => (float[1,seq,2] y) <float[2] v = {0,1}, int64 n = {2}> "
        "{ i = ArgMax<axis=2, keepdims=0>(x) s = OneHot(i, n, v) y = Add(s, x) }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "an index of each row and each position": Case(
        "(float[2,3] x) => (float[2,3] y) <int64[2,3,2] i = {0,0,0,1,0,2,1,0,1,1,1,2}> "
        "{ g = GatherND(x, i) y = Neg(g) }",
        "(float[batch,seq] x) => (float[batch,seq] y) { y = Neg(x) }",
        ("x.0=batch", "x.1=seq"),
        sizes=(),
    ),
    "positions of all rows in one axis, each written to": Case(
        "(float[2,3,2] x) => (float[2,3,2] y) <int64[2] s = {6,2}, float[2,3,2] d = {0,0,0,0,0,0,0,0,0,0,0,0}, "
        "int64[6,2] i = {0,0,0,1,0,2,1,0,1,1,1,2}> "
        "{ r = Reshape(x, s) n = Neg(r) w = ScatterND(d, i, n) y = Add(w, x) }",
        "(float[2,seq,2] x) => (float[2,seq,2] y) { n = Neg(x) y = Add(n, x) }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
    "equal rows into which an input scatters": Case(
        "(float[2,5] x, int64[2,4] i, float[2,4] u) => (float[2,5] y) <float[2,5] d = {3,3,3,3,3,4,4,4,4,4}> "
        "{ s = ScatterElements<axis=-1, reduction = \"add\">(d, i, u) y = Add(s, x) }",
        "(float[2,seq] x, int64[2,4] i, float[2,4] u) => (float[2,seq] y) <float[2,1] k = {3,4}> "
        "{ o = Shape(x) d = Expand(k, o) s = ScatterElements<axis=-1, reduction = \"add\">(d, i, u) y = Add(s, x) }",
        SEQ,
        sizes=(3, 5, 7, 11),
    ),
    "rows into which an input scatters slices": Case(
        "(float[2,5] x, int64[4,1] i, float[4,2] u) => (float[2,5] y) <float[5,2] d = {0,0,0,0,0,0,0,0,0,0}> "
        "{ s = ScatterND<reduction = \"add\">(d, i, u) t = Transpose<perm=[1,0]>(s) y = Add(t, x) }",
        "(float[2,seq] x, int64[4,1] i, float[4,2] u) => (float[2,seq] y) "
        "{ v = Transpose<perm=[1,0]>(x) o = Shape(v) d = ConstantOfShape(o) "
        "s = ScatterND<reduction = \"add\">(d, i, u) t = Transpose<perm=[1,0]>(s) y = Add(t, x) }",
        SEQ,
        sizes=(3, 5, 7, 11),
    ),
    "slices that are scattered along a length": Case(
        "(float[2,2] x, float[1,1] v) => (float[2,2] y) <float[2,2] d = {0,0,0,0}, int64[1,1] i = {1}, "
        "int64[2] n = {1,2}> { u = Expand(v, n) s = ScatterND(d, i, u) y = Add(s, x) }",
        "(float[2,seq] x, float[1,1] v) => (float[2,seq] y) <float[2,1] k = {0,1}> { w = Mul(k, v) y = Add(w, x) }",
        SEQ,
        sizes=(0, 1, 2, 7),
    ),
    "elements that are scattered along a length": Case(
        "(float[2,3] x, float[1,1] v) => (float[2,3] y) <float[2,3] d = {0,0,0,0,0,0}, int64[1,3] i = {1,1,1}, "
        "int64[2] n = {1,3}> { u = Expand(v, n) s = ScatterElements<axis=0>(d, i, u) y = Add(s, x) }",
        "(float[2,seq] x, float[1,1] v) => (float[2,seq] y) <float[2,1] k = {0,1}> { w = Mul(k, v) y = Add(w, x) }",
        SEQ,
        sizes=(0, 1, 2, 7),
    ),
    "rows that are scattered and read at positions of an input": Case(
        "(float[2,5] x, int64[2,4] i) => (float[2,4] y) <float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, int64[1] a = {1}> "
        "{ j = Unsqueeze(i, a) k = Squeeze(j, a) g = GatherElements<axis=1>(x, i) "
        "s = ScatterElements<axis=1, reduction = \"add\">(d, k, g) y = GatherElements<axis=1>(s, i) }",
        "(float[2,seq] x, int64[2,4] i) => (float[2,4] y) { o = Shape(x) d = ConstantOfShape(o) "
        "g = GatherElements<axis=1>(x, i) s = ScatterElements<axis=1, reduction = \"add\">(d, i, g) "
        "y = GatherElements<axis=1>(s, i) }",
        SEQ,
        sizes=(3, 5, 7, 11),
    ),
    "old size 1: all positions of the row written to": Case(
        "(float[1,3,2] x) => (float[1,3,2] y) <int64[2] s = {3,2}, float[1,3,2] d = {0,0,0,0,0,0}, "
        "int64[3,2] i = {0,0,0,1,0,2}> { r = Reshape(x, s) n = Neg(r) w = ScatterND(d, i, n) y = Add(w, x) }",
        "(float[batch,3,2] x) => (float[batch,3,2] y) { n = Neg(x) y = Add(n, x) }",
    ),
    "positions found among values that count from the last one": Case(
        "(float[2,3] x) => (float[2] y) <float[3] p = {-2,-1,0}, int64[2] r = {0,3}, int64[1] m = {-1}> "
        "{ a = Add(x, p) i = ArgMax<axis=1, keepdims=0>(a) j = Add(i, r) f = Reshape(x, m) y = Gather(f, j) }",
        "(float[2,seq] x) => (float[2] y) <int64 z = {0}, int64 o = {1}, int64[1] a = {1}> "
        "{ h = Shape(x) n = Gather(h, o) r = Range(z, n, o) l = Sub(n, o) d = Sub(r, l) p = Cast<to=1>(d) "
        "v = Add(x, p) i = ArgMax<axis=1>(v) g = GatherElements<axis=1>(x, i) y = Squeeze(g, a) }",
        SEQ,
        sizes=(1, 2, 3, 7),
    ),
}  # fmt: skip
REFUSED = {
    "an index by old sizes, found among values that count from the last position": (
        "(float[2,3,2] x) => (float[2] y) <float[1,3,1] p = {-2,-1,0}, int64[2] s = {2,6}, int64[2] r = {0,6}, "
        "int64[1] m = {-1}> { a = Add(x, p) t = Reshape(a, s) i = ArgMax<axis=1, keepdims=0>(t) j = Add(i, r) "
        "f = Reshape(a, m) y = Gather(f, j) }",
        ("x.0=batch", "x.1=seq"),
        "reads in an axis of 2*batch*seq by steps of the old sizes",
    ),
    "an index of most positions": (
        "(float[2,3] x) => (float[5] y) <int64[5,2] i = {0,0,0,1,0,2,1,0,1,1}> { g = GatherND(x, i) y = Neg(g) }",
        SEQ,
        "reads at [0, 0, 0, 1]... in an axis of seq",
    ),
    "an index of a diagonal of which one axis is freed": (
        "(float[3,3,2] x) => (float[3,2] y) <int64[3,2] i = {0,0,1,1,2,2}> { y = GatherND(x, i) }",
        SEQ,
        "reads at [0, 0, 1, 1]... in an axis of seq",
    ),
    "an index of each row and of the last position": (
        "(float[2,3] x) => (float[2] y) <int64[2,2] i = {0,2,1,2}> { y = GatherND(x, i) }",
        ("x.0=batch", "x.1=seq"),
        "reads at [0, 2, 1, 2] in axes of batch and seq",
    ),
    "an index of each position and of the last one": (
        "(float[3,3] x) => (float[3] y) <int64[3,2] i = {0,2,1,2,2,2}> { y = GatherND(x, i) }",
        ("x.0=seq", "x.1=seq"),
        "reads at [0, 2, 1, 2]... in axes of seq and seq",
    ),
    "an index of a grid of positions": (
        "(float[2,2,2] x) => (float[2,2] y) <int64[2,2,3] i = {0,0,1,0,1,1,1,0,1,1,1,1}> { y = GatherND(x, i) }",
        ("x.0=seq", "x.1=seq"),
        "reads at [0, 0, 1, 0]... in axes of seq and seq",
    ),
    "two positions that are reversed, or rolled by one": (
        "(float[3,2] x) => (float[3,2] y) <int64[2] i = {1,0}> { y = Gather<axis=1>(x, i) }",
        SEQ,
        "reads at [1, 0] in an axis of seq",
    ),
    "an index into rows and positions in one axis": (
        "(float[2,3] x) => (float[2] y) <int64[1] s = {6}, int64[2] r = {0,3}> "
        "{ f = Reshape(x, s) i = ArgMax<axis=1, keepdims=0>(x) j = Add(i, r) y = Gather(f, j) }",
        ("x.0=batch", "x.1=seq"),
        "requires batch <= 2, of i [batch] and r [2]; numbers of its constant [2] may follow the length",
    ),
    "one of three entries of each row, by steps": (
        "(float[2,3] x) => (float[2] y) <int64[1] s = {6}, int64[1] b = {1}, int64[1] e = {9223372036854775807}, "
        "int64[1] a = {0}, int64[1] k = {3}> { r = Reshape(x, s) y = Slice(r, b, e, a, k) }",
        BATCH,
        "cuts [1::3] out of an axis of 3*batch",
    ),
    "the first entry of merged rows, of an old size of 1": (
        "(float[1,1] x) => (float[1] y) <float[1,1] c = {7}, int64[1] s = {2}, int64[1] b = {0}, int64[1] e = {1}> "
        "{ j = Concat<axis=1>(c, x) r = Reshape(j, s) y = Slice(r, b, e, b) }",
        BATCH,
        "cuts [0:1] out of an axis of 2*batch",
    ),
    "a position in merged rows that is not the first": (
        "(float[2,3] x) => (float[1] y) <int64[1] s = {6}, int64[1] i = {1}> { f = Reshape(x, s) y = Gather(f, i) }",
        SEQ,
        "reads at [1] in an axis of 2*seq",
    ),
    "the last position of merged rows": (
        "(float[2,3] x) => (float[1] y) <int64[1] s = {6}, int64[1] i = {-1}> { f = Reshape(x, s) y = Gather(f, i) }",
        SEQ,
        "reads at [-1] in an axis of 2*seq",
    ),
    "positions of merged rows, of one row or the other": (
        "(float[2,3] x) => (float[3] y) <int64[1] s = {6}, int64[3] i = {0,4,2}> { f = Reshape(x,s) y = Gather(f,i) }",
        SEQ,
        "reads at [0, 4, 2] in an axis of 2*seq",
    ),
    "a position of the first of merged rows": (
        "(float[2,3] x) => (float[1] y) <int64[1] s = {6}, int64[1] i = {1}> { f = Reshape(x, s) y = Gather(f, i) }",
        BATCH,
        "reads at [1] in an axis of 3*batch",
    ),
    "old size 1: an index of which the number of the row is not the outermost digit": (
        "(float[1,2,3] x) => (float[1] y) <int64[1] s = {6}, int64[1] i = {4}> "
        "{ t = Transpose<perm=[1,0,2]>(x) f = Reshape(t, s) y = Gather(f, i) }",
        BATCH,
        "reads at [4] in an axis of 6*batch",
    ),
    "a row by an input": (
        "(float[2,3] x, int64[1] i) => (float[1,3] y) { y = Gather(x, i) }",
        BATCH,
        "reads at an index without a row in an axis of batch",
    ),
    "the first positions of rows by an input, times the length": (
        "(float[2,3] x, int64[2] z) => (float[2] y) <int64[1] s = {6}, int64 w = {3}> "
        "{ f = Reshape(x, s) k = Mul(z, w) y = Gather(f, k) }",
        SEQ,
        "reads in an axis of 2*seq by steps of the old size",
    ),
    "a scatter at constant positions into equal rows": (
        "(float[2,5] x, float[2,4] u) => (float[2,5] y) <float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, "
        "int64[2,4] i = {0,3,1,2,0,3,1,2}> { s = ScatterElements<axis=1>(d, i, u) y = Add(s, x) }",
        SEQ,
        "reads at [0, 3, 1, 2]... in an axis of seq",
    ),
    "a scatter of as many updates as there are positions": (
        "(float[2,5] x, float[2,5] u) => (float[2,5] y) <float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, "
        "int64[2,5] i = {0,1,2,3,4,0,1,2,3,4}> { s = ScatterElements<axis=1>(d, i, u) y = Add(s, x) }",
        SEQ,
        "requires seq == 1 or seq == 5, of s [2, 5] and x [2, seq]; requires seq == 5",
    ),
    "a scatter at positions that a number keeps in bounds": (
        "(float[2,5] x, int64[2,4] i, float[2,4] u) => (float[2,5] y) <float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, "
        "int64 o = {0}, int64 l = {4}> { c = Clip(i, o, l) s = ScatterElements<axis=1>(d, c, u) y = Add(s, x) }",
        SEQ,
        "reads the number 4, which may follow the length",
    ),
    "a scatter of which the last position takes the rest": (
        "(float[2,5] x, int64[2,4] i, bool[2,4] m, float[2,4] u) => (float[2,5] y) "
        "<float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, int64 l = {4}> "
        "{ c = Where(m, i, l) s = ScatterElements<axis=1>(d, c, u) y = Add(s, x) }",
        SEQ,
        "reads positions with the number 4, which may follow the length",
    ),
    "a scatter at positions out of a table": (
        "(float[2,5] x, int64[2,4] i, float[2,4] u) => (float[2,5] y) "
        "<float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, int64[3] t = {2,4,1}> "
        "{ c = Gather(t, i) s = ScatterElements<axis=1>(d, c, u) y = Add(s, x) }",
        SEQ,
        "reads positions with the number 4, which may follow the length",
    ),
    "a scatter beside a part of a length": (
        "(float[2,5] x, float[1,1] v) => (float[2,5] y) <float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, int64[2] n = {1,3}> "
        "{ i = ConstantOfShape<value = int64[1] {1}>(n) u = Expand(v, n) "
        "s = ScatterElements<axis=0>(d, i, u) y = Add(s, x) }",
        SEQ,
        "requires seq == 1 or seq == 5",
    ),
    "rows that no length reaches, written at positions of an input": (
        "(float[2,5] x, int64[2,4] i) => (float[2,4] y) <float[2,5] d = {0,0,0,0,0,0,0,0,0,0}, "
        'float[2,4] u = {1,1,1,1,1,1,1,1}> { s = ScatterElements<axis=1, reduction = "add">(d, i, u) '
        "r = GatherElements<axis=1>(s, i) g = GatherElements<axis=1>(x, i) y = Mul(r, g) }",
        SEQ,
        "reads 5 rows at positions in i, which are those of an axis of seq",
    ),
    "other rows, read at positions of an input": (
        "(float[2,5] x, int64[2,4] i, float[2,5] z) => (float[2,4] y) { g = GatherElements<axis=1>(x, i) "
        "r = GatherElements<axis=1>(z, i) y = Mul(r, g) }",
        SEQ,
        "reads 5 rows at positions in i, which are those of an axis of seq",
    ),
    "an index of which the last position stands for others": (
        "(float[2,5] x, int64[2,4] i, bool[2,4] m) => (float[2,4] y) <int64 l = {4}> "
        "{ c = Where(m, i, l) y = GatherElements<axis=1>(x, c) }",
        SEQ,
        "reads positions with the number 4, which may follow the length",
    ),
    "as many positions as there are, between others": (
        "(float[1,3] x, float[1,2] c) => (float[1,3] y) <int64[1] b = {1}, int64[1] e = {4}, int64[1] a = {1}> "
        "{ k = Concat<axis=1>(c, x) s = Slice(k, b, e, a) y = Add(s, x) }",
        SEQ,
        "cuts [1:4] out of an axis of seq + 2",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explained_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)
