# ruff: noqa: E501  (models as text)
"""Operators as maps of positions and of elements: pairs of models that differ in a run of onnxruntime are not proved."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from gather_infer import DiffVerdict, diff
from gather_infer.equality import ProofClass
from tests.equality.runs import are_equal, outputs_of, proved, results, typed
from tests.verification.models import model

HALVES = "int64[1] b = {0}, int64[1] h = {2}, int64[1] t = {4}, int64[1] o = {1}"
EQUAL: dict[str, tuple[str, str, dict[str, Any]]] = {
    "joined along two axes": (
        "(float[1, 2] x, float[1, 2] w, float[2, 2] v) => (y) <int64 i = {1}> { a = Concat<axis=0>(x, w) b = Concat<axis=1>(a, v) y = Gather(b, i) }",
        "(float[1, 2] x, float[1, 2] w, float[2, 2] v) => (y) <int64 i = {1}, int64[1] z = {0}> { a = Squeeze(w, z) b = Gather(v, i) y = Concat<axis=0>(a, b) }",
        {"x": [[1, 2]], "w": [[3, 4]], "v": [[5, 6], [7, 8]]},
    ),
    "a cut within the second piece": (
        "(float[2] x, float[4] w) => (y) <int64[1] s = {3}, int64[1] e = {5}> { a = Concat<axis=0>(x, w) y = Slice(a, s, e) }",
        "(float[2] x, float[4] w) => (y) <int64[1] s = {1}, int64[1] e = {3}> { y = Slice(w, s, e) }",
        {"x": [1, 2], "w": [3, 4, 5, 6]},
    ),
    "another axis of joined tensors": (
        "(float[2, 3] x, float[2, 3] w) => (y) <int64[1] s = {1}, int64[1] e = {3}> { a = Concat<axis=0>(x, w) y = Slice(a, s, e, s) }",
        "(float[2, 3] x, float[2, 3] w) => (y) <int64[1] s = {1}, int64[1] e = {3}> { a = Slice(x, s, e, s) b = Slice(w, s, e, s) y = Concat<axis=0>(a, b) }",
        {"x": [[1, 2, 3], [4, 5, 6]], "w": [[7, 8, 9], [10, 11, 12]]},
    ),
    "an operator on joined vectors and a matrix": (
        f"(float[2] x, float[2] w, float[4, 4] z) => (y) <{HALVES}> {{ a = Concat<axis=0>(x, w) y = Sub(z, a) }}",
        f"(float[2] x, float[2] w, float[4, 4] z) => (y) <{HALVES}> {{ p = Slice(z, b, h, o) q = Slice(z, h, t, o) c = Sub(p, x) d = Sub(q, w) y = Concat<axis=1>(c, d) }}",
        {"x": [1, 2], "w": [3, 4], "z": np.arange(16).reshape(4, 4)},
    ),
    "a row of joined indices": (
        "(float[2, 9] x, float[2, 9] w, float[3, 9] v) => (y) <int64[1] s = {2}, int64[1] e = {5}, int64[1] a = {1}> { i = ArgMax<axis=1, keepdims=0>(w) j = ArgMax<axis=1, keepdims=0>(v) k = Concat<axis=0>(i, j) g = Gather<axis=1>(x, k) y = Slice(g, s, e, a) }",
        "(float[2, 9] x, float[2, 9] w, float[3, 9] v) => (y) { j = ArgMax<axis=1, keepdims=0>(v) y = Gather<axis=1>(x, j) }",
        {"x": np.arange(18).reshape(2, 9), "w": np.arange(18).reshape(2, 9), "v": np.eye(9)[:3]},
    ),
    "constants before the joined ones": (
        "(float[2, 3] x) => (y) <float[4, 3] c = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0}, int64[2, 3] i = {0, 1, 2, 0, 1, 2}, float m = {4.5}> { a = Concat<axis=0>(c, x) g = GatherElements<axis=1>(a, i) y = Less(g, m) }",
        "(float[2, 3] x) => (y) <bool[2, 3] c = {1, 1, 1, 1, 0, 0}> { y = Identity(c) }",
        {"x": np.zeros((2, 3))},
    ),
    "a Softmax whose axis counts from the end": (
        "(float[N, M, K] x) => (y) { y = Softmax<axis=-2>(x) }",
        "(float[N, M, K] x) => (y) { y = Softmax<axis=1>(x) }",
        {"x": np.arange(8).reshape(2, 2, 2)},
    ),
    "a carried value of a Loop without an iteration": (
        "(float[2] x, float[2] w, bool c) => (y, z) <int64 n = {0}> { y, z = Loop(n, c, x, w)<body = b (int64 i, bool k, float[2] s, float[2] t) => (bool l, float[2] u, float[2] v) { l = Identity(k) u = Neg(s) v = Neg(t) }> }",
        "(float[2] x, float[2] w, bool c) => (y, z) { y = Identity(x) z = Identity(w) }",
        {"x": [1, 2], "w": [3, 4], "c": True},
    ),
}  # fmt: skip

N3 = "int64 three = {3}, int64 four = {4}, int64 one = {1}, int64 zero = {0}"
MANY = [float(number) for number in range(150)]
DIFFERENT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "one of many constants": (
        f"(float[150] x) => (y) <float[150] c = {{{', '.join(map(str, MANY))}}}> {{ y = Sub(x, c) }}",
        f"(float[150] x) => (y) <float[150] c = {{{', '.join(map(str, [*MANY[:82], 0.5, *MANY[83:]]))}}}> {{ y = Sub(x, c) }}",
        {"x": [0.0] * 150},
    ),
    # zeros, NaN
    "-0.0 subtracted": (
        "(float[N] x, float[1] w) => (y) <float[1] z = {-0.0}> { s = Sub(x, z) y = Reciprocal(s) }",
        "(float[N] x, float[1] w) => (y) { y = Reciprocal(x) }",
        {"x": [-0.0, 1], "w": [0]},
    ),
    "a product with 0.0": (
        "(float[N] x) => (y) <float z = {0.0}> { y = Mul(x, z) }",
        "(float[N] x) => (y) { s = Shape(x) y = ConstantOfShape(s) }",
        {"x": [np.nan, -1]},
    ),
    "a difference in the other order": (
        "(float[N] x, float[N] w) => (y) { y = Sub(x, w) }",
        "(float[N] x, float[N] w) => (y) { y = Sub(w, x) }",
        {"x": [1, 2], "w": [3, 5]},
    ),
    "a maximum that ends with another zero": (
        "(float[N] x, float[N] w) => (y) { y = Max(x, w, x) }",
        "(float[N] x, float[N] w) => (y) { y = Max(x, w) }",
        {"x": [0.0] * 9, "w": [-0.0] * 9},
    ),
    "a minimum that ends with another zero": (
        "(float[N] x, float[N] w) => (y) { y = Min(x, w, x) }",
        "(float[N] x, float[N] w) => (y) { y = Min(x, w) }",
        {"x": [-0.0] * 9, "w": [0.0] * 9},
    ),
    "a maximum whose first and last operand are the same": (
        "(float[N] x, float[N] w) => (y) { y = Max(x, w, x) }",
        "(float[N] x, float[N] w) => (y) { y = Identity(x) }",
        {"x": [0.0, 1], "w": [3, 5]},
    ),
    # operators on elements
    "exclusive or of an operand with itself": (
        "(int32[N] x) => (y) { y = BitwiseXor(x, x) }",
        "(int32[N] x) => (y) { y = Identity(x) }",
        {"x": [1, 2]},
    ),
    "exclusive or with false": (
        "(bool[N] x) => (y) <bool f = {0}> { s = Shape(x) e = Expand(f, s) y = Xor(x, e) }",
        "(bool[N] x) => (y) { y = Not(x) }",
        {"x": [True, False]},
    ),
    "or with true": (
        "(bool[N] x) => (y) <bool t = {1}> { s = Shape(x) e = Expand(t, s) y = Or(x, e) }",
        "(bool[N] x) => (y) { y = Identity(x) }",
        {"x": [True, False]},
    ),
    "not true": (
        "(bool[N] x, float[N] w, float[N] v) => (y) <bool t = {1}> { s = Shape(x) e = Expand(t, s) n = Not(e) y = Where(n, w, v) }",
        "(bool[N] x, float[N] w, float[N] v) => (y) { y = Identity(w) }",
        {"x": [True, False], "w": [1, 2], "v": [3, 4]},
    ),
    "where true": (
        "(bool[N] x, float[N] w, float[N] v) => (y) <bool t = {1}> { s = Shape(x) e = Expand(t, s) y = Where(e, w, v) }",
        "(bool[N] x, float[N] w, float[N] v) => (y) { y = Identity(v) }",
        {"x": [True, False], "w": [1, 2], "v": [3, 4]},
    ),
    "where not": (
        "(bool[N] x, float[N] w, float[N] v) => (y) { n = Not(x) y = Where(n, w, v) }",
        "(bool[N] x, float[N] w, float[N] v) => (y) { y = Where(x, w, v) }",
        {"x": [True, False], "w": [1, 2], "v": [3, 4]},
    ),
    "the larger one of two positions": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) s = Add(r, one) y = Max(r, s) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) y = Range(zero, n, one) }}",
        {"x": [1, 2]},
    ),
    "a position below itself": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Less(r, r) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Equal(r, r) }}",
        {"x": [1, 2]},
    ),
    "a position above itself": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Greater(r, r) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Equal(r, r) }}",
        {"x": [1, 2]},
    ),
    "a position that is not below itself": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = GreaterOrEqual(r, r) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Less(r, r) }}",
        {"x": [1, 2]},
    ),
    "positions backwards": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Neg(r) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) y = Range(zero, n, one) }}",
        {"x": [1, 2]},
    ),
    "every third position": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) m = Mul(n, three) y = Range(zero, m, three) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) y = Range(zero, n, one) }}",
        {"x": [1, 2]},
    ),
    "the position before the last one": (
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) m = Sub(n, one) r = Range(zero, n, one) y = Less(r, m) }}",
        f"(float[N] x) => (y) <{N3}> {{ n = Size(x) r = Range(zero, n, one) y = Equal(r, r) }}",
        {"x": [1, 2]},
    ),
    "float16 by way of bfloat16": (
        "(float16[N] x) => (y) { a = Cast<to=16>(x) y = Cast<to=10>(a) }",
        "(float16[N] x) => (y) { y = Identity(x) }",
        {"x": [1.0009765625]},
    ),
    "a negative number by way of an unsigned type": (
        "(int8[N] x) => (y) { a = Cast<to=2>(x) y = Cast<to=6>(a) }",
        "(int8[N] x) => (y) { y = Cast<to=6>(x) }",
        {"x": [-1]},
    ),
    "a number that int8 does not hold": (
        "(int8[N] x) => (y) <int8 a = {127}> { y = Add(x, a) }",
        "(int8[N] x) => (y) <int8 a = {-128}> { y = Add(x, a) }",
        {"x": [1]},
    ),
    "an int32 that wraps around": (
        "(int32 n) => (y) <int32 zero = {0}, int32 one = {1}, int32 f = {100000}> { r = Range(zero, n, one) m = Mul(r, f) y = Div(m, f) }",
        "(int32 n) => (y) <int32 zero = {0}, int32 one = {1}> { y = Range(zero, n, one) }",
        {"n": 30000},
    ),
    "an absolute value of a rounded one": (
        "(float[N] x) => (y) { a = Floor(x) y = Abs(a) }",
        "(float[N] x) => (y) { y = Floor(x) }",
        {"x": [-1.5]},
    ),
    "a slope": (
        "(float[N] x) => (y) { y = LeakyRelu<alpha=0.5>(x) }",
        "(float[N] x) => (y) { y = LeakyRelu<alpha=0.25>(x) }",
        {"x": [-1]},
    ),
    "a vector along the other axis": (
        "(float[3] x, float[3, 3] w) => (y) { y = Sub(w, x) }",
        "(float[3] x, float[3, 3] w) => (y) <int64[1] a = {1}> { u = Unsqueeze(x, a) y = Sub(w, u) }",
        {"x": [1, 2, 3], "w": np.zeros((3, 3))},
    ),
    "the minimum of a size and a number": (
        "(float[N] x) => (y) <int64 m = {100}> { n = Size(x) y = Min(n, m) }",
        "(float[N] x) => (y) { y = Size(x) }",
        {"x": [0] * 101},
    ),
    # movement
    "a Dropout of all elements": (
        "(float[N] x) => (y) { y = Identity(x) }",
        "(float[N] x) => (y) <float r = {1.0}> { y = Dropout(x, r) }",
        {"x": [1]},
    ),
    "two copies of a half": (
        f"(float[4] x) => (y) <{HALVES}> {{ a = Slice(x, b, h) y = Concat<axis=0>(a, a) }}",
        "(float[4] x) => (y) { y = Identity(x) }",
        {"x": [1, 2, 3, 4]},
    ),
    "an operand that begins anew": (
        f"(float[2] x, float[2] w, float[4] z) => (y) <{HALVES}> {{ a = Concat<axis=0>(x, w) y = Sub(a, z) }}",
        f"(float[2] x, float[2] w, float[4] z) => (y) <{HALVES}> {{ p = Slice(z, b, h) c = Sub(x, p) d = Sub(w, p) y = Concat<axis=0>(c, d) }}",
        {"x": [1, 2], "w": [3, 4], "z": [5, 6, 7, 8]},
    ),
    "a diagonal": (
        "(float[2, 4] x, float[2, 4] w) => (y) <int64[4, 1] i = {0, 1, 2, 3}> { a = Concat<axis=0>(x, w) y = GatherElements<axis=1>(a, i) }",
        "(float[2, 4] x, float[2, 4] w) => (y) <int64[2, 1] i = {0, 1}> { a = GatherElements<axis=1>(x, i) b = GatherElements<axis=1>(w, i) y = Concat<axis=0>(a, b) }",
        {"x": [[1, 2, 3, 4]] * 2, "w": [[5, 6, 7, 8]] * 2},
    ),
    "run-time indices that begin anew": (
        f"(float[2, 4] x, float[2, 4] w, float[4, 4] v) => (y) <{HALVES}> {{ i = ArgMax<axis=1>(v) a = Concat<axis=0>(x, w) y = GatherElements<axis=1>(a, i) }}",
        f"(float[2, 4] x, float[2, 4] w, float[4, 4] v) => (y) <{HALVES}> {{ i = ArgMax<axis=1>(v) j = Slice(i, b, h) k = GatherElements<axis=1>(x, j) l = GatherElements<axis=1>(w, j) y = Concat<axis=0>(k, l) }}",
        {"x": [[1, 2, 3, 4]] * 2, "w": [[5, 6, 7, 8]] * 2, "v": np.eye(4)},
    ),
    "constants from a run-time position on": (
        "(float[N] x) => (y) <int64 z = {0}, int64 o = {1}, int64 k = {3000}, int64 h = {1500}, float m = {700.5}> { t = Range(z, k, o) c = Cast<to=1>(t) n = Size(x) r = Range(z, h, o) i = Add(r, n) g = Gather(c, i) y = Less(g, m) }",
        "(float[N] x) => (y) <int64 z = {0}, int64 o = {1}, int64 k = {3000}, int64 h = {1500}, float m = {700.5}> { t = Range(z, k, o) c = Cast<to=1>(t) i = Range(z, h, o) g = Gather(c, i) y = Less(g, m) }",
        {"x": [0] * 5},
    ),
    "an element of the second piece": (
        "(float[2] x, float[5] w) => (y) <int64 i = {3}> { a = Concat<axis=0>(x, w) y = Gather(a, i) }",
        "(float[2] x, float[5] w) => (y) <int64 i = {3}> { y = Gather(w, i) }",
        {"x": [1, 2], "w": [3, 4, 5, 6, 7]},
    ),
    "the first element behind a piece": (
        "(float[3] x, float[3] w, float[3] v) => (y) <int64 i = {3}> { a = Concat<axis=0>(x, w) y = Gather(a, i) }",
        "(float[3] x, float[3] w, float[3] v) => (y) <int64 i = {3}> { a = Concat<axis=0>(x, v) y = Gather(a, i) }",
        {"x": [1, 2, 3], "w": [4, 5, 6], "v": [7, 8, 9]},
    ),
    "a Slice of all of joined tensors": (
        "(float[3] x, float[3] w, float[3] v) => (y) <int64[1] s = {-10}, int64[1] e = {6}> { a = Concat<axis=0>(x, w) y = Slice(a, s, e) }",
        "(float[3] x, float[3] w, float[3] v) => (y) <int64[1] s = {-10}, int64[1] e = {6}> { a = Concat<axis=0>(x, v) y = Slice(a, s, e) }",
        {"x": [1, 2, 3], "w": [4, 5, 6], "v": [7, 8, 9]},
    ),
    "every second element of joined tensors": (
        "(float[4] x, float[4] w) => (y) <int64[1] s = {0}, int64[1] e = {8}, int64[1] k = {2}, int64[1] h = {4}> { a = Concat<axis=0>(x, w) y = Slice(a, s, e, s, k) }",
        "(float[4] x, float[4] w) => (y) <int64[1] s = {0}, int64[1] h = {4}> { a = Concat<axis=0>(x, w) y = Slice(a, s, h) }",
        {"x": [1, 2, 3, 4], "w": [5, 6, 7, 8]},
    ),
    "rows and columns joined": (
        "(float a, float b) => (y) <int64[2] s = {2, 4}> { p = Expand(a, s) q = Expand(b, s) y = Concat<axis=0>(p, q) }",
        "(float a, float b) => (y) <int64[2] s = {4, 2}> { p = Expand(a, s) q = Expand(b, s) y = Concat<axis=1>(p, q) }",
        {"a": 1, "b": 2},
    ),
    "zeros of another width": (
        "(float[N] x) => (y) <int64[1] k = {3}> { s = Shape(x) t = Concat<axis=0>(s, k) y = ConstantOfShape(t) }",
        "(float[N] x) => (y) <int64[1] k = {4}> { s = Shape(x) t = Concat<axis=0>(s, k) y = ConstantOfShape(t) }",
        {"x": [1]},
    ),
    "one row": (
        "(float[1, N] x) => (y) { y = Neg(x) }",
        "(float[1, N] x) => (y) { y = Abs(x) }",
        {"x": [[1, 2]]},
    ),
    "two constants": (
        "(float[N, 2] x) => (y) <float[2] c = {1.0, 2.0}> { y = Add(x, c) }",
        "(float[N, 2] x) => (y) <float[2] c = {1.0, 1.0}> { y = Add(x, c) }",
        {"x": [[1, 2]]},
    ),
    "a Pad that reflects": (
        "(float[4] x) => (y) <int64[2] p = {1, 1}> { y = Pad<mode=\"reflect\">(x, p) }",
        "(float[4] x) => (y) <int64[2] p = {1, 1}> { y = Pad(x, p) }",
        {"x": [1, 2, 3, 4]},
    ),
    # run-time indices
    "an index from the end of tensors of two sizes": (
        "(float[3] x, float[3] w, int64 i) => (y, z) { y = Gather(x, i) a = Concat<axis=0>(x, w) z = Gather(a, i) }",
        "(float[3] x, float[3] w, int64 i) => (y, z) { y = Gather(x, i) z = Identity(y) }",
        {"x": [1, 2, 3], "w": [4, 5, 6], "i": -1},
    ),
    "the last element": (
        "(float[3] x, float[1] w, float[1] v, int64 i) => (y) { a = Concat<axis=0>(x, w) y = Gather(a, i) }",
        "(float[3] x, float[1] w, float[1] v, int64 i) => (y) { a = Concat<axis=0>(x, v) y = Gather(a, i) }",
        {"x": [1, 2, 3], "w": [4], "v": [5], "i": 3},
    ),
    "the largest position of a maximum": (
        f"(float[N, 4] x) => (y) <{N3}> {{ i = ArgMax<axis=1>(x) y = Less(i, three) }}",
        f"(float[N, 4] x) => (y) <{N3}> {{ i = ArgMax<axis=1>(x) y = Equal(i, i) }}",
        {"x": [[1, 2, 3, 4]]},
    ),
    "the smallest position of a maximum": (
        f"(float[N, 4] x) => (y) <{N3}> {{ i = ArgMax<axis=1>(x) y = Less(i, one) }}",
        f"(float[N, 4] x) => (y) <{N3}> {{ i = ArgMax<axis=1>(x) y = Less(i, i) }}",
        {"x": [[5, 2, 3, 4]]},
    ),
    "a maximum of negative numbers": (
        "(int64[N, 2] x) => (y) <int64[1] a = {1}, int64 five = {5}, int64 low = {-5}, int64 zero = {0}> { b = Min(x, five) c = Max(b, low) m = ReduceMax<keepdims=0>(c, a) y = Less(m, zero) }",
        "(int64[N, 2] x) => (y) <int64[1] a = {1}, int64 five = {5}, int64 low = {-5}, int64 zero = {0}> { b = Min(x, five) c = Max(b, low) m = ReduceMax<keepdims=0>(c, a) y = Less(m, m) }",
        {"x": [[-1, -2]]},
    ),
    # calls
    "a reduction of no axes": (
        "(float[N] x) => (y) <int64[0] a = {}> { y = ReduceSum<noop_with_empty_axes=1>(x, a) }",
        "(float[N] x) => (y) { s = Shape(x) r = ReduceSum(x) y = Expand(r, s) }",
        {"x": [1, 2]},
    ),
    "a reduction of the other axis": (
        "(float[N, N] x) => (y) <int64[1] a = {0}> { y = ReduceSum<keepdims=0>(x, a) }",
        "(float[N, N] x) => (y) <int64[1] a = {1}> { y = ReduceSum<keepdims=0>(x, a) }",
        {"x": [[1, 2], [3, 4]]},
    ),
    "the last one of equal maxima": (
        "(float[N, 4] x) => (y) { y = ArgMax<axis=1, select_last_index=1>(x) }",
        "(float[N, 4] x) => (y) { y = ArgMax<axis=1>(x) }",
        {"x": [[5, 5, 3, 4]]},
    ),
    "a minimum and a maximum": (
        "(float[N, 4] x) => (y) { y = ArgMax<axis=1>(x) }",
        "(float[N, 4] x) => (y) { y = ArgMin<axis=1>(x) }",
        {"x": [[5, 2, 3, 4]]},
    ),
    "an initial state of ones": (
        "(float[2, 1, 2] x, float[1, 3, 2] w, float[1, 3, 1] r) => (y) <float[1, 1, 1] h = {1.0}> { y = GRU<hidden_size=1>(x, w, r, , , h) }",
        "(float[2, 1, 2] x, float[1, 3, 2] w, float[1, 3, 1] r) => (y) { y = GRU<hidden_size=1>(x, w, r) }",
        {"x": np.ones((2, 1, 2)), "w": np.ones((1, 3, 2)) / 4, "r": np.ones((1, 3, 1))},
    ),
    "two outputs of one type": (
        "(float[2, 1, 2] x, float[1, 4, 2] w, float[1, 4, 1] r) => (y) { a, y = LSTM<hidden_size=1>(x, w, r) }",
        "(float[2, 1, 2] x, float[1, 4, 2] w, float[1, 4, 1] r) => (y) { a, b, y = LSTM<hidden_size=1>(x, w, r) }",
        {"x": np.ones((2, 1, 2)), "w": np.ones((1, 4, 2)) / 4, "r": np.ones((1, 4, 1))},
    ),
    "writes into a Transpose of what was written": (
        "(float[N, N] x, int64[K, 2] i, float[K] u, float[K] v) => (y) { a = ScatterND(x, i, u) t = Transpose(a) y = ScatterND(t, i, v) }",
        "(float[N, N] x, int64[K, 2] i, float[K] u, float[K] v) => (y) { a = ScatterND(x, i, u) y = ScatterND(x, i, v) }",
        {"x": [[1, 2], [3, 4]], "i": [[0, 1]], "u": [7], "v": [9]},
    ),
    "a ConvTranspose that keeps the size": (
        "(float[1, 1, 4] x, float[1, 1, 3] w) => (y) { y = ConvTranspose<auto_pad=\"SAME_UPPER\", strides=[3]>(x, w) }",
        "(float[1, 1, 4] x, float[1, 1, 3] w) => (y) { y = ConvTranspose<pads=[1, 1], strides=[3]>(x, w) }",
        {"x": [[[1, 2, 3, 4]]], "w": [[[1, 2, 3]]]},
    ),
    # sizes that follow from what the first model reads
    "a row that is read has another behind it": (
        f"(float[N] x) => (y, g) <{N3}> {{ g = Gather(x, three) n = Size(x) y = Less(four, n) }}",
        f"(float[N] x) => (y, g) <{N3}> {{ g = Gather(x, three) n = Size(x) y = Equal(n, n) }}",
        {"x": [1, 2, 3, 4]},
    ),
    "a row that is read in a branch": (
        f"(float[N] x, bool c) => (y, g) <{N3}> {{ g = If(c)<then_branch = a () => (u) {{ u = Gather(x, three) }}, else_branch = b () => (v) {{ v = Gather(x, zero) }}> n = Size(x) y = Less(three, n) }}",
        f"(float[N] x, bool c) => (y, g) <{N3}> {{ g = If(c)<then_branch = a () => (u) {{ u = Gather(x, three) }}, else_branch = b () => (v) {{ v = Gather(x, zero) }}> n = Size(x) y = Equal(n, n) }}",
        {"x": [1, 2], "c": False},
    ),
    "half of a size that is known in quarters": (
        "(float[N] x, float[M] w) => (y, g) <int64 two = {2}, int64 four = {4}, int64 z = {0}, int64 o = {1}> { n = Size(x) q = Div(n, four) r = Range(z, q, o) c = Cast<to=1>(r) g = MatMul(c, w) y = Div(n, two) }",
        "(float[N] x, float[M] w) => (y, g) <int64 two = {2}, int64 four = {4}, int64 z = {0}, int64 o = {1}> { n = Size(x) q = Div(n, four) r = Range(z, q, o) c = Cast<to=1>(r) g = MatMul(c, w) y = Mul(q, two) }",
        {"x": [0] * 6, "w": [1]},
    ),
    "a size of 0 beside one that a Reshape computes": (
        "(float[N, S] x) => (r, y) <int64[1] m = {-1}, int64[1] z = {0}> { s = Shape<start=1, end=2>(x) t = Concat<axis=0>(s, m) r = Reshape<allowzero=1>(x, t) y = Less(z, s) }",
        "(float[N, S] x) => (r, y) <int64[1] m = {-1}, int64[1] z = {0}> { s = Shape<start=1, end=2>(x) t = Concat<axis=0>(s, m) r = Reshape<allowzero=1>(x, t) y = Equal(s, s) }",
        {"x": np.zeros((2, 0))},
    ),
    "rows beside a size of 0": (
        "(float[N, S] x) => (r, y) <int64[1] m = {-1}, int64[1] z = {0}, int64[1] o = {1}> { n = Shape<end=1>(x) s = Shape<start=1, end=2>(x) t = Concat<axis=0>(s, m) r = Reshape<allowzero=1>(x, t) l = Less(z, s) y = Expand(l, n) }",
        "(float[N, S] x) => (r, y) <int64[1] m = {-1}, int64[1] z = {0}, int64[1] o = {1}> { n = Shape<end=1>(x) s = Shape<start=1, end=2>(x) t = Concat<axis=0>(s, m) r = Reshape<allowzero=1>(x, t) l = Equal(s, s) y = Expand(l, n) }",
        {"x": np.zeros((2, 0))},
    ),
    "no rows of another width beside a size of 0": (
        "(float[N, S] x) => (r, y) <int64[1] m = {-1}, int64[1] z = {0}, int64[1] o = {1}> { n = Shape<end=1>(x) s = Shape<start=1, end=2>(x) t = Concat<axis=0>(s, m) r = Reshape<allowzero=1>(x, t) k = Min(s, o) q = Concat<axis=0>(s, k) y = ConstantOfShape(q) }",
        "(float[N, S] x) => (r, y) <int64[1] m = {-1}, int64[1] z = {0}, int64[1] o = {1}> { n = Shape<end=1>(x) s = Shape<start=1, end=2>(x) t = Concat<axis=0>(s, m) r = Reshape<allowzero=1>(x, t) q = Concat<axis=0>(s, o) y = ConstantOfShape(q) }",
        {"x": np.zeros((2, 0))},
    ),
    "the largest size of a table": (
        "(float[N] x) => (y, g) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64[1] z = {0}, int64 four = {4}> { s = Shape(x) p = Slice(t, z, s) g = Add(x, p) n = Size(x) y = Less(n, four) }",
        "(float[N] x) => (y, g) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64[1] z = {0}, int64 four = {4}> { s = Shape(x) p = Slice(t, z, s) g = Add(x, p) n = Size(x) y = Equal(n, n) }",
        {"x": [1, 2, 3, 4]},
    ),
    "an index beyond the depth of a OneHot": (
        f"(float[N] x, float[2] v) => (y, g) <{N3}, int64[2] q = {{3, 3}}> {{ n = Size(x) p = Add(n, one) g = OneHot(q, p, v) y = GreaterOrEqual(n, three) }}",
        f"(float[N] x, float[2] v) => (y, g) <{N3}, int64[2] q = {{3, 3}}> {{ n = Size(x) p = Add(n, one) g = OneHot(q, p, v) y = Equal(n, n) }}",
        {"x": [1, 2], "v": [0, 1]},
    ),
    "the largest number of rows that a table has": (
        f"(float[N] x, float[4] t) => (y, g) <{N3}> {{ n = Size(x) r = Range(zero, n, one) g = Gather(t, r) y = Less(n, four) }}",
        f"(float[N] x, float[4] t) => (y, g) <{N3}> {{ n = Size(x) r = Range(zero, n, one) g = Gather(t, r) y = Equal(n, n) }}",
        {"x": [1, 2, 3, 4], "t": [1, 2, 3, 4]},
    ),
}  # fmt: skip

REFERENCE: dict[str, tuple[str, str, dict[str, Any]]] = {
    # onnxruntime refuses them, or leaves out the operator; onnx's reference evaluator shows the difference
    "a region resized": (
        "(float[1, 1, 4, 4] x) => (y) <float[8] r = {0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 1.5, 1.5}, int64[4] s = {1, 1, 4, 4}> { y = Resize<mode=\"nearest\", coordinate_transformation_mode=\"tf_crop_and_resize\">(x, r, , s) }",
        "(float[1, 1, 4, 4] x) => (y) { y = Identity(x) }",
        {"x": np.arange(16).reshape(1, 1, 4, 4)},
    ),
    "dilated windows that keep the size": (
        "(float[1, 1, 7] x, float[1, 1, 3] w) => (y) { y = Conv<auto_pad=\"SAME_UPPER\", dilations=[2]>(x, w) }",
        "(float[1, 1, 7] x, float[1, 1, 3] w) => (y) { y = Conv<pads=[1, 1], dilations=[2]>(x, w) }",
        {"x": [[[1, 2, 3, 4, 5, 6, 7]]], "w": [[[1, 2, 3]]]},
    ),
    "an infinity that is resized": (
        "(float[N, 2] x) => (y) <float big = {3e38}, float ten = {10.0}, float[1, 2] one = {1.0, 2.0}, float[2] s = {1.0, 1.0}> { b = Mul(big, ten) c = Mul(one, b) r = Resize<mode=\"linear\">(c, , s) y = Add(x, r) }",
        "(float[N, 2] x) => (y) <float big = {3e38}, float ten = {10.0}, float[1, 2] one = {1.0, 2.0}> { b = Mul(big, ten) c = Mul(one, b) y = Add(x, c) }",
        {"x": [[1, 2]]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_equal_in_a_run_and_proved(name: str) -> None:
    first, second, feeds = EQUAL[name]
    one, two = outputs_of(model(first), feeds), outputs_of(model(second), feeds)
    assert one is not None and two is not None and are_equal(one, two)
    assert proved(model(first), model(second))


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_in_a_run_and_not_proved(name: str) -> None:
    first, second, feeds = DIFFERENT[name]
    one, two = outputs_of(model(first), feeds), outputs_of(model(second), feeds)
    assert one is not None and (two is None or not are_equal(one, two))
    assert not proved(model(first), model(second))
    assert proved(model(first), model(first))


@pytest.mark.parametrize("name", REFERENCE)
def test_different_in_the_reference_and_not_proved(name: str) -> None:
    first, second, feeds = REFERENCE[name]
    one, two = ([*ReferenceEvaluator(each).run(None, typed(each, feeds))] for each in map(model, (first, second)))
    assert not are_equal(one, two)
    assert not proved(model(first), model(second))


SPECIFIED: dict[str, tuple[str, int, str, int]] = {
    # two models with their opsets that no runtime tells apart, and the specification does
    "a Dropout of opset 6 is one in training unless it says so": (
        "(float[N] x) => (y) { y = Dropout(x) }", 6, "(float[N] x) => (y) { y = Identity(x) }", 6,
    ),
    "windows beyond the padding changed with versions": (
        "(float[1, 1, 5] x) => (y) { y = MaxPool<kernel_shape=[2], strides=[2], ceil_mode=1>(x) }", 11,
        "(float[1, 1, 5] x) => (y) { y = MaxPool<kernel_shape=[2], strides=[2], ceil_mode=1>(x) }", 22,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIFIED)
def test_different_by_the_specification(name: str) -> None:
    first, opset, second, other = SPECIFIED[name]
    assert not proved(model(first, opset=opset), model(second, opset=other))
    assert proved(model(second, opset=other), model(second, opset=other))


@pytest.mark.parametrize("saturates", ["Cast<to=17>(x)", "CastLike(x, w)"])
@pytest.mark.parametrize("other", ["Cast<to=17, saturate=0>(x)", "CastLike<saturate=0>(x, w)"])
def test_a_cast_to_eight_bits_saturates_or_not(saturates: str, other: str) -> None:
    """https://onnx.ai/onnx/operators/onnx__CastLike.html: without `saturate`, a large number becomes NaN."""
    text = "(float[N] x) => (y) <float[1] c = {{1.0}}> {{ w = Cast<to=17>(c) e = {} y = Cast<to=1>(e) }}"
    one, two = (model(text.format(each), opset=19) for each in (saturates, other))
    ((large,), (none,)) = (results(each, {"x": [1e6]}) for each in (one, two))
    assert large == [448] and np.isnan(none)
    assert not proved(one, two) and not proved(two, one)
    assert proved(one, model(text.format("Cast<to=17, saturate=1>(x)"), opset=19))


