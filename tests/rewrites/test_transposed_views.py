# ruff: noqa: E501
"""Views on both sides of a Transpose."""

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

CASES = {
    "a channel shuffle": Case(
        "reshape-of-transposed-view",
        """g (float[1, 6, 2, 5] x) => (float[2, 1, 3, 2, 5] y) <int64[3] s = {3, 2, 10}, int64[5] t = {2, -1, 3, 2, 5}> {
             a = Reshape(x, s) b = Transpose<perm = [1, 0, 2]>(a) y = Reshape(b, t) }""",
        """g (float[1, 6, 2, 5] x) => (float[2, 1, 3, 2, 5] y) <int64[5] s = {1, 3, 2, 2, 5}> {
             a = Reshape(x, s) y = Transpose<perm = [2, 0, 1, 3, 4]>(a) }""",
        near={
            "dims are merged": """g (float[1, 6, 2, 5] x) => (float[1, 6, 2, 5] y) <int64[5] s = {1, 3, 2, 2, 5}, int64[4] t = {1, 6, 2, 5}> {
                a = Reshape(x, s) b = Transpose<perm = [0, 2, 1, 3, 4]>(a) y = Reshape(b, t) }""",
            "parts of two dims": """g (float[4, 6] x) => (float[3, 8] y) <int64[2] s = {6, 4}, int64[2] t = {3, 8}> {
                a = Reshape(x, s) b = Transpose(a) y = Reshape(b, t) }""",
            "no view": """g (float[4, 6] x) => (float[2, 3, 4] y) <int64[3] t = {2, 3, 4}> { b = Transpose(x) y = Reshape(b, t) }""",
            "no Transpose": """g (float[4, 6] x) => (float[2, 3, 4] y) <int64[2] s = {6, 4}, int64[3] t = {2, 3, 4}> {
                a = Reshape(x, s) b = Neg(a) y = Reshape(b, t) }""",
            "a second reader of the Transpose": """g (float[4, 6] x) => (float[2, 2, 6] y, float[4, 6] z) <int64[2] s = {6, 4}, int64[3] t = {2, 2, 6}> {
                a = Reshape(x, s) b = Transpose(a) y = Reshape(b, t) z = Neg(b) }""",
            "a second reader of the view": """g (float[4, 6] x) => (float[2, 2, 6] y, float[6, 4] z) <int64[2] s = {6, 4}, int64[3] t = {2, 2, 6}> {
                a = Reshape(x, s) b = Transpose(a) y = Reshape(b, t) z = Neg(a) }""",
            "dims that are not known": """g (float[N, 6] x) => (float[6, N, 1] y) <int64[2] s = {-1, 6}, int64[3] t = {6, -1, 1}> {
                a = Reshape(x, s) b = Transpose(a) y = Reshape(b, t) }""",
            "no elements": """g (float[0, 6] x) => (float[2, 3, 0] y) <int64[2] s = {0, 6}, int64[3] t = {2, 3, 0}> {
                a = Reshape<allowzero = 1>(x, s) b = Transpose(a) y = Reshape<allowzero = 1>(b, t) }""",
        },
    ),
    "backwards, and ones at the ends": Case(
        "reshape-of-transposed-view",
        """g (float[2, 3, 4] x) => (float[1, 2, 2, 1, 6, 1] y) <int64[6] t = {1, 2, 2, 1, 6, 1}> {
             a = Flatten<axis = 2>(x) b = Transpose(a) y = Reshape(b, t) }""",
        """g (float[2, 3, 4] x) => (float[1, 2, 2, 1, 6, 1] y) <int64[6] s = {1, 6, 1, 1, 2, 2}> {
             a = Reshape(x, s) y = Transpose<perm = [3, 4, 5, 0, 1, 2]>(a) }""",
        opset=13,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])
