"""Slices, padding, and reordering of elements: Slice, StridedSlice, Reverse, Roll, Pad.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/movement/
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gather_infer.dialect import AxisSize, InputPrecondition, LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import as_int64, iota, single, vector
from gather_infer.openvino.lowerings.type_legalization import FOR_MIN_MAX, WITHOUT_BFLOAT16, legalized

lowerings = LoweringTable()
lowers = lowerings.lowers

_LOWEST: Final = int(np.iinfo(np.int64).min)
_HIGHEST: Final = int(np.iinfo(np.int64).max)


@lowers("Slice", since=8, preserves_failures=True)
def slice_along(op: LayerView, g: FunctionBuilder) -> str:
    """slice-8: Slice; without the input `axes`, the entries of start, stop and step belong to the first axes."""
    axes = vector(op, g, 4) if op.has(4) else ""
    return g.Slice(op.x(0), vector(op, g, 1), vector(op, g, 2), axes or _first_axes(op, g), vector(op, g, 3))


def _first_axes(op: LayerView, g: FunctionBuilder) -> str | None:
    count = op.size(1, 0)
    return None if count is None else g.i64(*range(count))


@lowers("StridedSlice")
def strided_slice(op: LayerView, g: FunctionBuilder) -> str:
    """strided-slice-1: Slice, then Squeeze and Unsqueeze.

    begin, end, strides   vectors, one entry for each axis of the data, unless a mask changes that
    begin_mask, end_mask  a 1 ignores the entry of begin or end
    new_axis_mask         a 1 inserts a dim of 1
    shrink_axis_mask      a 1 takes the single index in begin and drops the dim
    ellipsis_mask         a 1 covers all axes that no other entry covers
    """
    count = op.size(1, 0) if op.rank(1) else 1
    if count is None:
        raise LoweringRefused("the number of entries is not known")
    plan = _planned(op, count)
    y = op.x(0)
    if plan.axes:
        slices = [_bounds(op, g, entry, count) for entry in plan.entries]
        begins, ends, steps = (g.concat(*(one[k] for one in slices)) for k in range(3))
        y = g.Slice(y, begins, ends, g.i64(*plan.axes), steps)
    y = g.squeeze(y, *plan.shrunk)
    return g.unsqueeze(y, *plan.new_axes)


@dataclass(slots=True)
class _SlicePlan:
    """Slicing plan of a StridedSlice.

    entries   entries of begin, end and strides that slice an axis
    axes      axis of the data that each of `entries` slices
    shrunk    axes of the data to drop after the Slice
    new_axes  axes of the result to insert
    """

    entries: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    shrunk: list[int] = field(default_factory=list)
    new_axes: list[int] = field(default_factory=list)


def _planned(op: LayerView, count: int) -> _SlicePlan:
    new, shrink, ellipsis = (_mask(op, name, count) for name in ("new_axis", "shrink_axis", "ellipsis"))
    plan, axis, place = _SlicePlan(), 0, 0
    for entry in range(count):
        if ellipsis[entry] and not any(ellipsis[:entry]):
            behind = sum(not new[later] for later in range(entry + 1, count))
            skipped = max(op.rank(0) - behind - axis, 0)
            axis, place = axis + skipped, place + skipped
        elif new[entry]:
            plan.new_axes.append(place)
            place += 1
        else:
            plan.entries.append(entry)
            plan.axes.append(axis)
            if shrink[entry]:
                plan.shrunk.append(axis)
            place += not shrink[entry]
            axis += 1
    return plan


def _mask(op: LayerView, name: str, count: int) -> list[bool]:
    given = op.integers(f"{name}_mask", ())
    return [bool(bit) for bit in (*given, *[0] * count)[:count]]


def _bounds(op: LayerView, g: FunctionBuilder, entry: int, total: int) -> tuple[str, str, str]:
    """Begin, end and step of entry `entry` of `total`, each an int64 vector of one element."""
    count = entry + 1
    begin = g.i64(0) if _mask(op, "begin", count)[entry] else _entry(op, g, 1, entry, total)
    if _mask(op, "shrink_axis", count)[entry]:
        return begin, _after(op, g, begin, entry), g.i64(1)
    step = g.i64(1)
    known: int | None = 1
    if op.has(3):
        strides = op.ints(3, count=total)
        step, known = _entry(op, g, 3, entry, total), None if strides is None else strides[entry]
    if _mask(op, "begin", count)[entry]:
        begin = _by_sign(g, step, known, 0, _HIGHEST)
    ended = _mask(op, "end", count)[entry]
    return begin, _by_sign(g, step, known, _HIGHEST, _LOWEST) if ended else _entry(op, g, 2, entry, total), step


def _entry(op: LayerView, g: FunctionBuilder, index: int, entry: int, total: int) -> str:
    """Element `entry` of input `index`, which has `total` elements, as an int64 vector of one element."""
    elements = op.ints(index, count=total)
    if elements is not None:
        return g.i64(elements[entry])
    return g.Slice(vector(op, g, index), g.i64(entry), g.i64(entry + 1), g.i64(0))


def _after(op: LayerView, g: FunctionBuilder, begin: str, entry: int) -> str:
    """The end of the slice that takes only the element at `begin`; the end of the axis if `begin` is -1.

    begin   int64 vector of one element, from entry `entry` of input 1
    """
    elements = [0] * (entry + 1) if _mask(op, "begin", entry + 1)[entry] else op.ints(1)
    if elements is not None:
        return g.i64(_HIGHEST if elements[entry] == -1 else elements[entry] + 1)
    return g.Where(g.Equal(begin, g.i64(-1)), g.i64(_HIGHEST), g.Add(begin, g.i64(1)))


def _by_sign(g: FunctionBuilder, step: str, known: int | None, forwards: int, backwards: int) -> str:
    if known is not None:
        return g.i64(forwards if known > 0 else backwards)
    return g.Where(g.Greater(step, g.i64(0)), g.i64(forwards), g.i64(backwards))


@lowers("Reverse")
def reverse(op: LayerView, g: FunctionBuilder) -> str:
    """reverse-1: Slice with step -1; input 1 lists axes, or with mode `mask` has a flag for each axis."""
    if op.text("mode", choices=("index", "mask")) == "mask":
        axes = [axis for axis, flag in enumerate(op.known(1).reshape(-1)) if flag]
    else:
        axes = sorted(set(op.axes(1, op.rank(0))))
    return _reversed(g, op.x(0), axes)


def _reversed(g: FunctionBuilder, x: str, axes: Sequence[int]) -> str:
    if not axes:
        return x
    count = len(axes)
    return g.Slice(x, g.i64(*[-1] * count), g.i64(*[_LOWEST] * count), g.i64(*axes), g.i64(*[-1] * count))


@lowers("ReverseSequence", preconditions={1: InputPrecondition(0, AxisSize(0, attribute="seq_axis"))})
def reverse_sequence(op: LayerView, g: FunctionBuilder) -> str:
    """reverse-sequence-1: ReverseSequence between two Transposes, because ONNX only takes the first two axes."""
    rank = op.rank(0)
    batch, time = (
        op.normalized_axis(op.integer("batch_axis", 0), rank),
        op.normalized_axis(op.integer("seq_axis", 1), rank),
    )
    order = [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]
    back = [order.index(axis) for axis in range(rank)]
    lengths = as_int64(op, g, 1)

    def turned(x: str) -> str:
        return g.transpose(g.ReverseSequence(g.transpose(x, order), lengths, batch_axis=0, time_axis=1), back)

    return legalized(g, op.dtype(0), turned, op.x(0), by=WITHOUT_BFLOAT16)


@lowers("Roll", since=7)
def roll(op: LayerView, g: FunctionBuilder) -> str:
    """roll-7: a Concat of two Slices for each axis; shifts of the same axis add up."""
    x, rank = op.x(0), op.rank(0)
    shifts, axes = op.ints(1), op.ints(2)
    if axes is not None and shifts is not None:
        amounts = shifts * len(axes) if len(shifts) == 1 else op.known_ints(1, count=len(axes))
        total: dict[int, int] = {}
        for axis, amount in zip(op.axes(2, rank), amounts, strict=True):
            total[axis] = total.get(axis, 0) + amount
        for axis, whole in total.items():
            x = _rolled(g, x, axis, g.i64(-whole)) if whole else x
        return x
    listed, amount_of = vector(op, g, 2), vector(op, g, 1)
    listed = g.Where(g.Less(listed, g.i64(0)), g.Add(listed, g.i64(rank)), listed)
    for axis in range(rank):
        if axes is None or axis in op.axes(2, rank):
            computed = g.ReduceSum(g.Where(g.Equal(listed, g.i64(axis)), amount_of, g.i64(0)), g.i64(0), keepdims=1)
            x = _rolled(g, x, axis, g.Neg(computed))
    return x


def _rolled(g: FunctionBuilder, x: str, axis: int, first: str) -> str:
    """`x` rotated along `axis`: the elements from index `first` on, then the elements before that index.

    first   int64 vector of one element, taken modulo the length of the axis
    """
    at = g.Mod(first, g.Max(g.dim(x, axis), g.i64(1)))
    ends = g.Slice(x, at, g.i64(_HIGHEST), g.i64(axis)), g.Slice(x, g.i64(0), at, g.i64(axis))
    return g.Reshape(g.Concat(*ends, axis=axis), g.Shape(x), allowzero=1)


@lowers("Pad")
def pad(op: LayerView, g: FunctionBuilder) -> str:
    """pad-1, pad-12: Pad; for mode `symmetric`, which ONNX lacks, a Gather along each axis.

    From pad-12 on, negative pads crop. ONNX crops before it reflects, OpenVINO afterwards, so that for modes `edge` and
    `reflect` a Slice crops, unless no pad can be negative.
    """
    mode = op.text("pad_mode", "constant", choices=("constant", "edge", "reflect", "symmetric"))
    count = op.rank(0) if op.has_rank(0) else None
    begins, ends = op.ints(1, count=count), op.ints(2, count=count)
    pads = g.concat(vector(op, g, 1), vector(op, g, 2))
    if mode == "constant":
        value = [single(op, g, 3)] if op.has(3) else []
        return legalized(g, op.dtype(0), lambda x, *v: g.Pad(x, pads, *v), op.x(0), *value, by=FOR_MIN_MAX)
    x = op.x(0)
    if mode == "symmetric":
        for axis in range(op.rank(0)):
            if begins is not None and ends is not None and begins[axis] == ends[axis] == 0:
                continue
            low, high = (_entry(op, g, index, axis, op.rank(0)) for index in (1, 2))
            x = g.Gather(x, _symmetric(g, g.dim(x, axis), low, high), axis=axis)
        return x
    if any(known is None or min(known, default=0) < 0 for known in (begins, ends)):
        pads = g.Max(pads, g.i64(0))
    return _cropped(op, g, legalized(g, op.dtype(0), lambda a: g.Pad(a, pads, mode=mode), x, by=FOR_MIN_MAX))


def _cropped(op: LayerView, g: FunctionBuilder, x: str) -> str:
    """`x` without as many elements at the ends of its axes as the pads of layer `op` are negative."""
    begins, ends = op.ints(1), op.ints(2)
    axes, starts, stops = [], [], []
    for axis in range(op.rank(0)) if begins is None or ends is None or min(*begins, *ends, 0) < 0 else ():
        if begins is not None and ends is not None and begins[axis] >= 0 and ends[axis] >= 0:
            continue
        axes.append(axis)
        low, high = (_entry(op, g, index, axis, op.rank(0)) for index in (1, 2))
        starts.append(g.Neg(g.Min(low, g.i64(0))) if begins is None else g.i64(max(-begins[axis], 0)))
        if ends is None:
            stops.append(g.Where(g.Less(high, g.i64(0)), high, g.i64(_HIGHEST)))
        else:
            stops.append(g.i64(ends[axis] if ends[axis] < 0 else _HIGHEST))
    return g.Slice(x, g.concat(*starts), g.concat(*stops), g.i64(*axes)) if axes else x


def _symmetric(g: FunctionBuilder, size: str, low: str, high: str) -> str:
    """The index into an axis of `size` elements that each element of the padded axis copies.

    size, low, high   length of the axis and numbers of elements added before and after; int64 vectors of one element
    """
    one = g.i64(1)
    at = g.Sub(iota(g, g.Add(g.Add(size, low), high)), low)
    period = g.Max(g.Add(size, size), one)
    folded = g.Mod(at, period)
    return g.Min(folded, g.Sub(g.Sub(period, one), folded))
