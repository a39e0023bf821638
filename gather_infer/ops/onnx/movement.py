"""Rules of data movement: Transpose, DepthToSpace, SpaceToDepth, ReverseSequence, Trilu, Compress."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import check_lengths, describe
from gather_infer.ops.semantics.operands import Values, moved, replaced, tracked_values, values_or_unknown, zero_of
from gather_infer.ops.semantics.preconditions import (
    known_value,
    normalize_axis,
    require_divisible,
    require_min_rank,
    require_rank,
)
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, floordiv, known_eq, known_le, product
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange
from gather_infer.value_ranges import explicit_range, hull

rules = RuleSet("")


@rules.rule("Transpose", since=1, moves=0, permutes=True)
def onnx_transpose(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Transpose.html

    data [d0, ..., dr-1] -> [d(perm[0]), ..., d(perm[r-1])]
    """
    return [transpose(op, op.tensor(0), op.attr("perm"))]


def transpose(op: OpCall, data: SymbolicTensor, perm: Sequence[int] | None) -> SymbolicTensor:
    """`data` with its axes permuted; the order of axes is reversed when `perm` is None.

    data    [d0, ..., dr-1]
    perm    a permutation of 0 ... r-1
    result  [d(perm[0]), ..., d(perm[r-1])]

    Raises SpecViolation when `perm` is not a permutation of the axes.
    """
    if perm is not None and sorted(perm) != list(range(len(perm))):
        raise SpecViolation(f"perm must be a permutation of 0 to {len(perm) - 1}, is {list(perm)}")
    if data.shape is None:
        return moved(op, data, None if perm is None else tuple(op.fresh("the input has no known rank") for _ in perm))
    order = range(len(data.shape))[::-1] if perm is None else perm
    if len(order) != len(data.shape):
        raise SpecViolation(f"perm must have {len(data.shape)} elements, one per axis of data, has {len(order)}")
    values = None if data.values is None else data.values.transpose(tuple(order))
    return moved(op, data, tuple(data.shape[axis] for axis in order), values)


