"""Verdicts as texts, and those of the fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

import gather_infer
from gather_infer.validate import VerdictKind, verdicts
from tests.validate.checked_bounds import last
from tests.validate.test_bounds_conditional import CONDITIONAL
from tests.validate.test_bounds_proved import PROVED

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"))


def test_texts() -> None:
    found = last("float[50257, 768] wte", "y = Gather (wte, i)", "int64[1] i = {50257}")
    assert found.text("gpt2.onnx").splitlines() == [
        "error[GI301]: index 50257 is outside [-50257, 50256]",
        "  --> gpt2.onnx: node Gather#0 (Gather-17)",
        "   |  data wte: float32[50257, 768], axis 0",
    ]
    found = last(*CONDITIONAL["positions"][:3])
    assert found.text("gpt2.onnx").splitlines() == [
        "note[GI302]: in bounds only for S <= 512: indices in [0, S - 1], the axis has 512 rows",
        "  --> gpt2.onnx: node Gather#3 (Gather-17)",
        "   |  data t: float32[512, 8], axis 0",
        "   |  S = 513 is past the end",
    ]
    assert last(*PROVED["uint8"]).text() == "proved: every index of Gather#1 is in bounds"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_fixtures(path: Path) -> None:
    found = verdicts(gather_infer.infer(path))
    assert {v.kind for v in found} <= {VerdictKind.PROVED, VerdictKind.CONDITIONAL}
    for each in found:
        assert (each.kind is VerdictKind.CONDITIONAL) == bool(each.conditions)
