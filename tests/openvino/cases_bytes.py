"""Cases of images in bytes: sums past the ends of the type, and fractions of integers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}

TARGETS = {"up": [10, 9], "down": [3, 4], "both": [8, 3]}
ENDS = {"u1": (0, 255), "i1": (-128, 127), "i4": (-1000, 1000), "f4": (-1, 1)}
PLAIN = {"shape_calculation_mode": "sizes", "pads_begin": [0], "pads_end": [0], "antialias": False}


def image(dtype: str) -> npt.NDArray[Any]:
    """[1, 2, 5, 6]: an edge from the least to the largest, and noise."""
    least, most = ENDS[dtype]
    x = np.where(np.indices((1, 2, 5, 6))[3] > 2, most, least).astype(dtype)
    x[0, 1] = np.random.default_rng(1).integers(least, most, (5, 6), endpoint=True)
    return x


def resized(mode: str, dtype: str, sizes: list[int], *, channels_last: bool = False, **given: Any) -> Case:
    def build(b: Build) -> Any:
        x = np.moveaxis(image(dtype), 1, 3) if channels_last else image(dtype)
        axes = [1, 2] if channels_last else [2, 3]
        inputs = [b.param(x), b.const(np.array(sizes)), b.const(np.array(axes))]
        return b.op(11, "Interpolate", inputs, mode=mode, **PLAIN, **given)

    return Case(build, variants=("dynamic",))


for (_name, _sizes), _dtype in product(TARGETS.items(), ("u1", "i1", "i4")):
    for _mode in ("linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"):
        CASES[f"Interpolate-11 {_mode}, {_name}, {_dtype}"] = resized(_mode, _dtype, _sizes)
    CASES[f"Interpolate-11 bicubic_pillow, {_name}, {_dtype}, channels last"] = resized(
        "bicubic_pillow", _dtype, _sizes, channels_last=True
    )
# the plugin has -0.5 whatever `cube_coeff` is
for (_name, _sizes), _coefficient in product(TARGETS.items(), (-0.75, -1.0)):
    CASES[f"Interpolate-11 bicubic_pillow, {_name}, {_coefficient}"] = resized(
        "bicubic_pillow", "f4", _sizes, cube_coeff=_coefficient
    )


def sampled(mode: str, padding: str, dtype: str) -> Case:
    def build(b: Build) -> Any:
        inputs = [b.param(image(dtype)), b.param(b.floats(1, 4, 5, 2, low=-1.4, high=1.4))]
        return b.op(9, "GridSample", inputs, mode=mode, padding_mode=padding, align_corners=False)

    return Case(build, variants=("dynamic",))


for _mode, _padding, _dtype in product(("bilinear", "bicubic", "nearest"), ("zeros", "border"), ("u1", "i1")):
    CASES[f"GridSample-9 {_mode}, {_padding}, {_dtype}"] = sampled(_mode, _padding, _dtype)
