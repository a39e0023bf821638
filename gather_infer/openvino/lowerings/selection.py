"""Selection and search: TopK, NonZero, OneHot, Unique, Bucketize, SearchSorted.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from gather_infer.dialect import InputPrecondition
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, numpy_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import as_int64, known_axis, scalar, single, vector
from gather_infer.openvino.lowerings.type_legalization import FOR_ORDER, FOR_WHERE, TypeLegalization, legalized
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_UNIQUE: Final[TypeLegalization] = {
    DType.BOOL: DType.INT64, DType.INT16: DType.INT64, DType.INT32: DType.INT64, DType.UINT8: DType.INT64,
    DType.UINT16: DType.INT64, DType.UINT32: DType.INT64, DType.UINT64: DType.INT64, DType.FLOAT16: DType.FLOAT32,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
_TESTED: Final = (DType.FLOAT32, DType.INT32, DType.INT64, DType.BOOL, DType.UINT8)
"""Element types for which onnxruntime has a NonZero kernel."""


@lowers("TopK")
def top_k(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """sort/top-k-1, top-k-3, top-k-11: ONNX's TopK.

    Version 3 adds `index_element_type`, version 11 `stable`. Equal elements keep the order of their indices, whether
    `stable` is set or not. With `sort="index"`, a second TopK orders the result by index; "none" allows any order.
    """
    dtype, axis = op.dtype(0), op.integer("axis")
    wide = FOR_ORDER.get(dtype, dtype)
    to = op.type_of("index_element_type", "i32") if op.version >= 3 else DType.INT32
    largest = op.text("mode", choices=("max", "min")) == "max"
    count = g.Reshape(as_int64(op, g, 1), g.i64(1)) if op.ints(1) is None else vector(op, g, 1)
    values, places = g.node("TopK", (g.cast(op.x(0), dtype, wide), count), 2, axis=axis, largest=largest)
    if op.text("sort", "value", choices=("value", "index", "none")) == "index":
        places, order = g.node("TopK", (places, count), 2, axis=axis, largest=False)
        values = g.GatherElements(values, order, axis=axis)
    return g.cast(values, wide, dtype), g.cast(places, DType.INT64, to)


@lowers("NonZero", since=3)
def non_zero(op: LayerView, g: FunctionBuilder) -> str:
    """condition/non-zero-3: ONNX's NonZero, [rank, count] in row-major order."""
    dtype = op.dtype(0)
    found = g.NonZero(op.x(0) if dtype in _TESTED else g.Cast(op.x(0), to=int(DType.BOOL)))
    return g.cast(found, DType.INT64, op.type_of("output_type", "i64"))


_ONE_HOT: Final = (DType.FLOAT32, DType.INT64)
"""Types of results for which onnxruntime has a OneHot of int64 indices and depth."""


@lowers("OneHot")
def one_hot(op: LayerView, g: FunctionBuilder) -> str:
    """sequence/one-hot-1, one-hot-16: OneHot, or Equal and Where.

    indices  [d0, ...]; depth, on_value and off_value have one element each
    output   [d0, ..., depth, ...] with the new dim at `axis`; only off_value along it for an index out of range

    From version 16 on, `negative_indices_mode="normalize"` counts negative indices from the end. ONNX's OneHot always
    counts them from the end: without this mode, indices that may be negative are compared with 0, 1, ..., depth - 1.
    """
    dtype, rank = op.dtype(2), op.rank(0) + 1
    axis, indices, depth = op.normalized_axis(op.integer("axis"), rank), as_int64(op, g, 0), scalar(op, g, 1)
    mode = op.text("negative_indices_mode", "ignore_negative", choices=("ignore_negative", "normalize"))
    is_normalized = op.version >= 16 and mode == "normalize"
    # a cast to int64 makes a uint64 of 2^63 and more negative
    if is_normalized or (op.is_non_negative(0) and op.dtype(0) is not DType.UINT64):
        pair = _off_and_on(op, g)
        if pair is not None:
            return g.OneHot(indices, depth, pair, axis=axis)
    if is_normalized:
        indices = g.Where(g.Less(indices, g.scalar(0, DType.INT64)), g.Add(indices, depth), indices)
    classes = g.Range(g.scalar(0, DType.INT64), depth, g.scalar(1, DType.INT64))
    here = g.Equal(g.unsqueeze(indices, axis), g.unsqueeze(classes, *range(1, rank - axis)))
    return legalized(
        g, dtype, lambda on, off: g.Where(here, on, off), single(op, g, 2), single(op, g, 3), by=FOR_WHERE
    )  # fmt: skip


def _off_and_on(op: LayerView, g: FunctionBuilder) -> str | None:
    """The vector of off_value and on_value for ONNX's OneHot; None if they or a positive depth are not constant.

    None too for a type without a kernel in onnxruntime.
    """
    dtype, depth, on, off = op.dtype(2), op.ints(1), op.array(2), op.array(3)
    if dtype not in _ONE_HOT or depth is None or on is None or off is None:
        return None
    if len(depth) != 1 or depth[0] < 1 or on.size != 1 or off.size != 1:
        return None
    return g.const(np.concatenate([off.ravel(), on.ravel()]), numpy_of(dtype))


