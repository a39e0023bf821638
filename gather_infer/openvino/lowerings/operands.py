"""Inputs that hold axes, shapes or counts, of any integer type, as scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.tensor import DType

Length: TypeAlias = "int | str"
"""A number, or the name of a vector of one int64."""


def as_int64(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """An input cast to int64."""
    return g.cast(op.x(index), op.dtype(index), DType.INT64)


def vector(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """An integer input as a vector of int64; a constant when its elements are known."""
    known = op.ints(index)
    if known is not None:
        return g.i64(*known)
    x = as_int64(op, g, index)
    return x if op.has_rank(index) and op.rank(index) == 1 else g.as_vector(x)


def scalar(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """A single integer input as a scalar of int64."""
    known = op.ints(index)
    if known is not None and len(known) == 1:
        return g.scalar(known[0], DType.INT64)
    x = as_int64(op, g, index)
    return x if op.has_rank(index) and op.rank(index) == 0 else g.as_scalar(x)


def single(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """An input of one element as a scalar of its own type."""
    x = op.x(index)
    return x if op.has_rank(index) and op.rank(index) == 0 else g.as_scalar(x)


def known_axis(op: LayerView, index: int) -> int:
    """The axis of the first input that another input gives, normalized to >= 0 where the rank is known.

    Raises LoweringRefused when it is unknown, and SpecViolation out of range.
    """
    (axis,) = op.known_ints(index, count=1)
    return op.axis(axis, op.rank(0)) if op.has_rank(0) else axis


def iota(g: FunctionBuilder, length: str) -> str:
    """Iota: 0, 1, ..., length - 1 as int64.

    length   a vector of one int64
    """
    return g.Range(g.scalar(0, DType.INT64), g.as_scalar(length), g.scalar(1, DType.INT64))


def lengths(op: LayerView, g: FunctionBuilder, index: int, count: int) -> list[Length]:
    """The elements of an input that is a vector of `count` integers, one by one. Raises SpecViolation."""
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
    """a / b, where b divides a or both are non-negative: rounded down."""
    return a if b == 1 else _made(g, int.__floordiv__, g.Div, a, b)


def _made(
    g: FunctionBuilder, count: Callable[[int, int], int], node: Callable[..., str], a: Length, b: Length
) -> Length:
    if isinstance(a, int) and isinstance(b, int):
        return count(a, b)
    return node(*(g.i64(size) if isinstance(size, int) else size for size in (a, b)))