@rules.rule("DepthToSpace", since=1, moves=0, permutes=True)
def onnx_depth_to_space(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__DepthToSpace.html (version 11 adds mode)

    data    [N, C, H, W], C a multiple of blocksize**2
    result  [N, C / blocksize**2, H * blocksize, W * blocksize]
    """
    data, block = op.tensor(0), _blocksize(op)
    if data.shape is None:
        return [moved(op, data, _unknown_image(op))]
    n, c, h, w = _image(data.shape)
    require_divisible(op, c, block * block, "the channels of the input")
    return [moved(op, data, (n, floordiv(c, block * block, op.scope), h * block, w * block))]


@rules.rule("SpaceToDepth", since=1, moves=0, permutes=True)
def onnx_space_to_depth(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html

    data    [N, C, H, W], H and W multiples of blocksize
    result  [N, C * blocksize**2, H / blocksize, W / blocksize]
    """
    data, block = op.tensor(0), _blocksize(op)
    if data.shape is None:
        return [moved(op, data, _unknown_image(op))]
    n, c, h, w = _image(data.shape)
    require_divisible(op, h, block, "the height of the input")
    require_divisible(op, w, block, "the width of the input")
    return [moved(op, data, (n, c * (block * block), floordiv(h, block, op.scope), floordiv(w, block, op.scope)))]


def _blocksize(op: OpCall) -> int:
    block = op.attr("blocksize")
    if not isinstance(block, int) or block < 1:
        raise SpecViolation(f"blocksize must be >= 1, is {block}")
    return block


def _image(shape: Shape) -> Shape:
    require_rank(shape, 4, "the input")
    return shape


def _unknown_image(op: OpCall) -> Shape:
    return tuple(op.fresh("the input has no known rank") for _ in range(4))


@rules.rule("ReverseSequence", since=10, moves=0, permutes=True, addresses={1: 0})
def onnx_reverse_sequence(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ReverseSequence.html

    data           [d0, d1, ..., dr-1], r >= 2: time_axis and batch_axis are 0 and 1, or 1 and 0
    sequence_lens  [d(batch_axis)], each from 0 to d(time_axis)
    result         [d0, d1, ..., dr-1]
    """
    data, lengths = op.tensor(0), op.tensor(1)
    batch, time = op.attr("batch_axis", 1), op.attr("time_axis", 0)
    if {batch, time} != {0, 1}:
        raise SpecViolation(f"batch_axis and time_axis must be 0 and 1 or 1 and 0, are {batch} and {time}")
    shape = require_min_rank(data.shape, 2, "the input")
    require_rank(lengths.shape, 1, "sequence_lens")
    if shape is not None:
        check_lengths(op, 1, shape[time], axis=time, data=describe(data, "data"))
    if shape is not None and lengths.shape is not None:
        size = op.require_equal(shape[batch], lengths.shape[0], "the batch dim and the length of sequence_lens")
        shape = replaced(shape, batch, size)
    return [moved(op, data, shape)]


@rules.rule("Trilu", since=14)
def onnx_trilu(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Trilu.html

    input [..., rows, columns], k -> element type and shape of input
    """
    k = known_value(op.tensor(1)) if op.has(1) else 0
    return [trilu(op, op.tensor(0), k, is_upper=op.attr("upper", 1) != 0)]


def trilu(op: OpCall, data: SymbolicTensor, k: Dim | None, *, is_upper: bool) -> SymbolicTensor:
    """`data` with zeros below diagonal `k` of its last two axes if `is_upper`, else above it.

    data    [..., rows, columns]
    k       0 for the main diagonal, positive above it; None when unknown
    result  shape of data

    Raises SpecViolation when the rank of data is below 2.
    """
    shape = require_min_rank(data.shape, 2, "the input")
    values: Values | None = None
    zero = zero_of(data.dtype)
    if isinstance(k, int) and zero is not None and (known := values_or_unknown(data)) is not None and known.ndim >= 2:
        rows, columns = known.shape[-2:]
        row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
        k = min(max(k, -rows), columns)
        is_kept = column - row >= k if is_upper else column - row <= k
        values = tracked_values(np.where(np.broadcast_to(is_kept, known.shape), known, zero).astype(object), shape)
    span = explicit_range(data, op.scope)
    if data.dtype is DType.BOOL:
        span = span if span is not None and span.hi == 0 else None
    elif span is not None:
        span = hull(span, ValueRange(0, 0), scope=op.scope)
    return SymbolicTensor(data.dtype, shape, values, span)


@rules.rule("Compress", since=9, moves=0)
def onnx_compress(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Compress.html (version 11: axis may be negative)"""
    return [compress(op, op.tensor(0), op.tensor(1), axis=op.attr("axis"))]


def compress(op: OpCall, data: SymbolicTensor, condition: SymbolicTensor, *, axis: int | None) -> SymbolicTensor:
    """The slices along `axis` where `condition` is true; elements of the flattened data when axis is None.

    data       [d0, ..., dr-1], r >= 1
    condition  [c], bool; c may be smaller than the dim at axis
    result     the dims of data with n at axis, or [n] when axis is None; n is the number of true elements

    Raises SpecViolation when `axis` is outside [-r, r-1] or `condition` does not have rank 1.
    """
    require_rank(condition.shape, 1, "condition")
    require_min_rank(data.shape, 1, "the input")
    if data.shape is None:
        count = op.fresh("the condition depends on data")
        return moved(op, data, (count,) if axis is None else None)
    dim = product(data.shape) if axis is None else data.shape[normalize_axis(axis, len(data.shape))]
    at = None if axis is None else axis % len(data.shape)
    picked = _true_positions(condition)
    if picked is None or (picked and known_le(picked[-1] + 1, dim, op.scope) is not True):
        length = _at_most(op, dim, condition.shape)
        return moved(op, data, (length,) if at is None else replaced(data.shape, at, length))
    shape = (len(picked),) if at is None else replaced(data.shape, at, len(picked))
    values = None
    if data.values is not None:
        source = data.values.reshape(-1) if at is None else data.values
        values = np.take(source, np.asarray(picked, dtype=np.intp), 0 if at is None else at)
    return moved(op, data, shape, values)


def _true_positions(condition: SymbolicTensor) -> list[int] | None:
    if condition.values is None or any(value is None for value in condition.values.flat):
        return None
    return [i for i, value in enumerate(condition.values.flat) if value]


def _at_most(op: OpCall, dim: Dim, condition: Shape | None) -> Dim:
    """A new symbol for the number of true elements: at most `dim` and the dim in `condition`; 0 if either is 0."""
    if any(known_eq(length, 0, op.scope) is True for length in (dim, *(condition or ()))):
        return 0
    size = op.fresh("the number of true elements depends on data")
    op.add_fact(dim - size)
    if condition is not None:
        op.add_fact(condition[0] - size)
    return size
