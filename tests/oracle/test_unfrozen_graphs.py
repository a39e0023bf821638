"""Random graphs made static, and dynamic again by `unfreeze`; more with `python -m tests.oracle.unfrozen_graphs`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.oracle.row_moves import MOVES
from tests.oracle.unfrozen_graphs import outcomes

UNTOLD = ("mean_by_size", "flipped", "shifted", "from_end", "near")
"""Moves of lengths that small static graphs do not tell from others, such as the end of a count of two positions."""


def _counts(seeds: range, symbols: Sequence[str], without: tuple[str, ...] = ()) -> Counter[str]:
    moves = {name: move for name, move in MOVES.items() if name not in without}
    counts: Counter[str] = Counter()
    for each, _, found in outcomes(seeds, symbols, moves=moves):
        counts[found.verdict] += 1
        assert found.verdict not in ("wrong", "fails"), f"seed {each.seed}: {found.why}"
    return counts


def test_rows_of_a_sample_of_graphs() -> None:
    counts = _counts(range(25), ["batch"])
    assert counts["back"] >= 22, counts


def test_lengths_of_a_sample_of_graphs() -> None:
    counts = _counts(range(25), ["seq"], UNTOLD)
    assert counts["back"] + counts["cut"] >= 10, counts


@pytest.mark.oracle
def test_rows_of_many_graphs() -> None:
    counts = _counts(range(100_000, 100_800), ["batch"])
    assert counts["back"] >= 700, counts


@pytest.mark.oracle
def test_lengths_of_many_graphs() -> None:
    counts = _counts(range(200_000, 200_600), ["seq"], UNTOLD)
    assert counts["back"] + counts["cut"] >= 250, counts


@pytest.mark.oracle
def test_rows_and_lengths_of_many_graphs() -> None:
    counts = _counts(range(300_000, 300_400), ["batch", "seq"], UNTOLD)
    assert counts["back"] + counts["cut"] >= 160, counts
