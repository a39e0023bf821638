"""Gathers by indices that count every position: each rewrite with its near misses and runs."""

# ruff: noqa: E501 (a model is a line)

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

SIZES = "<int64 z = {0}, int64 o = {1}, int64[1] a0 = {0}, int64[1] a1 = {1}, int64[3] b = {1, 2, 3}, int64[3] r = {0, 1, 2}, int64[1] f = {-1}>"
COUNTS = "s = Shape(x) n = Gather(s, z) m = Gather(s, o) p = Range(z, n, o) q = Range(z, m, o)"
MASK = "i = Unsqueeze(p, b) j = Unsqueeze(q, r)"
TUPLES = f"{COUNTS} {MASK} t = Max(i, j) w = Shape(t) k = Expand(i, w) l = Expand(j, w) u = Unsqueeze(k, f) v = Unsqueeze(l, f)"

CASES = {
    "a Range of the axis": Case(
        "gather-of-grid",
        "g (float[2, N] x) => (float[2, N] y) <int64 z = {0}, int64 o = {1}> { s = Shape(x) n = Gather(s, o) r = Range(z, n, o) a = Neg(x) b = Gather<axis: int = 1>(a, r) y = Abs(b) }",
        "g (float[2, N] x) => (float[2, N] y) { a = Neg(x) y = Abs(a) }",
        {
            "a rank that is not known": "g (float[N] w, int64[R] e) => (float[K] y) <int64 z = {0}, int64 o = {1}> { x = Expand(w, e) n = Size(w) r = Range(z, n, o) y = Gather(x, r) }",
            "from 1 on": "g (float[2, N] x) => (float[2, M] y) <int64 z = {0}, int64 o = {1}> { s = Shape(x) n = Gather(s, o) r = Range(o, n, o) y = Gather<axis: int = 1>(x, r) }",
            "every other": "g (float[2, N] x) => (float[2, M] y) <int64 z = {0}, int64 o = {1}, int64 t = {2}> { s = Shape(x) n = Gather(s, o) r = Range(z, n, t) y = Gather<axis: int = 1>(x, r) }",
            "of another axis": "g (float[2, N] x) => (float[2, M] y) <int64 z = {0}, int64 o = {1}> { s = Shape(x) n = Gather(s, z) r = Range(z, n, o) y = Gather<axis: int = 1>(x, r) }",
        },
    ),
    "a mask, flattened": Case(
        "gather-of-grid",
        f"g (float[N, M] x) => (float[N, 1, 1, M, 1] y) {SIZES} {{ {COUNTS} {MASK} k = Mul(i, m) c = Add(k, j) d = Flatten<axis: int = 2>(x) y = Gather(d, c) }}",
        "g (float[N, M] x) => (float[N, 1, 1, M, 1] y) <int64[3] a = {1, 2, 4}> { y = Unsqueeze(x, a) }",
        {
            "the other way round": f"g (float[N, M] x) => (float[N, 1, 1, M, 1] y) {SIZES} {{ {COUNTS} {MASK} k = Mul(j, n) c = Add(k, i) d = Flatten<axis: int = 2>(x) y = Gather(d, c) }}",
            "another factor": f"g (float[N, M] x) => (float[N, 1, 1, M, 1] y) {SIZES} {{ {COUNTS} {MASK} k = Mul(i, n) c = Add(k, j) d = Flatten<axis: int = 2>(x) y = Gather(d, c) }}",
            "moved on": f"g (float[N, M] x) => (float[N, 1, 1, M, 1] y) {SIZES} {{ {COUNTS} {MASK} k = Mul(i, m) e = Add(k, j) c = Sub(e, o) d = Flatten<axis: int = 2>(x) y = Gather(d, c) }}",
        },
        fails=True,
    ),
    "a mask by tuples": Case(
        "gather-nd-of-grid",
        f"g (bool[N, M] x) => (bool[N, 1, 1, M] y) {SIZES} {{ {TUPLES} c = Concat<axis: int = -1>(u, v) y = GatherND(x, c) }}",
        "g (bool[N, M] x) => (bool[N, 1, 1, M] y) <int64[2] a = {1, 2}> { y = Unsqueeze(x, a) }",
        {
            "tuples that are not put together": "g (bool[N, M] x, int64[K, 2] i) => (bool[K] y) { y = GatherND(x, i) }",
            "tuples one after the other": f"g (bool[N, M] x) => (bool[A, B, C] y) {SIZES} {{ {TUPLES} c = Concat<axis: int = 0>(k, l) y = GatherND(x, c) }}",
            "transposed": f"g (bool[N, N] x) => (bool[N, 1, 1, N] y) {SIZES} {{ {TUPLES} c = Concat<axis: int = -1>(v, u) y = GatherND(x, c) }}",
            "rows of a larger tensor": f"g (bool[N, M] x, bool[K, L] d) => (bool[N, 1, 1, M] y) {SIZES} {{ {TUPLES} c = Concat<axis: int = -1>(u, v) y = GatherND(d, c) }}",
            "from the end": f"g (bool[N, M] x) => (bool[N, 1, 1, M] y) {SIZES} {{ {TUPLES} e = Sub(v, m) c = Concat<axis: int = -1>(u, e) y = GatherND(x, c) }}",
        },
    ),
    "from one size to another": Case(
        "gather-of-run",
        "g (float[9, 2] t, float[N, M] x) => (float[1, N, 2] y) <int64 z = {0}, int64 o = {1}, int64[1] a = {0}> {"
        " s = Shape<start: int = 0, end: int = 1>(x) u = Shape<start: int = 1>(x) n = Squeeze(s) m = Squeeze(u) r = Range(z, n, o) p = Add(r, m) i = Unsqueeze(p, a) y = Gather(t, i) }",
        "g (float[9, 2] t, float[N, M] x) => (float[1, N, 2] y) <int64[1] a = {0}> {"
        " s = Shape<start: int = 0, end: int = 1>(x) u = Shape<start: int = 1>(x) e = Add(s, u) b = Slice(t, u, e, a) y = Unsqueeze(b, a) }",
        {
            "from below 0": "g (float[9, 2] t, float[N, M] x) => (float[1, N, 2] y) <int64 z = {0}, int64 o = {1}, int64[1] a = {0}> {"
            " s = Shape<start: int = 0, end: int = 1>(x) u = Shape<start: int = 1>(x) n = Squeeze(s) m = Squeeze(u) k = Sub(m, o) r = Range(z, n, o) p = Add(r, k) i = Unsqueeze(p, a) y = Gather(t, i) }",
            "every other": "g (float[9, 2] t, float[N, M] x) => (float[1, K, 2] y) <int64 z = {0}, int64 o = {2}, int64[1] a = {0}> {"
            " s = Shape<start: int = 0, end: int = 1>(x) u = Shape<start: int = 1>(x) n = Squeeze(s) m = Squeeze(u) r = Range(z, n, o) p = Add(r, m) i = Unsqueeze(p, a) y = Gather(t, i) }",
            "an end that is no vector": "g (float[9, 2] t, float[N] x) => (float[N, 2] y) <int64 z = {0}, int64 o = {1}> { n = Size(x) r = Range(z, n, o) y = Gather(t, r) }",
            "a run of one": "g (float[9, 2] t) => (float[2] y) <int64 z = {0}, int64 o = {1}> { r = Range(z, o, o) i = Squeeze(r) y = Gather(t, i) }",
            "more nodes": "g (float[9, 2] t, float[N, M] x) => (float[N, 2] y, int64[N] p) <int64 z = {0}, int64 o = {1}> {"
            " s = Shape<start: int = 0, end: int = 1>(x) u = Shape<start: int = 1>(x) n = Squeeze(s) m = Squeeze(u) r = Range(z, n, o) p = Add(r, m) y = Gather(t, p) }",
            "moved by what the model computes": "g (float[9, 2] t, float[N, M] x, int64[N] k) => (float[N, 2] y) <int64 z = {0}, int64 o = {1}> {"
            " s = Shape<start: int = 0, end: int = 1>(x) n = Squeeze(s) r = Range(z, n, o) p = Add(r, k) y = Gather(t, p) }",
        },
        sizes={"N": (0, 1, 3), "M": (0, 1, 2, 5)},
    ),
    "constant tuples": Case(
        "gather-of-grid",
        "g (float[N, 6] x) => (float[N, 1, 6] y) <int64[1, 6] i = {0, 1, 2, 3, 4, 5}> { y = Gather<axis: int = 1>(x, i) }",
        "g (float[N, 6] x) => (float[N, 1, 6] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
        {
            "two new axes": "g (float[N, 6] x) => (float[N, 2, 3] y) <int64[2, 3] i = {0, 1, 2, 3, 4, 5}> { y = Gather<axis: int = 1>(x, i) }",
            "columns first": "g (float[N, 6] x) => (float[N, 3, 2] y) <int64[3, 2] i = {0, 3, 1, 4, 2, 5}> { y = Gather<axis: int = 1>(x, i) }",
            "one is another": "g (float[N, 6] x) => (float[N, 1, 6] y) <int64[1, 6] i = {0, 1, 2, 3, 5, 4}> { y = Gather<axis: int = 1>(x, i) }",
        },
        opset=18,
    ),
    "as it was before a Reshape": Case(
        "gather-of-grid",
        "g (float[N, 2, 3] x) => (float[N, 2, 3] y) <int64[2, 3] i = {0, 1, 2, 3, 4, 5}, int64[2] t = {0, 6}> { a = Neg(x) b = Reshape(a, t) c = Gather<axis: int = 1>(b, i) y = Abs(c) }",
        "g (float[N, 2, 3] x) => (float[N, 2, 3] y) { a = Neg(x) y = Abs(a) }",
        opset=14,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rewrite(case: Case) -> None:
    judge(case)
