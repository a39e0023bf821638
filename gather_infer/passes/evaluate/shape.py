"""Evaluators of Shape, Size, ConstantOfShape and EyeLike, whose results depend on a shape."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant, bits_dtype, read_inline
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.input_checks import fits_initializer, sizes

evaluators = EvaluatorSet("")

_ONE: dict[int, int] = {
    # element types of EyeLike: the bits of 1
    TensorProto.FLOAT: 0x3F800000, TensorProto.DOUBLE: 0x3FF << 52, TensorProto.FLOAT16: 0x3C00,
    TensorProto.BFLOAT16: 0x3F80, TensorProto.BOOL: 1, TensorProto.INT8: 1, TensorProto.INT16: 1,
    TensorProto.INT32: 1, TensorProto.INT64: 1, TensorProto.UINT8: 1, TensorProto.UINT16: 1, TensorProto.UINT32: 1,
    TensorProto.UINT64: 1,
}  # fmt: skip


@evaluators.evaluates("Shape")
def _shape_1(call: Evaluation) -> list[Constant]:
    """Shape before version 15: all dims of the input. https://onnx.ai/onnx/operators/onnx__Shape.html"""
    return [_int64(call.input(0).shape)]


@evaluators.evaluates("Shape", since=15)
def _shape(call: Evaluation) -> list[Constant]:
    """Shape from version 15 on: the dims from `start` to `end`; both may be negative, and are clamped to [0, r]."""
    shape = call.input(0).shape
    return [_int64(shape[call.integer("start") : call.typed_attr("end", int)])]


@evaluators.evaluates("Size")
def _size(call: Evaluation) -> list[Constant]:
    """Size: the number of elements of the input. https://onnx.ai/onnx/operators/onnx__Size.html"""
    return [_int64(call.input(0).bits.size)]


def _int64(numbers: object) -> Constant:
    return Constant(TensorProto.INT64, np.array(numbers, dtype="<i8").view("<u8"))


@evaluators.evaluates("ConstantOfShape", since=9)
def _constant_of_shape(call: Evaluation) -> list[Constant] | None:
    """ConstantOfShape: a tensor of the shape in input 0, filled with `value`; 0.0 if the attribute is absent.

    Raises SpecViolation if an element of the shape is negative, or `value` does not have one element.
    https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html
    """
    shape, given = sizes(call.input(0), "the input"), call.typed_attr("value", TensorProto)
    fill = _FLOAT_ZERO if given is None else read_inline(given)
    if shape is None or fill is None:
        return None
    if fill.bits.size != 1:
        raise SpecViolation(f"value must have one element, has shape {list(fill.shape)}")
    if not fits_initializer(fill.data_type, shape):
        return None
    return [Constant(fill.data_type, np.broadcast_to(fill.bits.reshape(()), shape))]


_FLOAT_ZERO = Constant(TensorProto.FLOAT, np.zeros(1, "<u4"))


@evaluators.evaluates("EyeLike", since=9)
def _eye_like(call: Evaluation) -> list[Constant] | None:
    """EyeLike: a matrix with the dims of the input, 1 on diagonal `k` and 0 elsewhere.

    Raises SpecViolation if the rank of the input is not 2.
    https://onnx.ai/onnx/operators/onnx__EyeLike.html
    """
    data = call.input(0)
    data_type = call.integer("dtype", data.data_type)
    if data.bits.ndim != 2:
        raise SpecViolation(f"the input must have rank 2, has rank {data.bits.ndim}: {list(data.shape)}", "GI305")
    one, dtype = _ONE.get(data_type), bits_dtype(data_type)
    if one is None or dtype is None or not fits_initializer(data_type, data.shape):
        return None
    rows, columns = data.shape
    k = min(max(call.integer("k", 0), -rows), columns)
    bits = np.zeros(data.shape, dtype)
    row = np.arange(max(0, -k), min(rows, columns - k))
    bits[row, row + k] = one
    return [Constant(data_type, bits)]
