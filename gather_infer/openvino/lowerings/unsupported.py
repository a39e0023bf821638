"""Operators that ONNX cannot express."""

from __future__ import annotations

from typing import Final, NoReturn

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.fragment import Fragment
from gather_infer.openvino.lowerings.layer import Layer
from gather_infer.openvino.lowerings.table import Lowerings

lowerings = Lowerings()
lowers = lowerings.lowers

REASONS: Final = {"StringTensorUnpack": "ONNX has no operator that gives the bytes of a text"}


@lowers(*REASONS)
def unsupported(op: Layer, g: Fragment) -> NoReturn:
    """Refused with the reason in REASONS."""
    raise LoweringRefused(REASONS[op.type])
