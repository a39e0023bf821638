"""Integer inputs of a layer (axes, shapes, counts) as scalars or vectors of int64, and arithmetic on lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.tensor import DType

Length: TypeAlias = "int | str"
"""A length: a number, or the name of an int64 vector of one element."""


def as_int64(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Input `index` cast to int64."""
    return g.cast(op.x(index), op.dtype(index), DType.INT64)


def vector(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Integer input `index` as an int64 vector; a constant when its elements are known."""
    known = op.ints(index)
    if known is not None:
        return g.i64(*known)
    x = as_int64(op, g, index)
    return x if op.has_rank(index) and op.rank(index) == 1 else g.as_vector(x)


def scalar(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Input `index`, a single integer, as an int64 scalar; a constant when its value is known."""
    known = op.ints(index)
    if known is not None and len(known) == 1:
        return g.scalar(known[0], DType.INT64)
    x = as_int64(op, g, index)
    return x if op.has_rank(index) and op.rank(index) == 0 else g.as_scalar(x)


def single(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Input `index`, a tensor of one element, as a scalar of the same element type."""
    x = op.x(index)
    return x if op.has_rank(index) and op.rank(index) == 0 else g.as_scalar(x)


def known_axis(op: LayerView, index: int) -> int:
    """The axis of input 0 that input `index` holds, normalized to >= 0 where the rank of input 0 is known.

    Raises LoweringRefused when the axis is unknown, and SpecViolation when it is out of range or not a single number.
    """
    (axis,) = op.known_ints(index, count=1)
    return op.normalized_axis(axis, op.rank(0)) if op.has_rank(0) else axis


def iota(g: FunctionBuilder, length: str) -> str:
    """The int64 vector 0, 1, ..., length - 1.

    length   name of an int64 vector of one element
    """
    return g.Range(g.scalar(0, DType.INT64), g.as_scalar(length), g.scalar(1, DType.INT64))


def lengths(op: LayerView, g: FunctionBuilder, index: int, count: int) -> list[Length]:
    """The elements of input `index`, a vector of `count` integers, as one `Length` each.

    Raises SpecViolation when the elements are known and their number is not `count`.
    """
    known = op.ints(index, count=count)
    if known is not None:
        return list(known)
    x = vector(op, g, index)
    return [g.Slice(x, g.i64(i), g.i64(i + 1), g.i64(0)) for i in range(count)]


def plus(g: FunctionBuilder, a: Length, b: Length) -> Length:
    return a if b == 0 else b if a == 0 else _made(g, int.__add__, g.Add, a, b)


def times(g: FunctionBuilder, a: Length, b: Length) -> Length:
    return a if b == 1 else b if a == 1 else _made(g, int.__mul__, g.Mul, a, b)


def over(g: FunctionBuilder, a: Length, b: Length) -> Length:
    """The quotient a / b, rounded down; requires that b divides a, or that both are non-negative."""
    return a if b == 1 else _made(g, int.__floordiv__, g.Div, a, b)


def _made(
    g: FunctionBuilder, count: Callable[[int, int], int], node: Callable[..., str], a: Length, b: Length
) -> Length:
    if isinstance(a, int) and isinstance(b, int):
        return count(a, b)
    return node(*(g.i64(size) if isinstance(size, int) else size for size in (a, b)))
