"""Inputs that stand for numbers: axes, shapes, counts, in any integer type and as scalars or vectors."""

from __future__ import annotations

from gather_infer.openvino.lowerings.fragment import Fragment
from gather_infer.openvino.lowerings.layer import Layer
from gather_infer.tensor import DType


def as_int64(op: Layer, g: Fragment, index: int) -> str:
    """An input in int64."""
    return g.cast(op.x(index), op.dtype(index), DType.INT64)


def vector(op: Layer, g: Fragment, index: int) -> str:
    """An input of integers as a vector of int64; a constant when its elements are known."""
    known = op.ints(index)
    if known is not None:
        return g.i64(*known)
    x = as_int64(op, g, index)
    return x if op.has_rank(index) and op.rank(index) == 1 else g.as_vector(x)


def scalar(op: Layer, g: Fragment, index: int) -> str:
    """An input of one integer as a scalar of int64."""
    known = op.ints(index)
    if known is not None and len(known) == 1:
        return g.scalar(known[0], DType.INT64)
    x = as_int64(op, g, index)
    return x if op.has_rank(index) and op.rank(index) == 0 else g.as_scalar(x)


def single(op: Layer, g: Fragment, index: int) -> str:
    """An input of one element as a scalar of its own type."""
    x = op.x(index)
    return x if op.has_rank(index) and op.rank(index) == 0 else g.as_scalar(x)


def known_axis(op: Layer, index: int) -> int:
    """The axis of the first input that another one says, counted from the front where the rank is known.

    Raises LoweringRefused when it is not known, and SpecViolation out of range.
    """
    axis = op.known_ints(index)[0]
    return op.axis(axis, op.rank(0)) if op.has_rank(0) else axis


def counted(g: Fragment, length: str) -> str:
    """0, 1, ..., length - 1 as int64.

    length   a vector of one int64
    """
    return g.Range(g.scalar(0, DType.INT64), g.as_scalar(length), g.scalar(1, DType.INT64))
