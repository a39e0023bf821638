"""A model cut in two and joined again is proved equal to the original; `tests.oracle.random_cuts` makes more cuts."""

from __future__ import annotations

import pytest

from tests.oracle.random_cuts import FIXTURES, cut_and_join


@pytest.mark.parametrize("name", FIXTURES[:4])
def test_a_cut_is_undone(name: str) -> None:
    assert [str(verdict) for verdict in cut_and_join(name, seed=5, cuts=2)] == ["proved"] * 2
