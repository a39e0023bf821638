"""Dims as products: the same dim, in fewer words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gather_infer.symbolic import Dim, factored, maximum, minimum, parse_dim, symbol

TEXTS = {
    # what is written: how it is told
    "0": "0",
    "-3": "-3",
    "N": "N",
    "2*N": "2*N",
    "-N": "-N",
    "128*b*s*s + 12288*b*s": "128*b*s*(s + 96)",
    "4*b + 6": "2*(2*b + 3)",
    "a + b": "a + b",
    "-2*a - 4": "-2*(a + 2)",
    "6*a*a - 4*a": "2*a*(3*a - 2)",
    "a*a*b + a*b*b": "a*b*(a + b)",
    "(N + 1)//2": "(N + 1)//2",
    "-((N + 1)//2)": "-((N + 1)//2)",
    "2*((N + 1)//2)": "2*((N + 1)//2)",
    "(N//2)*a + (N//2)*b": "(N//2)*(a + b)",
    "max(a*b, a*c)": "a*max(b, c)",
    "max(4*a*b + 8*a, 3*c)": "max(3*c, 4*a*(b + 2))",
    "4*a*max(b, 2*c + 4*d) + 8*a": "4*a*(max(b, 2*(c + 2*d)) + 2)",
    "a - max(b, c)": "a - max(b, c)",
    "-max(b, c) - a": "-(a + max(b, c))",
    "3*(N % 4)": "3*(N % 4)",
}


@pytest.mark.parametrize("written", TEXTS)
def test_told_as_a_product(written: str) -> None:
    dim = parse_dim(written)
    assert factored(dim) == TEXTS[written]
    assert parse_dim(factored(dim)) == dim


SYMBOLS = st.sampled_from([symbol(name) for name in ("a", "b", "seq", "batch size")])


def _larger(dims: st.SearchStrategy[Dim]) -> st.SearchStrategy[Dim]:
    pairs = st.tuples(dims, dims)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] - pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        pairs.map(lambda pair: maximum(*pair)),
        pairs.map(lambda pair: minimum(*pair)),
        st.tuples(dims, st.integers(1, 9)).map(lambda pair: pair[0] // pair[1]),
    )


@given(st.recursive(st.one_of(SYMBOLS, st.integers(-9, 9)), _larger, max_leaves=8))
def test_the_text_is_read_as_the_same_dim(dim: Dim) -> None:
    assert parse_dim(factored(dim)) == dim
