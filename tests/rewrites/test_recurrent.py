# ruff: noqa: E501
"""Recurrent operators."""

from __future__ import annotations

import pytest

from tests.rewrites.table import Case, judge

W = "float[1, 8, 3] w, float[1, 8, 2] r"
ZEROS = "z = ConstantOfShape<value = float[1] {0.0}>(s)"

CASES = {
    "states of zeros": Case(
        "initial-state-of-zeros",
        f"g (float[5, 2, 3] x, {W}) => (float[5, 1, 2, 2] y) <int64[3] s = {{1, 2, 2}}> {{ {ZEROS}"
        " y = LSTM<hidden_size = 2>(x, w, r, , , z, z) }",
        f"g (float[5, 2, 3] x, {W}) => (float[5, 1, 2, 2] y) {{ y = LSTM<hidden_size = 2>(x, w, r) }}",
        near={
            "ones": f"g (float[5, 2, 3] x, {W}) => (float[5, 1, 2, 2] y) <int64[3] s = {{1, 2, 2}}> {{"
            " z = ConstantOfShape<value = float[1] {1.0}>(s) y = LSTM<hidden_size = 2>(x, w, r, , , z, z) }",
            "-0.0": f"g (float[5, 2, 3] x, {W}) => (float[5, 1, 2, 2] y) <float[1, 2, 2] z = {{0.0, 0.0, 0.0, -0.0}}> {{"
            " y = LSTM<hidden_size = 2>(x, w, r, , , z) }",
            "an input": f"g (float[5, 2, 3] x, {W}, float[1, 2, 2] z) => (float[5, 1, 2, 2] y) {{"
            " y = LSTM<hidden_size = 2>(x, w, r, , , z) }",
            "computed zeros": f"g (float[5, 2, 3] x, {W}) => (float[5, 1, 2, 2] y) <int64[3] s = {{1, 2, 2}}> {{ {ZEROS}"
            " e = Exp(z) y = LSTM<hidden_size = 2>(x, w, r, , , e) }",
        },
    ),
    "a part of zeros, of the one state": Case(
        "initial-state-of-zeros",
        "g (float[5, B, 3] x, float[1, 6, 3] w, float[1, 6, 2] r) => (float[5, 1, B, 2] y) <int64[1] k = {2}, int64[2] p = {1, 1}> {"
        " n = Shape<start = 1, end = 2>(x) s = Concat<axis = 0>(k, n, k) z = ConstantOfShape(s)"
        " a, b = Split<axis = 0>(z, p) y = GRU<hidden_size = 2>(x, w, r, , , b) }",
        "g (float[5, B, 3] x, float[1, 6, 3] w, float[1, 6, 2] r) => (float[5, 1, B, 2] y) { y = GRU<hidden_size = 2>(x, w, r) }",
        sizes={"B": (1, 2, 3)},
    ),
    "zeros of both directions": Case(
        "initial-state-of-zeros",
        "g (float[5, B, 3] x, float[2, 6, 3] w, float[2, 6, 2] r) => (float[5, 2, B, 2] y) <int64[1] k = {2}, int64[1] i = {1}, float[1, 2, 2] c = {0, 0, 0, 0}> {"
        " n = Shape<start = 1, end = 2>(x) s = Concat<axis = 0>(i, n, k) z = ConstantOfShape(s) b = Concat<axis = 0>(z, z)"
        ' y = GRU<hidden_size = 2, direction = "bidirectional">(x, w, r, , , b) }',
        "g (float[5, B, 3] x, float[2, 6, 3] w, float[2, 6, 2] r) => (float[5, 2, B, 2] y) {"
        ' y = GRU<hidden_size = 2, direction = "bidirectional">(x, w, r) }',
        near={
            "one direction": "g (float[5, 2, 3] x, float[2, 6, 3] w, float[2, 6, 2] r) => (float[5, 2, 2, 2] y) <int64[3] s = {1, 2, 2}, float[1, 2, 2] c = {0, 0, 0, 1}> {"
            ' z = ConstantOfShape(s) b = Concat<axis = 0>(z, c) y = GRU<hidden_size = 2, direction = "bidirectional">(x, w, r, , , b) }',
        },
        sizes={"B": (1, 2, 3)},
    ),
    "one of the states": Case(
        "initial-state-of-zeros",
        f"g (float[5, 2, 3] x, {W}, float[1, 2, 2] c) => (float[5, 1, 2, 2] y) <int64[3] s = {{1, 2, 2}}> {{ {ZEROS}"
        " y = LSTM<hidden_size = 2>(x, w, r, , , z, c) }",
        f"g (float[5, 2, 3] x, {W}, float[1, 2, 2] c) => (float[5, 1, 2, 2] y) {{ y = LSTM<hidden_size = 2>(x, w, r, , , , c) }}",
        opset=13,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])
