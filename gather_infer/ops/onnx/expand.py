"""Rules of Expand, Tile and Range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.elements import is_representable, round_float
from gather_infer.ops.semantics.operands import (
    Values,
    all_ints,
    element_dim,
    elements_of,
    elements_of_vector,
    moved,
    static_shape,
)
from gather_infer.ops.semantics.preconditions import known_value, normalize_axis, require_same_dtype
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, ceildiv, known_le, maximum
from gather_infer.tensor import (
    MAX_VALUES,
    DType,
    SymbolicTensor,
    ValueRange,
    format_shape,
    from_values,
    holds_values,
    make_values,
)
from gather_infer.value_ranges import explicit_range

rules = RuleSet("")


@rules.rule("Expand", since=8, moves=0, operands={1: "sizes with which the data broadcasts"}, dims=(1,))
def onnx_expand(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Expand.html

    input, shape -> input broadcast together with the shape given by the elements of shape
    """
    return [expand(op, op.tensor(0), elements_of(op.tensor(1), "shape"))]


def expand(op: OpCall, data: SymbolicTensor, target: Sequence[Dim | None] | None) -> SymbolicTensor:
    """`data` broadcast together with shape `target`; dims of 1 of either shape are expanded.

    data    [d0, ..., dr-1]
    target  [t0, ..., tm-1], None for an unknown dim; `target` is None when m is unknown
    result  broadcast([d0, ..., dr-1], target), rank max(r, m)

    Raises SpecViolation when an entry of `target` is negative, or the shapes do not broadcast (GI212).
    """
    if target is None or data.shape is None:
        return moved(op, data, None)
    wanted = tuple(element_dim(op, e, f"entry {i} of shape") for i, e in enumerate(target))
    shape = broadcast(op, data.shape, wanted)
    static = static_shape(shape)
    if data.values is None or static is None or not holds_values(static):
        return moved(op, data, shape)
    return moved(op, data, shape, np.broadcast_to(data.values, static).copy())


@rules.rule("Tile", since=1, moves=0, operands={1: "a count >= 0", 2: "an axis"}, dims=(1,))
def onnx_tile_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Tile.html (version 1: inputs tiles, a repeat count, and axis)"""
    data = op.tensor(0)
    axis = known_value(op.tensor(2))
    if data.shape is None:
        return [moved(op, data, None)]
    rank = len(data.shape)
    if axis is None or isinstance(axis, Expr):
        return [moved(op, data, tuple(op.fresh("the axis is not known") for _ in range(rank)))]
    repeats: list[Dim | None] = [1] * rank
    repeats[normalize_axis(axis, rank)] = known_value(op.tensor(1))
    return [tile(op, data, repeats)]


@rules.rule("Tile", since=6, moves=0, operands={1: "a count >= 0 per axis"}, dims=(1,))
def onnx_tile(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Tile.html (version 6: input repeats has a count for every axis)"""
    return [tile(op, op.tensor(0), elements_of_vector(op, op.tensor(1), "repeats"))]


def tile(op: OpCall, data: SymbolicTensor, repeats: Sequence[Dim | None] | None) -> SymbolicTensor:
    """`data` repeated along each axis.

    data     [d0, ..., dr-1]
    repeats  r counts >= 0, None for an unknown count; `repeats` is None when the number of counts is unknown
    result   [d0 * repeats[0], ..., dr-1 * repeats[r-1]]

    Raises SpecViolation when `repeats` does not have r elements, or has a negative one.
    """
    if repeats is None:
        rank = data.rank
        return moved(op, data, None if rank is None else tuple(op.fresh("repeats are not known") for _ in range(rank)))
    times = [element_dim(op, e, f"element {i} of repeats") for i, e in enumerate(repeats)]
    if data.shape is None:
        return moved(op, data, tuple(op.fresh("the rank of the input is not known") for _ in times))
    if len(times) != len(data.shape):
        raise SpecViolation(f"repeats must have {len(data.shape)} elements, one per axis of data, has {len(times)}")
    shape = tuple(dim * count for dim, count in zip(data.shape, times, strict=True))
    counts, static = all_ints(times), static_shape(shape)
    values: Values | None = None
    if data.values is not None and counts is not None and static is not None and holds_values(static):
        values = np.tile(data.values, counts)
    return moved(op, data, shape, values)


