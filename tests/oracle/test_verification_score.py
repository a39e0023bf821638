"""Verification is right in both directions: a sample here, all with `python -m tests.oracle.verification_score`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.openvino.whole_models import MODELS
from tests.oracle import wrong_rewrites
from tests.oracle.right_rewrites import by_hand, converted, exports, families, graphs, layers
from tests.oracle.verification_score import Score, scored
from tests.oracle.wrong_rewrites import wrong_cases

UNRUNNABLE = {"gnn-dynamo", "gnn-torchscript", "moe-dynamo", "moe-nonzero-dynamo", "moe-torchscript"}
"""Fixtures that no runtime computes in float16: onnxruntime has no such kernel of ScatterElements or ScatterND with a
reduction, and onnx's reference evaluator computes a part of them in float32."""
FOLDER = Path(__file__).parents[2] / "fixtures" / "openvino"


def unfair(found: Score) -> list[str]:
    return found.alarms + found.refused + found.vacuous


@pytest.mark.oracle
def test_right_rewrites_are_not_called_wrong() -> None:
    found = scored(by_hand(), 2)
    assert not unfair(found) and found.cases == 24
    found = scored(graphs(range(3_000_000, 3_000_008)), 2)
    assert not unfair(found) and found.cases >= 4
    assert not unfair(scored(exports(["gpt2-kv-torchscript", "detector-nonzero-dynamo"], half=True), 3))


@pytest.mark.oracle
def test_right_conversions_are_not_called_wrong(tmp_path: Path) -> None:
    found = scored(layers(list(MODELS)[::50], tmp_path), 2)
    assert not unfair(found) and found.cases >= 6
    assert not unfair(scored(converted([FOLDER / "decoder.xml", FOLDER / "half.xml"]), 2))


def test_wrong_rewrites_are_found() -> None:
    assert len(wrong_rewrites.PAIRS) >= 100
    found = scored(islice(wrong_cases(), 5, None, 8), 8)
    assert len(found.alarms) == found.cases >= 12, found


@pytest.mark.oracle
def test_all_of_them() -> None:
    cases = 0
    for name, family in families(330, 150, []):
        found = scored(family, 8)
        assert not found.alarms + found.vacuous
        refused = {text.partition(":")[0] for text in found.refused}
        if name == "fixtures in float16":
            assert refused == UNRUNNABLE
        else:
            assert len(refused) * 10 <= found.cases  # random graphs at whose sizes nobody guesses
        cases += found.cases
    assert cases >= 500
    found = scored(wrong_cases(), 8)
    assert len(found.alarms) >= found.cases * 0.95
