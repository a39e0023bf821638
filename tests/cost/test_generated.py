"""The peak of random graphs against replays of their runs: a sample here, more with `-m oracle`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cost.generated import examine
from tests.oracle.fuzz import examined


def _counted(seeds: range, runs: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for _, (more, _, texts) in examined(seeds, runs, by=examine):
        counts += more
        wrong += texts
    assert wrong == []
    return counts


def test_the_peak_of_a_sample_of_graphs() -> None:
    counts = _counted(range(100), 4)
    assert counts["equal"] >= 40, counts
    assert counts["with bodies"] >= 25, counts


@pytest.mark.oracle
def test_the_peak_of_many_graphs() -> None:
    counts = _counted(range(1_000, 2_500), 6)
    assert counts["equal"] >= 1_000, counts
