"""Rules of experimental operators that onnx removed after opset 9: Affine, Crop and ImageScaler.

https://github.com/onnx/onnx/blob/v1.3.0/docs/Operators.md; onnxruntime still runs them up to opset 9.
"""

from __future__ import annotations

from typing import Final

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_call, require_type
from gather_infer.ops.semantics.preconditions import require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim
from gather_infer.tensor import UNKNOWN, DType, Shape, SymbolicTensor

rules = RuleSet("")

LAST: Final = 9
"""The last opset that has Affine, Crop and ImageScaler."""

FLOATS: Final = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)


@rules.rule("Affine", since=1, checks_types=True)
def affine(op: OpCall) -> list[SymbolicTensor]:
    """https://github.com/onnx/onnx/blob/v1.3.0/docs/Operators.md#experimental-affine

    alpha * X + beta, element by element.
    """
    if _is_removed(op):
        return [UNKNOWN]
    x = _input(op, "alpha", "beta")
    return [SymbolicTensor(x.dtype, x.shape)]


@rules.rule("ImageScaler", since=1, checks_types=True)
def image_scaler(op: OpCall) -> list[SymbolicTensor]:
    """https://github.com/onnx/onnx/blob/v1.3.0/docs/Operators.md#experimental-imagescaler

    input   [n, c, h, w]
    bias    [c]
    result  scale * input + bias, with one bias per channel
    """
    if _is_removed(op):
        return [UNKNOWN]
    x = _input(op, "bias", "scale")
    bias = op.attr("bias", ())
    if not bias:
        raise SpecViolation("attribute bias is missing", "GI106")
    shape = require_rank(x.shape, 4, "the input")
    if shape is not None:
        channels = op.require_equal(shape[1], len(bias), "the channels of the input and the length of bias")
        shape = (shape[0], channels, *shape[2:])
    return [SymbolicTensor(x.dtype, shape)]


@rules.rule("Crop", since=1, checks_types=True)  # no `moves`: floats only, their provenance is not tracked
def crop(op: OpCall) -> list[SymbolicTensor]:
    """https://github.com/onnx/onnx/blob/v1.3.0/docs/Operators.md#experimental-crop

    input   [n, c, h, w]
    border  [left, top, right, bottom], numbers of elements
    result  [n, c, h - top - bottom, w - left - right]; with attribute scale [n, c, *scale], from (top, left) on
    """
    if _is_removed(op):
        return [UNKNOWN]
    x = _input(op, "border", "scale")
    border, scale = list(op.attr("border", ())), list(op.attr("scale", ()))
    if len(border) != 4 or min(border) < 0:
        raise SpecViolation(f"border must be 4 numbers from 0 on, is {border}", "GI106")
    if scale and (len(scale) != 2 or min(scale) < 0):
        raise SpecViolation(f"scale must be 2 numbers from 0 on, is {scale}", "GI106")
    left, top, right, bottom = border
    shape = require_rank(x.shape, 4, "the input")
    if shape is None:
        return [SymbolicTensor(x.dtype)]
    height = _cut(op, shape[2], top, bottom, scale[0] if scale else None, "height")
    width = _cut(op, shape[3], left, right, scale[1] if scale else None, "width")
    cropped: Shape = (*shape[:2], height, width)
    return [SymbolicTensor(x.dtype, cropped)]


def _cut(op: OpCall, size: Dim, before: int, after: int, kept: int | None, name: str) -> Dim:
    """The length of an axis of length `size` after cropping: `kept`, or size - before - after when `kept` is None.

    Requires that `size` is large enough; `name` is the axis in the error message.
    """
    least = before + (after if kept is None else kept)
    op.require((least, "<=", size), otherwise=f"{name} must be {least} or more, is {size}", code="GI212")
    return size - least if kept is None else kept


def _is_removed(op: OpCall) -> bool:
    """Whether the opset is newer than LAST and no longer has the operator; if so, report GI105."""
    if op.version > LAST:
        op.report("GI105", f"operator {op.op_type} is not known in opset {op.version}, {LAST} is the last that has it")
    return op.version > LAST


def _input(op: OpCall, *attributes: str) -> SymbolicTensor:
    check_call(op, inputs=1, attributes=(*attributes, "consumed_inputs"))
    x = op.tensor(0)
    require_type(x, FLOATS, "the input")
    return x
