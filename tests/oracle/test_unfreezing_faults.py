"""The table of faults in `unfreezing` fits its sources; `tests.oracle.unfreezing_faults` runs the tests with each."""

from __future__ import annotations

import pytest

from tests.oracle.prover_faults import PACKAGE, Fault
from tests.oracle.unfreezing_faults import FAULTS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.module}: {fault.wrong}")
def test_a_fault_can_be_planted(fault: Fault) -> None:
    text = (PACKAGE.parent / fault.path).read_text(encoding="utf-8")
    planted = fault.planted(text)
    assert planted != text
    compile(planted, str(fault.path), "exec")


def test_each_fault_is_another_one() -> None:
    assert len({(each.module, each.old, each.new) for each in FAULTS}) == len(FAULTS) >= 40
