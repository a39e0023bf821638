"""Rules of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, which keep the shape."""

from __future__ import annotations

from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.cast import dtype_of
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import ceildiv, known_eq
from gather_infer.tensor import DType, SymbolicTensor, format_shape

rules = RuleSet("")


@rules.rule("QuantizeLinear", since=10)
def quantize_linear(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html

    The result has the element type of the zero point, or uint8 without one. Version 13 adds `axis`; version 21 adds
    `output_dtype`, which sets the element type, and blocks.
    """
    x, scale, zero_point = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    dtype = DType.UINT8 if zero_point is None else zero_point.dtype
    wanted = op.attr("output_dtype", 0)
    if wanted != 0:
        named = dtype_of(wanted, "output_dtype")
        if zero_point is not None and dtype is not None and dtype is not named:
            raise SpecViolation(f"output_dtype is {named} and y_zero_point is {dtype}, they must be equal", "GI211")
        dtype = named
    _check_scale(op, x, scale, "y_scale")
    _check_zero_point(op, scale, zero_point, "the dims of y_scale and y_zero_point")
    return [SymbolicTensor(dtype, x.shape)]


@rules.rule("DequantizeLinear", since=10)
def dequantize_linear(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html

    Before version 19 the result is float32. From version 19 on it has the element type of the scale, unless attribute
    output_dtype, which version 23 adds, is set. Version 13 adds `axis`; version 21 adds blocks.
    """
    x, scale, zero_point = op.tensor(0), op.tensor(1), op.optional_tensor(2)
    if zero_point is not None and None not in (x.dtype, zero_point.dtype) and x.dtype is not zero_point.dtype:
        raise SpecViolation(
            f"x is {x.dtype} and x_zero_point is {zero_point.dtype}, they must have the same element type", "GI211"
        )
    wanted = op.attr("output_dtype", 0)
    if wanted != 0:
        dtype: DType | None = dtype_of(wanted, "output_dtype")
    else:
        dtype = scale.dtype if op.version >= 19 else DType.FLOAT32
    _check_scale(op, x, scale, "x_scale")
    _check_zero_point(op, scale, zero_point, "the dims of x_scale and x_zero_point")
    return [SymbolicTensor(dtype, x.shape)]


def _check_zero_point(op: OpCall, scale: SymbolicTensor, zero_point: SymbolicTensor | None, names: str) -> None:
    """Require that `scale` and `zero_point` have equal shapes or, if their ranks differ, one element each."""
    if zero_point is None or scale.shape is None or zero_point.shape is None:
        return
    if len(scale.shape) == len(zero_point.shape):
        for one, other in zip(scale.shape, zero_point.shape, strict=True):
            op.require_equal(one, other, names)
    else:
        for dim in (*scale.shape, *zero_point.shape):
            op.add_runtime_constraint((dim, "==", 1))


def _check_scale(op: OpCall, x: SymbolicTensor, scale: SymbolicTensor, name: str) -> None:
    """Require that `scale` has one element, one per position along attribute axis of `x`, or one per block.

    Raises SpecViolation when `scale`, axis or block_size does not fit the shape of `x`.
    """
    if x.shape is None or scale.shape is None or all(known_eq(d, 1, op.scope) is True for d in scale.shape):
        return
    rank, axis = len(x.shape), op.attr("axis", 1)
    block = op.attr("block_size", 0)
    blocked = block != 0
    wanted_rank = rank if blocked else 1
    if len(scale.shape) != wanted_rank:
        what = "one of the rank of the input" if blocked else "1-D"
        raise SpecViolation(f"{name} must be a scalar or {what}, is {format_shape(scale.shape)}", "GI305")
    if rank == 1 and not blocked and axis not in (-1, 0):
        op.add_unchecked(f"onnxruntime finds no axis {axis} in a vector, for {name} of more than one element")
        return  # the default axis is invalid for a vector, but not needed
    normalized = normalize_axis(axis, rank, of="input")
    if not blocked:
        op.require(
            (scale.shape[0], "==", 1),
            (scale.shape[0], "==", x.shape[axis]),
            otherwise=f"the length of {name} and the dim at axis {axis} must be equal, are {scale.shape[0]} and "
            f"{x.shape[axis]}",
            code="GI212",
        )
        return
    if block < 0:
        raise SpecViolation(f"block_size = {block}, it must be positive", "GI210")
    for position, (dim, blocks) in enumerate(zip(x.shape, scale.shape, strict=True)):
        wanted = ceildiv(dim, block, op.scope) if position == normalized else dim
        op.require_equal(blocks, wanted, f"dim {position} of {name} and of the input's blocks")


@rules.rule("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html

    x -> y uint8, shape of x; y_scale float32, a scalar; y_zero_point uint8, a scalar
    """
    x = op.tensor(0)
    outputs = [SymbolicTensor(DType.UINT8, x.shape), SymbolicTensor(DType.FLOAT32, ()), SymbolicTensor(DType.UINT8, ())]
    return outputs[: len(op.outputs)]
