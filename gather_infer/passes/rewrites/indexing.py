"""Helpers of the rules of the gather family: axes, positions along an axis, the bounds of a Slice."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, NamedTuple

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.passes.evaluate.gather import gather
from gather_infer.passes.match import Match
from gather_infer.symbolic import Dim
from gather_infer.tensor import Shape, static_dims

END: Final = 2**63 - 1
"""A Slice end past the last element of every axis."""

FAR: Final = 1 << 62
"""More than the length of any axis; exporters write Slice ends this large for "up to the end"."""

START: Final = -(2**63)
"""A Slice end before the first element of every axis, for a negative step."""


class Pick(NamedTuple):
    """The axis, shapes and indices of a Gather; its result has the shape `data[:axis] + shape + data[axis + 1:]`.

    axis     the axis of the data, >= 0
    data     the shape of the data
    shape    the shape of the indices
    indices  the elements of the indices in row-major order, a negative one counts from the end; None unless all are
             known as numbers
    """

    axis: int
    data: Shape
    shape: Shape
    indices: tuple[int, ...] | None

    @property
    def length(self) -> Dim:
        """The length of the data along `axis`."""
        return self.data[self.axis]

    @property
    def result(self) -> Shape:
        return self.data[: self.axis] + self.shape + self.data[self.axis + 1 :]

    @property
    def positions(self) -> tuple[int, ...] | None:
        """The indices, counted from the start of the axis.

        None if the indices are unknown, or one is negative and the length of the axis is unknown.
        """
        if self.indices is None:
            return None
        if all(i >= 0 for i in self.indices):
            return self.indices
        if not isinstance(self.length, int):
            return None
        return tuple(i + self.length if i < 0 else i for i in self.indices)


def pick_of(match: Match) -> Pick | None:
    """The axis, shapes and indices of a Gather; None if a rank is unknown, or the node fails in every run."""
    data, shape = match.shape(0), match.shape(1)
    if data is None or shape is None or match.is_faulty:
        return None
    axis = match.axis(len(data))
    if axis is None:
        return None
    indices = match.integers_of(1)
    if indices is not None and match.version < 11 and any(i < 0 for i in indices):
        return None  # negative indices are allowed from version 11 on
    return Pick(axis, data, shape, indices)


def axes_of(match: Match, rank: int | None) -> list[int] | None:
    """The `axes` of a Squeeze or Unsqueeze, sorted and >= 0; None if they are unknown, out of range or repeated.

    rank  the rank of the tensor that has these axes: the input of Squeeze, the output of Unsqueeze. If it is None,
          negative axes are out of range
    """
    given = given_axes(match)
    if given is None:
        return None
    axes = sorted({axis + rank if axis < 0 and rank is not None else axis for axis in given})
    is_valid = len(axes) == len(given) and all(axis >= 0 and (rank is None or axis < rank) for axis in axes)
    return axes if is_valid else None


def given_axes(match: Match) -> tuple[int, ...] | None:
    """The `axes` of a Squeeze or Unsqueeze as given; None if they are left out, or not known as numbers.

    None too for a Squeeze with an empty list, which removes no axis in numpy, and every axis of size 1 in onnxruntime.
    """
    given = match.integers("axes") if match.version < 13 else match.integers_of(1)
    return None if given == () and match.op_type == "Squeeze" else given


def slices_of(match: Match, rank: int) -> list[tuple[int, int, int, int]] | None:
    """`(axis, start, end, step)` for each axis that a Slice cuts, as given but with the axis >= 0.

    rank  the rank of the data

    None if a number is unknown, a step is 0, or an axis is out of range or occurs twice.
    """
    if match.version < 10:
        starts, ends, axes = match.integers("starts"), match.integers("ends"), match.integers("axes")
        steps: Sequence[int] | None = None
    else:
        starts, ends = match.integers_of(1), match.integers_of(2)
        axes = match.integers_of(3) if match.input(3) else None
        steps = match.integers_of(4) if match.input(4) else None
        if (match.input(3) and axes is None) or (match.input(4) and steps is None):
            return None
    if starts is None or ends is None:
        return None
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = (1,) * len(starts) if steps is None else steps
    if not all(-rank <= a < rank for a in axes) or len({a % rank for a in axes}) != len(axes) or 0 in steps:
        return None
    if not len(starts) == len(ends) == len(axes) == len(steps):
        return None
    return [(a % rank, s, e, t) for a, s, e, t in zip(axes, starts, ends, steps, strict=True)]


def is_smaller(match: Match, pick: Pick) -> bool:
    """Whether a Gather never returns more elements than its data has, and not always as many."""
    taken: Dim = 1
    for dim in pick.shape:
        taken = taken * dim
    return match.at_most(taken, pick.length) and taken != pick.length


def picked(match: Match, data: str, indices: Sequence[int], shape: Shape, axis: int) -> str:
    """Build a Gather of the value `data` by constant `indices` of a static `shape`. Returns the name of its output.

    Raises Unavailable if the model cannot hold the constant.
    """
    return match.new("Gather", [data, index_constant(match, indices, shape)], axis=axis)


def index_constant(match: Match, indices: Sequence[int], shape: Shape) -> str:
    """Add constant int64 indices of a static shape. Returns the name of the constant.

    Raises Unavailable if the model cannot hold it.
    """
    dims = static_dims(shape)
    assert dims is not None, "constant indices have a static shape"
    values = np.array(indices, dtype="<i8").reshape(dims)
    return match.add_constant(Constant(7, values.view("<u8")))


def gathered_constant(match: Match, name: str, indices: Sequence[int], shape: Shape, axis: int) -> str | None:
    """Add the constant that a Gather of the constant `name` by `indices` of this `shape` returns. Returns its name.

    None if the elements are unknown, the result is too large, or an index is out of range. Raises Unavailable as
    `Match.add_constant`.
    """
    found, dims = match.context.constants.load(match.graph, name), static_dims(shape)
    if found is None or dims is None:
        return None
    size = prod((*found.bits.shape[:axis], *dims, *found.bits.shape[axis + 1 :]))
    if size * max(1, found.bits.itemsize) > match.growth_limit:
        return None
    index = np.array(indices, dtype="<i8").reshape(dims)
    try:
        taken = gather(found, Constant(7, index.view("<u8")), axis=axis)
    except SpecViolation:
        return None
    return match.add_constant(taken)
