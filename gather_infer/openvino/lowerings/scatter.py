"""Scatter operators: updates written to indexed positions, by ScatterElements and ScatterND.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/
"""

from __future__ import annotations

from math import inf
from typing import Final

from gather_infer.dialect import AxisSize, InputPrecondition
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, range_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import as_int64, iota, known_axis, vector
from gather_infer.openvino.lowerings.type_legalization import FOR_WHERE, TypeLegalization, legalized
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_INDICES: Final = (DType.INT32, DType.INT64)
_REDUCED: Final[TypeLegalization] = {
    DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32, DType.BOOL: DType.INT32,
}  # fmt: skip
_IN_AXIS: Final = {1: InputPrecondition(0, AxisSize(0, axis_input=3), margin=1)}
_FROM_END: Final = {1: InputPrecondition(0, AxisSize(0, axis_input=3), margin=1, from_end=True, is_enforced=False)}
_TUPLES: Final = {1: InputPrecondition(0, AxisSize(0, by_component=True), margin=1, from_end=True)}
_REDUCTIONS: Final = {"none": "none", "sum": "add", "prod": "mul", "min": "min", "max": "max", "mean": "add"}


def _positions(op: LayerView, g: FunctionBuilder, index: int) -> str:
    return op.x(index) if op.dtype(index) in _INDICES else as_int64(op, g, index)


@lowers("ScatterElementsUpdate", since=3, preconditions=_FROM_END)
def scatter_elements(op: LayerView, g: FunctionBuilder) -> str:
    """scatter-elements-update-3: ONNX's ScatterElements, with the axis from the fourth input."""
    return _elements(op, g)


def _elements(op: LayerView, g: FunctionBuilder) -> str:
    return g.ScatterElements(op.x(0), _positions(op, g, 1), op.x(2), axis=known_axis(op, 3))


@lowers("ScatterElementsUpdate", since=12, preconditions=_FROM_END)
def scatter_elements_reduced(op: LayerView, g: FunctionBuilder) -> str:
    """scatter-elements-update-12: ScatterElements with `reduction`; `use_init_val` includes the initial element.

    ONNX has no reduction `mean`: sums are divided by counts, and integer means are truncated. ONNX always includes the
    initial element: to exclude it, the neutral element of the reduction is written first.
    """
    reduction = op.text("reduction", "none", choices=tuple(_REDUCTIONS))
    if reduction == "none":
        return _elements(op, g)
    dtype, axis, places = op.dtype(0), known_axis(op, 3), _positions(op, g, 1)
    wide, counts = _REDUCED.get(dtype, dtype), op.flag("use_init_val", True)

    def combined(x: str, updates: str) -> str:
        shape = g.Shape(updates)
        if not counts:
            neutral = g.Expand(g.scalar(_neutral(reduction, wide), wide), shape)
            x = g.ScatterElements(x, places, neutral, axis=axis)
        made = g.ScatterElements(x, places, updates, axis=axis, reduction=_REDUCTIONS[reduction])
        if reduction != "mean":
            return made
        start = g.Expand(g.scalar(counts, wide), g.Shape(x))
        ones = g.Expand(g.scalar(1, wide), shape)
        number = g.ScatterElements(start, places, ones, axis=axis, reduction="add")
        return g.Div(made, g.Max(number, g.scalar(1, wide)))

    return legalized(g, dtype, combined, op.x(0), op.x(2), by=_REDUCED)


def _neutral(reduction: str, dtype: DType) -> float:
    if reduction in ("sum", "mean"):
        return 0
    if reduction == "prod":
        return 1
    if dtype.is_float:
        return inf if reduction == "min" else -inf
    least, most = range_of(dtype)
    return most if reduction == "min" else least


@lowers("ScatterNDUpdate", since=3, preconditions=_TUPLES)
def scatter_nd(op: LayerView, g: FunctionBuilder) -> str:
    """scatter-nd-update-3: ONNX's ScatterND."""
    return g.ScatterND(op.x(0), as_int64(op, g, 1), op.x(2))


@lowers("ScatterNDUpdate", since=15, preconditions=_TUPLES)
def scatter_nd_reduced(op: LayerView, g: FunctionBuilder) -> str:
    """scatter-nd-update-15: ScatterND with `reduction`; `sub`, which ONNX lacks, adds the negated updates."""
    reduction = op.text("reduction", "none", choices=("none", "sum", "sub", "prod", "min", "max"))
    if reduction == "none":
        return g.ScatterND(op.x(0), as_int64(op, g, 1), op.x(2))
    dtype = op.dtype(0)
    places, wide = as_int64(op, g, 1), _REDUCED.get(dtype, dtype)

    def combined(x: str, updates: str) -> str:
        given = g.Sub(g.scalar(0, wide), updates) if reduction == "sub" else updates
        return g.ScatterND(x, places, given, reduction=_REDUCTIONS.get(reduction, "add"))

    return legalized(g, dtype, combined, op.x(0), op.x(2), by=_REDUCED)


