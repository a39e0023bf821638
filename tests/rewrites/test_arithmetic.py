# ruff: noqa: E501  (models as text)
"""Factors of one, and reductions that give an axis back."""

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

CASES = {
    "times one": Case(
        "times-one", "g (float[N] x) => (float[N] y) <float o = {1}> { a = Add(x, x) y = Mul(o, a) }",
        "g (float[N] x) => (float[N] y) { y = Add(x, x) }",
        near={
            "a NaN of an input may be a signalling one": "g (float[N] x) => (float[N] y) <float o = {1}> { y = Mul(x, o) }",
            "another factor": "g (float[N] x) => (float[N] y) <float o = {2}> { a = Add(x, x) y = Mul(a, o) }",
            "broadcast": "g (float[1] x) => (float[2] y) <float[2] o = {1, 1}> { a = Add(x, x) y = Mul(a, o) }",
            "one over": "g (float[N] x) => (float[N] y) <float o = {1}> { a = Add(x, x) y = Div(o, a) }",
            "no arithmetic where an inner dim is 0": """g (float[M, K] a, float[K, N] b, float[N] c) => (float[M, N] y) <float o = {1}> {
                s = Gemm(a, b, c) y = Mul(s, o) }""",
            "a movement": "g (float[N] x) => (float[N] y) <float o = {1}> { a = Identity(x) y = Mul(a, o) }",
        },
    ),
    "over one": Case(
        "times-one", "g (double[N, 3] x) => (double[N, 3] y) <double[3] o = {1, 1, 1}> { a = Sqrt(x) y = Div(a, o) }",
        "g (double[N, 3] x) => (double[N, 3] y) { y = Sqrt(x) }",
    ),
    "a reduction": Case(
        "unsqueeze-of-reduction",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {1}> { s = ReduceSum<keepdims = 0>(x, a) y = Unsqueeze(s, a) }",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {1}> { y = ReduceSum<keepdims = 1>(x, a) }",
        near={
            "another axis": """g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {1}, int64[1] b = {0}>
                { s = ReduceSum<keepdims = 0>(x, a) y = Unsqueeze(s, b) }""",
            "a second reader": """g (float[N, M, 3] x) => (float[A, B, C] y, float[A, B] z) <int64[1] a = {1}>
                { s = ReduceSum<keepdims = 0>(x, a) y = Unsqueeze(s, a) z = Neg(s) }""",
            "kept already": """g (float[N, M, 3] x) => (float[A, B, C, D] y) <int64[1] a = {1}>
                { s = ReduceSum<keepdims = 1>(x, a) y = Unsqueeze(s, a) }""",
            "a negative axis": """g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {-2}>
                { s = ReduceSum<keepdims = 0>(x, a) y = Unsqueeze(s, a) }""",
        },
    ),
    "a reduction by attribute": Case(
        "unsqueeze-of-reduction",
        "g (float[N, M, 3] x) => (float[A, B, C] y) { s = ReduceMax<keepdims = 0, axes = [2]>(x) y = Unsqueeze<axes = [2]>(s) }",
        "g (float[N, M, 3] x) => (float[A, B, C] y) { y = ReduceMax<keepdims = 1, axes = [2]>(x) }", opset=11,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])
