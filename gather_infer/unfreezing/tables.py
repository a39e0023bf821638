"""Tables along a length, of which a shorter input reads the first rows: which ones say that this is not so.

Sinusoids, rotary positions and learned ones are numbered from the first position. A table that counts from the last
one, or whose rows depend on how many there are, has other rows at another length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def why_not_cut(array: Array, axis: int) -> str:
    """Why the first rows of a table along an axis may be others at a smaller size; "" if nothing says so."""
    size = array.shape[axis]
    if array.dtype.kind not in "iuf" or size < 2:
        return ""
    rows = np.moveaxis(array, axis, 0).reshape(size, -1).astype(np.float64)
    is_of_two_values = size > 2 and len(np.unique(array)) < 3  # as a mask
    if _is_position_0(rows[-1]) and not _is_position_0(rows[0]) and not is_of_two_values:
        return "its rows may be counted from the last one"
    if size < 3:
        return ""
    if _is_mirrored(rows):
        return "its rows are symmetric around the middle"
    if _is_mirrored(rows[1:]):
        return "its rows have the length as their period"
    steps = np.diff(rows, axis=0)
    if _same(steps, np.broadcast_to(steps[:1], steps.shape), _noise(rows)) and are_parts(steps[0], size):
        return "its rows are fractions of the length"
    return ""


def _is_position_0(row: Array) -> bool:
    """Whether a row is that of position 0: a multiple of 0, or sines and cosines of 0."""
    return bool(np.isin(row, (0, 1)).all())


def _is_mirrored(rows: Array) -> bool:
    """Whether each column is the same from its end, or the negative of that."""
    back = rows[::-1]
    noise = _noise(rows)
    return all(
        _same(column, other, noise) or _same(column, -other, noise)
        for column, other in zip(rows.T, back.T, strict=True)
    )


def _noise(rows: Array) -> float:
    finite = np.abs(rows[np.isfinite(rows)])
    return 1e-6 * float(finite.max(initial=0.0))


def _same(one: Array, other: Array, noise: float) -> bool:
    return bool(np.allclose(one, other, rtol=1e-5, atol=noise, equal_nan=True))


def are_parts(step: Array, size: int) -> bool:
    """Whether a step is 1 or 2, divided by the number of rows or by one less."""
    parts = np.abs(step.astype(np.float64)[..., None] * [size, size - 1])
    return bool(np.isclose(parts[..., None], (1, 2), rtol=1e-5, atol=0).any())
