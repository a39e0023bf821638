"""`compose` on random pairs, judged by onnxruntime; `tests.oracle.composed_pairs` makes more of them."""

from __future__ import annotations

from tests.oracle.composed_pairs import pairs


def test_runs_agree_with_the_verdicts() -> None:
    found = pairs(seed=3, count=40)
    assert min(found["joined"], found["a line fails"], found["types do not fit"]) >= 5
