"""Pairs of equal models: each is confirmed by runs, `diff` proves most of them, and calls none different."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.documents import REPO
from tests.oracle.equal_pairs import ALL, KINDS, PATIENCE, RUNS, examine
from tests.oracle.fuzz import examined


@pytest.mark.oracle
@pytest.mark.parametrize(("folders", "seeds"), [((), range(60)), ((REPO / "fixtures",), range(30))])
def test_equal_pairs_are_proved(folders: tuple[Path, ...], seeds: range) -> None:
    counts, texts = Counter[str](), []
    by = partial(examine, folders=folders)
    for _, (found, _, lines) in examined(seeds, RUNS, shrink=False, by=by, patience=PATIENCE):
        counts += found
        texts += lines
    assert not any("Traceback" in text for text in texts), texts
    assert not counts[f"{ALL}: different"] + counts[f"{ALL}: refused"], texts
    proved, pairs = counts[f"{ALL}: proved"], sum(n for name, n in counts.items() if name.startswith(f"{ALL}: "))
    assert pairs > len(seeds) // 2 and proved >= 0.9 * pairs, texts


@pytest.mark.oracle
def test_each_kind_of_rewrite_applies() -> None:
    """Each kind changes some of the first fixtures, and each pair of them runs alike."""
    missing = []
    for kind in KINDS:
        for seed in range(24):
            counts, _, texts = examine(seed, RUNS, False, folders=(REPO / "fixtures",), kinds=(kind,), most=1)
            assert not counts[f"{ALL}: different"] + counts[f"{ALL}: refused"], texts
            if counts[f"{kind}: proved"]:
                break
        else:
            missing.append(kind)
    assert missing == []
