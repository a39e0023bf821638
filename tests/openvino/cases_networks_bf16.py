"""The layers of networks on bfloat16, in which neither OpenVINO's plugin nor onnxruntime computes: both round once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Variant
from tests.openvino.cases_networks_few import MODULES

ROUNDED = 2**-7
"""Twice what rounding to bfloat16 may change, relative to the largest element."""


class _Rounding(Build):
    """Floats that are given become bfloat16."""

    def param(self, data: npt.ArrayLike, element: str = "", **options: Any) -> Any:
        made = super().param(data, element, **options)
        return self._rounded(made) if np.asarray(data).dtype == np.float32 else made

    def const(self, data: npt.ArrayLike, element: str = "") -> Any:
        is_float = np.asarray(data).dtype == np.float32 and not element
        return super().const(data, "bf16" if is_float else element)

    def _rounded(self, made: Any) -> Any:
        return self.op(1, "Convert", [made], destination_type="bf16")


def _of_bfloat16(build: Callable[[Build], Any]) -> Callable[[Build], Any]:
    """The layer between Converts: numpy, which inputs and outputs are of, lacks the type."""

    def made(b: Build) -> list[Any]:
        rounding = _Rounding(b.variant, b.ov, b.seed, b.parameters, b.feeds)
        found = build(rounding)
        outputs = found if isinstance(found, (list, tuple)) else [found]
        ports = [port for one in outputs for port in (one.outputs() if hasattr(one, "outputs") else [one])]
        is_half = [port.get_element_type() == b.ov.Type.bf16 for port in ports]
        return [
            b.op(1, "Convert", [p], destination_type="f32") if half else p
            for p, half in zip(ports, is_half, strict=True)
        ]

    return made


RESHAPED = frozenset(
    {
        "Convolution-1", "GroupConvolution-1", "ConvolutionBackpropData-1", "GroupConvolutionBackpropData-1", "RDFT-9",
        "STFT-15", "GridSample-9", "DeformableConvolution-1", "DeformableConvolution-8",
    }
)  # fmt: skip
"""Where dims are not known the plugin rounds on the way; where they are numbers it gives the same as onnxruntime."""

IN_STEPS = {"BatchNormInference-1": 2**-5, "BatchNormInference-5": 2**-5, "GroupNormalization-12": 2**-5}
"""What the plugin makes of several operators in bfloat16, and how far off that is."""

VARIANTS: dict[str, Sequence[Variant]] = {
    "GroupNormalization-12": ("dynamic",),  # which the plugin does not run where the dims are numbers
    "MaxPool-8": ("static",),  # `Model.evaluate` ends the process where they are not
    "MaxPool-14": (),  # of elements that are equal in bfloat16 `Model.evaluate` takes another one
}

EVALUATED = frozenset({"MaxPool-8"})
"""What the plugin does not run in bfloat16 at all."""

CASES: dict[str, Case] = {}
for _module in MODULES:
    for _name, _case in import_module(_module).CASES.items():
        _version = _name.split()[0]
        if any(one.split()[0] == _version for one in CASES):
            continue
        CASES[f"{_name} bf16"] = replace(
            _case,
            build=_of_bfloat16(_case.build),
            rtol=IN_STEPS.get(_version, ROUNDED),
            variants=VARIANTS.get(_version, _case.variants),
            engine="reshaped" if _version in RESHAPED else "evaluate" if _version in EVALUATED else _case.engine,
        )
