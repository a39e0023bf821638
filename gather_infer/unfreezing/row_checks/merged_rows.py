"""Results of all rows in one axis, such as the boxes that a detector finds in each image, compared row by row.

How many there are depends on elements, so the axis does not tell where a row begins. A run on copies of one row does:
the results are as many equal parts. Integers may have the number of the row added, times a stride: the image of a box,
or an index into merged rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gather_infer.verification.output_comparison import ValueDifference, difference
from gather_infer.verification.tolerance import Tolerance

Array = np.ndarray[Any, Any]


class Part(NamedTuple):
    """The results of one row, as row 0 has them, and what each further row adds; None if that is not known."""

    values: Array
    stride: Array | None


def part_of(value: Any, axis: int, copies: int, tolerance: Tolerance) -> Part | None:
    """The results of one row, of a run on copies of it; None if they are not as many equal parts."""
    if not isinstance(value, np.ndarray) or value.shape[axis] % copies:
        return None
    parts = np.split(value, copies, axis)
    if copies == 1:
        return Part(value, None if value.dtype.kind in "iu" else np.zeros((), value.dtype))
    if value.dtype.kind not in "iu":
        if any(difference(parts[0], part, tolerance) is not None for part in parts[1:]):
            return None
        return Part(parts[0], np.zeros((), value.dtype))
    steps = [part.astype(np.int64) - parts[0].astype(np.int64) for part in parts[1:]]
    stride = np.take(steps[0], [0], axis) if steps[0].shape[axis] else None
    if stride is not None and any(not (step == stride * (at + 1)).all() for at, step in enumerate(steps)):
        return None
    return Part(parts[0], stride)


def merged_difference(found: Any, parts: Sequence[Part], axis: int, tolerance: Tolerance) -> ValueDifference | None:
    """How a result differs from the parts of its rows, one after the other; None if it does not."""
    values = [part.values for part in parts]
    if isinstance(found, np.ndarray) and found.dtype.kind in "iu" and found.shape == np.concatenate(values, axis).shape:
        stride = next((part.stride for part in parts if part.stride is not None), None)
        if stride is None:
            stride = _stride(found, values, axis)
        if stride is not None:
            values = [(each + stride * row).astype(found.dtype) for row, each in enumerate(values)]
    return difference(np.concatenate(values, axis), found, tolerance)


def _stride(found: Array, values: Sequence[Array], axis: int) -> Array | None:
    """The stride that the first result of a row after row 0 tells; None if no such row has results."""
    start = 0
    for row, each in enumerate(values):
        if row and each.shape[axis]:
            beyond = np.take(found, [start], axis).astype(np.int64) - np.take(each, [0], axis).astype(np.int64)
            return beyond // row
        start += each.shape[axis]
    return None
