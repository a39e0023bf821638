"""The gather family: Gather, GatherElements, GatherND, GatherTree.

Out of bounds, OpenVINO's Gather returns zeros and ONNX's fails. The lowering masks indices that are not proved in
bounds: it clamps them and selects zeros by Where, or gathers from a table with an added row of zeros.
Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/ movement/gather-*
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from gather_infer.dialect import AxisSize, InputPrecondition, LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FAR, FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import FOR_MIN_MAX, legalized
from gather_infer.symbolic import known_le, product
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

MOVED_AS: Final[Mapping[DType, DType]] = {
    DType.UINT4: DType.UINT8, DType.INT4: DType.INT8, DType.FLOAT8E4M3FN: DType.FLOAT16,
    DType.FLOAT8E5M2: DType.FLOAT16,
}  # fmt: skip
"""Maps an element type that ONNX's gather operators do not take to the type that data are cast to, which is exact."""

SELECTED_AS: Final[Mapping[DType, DType]] = {
    DType.INT16: DType.INT32, DType.UINT16: DType.INT32, DType.UINT64: DType.INT64, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""Computation types for Where, for types without a Where kernel in onnxruntime."""

_UNSIGNED: Final = frozenset((DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64))
_WHERE_SINCE, _FROM_END_SINCE, _CLIP_SINCE, _BATCHED_SINCE, _BFLOAT16_SINCE, _ALLOWZERO_SINCE = 9, 11, 12, 12, 13, 14
"""First ai.onnx opsets with, in this order: Where, negative indices in Gather, integers in Clip, batch_dims of
GatherND, bfloat16, allowzero of Reshape.
"""
_PADDED_SINCE = 13
"""First ai.onnx opset with Slice and Pad, their bounds as inputs, of integers and booleans."""


@lowers("Gather", since=1, opset=1)
def gather_1(op: LayerView, g: FunctionBuilder) -> str:
    """gather-1: Gather with the axis as an input. Negative indices are undefined; OpenVINO returns zeros for them."""
    return _gather(op, g, batch_dims=0, from_end=False)


@lowers("Gather", since=7, opset=1)
def gather_7(op: LayerView, g: FunctionBuilder) -> str:
    """gather-7: Gather with batch_dims, by GatherND."""
    return _gather(op, g, batch_dims=op.integer("batch_dims", 0), from_end=False)


@lowers("Gather", since=8, opset=1)
def gather_8(op: LayerView, g: FunctionBuilder) -> str:
    """gather-8: Gather where negative indices count from the end, and indices out of bounds give zeros."""
    return _gather(op, g, batch_dims=op.integer("batch_dims", 0), from_end=True)


def _gather(op: LayerView, g: FunctionBuilder, *, batch_dims: int, from_end: bool) -> str:
    """The gathered tensor, of shape data[:axis] + indices[batch_dims:] + data[axis + 1:].

    batch_dims   a negative number counts from rank(indices)
    from_end     negative indices count from the end of the axis; otherwise they are out of bounds
    """
    dtype = _data_type(op, g)
    is_signed = op.dtype(1) not in _UNSIGNED  # a uint64 past int64 would become negative in the cast
    if batch_dims < 0 and op.has_rank(1):
        batch_dims += op.rank(1)

    def write(data: str) -> str:
        one = _Gather(op, g, data, MOVED_AS.get(dtype, dtype), batch_dims, from_end and is_signed)
        axis = one.axis()
        if axis is not None and batch_dims == 0:
            return one.plain(axis)
        if axis is not None and op.has_rank(0) and op.has_rank(1):
            return one.batched(axis)
        return one.general()

    return legalized(g, dtype, write, op.x(0), by=MOVED_AS)


def _data_type(op: LayerView, g: FunctionBuilder) -> DType:
    """The element type of input 0, the data. Raises LoweringRefused if the opset of `g` does not have the type."""
    dtype = op.dtype(0)
    if dtype is DType.BFLOAT16:
        g.require_opset(_BFLOAT16_SINCE, "data of type bfloat16")
    if dtype in MOVED_AS:
        g.require_opset(21 if dtype in (DType.UINT4, DType.INT4) else 19, f"data of type {op.element(0)}")
    return dtype


@dataclass(frozen=True, slots=True)
class _Gather:
    """Builder of the nodes for one Gather layer.

    data        name of the data (the table that rows are gathered from), cast to a type that ONNX's gathers take
    dtype       element type of `data`
    batch_dims  >= 0, or negative (counted from the rank of indices) where that rank is unknown
    from_end    negative indices count from the end of the axis; otherwise they are out of bounds
    """

    op: LayerView
    g: FunctionBuilder
    data: str
    dtype: DType
    batch_dims: int
    from_end: bool

    def axis(self) -> int | None:
        """The axis, normalized to >= 0 if the rank of data is known; None for an axis that is computed at run time."""
        found = self.op.ints(2)
        if found is None:
            return None
        if len(found) != 1:
            raise SpecViolation(f"axis must have one element, has {len(found)}", "GI305")
        return self.op.normalized_axis(found[0], self.op.rank(0)) if self.op.has_rank(0) else found[0]

    def plain(self, axis: int) -> str:
        """The result without batch dims: ONNX's Gather along `axis`, with out-of-bounds indices masked if necessary."""
        op, g = self.op, self.g
        if not op.mask_out_of_bounds:
            return g.Gather(self.data, self.index(axis), axis=axis)
        if op.has_rank(0) and op.is_positive(0, axis):
            index, inside = self.clamped_indices(axis)
            return self.masked(g.Gather(self.data, index, axis=axis), inside, op.rank(0) - 1 - axis)
        single = self.known_index()
        if single is not None and op.has_rank(0):
            return self.sliced(axis, single)
        if self.prefers_row_copy(axis):
            return self.gather_masked(axis)
        after = None if axis == -1 else axis + 1
        row = [g.i64(1)]
        if axis != 0:
            row.insert(0, g.dims(self.data, 0, axis))
        if after is not None:
            row.append(g.dims(self.data, after))
        table = self.with_zeros(self.data, g.concat(*row), axis)
        return g.Gather(table, self.indices_with_zero_row(self.row_count(axis, 1, 0)), axis=axis)

    def known_index(self) -> int | None:
        """The index if there is one, it is known, and `sliced` can take it; else None."""
        if self.dtype is DType.STRING or self.g.opset < _PADDED_SINCE or not self.op.has_rank(1):
            return None
        known = self.op.ints(1)
        if known is None or len(known) != 1 or (known[0] < 0 and not self.from_end):
            return None
        return known[0] if -FAR < known[0] < FAR else None

    def sliced(self, axis: int, index: int) -> str:
        """The result for one known index: a Slice takes its row or none, a Pad appends zeros, a Gather takes the first.

        A ReduceSum of the Slice would turn -0.0 into 0.0, and int64 into the nearest double.
        """
        op, g = self.op, self.g
        end = index + 1 if index != -1 else FAR
        row = g.Slice(self.data, g.i64(index), g.i64(end), g.i64(axis))
        pads = [0] * (2 * op.rank(0))
        pads[op.rank(0) + axis] = 1
        zero = self.zero(self.dtype) if op.element(0) == "nf4" else None
        padded = legalized(g, self.dtype, lambda x: g.Pad(x, g.i64(*pads), zero), row, by=FOR_MIN_MAX)
        return g.Gather(padded, g.const(np.zeros((1,) * op.rank(1), np.int64)), axis=axis)

    def prefers_row_copy(self, axis: int) -> bool:
        """Whether to append zeros to the gathered rows, which copies them, rather than to the table.

        False if the table is known to have no more rows than are gathered, if a rank is unknown, and before opset 14.
        """
        op = self.op
        if self.g.opset < _ALLOWZERO_SINCE or not op.has_rank(0) or not op.has_rank(1):
            return False
        return known_le(op.dim(0, axis), product(op.shape(1)[max(self.batch_dims, 0) :]), op.call.scope) is not True

    def gather_masked(self, axis: int) -> str:
        """The result without batch dims along an `axis` that may be empty.

        If the axis is empty at run time, no index is gathered, and zeros are appended instead.
        """
        op, g = self.op, self.g
        index, inside = self.clamped_indices(axis)
        taken, left = self.kept_indices(index if op.rank(1) == 1 else g.as_vector(index), 0, axis)
        before, behind = self.outer_dims(self.data, axis)
        found = self.with_zeros(g.Gather(self.data, taken, axis=axis), g.concat(*before, left, *behind), axis)
        if op.rank(1) != 1:
            found = g.Reshape(found, g.concat(*before, g.Shape(op.x(1)), *behind), allowzero=1)
        return self.masked(found, inside, op.rank(0) - 1 - axis)

    def kept_indices(self, index: str, along: int, axis: int) -> tuple[str, str]:
        """`index`, or its empty slice along its axis `along` if the table has no rows along `axis`.

        Also returns how many indices the slice leaves out along `along`, as an int64 vector of one element.
        """
        g = self.g
        count = g.dim(index, along)
        kept = g.Mul(count, g.Min(g.dim(self.data, axis), g.i64(1)))
        return g.Slice(index, g.i64(0), kept, g.i64(along)), g.Sub(count, kept)

    def outer_dims(self, data: str, axis: int) -> tuple[list[str], list[str]]:
        """The dims of `data` before `axis` and after it: each a list of one int64 vector, empty if there are none."""
        g, rank = self.g, self.op.rank(0)
        return [g.dims(data, 0, axis)] if axis else [], [g.dims(data, axis + 1)] if axis + 1 < rank else []

    def index(self, axis: int) -> str:
        """The indices, assumed in bounds, in a type that ONNX's Gather takes; made non-negative before opset 11."""
        op, g, dtype = self.op, self.g, self.op.dtype(1)
        if g.opset >= _FROM_END_SINCE or not self.from_end or not self.may_be_negative():
            return op.x(1) if dtype in (DType.INT32, DType.INT64) else g.cast(op.x(1), dtype, DType.INT64)
        g.require_opset(_WHERE_SINCE, "an index that may be negative")
        return self.non_negative(self.wide(), self.row_count(axis, 1, 0))

    def may_be_negative(self) -> bool:
        """Whether some index may be negative; False only if all are known to be >= 0."""
        known = self.op.array(1)
        if known is not None:
            return bool(known.size) and int(known.min()) < 0
        span = self.op.tensor(1).value_range
        return span is None or not isinstance(span.lo, int) or span.lo < 0

    def wide(self) -> str:
        return self.g.cast(self.op.x(1), self.op.dtype(1), DType.INT64)

    def row_count(self, axis: int, factor: int, offset: int) -> str:
        """factor * rows + offset, an int64 scalar; rows is the dim of the table at `axis`, `factor` 1 or -1."""
        g, size = self.g, self.op.size(0, axis) if self.op.has_rank(0) else None
        if size is not None:
            return g.scalar(factor * size + offset, DType.INT64)
        rows = g.as_scalar(g.dim(self.data, axis))
        rows = rows if factor == 1 else g.Neg(rows)
        return rows if offset == 0 else g.Add(rows, g.scalar(offset, DType.INT64))

    def non_negative(self, index: str, rows: str) -> str:
        """`index` with `rows`, the number of rows, added where it is negative; indices below -rows stay negative."""
        g = self.g
        return g.Where(g.Less(index, g.scalar(0, DType.INT64)), g.Add(index, rows), index)

    def clamped_indices(self, axis: int) -> tuple[str, str]:
        """The indices clamped to the bounds of `axis`, and flags of the indices that were in bounds before.

        Both are meaningful only if the axis is not empty.
        """
        g, index, low = self.g, self.wide(), self.g.scalar(0, DType.INT64)
        if self.from_end and g.opset >= _FROM_END_SINCE:
            low = self.row_count(axis, -1, 0)
        elif self.from_end:
            index = self.non_negative(index, self.row_count(axis, 1, 0))
        held = self.clipped(index, low, self.row_count(axis, 1, -1))
        return held, g.Equal(held, index)

    def indices_with_zero_row(self, rows: str) -> str:
        """The indices into the table with a row of zeros appended: indices out of bounds select that row.

        rows   number of rows without the appended one, int64 scalar
        """
        g, index, before = self.g, self.wide(), self.g.scalar(-1, DType.INT64)
        if self.from_end:
            index = self.non_negative(index, rows)
        held = self.clipped(index, before, rows)
        return held if g.opset >= _FROM_END_SINCE else g.Where(g.Equal(held, before), rows, held)

    def clipped(self, index: str, low: str, high: str) -> str:
        """`index` clamped to [low, high], by Clip, or by Where before opset 12."""
        g = self.g
        if g.opset >= _CLIP_SINCE:
            return g.Clip(index, low, high)
        g.require_opset(_WHERE_SINCE, "an index that may be out of bounds")
        above = g.Where(g.Less(index, low), low, index)
        return g.Where(g.Greater(above, high), high, above)

    def masked(self, gathered: str, inside: str, trailing: int) -> str:
        """`gathered` with zeros where `inside` is false; `inside` lacks the last `trailing` dims of `gathered`."""
        g = self.g
        kept = g.unsqueeze(inside, *range(-trailing, 0))
        if self.dtype is DType.BOOL:
            return g.And(kept, gathered)
        zero = self.zero(SELECTED_AS.get(self.dtype, self.dtype))
        return legalized(g, self.dtype, lambda x: g.Where(kept, x, zero), gathered, by=SELECTED_AS)

    def zero(self, dtype: DType) -> str:
        """A scalar zero of type `dtype` for the table; 7 if the table holds nf4 codes, because code 7 is zero."""
        return self.g.scalar(7, dtype) if self.op.element(0) == "nf4" else self.g.zero(dtype)

    def with_zeros(self, data: str, row: str, axis: int) -> str:
        """`data` with zeros appended along `axis`; `row` holds the shape of the zeros."""
        g = self.g
        if self.dtype is DType.BFLOAT16:
            zeros = g.cast(g.Expand(g.zero(DType.FLOAT32), row), DType.FLOAT32, DType.BFLOAT16)
        else:
            zeros = g.Expand(self.zero(self.dtype), row)
        return g.Concat(data, zeros, axis=axis)

    def batched(self, axis: int) -> str:
        """The result with batch dims and known ranks: GatherND, with `axis` of data moved behind the batch dims."""
        op, g, b = self.op, self.g, self.batch_dims
        r, q = op.rank(0), op.rank(1)
        if not 0 <= b <= min(q, axis):
            raise SpecViolation(f"batch_dims = {b} is outside [0, {min(q, axis)}]", "GI306")
        g.require_opset(_BATCHED_SINCE, f"batch_dims = {b}")
        data = g.transpose(self.data, [*range(b), axis, *range(b, axis), *range(axis + 1, r)])
        inside, left = None, ""
        if not op.mask_out_of_bounds:
            index = self.wide()
        elif op.is_positive(0, axis):
            index, inside = self.clamped_indices(axis)
        elif q == b + 1 and self.prefers_row_copy(axis):
            index, inside = self.clamped_indices(axis)
            index, left = self.kept_indices(index, b, axis)
        else:
            index = self.indices_with_zero_row(self.row_count(axis, 1, 0))
            data = self.with_zeros(data, g.concat(g.dims(data, 0, b), g.i64(1), g.dims(data, b + 1)), b)
        found = g.GatherND(data, g.unsqueeze(index, -1), batch_dims=b)
        if left:
            before, behind = self.outer_dims(data, b)
            found = self.with_zeros(found, g.concat(*before, left, *behind), b)
        if inside is not None:
            found = self.masked(found, inside, r - 1 - b)
        moved = axis - b  # GatherND puts the dims data[b:axis] behind indices[b:]; they belong before indices[b:]
        return g.transpose(found, [*range(b), *range(q, q + moved), *range(b, q), *range(q + moved, r + q - 1 - b)])

    def general(self) -> str:
        """The result for any axis and ranks: GatherND of data reshaped to [batch, before, rows, behind].

        The indices are reshaped to [batch, n].
        """
        op, g, b = self.op, self.g, self.batch_dims
        g.require_opset(_ALLOWZERO_SINCE, "an axis that is not constant, or a rank that is not known,")
        shape, index_shape, zero = g.Shape(self.data), g.Shape(op.x(1)), g.i64(0)
        axis = g.as_vector(g.cast(op.x(2), op.dtype(2), DType.INT64))
        axis = g.Where(g.Less(axis, zero), g.Add(axis, g.Shape(shape)), axis)
        behind, end = g.Add(axis, g.i64(1)), g.i64(FAR)
        batch = g.i64(b) if b >= 0 else g.Add(g.Shape(index_shape), g.i64(b))
        leading, between = g.Slice(shape, zero, batch), g.Slice(shape, batch, axis)
        rows, trailing = g.Slice(shape, axis, behind), g.Slice(shape, behind, end)
        picked = g.Slice(index_shape, batch, end)
        counts = [g.ReduceProd(part, keepdims=1) for part in (leading, between, trailing, picked)]
        data = g.Reshape(self.data, g.concat(counts[0], counts[1], rows, counts[2]), allowzero=1)
        data = g.transpose(data, [0, 2, 1, 3])
        index, inside = self.wide(), None
        if op.mask_out_of_bounds and op.has_rank(0) and all(op.is_positive(0, one) for one in range(op.rank(0))):
            low = g.Neg(g.as_scalar(rows)) if self.from_end else g.scalar(0, DType.INT64)
            held = self.clipped(index, low, g.Sub(g.as_scalar(rows), g.scalar(1, DType.INT64)))
            index, inside = held, g.Reshape(g.Equal(held, index), g.concat(counts[0], counts[3]), allowzero=1)
        elif op.mask_out_of_bounds:
            index = self.indices_with_zero_row(g.as_scalar(rows))
            data = self.with_zeros(data, g.concat(counts[0], g.i64(1), counts[1], counts[2]), 1)
        index = g.Reshape(index, g.concat(counts[0], counts[3], g.i64(1)), allowzero=1)
        found = g.GatherND(data, index, batch_dims=1)
        found = found if inside is None else self.masked(found, inside, 2)
        found = g.transpose(found, [0, 2, 1, 3])
        return g.Reshape(found, g.concat(leading, between, picked, trailing), allowzero=1)


@lowers("GatherElements", since=6, opset=11)
def gather_elements(op: LayerView, g: FunctionBuilder) -> str:
    """gather-elements-6: GatherElements; the result for an index out of bounds is undefined."""
    axis = op.integer("axis")
    index = g.cast(op.x(1), op.dtype(1), op.dtype(1) if op.dtype(1) is DType.INT32 else DType.INT64)
    return legalized(g, _data_type(op, g), lambda data: g.GatherElements(data, index, axis=axis), op.x(0), by=MOVED_AS)


@lowers("GatherND", since=5, opset=11)
def gather_nd_5(op: LayerView, g: FunctionBuilder) -> str:
    """gather-nd-5: GatherND, then a Reshape that merges several batch dims into one."""
    found, b = _gather_nd(op, g), op.integer("batch_dims", 0)
    if b <= 1:
        return found
    g.require_opset(_ALLOWZERO_SINCE, f"batch_dims = {b}")
    return g.Reshape(found, g.concat(g.ReduceProd(g.dims(found, 0, b), keepdims=1), g.dims(found, b)), allowzero=1)


@lowers("GatherND", since=8, opset=11)
def gather_nd_8(op: LayerView, g: FunctionBuilder) -> str:
    """gather-nd-8: GatherND; the result for an index out of bounds is undefined."""
    return _gather_nd(op, g)


def _gather_nd(op: LayerView, g: FunctionBuilder) -> str:
    b = op.integer("batch_dims", 0)
    if b < 0:
        raise SpecViolation(f"batch_dims = {b} is outside [0, ...]", "GI306")
    if b:
        g.require_opset(_BATCHED_SINCE, f"batch_dims = {b}")
    index = g.cast(op.x(1), op.dtype(1), DType.INT64)
    return legalized(
        g, _data_type(op, g), lambda data: g.GatherND(data, index, batch_dims=b or None), op.x(0), by=MOVED_AS
    )


@lowers(
    "GatherTree",
    since=1,
    opset=13,
    preconditions={1: InputPrecondition(0, AxisSize(0, 2), margin=1), 2: InputPrecondition(1, AxisSize(0))},
)
def gather_tree(op: LayerView, g: FunctionBuilder) -> str:
    """gather-tree-1: a Loop from the last step of each sequence back to the first, along the parents of the beams.

    step_ids, parent_ids  [time, batch, beam]; max_seq_len [batch]; end_token a scalar; all of one type
    result                [time, batch, beam]: end_token from step max_seq_len on, and after its first occurrence
    """
    dtype = op.dtype(0)
    if dtype not in _STEPPED:
        raise LoweringRefused(f"step_ids of type {op.element(0)}")
    parents, lengths = (g.cast(op.x(i), op.dtype(i), DType.INT64) for i in (1, 2))

    def write(steps: str, end: str) -> str:
        return _tree(op, g, _STEPPED[dtype], steps, parents, g.unsqueeze(lengths, 1), g.as_scalar(end))

    return legalized(g, dtype, write, op.x(0), op.x(3), by=_STEPPED)


_STEPPED: Final[Mapping[DType, DType]] = {
    **dict.fromkeys((DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32), DType.INT32),
    **dict.fromkeys((DType.UINT32, DType.INT64, DType.UINT64), DType.INT64),
    **dict.fromkeys((DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32), DType.FLOAT32),
    DType.FLOAT64: DType.FLOAT64,
}
"""Computation types for comparing and selecting elements of step_ids."""


def _tree(op: LayerView, g: FunctionBuilder, dtype: DType, steps: str, parents: str, lengths: str, end: str) -> str:
    one, zero = g.scalar(1, DType.INT64), g.scalar(0, DType.INT64)
    times, beams = g.as_scalar(g.dim(steps, 0)), g.as_scalar(g.dim(steps, 2))
    last = g.Sub(times, one)

    def body(b: FunctionBuilder, names: tuple[str, ...]) -> list[tuple[str, DType]]:
        counter, goes_on, beam = names
        time = b.Sub(last, counter)
        is_read = b.And(b.Less(time, lengths), b.Not(b.Less(beam, zero)))
        step, parent = b.Gather(steps, time, axis=0), b.Gather(parents, time, axis=0)
        token = b.Where(is_read, b.GatherElements(step, beam, axis=1), end)
        before = b.Where(is_read, b.GatherElements(parent, beam, axis=1), beam)
        return [(b.Identity(goes_on), DType.BOOL), (before, DType.INT64), (token, dtype)]

    first = g.Expand(g.Range(zero, beams, one), g.dims(steps, 1))
    inputs: list[tuple[DType, int | None]] = [(DType.INT64, 0), (DType.BOOL, 0), (DType.INT64, 2)]
    _, tokens = g.node("Loop", [times, "", first], 2, body=g.graph("steps", inputs, body))
    forward = g.Slice(tokens, g.i64(-1), g.i64(-FAR), g.i64(0), g.i64(-1))
    found = g.Reshape(forward, g.Shape(steps)) if g.opset < _ALLOWZERO_SINCE else g.Reshape(
        forward, g.Shape(steps), allowzero=1
    )  # fmt: skip
    is_end = g.Cast(g.Equal(found, end), to=DType.INT64)
    is_past = g.Greater(g.CumSum(is_end, zero, exclusive=1), zero)
    return g.Where(is_past, end, found)
