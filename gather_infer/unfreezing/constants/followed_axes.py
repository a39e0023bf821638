"""The axes of operands that hold the same elements as an axis of the result: if one follows a size, the other does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto


def places_in_product(a: Sequence[Any] | None, b: Sequence[Any] | None, from_end: int) -> list[tuple[int, int]]:
    """The operands of a MatMul that have an axis of the product, as pairs of a position and an axis."""
    if a is None or b is None or min(len(a), len(b)) < 2:
        return []
    if from_end <= 2:  # the last axis is that of the second operand
        return [(0, len(a) - 2)] if from_end == 2 else [(1, len(b) - 1)]
    places = [(at, len(shape) - from_end) for at, shape in enumerate((a, b))]
    return [(at, place) for at, place in places if place >= 0 and (a, b)[at][place] != 1]


def places_in_scatter(
    node: NodeProto, shape: Sequence[Any], indices: Sequence[Any] | None, axis: int
) -> list[tuple[int, int]]:
    """The operands of a ScatterElements or ScatterND that have an axis of the result, of this shape.

    Only the data have an addressed axis: the indices are positions in it. Along another one the updates have to cover
    the data, as the file does not tell which part of a longer axis they would cover.
    """
    if not indices:
        return []
    if node.op_type == "ScatterND":
        count = indices[-1]
        if not isinstance(count, int):
            return []
        return [(0, axis)] if axis < count else [(0, axis), (2, len(indices) - 1 + axis - count)]
    if next((a.i for a in node.attribute if a.name == "axis"), 0) % len(shape) == axis:
        return [(0, axis)]
    return [(0, axis), (1, axis), (2, axis)] if indices[axis] == shape[axis] else []


def same_place(shape: Sequence[int | None], other: Sequence[int | None], *, axis: int) -> int | None:
    """The axis of `shape` that holds the same elements as an axis of `other`, in the row-major order."""
    if None in shape or None in other:
        return None
    inner = int(np.prod(np.array(other[axis + 1 :], np.int64)))
    for at in range(len(shape)):
        if int(np.prod(np.array(shape[at + 1 :], np.int64))) == inner and shape[at] == other[axis]:
            return at
    return None
