"""Operators that move elements: each as a map from positions of the result to positions of the operand.

A rule returns the first output, or None where the map is not known; the operator is then a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from gather_infer.equality.arrays import constant_axes, grid_of
from gather_infer.equality.frames import Frame
from gather_infer.equality.pieces import concatenated, cut, piece_shape, rearranged
from gather_infer.equality.pointwise import is_number
from gather_infer.equality.reshape import reshaped_index
from gather_infer.equality.terms import Literal, Tensor
from gather_infer.equality.view import TermView
from gather_infer.ir.constant import read_inline
from gather_infer.symbolic import Dim, Expr, known_le, known_lt, maximum, minimum
from gather_infer.tensor import DType, Shape
from gather_infer.versioned import VersionedTable

LARGEST_SIZE: Final = 1 << 62
"""No axis has as many elements."""

Movement: TypeAlias = Callable[[TermView], "Tensor | None"]


@dataclass(frozen=True, slots=True)
class RegisteredMovement:
    """The movement of an operator from opset version `since` on."""

    since: int
    movement: Movement


class MovementTable(VersionedTable[RegisteredMovement]):
    """The movements of one operator domain."""

    def moves(self, op_type: str, *, since: int = 1) -> Callable[[Movement], Movement]:
        """Decorator: registers the movement of `op_type` from version `since` on."""

        def add(function: Movement) -> Movement:
            self._add(op_type, RegisteredMovement(since, function))
            return function

        return add


MOVEMENTS: Final = MovementTable("", "movements")


@MOVEMENTS.moves("Identity")
def _identity(view: TermView) -> Tensor | None:
    return view.operand(0)


@MOVEMENTS.moves("Dropout")
def _dropout(view: TermView) -> Tensor | None:
    """x itself, except in training."""
    training = view.operand(2) if view.has(2) else None
    is_inference = not view.has(2) or (training is not None and _is_false(training))
    ratio = view.operand(1) if view.has(1) else None
    is_legal = not view.has(1) or (ratio is not None and _is_below_one(ratio))
    return view.operand(0) if is_inference and is_legal and view.integer("is_test", 1) != 0 else None


def _is_below_one(ratio: Tensor) -> bool:
    """Whether a constant is in [0, 1). The bits of floats >= 0 are in the order of their numbers."""
    dtype, term = ratio.dtype, ratio.term
    if dtype is None or not dtype.has_dtype or not isinstance(term, Literal) or not isinstance(term.bits, int):
        return False
    one = np.ones((), dtype.dtype)
    return dtype.is_float and term.bits < int(one.view(f"<u{one.itemsize}"))


def _is_false(operand: Tensor) -> bool:
    return isinstance(operand.term, Literal) and operand.term.bits == 0


@MOVEMENTS.moves("Transpose")
def _transpose(view: TermView) -> Tensor | None:
    """out[i_0, ...] = x[..., i at the place of the axis, ...]"""
    data = view.operand(0)
    if data is None:
        return None
    permutation = view.integers("perm") or tuple(reversed(range(data.rank)))
    index: list[Dim] = [0] * data.rank
    for new, old in enumerate(permutation):
        index[old] = view.frame.variables[new]
    return view.moved(data, index)


@MOVEMENTS.moves("Reshape")
@MOVEMENTS.moves("Flatten")
def _reshape(view: TermView) -> Tensor | None:
    data = view.operand(0)
    if data is None:
        return None
    index = reshaped_index(data.shape, view.result_shape, view.frame)
    return None if index is None else view.moved(data, index)


MOVEMENTS.moves("Squeeze")(_reshape)
MOVEMENTS.moves("Unsqueeze")(_reshape)


@MOVEMENTS.moves("Expand")
def _expand(view: TermView) -> Tensor | None:
    """out[i] = x[i], with 0 on the axes that are repeated."""
    data = view.operand(0)
    if data is None:
        return None
    target = view.result_shape
    offset = len(target) - data.rank
    index: list[Dim] = []
    for dim, extent, variable in zip(data.shape, target[offset:], view.frame.variables[offset:], strict=True):
        if isinstance(dim, int) and dim == 1:
            index.append(0)
        elif dim == extent:
            index.append(variable)
        else:
            return None
    return view.moved(data, index)


@MOVEMENTS.moves("Tile", since=6)
def _tile(view: TermView) -> Tensor | None:
    """out[i] = x[i mod n]"""
    data = view.operand(0)
    if data is None:
        return None
    index: list[Dim] = []
    for dim, extent, variable in zip(data.shape, view.result_shape, view.frame.variables, strict=True):
        index.append(variable if dim == extent else view.frame.simplify(variable % dim) if dim != 0 else 0)
    return data if data.shape == view.result_shape else view.moved(data, index)


@MOVEMENTS.moves("Concat", since=4)
def _concat(view: TermView) -> Tensor | None:
    operands = [view.operand(index) for index in range(len(view.operands))]
    held = [operand for operand in operands if operand is not None]
    axis = view.axis(held[0].rank) if held else None
    if len(held) < len(operands) or axis is None:
        return None
    return concatenated(view.pool, view.dtype, view.result_shape, axis, held)


@MOVEMENTS.moves("Slice", since=10)
def _slice(view: TermView) -> Tensor | None:
    """out[i] = x[start + i*step] along each sliced axis."""
    data = view.operand(0)
    starts, ends = view.elements(1), view.elements(2)
    if data is None or starts is None or ends is None:
        return None
    axes = view.integers_of(3) if view.has(3) else tuple(range(len(starts)))
    steps = view.integers_of(4) if view.has(4) else (1,) * len(starts)
    if axes is None or steps is None:
        return None
    return _sliced(view, data, [axis % data.rank for axis in axes], starts, steps)


@MOVEMENTS.moves("Slice")
def _slice_by_attributes(view: TermView) -> Tensor | None:
    data = view.operand(0)
    starts = view.integers("starts")
    if data is None or starts is None:
        return None
    axes = view.integers("axes") or tuple(range(len(starts)))
    return _sliced(view, data, [axis % data.rank for axis in axes], starts, (1,) * len(starts))


def _sliced(
    view: TermView, data: Tensor, axes: Sequence[int], starts: Sequence[Dim], steps: Sequence[int]
) -> Tensor | None:
    index = list(view.frame.variables)
    begin: Dim | None = 0
    for axis, start, step in zip(axes, starts, steps, strict=True):
        first = _first(start, step, data.shape[axis], view.frame)
        if first is None:
            return None
        index[axis] = view.frame.simplify(first + index[axis] * step)
        if axis == data.axis:
            begin = first if step == 1 else None
    if data.term is None and begin is not None and data.shape[data.axis] != 1:
        found = cut(view.pool, data, view.dtype, view.result_shape, begin, index)
        if found is not None:
            return found
    return view.moved(data, index)


def _first(start: Dim, step: int, size: Dim, frame: Frame) -> Dim | None:
    """The position of the first element of a slice, which has an element; None if it is not known."""
    if known_lt(start, 0, frame.scope) is True:
        start = size + start
        if known_le(0, start, frame.scope) is not True:
            start = maximum(0, start) if step > 0 else start
        return frame.simplify(start)
    if known_le(0, start, frame.scope) is not True:
        return None
    if step > 0:
        return start  # below the size, since there is an element
    return frame.simplify(minimum(start, size - 1)) if isinstance(start, Expr) or start < LARGEST_SIZE else size - 1


def split(view: TermView, number: int) -> Tensor | None:
    """Output `number` of a Split."""
    data = view.operand(0)
    axis = None if data is None else view.axis(data.rank)
    if data is None or axis is None or view.integer("num_outputs", len(view.shapes)) != len(view.shapes):
        return None
    if view.version >= 18 and not view.has(1) and view.attr("num_outputs") is None:
        return None  # onnxruntime refuses it
    begin: Dim = 0
    for before in view.shapes[:number]:
        if before is None:
            return None
        begin = begin + before[axis]
    shape = view.shapes[number]
    if shape is None:
        return None
    frame = view.pool.frame(shape)
    index = list(frame.variables)
    index[axis] = begin + index[axis]
    if data.term is None and axis == data.axis:
        found = cut(view.pool, data, data.dtype, shape, begin, index)
        if found is not None:
            return found
    return rearranged(view.pool, data, data.dtype, shape, index)


@MOVEMENTS.moves("Gather")
def _gather(view: TermView) -> Tensor | None:
    """out[p, q, r] = x[p, indices[q], r]"""
    data, indices = view.operand(0), view.operand(1)
    axis = None if data is None else view.axis(data.rank)
    if data is None or indices is None or axis is None:
        return None
    return _by_pieces(view, data, indices, axis, lambda part, shape: _gathered(view, data, part, axis, shape))


def _by_pieces(
    view: TermView, data: Tensor, indices: Tensor, offset: int, gather: Callable[[Tensor, Shape], Tensor]
) -> Tensor:
    """A gather for each piece of the indices.

    offset  position in the result of the first axis of the indices
    gather  the result for one piece of the indices, in its shape
    """
    if indices.term is not None or data.term is None:
        return gather(indices, view.result_shape)
    axis = offset + indices.axis
    pieces = []
    for length, term in indices.pieces:
        part = view.pool.tensor(indices.dtype, piece_shape(indices.shape, indices.axis, length), term)
        pieces.append((length, view.pool.term_of(gather(part, piece_shape(view.result_shape, axis, length)))))
    return view.pool.pieced(view.dtype, view.result_shape, axis, pieces)


def _gathered(view: TermView, data: Tensor, indices: Tensor, axis: int, shape: Shape) -> Tensor:
    frame = view.pool.frame(shape)
    variables = frame.variables
    term = view.pool.at(indices, variables[axis : axis + indices.rank], frame)
    at = view.pool.index_symbol(term, data.shape[axis], frame)
    index = (*variables[:axis], at, *variables[axis + indices.rank :])
    return rearranged(view.pool, data, view.dtype, shape, index)


@MOVEMENTS.moves("GatherElements")
def _gather_elements(view: TermView) -> Tensor | None:
    """out[i] = x[i with indices[i] on the axis]"""
    data, indices = view.operand(0), view.operand(1)
    axis = None if data is None else view.axis(data.rank)
    if data is None or indices is None or axis is None:
        return None
    index = list(view.frame.variables)
    term = view.pool.at(indices, tuple(index), view.frame)
    index[axis] = view.pool.index_symbol(term, data.shape[axis], view.frame)
    return view.moved(data, index)


@MOVEMENTS.moves("GatherND")
def _gather_nd(view: TermView) -> Tensor | None:
    """out[b, q, r] = x[b, indices[b, q, :], r]"""
    data, indices = view.operand(0), view.operand(1)
    if data is None or indices is None or not isinstance(indices.shape[-1], int):
        return None
    if indices.term is None and indices.axis == indices.rank - 1:
        return _gathered_nd(view, data, indices, view.result_shape)
    return _by_pieces(view, data, indices, 0, lambda part, shape: _gathered_nd(view, data, part, shape))


def _gathered_nd(view: TermView, data: Tensor, indices: Tensor, shape: Shape) -> Tensor:
    batch, columns = view.integer("batch_dims"), indices.shape[-1]
    assert isinstance(columns, int), "the caller has looked"
    frame = view.pool.frame(shape)
    variables = frame.variables
    head = variables[: indices.rank - 1]
    place: list[Dim] = list(variables[:batch])
    for column in range(columns):
        term = view.pool.at(indices, (*head, column), frame)
        place.append(view.pool.index_symbol(term, data.shape[batch + column], frame))
    return rearranged(view.pool, data, view.dtype, shape, (*place, *variables[indices.rank - 1 :]))


@MOVEMENTS.moves("ScatterElements")
@MOVEMENTS.moves("ScatterND")
def _scatter_of_nothing(view: TermView) -> Tensor | None:
    """x itself, where no index is given. Indices [1, 0] of a ScatterND are one: of no axes, that is of all of x."""
    data, indices = view.operand(0), view.operand(1)
    if data is None or indices is None:
        return None
    counts = indices.shape[:-1] if view.node.op_type == "ScatterND" else indices.shape
    return data if any(isinstance(dim, int) and dim == 0 for dim in counts) else None


@MOVEMENTS.moves("ConstantOfShape")
def _constant_of_shape(view: TermView) -> Tensor | None:
    value = view.attr("value")
    constant = None if value is None else read_inline(value)
    if value is None:
        return view.result(view.pool.literal(DType.FLOAT32, 0))
    if constant is None or view.dtype is None:
        return None
    return view.result(view.pool.from_grid(view.dtype, constant.plain.reshape(()), ()))


@MOVEMENTS.moves("Range")
def _range(view: TermView) -> Tensor | None:
    """out[i] = start + i*delta, of integers."""
    start, delta = (_scalar_integer(view, index) for index in (0, 2))
    if start is None or delta is None or view.dtype is None or not view.dtype.is_integer:
        return None
    return view.result(view.pool.integer(view.dtype, start + view.frame.variables[0] * delta))


def _scalar_integer(view: TermView, index: int) -> Dim | None:
    """The integer that an operand of one element is, if it is known."""
    operand = view.operand(index)
    if operand is None:
        return None
    return view.pool.exact_integer(view.pool.at(operand, (0,) * operand.rank, view.frame), view.frame)


@MOVEMENTS.moves("Pad", since=11)
def _pad(view: TermView) -> Tensor | None:
    """The pad value around x, for each axis that is padded."""
    data = view.operand(0)
    pads = view.elements(1)
    if data is None or pads is None or view.dtype is None:
        return None
    if all(isinstance(pad, int) and pad == 0 for pad in pads):
        return data if data.shape == view.result_shape else None
    if view.text("mode", "constant") != "constant":
        return None
    axes = view.integers_of(3) if view.has(3) else tuple(range(data.rank))
    value = view.operand(2) if view.has(2) else None
    if axes is None or (view.has(2) and value is None):
        return None
    for number, axis in enumerate(axes):
        before, after = pads[number], pads[number + len(axes)]
        if before == 0 and after == 0:
            continue
        if not all(known_le(0, pad, view.pool.facts) for pad in (before, after)):
            return None
        shape = list(data.shape)
        parts: list[Tensor] = []
        for size in (before, None, after):
            if size is None:
                parts.append(data)
            elif size != 0:
                shape[axis % data.rank] = size
                filler = (
                    view.pool.at(value, (0,) * value.rank, view.pool.frame(tuple(shape)))
                    if value is not None
                    else view.pool.literal(view.dtype, 0)
                )
                parts.append(view.pool.tensor(view.dtype, tuple(shape), filler))
        shape[axis % data.rank] = before + data.shape[axis % data.rank] + after
        joined = concatenated(view.pool, view.dtype, tuple(shape), axis % data.rank, parts)
        if joined is None:
            return None
        data = joined
    return data if data.shape == view.result_shape else None


_SAMPLED: Final = frozenset(
    ("align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")
)
"""The modes in which each position samples itself if the size stays."""


@MOVEMENTS.moves("Resize", since=11)
def _resize_to_own_size(view: TermView) -> Tensor | None:
    """x itself, where each position samples itself.

    Modes other than "nearest" add the neighbours times 0. So x has to be constant, without infinity, NaN and -0.0.
    """
    data, scales = view.operand(0), view.operand(2)
    is_stretched = view.text("keep_aspect_ratio_policy", "stretch") == "stretch" and not view.integer("antialias")
    if data is None or not is_stretched or data.shape != view.result_shape:
        return None
    if view.text("coordinate_transformation_mode", "half_pixel") not in _SAMPLED:
        return None
    if not view.has(3) and not (scales is not None and is_number(scales.term, 1.0)):
        return None
    mode = view.text("mode", "nearest")
    return data if mode == "nearest" or (mode in ("linear", "cubic") and _is_plain(view, data)) else None


def _is_plain(view: TermView, data: Tensor) -> bool:
    """Whether a tensor is a constant of float32 with finite elements only, and no -0.0."""
    frame = view.pool.frame(data.shape)
    if data.term is None or data.dtype is not DType.FLOAT32 or constant_axes(data.term, frame) is None:
        return False
    bits = grid_of(data.term, range(data.rank), frame)
    return bits is not None and bool(((bits & 0x7F800000) != 0x7F800000).all() and (bits != 0x80000000).all())
