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
}  # fmt: skip
REFUSED = {
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
    "an index of each row and each position": (
        "(float[2,3] x) => (float[2,3] y) <int64[2,3,2] i = {0,0,0,1,0,2,1,0,1,1,1,2}> { y = GatherND(x, i) }",
        ("x.0=batch", "x.1=seq"),
        "reads at [0, 0, 0, 1]... in axes of batch and seq",
    ),
    "an index into rows and positions in one axis": (
        "(float[2,3] x) => (float[2] y) <int64[1] s = {6}, int64[2] r = {0,3}> "
        "{ f = Reshape(x, s) i = ArgMax<axis=1, keepdims=0>(x) j = Add(i, r) y = Gather(f, j) }",
        ("x.0=batch", "x.1=seq"),
        "requires batch <= 2; numbers of its constant [2] may follow the length",
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
}


@pytest.mark.parametrize("name", CASES)
def test_a_static_model_becomes_the_dynamic_one(name: str) -> None:
    check_dynamic(CASES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_explained_is_refused(name: str, tmp_path: Path) -> None:
    check_refused(*REFUSED[name], tmp_path)
