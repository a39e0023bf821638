"""Provenance of indices, a table for each group of transfer functions: value ranges and verdicts, compared with onnxruntime."""

from __future__ import annotations

import pytest

from tests.inference import (
    provenance_arithmetic,
    provenance_floats,
    provenance_iota,
    provenance_movement,
    provenance_select,
)
from tests.inference.provenance_runs import Row, check, constraints

TABLES = (provenance_arithmetic, provenance_select, provenance_floats, provenance_movement, provenance_iota)
ROWS: dict[str, Row] = {name: row for part in TABLES for name, row in part.TABLE.items()}


def test_each_name_has_one_row() -> None:
    assert len(ROWS) == sum(len(part.TABLE) for part in TABLES)


@pytest.mark.parametrize("name", ROWS)
def test_expected_results(name: str) -> None:
    constraints(ROWS[name])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_results_hold_in_runs(name: str) -> None:
    check(name, ROWS[name])