def test_two_draws_of_random_numbers() -> None:
    text = "(float[1, 99] x) => (y) {{ a = RandomNormalLike(x) b = RandomNormalLike(x) i = ArgMax<axis=1>(a) j = ArgMax<axis=1>({}) y = Equal(i, j) }}"
    assert not proved(model(text.format("b")), model(text.format("a")))
    drawn = model("(float[N] x) => (y) { y = RandomNormalLike(x) }")
    assert not proved(drawn, drawn)


def test_sizes_of_two_axes_that_a_run_gives() -> None:
    text = '(float[1, 1, 4, 4] x, float[4] s) => (y) <int64 i = {{{}}}> {{ r = Resize<mode="nearest">(x, , s) t = Shape(r) y = Gather(t, i) }}'
    one, two = (model(text.format(axis)) for axis in (2, 3))
    feeds = {"x": np.zeros((1, 1, 4, 4)), "s": [1, 1, 2, 3]}
    assert outputs_of(one, feeds) == [8] and outputs_of(two, feeds) == [12]
    assert not proved(one, two)


@pytest.mark.parametrize("op_type", ["Max", "Min"])
def test_the_sign_of_a_zero_depends_on_the_position(op_type: str) -> None:
    """Of nine elements, onnxruntime computes the last one in another way. So the proof is pointwise, but for integers."""
    text = "({0}[9] x, {0}[9] w) => (y) <int64[1] a = {{8}}, int64[1] b = {{9}}> {{ {1} }}"
    all_of_them = f"m = {op_type}(x, w) y = Slice(m, a, b)"
    last = f"p = Slice(x, a, b) q = Slice(w, a, b) y = {op_type}(p, q)"
    whole = model(text.format("float", f"y = {op_type}(x, w)"))
    (zeros,) = results(whole, {"x": [0.0] * 9, "w": [-0.0] * 9})
    assert len({*np.signbit(zeros)}) == 2
    for dtype, expected in (("float", ProofClass.POINTWISE), ("int64", ProofClass.SAME_CALLS)):
        found = diff(*(model(text.format(dtype, each)) for each in (all_of_them, last)), runs=0, details=False)
        assert found.is_proved and [each.proof_class for each in found.outputs] == [expected]


def test_a_default_is_no_constant() -> None:
    """A caller may give other axes than those that the model has for one who gives none."""
    text = "(float[4, 4] x, int64[1] a) => (y) <int64[1] z = {{0}}, int64[1] o = {{1}}> {{ y = Slice(x, z, o, {}) }}"
    one, two = (model(text.format(axis)) for axis in "az")
    for each in (one, two):
        each.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "a"))
    x = np.arange(16).reshape(4, 4)
    assert are_equal(results(one, {"x": x}), results(two, {"x": x}))
    assert not are_equal(results(one, {"x": x, "a": [1]}), results(two, {"x": x, "a": [1]}))
    assert not proved(one, two) and not proved(two, one)
    assert proved(one, two, initializers_as_constants=True)


def test_sequences_of_other_elements() -> None:
    """No input fits both models, although both count the members only."""
    one, two = (model(f"(seq({each}[N]) x) => (y) {{ y = SequenceLength(x) }}") for each in ("float", "int64"))
    assert diff(one, two, runs=0).verdict is DiffVerdict.NOT_COMPARABLE
    assert proved(one, one) and proved(two, two)
