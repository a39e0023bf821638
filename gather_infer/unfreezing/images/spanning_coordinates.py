"""Coordinates that span an axis of an image, such as `0, 1/15, 2/15, ... 1` and `-1, -13/15, ... 1`, at any size.

The file tells by the ends: they are -1, 0 or 1, and the step, a part of their distance, is no short number, as the
steps of a network are. So the axis has a position at both ends, whatever its size is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import helper

from gather_infer.symbolic import Dim, Expr
from gather_infer.unfreezing.constants.tables import are_short
from gather_infer.unfreezing.factors.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]

_ENDS: Final = (-1, 0, 1)
_FEWEST: Final = 5
_MANY: Final = 1 << 12
_TWO: Final = 2


def spanning_coordinates(walk: UnfreezingWalk, array: Array, axis: int, dim: Dim) -> str | None:
    """A table of the coordinates of an axis of an image, and of nothing else, for another size; None if it is none.

    None also if they may be parts of another size: if another one is equal, and the larger of two may count; and if an
    axis has two positions, of which 1 is the last one.
    """
    if not isinstance(dim, Expr) or not dim.symbols <= walk.image_symbols or array.size != array.shape[axis]:
        return None
    if array.dtype not in (np.float32, np.float64) or array.size < _FEWEST:
        return None
    mine = [walk.freed[name] for name in dim.symbols]
    others = [size for name, size in walk.freed.items() if name not in dim.symbols | walk.row_symbols]
    if set(mine) & set(others) or _TWO in values_of(walk.sizes.held(), walk.samples.old):
        return None
    table = array.ravel()
    begin, end = table[0], table[-1]
    step = (float(end) - float(begin)) / (table.size - 1)
    if begin == end or begin not in _ENDS or end not in _ENDS or _is_short(step):
        return None
    for dtype in dict.fromkeys((array.dtype, np.dtype(np.float64))):
        for has_step in (True, False):
            if np.array_equal(_values(table, dtype, has_step).astype(array.dtype), table):
                return _computed(walk, array, axis, dim, dtype, has_step)
    return None


def _is_short(step: float) -> bool:
    """Whether a step is a number with few digits after the point, decimal or binary ones."""
    many = step * _MANY
    return bool(are_short(np.array(step)).all() or abs(many - round(many)) < 1e-3)


def _values(table: Array, dtype: np.dtype[Any], has_step: bool) -> Array:
    """Coordinates as they are computed in a type, with the step as a number, or dividing last."""
    numbers, distance = np.arange(table.size).astype(dtype), (table[-1] - table[0]).astype(dtype)
    last = numbers[-1]
    return np.asarray((numbers * (distance / last) if has_step else numbers * distance / last) + table[0].astype(dtype))


def _computed(walk: UnfreezingWalk, array: Array, axis: int, dim: Dim, dtype: np.dtype[Any], has_step: bool) -> str:
    """The coordinates of an axis of any size but 1, at which a run fails: one position is not at two ends."""
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    table = array.ravel().astype(dtype)
    positions = walk.rows.numbered(np.zeros(1, np.int64), np.ones(1, np.int64), 0, dim)
    numbers = walk.emit("Cast", [positions], to=kind)
    last = walk.emit("Cast", [walk.sizes.of_dim(dim - 1)], to=kind)
    second = walk.emit("Gather", [positions, walk.constant(np.array([1], np.int64))], axis=0)
    distance = walk.emit("Mul", [walk.emit("Cast", [second], to=kind), walk.constant(table[-1:] - table[:1])])
    if has_step:
        found = walk.emit("Mul", [numbers, walk.emit("Div", [distance, last])])
    else:
        found = walk.emit("Div", [walk.emit("Mul", [numbers, distance]), last])
    if table[0]:
        found = walk.emit("Add", [found, walk.constant(table[:1])])
    if dtype != array.dtype:
        found = walk.emit("Cast", [found], to=helper.np_dtype_to_tensor_dtype(array.dtype))
    if array.ndim == 1:
        return found
    target = [-1 if at == axis else 1 for at in range(array.ndim)]
    return walk.emit("Reshape", [found, walk.constant(np.array(target, np.int64))])
