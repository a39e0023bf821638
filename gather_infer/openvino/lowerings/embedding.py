"""Embedding bags: sums or means of table rows, by Gather and ScatterND.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from typing import Final

from gather_infer.dialect import AxisSize, InputPrecondition
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.tensor_idioms import END, as_int64, axis_slice
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_SUMMED: Final = {
    DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32, DType.INT8: DType.INT32, DType.UINT8: DType.INT32,
    DType.INT16: DType.INT32, DType.UINT16: DType.INT32, DType.UINT32: DType.INT64, DType.UINT64: DType.INT64,
}  # fmt: skip
"""Computation types for sums, for the types without a kernel in onnxruntime; casting back gives the same sums."""

_ROWS: Final = InputPrecondition(0, AxisSize(0), margin=1)
_SOME_ROWS: Final = _ROWS._replace(may_skip=True)
_DEFAULT: Final = _SOME_ROWS._replace(lower=-1, ignored=-1)
_OFFSETS: Final = {
    1: _SOME_ROWS,
    2: InputPrecondition(0, AxisSize(1), margin=1, is_ascending=True, clause="offsets ascend"),
    3: _DEFAULT,
}
_SEGMENTS: Final = {1: _SOME_ROWS, 2: InputPrecondition(0, is_ascending=True, is_enforced=False), 4: _DEFAULT}


@lowers("EmbeddingBagOffsetsSum", since=3, preconditions=_OFFSETS)
@lowers("EmbeddingBagOffsets", since=15, preconditions=_OFFSETS)
def bag_offsets(op: LayerView, g: FunctionBuilder) -> str:
    """sparse/embedding-bag-offsets-sum-3, embedding-bag-offsets-15: Gather, then ScatterND with addition.

    emb_table            [num_emb, ...]
    indices              [num_indices], rows of the table
    offsets              [batch], the position in `indices` where each bag begins, ascending
    default_index        optional, the row of the table for an empty bag; zeros without it, and for -1
    per_sample_weights   [num_indices], optional
    result               [batch, ...], the sum or mean of the rows of each bag
    """
    offsets = as_int64(op, g, 2)
    one = g.Expand(g.i64(1), g.Shape(offsets))
    spots = g.Expand(g.i64(0), g.Add(g.dim(op.x(1), 0), g.i64(1)))
    begins = g.ScatterElements(spots, offsets, one, axis=0, reduction="add")
    bags = axis_slice(g, g.CumSum(begins, g.scalar(0, DType.INT64)), 0, -1, 0)  # 1-based; 0: before all bags
    summed, size = _add_up(op, g, bags, g.Add(g.Shape(offsets), g.i64(1)), weights=4)
    return _finish(op, g, axis_slice(g, summed, 1, END, 0), axis_slice(g, size, 1, END, 0), default=3)


@lowers("EmbeddingSegmentsSum", since=3, preconditions=_SEGMENTS)
def segments(op: LayerView, g: FunctionBuilder) -> str:
    """sparse/embedding-segments-sum-3: Gather, then ScatterND with addition.

    emb_table            [num_emb, ...]
    indices              [num_indices], rows of the table
    segment_ids          [num_indices], ascending; ids that are not below num_segments are ignored
    num_segments         scalar
    default_index        optional, the row of the table for an empty segment; zeros without it, and for -1
    per_sample_weights   [num_indices], optional
    result               [num_segments, ...], the sum of the rows of each segment
    """
    number = g.as_vector(as_int64(op, g, 3))
    known = op.ints(3)
    if known is not None and known:
        number = g.i64(known[0])
    bags = g.Min(as_int64(op, g, 2), number)
    summed, size = _add_up(op, g, bags, g.Add(number, g.i64(1)), weights=5)
    kept = [g.Slice(one, g.i64(0), number, g.i64(0)) for one in (summed, size)]
    return _finish(op, g, kept[0], kept[1], default=4)


@lowers("EmbeddingBagPackedSum", since=3, preconditions={1: _ROWS})
@lowers("EmbeddingBagPacked", since=15, preconditions={1: _ROWS})
def bag_packed(op: LayerView, g: FunctionBuilder) -> str:
    """sparse/embedding-bag-packed-sum-3, embedding-bag-packed-15: Gather, then ReduceSum or ReduceMean.

    emb_table            [num_emb, ...]
    indices              [batch, indices_per_bag], rows of the table
    per_sample_weights   [batch, indices_per_bag], optional
    result               [batch, ...], the sum or mean of the rows of each bag
    """
    rows, dtype = _rows(op, g, weights=2)
    reduce = "ReduceMean" if _is_mean(op) else "ReduceSum"
    return g.cast(g.node(reduce, (rows, g.i64(1)), keepdims=0)[0], dtype, op.dtype(0))


def _is_mean(op: LayerView) -> bool:
    return op.text("reduction", "sum", choices=("sum", "mean")) == "mean"


def _rows(op: LayerView, g: FunctionBuilder, *, weights: int) -> tuple[str, DType]:
    """The table rows that the indices select, times the weights in input `weights` if given; and their element type.

    The rows are cast to an element type for which onnxruntime has a kernel for sums.
    """
    dtype = _SUMMED.get(op.dtype(0), op.dtype(0))
    rows = g.cast(g.Gather(op.x(0), as_int64(op, g, 1), axis=0), op.dtype(0), dtype)
    if op.has(weights):
        behind = range(op.rank(1), op.rank(1) + op.rank(0) - 1)
        rows = g.Mul(rows, g.unsqueeze(g.cast(op.x(weights), op.dtype(weights), dtype), *behind))
    return rows, dtype


def _add_up(op: LayerView, g: FunctionBuilder, bags: str, number: str, *, weights: int) -> tuple[str, str]:
    """The sum of the rows of each bag, [number, ...], and how many rows each bag has, [number, 1, ...].

    bags      [num_indices], the bag that each index belongs to
    number    number of bags, int64 vector of one element
    weights   position of the input with the weights
    """
    rows, dtype = _rows(op, g, weights=weights)
    to = g.unsqueeze(bags, 1)
    zeros = g.Expand(g.scalar(0, dtype), g.concat(number, g.dims(op.x(0), 1)) if op.rank(0) > 1 else number)
    summed = g.ScatterND(zeros, to, rows, reduction="add")
    ones = g.Expand(g.scalar(1, DType.INT64), g.Shape(bags))
    size = g.ScatterND(g.Expand(g.scalar(0, DType.INT64), number), to, ones, reduction="add")
    return summed, g.unsqueeze(size, *range(1, op.rank(0)))


def _finish(op: LayerView, g: FunctionBuilder, summed: str, size: str, *, default: int) -> str:
    """The result, in the type of the table, from the sum and the number of rows of each bag.

    The attribute `reduction` may request means. Empty bags get the default row.

    default   position of the input default_index
    """
    dtype = _SUMMED.get(op.dtype(0), op.dtype(0))
    if _is_mean(op):
        summed = g.Div(summed, g.Cast(g.Max(size, g.scalar(1, DType.INT64)), to=dtype))
    result = g.cast(summed, dtype, op.dtype(0))
    row = _default(op, g, default)
    return g.Where(g.Equal(size, g.scalar(0, DType.INT64)), row, result) if row else result


def _default(op: LayerView, g: FunctionBuilder, default: int) -> str | None:
    """The row of the table for empty bags, by input `default`, the default_index; None for zeros."""
    if not op.has(default):
        return None
    index, known = g.Reshape(as_int64(op, g, default), g.i64(1)), op.ints(default)
    if known is not None:
        return g.Gather(op.x(0), index, axis=0) if known and known[0] != -1 else None
    zero = g.scalar(0, DType.INT64)
    row = g.Gather(op.x(0), g.Max(index, zero), axis=0)
    is_given = g.unsqueeze(g.GreaterOrEqual(index, zero), *range(1, op.rank(0)))
    return g.Where(is_given, row, g.scalar(0, op.dtype(0)))
