"""The rewrites of Gather itself: each with its law, near misses and runs."""

# ruff: noqa: E501 (a model is a line)

from __future__ import annotations

import pytest

from gather_infer.passes import optimize
from tests.rewrites.table import Case, judge, model

I2 = "<int64[2] i = {0, 1}>"

CASES = {
    "all positions": Case(
        "gather-of-all",
        "g (float[N, 3] x) => (float[N, 3] y) <int64[3] i = {0, 1, -1}> { a = Neg(x) b = Gather<axis: int = 1>(a, i) y = Abs(b) }",
        "g (float[N, 3] x) => (float[N, 3] y) { a = Neg(x) y = Abs(a) }",
        {
            "other order": "g (float[N, 3] x) => (float[N, 3] y) <int64[3] i = {0, 2, 1}> { y = Gather<axis: int = 1>(x, i) }",
            "not all": "g (float[N, 4] x) => (float[N, 3] y) <int64[3] i = {0, 1, 2}> { y = Gather<axis: int = 1>(x, i) }",
            "symbolic dim": "g (float[N] x) => (float[3] y) <int64[3] i = {0, 1, 2}> { y = Gather(x, i) }",
            "two axes": "g (float[N, 4] x) => (float[N, 2, 2] y) <int64[2, 2] i = {0, 1, 2, 3}> { y = Gather<axis: int = 1>(x, i) }",
            "out of range": "g (float[N, 2] x) => (float[N, 2] y) <int64[2] i = {0, 2}> { y = Gather<axis: int = 1>(x, i) }",
        },
    ),
    "the only position": Case(
        "gather-of-all",
        "g (float[N, 1] x, int64[1] i) => (float[N, 1] y) { a = Neg(x) b = Gather<axis: int = -1>(a, i) y = Abs(b) }",
        "g (float[N, 1] x, int64[1] i) => (float[N, 1] y) { a = Neg(x) y = Abs(a) }",
        {
            "two positions": "g (float[N, 2] x, int64[1] i) => (float[N, 1] y) { y = Gather<axis: int = 1>(x, i) }",
            "several indices": "g (float[N, 1] x, int64[2] i) => (float[N, 2] y) { y = Gather<axis: int = 1>(x, i) }",
            "indices of unknown number": "g (float[N, 1] x, int64[K] i) => (float[N, K] y) { y = Gather<axis: int = 1>(x, i) }",
        },
        ranges={"i": (-1, 1)},
    ),
    "a scalar of the only position": Case(
        "gather-of-one",
        "g (float[1, N] x, int64 i) => (float[N] y) { y = Gather(x, i) }",
        "g (float[1, N] x, int64 i) => (float[N] y) <int64[1] a = {0}> { y = Squeeze(x, a) }",
        {"symbolic dim": "g (float[K, N] x, int64 i) => (float[N] y) { y = Gather(x, i) }"},
        ranges={"i": (-1, 1)},
    ),
    "a scalar of the only position, opset 7": Case(
        "gather-of-one",
        "g (float[1, N] x, int64 i) => (float[N] y) { y = Gather(x, i) }",
        "g (float[1, N] x, int64 i) => (float[N] y) { y = Squeeze<axes: ints = [0]>(x) }",
        opset=7,
        ranges={"i": (0, 1)},
    ),
    "neighbours": Case(
        "gather-to-slice",
        f"g (float[N, 4] x) => (float[N, 2] y) {I2} {{ y = Gather<axis: int = 1>(x, i) }}",
        "g (float[N, 4] x) => (float[N, 2] y) <int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}> { y = Slice(x, s, e, a) }",
        {
            "uneven": "g (float[N, 4] x) => (float[N, 3] y) <int64[3] i = {0, 1, 3}> { y = Gather<axis: int = 1>(x, i) }",
            "twice the same": "g (float[N, 4] x) => (float[N, 2] y) <int64[2] i = {1, 1}> { y = Gather<axis: int = 1>(x, i) }",
            "scalar": "g (float[N, 4] x) => (float[N] y) <int64 i = {1}> { y = Gather<axis: int = 1>(x, i) }",
            "no index": "g (float[N, 4] x) => (float[N, 0] y) <int64[0] i = {}> { y = Gather<axis: int = 1>(x, i) }",
            "not constant": "g (float[N, 4] x, int64[2] i) => (float[N, 2] y) { y = Gather<axis: int = 1>(x, i) }",
            "both ends of an unknown length": "g (float[N, M] x) => (float[N, 2] y) <int64[2] i = {-1, 0}> { y = Gather<axis: int = 1>(x, i) }",
            "out of range": "g (float[N, 4] x) => (float[N, 2] y) <int64[2] i = {3, 4}> { y = Gather<axis: int = 1>(x, i) }",
            "sizes": "g (float[N, 4] x) => (int64[2] y) <int64[2] i = {0, 1}> { s = Shape(x) y = Gather(s, i) }",
        },
    ),
    "neighbours, opset 7": Case(
        "gather-to-slice",
        f"g (float[N, 4] x) => (float[N, 2] y) {I2} {{ y = Gather<axis: int = 1>(x, i) }}",
        "g (float[N, 4] x) => (float[N, 2] y) { y = Slice<axes: ints = [1], starts: ints = [0], ends: ints = [2]>(x) }",
        {"steps": "g (float[N, 4] x) => (float[N, 2] y) <int64[2] i = {0, 2}> { y = Gather<axis: int = 1>(x, i) }"},
        opset=7,
    ),
    "from the end": Case(
        "gather-to-slice",
        "g (float[N, M] x) => (float[N, 2] y) <int64[2] i = {-2, -1}> { y = Gather<axis: int = 1>(x, i) }",
        "g (float[N, M] x) => (float[N, 2] y) <int64[1] s = {-2}, int64[1] e = {9223372036854775807}, int64[1] a = {1}>"
        " { y = Slice(x, s, e, a) }",
        opset=13,
        sizes={"M": (2, 3, 5)},
    ),
    "backwards": Case(
        "gather-to-slice",
        "g (string[N, 4] x) => (string[N, 4] y) <int32[4] i = {3, 2, 1, 0}> { y = Gather<axis: int = 1>(x, i) }",
        "g (string[N, 4] x) => (string[N, 4] y) <int64[1] s = {3}, int64[1] e = {-9223372036854775808}, int64[1] a = {1},"
        " int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
        opset=10,
    ),
    "backwards from the end": Case(
        "gather-to-slice",
        "g (float[M] x) => (float[2] y) <int64[2] i = {-1, -3}> { y = Gather(x, i) }",
        "g (float[M] x) => (float[2] y) <int64[1] s = {-1}, int64[1] e = {-4}, int64[1] a = {0}, int64[1] t = {-2}>"
        " { y = Slice(x, s, e, a, t) }",
        sizes={"M": (3, 4, 5, 7)},
        opset=11,
    ),
    "mixed signs of a known length": Case(
        "gather-to-slice",
        "g (float[N, 5] x) => (float[N, 3] y) <int64[3] i = {0, -3, 4}> { y = Gather<axis: int = 1>(x, i) }",
        "g (float[N, 5] x) => (float[N, 3] y) <int64[1] s = {0}, int64[1] e = {5}, int64[1] a = {1}, int64[1] t = {2}>"
        " { y = Slice(x, s, e, a, t) }",
        opset=18,
    ),
    "sizes": Case(
        "gather-of-shape",
        "g (float[N, 2, M] x) => (int64[2] y) <int64[2] i = {1, 2}> { s = Shape(x) y = Gather(s, i) }",
        "g (float[N, 2, M] x) => (int64[2] y) { y = Shape<start: int = 1, end: int = 3>(x) }",
        {
            "scalar": "g (float[N, 2, M] x) => (int64 y) <int64 i = {1}> { s = Shape(x) y = Gather(s, i) }",
            "not neighbours": "g (float[N, 2, M] x) => (int64[2] y) <int64[2] i = {0, 2}> { s = Shape(x) y = Gather(s, i) }",
        },
        opset=15,
    ),
    "sizes from a start": Case(
        "gather-of-shape",
        "g (float[N, 2, M] x) => (int64[1] y) <int64[1] i = {-1}> { s = Shape<start: int = -2>(x) y = Gather(s, i) }",
        "g (float[N, 2, M] x) => (int64[1] y) { y = Shape<start: int = 2, end: int = 3>(x) }",
    ),
    "the index itself": Case(
        "gather-of-range",
        "g (float[N, 3] x) => (int64[N] y) <int64[5] r = {0, 1, 2, 3, 4}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
        "g (float[N, 3] x) => (int64[N] y) { y = ArgMax<axis: int = 1, keepdims: int = 0>(x) }",
        {
            "negative index": "g (int64[N] i) => (int64[N] y) <int64[5] r = {0, 1, 2, 3, 4}> { y = Gather(r, i) }",
            "other type": "g (float[N, 3] x) => (int32[N] y) <int32[5] r = {0, 1, 2, 3, 4}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
            "other numbers": "g (float[N, 3] x) => (int64[N] y) <int64[5] r = {0, 1, 2, 4, 5}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
            "rank 2": "g (float[N, 3] x) => (int64[N, 1] y) <int64[3, 1] r = {0, 1, 2}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
        },
    ),
    "counted from a number": Case(
        "gather-of-range",
        "g (float[N, 3] x) => (int64[N] y) <int64[3] r = {7, 8, 9}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
        "g (float[N, 3] x) => (int64[N] y) <int64 s = {7}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Add(i, s) }",
    ),
    "of a Range": Case(
        "gather-of-range",
        "g (float[N, M] x) => (int64[N] y) <int64 z = {0}, int64 o = {1}, int64 k = {1}> {"
        " s = Shape(x) n = Gather(s, k) r = Range(z, n, o) i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
        "g (float[N, M] x) => (int64[N] y) { y = ArgMax<axis: int = 1, keepdims: int = 0>(x) }",
        {
            "other step": "g (float[N, M] x) => (int64[N] y) <int64 z = {0}, int64 o = {2}, int64 k = {1}> {"
            " s = Shape(x) n = Gather(s, k) r = Range(z, n, o) i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(r, i) }",
            "the second index counts from the end": "g (float[N, M] x) => (int64[2] y) <int64 z = {0}, int64 o = {1}, int64 k = {1}, int64[2] i = {0, -1}> {"
            " s = Shape(x) n = Gather(s, k) r = Range(z, n, o) y = Gather(r, i) }",
        },
        sizes={"M": (1, 2, 3)},
    ),
    "of one value": Case(
        "gather-of-fill",
        "g (float[N] x, int64[3] i) => (float[3] y) { s = Shape(x) d = ConstantOfShape<value: tensor = float[1] {2.5}>(s) y = Gather(d, i) }",
        "g (float[N] x, int64[3] i) => (float[3] y) <float[3] y = {2.5, 2.5, 2.5}> { }",
        {
            "many elements": "g (float[N] x, int64[65] i) => (float[65] y) { s = Shape(x) d = ConstantOfShape(s) y = Gather(d, i) }",
            "unknown shape": "g (float[N, M] x, int64[3] i) => (float[3, M] y) { s = Shape(x) d = ConstantOfShape(s) y = Gather(d, i) }",
        },
        ranges={"i": (0, 1)},
        sizes={"N": (1, 2)},
    ),
    "a table with rows that nobody reads": Case(
        "shrink-table",
        "g (float[N, 2] x) => (float[N, 2] y) <float[4, 2] t = {0, 1, 2, 3, 4, 5, 6, 7}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(t, i) }",
        "g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] t = {0, 1, 2, 3}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather<axis: int = 0>(t, i) }",
        {
            "all rows": "g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] t = {0, 1, 2, 3}> { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(t, i) }",
            "second reader": "g (float[N, 2] x) => (float[N, 2] y, float[4, 2] z) <float[4, 2] t = {0, 1, 2, 3, 4, 5, 6, 7}> {"
            " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(t, i) z = Abs(t) }",
            "perhaps from the end": "g (int64[N] j) => (float[N, 2] y) <float[4, 2] t = {0, 1, 2, 3, 4, 5, 6, 7}, int64 k = {1}> { i = Min(j, k) y = Gather(t, i) }",
            "negative index": "g (int64[N] i) => (float[N, 2] y) <float[4, 2] t = {0, 1, 2, 3, 4, 5, 6, 7}> { y = Gather(t, i) }",
            "a table that a caller gives": "g (float[N, 2] x, float[4, 2] t) => (float[N, 2] y) { i = ArgMax<axis: int = 1, keepdims: int = 0>(x) y = Gather(t, i) }",
        },
    ),
    "by a part of the positions": Case(
        "gather-by-slice",
        "g (float[1, N] x) => (float[1, M, 2] y) <float[3, 2] t = {0, 1, 2, 3, 4, 5}, int64[1, 3] p = {2, 0, 1}, int64[1] o = {0}, int64[1] k = {1}>"
        " { s = Shape(x) n = Gather(s, k) i = Slice(p, o, n, k) y = Gather(t, i) }",
        "g (float[1, N] x) => (float[1, M, 2] y) <float[1, 3, 2] t = {4, 5, 0, 1, 2, 3}, int64[1] o = {0}, int64[1] k = {1}>"
        " { s = Shape(x) n = Gather(s, k) y = Slice(t, o, n, k) }",
        {
            "not constant": "g (float[1, N] x, float[3, 2] t) => (float[1, M, 2] y) <int64[1, 3] p = {2, 0, 1}, int64[1] o = {0}, int64[1] k = {1}>"
            " { s = Shape(x) n = Gather(s, k) i = Slice(p, o, n, k) y = Gather(t, i) }",
            "axes that are not given": "g (float[N] x) => (float[M] y) <float[3] t = {1, 2, 3}, int64[3] p = {2, 0, 1}, int64[1] o = {0}> { n = Shape(x) i = Slice(p, o, n) y = Gather(t, i) }",
            "out of range as a whole": "g (float[1, N] x) => (float[1, M, 2] y) <float[3, 2] t = {0, 1, 2, 3, 4, 5}, int64[1, 3] p = {2, 0, 3}, int64[1] o = {0}, int64[1] k = {1}>"
            " { s = Shape(x) n = Gather(s, k) i = Slice(p, o, n, k) y = Gather(t, i) }",
        },
    ),
    "cut in int32": Case(
        "gather-by-slice",
        "g (float[N] x) => (float[M] y) <float[3] t = {1, 2, 3}, int64[3] p = {2, 0, 1}, int32[1] o = {0}, int32[1] k = {-1}>"
        " { s = Shape(x) n = Cast<to: int = 6>(s) i = Slice(p, o, n, k) y = Gather(t, i) }",
        "g (float[N] x) => (float[M] y) <float[3] t = {3, 1, 2}, int32[1] o = {0}>"
        " { s = Shape(x) n = Cast<to: int = 6>(s) y = Slice(t, o, n, o) }",
    ),
    "around an index that is not negative": Case(
        "where-decided",
        "g (float[N, 3] x) => (int64[N] y) <int64 z = {0}, int64 n = {3}> {"
        " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) c = Less(i, z) j = Add(i, n) y = Where(c, j, i) }",
        "g (float[N, 3] x) => (int64[N] y) { y = ArgMax<axis: int = 1, keepdims: int = 0>(x) }",
        {
            "negative, and not": "g (int64[N] x) => (int64[N] y) <int64[2] i = {-1, 2}, int64 z = {0}, int64 n = {3}> {"
            " c = Less(i, z) j = Add(i, n) k = Where(c, j, i) l = ReduceMax<keepdims: int = 0>(k) y = Add(x, l) }",
            "may be negative": "g (int64[N] i) => (int64[N] y) <int64 z = {0}, int64 n = {3}> { c = Less(i, z) j = Add(i, n) y = Where(c, j, i) }",
            "another number": "g (float[N, 3] x) => (int64[N] y) <int64 z = {1}, int64 n = {3}> {"
            " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) c = Less(i, z) j = Add(i, n) y = Where(c, j, i) }",
            "the other side is wider": "g (float[N, 3] x, int64[2, N] j) => (int64[2, N] y) <int64 z = {0}> {"
            " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) c = Less(i, z) y = Where(c, j, i) }",
            "floats where it is true": "g (float[N, 3] x, float[N] v, float[N] w) => (float[N] y) <int64 z = {0}> {"
            " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) c = LessOrEqual(z, i) y = Where(c, v, w) }",
        },
    ),
    "of floats where it is false": Case(
        "where-decided",
        "g (float[N, 3] x, float[N] v, float[N] w) => (float[N] y) <int64 z = {0}> {"
        " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) c = Less(i, z) a = Neg(w) b = Where(c, v, a) y = Abs(b) }",
        "g (float[N, 3] x, float[N] v, float[N] w) => (float[N] y) { a = Neg(w) y = Abs(a) }",
    ),
    "the other way round": Case(
        "where-decided",
        "g (float[N, 3] x, int64[N] j) => (int64[N] y) <int64 z = {0}> {"
        " i = ArgMax<axis: int = 1, keepdims: int = 0>(x) c = LessOrEqual(z, i) y = Where(c, i, j) }",
        "g (float[N, 3] x, int64[N] j) => (int64[N] y) { y = ArgMax<axis: int = 1, keepdims: int = 0>(x) }",
    ),
    "elements of the only position": Case(
        "gather-elements-of-one",
        "g (float[N, 1] x, int64[N, 1] i) => (float[N, 1] y) { a = Neg(x) b = GatherElements<axis: int = 1>(a, i) y = Abs(b) }",
        "g (float[N, 1] x, int64[N, 1] i) => (float[N, 1] y) { a = Neg(x) y = Abs(a) }",
        {
            "fewer rows": "g (float[N, 1] x, int64[1, 1] i) => (float[1, 1] y) { y = GatherElements<axis: int = 1>(x, i) }",
            "other axis": "g (float[N, 1] x, int64[N, 1] i) => (float[N, 1] y) { y = GatherElements<axis: int = 0>(x, i) }",
        },
        ranges={"i": (-1, 1)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rewrite(case: Case) -> None:
    judge(case)


def test_an_axis_longer_than_memory() -> None:
    """The indices are compared with all positions only if they are as many."""
    graph = model(
        f"g (float[2, {2**40}] x) => (float[2, 3] y) <int64[3] i = {{0, 3, 1}}> {{ y = Gather<axis = 1>(x, i) }}"
    )
    assert [node.op_type for node in optimize(graph).proto.graph.node] == ["Gather"]
