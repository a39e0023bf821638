"""The cases of every run: for each version of the layers of networks the first, of unknown dims, and the last."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from tests.openvino.cases import Case

MODULES = tuple(
    f"tests.openvino.cases_{family}"
    for family in (
        "attention",
        "convolution",
        "fourier",
        "interpolation",
        "normalization",
        "pooling",
        "pools",
        "quantization",
        "recurrence",
    )
)


def _few(cases: dict[str, Case]) -> dict[str, Case]:
    by_version: dict[str, list[str]] = {}
    for name in cases:
        by_version.setdefault(name.split()[0], []).append(name)
    few = {names[-1]: replace(cases[names[-1]], variants=("static",)) for names in by_version.values()}
    return few | {names[0]: replace(cases[names[0]], variants=("dynamic",)) for names in by_version.values()}


CASES: dict[str, Case] = {name: case for module in MODULES for name, case in _few(import_module(module).CASES).items()}
