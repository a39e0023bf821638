# ruff: noqa: E501  (models as text)
"""Pairs of models that are equal by a law of operators, and near misses that differ in some run."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from gather_infer import DiffVerdict, diff
from tests.verification.models import model

EQUAL: dict[str, tuple[str, str]] = {
    "a Loop without an iteration": (
        "(float[N] x, int64 m, bool b) => (y) <int64 t = {0}, bool c = {1}> { y = Loop(t, c, x) <body = g (int64 i, bool k, float[M] s) => (bool l, float[M] u) { l = Identity(k) u = Exp(s) }> }",
        "(float[N] x, int64 m, bool b) => (y) { y = Identity(x) }",
    ),
    "a Loop of a negative number of iterations": (
        "(float[N] x, int64 m, bool b) => (y) <int64 t = {-1}, bool c = {1}> { y = Loop(t, b, x) <body = g (int64 i, bool k, float[M] s) => (bool l, float[M] u) { l = Identity(k) u = Exp(s) }> }",
        "(float[N] x, int64 m, bool b) => (y) { y = Identity(x) }",
    ),
    "a Loop whose condition is false": (
        "(float[N] x, int64 m, bool b) => (y) <int64 t = {1}, bool c = {0}> { y = Loop(m, c, x) <body = g (int64 i, bool k, float[M] s) => (bool l, float[M] u) { l = Identity(k) u = Exp(s) }> }",
        "(float[N] x, int64 m, bool b) => (y) { y = Identity(x) }",
    ),
    "branches in the other order in the file": (
        "(float[4, M] x, float[3, P] z, bool c) => (y) { y = If(c) <then_branch = g1 () => (int64 a) { s = Shape(x) k = Constant<value = int64 {1}>() a = Gather(s, k) }, else_branch = g2 () => (int64 b) { t = Shape(z) l = Constant<value = int64 {1}>() b = Gather(t, l) }> }",
        "(float[4, M] x, float[3, P] z, bool c) => (y) { y = If(c) <else_branch = g2 () => (int64 b) { t = Shape(z) l = Constant<value = int64 {1}>() b = Gather(t, l) }, then_branch = g1 () => (int64 a) { s = Shape(x) k = Constant<value = int64 {1}>() a = Gather(s, k) }> }",
    ),
    # movement
    "two Transposes": (
        "(float[N, M, K] x) => (y) { a = Transpose<perm=[1, 2, 0]>(x) y = Transpose<perm=[2, 0, 1]>(a) }",
        "(float[N, M, K] x) => (y) { y = Identity(x) }",
    ),
    "heads split and merged": (
        "(float[N, S, 12] x) => (y) <int64[4] a = {0, 0, 3, 4}, int64[3] b = {0, 0, 12}> { c = Reshape(x, a) y = Reshape(c, b) }",
        "(float[N, S, 12] x) => (y) { y = Identity(x) }",
    ),
    "halves cut and joined": (
        "(float[N, 6] x) => (y) <int64[2] s = {2, 4}> { a, b = Split<axis=1>(x, s) y = Concat<axis=1>(a, b) }",
        "(float[N, 6] x) => (y) { y = Identity(x) }",
    ),
    "the first element cut off and joined": (
        "(float[N] x) => (y) <int64[1] a = {0}, int64[1] b = {1}, int64[1] c = {9223372036854775807}> { n = Neg(x) s = Slice(n, a, b) t = Slice(n, b, c) y = Concat<axis=0>(s, t) }",
        "(float[N] x) => (y) { y = Neg(x) }",
    ),
    "the last element cut off and joined": (
        "(float[N] x) => (y) <int64[1] a = {0}, int64[1] b = {-1}, int64[1] c = {9223372036854775807}> { n = Neg(x) s = Slice(n, a, b) t = Slice(n, b, c) y = Concat<axis=0>(s, t) }",
        "(float[N] x) => (y) { y = Neg(x) }",
    ),
    "more than there may be cut off and joined": (
        "(float[N] x) => (y) <int64[1] a = {0}, int64[1] b = {-3}, int64[1] c = {9223372036854775807}> { s = Slice(x, a, b) t = Slice(x, b, c) y = Concat<axis=0>(s, t) }",
        "(float[N] x) => (y) { y = Identity(x) }",
    ),
    "elements of a result cut off one by one and joined": (
        "(float[N, 2] x) => (y) <int64[2] s = {1, 1}> { n = Neg(x) a, b = Split<axis=1>(n, s) y = Concat<axis=1>(a, b) }",
        "(float[N, 2] x) => (y) { y = Neg(x) }",
    ),
    "a Slice to the end of an axis": (
        "(float[N, M] x, int64[2] s) => (y) <int64[1] a = {3}> { n = Shape<start=1>(x) h = Shape<end=1>(x) m = Max(h, a) f = Concat<axis=0>(m, n) y = Slice(x, s, f) }",
        "(float[N, M] x, int64[2] s) => (y) <int64[2] e = {9223372036854775807, 9223372036854775807}> { y = Slice(x, s, e) }",
    ),
    "a Slice backwards": (
        "(float[N, M] x, int64[1] s) => (y) <int64[1] one = {1}, int64[1] back = {-1}> { e = Shape<start=1>(x) y = Slice(x, s, e, one, back) }",
        "(float[N, M] x, int64[1] s) => (y) <int64[1] one = {1}, int64[1] back = {-1}, int64[1] e = {9223372036854775807}> { y = Slice(x, s, e, one, back) }",
    ),
    "axes of size 1 behind a Concat": (
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(x, e) u = Unsqueeze(c, a) y = Reshape(u, m) }",
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(x, e) y = Reshape(c, m) }",
    ),
    "copies of a Concat": (
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(x, e) u = Unsqueeze(c, two) v = Expand(u, five) y = Reshape(v, m) }",
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) u = Unsqueeze(x, two) v = Expand(u, five) f = Unsqueeze(e, two) g = Expand(f, five) c = Concat<axis=1>(v, g) y = Reshape(c, m) }",
    ),
    "comparisons from the other side": (
        "(float[N] x, float[N] z) => (y, w) { y = Greater(x, z) w = GreaterOrEqual(x, z) }",
        "(float[N] x, float[N] z) => (y, w) { y = Less(z, x) w = LessOrEqual(z, x) }",
    ),
    "a negated comparison of integers": (
        "(int64[N] x, int64[N] z) => (y, w) { y = GreaterOrEqual(x, z) w = Greater(x, z) }",
        "(int64[N] x, int64[N] z) => (y, w) { l = Less(x, z) y = Not(l) m = LessOrEqual(x, z) w = Not(m) }",
    ),
    "Min and Max of integers in another order": (
        "(int64[N] x, int64[N] z) => (y, w) { y = Min(x, z) w = Max(x, z) }",
        "(int64[N] x, int64[N] z) => (y, w) { y = Min(z, x) w = Max(z, x) }",
    ),
    "rows of NonZero cut off and joined": (
        "(float[N, M, K] x) => (y) <int64[2] s = {2, 1}, int64[2] t = {1, 1}> { n = NonZero(x) a, b = Split<axis=0>(n, s) c, d = Split<axis=0>(a, t) y = Concat<axis=0>(c, d, b) }",
        "(float[N, M, K] x) => (y) { y = NonZero(x) }",
    ),
    "Slice of Slice": (
        "(float[20] x) => (y) <int64[1] a = {2}, int64[1] b = {18}, int64[1] c = {3}, int64[1] d = {9}> { m = Slice(x, a, b) y = Slice(m, c, d) }",
        "(float[20] x) => (y) <int64[1] a = {5}, int64[1] b = {11}> { y = Slice(x, a, b) }",
    ),
    "a Slice from the last element backwards": (
        "(float[N] x) => (y) <int64[1] a = {9223372036854775807}, int64[1] b = {-9223372036854775807}, int64[1] z = {0}, int64[1] m = {-1}> { y = Slice(x, a, b, z, m) }",
        "(float[N] x) => (y) <int64[1] a = {-1}, int64[1] b = {-9223372036854775807}, int64[1] z = {0}, int64[1] m = {-1}> { y = Slice(x, a, b, z, m) }",
    ),
    "Slice backwards twice": (
        "(float[7] x) => (y) <int64[1] a = {-1}, int64[1] b = {-100}, int64[1] z = {0}, int64[1] m = {-1}> { r = Slice(x, a, b, z, m) y = Slice(r, a, b, z, m) }",
        "(float[7] x) => (y) { y = Identity(x) }",
    ),
    "Gather of a Concat in one part": (
        "(float[N, 3] x, float[N, 4] z) => (y) <int64[2] i = {4, 6}> { c = Concat<axis=1>(x, z) y = Gather<axis=1>(c, i) }",
        "(float[N, 3] x, float[N, 4] z) => (y) <int64[2] i = {1, 3}> { y = Gather<axis=1>(z, i) }",
    ),
    "Gather of a Transpose": (
        "(float[5, N] x, int64[K] i) => (y) { t = Transpose(x) y = Gather<axis=1>(t, i) }",
        "(float[5, N] x, int64[K] i) => (y) { g = Gather<axis=0>(x, i) y = Transpose(g) }",
    ),
    "GatherND of rows": (
        "(float[5, M] x, int64[K, 1] i) => (y) { y = GatherND(x, i) }",
        "(float[5, M] x, int64[K, 1] i) => (y) <int64[1] a = {1}> { s = Squeeze(i, a) y = Gather(x, s) }",
    ),
    "a Tile as a Concat": (
        "(float[N] x) => (y) <int64[1] r = {2}> { y = Tile(x, r) }",
        "(float[N] x) => (y) <int64[1] r = {2}> { y = Tile(x, r) }",
    ),
    "Pad that is cut off again": (
        "(float[6] x) => (y) <int64[2] p = {2, 1}, int64[1] s = {2}, int64[1] e = {8}> { a = Pad(x, p) y = Slice(a, s, e) }",
        "(float[6] x) => (y) { y = Identity(x) }",
    ),
    # sizes
    "sizes from the input": (
        "(float[N, S, 4] x) => (y) <int64 o = {1}, int64[1] z = {0}, int64[1] m = {-1}> { s = Shape(x) g = Gather(s, o) u = Unsqueeze(g, z) t = Concat<axis=0>(m, u) y = Reshape(x, t) }",
        "(float[N, S, 4] x) => (y) <int64[1] m = {-1}> { s = Shape<start=1, end=2>(x) t = Concat<axis=0>(m, s) y = Reshape(x, t) }",
    ),
    "positions": (
        "(float[N] x) => (y) <int64 o = {0}, int64 d = {1}> { s = Size(x) y = Range(o, s, d) }",
        "(float[N] x) => (y) <int64 o = {0}, int64 d = {1}, int64 two = {2}, int64 t = {5}> { s = Size(x) r = Range(o, s, d) a = Add(r, t) y = Sub(a, t) }",
    ),
    "a negative index": (
        "(float[N, 5] x) => (y) <int64 i = {-1}> { y = Gather<axis=1>(x, i) }",
        "(float[N, 5] x) => (y) <int64 i = {4}> { y = Gather<axis=1>(x, i) }",
    ),
    # elements
    "a Transpose of elementwise operators": (
        "(float[N, M] x, float[M] b) => (y) { t = Transpose(x) u = Relu(t) y = Transpose(u) }",
        "(float[N, M] x, float[M] b) => (y) { y = Relu(x) }",
    ),
    "exact neutral elements": (
        "(float[N] x) => (y) <float o = {1.0}, float z = {0.0}> { a = Mul(x, o) b = Div(a, o) y = Sub(b, z) }",
        "(float[N] x) => (y) { y = Identity(x) }",
    ),
    "operands in the other order": (
        "(float[N] x, float[N] z) => (y) { y = Add(x, z) }",
        "(float[N] x, float[N] z) => (y) { y = Add(z, x) }",
    ),
    "two negations": (
        "(bool[N] x, float[N] a, float[N] b) => (y) { n = Not(x) y = Where(n, a, b) }",
        "(bool[N] x, float[N] a, float[N] b) => (y) { y = Where(x, b, a) }",
    ),
    "a cast there and back": (
        "(float16[N] x) => (y) { w = Cast<to=1>(x) y = Cast<to=10>(w) }",
        "(float16[N] x) => (y) { y = Identity(x) }",
    ),
    "a cast by way of a type that holds the elements": (
        "(bool[N] x, int8[N] z) => (y, w) { a = Cast<to=6>(x) y = Cast<to=7>(a) b = Cast<to=1>(z) w = Cast<to=7>(b) }",
        "(bool[N] x, int8[N] z) => (y, w) { y = Cast<to=7>(x) w = Cast<to=7>(z) }",
    ),
    "the first rows of a table": (
        "(float[N] x) => (y) <float[4, 2] t = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, int64 z = {0}, int64 o = {1}> { n = Size(x) r = Range(z, n, o) y = Gather(t, r) }",
        "(float[N] x) => (y) <float[4, 2] t = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}, int64[1] z = {0}> { n = Shape(x) y = Slice(t, z, n, z) }",
    ),
    "constants computed ahead": (
        "(float[N, 3] x) => (y) <float[3] a = {1.0, 2.0, 3.0}, float two = {2.0}> { b = Mul(a, two) y = Add(x, b) }",
        "(float[N, 3] x) => (y) <float[3] b = {2.0, 4.0, 6.0}> { y = Add(x, b) }",
    ),
    "a constant transposed ahead": (
        "(float[2, 3] x) => (y) <float[3, 2] a = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> { t = Transpose(a) y = Add(x, t) }",
        "(float[2, 3] x) => (y) <float[2, 3] t = {1.0, 3.0, 5.0, 2.0, 4.0, 6.0}> { y = Add(x, t) }",
    ),
    "a constant cut after an operator": (
        "(float[N, 4] x) => (y) <float[4] c = {1.0, 2.0, 3.0, 4.0}, int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}> { m = Add(x, c) y = Slice(m, s, e, a) }",
        "(float[N, 4] x) => (y) <float[2] c = {1.0, 2.0}, int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}> { m = Slice(x, s, e, a) y = Add(m, c) }",
    ),
    "a table joined and looked up ahead": (
        "(float[N, 3] x) => (y) <float[2] a = {1.0, 2.0}, float[1] b = {7.0}, int64[3] i = {2, 0, -2}> { t = Concat<axis=0>(a, b) g = Gather(t, i) y = Add(x, g) }",
        "(float[N, 3] x) => (y) <float[3] g = {7.0, 1.0, 2.0}> { y = Add(x, g) }",
    ),
    "a table looked up by several axes of constants": (
        "(float[N, 2] x) => (y) <float[2, 2] t = {1.0, 2.0, 3.0, 4.0}, int64[2, 2] i = {1, 0, -2, -1}> { g = GatherND(t, i) y = Add(x, g) }",
        "(float[N, 2] x) => (y) <float[2] g = {3.0, 2.0}> { y = Add(x, g) }",
    ),
    "a running sum computed ahead": (
        "(float[N, 3] x) => (y) <int64[3] a = {5, 6, 7}, int64 o = {0}> { s = CumSum(a, o) c = Cast<to=1>(s) y = Add(x, c) }",
        "(float[N, 3] x) => (y) <float[3] c = {5.0, 11.0, 18.0}> { y = Add(x, c) }",
    ),
    "joined heads that are split again": (
        "(float[N, S, 2, 3] x, float[N, S, 2, 3] z) => (y) <int64[3] m = {0, 0, 12}, int64[4] h = {0, 0, 2, 6}> { c = Concat<axis=3>(x, z) a = Reshape(c, m) b = Reshape(a, h) y = Transpose<perm=[0, 2, 1, 3]>(b) }",
        "(float[N, S, 2, 3] x, float[N, S, 2, 3] z) => (y) { a = Transpose<perm=[0, 2, 1, 3]>(x) b = Transpose<perm=[0, 2, 1, 3]>(z) y = Concat<axis=3>(a, b) }",
    ),
    "a Resize that keeps the size": (
        "(float[N, C, H, W] x) => (y) <float[4] s = {1.0, 1.0, 1.0, 1.0}> { y = Resize<mode=\"nearest\">(x, , s) }",
        "(float[N, C, H, W] x) => (y) { y = Identity(x) }",
    ),
    "a constant that a Resize keeps": (
        "(float[N, 2] x) => (y) <float[1, 2] c = {1.0, 2.0}, float[2] s = {1.0, 1.0}> { r = Resize<mode=\"linear\">(c, , s) y = Add(x, r) }",
        "(float[N, 2] x) => (y) <float[1, 2] c = {1.0, 2.0}> { y = Add(x, c) }",
    ),
    "a Dropout outside of training": (
        "(float[N] x) => (y, z) <float r = {0.5}, bool t = {0}> { y, mask = Dropout(x) z, other = Dropout(x, r, t) }",
        "(float[N] x) => (y, z) { y = Identity(x) z = Identity(x) }",
    ),
    # calls
    "pads written out": (
        "(float[N, 3, 7, 8] x, float[4, 3, 3, 2] w, float[2, 3, 5, 4] v) => (y, z) { y = Conv<auto_pad=\"SAME_UPPER\", strides=[2, 1]>(x, w) z = Conv<auto_pad=\"VALID\">(x, v) }",
        "(float[N, 3, 7, 8] x, float[4, 3, 3, 2] w, float[2, 3, 5, 4] v) => (y, z) { y = Conv<pads=[1, 0, 1, 1], strides=[2, 1], kernel_shape=[3, 2]>(x, w) z = Conv<dilations=[1, 1], pads=[0, 0, 0, 0]>(x, v) }",
    ),
    "no padding of the output": (
        "(float[N, 3, 7, 8] x, float[3, 4, 2, 2] w) => (y) { y = ConvTranspose<strides=[2, 2]>(x, w) }",
        "(float[N, 3, 7, 8] x, float[3, 4, 2, 2] w) => (y) { y = ConvTranspose<strides=[2, 2], output_padding=[0, 0]>(x, w) }",
    ),
    "statistics that only training computes": (
        "(float[N, 3, 7] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y) { y = BatchNormalization<momentum=0.5>(x, s, b, m, v) }",
        "(float[N, 3, 7] x, float[3] s, float[3] b, float[3] m, float[3] v) => (y) { y = BatchNormalization<training_mode=0>(x, s, b, m, v) }",
    ),
    "positions written twice": (
        "(float[N, 3] x, int64[K, 1] i, float[K, 3] u, float[K, 3] v) => (y) { a = ScatterND(x, i, u) y = ScatterND(a, i, v) }",
        "(float[N, 3] x, int64[K, 1] i, float[K, 3] u, float[K, 3] v) => (y) { y = ScatterND(x, i, v) }",
    ),
    "a kept axis of a reduction": (
        "(float[N, M] x) => (y) <int64[1] a = {1}> { r = ReduceSum<keepdims=0>(x, a) y = Unsqueeze(r, a) }",
        "(float[N, M] x) => (y) <int64[1] a = {-1}> { y = ReduceSum(x, a) }",
    ),
    "an axis from the end": (
        "(float[N, M] x) => (y) { y = Softmax<axis=-1>(x) }",
        "(float[N, M] x) => (y) { y = Softmax<axis=1>(x) }",
    ),
    "a branch that is taken": (
        "(float[N] x) => (y) <bool c = {1}> { y = If(c)<then_branch = a () => (float[N] t) { t = Relu(x) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
        "(float[N] x) => (y) { y = Relu(x) }",
    ),
    "equal branches": (
        "(float[N] x, bool c) => (y) { y = If(c)<then_branch = a () => (float[N] t) { t = Relu(x) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
        "(float[N] x, bool c) => (y) { z = Identity(x) y = If(c)<then_branch = a () => (float[N] u) { u = Relu(z) }, else_branch = b () => (float[N] v) { w = Neg(z) v = Identity(w) }> }",
    ),
    "an index without negative elements divided": (
        "(float[N, 12] x) => (y) <int64 three = {3}, int64 z = {0}, int64 o = {1}> { i = ArgMax<axis=1>(x) d = Div(i, three) l = Less(i, z) s = Sub(d, o) y = Where(l, s, d) }",
        "(float[N, 12] x) => (y) <int64 three = {3}> { i = ArgMax<axis=1>(x) y = Div(i, three) }",
    ),
}  # fmt: skip

DIFFERENT: dict[str, tuple[str, str]] = {
    "a Concat of which one part is repeated": (
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(x, e) u = Unsqueeze(c, two) v = Expand(u, five) y = Reshape(v, m) }",
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) f = Unsqueeze(e, two) g = Expand(f, five) c = Concat<axis=1>(z, g) y = Reshape(c, m) }",
    ),
    "the first row of a Concat": (
        "(float[N, M] x) => (y, f) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[1] two = {2}, int64 zero = {0}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(x, e) f = Gather(x, zero) y = Reshape(c, m) }",
        "(float[N, M] x) => (y, f) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[1] two = {2}, int64 zero = {0}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) f = Gather(x, zero) s = Shape(x) g = Expand(f, s) c = Concat<axis=1>(g, e) y = Reshape(c, m) }",
    ),
    "copies of a Concat in the other order": (
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(x, e) u = Unsqueeze(c, two) v = Expand(u, five) y = Reshape(v, m) }",
        "(float[N, M] x, float[N, M, 5] z) => (y) <int64[1] m = {-1}, int64[2] a = {2, 3}, float[1, 1] p = {7.0}, int64[3] five = {1, 1, 5}, int64[1] two = {2}> { n = Shape<end=1>(x) q = Concat<axis=0>(n, two) e = Expand(p, q) c = Concat<axis=1>(e, x) u = Unsqueeze(c, two) v = Expand(u, five) y = Reshape(v, m) }",
    ),
    "a Slice to the length of another axis": (
        "(float[N, M] x, int64[1] s) => (y) <int64[1] a = {1}> { e = Shape<end=1>(x) y = Slice(x, s, e, a) }",
        "(float[N, M] x, int64[1] s) => (y) <int64[1] a = {1}, int64[1] e = {9223372036854775807}> { y = Slice(x, s, e, a) }",
    ),
    "a Slice to the last element": (
        "(float[N, M] x, int64[1] s) => (y) <int64[1] a = {1}> { n = Shape<start=1>(x) e = Sub(n, a) y = Slice(x, s, e, a) }",
        "(float[N, M] x, int64[1] s) => (y) <int64[1] a = {1}, int64[1] e = {9223372036854775807}> { y = Slice(x, s, e, a) }",
    ),
    "the first element cut off and joined at the end": (
        "(float[N] x) => (y) <int64[1] a = {0}, int64[1] b = {1}, int64[1] c = {9223372036854775807}> { n = Neg(x) s = Slice(n, a, b) t = Slice(n, b, c) y = Concat<axis=0>(t, s) }",
        "(float[N] x) => (y) { y = Neg(x) }",
    ),
    "an element is lost between two cuts": (
        "(float[N] x) => (y) <int64[1] a = {0}, int64[1] b = {2}, int64[1] d = {3}, int64[1] c = {9223372036854775807}> { s = Slice(x, a, b) t = Slice(x, d, c) y = Concat<axis=0>(s, t) }",
        "(float[N] x) => (y) { y = Identity(x) }",
    ),
    "rows of NonZero joined in another order": (
        "(float[N, M, K] x) => (y) <int64[2] s = {2, 1}, int64[2] t = {1, 1}> { n = NonZero(x) a, b = Split<axis=0>(n, s) c, d = Split<axis=0>(a, t) y = Concat<axis=0>(d, c, b) }",
        "(float[N, M, K] x) => (y) { y = NonZero(x) }",
    ),
    "the first element twice": (
        "(float[N] x) => (y) <int64[1] a = {0}, int64[1] b = {1}, int64[1] c = {-1}> { n = Neg(x) s = Slice(n, a, b) t = Slice(n, a, c) y = Concat<axis=0>(s, t) }",
        "(float[N] x) => (y) { y = Neg(x) }",
    ),
    "elements of a result joined in the other order": (
        "(float[N, 2] x) => (y) <int64[2] s = {1, 1}> { n = Neg(x) a, b = Split<axis=1>(n, s) y = Concat<axis=1>(b, a) }",
        "(float[N, 2] x) => (y) { y = Neg(x) }",
    ),
    "one element of a result twice": (
        "(float[N, 2] x) => (y) <int64[2] s = {1, 1}> { n = Neg(x) a, b = Split<axis=1>(n, s) y = Concat<axis=1>(a, a) }",
        "(float[N, 2] x) => (y) { y = Neg(x) }",
    ),
    "greater is less": (
        "(float[N] x, float[N] z) => (y) { y = Greater(x, z) }",
        "(float[N] x, float[N] z) => (y) { y = Less(x, z) }",
    ),
    "greater is less or equal from the other side": (
        "(float[N] x, float[N] z) => (y) { y = Greater(x, z) }",
        "(float[N] x, float[N] z) => (y) { y = LessOrEqual(z, x) }",
    ),
    "a negated comparison of floats": (
        "(float[N] x, float[N] z) => (y) { y = GreaterOrEqual(x, z) }",
        "(float[N] x, float[N] z) => (y) { l = Less(x, z) y = Not(l) }",
    ),
    "a negated comparison of integers with the other end": (
        "(int64[N] x, int64[N] z) => (y) { y = Greater(x, z) }",
        "(int64[N] x, int64[N] z) => (y) { l = Less(x, z) y = Not(l) }",
    ),
    "a Loop with an iteration": (
        "(float[N] x, int64 m, bool b) => (y) <int64 t = {1}, bool c = {1}> { y = Loop(t, c, x) <body = g (int64 i, bool k, float[M] s) => (bool l, float[M] u) { l = Identity(k) u = Exp(s) }> }",
        "(float[N] x, int64 m, bool b) => (y) { y = Identity(x) }",
    ),
    "the same branches in the file, for other conditions": (
        "(float[4, M] x, float[3, P] z, bool c) => (y) { y = If(c) <then_branch = g1 () => (int64 a) { s = Shape(x) k = Constant<value = int64 {1}>() a = Gather(s, k) }, else_branch = g2 () => (int64 b) { t = Shape(z) l = Constant<value = int64 {1}>() b = Gather(t, l) }> }",
        "(float[4, M] x, float[3, P] z, bool c) => (y) { y = If(c) <else_branch = g1 () => (int64 a) { s = Shape(x) k = Constant<value = int64 {1}>() a = Gather(s, k) }, then_branch = g2 () => (int64 b) { t = Shape(z) l = Constant<value = int64 {1}>() b = Gather(t, l) }> }",
    ),
    "padding of the output": (
        "(float[N, 3, 7, 8] x, float[3, 4, 2, 2] w) => (y) { y = ConvTranspose<strides=[2, 2]>(x, w) }",
        "(float[N, 3, 7, 8] x, float[3, 4, 2, 2] w) => (y) { y = ConvTranspose<strides=[2, 2], output_padding=[0, 1]>(x, w) }",
    ),
    "two Transposes that do not cancel": (
        "(float[N, N, N] x) => (y) { a = Transpose<perm=[1, 2, 0]>(x) y = Transpose<perm=[1, 2, 0]>(a) }",
        "(float[N, N, N] x) => (y) { y = Identity(x) }",
    ),
    "heads merged in the other order": (
        "(float[N, 2, 2] x) => (y) <int64[2] a = {0, 4}> { y = Reshape(x, a) }",
        "(float[N, 2, 2] x) => (y) <int64[2] a = {0, 4}> { t = Transpose<perm=[0, 2, 1]>(x) y = Reshape(t, a) }",
    ),
    "halves in the other order": (
        "(float[N, 6] x) => (y) <int64[2] s = {3, 3}> { a, b = Split<axis=1>(x, s) y = Concat<axis=1>(b, a) }",
        "(float[N, 6] x) => (y) { y = Identity(x) }",
    ),
    "a zero added": (
        "(float[N] x) => (y) <float z = {0.0}> { y = Add(x, z) }",
        "(float[N] x) => (y) { y = Identity(x) }",
    ),
    "a maximum of zeros": (
        "(float[N] x, float[N] z) => (y) { m = Max(x, z) y = Reciprocal(m) }",
        "(float[N] x, float[N] z) => (y) { m = Max(z, x) y = Reciprocal(m) }",
    ),
    "a narrowing cast": (
        "(float[N] x) => (y) { w = Cast<to=10>(x) y = Cast<to=1>(w) }",
        "(float[N] x) => (y) { y = Identity(x) }",
    ),
    "truncation is not flooring": (
        "(int64[N] x) => (y) <int64 t = {3}> { y = Div(x, t) }",
        "(int64[N] x) => (y) <int64 t = {3}, int64 z = {0}, int64 o = {1}> { d = Div(x, t) m = Mul(d, t) e = Less(x, m) s = Sub(d, o) y = Where(e, s, d) }",
    ),
    "one bit of a constant": (
        "(float[N, 3] x) => (y) <float[3] a = {1.0, 2.0, 3.0}> { y = Add(x, a) }",
        "(float[N, 3] x) => (y) <float[3] a = {1.0, 2.0, 3.0000002}> { y = Add(x, a) }",
    ),
    "another epsilon": (
        "(float[N, 4] x) => (y) <float[4] s = {1.0, 1.0, 1.0, 1.0}> { y = LayerNormalization<epsilon=0.001>(x, s) }",
        "(float[N, 4] x) => (y) <float[4] s = {1.0, 1.0, 1.0, 1.0}> { y = LayerNormalization<epsilon=0.01>(x, s) }",
    ),
    "the other branch": (
        "(float[N] x, bool c) => (y) { y = If(c)<then_branch = a () => (float[N] t) { t = Relu(x) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
        "(float[N] x, bool c) => (y) { y = If(c)<then_branch = a () => (float[N] t) { t = Neg(x) }, else_branch = b () => (float[N] e) { e = Relu(x) }> }",
    ),
    "one more iteration": (
        "(float[N] x) => (y) <int64 n = {3}, bool t = {1}> { y = Loop(n, t, x)<body = b (int64 i, bool c, float[N] a) => (bool d, float[N] e) { d = Identity(c) e = Add(a, a) }> }",
        "(float[N] x) => (y) <int64 n = {4}, bool t = {1}> { y = Loop(n, t, x)<body = b (int64 i, bool c, float[N] a) => (bool d, float[N] e) { d = Identity(c) e = Add(a, a) }> }",
    ),
    "the minimum of two sizes": (
        "(float[N] x, float[M] z) => (y) { s = Shape(x) t = Shape(z) y = Min(s, t) }",
        "(float[N] x, float[M] z) => (y) { y = Shape(x) }",
    ),
    "a run-time index that is one off": (
        "(float[9, M] x, int64[K] i) => (y) { y = Gather(x, i) }",
        "(float[9, M] x, int64[K] i) => (y) <int64 o = {1}> { j = Add(i, o) y = Gather(x, j) }",
    ),
    "a constant cut at another place": (
        "(float[N, 4] x) => (y) <float[4] c = {1.0, 2.0, 3.0, 4.0}, int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}> { m = Add(x, c) y = Slice(m, s, e, a) }",
        "(float[N, 4] x) => (y) <float[2] c = {2.0, 3.0}, int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {1}> { m = Slice(x, s, e, a) y = Add(m, c) }",
    ),
    "a table looked up at another place": (
        "(float[N, 3] x) => (y) <float[2] a = {1.0, 2.0}, float[1] b = {7.0}, int64[3] i = {2, 0, -1}> { t = Concat<axis=0>(a, b) g = Gather(t, i) y = Add(x, g) }",
        "(float[N, 3] x) => (y) <float[3] g = {7.0, 1.0, 2.0}> { y = Add(x, g) }",
    ),
    "an odd pad at the other end": (
        "(float[N, 3, 7, 8] x, float[4, 3, 3, 2] w) => (y) { y = Conv<auto_pad=\"SAME_LOWER\">(x, w) }",
        "(float[N, 3, 7, 8] x, float[4, 3, 3, 2] w) => (y) { y = Conv<pads=[1, 0, 1, 1]>(x, w) }",
    ),
    "other positions written twice": (
        "(float[N, 3] x, int64[K, 1] i, int64[K, 1] j, float[K, 3] u, float[K, 3] v) => (y) { a = ScatterND(x, j, u) y = ScatterND(a, i, v) }",
        "(float[N, 3] x, int64[K, 1] i, int64[K, 1] j, float[K, 3] u, float[K, 3] v) => (y) { b = Identity(j) y = ScatterND(x, i, v) }",
    ),
    "a cast by way of a smaller type": (
        "(int64[N] x, float[N] z) => (y, w) { a = Cast<to=3>(x) y = Cast<to=7>(a) b = Cast<to=10>(z) w = Cast<to=11>(b) }",
        "(int64[N] x, float[N] z) => (y, w) { y = Identity(x) w = Cast<to=11>(z) }",
    ),
    "sums written twice": (
        "(float[N, 3] x, int64[K, 1] i, float[K, 3] u, float[K, 3] v) => (y) { a = ScatterND<reduction=\"add\">(x, i, u) y = ScatterND<reduction=\"add\">(a, i, v) }",
        "(float[N, 3] x, int64[K, 1] i, float[K, 3] u, float[K, 3] v) => (y) { y = ScatterND<reduction=\"add\">(x, i, v) }",
    ),
    "half of the double of an element": (
        "(int64[4] x) => (y) <int64[1] k = {2}, int64 z = {0}, int64 t = {2}> { c = Max(x, z) v, i = TopK(c, k) b = Mul(v, t) y = Div(b, t) }",
        "(int64[4] x) => (y) <int64[1] k = {2}, int64 z = {0}> { c = Max(x, z) y, i = TopK(c, k) }",
    ),
}  # fmt: skip


NOT_PROVED: dict[str, tuple[str, str]] = {
    # they differ in runs that no test can afford, with types that onnxruntime lacks, or in other runtimes
    "a Resize that moves the positions": (
        "(float[1, 1, 4, 4] x) => (y) <float[4] s = {1.0, 1.0, 1.2, 1.2}> { y = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"ceil\">(x, , s) }",
        "(float[1, 1, 4, 4] x) => (y) { y = Identity(x) }",
    ),
    "a Resize that turns -0.0 into 0.0": (
        "(float[1, 1, 4, 4] x) => (y) <float[4] s = {1.0, 1.0, 1.0, 1.0}> { r = Resize<mode=\"cubic\">(x, , s) y = Reciprocal(r) }",
        "(float[1, 1, 4, 4] x) => (y) { y = Reciprocal(x) }",
    ),
    "rows that are read only if there is a column": (
        "(float[N, B] x) => (y, g) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64 z = {0}, int64 o = {1}, int64[1] c = {0}, int64[1] a = {1}> { s = Shape(x) m = Shape<start=0, end=1>(x) n = Squeeze(m) r = Range(z, n, o) u = Unsqueeze(r, a) e = Expand(u, s) g = Gather(t, e) f = Slice(t, c, m, c) y = Shape(f) }",
        "(float[N, B] x) => (y, g) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64 z = {0}, int64 o = {1}, int64[1] c = {0}, int64[1] a = {1}> { s = Shape(x) y = Shape<start=0, end=1>(x) n = Squeeze(y) r = Range(z, n, o) u = Unsqueeze(r, a) e = Expand(u, s) g = Gather(t, e) }",
    ),
    "positions as int32": (
        "(int8[N] x) => (y) { p = NonZero(x) a = Cast<to=6>(p) y = Cast<to=7>(a) }",
        "(int8[N] x) => (y) { y = NonZero(x) }",
    ),
    "floats out of range by way of float32": (
        "(float16[N] x) => (y) { a = Cast<to=1>(x) y = Cast<to=3>(a) }",
        "(float16[N] x) => (y) { y = Cast<to=3>(x) }",
    ),
    "rows that are read only under a condition": (
        "(float[N] x, bool[N] c) => (y, g) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64 z = {0}, int64 o = {1}, int64[1] f = {0}> { m = Shape(x) n = Size(x) r = Range(z, n, o) w = Where(c, r, z) g = Gather(t, w) l = Slice(t, f, m, f) y = Shape(l) }",
        "(float[N] x, bool[N] c) => (y, g) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64 z = {0}, int64 o = {1}> { y = Shape(x) n = Size(x) r = Range(z, n, o) w = Where(c, r, z) g = Gather(t, w) }",
    ),
    "a Dropout in training": (
        "(float[N] x) => (y) <float r = {0.0}, bool t = {1}> { y = Dropout(x, r, t) }",
        "(float[N] x) => (y) { y = Identity(x) }",
    ),
    "an attribute of -0.0": (
        "(float[N] x) => (y) { y = Shrink<lambd=-1.0, bias=-0.0>(x) }",
        "(float[N] x) => (y) { y = Shrink<lambd=-1.0>(x) }",
    ),
    "parts whose number nobody gives": (
        "(float[6] x) => (y) { a, y = Split<num_outputs=2>(x) }",
        "(float[6] x) => (y) { a, y = Split(x) }",
    ),
    "a Dropout of a ratio that is none": (
        "(float[N] x) => (y) { y = Identity(x) }",
        "(float[N] x) => (y) <float r = {2.0}> { y = Dropout(x, r) }",
    ),
    "strides for another number of axes": (
        "(float[N, 3, 7, 8] x, float[4, 3, 3, 2] w) => (y) { y = Conv(x, w) }",
        "(float[N, 3, 7, 8] x, float[4, 3, 3, 2] w) => (y) { y = Conv<strides=[1, 1, 1]>(x, w) }",
    ),
    "a Pool with windows in gaps": (
        "(float[1, 1, 6] x) => (y) { y = MaxPool<auto_pad=\"VALID\", kernel_shape=[2], strides=[2], ceil_mode=1>(x) }",
        "(float[1, 1, 6] x) => (y) { y = MaxPool<kernel_shape=[2], strides=[2], ceil_mode=1>(x) }",
    ),
    "a uint64 that is no int64": (
        "(uint64[N, 4] x) => (y) <int64[1] a = {1}, int64 z = {0}> { m = ReduceMax<keepdims=0>(x, a) i = Cast<to=7>(m) y = Less(i, z) }",
        "(uint64[N, 4] x) => (y) <bool f = {0}> { s = Shape<start=0, end=1>(x) y = Expand(f, s) }",
    ),
    "an axis of more than 2^31 elements read backwards": (
        "(int8[N] x) => (y) <int64[1] s = {2147483648}, int64[1] e = {-9223372036854775807}, int64[1] z = {0}, int64[1] m = {-1}> { y = Slice(x, s, e, z, m) }",
        "(int8[N] x) => (y) <int64[1] s = {-1}, int64[1] e = {-9223372036854775807}, int64[1] z = {0}, int64[1] m = {-1}> { y = Slice(x, s, e, z, m) }",
    ),
}  # fmt: skip

MALFORMED: dict[str, str] = {
    "a fill value of two elements": "(int64[1] s) => (y) { y = ConstantOfShape<value = float[2] {1.0, 2.0}>(s) }",
    "an attribute of another version": "(float[N, 4] x) => (y) { y = ReduceMax<axes = [1], keepdims = 0>(x) }",
    "an axis left out": "(float[N, 4] x, int64[2] i) => (y) { y = GatherElements(x, i) }",
    "a text as an axis": '(float[N, 4] x, int64[2] i) => (y) { y = Gather<axis = "0">(x, i) }',
    "one operand": "(float[N, 4] x) => (y) { y = Add(x) }",
    "three operands": "(float[N, 4] x) => (y) { y = Sub(x, x, x) }",
    "a permutation with repetitions": "(float[N, 4] x) => (y) { y = Transpose<perm = [0, 0]>(x) }",
    "a permutation of three": "(float[N, 4] x) => (y) { y = Transpose<perm = [0, 1, 2]>(x) }",
    "pads of one number": "(float[N, 4] x) => (y) <int64[1] p = {1}> { y = Pad(x, p) }",
    "axes of a Slice beyond the rank": "(float[N, 4] x) => (y) <int64[1] s = {0}, int64[1] a = {5}> { y = Slice(x, s, s, a) }",
    "starts and ends of two lengths": "(float[N, 4] x) => (y) <int64[1] s = {0}, int64[2] e = {1, 1}> { y = Slice(x, s, e) }",
    "a step of 0": "(float[N, 4] x) => (y) <int64[1] s = {0}, int64[1] e = {3}> { y = Slice(x, s, e, s, s) }",
    "too few repeats": "(float[N, 4] x) => (y) <int64[1] r = {2}> { y = Tile(x, r) }",
    "indices of floats": "(float[N, 4] x) => (y) { y = Gather(x, x) }",
    "no results": "(float[N, 4] x) => (y) { y = Split<axis = 9>(x) }",
    "batch axes beyond the rank": "(float[N, 4] x, int64[N, 1] i) => (y) { y = GatherND<batch_dims = 7>(x, i) }",
    "a bool plus a float": "(float[N, 4] x, bool[N, 4] b) => (y) { y = Add(x, b) }",
    "a condition of floats": "(float[N, 4] x) => (y) { y = Where(x, x, x) }",
    "a Range of vectors": "(int64[3] x, int64[N] z) => (y) { y = Range(x, z, x) }",
    "a Cast to nothing": "(float[N, 4] x) => (y) { y = Cast<to = 99>(x) }",
    "a scalar joined": "(float x, float[N] z) => (y) { y = Concat<axis = 0>(x, z) }",
    "strides of texts": '(float[N, 3, 7, 8] x, float[4, 3, 2, 2] w) => (y) { y = Conv<auto_pad = "SAME_UPPER", strides = ["a", "b"]>(x, w) }',
    "strides of 0": '(float[N, 3, 7, 8] x, float[4, 3, 2, 2] w) => (y) { y = Conv<auto_pad = "SAME_UPPER", strides = [0, 0]>(x, w) }',
    "negative strides and unknown windows": '(float[N, 3, 7, 8] x, float[4, 3, K, K] w) => (y) { y = Conv<auto_pad = "SAME_UPPER", strides = [-1, -1]>(x, w) }',
    "a text that is a truth value": '(float[N, 4] x) => (y) <string[1] t = {"a"}> { y, m = Dropout(x, , t) }',
    "a Loop without a body": "(float[N, 4] x, int64 n, bool c) => (y) { y = Loop(n, c, x) }",
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_PROVED)
def test_what_differs_out_of_reach_is_not_proved(name: str) -> None:
    before, after = map(model, NOT_PROVED[name])
    assert diff(before, after, runs=0).verdict is DiffVerdict.UNKNOWN


def test_bodies_of_another_attribute_are_not_equal() -> None:
    """An operator without a definition may do anything with its bodies."""

    def calling(attribute: str) -> onnx.ModelProto:
        x, y, z = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N"]) for name in "xyz")
        body = onnx.helper.make_graph([onnx.helper.make_node("Exp", ["x"], ["z"])], "body", [], [z])
        node = onnx.helper.make_node("Op", ["x"], ["y"], domain="test", **{attribute: body})
        opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("test", 1)]
        return onnx.helper.make_model(
            onnx.helper.make_graph([node], "g", [x], [y]), opset_imports=opsets, ir_version=10
        )

    assert diff(calling("one"), calling("one"), runs=0).is_proved
    (output,) = diff(calling("one"), calling("other"), runs=0).outputs
    assert (output.verdict, output.proof_class) == (DiffVerdict.UNKNOWN, None)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_models_are_compared(name: str) -> None:
    """A node that no runtime accepts is a finding about the models: never an error, never equal to another node."""
    malformed = model(MALFORMED[name])
    other = onnx.ModelProto()
    other.CopyFrom(malformed)
    del other.graph.node[:]
    other.graph.node.add(op_type="Identity", input=[malformed.graph.input[0].name], output=["y"])
    for pair in ((malformed, other), (other, malformed), (malformed, malformed)):
        found = diff(*pair, runs=0)
        assert pair[0] is pair[1] or not found.is_equal


def test_the_numbers_of_complex_constants() -> None:
    """128 bits per element are compared bit by bit."""
    text = "(float[N] x) => (y) { y = Identity(c) }"
    one, other = model(text), model(text)
    for graph, last in ((one.graph, 3j), (other.graph, 4j)):
        graph.initializer.append(onnx.numpy_helper.from_array(np.array([[1j, 1j], [1j, last]]), "c"))
    assert diff(one, one, runs=0).is_proved
    assert not diff(one, other, runs=0).is_equal


@pytest.mark.parametrize("name", EQUAL)
def test_equal_models_are_proved(name: str) -> None:
    before, after = map(model, EQUAL[name])
    found = diff(before, after, runs=0)
    assert {each.reason for each in found.outputs} == {""}
    assert found.verdict is DiffVerdict.PROVED and not found.obligations


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_models_are_not_proved(name: str) -> None:
    before, after = map(model, DIFFERENT[name])
    assert diff(before, after, runs=0).verdict is DiffVerdict.UNKNOWN


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [name for name in DIFFERENT if "Loop(" not in DIFFERENT[name][0]])
def test_different_models_have_a_witness(name: str) -> None:
    before, after = map(model, DIFFERENT[name])
    found = diff(before, after)
    assert found.verdict is DiffVerdict.DIFFERENT
    _replay(before, after, found.witness)


def _replay(before: onnx.ModelProto, after: onnx.ModelProto, witness: Any) -> None:
    """The witness, run in onnxruntime, gives different bits, or fails in the second model only."""
    assert witness is not None
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = ort.InferenceSession(before.SerializeToString(), options).run(None, dict(witness))
    try:
        found = ort.InferenceSession(after.SerializeToString(), options).run(None, dict(witness))
    except ort.capi.onnxruntime_pybind11_state.InvalidArgument:
        return
    assert any(a.shape != b.shape or a.tobytes() != b.tobytes() for a, b in zip(expected, found, strict=True))


def test_a_contraction_is_not_opened() -> None:
    """An element of a MatMul is not taken for a function of its row and column."""
    before = model("(float[N, 8] x, float[8, M] w) => (y) <int64 i = {0}> { m = MatMul(x, w) y = Gather(m, i) }")
    after = model(
        "(float[N, 8] x, float[8, M] w) => (y) <int64 i = {0}, int64[1] a = {0}> "
        "{ r = Gather(x, i) u = Unsqueeze(r, a) m = MatMul(u, w) y = Squeeze(m, a) }"
    )
    assert diff(before, after, runs=0).verdict is DiffVerdict.UNKNOWN


def test_constants_of_text() -> None:
    text = '(float[N] x) => (y) <string[2] s = {{"a", "{0}"}}, int64 i = {{1}}> {{ y = Gather(s, i) }}'
    one, other = (model(text.format(letter)) for letter in "bc")
    assert diff(one, one, runs=0).is_proved
    assert not diff(one, other, runs=0).is_equal
