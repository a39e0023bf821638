"""Several nodes between two that undo each other."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

T = "int64[2] t = {-1, 6}"

CASES = {
    "between two views": Case(
        "view-around-elementwise",
        f"g (float[N, 6] x) => (float[N, 6] y) <{T}, int64[3] s = {{0, 2, 3}}, float c = {{0.5}}> {{ v = Reshape(x, s)"
        " p = Pow(v, c) m = Mul(p, c) a = Add(v, m) h = Tanh(a) r = Mul(v, h) y = Reshape(r, t) }",
        "g (float[N, 6] x) => (float[N, 6] y) <float c = {0.5}> { p = Pow(x, c) m = Mul(p, c) a = Add(x, m) h = Tanh(a) y = Mul(x, h) }",
        near={
            "another shape": "g (float[N, 6] x) => (float[M, 3] y) <int64[2] t = {-1, 3}, int64[3] s = {0, 2, 3}> {"
            " v = Reshape(x, s) h = Tanh(v) y = Reshape(h, t) }",
            "more than one element": f"g (float[N, 6] x, float[3] c) => (float[N, 6] y) <{T}, int64[3] s = {{0, 2, 3}}> {{"
            " v = Reshape(x, s) h = Add(v, c) y = Reshape(h, t) }",
            "a number that adds an axis": f"g (float[N, 6] x) => (float[N, 6] y) <{T}, int64[2] s = {{-1, 6}}, float[1, 1, 1] c = {{2}}> {{"
            " v = Flatten(x) h = Add(v, c) y = Reshape(h, t) }",
            "two views": f"g (float[N, 6] x, float[N, 6] z) => (float[N, 6] y) <{T}, int64[3] s = {{0, 2, 3}}> {{"
            " v = Reshape(x, s) w = Reshape(z, s) h = Add(v, w) y = Reshape(h, t) }",
            "no view inside": f"g (float[N, 2, 3] x) => (float[N, 6] y) <{T}> {{ h = Tanh(x) y = Reshape(h, t) }}",
            "nothing between": f"g (float[N, 6] x) => (float[N, 6] y) <{T}, int64[3] s = {{0, 2, 3}}> {{ v = Reshape(x, s) y = Reshape(v, t) }}",
            "elements change places": f"g (float[N, 6] x) => (float[N, 6] y) <{T}, int64[3] s = {{0, 2, 3}}> {{"
            " v = Reshape(x, s) h = Softmax(v) y = Reshape(h, t) }",
            "a value between is an output": f"g (float[N, 6] x) => (float[N, 6] y, float[N, 2, 3] h) <{T}, int64[3] s = {{0, 2, 3}}> {{"
            " v = Reshape(x, s) a = Tanh(v) h = Neg(a) b = Exp(h) y = Reshape(b, t) }",
        },
    ),
    "a diamond, opset 13": Case(
        "view-around-elementwise",
        "g (float[N, 4] x) => (float[N, 4] y) <int64[1] a = {1}> {"
        " v = Unsqueeze(x, a) p = Erf(v) q = Sigmoid(p) r = Sub(q, p) s = Div(p, r) y = Squeeze(s, a) }",
        "g (float[N, 4] x) => (float[N, 4] y) { p = Erf(x) q = Sigmoid(p) r = Sub(q, p) y = Div(p, r) }",
        opset=13,
    ),
}

PQ = "Transpose<perm = [0, 2, 1]>"

CASES |= {
    "between two Transposes": Case(
        "transpose-around-elementwise",
        f"g (float[N, 2, M] x) => (float[N, 2, M] y) <float c = {{0.5}}, float[1, 1] d = {{0.1}}> {{ v = {PQ}(x)"
        f" s = Sign(v) a = Add(s, c) r = Relu(a) m = Mul(r, d) n = Neg(m) y = {PQ}(n) }}",
        "g (float[N, 2, M] x) => (float[N, 2, M] y) <float c = {0.5}, float[1, 1] d = {0.1}> {"
        " s = Sign(x) a = Add(s, c) r = Relu(a) m = Mul(r, d) y = Neg(m) }",
        near={
            "two NaN meet": f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, 2, M] y) {{"
            f" v = {PQ}(x) w = {PQ}(z) a = Add(v, w) y = {PQ}(a) }}",
            "rounding by position": f"g (float[N, 2, M] x) => (float[N, 2, M] y) {{ v = {PQ}(x) a = Tanh(v) y = {PQ}(a) }}",
            "the sign of a NaN": f"g (double[N, 2, M] x) => (double[N, 2, M] y) {{ v = {PQ}(x) a = Sign(v) y = {PQ}(a) }}",
            "float16": f"g (float16[N, 2, M] x) => (float16[N, 2, M] y) {{ v = {PQ}(x) a = Relu(v) y = {PQ}(a) }}",
            "another Transpose": f"g (float[N, N, N] x, float[N, N, N] z) => (float[N, N, N] y) {{"
            f" v = {PQ}(x) w = Transpose<perm = [1, 0, 2]>(z) a = Sub(v, w) y = {PQ}(a) }}",
            "no Transpose inside": f"g (float[N, 2, M] x) => (float[N, M, 2] y) {{ a = Neg(x) y = {PQ}(a) }}",
            "nothing between": f"g (float[N, 2, M] x) => (float[N, 2, M] y) {{ v = {PQ}(x) y = {PQ}(v) }}",
            "a constant that is an input": f"g (float[N, 2, M] x, float[2] c) => (float[N, 2, M] y) {{"
            f" v = {PQ}(x) a = Sub(v, c) y = {PQ}(a) }}",
            "a constant with a NaN": f"g (float[N, 2, M] x) => (float[N, 2, M] y) <float[2] c = {{1, nan}}> {{"
            f" v = {PQ}(x) a = Add(v, c) y = {PQ}(a) }}",
            "a constant that adds elements": f"g (float[N, 1, M] x) => (float[N, 2, M] y) <float[2] c = {{1, 2}}> {{"
            f" v = {PQ}(x) a = Sub(v, c) y = {PQ}(a) }}",
            "broadcast": f"g (float[N, 2, 1] x, float[N, 2, M] z) => (float[N, 2, M] y) {{"
            f" v = {PQ}(x) w = {PQ}(z) a = Sub(v, w) y = {PQ}(a) }}",
            "no rank is known": "g (float[N, 2, M] x, int64[R] t) => (float[A, B, C] y) {"
            " u = Reshape(x, t) v = Transpose(u) a = Neg(v) y = Transpose(a) }",
        },
    ),
    "channels last, constants for each channel": Case(
        "transpose-around-elementwise",
        "g (float[N, 2, H, W] x) => (float[N, 2, H, W] y) <float[2] b = {0.5, -3}, float[1, 1, 1, 2] c = {0.1, 7}> {"
        " v = Transpose<perm = [0, 2, 3, 1]>(x) a = Add(v, b) m = Mul(c, a) r = Relu(m) d = Div(r, b) y = Transpose<perm = [0, 3, 1, 2]>(d) }",
        "g (float[N, 2, H, W] x) => (float[N, 2, H, W] y) <float[2, 1, 1] b = {0.5, -3}, float[2, 1, 1] c = {0.1, 7}> {"
        " a = Add(x, b) m = Mul(c, a) r = Relu(m) y = Div(r, b) }",
    ),
    "a constant with several axes": Case(
        "transpose-around-elementwise",
        "g (float[2, 3, M] x) => (float[2, 3, M] y) <float[3, 1, 2] c = {1, 2, 3, 4, 5, 6}> {"
        " v = Transpose<perm = [1, 2, 0]>(x) a = Sub(v, c) n = Neg(a) y = Transpose<perm = [2, 0, 1]>(n) }",
        "g (float[2, 3, M] x) => (float[2, 3, M] y) <float[2, 3, 1] c = {1, 3, 5, 2, 4, 6}> { a = Sub(x, c) y = Neg(a) }",
    ),
    "a constant before a Transpose that is left": Case(
        "transpose-around-elementwise",
        "g (float[2, 3, M] x) => (float[3, 2, M] y) <float[2] c = {1, 2}> {"
        " v = Transpose<perm = [1, 2, 0]>(x) a = Sub(v, c) y = Transpose<perm = [0, 2, 1]>(a) }",
        "g (float[2, 3, M] x) => (float[3, 2, M] y) <float[2, 1, 1] c = {1, 2}> { a = Sub(x, c) y = Transpose<perm = [1, 0, 2]>(a) }",
    ),
    "before operands were broadcast by their last axes": Case(
        "transpose-around-elementwise",
        f"g (int32[N, 2, M] x) => (int32[N, 2, M] y) {{ v = {PQ}(x) c = Cast<to = 1>(v) y0 = {PQ}(c) y = Cast<to = 6>(y0) }}",
        "g (int32[N, 2, M] x) => (int32[N, 2, M] y) { c = Cast<to = 1>(x) y = Cast<to = 6>(c) }",
        near={
            "a constant for some axes": f"g (float[N, 2, M] x) => (float[N, 2, M] y) <float[2] c = {{1, 2}}> {{"
            f" v = {PQ}(x) a = Sub<axis = 2, broadcast = 1>(v, c) y = {PQ}(a) }}",
        },
        opset=6,
    ),
    "between Transposes of two values": Case(
        "transpose-around-elementwise",
        f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, 2, M] y, float[N, M, 2] w) {{"
        f" v = {PQ}(x) w = {PQ}(z) a = Sub(v, w) b = Div(a, w) y = {PQ}(b) }}",
        f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, 2, M] y, float[N, M, 2] w) {{"
        f" w = {PQ}(z) a = Sub(x, z) y = Div(a, z) }}",
    ),
    "of two Transposes": Case(
        "elementwise-of-transposes",
        f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, M, 2] y) {{ v = {PQ}(x) w = {PQ}(z) a = Sub(v, w) y = Neg(a) }}",
        f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, M, 2] y) {{ a = Sub(x, z) v = {PQ}(a) y = Neg(v) }}",
        near={
            "two NaN meet": f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, M, 2] y) {{ v = {PQ}(x) w = {PQ}(z) y = Add(v, w) }}",
            "another reader": f"g (float[N, 2, M] x, float[N, 2, M] z) => (float[N, M, 2] y, float[N, M, 2] n) {{"
            f" v = {PQ}(x) w = {PQ}(z) y = Sub(v, w) n = Neg(w) }}",
            "another Transpose": f"g (float[N, N, N] x, float[N, N, N] z) => (float[N, N, N] y) {{"
            f" v = {PQ}(x) w = Transpose<perm = [1, 0, 2]>(z) y = Sub(v, w) }}",
            "a choice between them": f"g (float[N, 2, M] x, float[N, 2, M] z, bool[N, M, 2] c) => (float[N, M, 2] y) {{"
            f" v = {PQ}(x) w = {PQ}(z) y = Where(c, v, w) }}",
            "one Transpose": f"g (float[N, 2, M] x) => (float[N, M, 2] y) <float c = {{2}}> {{ v = {PQ}(x) y = Sub(v, c) }}",
            "broadcast": f"g (float[N, 2, 1] x, float[N, 2, M] z) => (float[N, M, 2] y) {{ v = {PQ}(x) w = {PQ}(z) y = Sub(v, w) }}",
        },
    ),
    "a choice between Transposes": Case(
        "elementwise-of-transposes",
        "g (int64[N, M] x, int64[N, M] z, bool[N, M] c) => (int64[M, N] y) {"
        " v = Transpose(x) w = Transpose(z) d = Transpose(c) a = Where(d, v, w) y = Neg(a) }",
        "g (int64[N, M] x, int64[N, M] z, bool[N, M] c) => (int64[M, N] y) { a = Where(c, x, z) v = Transpose(a) y = Neg(v) }",
        opset=13,
    ),
    "Transposes that leave one": Case(
        "transpose-around-elementwise",
        "g (float[N, 2, M] x) => (float[A, B, C] y) { v = Transpose(x) a = Abs(v) y = Transpose<perm = [1, 0, 2]>(a) }",
        "g (float[N, 2, M] x) => (float[A, B, C] y) { a = Abs(x) y = Transpose<perm = [1, 2, 0]>(a) }",
        opset=13,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])
