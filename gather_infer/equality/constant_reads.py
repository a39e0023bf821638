"""Constants that are read at positions of which some depend on sizes, in normal form.

An array has no elements before the first one that may be read, an axis for each digit of a position, and no axis along
which its elements are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gather_infer.equality.arrays import MAX_COMPARED, grid_of, is_repeated, numbers_of
from gather_infer.equality.frames import Frame
from gather_infer.equality.terms import Term
from gather_infer.symbolic import Dim
from gather_infer.symbolic.normal_form import Symbol, from_terms, terms_of


def canonical_read(
    array: npt.NDArray[Any], place: Sequence[Dim], frame: Frame
) -> tuple[npt.NDArray[Any], tuple[Dim, ...]]:
    """An array, and a position in it, whose element is that of `array` at `place`, if that exists."""
    digits = [digit for dim, size in zip(place, array.shape, strict=True) for digit in _digits(dim, size, frame)]
    array = array.reshape([size for size, _ in digits])
    cuts = [_least(dim, size) for size, dim in digits]
    array = array[tuple([slice(cut, None) for cut in cuts])]
    at = 0
    found: list[Dim] = []
    for (_, position), cut in zip(digits, cuts, strict=True):
        dim = position - cut
        if dim == 0 or array.shape[at] == 1 or (array.nbytes <= MAX_COMPARED and is_repeated(array, at)):
            array = np.asarray(np.take(array, 0, axis=at), array.dtype)  # an element of text is no array
        else:
            found.append(dim)
            at += 1
    return array, tuple(found)


def positions_at(term: Term, size: Dim | None, axes: Sequence[int], frame: Frame) -> npt.NDArray[np.int64] | None:
    """The positions on an axis of `size` that constant indices address, at all values of the index variables."""
    grid = grid_of(term, axes, frame)
    if grid is None or term.dtype is None or not isinstance(size, int):
        return None
    numbers = numbers_of(term.dtype, grid).astype(np.int64)
    return np.where(numbers < 0, numbers + size, numbers)


def _least(dim: Dim, size: int) -> int:
    """A position on an axis that is not above `dim`: the constant of a sum of symbols, which are at least 0."""
    least = 0
    for monomial, coefficient in terms_of(dim):
        if not monomial:
            least = coefficient
        elif coefficient < 0 or not all(isinstance(atom, Symbol) for atom in monomial):
            return 0
    return least if 0 < least < size else 0


def _digits(dim: Dim, size: int, frame: Frame) -> list[tuple[int, Dim]]:
    """A position on an axis as sizes and digits: `32*(i % 2) + j` with 0 <= j < 32 is (i % 2, j)."""
    terms = terms_of(dim)
    for stride in sorted({abs(coefficient) for monomial, coefficient in terms if monomial}, reverse=True):
        if stride < 2 or size % stride:
            continue
        high = from_terms({monomial: k // stride for monomial, k in terms if not monomial or not k % stride})
        low = dim - high * stride
        bounds = frame.scope.bounds(low)
        if bounds.lo is not None and bounds.lo >= 0 and bounds.hi is not None and bounds.hi < stride:
            return [*_digits(high, size // stride, frame), (stride, low)]
    return [(size, dim)]
