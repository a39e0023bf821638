"""Arrays of constant elements as functions of index variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

from gather_infer.equality.frames import Frame, axes_of, is_axis_symbol
from gather_infer.equality.terms import Integer, Literal, Select, Source, Term, axis_symbol
from gather_infer.ir.constant import bits_dtype
from gather_infer.symbolic import Dim, Expr
from gather_infer.symbolic.normal_form import Extremum, FloorDiv, Min, Symbol
from gather_infer.tensor import INTEGER_RANGE, DType

MAX_COMPARED: Final = 1 << 24
"""Largest number of bytes of an array whose equal rows are looked for."""


def spans(array: npt.NDArray[Any], place: tuple[Dim, ...], frame: Frame) -> bool:
    """Whether the index variables range over all elements of an array, one for each axis."""
    axes = [axis for dim in place for axis in axes_of(dim)]
    return len(axes) != array.ndim or all(frame.extents[k] == n for k, n in zip(axes, array.shape, strict=True))


def is_renamed(array: npt.NDArray[Any], place: tuple[Dim, ...], frame: Frame) -> bool:
    """Whether each position of an array is an index variable that ranges over its axis, in the order of the axes."""
    before = -1
    for dim, size in zip(place, array.shape, strict=True):
        if not isinstance(dim, Symbol) or not is_axis_symbol(dim.name):
            return False
        axis = int(dim.name[1:])
        if axis <= before or frame.extents[axis] != size:
            return False
        before = axis
    return True


def on_grid(dim: Dim, variables: Mapping[str, npt.NDArray[np.int64]]) -> Any:
    """The values of a dim at arrays of values of its symbols."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Extremum):
        return (np.minimum if isinstance(dim, Min) else np.maximum).reduce(
            np.broadcast_arrays(*(on_grid(arg, variables) for arg in dim.args))
        )
    if isinstance(dim, FloorDiv):
        return on_grid(dim.num, variables) // on_grid(dim.den, variables)
    if dim.is_symbol:
        return variables[dim.name]
    total: Any = 0
    for monomial, coefficient in dim.terms:
        term: Any = coefficient
        for atom in monomial:
            term = term * on_grid(atom, variables)
        total = total + term
    return total


def grid_of(term: Term, axes: Sequence[int], frame: Frame) -> npt.NDArray[Any] | None:
    """The bits of a constant term at all values of the index variables of `axes`; None if the term is not constant.

    An axis that does not occur in the term has size 1.
    """
    if isinstance(term, Literal):
        dtype = bits_dtype(term.dtype)
        found = np.empty((1,) * len(axes), dtype)
        wide = isinstance(term.bits, bytes) and dtype == np.dtype("V16")
        found[...] = np.frombuffer(cast(bytes, term.bits), dtype)[0] if wide else term.bits
        return found
    if isinstance(term, Integer):
        held = axes_of(term.dim)
        variables = {}
        for axis in held:
            extent = frame.extents[axis]
            assert isinstance(extent, int), "the caller has looked at the extents"
            variables[f"\0{axis}"] = np.arange(extent).reshape([-1 if k == axis else 1 for k in axes])
        numbers = np.asarray(on_grid(term.dim, variables), dtype=object)
        lo, hi = INTEGER_RANGE[term.dtype]
        bits = np.asarray(numbers & (hi - lo), dtype=object)
        return bits.reshape(bits.shape or (1,) * len(axes)).astype(bits_dtype(term.dtype))
    if isinstance(term, Select) and term.source.array is not None:
        held = [axis for dim in term.index for axis in axes_of(dim)]
        if term.index != tuple(axis_symbol(axis) for axis in held):
            return None
        array = term.source.array
        for at, axis in enumerate(held):
            extent = frame.extents[axis]
            assert isinstance(extent, int), "the caller has looked at the extents"
            array = np.take(array, range(extent), axis=at) if extent != array.shape[at] else array
        return array.reshape([array.shape[held.index(axis)] if axis in held else 1 for axis in axes])
    return None


def constant_axes(term: Term, frame: Frame) -> list[int] | None:
    """The index variables in a constant term; None if it is not constant, or they do not range over numbers."""
    if isinstance(term, Literal):
        return []
    if isinstance(term, Integer):
        if isinstance(term.dim, Expr) and not all(is_axis_symbol(name) for name in term.dim.symbols):
            return None
        axes = axes_of(term.dim)
    elif isinstance(term, Select) and term.source.array is not None:
        axes = [axis for dim in term.index for axis in axes_of(dim)]
    else:
        return None
    return axes if all(isinstance(frame.extents[axis], int) for axis in axes) else None


