"""Reshape as a map of positions: the position in row-major order stays."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.equality.frames import Frame
from gather_infer.symbolic import Dim, DimTooLarge, product
from gather_infer.tensor import Shape


def reshaped_index(source: Shape, target: Shape, frame: Frame) -> tuple[Dim, ...] | None:
    """The position in a tensor of shape `source` of the element at the index variables of `frame`, of shape `target`.

    Both shapes are cut where the products of the sizes before the cut are equal; each part is computed by itself. None
    if a dim gets too large.
    """
    known = frame.reshapes.get(source)
    if known is not None:
        return known
    index: list[Dim] = [0] * len(source)
    try:
        for axes, variables in _parts(source, target):
            _fill(index, [(a, source[a]) for a in axes], [(frame.variables[v], target[v]) for v in variables], frame)
    except DimTooLarge:
        return None
    frame.reshapes[source] = tuple(index)
    return frame.reshapes[source]


def _parts(source: Shape, target: Shape) -> list[tuple[list[int], list[int]]]:
    """Runs of axes of both shapes with the same number of elements; axes of size 1 are left out."""
    left = [axis for axis, dim in enumerate(source) if dim != 1]
    right = [axis for axis, dim in enumerate(target) if dim != 1]
    ends: dict[Dim, int] = {}
    total: Dim = 1
    for at, axis in enumerate(left):
        total = total * source[axis]
        ends[total] = at + 1
    parts = []
    begin_left = begin_right = 0
    total = 1
    for at, axis in enumerate(right):
        total = total * target[axis]
        end = ends.get(total)
        if end is not None and end > begin_left:
            parts.append((left[begin_left:end], right[begin_right : at + 1]))
            begin_left, begin_right = end, at + 1
    if begin_left < len(left) or begin_right < len(right):
        parts.append((left[begin_left:], right[begin_right:]))
    return parts


def _fill(
    index: list[Dim], axes: Sequence[tuple[int, Dim]], variables: Sequence[tuple[Dim, Dim]], frame: Frame
) -> None:
    """Set the index of the source on `axes`, from the variables of the target with their sizes."""
    if len(axes) == 1:
        index[axes[0][0]] = _flat(variables)
        return
    flat = _flat(variables)
    above: Dim = 0
    for number, (axis, size) in enumerate(axes):
        quotient = digit = flat // product(dim for _, dim in axes[number + 1 :])
        if number:
            digit = quotient - above * size
        if len(variables) == 1:  # it takes each value below the product of the sizes, and no digit is simpler
            frame.keep(digit)
        index[axis] = frame.simplify(digit)
        above = quotient


def _flat(variables: Sequence[tuple[Dim, Dim]]) -> Dim:
    """The position in row-major order."""
    total: Dim = 0
    for variable, size in variables:
        total = total * size + variable
    return total
