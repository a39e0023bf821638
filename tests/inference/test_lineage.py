"""Provenance of indices, a table for each group of transfer functions: value ranges and verdicts, compared with onnxruntime."""

from __future__ import annotations

import pytest

from tests.inference import (
    lineage_arithmetic,
    lineage_choice,
    lineage_floats,
    lineage_movement,
    lineage_positions,
)
from tests.inference.lineage_runs import Row, check, said

TABLES = (lineage_arithmetic, lineage_choice, lineage_floats, lineage_movement, lineage_positions)
ROWS: dict[str, Row] = {name: row for part in TABLES for name, row in part.TABLE.items()}


def test_each_name_has_one_row() -> None:
    assert len(ROWS) == sum(len(part.TABLE) for part in TABLES)


@pytest.mark.parametrize("name", ROWS)
def test_what_is_said(name: str) -> None:
    said(ROWS[name])


@pytest.mark.parametrize("name", ROWS)
def test_what_is_said_holds(name: str) -> None:
    check(name, ROWS[name])
