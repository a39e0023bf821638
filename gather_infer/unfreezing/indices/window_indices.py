"""Indices of windows that slide over all of an axis: position `i * stride + j` of window `i`.

A table of such indices has as many rows as windows fit, `(size - width) // stride + 1`. The file does not tell whether
this number follows the size, or is one of the network and the stride follows. It follows where a value before has it
as its size, for any length, as the frames of which each gets a window of samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gather_infer.symbolic import Expr
from gather_infer.unfreezing.factors.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_FEWEST: Final = 3
"""Any two windows are some stride apart."""

Array = np.ndarray[Any, Any]


def sliding_index(walk: UnfreezingWalk, array: Array, dim: Expr) -> str | None:
    """A constant index of windows over an axis of `dim` positions, for any size; None if it may be another table."""
    if not dim.symbols.isdisjoint(walk.row_symbols):
        return None
    size = next(values_of([dim], walk.samples.old))
    found = []
    for axis in range(array.ndim):
        count, first = array.shape[axis], np.take(array, [0], axis)
        step = walk.rows.progression(array, axis)
        if size is None or step is None or not _is_window(first):
            continue
        stride, width = int(step.flat[0]), int(first.max()) + 1
        if stride < 1 or (step != stride).any() or count < _FEWEST:
            continue
        if stride == 1 and count <= first.size:
            continue  # as well as many windows as a few, shifted by one, for each of which all of the axis is read
        windows = (dim - width) // stride + 1
        if count == (size - width) // stride + 1 and windows in walk.sizes.held():
            found.append((first, step, axis, windows))
    if len(found) != 1:  # with as many windows as positions in each, either axis can be that of the windows
        return None
    return walk.rows.numbered(*found[0])


def _is_window(first: Array) -> bool:
    """Whether the positions of a window begin at 0, and are as far apart as a dilation is."""
    positions = first.ravel()
    dilation = positions[1] if positions.size > 1 else 1
    return bool(dilation >= 1 and np.array_equal(positions, np.arange(positions.size) * dilation))
