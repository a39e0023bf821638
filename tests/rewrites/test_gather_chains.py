"""Gathers of what other nodes have moved or computed: each rewrite with its law, near misses and runs."""

# ruff: noqa: E501 (a model is a line)

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

CASES = {
    "constant indices of constant indices": Case(
        "gather-of-gather",
        "g (float[N, 4] x) => (float[2, 4] y) <int64[3] i = {4, -1, 0}, int64[2] j = {-1, 1}> { a = Gather(x, i) y = Gather(a, j) }",
        "g (float[N, 4] x) => (float[2, 4] y) <int64[2] k = {0, -1}> { y = Gather<axis: int = 0>(x, k) }",
        {
            "other axis": "g (float[N, 4] x) => (float[3, 2] y) <int64[3] i = {4, -1, 0}, int64[2] j = {-1, 1}> { a = Gather(x, i) y = Gather<axis: int = 1>(a, j) }",
            "second consumer": "g (float[5, 4] x) => (float[2, 4] y, float[3, 4] a) <int64[3] i = {4, -1, 0}, int64[2] j = {-1, 1}> { a = Gather(x, i) y = Gather(a, j) }",
        },
        sizes={"N": (5, 7)},
    ),
    "indices that the model computes": Case(
        "gather-of-gather",
        "g (float[9, 4] x, int64[N, 3] i, int64 j) => (float[N, 4] y) { a = Gather(x, i) y = Gather<axis: int = 1>(a, j) }",
        "g (float[9, 4] x, int64[N, 3] i, int64 j) => (float[N, 4] y) { k = Gather<axis: int = 1>(i, j) y = Gather<axis: int = 0>(x, k) }",
        ranges={"i": (-9, 9), "j": (-3, 3)},
    ),
    "a part of a Concat": Case(
        "gather-of-concat",
        "g (float[2, N] x, float[3, N] y) => (float[2, N] z) <int64[2] i = {4, 2}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
        "g (float[2, N] x, float[3, N] y) => (float[2, N] z) <int64[2] i = {2, 0}> { z = Gather<axis: int = 0>(y, i) }",
        {
            "two parts": "g (float[2, N] x, float[3, N] y) => (float[2, N] z) <int64[2] i = {1, 2}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
            "other axis": "g (float[N, 2] x, float[N, 3] y) => (float[2, 5] z) <int64[2] i = {1, 0}> { a = Concat<axis: int = 1>(x, y) z = Gather(a, i) }",
            "symbolic dim": "g (float[N] x, float[M] y) => (float z) <int64 i = {1}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
            "of the end, symbolic": "g (float[N] x, float[M] y) => (float z) <int64 i = {-1}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
            "out of range": "g (float[2] x, float[3] y) => (float z) <int64 i = {5}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
            "a part whose rank is not known": "g (float[2] x, int64[R] r) => (float z) <int64 i = {1}> { y = Expand(x, r) a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
            "a grid over two parts": "g (float[2, N] x, float[3, N] y) => (float[1, 2, N] z) <int64[1, 2] i = {1, 2}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
            "part of length 0": "g (float[2] x, float[0] y) => (float z) <int64 i = {-3}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
        },
    ),
    "from the end of a Concat": Case(
        "gather-of-concat",
        "g (float[N] x, float[3] y) => (float z) <int64 i = {-2}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
        "g (float[N] x, float[3] y) => (float z) <int64 i = {-2}> { z = Gather<axis: int = 0>(y, i) }",
    ),
    "past an unknown part": Case(
        "gather-of-concat",
        "g (float[1] x, float[N] y) => (float z) <int64 i = {1}> { a = Concat<axis: int = 0>(x, y) z = Gather(a, i) }",
        "g (float[1] x, float[N] y) => (float z) <int64 i = {0}> { z = Gather<axis: int = 0>(y, i) }",
        sizes={"N": (1, 2, 3)},
    ),
    "whole parts": Case(
        "gather-of-concat",
        "g (float[1] x, float[2] y, float[1] w) => (float[3] z) <int64[3] i = {3, 1, 2}> { a = Concat<axis: int = 0>(x, y, w) z = Gather(a, i) }",
        "g (float[1] x, float[2] y, float[1] w) => (float[3] z) { z = Concat<axis: int = 0>(w, y) }",
        {"part of a part": "g (float[1] x, float[2] y, float[1] w) => (float[2] z) <int64[2] i = {3, 1}> { a = Concat<axis: int = 0>(x, y, w) z = Gather(a, i) }"},
    ),
    "the only output of a Split": Case(
        "gather-of-split",
        "g (float[N, 5] x) => (float[N] z) <int64[2] s = {2, 3}, int64 i = {1}> { a, b = Split<axis: int = 1>(x, s) z = Gather<axis: int = 1>(b, i) }",
        "g (float[N, 5] x) => (float[N] z) <int64 i = {3}> { z = Gather<axis: int = 1>(x, i) }",
        {
            "other axis": "g (float[3, 5] x) => (float[3] z) <int64[2] s = {2, 3}, int64 i = {1}> { a, b = Split<axis: int = 1>(x, s) z = Gather<axis: int = 0>(b, i) }",
            "second consumer": "g (float[N, 5] x) => (float[N] z, float[N, 2] a) <int64[2] s = {2, 3}, int64 i = {1}> { a, b = Split<axis: int = 1>(x, s) z = Gather<axis: int = 1>(b, i) }",
            "behind an unknown part": "g (float[N] x) => (float z) <int64 i = {1}> { a, b = Split<num_outputs: int = 2>(x) z = Gather(b, i) }",
            "index not constant": "g (float[N, 5] x, int64 i) => (float[N] z) <int64[2] s = {2, 3}> { a, b = Split<axis: int = 1>(x, s) z = Gather<axis: int = 1>(b, i) }",
        },
    ),
    "the first rows": Case(
        "gather-of-slice",
        "g (float[N, 2] x, float[M, 3] w) => (float[M, 2] y) <int64[1] s = {0}, int64[1] e = {5}> {"
        " a = Slice(x, s, e) i = ArgMax<axis: int = 1, keepdims: int = 0>(w) y = Gather(a, i) }",
        "g (float[N, 2] x, float[M, 3] w) => (float[M, 2] y) { i = ArgMax<axis: int = 1, keepdims: int = 0>(w) y = Gather<axis: int = 0>(x, i) }",
        {
            "negative index": "g (float[N, 2] x, int64[M] i) => (float[M, 2] y) <int64[1] s = {0}, int64[1] e = {5}> { a = Slice(x, s, e) y = Gather(a, i) }",
            "other start": "g (float[N, 2] x, float[M, 3] w) => (float[M, 2] y) <int64[1] s = {1}, int64[1] e = {5}> {"
            " a = Slice(x, s, e) i = ArgMax<axis: int = 1, keepdims: int = 0>(w) y = Gather(a, i) }",
        },
        sizes={"N": (3, 5, 7)},
    ),
    "from a start": Case(
        "gather-of-slice",
        "g (float[N, 8] x) => (float[N] y) <int64[1] s = {2}, int64[1] e = {9223372036854775807}, int64[1] a = {1}, int64[1] t = {3}, int64 i = {1}>"
        " { b = Slice(x, s, e, a, t) y = Gather<axis: int = 1>(b, i) }",
        "g (float[N, 8] x) => (float[N] y) <int64 i = {5}> { y = Gather<axis: int = 1>(x, i) }",
        {
            "two axes": "g (float[4, 8] x) => (float[2] y) <int64[2] s = {2, 2}, int64[2] e = {9, 9}, int64 i = {1}> { b = Slice(x, s, e) y = Gather<axis: int = 1>(b, i) }",
            "other axis": "g (float[8, 8] x) => (float[6] y) <int64[1] s = {2}, int64[1] e = {9}, int64 i = {1}> { b = Slice(x, s, e) y = Gather<axis: int = 1>(b, i) }",
            "a start that may be before the axis": "g (float[N] x) => (float y) <int64[1] s = {-3}, int64[1] e = {9}, int64 i = {0}> { b = Slice(x, s, e) y = Gather(b, i) }",
            "an end that may be past the axis": "g (float[N] x) => (float y) <int64[1] s = {0}, int64[1] e = {3}, int64 i = {-1}> { b = Slice(x, s, e) y = Gather(b, i) }",
            "a start that may be past the axis, backwards": "g (float[N] x) => (float y) <int64[1] s = {3}, int64[1] e = {-99}, int64[1] a = {0}, int64[1] t = {-1}, int64 i = {1}>"
            " { b = Slice(x, s, e, a, t) y = Gather(b, i) }",
            "second consumer": "g (float[N, 8] x) => (float[N] y, float[N, 6] b) <int64[1] s = {2}, int64[1] e = {9}, int64[1] a = {1}, int64 i = {1}> { b = Slice(x, s, e, a) y = Gather<axis: int = 1>(b, i) }",
        },
    ),
    "the last but one": Case(
        "gather-of-slice",
        "g (float[N] x) => (float y) <int64[1] s = {1}, int64[1] e = {-1}, int64 i = {-2}> { b = Slice(x, s, e) y = Gather(b, i) }",
        "g (float[N] x) => (float y) <int64 i = {-3}> { y = Gather<axis: int = 0>(x, i) }",
        sizes={"N": (4, 5, 7)},
        opset=11,
    ),
    "backwards": Case(
        "gather-of-slice",
        "g (float[N] x) => (float y) <int64[1] s = {-1}, int64[1] e = {-9223372036854775807}, int64[1] a = {0}, int64[1] t = {-2}, int64 i = {1}> { b = Slice(x, s, e, a, t) y = Gather(b, i) }",
        "g (float[N] x) => (float y) <int64 i = {-3}> { y = Gather<axis: int = 0>(x, i) }",
        sizes={"N": (3, 4, 5)},
        opset=13,
    ),
    "from a start, opset 9": Case(
        "gather-of-slice",
        "g (float[N] x) => (float y) <int64 i = {1}> { b = Slice<starts: ints = [2], ends: ints = [9]>(x) y = Gather(b, i) }",
        "g (float[N] x) => (float y) <int64 i = {3}> { y = Gather<axis: int = 0>(x, i) }",
        {"it would be negative": "g (float[4] x) => (float y) <int64 i = {1}> { b = Slice<starts: ints = [-2], ends: ints = [9]>(x) y = Gather(b, i) }"},
        sizes={"N": (4, 5, 7)},
        opset=9,
    ),
    "the axis that an Unsqueeze has added": Case(
        "gather-of-unsqueeze",
        "g (float[N, 3] x, int64 i) => (float[N, 3] y) <int64[1] a = {1}> { b = Unsqueeze(x, a) c = Gather<axis: int = 1>(b, i) y = Abs(c) }",
        "g (float[N, 3] x, int64 i) => (float[N, 3] y) { y = Abs(x) }",
        {"more of it": "g (float[N, 3] x, int64[2] i) => (float[N, 2, 3] y) <int64[1] a = {1}> { b = Unsqueeze(x, a) y = Gather<axis: int = 1>(b, i) }"},
        ranges={"i": (-1, 1)},
    ),
    "another axis than an Unsqueeze has added": Case(
        "gather-of-unsqueeze",
        "g (float[N, 3] x) => (float[1, N, 1] y) <int64[2] a = {0, 2}, int64 i = {1}> { b = Unsqueeze(x, a) y = Gather<axis: int = 3>(b, i) }",
        "g (float[N, 3] x) => (float[1, N, 1] y) <int64[2] a = {0, 2}, int64 i = {1}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze(b, a) }",
        {
            "axes that are not known": "g (float[N, 3] x, int64[1] a) => (float[A, B] y) <int64 i = {1}> { b = Unsqueeze(x, a) y = Gather<axis: int = 2>(b, i) }",
            "more than there is": "g (float[N, 2] x, int64[3] i) => (float[1, N, 3] y) <int64[1] a = {0}> { b = Unsqueeze(x, a) y = Gather<axis: int = 2>(b, i) }",
            "second consumer": "g (float[N, 3] x) => (float[1, N] y, float[1, N, 3] b) <int64[1] a = {0}, int64 i = {1}> { b = Unsqueeze(x, a) y = Gather<axis: int = 2>(b, i) }",
        },
    ),
    "an axis after a Squeeze, opset 11": Case(
        "gather-of-unsqueeze",
        "g (float[N, 1, 3] x) => (float[N] y) <int64 i = {1}> { b = Squeeze<axes: ints = [1]>(x) y = Gather<axis: int = 1>(b, i) }",
        "g (float[N, 1, 3] x) => (float[N] y) <int64 i = {1}> { b = Gather<axis: int = 2>(x, i) y = Squeeze<axes: ints = [1]>(b) }",
        opset=11,
    ),
    "a Transpose that is not needed": Case(
        "gather-of-transpose",
        "g (float[N, M, 3] x) => (float[N, M] y) <int64 i = {1}> { b = Transpose<perm: ints = [2, 0, 1]>(x) y = Gather(b, i) }",
        "g (float[N, M, 3] x) => (float[N, M] y) <int64 i = {1}> { y = Gather<axis: int = 2>(x, i) }",
    ),
    "a Transpose of less": Case(
        "gather-of-transpose",
        "g (float[N, M, 4] x) => (float[2, M, N] y) <int64[2] i = {1, 3}> { b = Transpose(x) y = Gather(b, i) }",
        "g (float[N, M, 4] x) => (float[2, M, N] y) <int64[2] i = {1, 3}> { b = Gather<axis: int = 2>(x, i) y = Transpose<perm: ints = [2, 1, 0]>(b) }",
        {
            "more than there is": "g (float[N, 4] x, int64[5] i) => (float[5, N] y) { b = Transpose(x) y = Gather(b, i) }",
            "as many as that": "g (float[N, M] x, int64[M] i) => (float[M, N] y) { b = Transpose(x) y = Gather(b, i) }",
            "second consumer": "g (float[N, M, 4] x) => (float[2, M, N] y, float[4, M, N] b) <int64[2] i = {1, 3}> { b = Transpose(x) y = Gather(b, i) }",
        },
    ),
    "indices of two axes": Case(
        "gather-of-transpose",
        "g (float[N, 7, 3] x, int64[2, 2] i) => (float[3, 2, 2, N] y) { b = Transpose(x) y = Gather<axis: int = 1>(b, i) }",
        "g (float[N, 7, 3] x, int64[2, 2] i) => (float[3, 2, 2, N] y) { b = Gather<axis: int = 1>(x, i) y = Transpose<perm: ints = [3, 1, 2, 0]>(b) }",
        ranges={"i": (-7, 7)},
    ),
    "an axis along which an Expand repeats": Case(
        "gather-of-expand",
        "g (float[3, N] x, int64[1] s) => (float[3, N] y) <int64 i = {-1}> { a = Shape(x) c = Concat<axis: int = 0>(s, a) d = Expand(x, c) y = Gather(d, i) }",
        "g (float[3, N] x, int64[1] s) => (float[3, N] y) { y = Identity(x) }",
        ranges={"s": (2, 3)},
    ),
    "another axis than an Expand repeats": Case(
        "gather-of-expand",
        "g (float[1, 4] x) => (float[3, 2] y) <int64[2] s = {3, 1}, int64[2] i = {1, 3}> { b = Expand(x, s) y = Gather<axis: int = 1>(b, i) }",
        "g (float[1, 4] x) => (float[3, 2] y) <int64[2] s = {3, 2}, int64[2] i = {1, 3}> { b = Gather<axis: int = 1>(x, i) y = Expand(b, s) }",
        {
            "unknown shape": "g (float[1, 4] x, int64[2] s) => (float[N, 2] y) <int64[2] i = {1, 3}> { b = Expand(x, s) y = Gather<axis: int = 1>(b, i) }",
            "an axis that may be repeated": "g (float[1, M] x, int64[2] s) => (float[N, 2] y) <int64[2] i = {1, 3}> { b = Expand(x, s) y = Gather<axis: int = 1>(b, i) }",
            "a grid of a repeated axis": "g (float[1, 4] x) => (float[1, 2, 4] y) <int64[2] s = {3, 1}, int64[1, 2] i = {1, 2}> { b = Expand(x, s) y = Gather(b, i) }",
        },
    ),
    "Squeeze of the axis of a Gather": Case(
        "squeeze-of-gather",
        "g (float[N, 3] x) => (float[N] y) <int64[1] i = {1}, int64[1] a = {1}> { b = Gather<axis: int = 1>(x, i) y = Squeeze(b, a) }",
        "g (float[N, 3] x) => (float[N] y) <int64 i = {1}> { y = Gather<axis: int = 1>(x, i) }",
        {
            "other axis": "g (float[1, 3] x) => (float[1] y) <int64[1] i = {1}, int64[1] a = {0}> { b = Gather<axis: int = 1>(x, i) y = Squeeze(b, a) }",
            "second consumer": "g (float[N, 3] x) => (float[N] y, float[N, 1] b) <int64[1] i = {1}, int64[1] a = {1}> { b = Gather<axis: int = 1>(x, i) y = Squeeze(b, a) }",
            "not constant": "g (float[N, 3] x, int64[1] i) => (float[N] y) <int64[1] a = {1}> { b = Gather<axis: int = 1>(x, i) y = Squeeze(b, a) }",
        },
    ),
    "Squeeze of indices that an Unsqueeze has made, opset 11": Case(
        "squeeze-of-gather",
        "g (float[5, N] x, int64[M] i) => (float[M, N] y) { a = Unsqueeze<axes: ints = [1]>(i) b = Gather(x, a) y = Squeeze<axes: ints = [1]>(b) }",
        "g (float[5, N] x, int64[M] i) => (float[M, N] y) { y = Gather<axis: int = 0>(x, i) }",
        {"other axis": "g (float[5, N] x, int64[1] i) => (float[1, N] y) { a = Unsqueeze<axes: ints = [1]>(i) b = Gather(x, a) y = Squeeze<axes: ints = [0]>(b) }"},
        opset=11,
        ranges={"i": (-5, 5)},
    ),
    "Unsqueeze of the axis of a Gather": Case(
        "unsqueeze-of-gather",
        "g (float[N, 3] x) => (float[N, 1] y) <int64 i = {1}, int64[1] a = {1}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze(b, a) }",
        "g (float[N, 3] x) => (float[N, 1] y) <int64[1] i = {1}> { y = Gather<axis: int = 1>(x, i) }",
        {
            "other axis": "g (float[N, 3] x) => (float[1, N] y) <int64 i = {1}, int64[1] a = {0}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze(b, a) }",
            "second consumer": "g (float[N, 3] x) => (float[N, 1] y, float[N] b) <int64 i = {1}, int64[1] a = {1}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze(b, a) }",
            "axes that are not known": "g (float[N, 3] x, int64[1] a) => (float[A, B] y) <int64 i = {1}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze(b, a) }",
            "not constant": "g (float[N, 3] x, int64 i) => (float[N, 1] y) <int64[1] a = {1}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze(b, a) }",
        },
    ),
    "Unsqueeze of several axes, opset 7": Case(
        "unsqueeze-of-gather",
        "g (float[N, 3, 2] x) => (float[N, 1, 2, 1, 2] y) <int64[2] i = {1, 0}> { b = Gather<axis: int = 1>(x, i) y = Unsqueeze<axes: ints = [1, 3]>(b) }",
        "g (float[N, 3, 2] x) => (float[N, 1, 2, 1, 2] y) <int64[1, 2, 1] i = {1, 0}> { y = Gather<axis: int = 1>(x, i) }",
        opset=7,
    ),
    "by reshaped indices": Case(
        "reshape-of-gather",
        "g (float[5, 3] x, int64[N, 2] i) => (float[N, 2, 3] y) <int64[1] f = {-1}, int64[3] t = {-1, 2, 3}> { a = Reshape(i, f) b = Gather(x, a) y = Reshape(b, t) }",
        "g (float[5, 3] x, int64[N, 2] i) => (float[N, 2, 3] y) { y = Gather<axis: int = 0>(x, i) }",
        {
            "indices of a rank that is not known": "g (float[5, 3] x, int64[N] v, int64[R] r) => (float[N, 2, 3] y) <int64[1] f = {-1}, int64[3] t = {-1, 2, 3}> { i = Expand(v, r) a = Reshape(i, f) b = Gather(x, a) y = Reshape(b, t) }",
            "another shape": "g (float[5, 3] x, int64[N, 2] i) => (float[N, 6] y) <int64[1] f = {-1}, int64[2] t = {-1, 6}> { a = Reshape(i, f) b = Gather(x, a) y = Reshape(b, t) }",
            "the indices go elsewhere": "g (float[5, 3] x, int64[N, 2] i) => (float[2, N, 3] y) <int64[1] f = {-1}, int64[3] t = {2, -1, 3}> { a = Reshape(i, f) b = Gather(x, a) y = Reshape(b, t) }",
            "second consumer": "g (float[5, 3] x, int64[N, 2] i) => (float[N, 2, 3] y, float[M, 3] b) <int64[1] f = {-1}, int64[3] t = {-1, 2, 3}> { a = Reshape(i, f) b = Gather(x, a) y = Reshape(b, t) }",
        },
        ranges={"i": (-5, 5)},
        sizes={"N": (1, 2, 3)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rewrite(case: Case) -> None:
    judge(case)