@lowers("ScatterUpdate", since=3, preconditions=_IN_AXIS)
def scatter_update(op: LayerView, g: FunctionBuilder) -> str:
    """scatter-update-3: ScatterND on data whose axis is moved to the front by Transpose.

    data     [d0, ..., dr-1]
    indices  [i0, ..., iq-1]
    updates  [d0, ..., d(axis-1), i0, ..., iq-1, d(axis+1), ..., dr-1]
    """
    rank, q = op.rank(0), op.rank(1)
    axis = known_axis(op, 3)
    order = [axis, *range(axis), *range(axis + 1, rank)]
    updates = g.transpose(op.x(2), [*range(axis, axis + q), *range(axis), *range(axis + q, q + rank - 1)])
    places = g.unsqueeze(as_int64(op, g, 1), -1)
    made = g.ScatterND(g.transpose(op.x(0), order), places, updates)
    return g.transpose(made, [order.index(i) for i in range(rank)])


@lowers("SliceScatter", since=15)
def slice_scatter(op: LayerView, g: FunctionBuilder) -> str:
    """slice-scatter-15: ScatterElements on flattened data; a Slice of the element numbers gives the positions."""
    x = op.x(0)
    axes = vector(op, g, 5) if op.has(5) else ""
    if not axes and (count := op.size(2, 0)) is not None:
        axes = g.i64(*range(count))
    shape = g.Shape(x)
    numbered = g.Reshape(iota(g, g.Shape(g.as_vector(x))), shape, allowzero=1)
    places = g.Slice(numbered, vector(op, g, 2), vector(op, g, 3), axes, vector(op, g, 4))
    made = g.ScatterElements(g.as_vector(x), g.as_vector(places), g.as_vector(op.x(1)), axis=0)
    return g.Reshape(made, shape, allowzero=1)


@lowers("SegmentMax", since=16, preconditions={1: InputPrecondition(0, is_ascending=True)})
def segment_max(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/segment-max-16: ScatterND with the reduction max.

    data          [n, d1, ...]
    segment_ids   [n], ascending
    num_segments  scalar, by default the last id + 1; ids that are not below it are ignored
    output        [num_segments, d1, ...]; an empty segment holds 0 or the lowest number of the type, by `fill_mode`
    """
    dtype = op.dtype(0)
    wide, ids = _REDUCED.get(dtype, dtype), as_int64(op, g, 1)
    if op.has(2):
        segments = g.Reshape(as_int64(op, g, 2), g.i64(1))
    else:
        segments = g.ReduceMax(g.Concat(g.Add(ids, g.scalar(1, DType.INT64)), g.i64(0), axis=0), g.i64(0), keepdims=1)
    # rows with ignored ids are written to an extra segment, which is cut off
    spare = g.Add(segments, g.i64(1))
    places = g.unsqueeze(g.Min(ids, segments), 1)
    behind = [g.dims(op.x(0), 1)] if op.rank(0) > 1 else []

    def largest(x: str) -> str:
        low = g.Expand(g.scalar(_lowest(dtype), wide), g.concat(spare, *behind))
        made = g.Slice(g.ScatterND(low, places, x, reduction="max"), g.i64(0), segments, g.i64(0))
        if op.text("fill_mode", choices=("zero", "lowest")) == "lowest":
            return made
        none = g.Expand(g.scalar(0, DType.INT64), spare)
        ones = g.Expand(g.scalar(1, DType.INT64), g.Shape(ids))
        counts = g.Slice(g.ScatterND(none, places, ones, reduction="add"), g.i64(0), segments, g.i64(0))
        empty = g.unsqueeze(g.Equal(counts, g.scalar(0, DType.INT64)), *range(1, op.rank(0)))
        return legalized(
            g, wide, lambda m: g.Where(empty, g.scalar(0, FOR_WHERE.get(wide, wide)), m), made, by=FOR_WHERE
        )

    return legalized(g, dtype, largest, op.x(0), by=_REDUCED)


def _lowest(dtype: DType) -> float:
    finite = {DType.FLOAT16: -65504.0, DType.FLOAT64: -1.7976931348623157e308}
    return finite.get(dtype, -3.4028234663852886e38) if dtype.is_float else range_of(dtype)[0]
