"""The first case of every operator and version that computes, moves or finds elements, with dims that are not known."""

from __future__ import annotations

from dataclasses import replace

from tests.openvino import cases_elementwise, cases_found, cases_movement
from tests.openvino.cases import Case

CASES: dict[str, Case] = {}
for _name, _case in (cases_elementwise.CASES | cases_movement.CASES | cases_found.CASES).items():
    CASES.setdefault(_name.split()[0], replace(_case, variants=_case.variants[-1:]))