@lowers("Unique", since=10)
def unique(op: LayerView, g: FunctionBuilder) -> Sequence[str]:
    """movement/unique-10: Unique of all elements, or of slices along an axis, then Cast of the indices and counts."""
    dtype = op.dtype(0)
    wide = _UNIQUE.get(dtype, dtype)
    axis = known_axis(op, 1) if op.has(1) else None
    x = g.cast(op.x(0), dtype, wide)
    found = g.node("Unique", (x,), 4, axis=axis, sorted=op.flag("sorted", True))
    place, count = op.type_of("index_element_type", "i64"), op.type_of("count_element_type", "i64")
    types = (place, place, count)
    return [
        g.cast(found[0], wide, dtype),
        *(g.cast(x, DType.INT64, to) for x, to in zip(found[1:], types, strict=True)),
    ]


@lowers("Bucketize", since=3, preconditions={1: InputPrecondition(is_ascending=True)})
def bucketize(op: LayerView, g: FunctionBuilder) -> str:
    """condition/bucketize-3: a comparison with every boundary, then ReduceSum.

    data     [d0, ...]
    buckets  [n], the boundaries, ascending
    output   [d0, ...], the number of boundaries below each element; without `with_right_bound`, below or equal to it
    """
    wide = _comparable(op.dtype(0), op.dtype(1))
    data, ends = (g.cast(op.x(i), op.dtype(i), wide) for i in (0, 1))
    kind = "Greater" if op.flag("with_right_bound", True) else "GreaterOrEqual"
    return _counted_true(op, g, g.node(kind, (g.unsqueeze(data, -1), ends))[0], op.rank(0))


@lowers("SearchSorted", since=15, preconditions={0: InputPrecondition(is_ascending=True)})
def search_sorted(op: LayerView, g: FunctionBuilder) -> str:
    """sort/search-sorted-15: a comparison with every sorted element, then ReduceSum.

    sorted   [..., n], or [n] for values of any shape
    values   [..., m]
    output   [..., m], the number of sorted elements that are less than each value; in `right_mode`, less or equal
    """
    wide = _comparable(op.dtype(0), op.dtype(1))
    ordered, values = (g.cast(op.x(i), op.dtype(i), wide) for i in (0, 1))
    kind = "LessOrEqual" if op.flag("right_mode", False) else "Less"
    ordered = ordered if op.rank(0) == 1 else g.unsqueeze(ordered, -2)
    return _counted_true(op, g, g.node(kind, (ordered, g.unsqueeze(values, -1)))[0], op.rank(1))


def _comparable(first: DType, second: DType) -> DType:
    """The element type in which elements of types `first` and `second` are compared."""
    if first is second and first is not DType.BFLOAT16:
        return first
    return DType.FLOAT64 if first.is_float or second.is_float else DType.INT64


def _counted_true(op: LayerView, g: FunctionBuilder, flags: str, axis: int) -> str:
    """The number of true `flags` along `axis`, in the layer's `output_type`; the result does not have this axis."""
    count = g.ReduceSum(g.Cast(flags, to=int(DType.INT64)), g.i64(axis), keepdims=0)
    return g.cast(count, DType.INT64, op.type_of("output_type", "i64"))


@lowers("SparseFillEmptyRows", since=16)
def sparse_fill_empty_rows(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """sparse/sparse-fill-empty-rows-16: NonZero of the empty rows, Concat, and a TopK that sorts by row.

    inputs   values [n]; shape [2] of a sparse matrix; indices [n, 2], the row and column of each value; default value
    outputs  indices [m, 2] and values [m], ordered by row; flags [rows] of the rows that were empty

    An empty row gets the default value in its first column.
    """
    dense, indices = as_int64(op, g, 1), as_int64(op, g, 2)
    zero, one = g.scalar(0, DType.INT64), g.scalar(1, DType.INT64)
    rows = g.squeeze(g.Slice(indices, g.i64(0), g.i64(1), g.i64(1)), 1)
    height = g.Slice(dense, g.i64(0), g.i64(1), g.i64(0))
    none = g.Expand(zero, height)
    counts = g.ScatterElements(none, rows, g.Expand(one, g.Shape(rows)), axis=0, reduction="add")
    empty = g.Equal(counts, zero)
    added = g.transpose(g.NonZero(empty), [1, 0])
    pairs = g.Concat(indices, g.Concat(added, g.Mul(added, zero), axis=1), axis=0)
    all_rows = g.squeeze(g.Slice(pairs, g.i64(0), g.i64(1), g.i64(1)), 1)
    default = g.Expand(single(op, g, 3), g.dim(added, 0))
    values = g.Concat(op.x(0), default, axis=0)
    # a stable sort by row: TopK of all elements
    _, order = g.node("TopK", (all_rows, g.Shape(all_rows)), 2, axis=0, largest=False)
    chosen = g.cast(g.Gather(pairs, order, axis=0), DType.INT64, op.dtype(2))
    return chosen, g.Gather(values, order, axis=0), empty
