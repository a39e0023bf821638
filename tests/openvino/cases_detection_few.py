"""The cases of detection, regions, embedding bags and decoders that every run of the tests has."""

from __future__ import annotations

from dataclasses import replace

from tests.openvino import cases_bags, cases_detection, cases_regions, cases_suppression
from tests.openvino.cases import Case


def few(cases: dict[str, Case]) -> dict[str, Case]:
    """The first and the middle case of each operator and opset, one in a variant each."""
    families: dict[str, list[str]] = {}
    for name in cases:
        families.setdefault(name.split(":")[0] if ":" in name else name.split()[0], []).append(name)
    return {
        name: replace(cases[name], variants=(variant,))
        for names in families.values()
        for name, variant in (
            (names[0], cases[names[0]].variants[0]),
            (names[len(names) // 2], cases[names[len(names) // 2]].variants[-1]),
        )
    }


CASES = {
    name: case
    for module in (cases_detection, cases_suppression, cases_regions, cases_bags)
    for name, case in few(module.CASES).items()
}
