"""Dims as products: the same dim, in fewer words."""

from __future__ import annotations

import random

import pytest

from gather_infer.symbolic import factored, parse_dim
from tests.symbolic.brute_force import random_tree

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
def test_printed_as_a_product(written: str) -> None:
    dim = parse_dim(written)
    assert factored(dim) == TEXTS[written]
    assert parse_dim(factored(dim)) == dim


@pytest.mark.parametrize("chunk", range(5))
def test_the_text_is_worth_what_the_dim_is(chunk: int) -> None:
    rng = random.Random(f"factored {chunk}")
    told = 0
    for _ in range(1000):
        try:
            dim = random_tree(rng, rng.randint(2, 8)).dim()
        except ZeroDivisionError:
            continue
        assert parse_dim(factored(dim)) == dim, str(dim)
        told += factored(dim) != str(dim)
    assert told > 100  # else there was nothing to factor
