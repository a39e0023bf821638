# ruff: noqa: E501  (models as text)
"""Factors of one, and reductions that give an axis back."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rewrites.table import Case, judge, model, rewritten, run

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
    "of parts": Case(
        "times-one", "g (float[N] x) => (float[M] y) <float o = {1}, float[1] c = {3}> { a = Exp(x) b = Concat<axis = 0>(a, c, a) y = Mul(b, o) }",
        "g (float[N] x) => (float[M] y) <float[1] c = {3}> { a = Exp(x) y = Concat<axis = 0>(a, c, a) }",
        near={
            "a part that is not computed": """g (float[N] x) => (float[M] y) <float o = {1}> {
                a = Exp(x) b = Concat<axis = 0>(a, x) y = Mul(b, o) }""",
            "many nodes": "g (float[N] x) => (float[N] y) <float o = {1}> { r0 = Exp(x) "
            + " ".join(f"r{i + 1} = Identity(r{i})" for i in range(9)) + " y = Mul(r9, o) }",
        },
    ),
    "minus zero": Case(
        "plus-zero", "g (float[N] x) => (float[N] y) <float o = {0}> { a = Sqrt(x) b = Sub(a, o) y = Neg(b) }",
        "g (float[N] x) => (float[N] y) { a = Sqrt(x) y = Neg(a) }",
        near={
            "a NaN of an input may be a signalling one": "g (float[N] x) => (float[N] y) <float o = {0}> { y = Sub(x, o) }",
            "minus a negative zero": "g (float[N] x) => (float[N] y) <float o = {-0.0}> { a = Sqrt(x) y = Sub(a, o) }",
            "zero minus": "g (float[N] x) => (float[N] y) <float o = {0}> { a = Sqrt(x) y = Sub(o, a) }",
            "broadcast": "g (float[1] x) => (float[2] y) <float[2] o = {0, 0}> { a = Sqrt(x) y = Sub(a, o) }",
            "another number": "g (float[N, 2] x) => (float[N, 2] y) <float[2] o = {0, 1e-45}> { a = Sqrt(x) y = Sub(a, o) }",
            "float16": "g (float16[N] x) => (float16[N] y) <float16 o = {0}> { a = Sqrt(x) y = Sub(a, o) }",
            "an input": "g (float[N] x, float o) => (float[N] y) { a = Sqrt(x) y = Sub(a, o) }",
        },
    ),
    "plus a negative zero": Case(
        "plus-zero", "g (double[N, 2] x) => (double[N, 2] y) <double[2] o = {-0.0, -0.0}> { a = Sqrt(x) b = Add(o, a) y = Neg(b) }",
        "g (double[N, 2] x) => (double[N, 2] y) { a = Sqrt(x) y = Neg(a) }",
        near={
            "one of them positive": "g (double[N, 2] x) => (double[N, 2] y) <double[2] o = {-0.0, 0.0}> { a = Sqrt(x) y = Add(a, o) }",
        },
    ),
    "plus zero, behind a sum": Case(
        "plus-zero", "g (float[N, 2] x) => (float[N, 2] y) <float o = {0}, float[2] c = {1.5, 0}> { a = Add(x, c) r = Relu(a) b = Add(r, o) y = Neg(b) }",
        "g (float[N, 2] x) => (float[N, 2] y) <float[2] c = {1.5, 0}> { a = Add(x, c) r = Relu(a) y = Neg(r) }",
        near={
            "a sum that may be -0.0": "g (float[N, 2] x) => (float[N, 2] y) <float o = {0}, float[2] c = {1.5, -0.0}> { a = Add(x, c) y = Add(a, o) }",
            "a product that may be -0.0": "g (float[N, 2] x) => (float[N, 2] y) <float o = {0}> { a = Mul(x, x) y = Add(a, o) }",
            "many sums": "g (float[N] x) => (float[N] y) <float o = {0}> { r0 = Add(x, o) "
            + " ".join(f"r{i + 1} = Add(r{i}, r{i})" for i in range(9)) + " y = Add(r9, o) }",
        },
    ),
    "plus zero, behind powers and constants": Case(
        "plus-zero", """g (float[N] x) => (float[M] y) <float o = {0}, float[2] c = {3, -1}> {
            a = Exp(x) s = Concat<axis = 0>(a, c) b = Add(s, o) y = Neg(b) }""",
        "g (float[N] x) => (float[M] y) <float[2] c = {3, -1}> { a = Exp(x) s = Concat<axis = 0>(a, c) y = Neg(s) }",
        near={
            "a part that may be -0.0": """g (float[N] x) => (float[M] y) <float o = {0}, float[2] c = {3, -0.0}> {
                a = Exp(x) s = Concat<axis = 0>(a, c) y = Add(s, o) }""",
        },
    ),
    "a power of two, and another factor": Case(
        "mul-of-mul", "g (float[N, 3] x) => (float[N, 3] y) <float a = {2}, float[3] b = {3.14159, -1, 7}> { s = Mul(x, a) y = Mul(s, b) }",
        "g (float[N, 3] x) => (float[N, 3] y) <float[3] c = {6.28318, -2, 14}> { y = Mul(x, c) }",
        near={
            "a factor that rounds": "g (float[N] x) => (float[N] y) <float a = {3}, float b = {5}> { s = Mul(x, a) y = Mul(s, b) }",
            "bits get lost below the least number": "g (float[N] x) => (float[N] y) <float a = {0.5}, float b = {5}> { s = Mul(x, a) y = Mul(s, b) }",
            "what has overflowed gets less": "g (float[N] x) => (float[N] y) <float a = {2}, float b = {0.5}> { s = Mul(x, a) y = Mul(s, b) }",
            "the product overflows": "g (float[N] x) => (float[N] y) <float a = {1.70141183460469231732e38}, float b = {2}> { s = Mul(x, a) y = Mul(s, b) }",
            "the order of the factors": "g (float[N] x) => (float[N] y) <float a = {3.14159}, float b = {2}> { s = Mul(x, a) y = Mul(s, b) }",
            "a second reader": "g (float[N] x) => (float[N] y, float[N] z) <float a = {2}, float b = {3}> { s = Mul(x, a) y = Mul(s, b) z = Neg(s) }",
            "an input": "g (float[N] x, float b) => (float[N] y) <float a = {2}> { s = Mul(x, a) y = Mul(s, b) }",
            "another type": "g (float16[N] x) => (float16[N] y) <float16 a = {2}, float16 b = {3}> { s = Mul(x, a) y = Mul(s, b) }",
            "factors of a shape": "g (float x) => (float[1] y) <float[1] a = {2}, float b = {3}> { s = Mul(x, a) y = Mul(s, b) }",
        },
    ),
    "factors that come first, opset 7": Case(
        "mul-of-mul", "g (double[N] x) => (double[N] y) <double a = {-4}, double b = {1.5}> { s = Mul(a, x) y = Mul(b, s) }",
        "g (double[N] x) => (double[N] y) <double c = {-6}> { y = Mul(x, c) }", opset=7,
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
        },
    ),
    "negative axes": Case(
        "unsqueeze-of-reduction",
        """g (float[N, M, 3] x) => (float[A, B, C] y) <int64[2] a = {-2, 0}, int64[2] b = {0, 1}>
            { s = ReduceSum<keepdims = 0>(x, a) y = Unsqueeze(s, b) }""",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[2] a = {-2, 0}> { y = ReduceSum<keepdims = 1>(x, a) }",
    ),
    "the logarithm of a sum": Case(
        "unsqueeze-of-reduction",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {-1}> { s = ReduceLogSumExp<keepdims = 0>(x, a) y = Unsqueeze(s, a) }",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {-1}> { y = ReduceLogSumExp<keepdims = 1>(x, a) }",
    ),
    "a sum of squares": Case(
        "unsqueeze-of-reduction",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {-1}> { s = ReduceSumSquare<keepdims = 0>(x, a) y = Unsqueeze(s, a) }",
        "g (float[N, M, 3] x) => (float[A, B, C] y) <int64[1] a = {-1}> { y = ReduceSumSquare<keepdims = 1>(x, a) }",
    ),
    "the logarithm of a sum, by attribute": Case(
        "unsqueeze-of-reduction",
        "g (float[N, M, 3] x) => (float[A, B, C] y) { s = ReduceLogSum<keepdims = 0, axes = [-1]>(x) y = Unsqueeze<axes = [2]>(s) }",
        "g (float[N, M, 3] x) => (float[A, B, C] y) { y = ReduceLogSum<keepdims = 1, axes = [-1]>(x) }", opset=11,
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


@pytest.mark.parametrize("scale", [1, -2, 2.0**100])
@pytest.mark.parametrize("factor", [1, 3.14159274, -1.00000012, 1.5e8])
def test_no_bit_is_lost_times_a_power_of_two(scale: float, factor: float) -> None:
    """From the least number to the largest."""
    before = model(
        f"g (float[N] x) => (float[N] y) <float a = {{{scale!r}}}, float b = {{{factor!r}}}> {{ s = Mul(x, a) y = Mul(s, b) }}"
    )
    after = rewritten(before, "mul-of-mul")
    assert len(after.graph.node) == 1
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    bits[: 1 << 12] &= 0x807FFFFF
    for made in (bits.view(np.float32), np.array([0, -0.0, np.inf, -np.inf], np.float32)):
        feeds = {"x": made}
        one, other = run(before, feeds), run(after, feeds)
        assert one is not None and other is not None
        assert one[0].tobytes() == other[0].tobytes()
