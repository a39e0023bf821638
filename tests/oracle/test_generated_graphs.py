"""Whole random graphs against onnxruntime: a sample here, as many as one likes with `python -m tests.oracle.fuzz`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.oracle.fuzz import examined


def _examine(seeds: range, runs: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    found: list[str] = []
    for _, (more, _, texts) in examined(seeds, runs):
        counts += more
        found += texts
    assert not found, "\n\n".join(found)
    return counts


def test_no_fact_of_a_sample_of_graphs_is_wrong() -> None:
    counts = _examine(range(150), 8)
    assert counts["graphs"] >= 130, counts
    assert counts["runs"] >= 500, counts
    assert counts["symbolic dims"] >= 3000, counts


@pytest.mark.oracle
def test_no_fact_of_many_graphs_is_wrong() -> None:
    counts = _examine(range(1_000_000, 1_005_000), 12)
    assert counts["runs"] >= 20_000, counts
