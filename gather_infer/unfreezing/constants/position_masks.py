"""Masks over two positions, such as that of causal attention, or that of a window of the last 256 positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gather_infer.symbolic import Dim
from gather_infer.unfreezing.constants.tables import values_tell

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]
_FIRST_WITH_LESS_OR_EQUAL: Final = 12


def steps_of(array: Array, axes: tuple[int, int]) -> list[Array] | None:
    """The elements for each `j - i`, the smallest first; None if they depend on more than that.

    An entry has the elements of the other axes.
    """
    rows, columns = array.shape[axes[0]], array.shape[axes[1]]
    square = np.moveaxis(array, axes, (0, 1)).reshape(rows, columns, -1)
    found = []
    for step in range(1 - rows, columns):
        diagonal = [square[i, i + step] for i in range(max(0, -step), min(rows, columns - step))]
        if any(not np.array_equal(diagonal[0], each) for each in diagonal[1:]):
            return None
        found.append(diagonal[0])
    return found


def position_mask(walk: UnfreezingWalk, array: Array, dims: Mapping[int, Dim]) -> str | None:
    """A mask that has one value where `j - i` is small, and another one where it is large; or between two limits.

    dims   the sizes of the two axes; along the others the mask is the same
    """
    low, high = sorted(dims)
    if array.shape[low] < 2 or array.shape[high] < 2:
        return None
    first = array[tuple(slice(None) if at in dims else slice(1) for at in range(array.ndim))]
    steps = steps_of(first, (low, high))
    if steps is None or not np.array_equal(array, np.broadcast_to(first, array.shape)):
        return None
    values = [each[0] for each in steps]
    changes = [at for at in range(1, len(values)) if values[at] != values[at - 1]]
    if len(changes) not in (1, 2) or (len(changes) == 2 and values[0] != values[-1]):
        return None
    if array.dtype.kind in "iuf" and any(values_tell(np.stack(values), array.shape[at]) for at in (low, high)):
        return None
    row, column = _numbers(walk, array.ndim, low, dims[low]), _numbers(walk, array.ndim, high, dims[high])
    limits = [at - (array.shape[low] - 1) for at in changes]
    is_first = _is_less(walk, column, row, limits[0])
    if len(limits) == 2:
        is_first = walk.emit("Or", [is_first, walk.emit("Not", [_is_less(walk, column, row, limits[1])])])
    other = values[changes[0]]
    if array.dtype == np.bool_:
        return is_first if values[0] else walk.emit("Not", [is_first])
    return walk.emit("Where", [is_first, walk.constant(values[0].reshape(())), walk.constant(other.reshape(()))])


def _numbers(walk: UnfreezingWalk, rank: int, axis: int, dim: Dim) -> str:
    """The numbers of positions along an axis; the last one needs no axes before it."""
    if axis == rank - 1:
        rank, axis = 1, 0
    return walk.rows.numbered(np.zeros([1] * rank, np.int64), np.ones([1] * rank, np.int64), axis, dim)


def _is_less(walk: UnfreezingWalk, column: str, row: str, limit: int) -> str:
    """Where `column - row < limit`."""
    if limit == 0:
        return walk.emit("Less", [column, row])
    if limit == 1 and walk.opset >= _FIRST_WITH_LESS_OR_EQUAL:
        return walk.emit("LessOrEqual", [column, row])
    return walk.emit("Less", [walk.emit("Sub", [column, row]), walk.constant(np.array(limit, np.int64))])
