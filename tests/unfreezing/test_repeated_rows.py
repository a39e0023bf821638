"""Constants that are rows, although only a later node contradicts another number of them."""

from __future__ import annotations

import pytest

from gather_infer import unfreeze
from tests.unfreezing.cases import Case, check_dynamic
from tests.verification.models import model

QUERY = "float[1, 1, 4] q = {1, -2, 3, -4}"
ATTENTION = " t = Transpose<perm = [0, 2, 1]>(x) m = MatMul(n, t) y = MatMul(m, x) }"
FOLDED = "float[3, 1, 4] q = {1, -2, 3, -4, 1, -2, 3, -4, 1, -2, 3, -4}"

CASES = {
    "queries that are tiled and normalized": Case(
        f"(float[3, 5, 4] x) => (y) <{QUERY}, int64[1] axis = {{2}}, int64[3] r = {{3, 1, 1}}> {{ k = Tile(q, r)"
        " e = Exp(k) s = ReduceSum<keepdims = 1>(e, axis) n = Div(e, s)" + ATTENTION,
        f"(float[batch, 5, 4] x) => (y) <{QUERY}, int64[1] axis = {{2}}> {{ e = Exp(q)"
        " s = ReduceSum<keepdims = 1>(e, axis) n = Div(e, s)" + ATTENTION,
    ),
    "queries that were folded, and are merged with heads": Case(
        f"(float[3, 5, 4] x) => (y) <{FOLDED}, int64[3] h = {{6, 1, 2}}, int64[3] b = {{3, 1, 4}}> {{ a = Reshape(q, h)"
        " c = Softmax<axis = 2>(a) n = Reshape(c, b)" + ATTENTION,
        f"(float[batch, 5, 4] x) => (y) <{QUERY}, int64[3] h = {{2, 1, 2}}, int64[3] b = {{1, 1, 4}}> {{"
        " a = Reshape(q, h) c = Softmax<axis = 2>(a) n = Reshape(c, b)" + ATTENTION,
    ),
    "queries and their positions, which meet before the image": Case(
        f"(float[3, 5, 4] x) => (y) <{QUERY}, float[1, 2, 4] p = {{1, 2, 3, 4, -1, -2, -3, -4}},"
        " int64[3] r = {3, 1, 1}, int64[3] s = {3, 2, 4}> { k = Tile(q, r) e = Softmax<axis = 2>(k) o = Expand(p, s)"
        " v = Transpose<perm = [0, 2, 1]>(o) w = MatMul(e, v) g = MatMul(w, o) n = Tanh(g)" + ATTENTION,
        f"(float[batch, 5, 4] x) => (y) <{QUERY}, float[1, 2, 4] p = {{1, 2, 3, 4, -1, -2, -3, -4}}> {{"
        " e = Softmax<axis = 2>(q) v = Transpose<perm = [0, 2, 1]>(p) w = MatMul(e, v) g = MatMul(w, p) n = Tanh(g)"
        + ATTENTION,
    ),
    "queries and their positions, which are both normalized before they meet": Case(
        f"(float[3, 5, 4] x) => (y) <{QUERY}, float[1, 2, 4] p = {{1, 2, 3, 4, -1, -2, -3, -4}},"
        " int64[3] r = {3, 1, 1}, int64[3] s = {3, 2, 4}> { k = Tile(q, r) e = Softmax<axis = 2>(k) o = Expand(p, s)"
        " h = Softmax<axis = 2>(o) v = Transpose<perm = [0, 2, 1]>(h) w = MatMul(e, v) g = MatMul(w, h) n = Tanh(g)"
        + ATTENTION,
        f"(float[batch, 5, 4] x) => (y) <{QUERY}, float[1, 2, 4] p = {{1, 2, 3, 4, -1, -2, -3, -4}}> {{"
        " e = Softmax<axis = 2>(q) h = Softmax<axis = 2>(p) v = Transpose<perm = [0, 2, 1]>(h) w = MatMul(e, v)"
        " g = MatMul(w, h) n = Tanh(g)" + ATTENTION,
    ),
    "initial states that are zeros": Case(
        "(float[3, 5, 4] x) => (y) <int64[3] s = {3, 1, 4}> { z = ConstantOfShape<value = float[1] {1.0}>(s)"
        " n = Softmax<axis = 2>(z)" + ATTENTION,
        "(float[batch, 5, 4] x) => (y) <int64[3] s = {1, 1, 4}> { z = ConstantOfShape<value = float[1] {1.0}>(s)"
        " n = Softmax<axis = 2>(z)" + ATTENTION,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_back(name: str) -> None:
    check_dynamic(CASES[name])


def test_rows_that_differ_are_no_copies() -> None:
    """A value of another meaning, as large as the batch: its rows are no copies of one, and stay."""
    text = (
        "(float[3, 5, 4] x) => (y) <float[3, 1, 4] q = {1, -2, 3, -4, 5, -6, 7, -8, 9, -1, 2, -3}> {"
        " n = Softmax<axis = 2>(q)" + ATTENTION
    )
    refused = unfreeze(model(text), ["x.0=batch"])
    assert refused.refused and "requires batch <= 3" in refused.why_refused


def test_rows_that_count_are_no_copies() -> None:
    """Where no run compares rows, a value as large as the batch is refused, too."""
    text = (
        "(float[3, 5, 4] x) => (y) <int64[3, 1, 1] q = {0, 1, 2}, float[1, 1, 4] w = {1, 2, 3, 4}> {"
        " c = Cast<to = 1>(q) k = Mul(c, w) n = Softmax<axis = 2>(k)" + ATTENTION
    )
    refused = unfreeze(model(text), ["x.0=batch"], verify=False)
    assert refused.why_refused == "node MatMul#4 (MatMul): requires batch <= 3, of n [3, 1, 4] and t [batch, 4, 5]"


def test_copies_of_a_length_are_left_alone() -> None:
    """No run tells whether equal rows of a length are as many as the length."""
    text = (
        "(float[2, 3, 4] x) => (y) <float[1, 3, 4] q = {1, -2, 5, -4, 1, -2, 5, -4, 1, -2, 5, -4}> {"
        " n = Softmax<axis = 2>(q) y = Add(n, x) }"
    )
    refused = unfreeze(model(text), ["x.1=length"])
    requires = "requires length == 1 or length == 3, of n [1, 3, 4] and x [2, length, 4]"
    assert refused.why_refused == f"node Add#1 (Add): {requires}"
