"""GatherND, GatherElements, Splits, and Gathers of elementwise results: each rewrite with near misses and runs."""

# ruff: noqa: E501 (a model is a line)

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

CASES = {
    "tuples of one index": Case(
        "gather-nd-of-rows",
        "g (float[5, 3] x, int64[M] i) => (float[M, 3] y) <int64[1] a = {-1}> { b = Unsqueeze(i, a) y = GatherND(x, b) }",
        "g (float[5, 3] x, int64[M] i) => (float[M, 3] y) { y = Gather<axis: int = 0>(x, i) }",
        {
            "a rank that is not known": "g (float[N] v, int64[R] r, int64[M] i) => (float[K] y) <int64[1] a = {-1}> { x = Expand(v, r) b = Unsqueeze(i, a) y = GatherND(x, b) }",
            "other axis": "g (float[5, 3] x, int64[1] i) => (float[1, 3] y) <int64[1] a = {0}> { b = Unsqueeze(i, a) y = GatherND(x, b) }",
            "tuples of two": "g (float[5, 3] x, int64[2] i) => (float y) { y = GatherND(x, i) }",
            "symbolic dim": "g (float[5, 3] x, int64[M, K] i) => (float[M, 3] y) { y = GatherND(x, i) }",
            "second consumer": "g (float[5, 3] x, int64[M] i) => (float[M, 3] y, int64[M, 1] b) <int64[1] a = {-1}> { b = Unsqueeze(i, a) y = GatherND(x, b) }",
            "rows of no elements, and indices out of range": "g (float[5, N] x, int64[M] i) => (float[M, N] y) <int64[1] a = {-1}> { b = Unsqueeze(i, a) y = GatherND(x, b) }",
            "batch": "g (float[M, 3] x, int64[M] i) => (float[M] y) <int64[1] a = {-1}> { b = Unsqueeze(i, a) y = GatherND<batch_dims: int = 1>(x, b) }",
        },
        ranges={"i": (-5, 5)},
    ),
    "constant tuples of one index": Case(
        "gather-nd-of-rows",
        "g (float[5, 3] x) => (float[2, 3] y) <int64[2, 1] i = {1, -1}> { y = GatherND(x, i) }",
        "g (float[5, 3] x) => (float[2, 3] y) <int64[2] i = {1, -1}> { y = Gather<axis: int = 0>(x, i) }",
        opset=13,
    ),
    "rows that may have no elements, in range": Case(
        "gather-nd-of-rows",
        "g (float[5, N] x, float[M, 5] v) => (float[M, N] y) <int64[1] a = {-1}> { i = ArgMax<axis = 1, keepdims = 0>(v) b = Unsqueeze(i, a) y = GatherND(x, b) }",
        "g (float[5, N] x, float[M, 5] v) => (float[M, N] y) { i = ArgMax<axis = 1, keepdims = 0>(v) y = Gather<axis: int = 0>(x, i) }",
    ),
    "a batch of one, opset 12": Case(
        "gather-nd-of-rows",
        "g (float[1, 5, 3] x, int64[M] i) => (float[1, M, 3] y) { b = Unsqueeze<axes: ints = [0, 2]>(i) y = GatherND<batch_dims: int = 1>(x, b) }",
        "g (float[1, 5, 3] x, int64[M] i) => (float[1, M, 3] y) { y = Gather<axis: int = 1>(x, i) }",
        opset=12,
        ranges={"i": (-5, 5)},
    ),
    "the same for each row": Case(
        "gather-elements-of-slices",
        "g (float[3, 5] x, int64[M] i) => (float[3, M] y) { a = Constant<value_ints = [3]>() b = Shape(i)"
        " t = Concat<axis: int = 0>(a, b) j = Expand(i, t) y = GatherElements<axis: int = 1>(x, j) }",
        "g (float[3, 5] x, int64[M] i) => (float[3, M] y) { y = Gather<axis: int = 1>(x, i) }",
        {
            "no rows, and indices out of range": "g (float[N, 5] x, int64[M] i) => (float[N, M] y) { a = Shape(x) b = Shape(i) z = Constant<value_ints = [0]>()"
            " n = Gather(a, z) t = Concat<axis: int = 0>(n, b) j = Expand(i, t) y = GatherElements<axis: int = 1>(x, j) }",
            "a rank that is not known": "g (float[N] v, int64[R] r, int64[3, M] i) => (float[3, M] y) { x = Expand(v, r) y = GatherElements<axis: int = 1>(x, i) }",
            "indices that are not repeated": "g (float[3, 5] x, int64[3, M] i) => (float[3, M] y) { y = GatherElements<axis: int = 1>(x, i) }",
            "no columns, and a constant out of range": "g (float[N, 0] x) => (float[1, 0] y) <int64[1, 1] i = {2}, int64[2] t = {1, 0}> { j = Expand(i, t) y = GatherElements(x, j) }",
            "indices that are repeated once": "g (float[3, 5] x, int64[3, M] i) => (float[3, M] y) { t = Shape(i) j = Expand(i, t) y = GatherElements<axis: int = 1>(x, j) }",
            "a row that is no vector": "g (float[3, 5] x, int64[1, M] i, float[3, M] w) => (float[3, M] y) { t = Shape(w) j = Expand(i, t) y = GatherElements<axis: int = 1>(x, j) }",
            "part of the rows": "g (float[7, 5] x, int64[M] i) => (float[3, M] y) { a = Constant<value_ints = [3]>() b = Shape(i)"
            " t = Concat<axis: int = 0>(a, b) j = Expand(i, t) y = GatherElements<axis: int = 1>(x, j) }",
            "other axis": "g (float[5, 5] x, int64[5] i) => (float[5, 5] y) { t = Shape(x) j = Expand(i, t) y = GatherElements<axis: int = 0>(x, j) }",
            "indices of their own for each row": "g (float[N, 5] x, int64[N, 1] i) => (float[N, 5] y) { t = Shape(x) j = Expand(i, t) y = GatherElements<axis: int = 1>(x, j) }",
        },
        ranges={"i": (-5, 5)},
    ),
    "constant, the same for each row, opset 11": Case(
        "gather-elements-of-slices",
        "g (float[5, 2] x) => (float[3, 2] y) <int64[3, 2] i = {4, 4, -1, -1, 0, 0}> { y = GatherElements(x, i) }",
        "g (float[5, 2] x) => (float[3, 2] y) <int64[3] i = {4, -1, 0}> { y = Gather<axis: int = 0>(x, i) }",
        {
            "one differs": "g (float[5, 2] x) => (float[3, 2] y) <int64[3, 2] i = {4, 4, -1, 4, 0, 0}> { y = GatherElements(x, i) }",
            "no indices": "g (float[5, 2] x) => (float[0, 2] y) <int64[0, 2] i = {}> { y = GatherElements(x, i) }",
            "symbolic dim": "g (float[5, N] x) => (float[3, 2] y) <int64[3, 2] i = {4, 4, -1, -1, 0, 0}> { y = GatherElements(x, i) }",
        },
        opset=11,
    ),
    "every position": Case(
        "parts-to-split",
        "g (float[N, 2] x) => (float[N, 1] y, float[N, 1] z) <int64[1] i = {0}, int64[1] j = {-1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 1>(x, j) }",
        "g (float[N, 2] x) => (float[N, 1] y, float[N, 1] z) <int64[2] s = {1, 1}> { y, z = Split<axis: int = 1>(x, s) }",
        {
            "not all": "g (float[N, 3] x) => (float[N, 1] y, float[N, 1] z) <int64[1] i = {0}, int64[1] j = {1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 1>(x, j) }",
            "one twice": "g (float[N, 2] x) => (float[N, 1] y, float[N, 1] z, float[N, 1] w) <int64[1] i = {0}, int64[1] j = {1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 1>(x, j) w = Gather<axis: int = 1>(x, j) }",
            "scalars": "g (float[N, 2] x) => (float[N] y, float[N] z) <int64 i = {0}, int64 j = {1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 1>(x, j) }",
            "two axes": "g (float[2, 2] x) => (float[2, 1] y, float[1, 2] z) <int64[1] i = {0}, int64[1] j = {1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 0>(x, j) }",
            "two tensors": "g (float[N, 2] x, float[N, 2] w) => (float[N, 1] y, float[N, 1] z) <int64[1] i = {0}, int64[1] j = {1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 1>(w, j) }",
            "symbolic dim": "g (float[N, M] x) => (float[N, 1] y, float[N, 1] z) <int64[1] i = {0}, int64[1] j = {1}> { y = Gather<axis: int = 1>(x, i) z = Gather<axis: int = 1>(x, j) }",
            "one in a branch": "g (float[N, 2] x, bool c) => (float[N, 1] y, float[N, 1] z) <int64[1] i = {0}, int64[1] j = {1}> { y = Gather<axis: int = 1>(x, i)"
            " z = If (c) <then_branch = t () => (float[N, 1] a) { a = Gather<axis: int = 1>(x, j) }, else_branch = e () => (float[N, 1] b) { b = Neg(y) }> }",
        },
    ),
    "halves, opset 11": Case(
        "parts-to-split",
        "g (float[N, 5] x) => (float[N, 5] w) <int64[1] o = {0}, int64[1] k = {2}, int64[1] n = {9223372036854775807}, int64[1] a = {1}>"
        " { y = Slice(x, o, k, a) z = Slice(x, k, n, a) m = Neg(z) w = Concat<axis: int = 1>(m, y) }",
        "g (float[N, 5] x) => (float[N, 5] w) { y, z = Split<axis: int = 1, split: ints = [2, 3]>(x) m = Neg(z) w = Concat<axis: int = 1>(m, y) }",
        {
            "overlap": "g (float[N, 5] x) => (float[N, 2] y, float[N, 4] z) <int64[1] o = {0}, int64[1] k = {2}, int64[1] p = {1}, int64[1] n = {9}, int64[1] a = {1}> { y = Slice(x, o, k, a) z = Slice(x, p, n, a) }",
            "steps": "g (float[N, 4] x) => (float[N, 2] y, float[N, 1] z) <int64[1] o = {0}, int64[1] k = {2}, int64[1] n = {9}, int64[1] a = {1}> { y = Slice(x, o, k, a) z = Slice(x, k, n, a, k) }",
        },
        opset=11,
    ),
    "after one operand": Case(
        "gather-of-elementwise",
        "g (float[N, 4, 3] x) => (float[N, 3] y) <float[3] c = {1, 2, 3}, int64 i = {1}> { a = Add(x, c) y = Gather<axis: int = 1>(a, i) }",
        "g (float[N, 4, 3] x) => (float[N, 3] y) <float[3] c = {1, 2, 3}, int64 i = {1}> { a = Gather<axis: int = 1>(x, i) y = Add(a, c) }",
        {
            "second consumer": "g (float[N, 4, 3] x) => (float[N, 3] y, float[N, 4, 3] a) <float[3] c = {1, 2, 3}, int64 i = {1}> { a = Add(x, c) y = Gather<axis: int = 1>(a, i) }",
            "not exact": "g (float[N, 4, 3] x) => (float[N, 3] y) <int64 i = {1}> { a = Exp(x) y = Gather<axis: int = 1>(a, i) }",
            "more than there is": "g (float[N, 2, 3] x, int64[3] i) => (float[N, 3, 3] y) { a = Neg(x) y = Gather<axis: int = 1>(a, i) }",
            "symbolic dims": "g (float[N, M, 3] x, int64[K] i) => (float[N, K, 3] y) { a = Neg(x) y = Gather<axis: int = 1>(a, i) }",
            "two operands to gather": "g (float[N, 4] x, float[N, 4] z) => (float[N] y) <int64 i = {1}> { a = Sub(x, z) y = Gather<axis: int = 1>(a, i) }",
            "no index of an axis of 1": "g (float[N, 1] x, int64[0] i) => (float[N, 0] y) { a = Neg(x) y = Gather<axis: int = 1>(a, i) }",
            "NaNs of which the position picks one": "g (float[N, 4, 3] x, float[3] z) => (float[N, 3] y) <int64 i = {1}> { a = Add(x, z) y = Gather<axis: int = 1>(a, i) }",
            "float16": "g (float16[N, 4, 3] x) => (float16[N, 3] y) <int64 i = {1}> { a = Add(x, x) y = Gather<axis: int = 1>(a, i) }",
            "an axis of 1 that would have to go": "g (float[N, 4] x, float[N, 1] z) => (float[N] y) <int64 i = {1}> { a = Sub(x, z) y = Gather<axis: int = 1>(a, i) }",
            "quantized": "g (uint8[N, 4] x) => (float[N] y) <float c = {0.5}, int64 i = {1}> { a = DequantizeLinear(x, c) y = Gather<axis: int = 1>(a, i) }",
            "a cast that rounds": "g (float[N, 4] x) => (float16[N] y) <int64 i = {1}> { a = Cast<to: int = 10>(x) y = Gather<axis: int = 1>(a, i) }",
        },
    ),
    "both operands, one constant": Case(
        "gather-of-elementwise",
        "g (float[N, 4] x) => (float[2, N] y) <float[4, 1] c = {1, 2, 3, 4}, int64[2] i = {3, 0}> { t = Transpose(x) a = Mul(t, c) y = Gather<axis: int = 0>(a, i) }",
        "g (float[N, 4] x) => (float[2, N] y) <float[2, 1] c = {4, 1}, int64[2] i = {3, 0}> { t = Transpose(x) a = Gather<axis: int = 0>(t, i) y = Mul(a, c) }",
    ),
    "one operand twice": Case(
        "gather-of-elementwise",
        "g (float[N, 4] x) => (float[N] y) <int64 i = {3}> { a = Mul(x, x) y = Gather<axis: int = 1>(a, i) }",
        "g (float[N, 4] x) => (float[N] y) <int64 i = {3}> { a = Gather<axis: int = 1>(x, i) y = Mul(a, a) }",
        opset=7,
    ),
    "a constant whose axis goes": Case(
        "gather-of-elementwise",
        "g (int64[N, 4] x) => (int64[N] y) <int64[1, 1] c = {2}, int64 i = {3}> { a = Sub(x, c) y = Gather<axis: int = 1>(a, i) }",
        "g (int64[N, 4] x) => (int64[N] y) <int64[1] c = {2}, int64 i = {3}> { a = Gather<axis: int = 1>(x, i) y = Sub(a, c) }",
    ),
    "a choice": Case(
        "gather-of-elementwise",
        "g (bool[N, 4] x, float[N, 1] z) => (float[N, 1] y) <float c = {2}, int64[1] i = {3}> { a = Where(x, z, c) y = Gather<axis: int = 1>(a, i) }",
        "g (bool[N, 4] x, float[N, 1] z) => (float[N, 1] y) <float c = {2}, int64[1] i = {3}> { b = Gather<axis: int = 1>(x, i) y = Where(b, z, c) }",
    ),
    "an exact cast": Case(
        "gather-of-elementwise",
        "g (bool[N, 4] x) => (int64[N] y) <int64 i = {3}> { a = Cast<to: int = 7>(x) y = Gather<axis: int = 1>(a, i) }",
        "g (bool[N, 4] x) => (int64[N] y) <int64 i = {3}> { a = Gather<axis: int = 1>(x, i) y = Cast<to: int = 7>(a) }",
        {"to a type of fewer bytes": "g (int64[N, 4] x) => (bool[N] y) <int64 i = {3}> { a = Cast<to: int = 9>(x) y = Gather<axis: int = 1>(a, i) }"},
        opset=14,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rewrite(case: Case) -> None:
    judge(case)
