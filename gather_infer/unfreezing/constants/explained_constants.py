"""Constants that differ between two exports, as functions of the size.

`mine` is the constant of the model, `other` that of its counterpart at other sizes. An explanation equals both: numbers
as expressions of the sizes; rows along an axis of another size as equal rows, numbers of positions, masks that compare
two positions, or a part of the larger table, which is right up to the size of this table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import NodeProto, helper

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING
from gather_infer.unfreezing.constants.position_masks import position_mask
from gather_infer.unfreezing.factors.axis_factors import dim_of
from gather_infer.unfreezing.images.grids import grid
from gather_infer.unfreezing.images.window_masks import masked_windows
from gather_infer.unfreezing.result import Blocked
from gather_infer.unfreezing.sizes.size_expressions import dim_of_numbers, is_both

if TYPE_CHECKING:
    from gather_infer.unfreezing.counterpart import Counterpart
    from gather_infer.unfreezing.walk import UnfreezingWalk

Array = np.ndarray[Any, Any]
_MAX_ELEMENTS = 64


def with_explained_constants(walk: UnfreezingWalk, node: NodeProto, counterpart: Counterpart) -> NodeProto:
    """The node with the constants that differ in the second model as functions of the size. Raises Blocked."""
    inputs: dict[int, str] = {}
    for position, mine, other in counterpart.differing.get(node.output[0], ()):
        if node.op_type == "Reshape" and position == 1 and node.input[0] in walk.factors:
            continue  # the order of the elements decides
        if node.op_type == "Pad" and position == 1:
            continue  # all axes have one explanation
        found = _explained(walk, mine, other) or _windows(walk, node, mine, other)
        if found is None:
            raise Blocked(
                walk.label(node),
                f"its constant {node.input[position]} is {_elements(mine)}, and {_elements(other)} in"
                f" {counterpart.model.name}, which no rule explains",
            )
        inputs[position] = found
    return walk.with_inputs(node, inputs) if inputs else node


def _explained(walk: UnfreezingWalk, mine: Array, other: Array) -> str | None:
    """A value that is `mine` at the old sizes and `other` at those of the counterpart; None if no rule gives one."""
    if mine.ndim != other.ndim or mine.dtype != other.dtype:
        return None
    if mine.shape == other.shape:
        return _numbers(walk, mine, other)
    return grid(walk, mine, other) or _rows(walk, mine, other)


def _windows(walk: UnfreezingWalk, node: NodeProto, mine: Array, other: Array) -> str | None:
    """A table of windows that meets another operand along its one axis of another size, in both models."""
    axes = [axis for axis in range(mine.ndim) if mine.ndim == other.ndim and mine.shape[axis] != other.shape[axis]]
    if len(axes) != 1 or node.op_type not in BROADCASTING:
        return None
    (axis,) = axes
    for name in node.input:
        held = walk.factors.get(name, ())
        at = axis - mine.ndim + len(held)
        if at >= 0 and is_both(walk, dim_of(held[at]), mine.shape[axis], other.shape[axis]):
            return masked_windows(walk, mine, axis, held[at])
    return None


def _numbers(walk: UnfreezingWalk, mine: Array, other: Array) -> str | None:
    """Elements of the same number: integers, whole floats, and reciprocals of integers."""
    if mine.size > _MAX_ELEMENTS:
        return _linear(walk, mine, other)
    first, second = mine, other
    is_reciprocal = False
    if mine.dtype.kind == "f":
        if not (_is_whole(mine) and _is_whole(other)):
            with np.errstate(divide="ignore"):
                first, second = (np.rint(1 / each.astype(np.float64)) for each in (mine, other))
            if not all(
                np.isfinite(n).all() and n.all() and np.array_equal((1 / n).astype(mine.dtype), each)
                for n, each in ((first, mine), (second, other))
            ):
                return None
            is_reciprocal = True
    elif mine.dtype.kind not in "iu":
        return None
    pairs = zip(first.ravel().tolist(), second.ravel().tolist(), strict=True)
    dims = [dim_of_numbers(walk, int(a), int(b)) for a, b in pairs]
    if any(dim is None for dim in dims):
        return None
    found = walk.sizes.of_shape([dim for dim in dims if dim is not None])
    if mine.ndim != 1:
        found = walk.emit("Reshape", [found, walk.constant(np.array(mine.shape, np.int64))])
    found = _cast(walk, found, mine)
    return walk.emit("Reciprocal", [found]) if is_reciprocal else found


def _is_whole(array: Array) -> bool:
    return bool(np.isfinite(array).all() and (array == np.rint(array)).all() and (np.abs(array) < 2**24).all())


def _linear(walk: UnfreezingWalk, mine: Array, other: Array) -> str | None:
    """Many integers, each a number and a multiple of the one freed size."""
    assert walk.counterpart is not None, "two models are compared"
    if mine.dtype.kind not in "iu" or len(walk.counterpart.sizes) != 1:
        return None
    (name,) = walk.counterpart.sizes
    if name in walk.image_symbols:
        return None
    old, new = walk.samples.old[name], walk.samples.other[name]
    slope, rest = np.divmod(other.astype(np.int64) - mine, new - old)
    if rest.any():
        return None
    scaled = walk.emit("Mul", [walk.constant(slope), walk.sizes.of_dim(symbol(name))])
    return _cast(walk, walk.emit("Add", [scaled, walk.constant(mine.astype(np.int64) - slope * old)]), mine)


def _cast(walk: UnfreezingWalk, name: str, like: Array) -> str:
    if like.dtype == np.int64:
        return name
    return walk.emit("Cast", [name], to=helper.np_dtype_to_tensor_dtype(like.dtype))


def _rows(walk: UnfreezingWalk, mine: Array, other: Array) -> str | None:
    """Rows along one axis or several: those of the larger constant, of which the smaller one has a part."""
    axes = [axis for axis in range(mine.ndim) if mine.shape[axis] != other.shape[axis]]
    dims = {axis: dim_of_numbers(walk, mine.shape[axis], other.shape[axis]) for axis in axes}
    if any(dim is None or isinstance(dim, int) for dim in dims.values()):
        return None
    sizes = {axis: dim for axis, dim in dims.items() if dim is not None}
    small, large = sorted((mine, other), key=lambda each: each.size)
    if any(small.shape[axis] > large.shape[axis] for axis in axes):
        return None
    begins = {axis: (0, large.shape[axis] - small.shape[axis]) for axis in axes}
    for number in range(1 << len(axes)):
        starts = {axis: begins[axis][number >> at & 1] for at, axis in enumerate(axes)}
        part = large[
            tuple(
                slice(starts[axis], starts[axis] + small.shape[axis]) if axis in starts else slice(None)
                for axis in range(large.ndim)
            )
        ]
        if np.array_equal(part, small):
            numbers = _numbered(walk, mine, other, sizes) if any(starts.values()) else None
            return numbers or _part(walk, large, sizes, [axis for axis in axes if starts[axis]])
    return _numbered(walk, mine, other, sizes)


def _part(walk: UnfreezingWalk, large: Array, dims: dict[int, Dim], from_end: list[int]) -> str | None:
    """The first rows of a constant along some axes, or the last ones."""
    if len(dims) == 2 and not from_end:
        mask = position_mask(walk, large, dims)
        if mask is not None:
            return mask
    rest = dict(dims)
    for axis in dims:
        first = np.take(large, [0], axis)
        if np.array_equal(large, np.broadcast_to(first, large.shape)):
            large = first
            del rest[axis]
    if len(rest) == 1 and len(dims) == 1 and not from_end:
        (axis,) = rest
        step = walk.rows.progression(large, axis)
        if step is not None:
            return walk.rows.numbered(np.take(large, [0], axis), step, axis, rest[axis])
    if any(
        isinstance(dim, Expr) and dim.symbols <= walk.image_symbols and len(dim.symbols) > 1 for dim in rest.values()
    ):
        return None  # positions of an image are no rows of a table
    found = walk.constant(large, "rows")
    for axis, dim in rest.items():
        most = large.shape[axis]
        assert not isinstance(dim, int), "a number is not free"
        walk.limit(dim, most)
        start, end = (most - dim, most) if axis in from_end else (0, dim)
        operands = [walk.sizes.of_dim(start), walk.sizes.of_dim(end), walk.sizes.of_dim(axis)]
        found = walk.emit("Slice", [found, *operands])
    equal = dims.keys() - rest.keys()
    if equal:
        shape: list[Dim] = [dims[axis] if axis in equal else 1 for axis in range(large.ndim)]
        found = walk.emit("Expand", [found, walk.sizes.of_shape(shape)])
    return found


def _numbered(walk: UnfreezingWalk, mine: Array, other: Array, dims: dict[int, Dim]) -> str | None:
    """Numbers of positions that begin at an expression of the size, such as those that count down to 0."""
    if len(dims) != 1:
        return None
    ((axis, dim),) = dims.items()
    steps = [walk.rows.progression(each, axis) for each in (mine, other)]
    if steps[0] is None or steps[1] is None or not np.array_equal(steps[0], steps[1]):
        return None
    first = _explained(walk, np.take(mine, [0], axis), np.take(other, [0], axis))
    if first is None:
        return None
    numbers = walk.rows.numbered(np.zeros([1] * mine.ndim, mine.dtype), steps[0].astype(mine.dtype), axis, dim)
    return walk.emit("Add", [first, numbers])


def _elements(array: Array) -> str:
    flat = array.ravel().tolist()
    return f"{list(array.shape)} {flat[:4]}{'...' if len(flat) > 4 else ''}"
