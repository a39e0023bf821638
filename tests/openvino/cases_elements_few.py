"""Cases of every operator and version that computes, moves or finds elements, with dims that are not known.

The first case of each; and of Pad those that crop.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from tests.openvino import (
    cases_blocks,
    cases_elementwise,
    cases_found,
    cases_shapes,
    cases_slices,
    cases_unranked,
)
from tests.openvino.cases import Case

MODULES = (cases_elementwise, cases_shapes, cases_slices, cases_blocks, cases_unranked, cases_found)

CASES: dict[str, Case] = {}
for _name, _case in chain.from_iterable(module.CASES.items() for module in MODULES):
    CASES.setdefault(_name.split()[0], replace(_case, variants=_case.variants[-1:]))
CASES |= {
    name: replace(case, variants=case.variants[-1:])
    for name, case in cases_slices.CASES.items()
    if name.startswith("Pad-12 reflect") and ("crop" in name or "mixed" in name)
}
"""Pads that crop, for which the converter adds a Slice."""