@rules.rule("Range", since=11, operands={2: "not 0"}, dims=(2,))
def onnx_range(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Range.html (version 27 adds float16, bfloat16 and stash_type)"""
    return [arange(op, op.tensor(0), op.tensor(1), op.tensor(2))]


def arange(op: OpCall, start: SymbolicTensor, limit: SymbolicTensor, delta: SymbolicTensor) -> SymbolicTensor:
    """The sequence `start`, `start + delta`, `start + 2*delta`, ... that ends before `limit`.

    start, limit, delta   scalars
    result                [max(0, ceil((limit - start) / delta))]

    Raises SpecViolation when an input does not have one element, the element types differ, or `delta` is 0.
    """
    inputs = {"start": start, "limit": limit, "delta": delta}
    for name, tensor in inputs.items():
        for dim in tensor.shape or ():
            message = f"{name} must be a scalar, has shape {format_shape(tensor.shape)}"
            op.require((dim, "==", 1), otherwise=message)
    dtype = require_same_dtype("start, limit and delta", start, limit, delta)
    if dtype is None:
        return SymbolicTensor(None, (op.fresh("the element type is not known"),))
    step = delta.only_element
    if isinstance(step, (int, float)) and step == 0:
        raise SpecViolation("delta must not be 0")
    if not dtype.is_integer:
        if any(scalar.only_element is None for scalar in (start, limit)):
            op.add_unchecked("start and limit have to be finite")
        return _float_range(op, dtype, start.only_element, limit.only_element, step)
    return _integer_range(op, dtype, start, limit, known_value(delta))


def _integer_range(
    op: OpCall, dtype: DType, start: SymbolicTensor, limit: SymbolicTensor, step: Dim | None
) -> SymbolicTensor:
    first, end = known_value(start), known_value(limit)
    span = None
    if step is not None:
        op.require((1, "<=", step), (step, "<=", -1), otherwise="delta must not be 0")
    is_forward = step is not None and known_le(1, step, op.scope) is True
    is_backward = step is not None and known_le(step, -1, op.scope) is True
    if is_forward or is_backward:
        low, high = (start, limit) if is_forward else (limit, start)
        lo, hi = _bound(op, low, "lo"), _bound(op, high, "hi")
        if is_forward:
            hi = None if hi is None else hi - 1
        else:
            lo = None if lo is None else lo + 1
        span = None if lo is None and hi is None else ValueRange(lo, hi)
    if first is None or end is None or step is None or not (is_forward or is_backward):
        return SymbolicTensor(dtype, (op.fresh("start, limit or delta is not known"),), None, span)
    count = maximum(0, ceildiv(end - first, step, op.scope), scope=op.scope)
    if not isinstance(count, int) or count > MAX_VALUES:
        return SymbolicTensor(dtype, (count,), None, span)
    elements = [first + i * step for i in range(count)]
    return from_values(dtype, make_values(elements)).with_(value_range=span if count else None)


def _bound(op: OpCall, scalar: SymbolicTensor, side: str) -> Dim | None:
    """The lower bound of `scalar` if `side` is "lo", else its upper bound; None when the bound is unknown."""
    value = known_value(scalar)
    if value is not None:
        return value
    span = explicit_range(scalar, op.scope)
    return None if span is None else span.lo if side == "lo" else span.hi


def _float_range(op: OpCall, dtype: DType, first: object, end: object, step: object) -> SymbolicTensor:
    """The result of Range for the float elements `first`, `end` and `step`; None for an unknown one.

    The length is inferred for constants. For integral `first` and `end`, of which one or both are symbolic, the length
    is inferred when `step` is 1 or -1 and `dtype` represents the difference exactly. Any other length depends on
    rounding and is a new symbol.
    """
    match _whole(first), _whole(end), _whole(step):
        case (Expr() as low, (int() | Expr()) as high, 1 | -1 as by) | (int() as low, Expr() as high, 1 | -1 as by):
            count = (high - low) * by
            if low == 0 or high == 0 or _is_representable(op, count, dtype):
                return SymbolicTensor(dtype, (maximum(0, count, scope=op.scope),))
    match first, end, step:
        case int() | float(), int() | float(), int() | float() if dtype in _NUMPY:
            # onnxruntime subtracts in the element type and divides in float64.
            kind = _NUMPY[dtype]
            with np.errstate(all="ignore"):
                length = float(kind(end) - kind(first)) / float(kind(step))
            if math.isfinite(length):
                return SymbolicTensor(dtype, (max(0, math.ceil(length)),))
        case int() | float(), int() | float(), int() | float() if all(math.isfinite(x) for x in (first, end, step)):
            # float16, bfloat16: the type of intermediate results is unspecified; difference and quotient must be exact.
            difference = Fraction(end) - Fraction(first)
            quotient = difference / Fraction(step)
            if all(round_float(float(exact), dtype) == exact for exact in (difference, quotient)):
                return SymbolicTensor(dtype, (max(0, math.ceil(quotient)),))
    return SymbolicTensor(dtype, (op.fresh("start, limit or delta is not known"),))


def _is_representable(op: OpCall, number: Dim, dtype: DType) -> bool:
    return (
        is_representable(op, number, dtype) if isinstance(number, Expr) else round_float(float(number), dtype) == number
    )


def _whole(element: object) -> object:
    """`element` converted to int if it is an integral float, else unchanged."""
    return int(element) if isinstance(element, float) and element.is_integer() else element


_NUMPY: dict[DType, type[np.float32] | type[np.float64]] = {DType.FLOAT32: np.float32, DType.FLOAT64: np.float64}
