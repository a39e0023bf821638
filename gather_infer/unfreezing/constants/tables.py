"""Tables along a length, of which a shorter input reads the first rows: which ones say that this is not so.

Sinusoids, rotary positions and learned ones are numbered from the first position. A table that counts from the last
one, or whose rows depend on how many there are, has other rows at another length.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]


_FEW: Final = 3
"""Different numbers of a mask."""
_FEWEST_OF_SINES: Final = 5
_SMALLEST_FREQUENCY: Final = 1e-3


def why_not_cut(array: Array, axis: int) -> str:
    """Why the first rows of a table along an axis may be others at a smaller size; "" if nothing says so."""
    size = array.shape[axis]
    if array.dtype.kind not in "iufb" or size < 2:
        return ""
    rows = np.moveaxis(array, axis, 0).reshape(size, -1).astype(np.float64)
    is_of_two_values = size > 2 and len(np.unique(array)) < 3  # as a mask
    if is_of_two_values and _is_by_position_alone(rows):
        changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
        return "" if changes.tolist() == [1] else "its positions may be counted from the last one"
    if _is_position_0(rows[-1]) and not _is_position_0(rows[0]) and not is_of_two_values:
        return "its rows may be counted from the last one"
    if size < 3 or array.dtype.kind == "b":
        return ""
    if _is_mirrored(rows):
        return "its rows are symmetric around the middle"
    if _is_mirrored(rows[1:]):
        return "its rows have the length as their period"
    if rows.shape[1] == 1 and not is_of_two_values and _same(np.abs(rows).sum(), np.ones(()), 1e-6):
        return "the sum of its rows is 1"
    if _largest_frequency_tells(rows):
        return "its sines have a part of the length as their period"
    steps = np.diff(rows, axis=0)
    if not _same(steps, np.broadcast_to(steps[:1], steps.shape), _noise(rows)):
        is_number = array.dtype.kind == "f" and not is_of_two_values and _is_by_position_alone(rows)
        is_told = is_number and not _are_of_position(rows[:, 0])
        return "its numbers, one for each position, may depend on how many there are" if is_told else ""
    return "its rows are fractions of the length" if are_parts(steps[0], size, rows[0]) else ""


def why_not_cut_both(array: Array, axes: tuple[int, int]) -> str:
    """Why the first rows and columns of a table of two positions may be others at a smaller size, or "".

    Of a table of distances `j - i` of `n` positions, those on the diagonal and at its ends tell.
    """
    size = array.shape[axes[0]]
    if array.shape[axes[1]] != size or size < 3 or array.dtype.kind not in "iufb":
        return ""
    table = np.moveaxis(array, axes, (0, 1)).reshape(size, size, -1).astype(np.float64)
    steps = distances(table)
    if steps is None:
        if len(np.unique(table)) < 3 and distances(table[1:, 1:]) is None:
            return "it is a mask of other positions than those at a distance"
        if size > 3 and distances(table[:-1, :-1]) is None and distances(table[1:-1, 1:-1]) is not None:
            return "its last row or column is unlike the others"
        return ""
    if _same(steps[:-size], steps[size:], 0.0) and len(np.unique(np.delete(steps, size - 1, 0), axis=0)) > 1:
        return "its distances have the length as their period"
    if values_tell(steps[size - 1] if len(np.unique(steps)) > _FEW else steps, size):
        return "its distances may depend on the length"
    later = np.diff(steps[size - 1 :], axis=0)
    if _same(later, np.broadcast_to(later[:1], later.shape), _noise(steps)) and are_parts(later[0], size):
        return "its distances are fractions of the length"
    return ""


def values_tell(values: Array, size: int) -> bool:
    """Whether numbers of a table of distances are the length, or fractions of it."""
    numbers = np.abs(values.astype(np.float64))[..., None]
    told = [size, size - 1, 1 / size, 1 / (size - 1), (size - 1) / size]
    return size > 2 and bool((np.isclose(numbers, told, rtol=1e-6, atol=0) & (numbers != 1)).any())


def distances(table: Array) -> Array | None:
    """The elements of a square table for each `j - i`, the smallest first; None if they depend on more than that."""
    size = len(table)
    found = []
    for step in range(1 - size, size):
        diagonal = np.stack([table[i, i + step] for i in range(max(0, -step), min(size, size - step))])
        if not _same(diagonal, np.broadcast_to(diagonal[:1], diagonal.shape), _noise(table.reshape(size, -1))):
            return None
        found.append(diagonal[0])
    return np.stack(found)


def _is_by_position_alone(rows: Array) -> bool:
    """Whether all columns are equal: the elements depend on one position."""
    return bool((rows == rows[:, :1]).all())


def _is_position_0(row: Array) -> bool:
    """Whether a row is that of position 0: a multiple of 0, or sines and cosines of 0."""
    return bool(np.isin(row, (0, 1)).all())


def _are_of_position(numbers: Array) -> bool:
    """Whether numbers that are no progression are known functions of their positions, whatever follows.

    Whole numbers, their reciprocals, roots and logarithms; powers of a number, or exponentials of multiples of one; the
    sine of each, as of rotary embeddings of two numbers.
    """
    with np.errstate(all="ignore"):
        told = [numbers, 1 / numbers, numbers**2, np.exp(numbers)]
        ratios = numbers[1:] / numbers[:-1]
        rate = np.log(np.abs(ratios[:1]))
    if any(np.isfinite(each).all() and _same(each, np.rint(each), 1e-5) for each in told):
        return True
    phase = np.arccos(np.clip(numbers[0], -1, 1))
    if any(_same(numbers, np.cos(np.arange(len(numbers)) + begin), 1e-6) for begin in (phase, -phase)):
        return True
    is_power = np.isfinite(ratios).all() and _same(ratios, np.broadcast_to(ratios[:1], ratios.shape), 0.0)
    begins = are_short(numbers[:1]).all() or _same(numbers[:1], ratios[:1], 0.0)  # others may be made to sum up to 1
    if not is_power or not begins or not np.isfinite(rate).all() or are_parts(rate, len(numbers)):
        return False
    return bool((are_short(ratios[:1]) | are_short(rate)).all())


def _largest_frequency_tells(rows: Array) -> bool:
    """Whether the largest frequency of the columns that are sines is a part of the length.

    Each element of a sine times twice the cosine of its frequency is the sum of those beside it.
    """
    size = len(rows)
    if size < _FEWEST_OF_SINES or not np.isfinite(rows).all():
        return False
    middle, beside = rows[1:-1], rows[:-2] + rows[2:]
    with np.errstate(all="ignore"):
        cosines = (middle * beside).sum(axis=0) / (2 * (middle**2).sum(axis=0))
        is_sine = np.isclose(beside, 2 * cosines * middle, rtol=0, atol=_noise(rows) * 4).all(axis=0)
        frequencies = np.arccos(cosines[is_sine & (np.abs(cosines) < 1)])
    largest = float(frequencies.max(initial=0.0))
    told = [part / number for number in (size, size - 1) for part in (1, 2, np.pi, 2 * np.pi)]
    return largest > _SMALLEST_FREQUENCY and bool(np.isclose(largest, told, rtol=1e-3, atol=0).any())


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


def are_parts(step: Array, size: int, first: Array | None = None) -> bool:
    """Whether a step is 1 or 2, divided by the number of rows or by one less.

    So is one that is no short number, although the numbers at which the rows begin and end are: those of a linspace.
    """
    wide = step.astype(np.float64)
    parts = np.abs(wide[..., None] * [size, size - 1])
    if np.isclose(parts[..., None], (1, 2), rtol=1e-5, atol=0).any():
        return True
    begin = np.zeros_like(wide) if first is None else first.astype(np.float64)
    ends = begin[..., None] + wide[..., None] * [size, size - 1]
    is_short = (are_short(ends) | are_short(ends / np.pi)).any(axis=-1) & (are_short(begin) | are_short(begin / np.pi))
    moving = wide != 0
    return bool(moving.any() and (is_short & ~are_short(wide))[moving].all())


def are_short(numbers: Array) -> Array:
    """Whether numbers have three digits after the point at most, or are dyadic fractions of at most 16 parts."""
    scaled = numbers * 2000
    return np.asarray(np.isclose(scaled, np.rint(scaled), rtol=1e-6, atol=1e-3))