def is_repeated(grid: npt.NDArray[Any], axis: int) -> bool:
    """Whether the elements along an axis are equal."""
    others = (slice(None),) * axis
    begin, end = (*others, slice(1)), (*others, slice(-1, None))
    if grid.item(0) != grid[end].item(0):
        return False
    return bool((grid[end] == grid[begin]).all() and (grid == grid[begin]).all())


def bits_of(element: Any) -> int | bytes:
    """The bits of an element of an array of bits."""
    if isinstance(element, bytes):
        return element
    return element.tobytes() if isinstance(element, np.void) else int(element)


def numbers_of(dtype: DType, bits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The integers that bits of an integer type stand for."""
    lo, hi = INTEGER_RANGE[dtype]
    if lo == 0:
        return bits
    width = (hi - lo + 1).bit_length() - 1
    if width >= 8:
        return np.asarray(bits).view(f"<i{width // 8}")
    signed = bits.astype(np.int64)
    return np.where(signed > hi, signed - (hi - lo + 1), signed)


def affine(numbers: npt.NDArray[Any], place: Sequence[Dim]) -> Dim | None:
    """`a + b*i + c*j + ...` at the position i, j, ... if the numbers are affine in their positions, else None."""
    origin = int(numbers[(0,) * numbers.ndim])
    if abs(origin) > 1 << 40:
        return None
    total: Dim = origin
    expected: Any = np.int64(origin)
    for axis, position in enumerate(place):
        step = int(numbers[tuple(int(axis == k) for k in range(numbers.ndim))]) - origin
        if abs(step) > 1 << 40:
            return None
        total = total + step * position
        expected = expected + step * np.arange(numbers.shape[axis]).reshape(
            [-1 if axis == k else 1 for k in range(numbers.ndim)]
        )
    return total if numbers.dtype != np.uint64 and bool((numbers == expected).all()) else None


def elements_at(
    array: npt.NDArray[Any],
    place: tuple[Dim, ...],
    axes: Sequence[int],
    sizes: Sequence[int],
    positions_of: Callable[[str], npt.NDArray[np.int64] | None],
) -> npt.NDArray[Any] | None:
    """The elements at `place` for all values of the index variables of `axes`; None if one does not exist.

    positions_of   the values of another symbol in `place`; None if they are not known
    """
    if len(axes) == array.ndim and place == tuple(axis_symbol(axis) for axis in axes):
        if not all(map(int.__le__, sizes, array.shape)):
            return None
        return np.asarray(array[tuple(slice(size) for size in sizes)], array.dtype)
    variables = {
        f"\0{axis}": np.arange(size).reshape([-1 if k == at else 1 for k in range(len(axes))])
        for at, (axis, size) in enumerate(zip(axes, sizes, strict=True))
    }
    for name in {name for dim in place if isinstance(dim, Expr) for name in dim.symbols} - variables.keys():
        positions = positions_of(name)
        if positions is None:
            return None
        variables[name] = positions
    indices = [np.asarray(on_grid(dim, variables)) for dim in place]
    if not all(each.min() >= 0 and each.max() < n for each, n in zip(indices, array.shape, strict=True)):
        return None
    found = np.empty(sizes, array.dtype)
    found[...] = array[tuple(np.broadcast_to(each, sizes) for each in indices)]
    return found


def without_repeated_axes(grid: npt.NDArray[Any], axes: Sequence[int]) -> tuple[npt.NDArray[Any], list[int]]:
    """The grid without the axes along which its elements are equal, and the variables of those that it still has."""
    left, at = list(axes), 0
    while at < len(left):
        if grid.shape[at] == 1 or (grid.nbytes <= MAX_COMPARED and is_repeated(grid, at)):
            grid = np.asarray(np.take(grid, 0, axis=at), grid.dtype)  # an element of text is no array
            del left[at]
        else:
            at += 1
    return grid, left


def listed_element(source: Source, place: tuple[Dim, ...]) -> Term | None:
    """The element at a constant position of a source that lists its elements; None at another position."""
    if not all(isinstance(dim, int) for dim in place):
        return None
    assert source.shape is not None
    sizes = [dim for dim in source.shape if isinstance(dim, int)]
    numbers = [dim for dim in place if isinstance(dim, int)]
    if not all(0 <= number < size for number, size in zip(numbers, sizes, strict=True)):
        return None
    return source.listed[int(np.ravel_multi_index(numbers, sizes)) if sizes else 0]
