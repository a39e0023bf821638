"""Tables of windows of an image of which only those at its end differ, as the masks of shifted windows do.

An image is rolled by less than a window, and cut. A window in the last row or column holds two parts that were not next
to each other, and no position of one part attends to the other: the entries between them are masked. All other windows
are equal. So the table follows from four windows, for any number of windows but 1: a network with one window does not
shift it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as choices
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import numpy_helper

from gather_infer.symbolic import Dim, Expr
from gather_infer.unfreezing.factors.axis_factors import Factors, WindowSize, is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.result import Blocked

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]
_LEAST: Final = 3
"""Rows of windows that tell the last one from the others."""


def masked_windows(walk: UnfreezingWalk, array: Array, axis: int, factors: Factors) -> str | None:
    """The windows of a table along an axis, for any number of rows and columns of windows; None if they are none."""
    free = [place for place, factor in enumerate(factors) if is_free(factor, walk.freed)]
    sizes = [size for size in values_of(factors, walk.samples.old) if size is not None]
    if len(free) != 2 or len(sizes) < len(factors) or np.prod(sizes) != array.shape[axis]:
        return None
    split = array.reshape(*array.shape[:axis], *sizes, *array.shape[axis + 1 :])
    axes = [axis + place for place in free]
    ends = _ends(split, axes)
    if ends is None or min(sizes[place] for place in free) < _LEAST or not _is_of_shifted_windows(ends, axes):
        return None
    found = walk.constant(ends, "windows")
    for at, place in zip(axes, free, strict=True):
        found = walk.emit("Gather", [found, _numbers_of_ends(walk, factors[place])], axis=at)
    if len(factors) == 1:
        return found
    target = [*array.shape[:axis], -1, *array.shape[axis + 1 :]]
    return walk.emit("Reshape", [found, walk.constant(np.array(target, np.int64))])


def _numbers_of_ends(walk: UnfreezingWalk, dim: Dim) -> str:
    """The vector 0, ..., 0, 1 of a size, which is at least 2."""
    others = walk.emit("Sub", [walk.sizes.of_dim(dim), walk.constant(np.array([2], np.int64))])
    zeros = walk.emit("ConstantOfShape", [others], value=numpy_helper.from_array(np.array([0], np.int64)))
    return walk.emit("Concat", [zeros, walk.constant(np.array([0, 1], np.int64))], axis=0)


def _ends(split: Array, axes: Sequence[int]) -> Array | None:
    """The first and the last rows along some axes, of an array in which all rows but the last one are equal."""
    for axis in axes:
        first = np.take(split, [0], axis)
        most = np.take(split, range(split.shape[axis] - 1), axis)
        if not np.array_equal(most, np.broadcast_to(first, most.shape), equal_nan=split.dtype.kind == "f"):
            return None
        split = np.concatenate([first, np.take(split, [-1], axis)], axis)
    return split


def _is_of_shifted_windows(ends: Array, axes: Sequence[int]) -> bool:
    """Whether what differs at the ends is masked between the parts that a shift puts next to each other."""
    positions = ends.shape[-1]
    if ends.ndim < 2 or ends.shape[-2] != positions or axes[-1] >= ends.ndim - 2:
        return False
    inner, row, column, corner = (
        np.take(np.take(ends, one, axes[0]), two, axes[1] - 1) for one, two in ((0, 0), (1, 0), (0, 1), (1, 1))
    )
    for height in (each for each in range(1, positions + 1) if positions % each == 0):
        width = positions // height
        for above, left in choices(range(1, height), range(1, width)):
            number = np.arange(positions)
            lower, right = number // width >= above, number % width >= left
            between = [part[:, None] != part[None, :] for part in (lower, right)]
            masks = (between[0], between[1], between[0] | between[1])
            if all(_is_masked(inner, end, mask) for end, mask in zip((row, column, corner), masks, strict=True)):
                return True
    return False


def _is_masked(inner: Array, end: Array, mask: Array) -> bool:
    """Whether two tables differ where a mask is true, by one number or in favour of one, and there alone."""
    if not np.array_equal(np.broadcast_to(mask, inner.shape), inner != end):
        return False
    masked = end[..., mask]
    if inner.dtype.kind != "f" or (masked == masked.flat[0]).all():
        return bool((masked == masked.flat[0]).all())
    steps = masked.astype(np.float64) - inner[..., mask]
    return bool(np.isfinite(steps).all() and np.allclose(steps, steps.flat[0], rtol=1e-3, atol=0))


def stage_of_one_window(walk: UnfreezingWalk) -> Blocked | None:
    """A value whose image is not larger than the windows of another one: it may be one window, or have none."""
    most = max(walk.windows, default=0)
    for name, axes in walk.factors.items():
        if name not in walk.static:
            continue
        factors = [factor for axis in axes for factor in axis]
        images = [f for f in factors if isinstance(f, Expr) and f.symbols and f.symbols <= walk.image_symbols]
        sizes = [*values_of(images, walk.samples.old), *values_of(images, walk.samples.other)]
        is_cut = any(isinstance(factor, WindowSize) for factor in factors)
        if len(images) > 1 and not is_cut and all(size is not None and size <= most for size in sizes):
            return Blocked(
                f"value {name}", f"is an image that may be one window, as others are cut into those of {most}"
            )
    return None
