"""Planted faults are found, with code and location; the fixtures themselves are clean."""

from __future__ import annotations

from pathlib import Path

import pytest

from gather_infer import Diagnostic, Severity, check
from tests.checks.plants import FIXTURES, PLANTS, planted

CLEAN = sorted(FIXTURES.glob("*.onnx"))


def places(finding: Diagnostic) -> set[str]:
    where = finding.location
    node = "" if where.node is None else str(where.node)
    return {node, where.value.removeprefix("input ").removeprefix("output ")}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PLANTS)
def test_what_is_planted_is_found(name: str, tmp_path: Path) -> None:
    path, plant, place = planted(name, tmp_path)
    result = check(path, **plant.said)
    found = [d for d in result.diagnostics if d.code == plant.code and place in places(d)]
    assert [str(d.severity) for d in found[:1]] == [plant.severity], [d.text() for d in result.diagnostics]
    assert result.exit_code(Severity.WARNING) == (0 if plant.severity == "note" else 1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.stem)
def test_the_fixtures_are_clean(path: Path) -> None:
    result = check(path)
    assert [d.text() for d in result.at_least(Severity.WARNING)] == []
    assert result.exit_code() == 0


def test_there_are_enough_of_each() -> None:
    assert len(PLANTS) >= 40
    assert len(CLEAN) >= 40
