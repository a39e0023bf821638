"""Quantization and dequantization in one step: FakeQuantize and FakeConvert.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/quantization/
"""

from __future__ import annotations

from typing import Final

from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import WIDE_FLOATS
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_LARGEST: Final = {DType.FLOAT8E4M3FN: 448.0, DType.FLOAT8E5M2: 57344.0}


@lowers("FakeQuantize")
def fake_quantize(op: LayerView, g: FunctionBuilder) -> str:
    """fake-quantize-1: clamp to the input range, Round to one of `levels` steps, scale to the output range.

    Inputs: data; input_low, input_high, output_low and output_high, which broadcast to the data.

    Min and Max clamp, because the bounds of ONNX's Clip are scalars.
    """
    dtype = op.dtype(0)
    wide = WIDE_FLOATS.get(dtype, dtype)
    x, low, high, first, last = (g.cast(op.x(i), op.dtype(i), wide) for i in range(5))
    steps = g.scalar(op.integer("levels") - 1, wide)
    clamped = g.Min(g.Max(x, g.Min(low, high)), g.Max(low, high))
    level = g.Round(g.Mul(g.Div(g.Sub(clamped, low), g.Sub(high, low)), steps))
    spread = g.Add(g.Mul(g.Div(level, steps), g.Sub(last, first)), first)
    return g.cast(spread, wide, dtype)


@lowers("FakeConvert", since=13, opset=19)
def fake_convert(op: LayerView, g: FunctionBuilder) -> str:
    """fake-convert-13: data * scale - shift, cast to an 8-bit float and back by two Casts, then + shift and / scale.

    Inputs: data, scale, shift (optional).
    """
    dtype = op.dtype(0)
    x, scale = g.cast(op.x(0), dtype, DType.FLOAT32), g.cast(op.x(1), op.dtype(1), DType.FLOAT32)
    shift = g.cast(op.x(2), op.dtype(2), DType.FLOAT32) if op.has(2) else None
    narrow = op.type_of("destination_type", "f8e4m3")
    if narrow not in _LARGEST:
        raise SpecViolation(f"destination_type must be f8e4m3 or f8e5m2, is {narrow}", "GI106")
    largest = _LARGEST[narrow]
    scaled = g.Mul(x, scale)
    if shift is not None:
        scaled = g.Sub(scaled, shift)
    clamped = g.Min(g.Max(scaled, g.scalar(-largest, DType.FLOAT32)), g.scalar(largest, DType.FLOAT32))
    rounded = g.Cast(g.Cast(clamped, to=narrow), to=DType.FLOAT32)
    if shift is not None:
        rounded = g.Add(rounded, shift)
    return g.cast(g.Div(rounded, scale), DType.FLOAT32, dtype)
