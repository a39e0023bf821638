"""Operators that ONNX cannot express."""

from __future__ import annotations

from typing import Final, NoReturn

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable

lowerings = LoweringTable()
lowers = lowerings.lowers

REASONS: Final = {"StringTensorUnpack": "ONNX has no operator that gives the bytes of a text"}


@lowers(*REASONS)
def unsupported(op: LayerView, g: FunctionBuilder) -> NoReturn:
    """Raise LoweringRefused with the reason that REASONS gives for the operator."""
    raise LoweringRefused(REASONS[op.op_type])
