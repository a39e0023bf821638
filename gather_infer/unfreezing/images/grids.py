"""Tables of the coordinates of positions in an image: a number, and steps along the rows and columns.

A step that is the same in two exports is a number of the network, unless the size of the image is as many steps in
both: it may be the size of the image divided by that of the grid. These agree where the product is this size. So the
coordinates are read from the numbers of pixels, reshaped to steps, which fails at other sizes. In one export, each step
has to be such a number of pixels, or 1 in a table of integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnx import helper

from gather_infer.symbolic import Dim, symbol
from gather_infer.unfreezing.factors.axis_factors import Factors, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.sizes.size_expressions import dim_of_numbers, distinct, is_both

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]


class _Grid(NamedTuple):
    """A table as `first + row * steps[0] + column * steps[1]`; all have as many axes as the table split by its grid."""

    first: Array
    steps: tuple[Array, ...]


def grid(walk: UnfreezingWalk, mine: Array, other: Array) -> str | None:
    """A table that is `mine` at the old sizes and `other` at those of the counterpart; None if it is no grid."""
    axes = [axis for axis in range(mine.ndim) if mine.shape[axis] != other.shape[axis]]
    if mine.ndim != other.ndim or mine.dtype.kind not in "fiu":
        return None
    if len(axes) == 1:
        dims = _pair(walk, mine.shape[axes[0]], other.shape[axes[0]])
        places = [axes[0], axes[0] + 1]
    else:
        dims = [dim_of_numbers(walk, mine.shape[axis], other.shape[axis]) for axis in axes]
        places = axes
    if len(dims) != 2 or any(dim is None or isinstance(dim, int) for dim in dims):
        return None
    known = [dim for dim in dims if dim is not None]
    tables = [
        _steps(_split(each, axes, [size or 0 for size in values_of(known, binding)]), places)
        for each, binding in ((mine, walk.samples.old), (other, walk.samples.other))
    ]
    if tables[0] is None or tables[1] is None or not _is_same(tables[0], tables[1]):
        return None
    return _computed(walk, tables[0], known, places, mine, axes[0] if len(axes) == 1 else None)


def grid_of_pixels(walk: UnfreezingWalk, array: Array, axis: int, factors: Factors) -> str | None:
    """A table of the positions of an image along an axis, for other sizes; None if it is none."""
    free = [place for place, factor in enumerate(factors) if is_free(factor, walk.freed)]
    sizes = [size for size in values_of(factors, walk.samples.old) if size is not None]
    if len(free) != 2 or len(sizes) < len(factors) or np.prod(sizes) != array.shape[axis]:
        return None
    table = array.reshape(*array.shape[:axis], *sizes, *array.shape[axis + 1 :])
    places = [axis + place for place in free]
    found = _steps(table, places)
    if found is None or array.dtype.kind not in "fiu":
        return None
    dims = [factors[place] for place in free]
    for dim, step in zip(dims, found.steps, strict=True):
        counts = {count for count, _ in _sizes_in_steps(walk, dim, step)} | ({1} if array.dtype.kind in "iu" else set())
        if not step.any() or not set(np.unique(np.abs(step)).tolist()) <= counts | {0}:
            return None
    return _computed(walk, found, dims, places, array, axis if len(factors) > 1 else None)


def _pair(walk: UnfreezingWalk, mine: int, other: int) -> list[Dim | None]:
    """The sizes of the image whose positions are one number in one model, and another in the other."""
    fitting = [dim for dim in walk.sizes.positions() if is_both(walk, dim, mine, other)]
    pairs = {walk.sizes.positions()[dim] for dim in distinct(walk, fitting)}
    return list(pairs.pop()) if len(pairs) == 1 else []


def _split(array: Array, axes: Sequence[int], sizes: Sequence[int]) -> Array:
    if len(axes) > 1:
        return array
    shape = (*array.shape[: axes[0]], *sizes, *array.shape[axes[0] + 1 :])
    return array.reshape(shape)


def _steps(table: Array, places: Sequence[int]) -> _Grid | None:
    """A table as a number and steps; None if it is not exactly that."""
    if min(table.shape[place] for place in places) < 2:
        return None
    first = table
    for place in places:
        first = np.take(first, [0], place)
    steps = []
    for place in places:
        one, two = (table[tuple(slice(at, at + 1) if a == place else slice(1) if a in places else slice(None)
                                for a in range(table.ndim))] for at in (0, 1))  # fmt: skip
        with np.errstate(invalid="ignore"):  # tables of infinities are none
            steps.append(two - one)
    found = _Grid(first, tuple(steps))
    return found if np.array_equal(_values(found, table.shape, places), table) else None


def _values(found: _Grid, shape: Sequence[int], places: Sequence[int]) -> Array:
    total = found.first * 0
    for place, step in zip(places, found.steps, strict=True):
        numbers = np.arange(shape[place]).reshape([-1 if axis == place else 1 for axis in range(len(shape))])
        total = total + numbers.astype(step.dtype) * step
    return total + found.first


def _is_same(one: _Grid, two: _Grid) -> bool:
    return all(np.array_equal(a, b) for a, b in zip((one.first, *one.steps), (two.first, *two.steps), strict=True))


def _computed(
    walk: UnfreezingWalk, found: _Grid, dims: Sequence[Dim], places: Sequence[int], mine: Array, merged: int | None
) -> str:
    terms: list[str] = []
    rank = found.first.ndim
    for dim, place, step in zip(dims, places, found.steps, strict=True):
        numbers = _numbers(walk, dim, step)
        target = [-1 if axis == place else 1 for axis in range(rank)]
        numbers = walk.emit("Reshape", [numbers, walk.constant(np.array(target, np.int64))])
        if mine.dtype != np.int64:
            numbers = walk.emit("Cast", [numbers], to=helper.np_dtype_to_tensor_dtype(mine.dtype))
        terms.append(walk.emit("Mul", [numbers, walk.constant(step)]))
    total = walk.emit("Add", [walk.emit("Add", terms), walk.constant(found.first)])
    if merged is None:
        return total
    target = [*mine.shape[:merged], -1, *mine.shape[merged + 1 :]]
    return walk.emit("Reshape", [total, walk.constant(np.array(target, np.int64))])


def _numbers(walk: UnfreezingWalk, dim: Dim, step: Array) -> str:
    """The numbers of the positions along an axis, of a run that fails if a step may depend on its size."""
    zero, one = walk.constant(np.array(0, np.int64)), walk.constant(np.array(1, np.int64))
    empty = walk.constant(np.array([], np.int64))
    for count, name in _sizes_in_steps(walk, dim, step):
        pixels = walk.emit("Range", [zero, walk.emit("Reshape", [walk.sizes.of_dim(symbol(name)), empty]), one])
        cells = walk.emit("Reshape", [pixels, walk.sizes.of_shape([dim, count])])
        firsts = walk.emit("Gather", [cells, zero], axis=1)
        return walk.emit("Div", [firsts, walk.constant(np.array(count, np.int64))])
    return walk.emit("Range", [zero, walk.emit("Reshape", [walk.sizes.of_dim(dim), empty]), one])


def _sizes_in_steps(walk: UnfreezingWalk, dim: Dim, step: Array) -> Iterator[tuple[int, str]]:
    """The whole steps of which an image has as many as the grid has positions, in both models."""
    for name in [] if isinstance(dim, int) else sorted(dim.symbols & walk.freed.keys()):
        for count in np.unique(np.abs(step)).tolist():
            if count > 1 and count == int(count) and int(count) * dim != symbol(name):
                sizes = walk.samples.old[name], walk.samples.other[name]
                if is_both(walk, int(count) * dim, *sizes):
                    yield int(count), name
