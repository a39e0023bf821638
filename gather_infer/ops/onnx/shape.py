"""Rules of Shape, Size, Constant, ConstantOfShape, EyeLike and Identity."""

from __future__ import annotations

import math

import numpy as np

from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.operands import (
    element_dim,
    element_type,
    elements_of_vector,
    static_shape,
    tracked_values,
    vector,
)
from gather_infer.ops.semantics.preconditions import require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import product
from gather_infer.tensor import (
    DType,
    Shape,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    format_shape,
    from_values,
    holds_values,
    make_values,
)

rules = RuleSet("")

_ADDRESSES = 1 << 62
"""A number of elements that no runtime can allocate; a size this large results from integer overflow."""


@rules.rule("Shape", since=1, outputs_dims=True)
def onnx_shape(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Shape.html

    data [d0, ..., dr-1] -> the vector of d0, ..., dr-1, int64
    """
    return [shape_of(op, op.tensor(0))]


@rules.rule("Shape", since=15, outputs_dims=True)
def onnx_shape_15(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Shape.html (version 15 adds start and end)"""
    return [shape_of(op, op.tensor(0), start=op.attr("start", 0), end=op.attr("end"))]


def shape_of(op: OpCall, data: SymbolicTensor, *, start: int = 0, end: int | None = None) -> SymbolicTensor:
    """The dims of `data` at the axes from `start` to `end - 1`, as a 1-D tensor.

    data        [d0, ..., dr-1]
    start, end  positions, clamped to [0, r]; a negative one counts from the end. An `end` of None means r
    result      [max(0, end - start)], int64
    """
    if data.shape is None:
        return SymbolicTensor(DType.INT64, (op.fresh("the rank of the input is not known"),), None, ValueRange(0, None))
    dims = data.shape[start:end]  # slicing clamps as the operator does
    return from_values(DType.INT64, vector(dims))


@rules.rule("Size", since=1, outputs_dims=True)
def onnx_size(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Size.html

    data [d0, ..., dr-1] -> d0 * ... * dr-1, an int64 scalar
    """
    data = op.tensor(0)
    size = op.fresh("the rank of the input is not known") if data.shape is None else product(data.shape)
    return [from_values(DType.INT64, make_values(size))]


@rules.rule("Constant", since=1)
def onnx_constant(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Constant.html (version 11 adds sparse_value, 12 adds numbers and strings)

    Raises SpecViolation unless exactly one attribute holds the value.
    """
    names = [name for name in _CONSTANTS if op.attr(name) is not None]
    if len(names) != 1:
        found = " and ".join(names) or "none"
        raise SpecViolation(f"exactly one attribute must give the value, found {found}", "GI106")
    return [constant(names[0], op.attr(names[0]))]


_CONSTANTS = {
    "value": None,
    "sparse_value": None,
    "value_float": DType.FLOAT32,
    "value_floats": DType.FLOAT32,
    "value_int": DType.INT64,
    "value_ints": DType.INT64,
    "value_string": DType.STRING,
    "value_strings": DType.STRING,
}


def constant(name: str, value: object) -> SymbolicTensor:
    """The tensor of a Constant whose attribute `name` has the value `value`; a sparse value becomes a dense tensor."""
    match value:
        case SymbolicTensor():
            return value
        case SparseTensor():
            return SymbolicTensor(value.dtype, value.shape)
    dtype = _CONSTANTS[name]
    assert dtype is not None, "a number or a string has an element type"
    values = make_values(value)
    return SymbolicTensor(dtype, values.shape) if dtype is DType.STRING else from_values(dtype, values)


@rules.rule("ConstantOfShape", since=9, operands={0: "sizes >= 0"}, dims=(0,))
def onnx_constant_of_shape(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html

    input [r] -> a tensor with the elements of input as dims, filled with attribute value
    """
    shape = op.tensor(0)
    if shape.dtype not in (None, DType.INT64):
        raise SpecViolation(f"the input must be int64, is {shape.dtype}", "GI211")
    return [constant_of_shape(op, shape, op.attr("value"))]


def constant_of_shape(op: OpCall, shape: SymbolicTensor, value: SymbolicTensor | None) -> SymbolicTensor:
    """A tensor with the elements of `shape` as dims, in which every element is `value`.

    shape   [r], int64, every element >= 0
    value   a tensor with one element; None means 0 of type float32
    result  [shape[0], ..., shape[r-1]]

    Raises SpecViolation when an element of `shape` is negative, or `value` does not have one element.
    """
    fill = SymbolicTensor(DType.FLOAT32, (1,), make_values([0.0])) if value is None else value
    if fill.shape is not None and product(fill.shape) != 1:
        raise SpecViolation(f"value must have one element, has shape {format_shape(fill.shape)}")
    elements = elements_of_vector(op, shape, "the input")
    if elements is None:
        return SymbolicTensor(fill.dtype, value_range=_fill_range(fill))
    dims = tuple(element_dim(op, e, f"element {i} of the input") for i, e in enumerate(elements))
    static = static_shape(dims)
    if static is not None and math.prod(static) >= _ADDRESSES:
        message = f"a tensor has fewer than 2^62 elements, {format_shape(dims)} has {math.prod(static)}"
        op.report("GI210", message, "onnxruntime computes its shape all the same", severity=Severity.WARNING)
        op.add_unchecked(message)
    return _filled(fill, dims)


def _filled(fill: SymbolicTensor, dims: Shape) -> SymbolicTensor:
    span = _fill_range(fill)
    static = static_shape(dims)
    if static is None or fill.values is None or not holds_values(static):
        return SymbolicTensor(fill.dtype, dims, value_range=span)
    values = tracked_values(np.full(static, fill.values.flat[0], dtype=object), dims)
    return SymbolicTensor(fill.dtype, dims, values, span)


def _fill_range(fill: SymbolicTensor) -> ValueRange | None:
    if fill.values is None or fill.dtype is None or not fill.dtype.is_integer:
        return fill.value_range
    only = fill.values.flat[0]
    return fill.value_range if only is None else ValueRange(only, only)


@rules.rule("Identity", since=1, moves=0, permutes=True)
def onnx_identity(op: OpCall) -> list[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__Identity.html (version 14 adds sequences, 16 adds optionals)"""
    if not op.has(0):
        raise SpecViolation("input 0 is missing", "GI107")
    return [op.value(0)]


@rules.rule("EyeLike", since=9)
def onnx_eye_like(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__EyeLike.html

    input [rows, columns] -> [rows, columns], of attribute dtype or else the type of input
    """
    data, number = op.tensor(0), op.attr("dtype")
    dtype = data.dtype if number is None else element_type(number)
    return [eye_like(op, data, dtype, k=op.attr("k", 0))]


def eye_like(op: OpCall, data: SymbolicTensor, dtype: DType | None, *, k: int = 0) -> SymbolicTensor:
    """Ones on diagonal `k` and zeros elsewhere, in the shape of `data`.

    data    [rows, columns]
    result  [rows, columns]

    Raises SpecViolation when the rank of `data` is not 2.
    """
    shape = require_rank(data.shape, 2, "the input")
    span = ValueRange(0, 1) if dtype is not None and dtype.is_integer else None
    if shape is None:
        shape = (op.fresh("the input has no known rank"), op.fresh("the input has no known rank"))
    static = static_shape(shape)
    if static is None or not holds_values(static) or dtype is None:
        return SymbolicTensor(dtype, shape, value_range=span)
    kind = bool if dtype is DType.BOOL else float if dtype.is_float else int
    rows, columns = static
    k = min(max(k, -rows), columns)
    ones = [[kind(column - row == k) for column in range(columns)] for row in range(rows)]
    return SymbolicTensor(dtype, shape, make_values([e for row in ones for e in row], static), span)
