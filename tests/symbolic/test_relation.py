"""Relations in few words; that they say the same is in test_properties."""

from __future__ import annotations

import pytest

from gather_infer.symbolic import Expr, canonical_lower_bound, canonical_relation, parse_dim

CASES = {
    # given: in few words
    "6*N == 6*N - 2*(N % 2)": "N % 2 == 0",
    "6*N == 12*(N//2)": "N % 2 == 0",
    "0 == N % 2": "N % 2 == 0",
    "6*N == 12": "N == 2",
    "12 == 6*N": "N == 2",
    "2*N == 7": "2*N == 7",
    "B + 2 == A + 2": "B == A",
    "2*N*S == 4*M*N": "N*S == 2*M*N",
    "K == L": "K == L",
    "N*S == M*S": "N*S == M*S",
    "seq <= 64": "seq <= 64",
    "5 <= N": "5 <= N",
    "2*N <= 7": "N <= 3",
    "7 <= 2*N": "4 <= N",
    "2*N + 3 <= 3*N + S": "3 <= N + S",
    "past + seq <= 48": "past + seq <= 48",
}


@pytest.mark.parametrize("given", CASES)
def test_reduced(given: str) -> None:
    relation = "==" if "==" in given else "<="
    left, right = map(parse_dim, given.split(relation))
    first, second = canonical_relation(left, relation, right)
    assert f"{first} {relation} {second}" == CASES[given]


LEAST = {
    # given: in few words
    "N >= 1": "N >= 1",
    "29*N >= 1": "N >= 1",
    "29 - 29*N >= -3": "-N >= -1",
    "2*N + 6*M - 1 >= 4": "3*M + N >= 3",
    "(N + 1)//2 >= 1": "N >= 1",
    "(2*N*S + 4)//5 >= 1": "N*S >= 1",
    "3*((N + 7)//8) + 2 >= 6": "N >= 9",
    "7 - N//2 >= 1": "-(N//2) >= -6",
    "min(7, 2*N) >= 1": "min(7, 2*N) >= 1",
}


@pytest.mark.parametrize("given", LEAST)
def test_least_of(given: str) -> None:
    left, right = given.split(" >= ")
    dim = parse_dim(left)
    assert isinstance(dim, Expr)
    fewer, least = canonical_lower_bound(dim, int(right))
    assert f"{fewer} >= {least}" == LEAST[given]
