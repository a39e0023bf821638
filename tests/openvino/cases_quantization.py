"""Cases of quantisation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}


def quantize(levels: int, ranges: list[Any], dtype: str = "f4", shape: tuple[int, ...] = (2, 3, 4)) -> Case:
    """Of numbers that lie on no border between two levels."""

    def build(b: Build) -> Any:
        x = b.floats(*shape, low=-3, high=3, dtype=dtype)
        given = [b.const(np.array(one, dtype)) for one in ranges]
        return b.op(1, "FakeQuantize", [b.param(x), *given], levels=levels, auto_broadcast="numpy")

    return Case(build, rtol=2e-3 if dtype == "f2" else 1e-5)


_CHANNEL = np.array([1.0, 1.5, 2.0]).reshape(1, 3, 1)
RANGES: dict[str, list[Any]] = {
    "signed": [-2.0, 2.0, -1.0, 1.0],
    "unsigned": [0.0, 2.55, 0.0, 255.0],
    "per channel": [-_CHANNEL, _CHANNEL, -_CHANNEL, _CHANNEL],
    "output per channel": [-2.0, 2.0, -_CHANNEL, _CHANNEL],
    "output reversed": [-2.0, 2.0, 1.0, -1.0],
    "asymmetric": [-0.7, 2.3, -0.7, 2.3],
}
for (_name, _ranges), _levels in product(RANGES.items(), (2, 3, 16, 255, 256)):
    CASES[f"FakeQuantize-1 {_name}, {_levels} levels"] = quantize(_levels, _ranges)
CASES |= {
    "FakeQuantize-1 f16": quantize(256, RANGES["signed"], "f2"),
    "FakeQuantize-1 of rank 4": quantize(256, RANGES["signed"], shape=(2, 3, 4, 2)),
    "FakeQuantize-1 nothing": quantize(256, RANGES["signed"], shape=(0, 3, 4)),
}


def convert(
    destination: str, shift: bool, dtype: str = "f4", scale: Any = 3.0, low: float = -400, high: float = 400
) -> Case:
    def build(b: Build) -> Any:
        given = [b.param(b.floats(2, 3, 4, low=low, high=high, dtype=dtype)), b.const(np.array(scale, dtype))]
        if shift:
            given.append(b.const(np.full(np.shape(scale), 5.0, dtype)))
        return b.op(13, "FakeConvert", given, destination_type=destination)

    return Case(build, rtol=2e-3 if dtype == "f2" else 1e-5)


for _destination, _shift in product(("f8e4m3", "f8e5m2"), (True, False)):
    CASES[f"FakeConvert-13 {_destination}, shift {_shift}"] = convert(_destination, _shift)
    CASES[f"FakeConvert-13 {_destination}, small, shift {_shift}"] = convert(_destination, _shift, low=-0.01, high=0.01)
    CASES[f"FakeConvert-13 {_destination}, f16, shift {_shift}"] = convert(_destination, _shift, "f2", 0.5)
    CASES[f"FakeConvert-13 {_destination}, per channel, shift {_shift}"] = convert(_destination, _shift, scale=_CHANNEL)
