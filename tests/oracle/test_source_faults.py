"""The tables of planted faults fit the sources; `tests.oracle.prover_faults` and the others run the tests with each."""

from __future__ import annotations

import pytest

from tests.oracle import editing_faults, prover_faults, unfreezing_faults
from tests.oracle.source_faults import PACKAGE, Fault, FaultTable

TABLES = {
    # package: (table, least number of faults)
    "equality": (prover_faults.TABLE, 100),
    "editing": (editing_faults.TABLE, 40),
    "unfreezing": (unfreezing_faults.TABLE, 40),
}
PLANTED = [(table, fault) for table, _ in TABLES.values() for fault in table.faults]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("table", "fault"), PLANTED, ids=[f"{table.folder.name}.{fault.module}: {fault.wrong}" for table, fault in PLANTED]
)
def test_a_fault_can_be_planted(table: FaultTable, fault: Fault) -> None:
    """Its text occurs once, and both the module and the one with the fault compile."""
    text = (PACKAGE.parent / table.path(fault)).read_text(encoding="utf-8")
    planted = fault.planted(text)
    assert planted != text
    for each in (text, planted):
        compile(each, str(table.path(fault)), "exec")


@pytest.mark.parametrize("package", TABLES)
def test_each_fault_is_another_one(package: str) -> None:
    table, least = TABLES[package]
    assert len({(each.module, each.old, each.new) for each in table.faults}) == len(table.faults) >= least
