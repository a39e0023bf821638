"""Elementwise operators: alignment of operands, element types, propagation of elements and value ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.elements import Element
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.rules import OpCall
from gather_infer.symbolic import DimTooLarge, Scope, known_eq
from gather_infer.tensor import INTEGER_RANGE, DType, Shape, SymbolicTensor, ValueRange, format_shape, holds_values
from gather_infer.value_ranges import needs_range

Values: TypeAlias = "npt.NDArray[np.object_]"
UnaryElement: TypeAlias = Callable[[OpCall, DType, Element], Element]
BinaryElement: TypeAlias = Callable[[OpCall, DType, Element, Element], Element]
UnaryRange: TypeAlias = Callable[[ValueRange, Scope], ValueRange]
BinaryRange: TypeAlias = Callable[[ValueRange, ValueRange, Scope], ValueRange]


def apply(function: Callable[..., Any], *arrays: Values) -> Values | None:
    """The results of `function` on the broadcast elements of `arrays`, as an object array.

    None when the array is too large to track or no result is known. A call that raises DimTooLarge gives an unknown
    result.
    """
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    if not holds_values(shape):
        return None
    out = np.empty(shape, dtype=object)
    known = out.size == 0
    flat = out.reshape(-1)
    operands = [np.broadcast_to(array, shape).flat for array in arrays]
    for position, elements in enumerate(zip(*operands, strict=True)):
        try:
            flat[position] = element = function(*elements)
        except DimTooLarge:
            continue
        known = known or element is not None
    return out if known else None


def tensor_of(
    dtype: DType | None, shape: Shape | None, values: Values | None, value_range: ValueRange | None
) -> SymbolicTensor:
    """A result tensor of the given facts.

    Known elements, `values`, determine its shape. If no element is unknown, the value range is dropped.
    """
    if values is None:
        return SymbolicTensor(dtype, shape, None, value_range)
    return SymbolicTensor(dtype, values.shape, values, value_range if None in values.reshape(-1).tolist() else None)


def same_dtype(a: SymbolicTensor, b: SymbolicTensor, names: tuple[str, str] = ("A", "B")) -> DType | None:
    """The element type that `a` and `b` must share; None when both element types are unknown.

    names   the names of both operands for the message

    Raises SpecViolation (GI211) when the element types differ.
    """
    if a.dtype is b.dtype or b.dtype is None:
        return a.dtype
    if a.dtype is None:
        return b.dtype
    first, second = names
    raise SpecViolation(
        f"{first} is {a.dtype} and {second} is {b.dtype}, they must have the same element type", "GI211"
    )


def require_dtype(tensor: SymbolicTensor, name: str, allowed: Sequence[DType] | frozenset[DType], what: str) -> None:
    """Raise SpecViolation (GI211) when the element type of `tensor` is known and not in `allowed`.

    name, what   describe the tensor and the allowed types in the message
    """
    if tensor.dtype is not None and tensor.dtype not in allowed:
        raise SpecViolation(f"{name} must be {what}, is {tensor.dtype}", "GI211")


def operands(op: OpCall, a: SymbolicTensor, b: SymbolicTensor) -> tuple[SymbolicTensor, Shape | None]:
    """Operand `b`, possibly reshaped, and the shape of the result by the broadcasting rules of the operator's version.

    from version 7    multidirectional: https://github.com/onnx/onnx/blob/main/docs/Broadcasting.md
    versions 1 and 6  attributes `broadcast` and `axis`; `b` gets the trailing dims of 1 that align it with `a`

    The shape is None when it is unknown.
    """
    if op.version >= 7:
        return b, _broadcast(op, a.shape, b.shape)
    if op.attr("broadcast", 0) == 0:
        return b, same_shape(op, a.shape, b.shape)
    b = _aligned(op, a, b)
    return b, unidirectional(op, a.shape, b.shape, "B", "A")


def _broadcast(op: OpCall, a: Shape | None, b: Shape | None) -> Shape | None:
    """As `broadcast`, with a fast path where the shapes are equal, one is a suffix of the other, or one is all ones."""
    if a is None or b is None:
        return None
    if a == b:
        return a
    long, short = (a, b) if len(a) >= len(b) else (b, a)
    if long[len(long) - len(short) :] == short or all(dim == 1 for dim in short):
        return long
    return broadcast(op, a, b)


def _aligned(op: OpCall, a: SymbolicTensor, b: SymbolicTensor) -> SymbolicTensor:
    """`b` with trailing dims of 1, so that its first dim is at axis `axis` of `a`; unchanged without attribute `axis`.

    Raises SpecViolation when `axis` is out of range (GI304) or `b` has too many dims from there on (GI212).
    Spec: https://onnx.ai/onnx/operators/onnx__Add.html (1 and 6)
    """
    axis = op.attr("axis")
    if a.shape is None or b.shape is None or axis is None:
        return b
    if all(known_eq(dim, 1, op.scope) is True for dim in b.shape):
        return b  # a single element broadcasts to any shape
    rank = len(a.shape)
    trailing = rank - normalize_axis(axis, rank, of="A") - len(b.shape)
    if trailing < 0:
        raise SpecViolation(
            f"B {format_shape(b.shape)} does not fit in A {format_shape(a.shape)} from axis {axis} on", "GI212"
        )
    shape = (*b.shape, *(1,) * trailing)
    values = None if b.values is None else b.values.reshape(b.values.shape + (1,) * trailing)
    return b.with_(shape=shape, values=values)


def same_shape(op: OpCall, a: Shape | None, b: Shape | None) -> Shape | None:
    """The shape of two operands whose dims must all be equal; None when both shapes are unknown.

    Raises SpecViolation (GI212) when the ranks differ or two dims can never be equal.
    """
    if a is None or b is None:
        return b if a is None else a
    if a == b:
        return a
    if len(a) != len(b):
        raise SpecViolation(f"shapes must be equal, are {format_shape(a)} and {format_shape(b)}", "GI212")
    return tuple(op.require_equal(x, y, f"dims {axis}") for axis, (x, y) in enumerate(zip(a, b, strict=True)))


def unidirectional(op: OpCall, shape: Shape | None, other: Shape | None, other_name: str, name: str) -> Shape | None:
    """Return `shape` after requiring that `other` broadcasts to `shape` without extending it.

    name, other_name   the names of both operands for the message

    Raises SpecViolation (GI212) when `other` can never broadcast to `shape`.
    """
    if shape is None or other is None:
        return shape
    if len(other) > len(shape):
        raise SpecViolation(
            f"{other_name} {format_shape(other)} does not broadcast to {name} {format_shape(shape)}", "GI212"
        )
    for dim, wanted in zip(reversed(other), reversed(shape), strict=False):
        op.require(
            (dim, "==", 1),
            (dim, "==", wanted),
            otherwise=f"{other_name} {format_shape(other)} does not broadcast to {name} {format_shape(shape)}: "
            f"dim {dim} must be 1 or {wanted}",
            code="GI212",
        )
    return shape


def unary(op: OpCall, element: UnaryElement | None, value_range: UnaryRange | None = None) -> list[SymbolicTensor]:
    """The output, in a list, of a unary operator that keeps shape and element type.

    element      computes an element of the output from an element of X; None leaves elements unknown
    value_range  computes the value range of an integer output from the one of X; None leaves it unknown
    """
    x = op.tensor(0)
    dtype = x.dtype
    if dtype is None or (x.values is None and dtype not in INTEGER_RANGE):
        return [SymbolicTensor(dtype, x.shape)]
    values = None
    if x.values is not None and element is not None:
        function = element
        values = apply(lambda e: function(op, dtype, e), x.values)
    bounds = None
    if value_range is not None and dtype in INTEGER_RANGE and needs_range(values):
        bounds = value_ranges.fit(op, value_range(value_ranges.range_of(x, op.scope), op.scope), dtype)
    return [tensor_of(dtype, x.shape, values, bounds)]


def binary(
    op: OpCall,
    element: BinaryElement | None,
    value_range: BinaryRange | None = None,
    *,
    names: tuple[str, str] = ("A", "B"),
) -> list[SymbolicTensor]:
    """The output, in a list, of a binary operator on two operands of one element type.

    element      computes an element of the output from an element of each operand; None leaves elements unknown
    value_range  computes the value range of an integer output from those of the operands; None leaves it unknown
    names        the names of the operands for messages
    """
    a, b = op.tensor(0), op.tensor(1)
    dtype = same_dtype(a, b, names)
    b, shape = operands(op, a, b)
    is_integer = dtype in INTEGER_RANGE
    if dtype is None or (not is_integer and (a.values is None or b.values is None)):
        return [SymbolicTensor(dtype, shape)]
    values = None
    if a.values is not None and b.values is not None and element is not None:
        function = element
        values = apply(lambda x, y: function(op, dtype, x, y), a.values, b.values)
    bounds = None
    if value_range is not None and is_integer and needs_range(values):
        scope = op.scope
        bounds = value_ranges.fit(
            op, value_range(value_ranges.range_of(a, scope), value_ranges.range_of(b, scope), scope), dtype
        )
    return [tensor_of(dtype, shape, values, bounds)]
