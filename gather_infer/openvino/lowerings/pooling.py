"""Maxima and means of sliding windows: MaxPool and AveragePool.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/pooling/

The rounding `ceil_torch` is ONNX's ceil_mode, which drops a window that begins in the pads after the data; `ceil` keeps
such a window. Where the two may differ, a Pad extends the data so that no window is cut off at the end. A Pad is also
used for means that count pads: OpenVINO divides by the size of the whole window, ONNX by its part in data and pads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, numpy_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import AS_FLOAT
from gather_infer.openvino.lowerings.windows import Padded, Windows, of_length, spatial_of, windows
from gather_infer.tensor import DType, Shape

lowerings = LoweringTable()
lowers = lowerings.lowers

_EXACT: Final = {
    DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32, DType.INT16: DType.FLOAT32,
    DType.UINT16: DType.FLOAT32, DType.INT32: DType.FLOAT64, DType.UINT32: DType.FLOAT64,
    DType.INT64: DType.FLOAT64, DType.UINT64: DType.FLOAT64,
}  # fmt: skip
"""Computation types for MaxPool, for types without a kernel in onnxruntime; 64-bit integers are exact up to 2^53."""
_ROUNDINGS: Final = ("floor", "ceil", "ceil_torch")


def _kernel(op: LayerView) -> tuple[int, ...]:
    return op.integers("kernel", lower=1)


@dataclass(frozen=True, slots=True)
class _PoolingInput:
    """Data and windows of a pool, as ONNX's operator gets them.

    data    the data of the layer, possibly padded by a Pad
    slide   windows over `data`
    ceil    the pool needs ONNX's ceil_mode; otherwise the number of windows is rounded down
    begin   number of elements that a Pad added before each spatial axis, int64 vector; None without a Pad
    """

    data: str
    slide: Windows
    ceil: bool = False
    begin: str | None = None


def _pooling_input(
    op: LayerView, g: FunctionBuilder, x: str, slide: Windows, *, fill: str | None = None, is_whole: bool
) -> _PoolingInput:
    """The windows of a layer over `x`, which is padded by a Pad if ONNX's attributes cannot express the windows.

    slide      the windows that the layer's attributes define
    fill       scalar that the Pad writes around the data; None for 0
    is_whole   no window may be cut off at the end
    """
    kernel = _kernel(op)
    rounding = op.text("rounding_type", "floor", choices=_ROUNDINGS)
    found = slide.explicit(spatial_of(op, len(kernel)), kernel)
    if found is None:
        if all(d == 1 for d in slide.dilations):
            return _PoolingInput(x, slide)
        return _from_padded(slide.padded(g, x, kernel, fill))
    ceil = rounding != "floor" and slide.is_explicit
    slide = found
    if ceil:
        reach = slide.reach(kernel)
        is_cut = any(e + s > r for e, s, r in zip(slide.end, slide.strides, reach, strict=True))
        end = _whole_end(spatial_of(op, len(kernel)), slide, reach, rounding) if is_whole or is_cut else None
        if end is not None:  # avoid ceil_mode: below opset 22, onnx infers one window too many for it
            slide, ceil = replace(slide, end=end), False
        elif is_whole or (rounding == "ceil" and is_cut):
            return _from_padded(slide.padded(g, x, kernel, fill, _end(g, g.dims(x, 2), slide, reach, rounding)))
    if any(pad >= k for pad, k in zip(slide.begin + slide.end, (*kernel, *kernel), strict=True)):
        return replace(_from_padded(slide.padded(g, x, kernel, fill)), ceil=ceil)  # onnxruntime refuses such pads
    return _PoolingInput(x, slide, ceil)


def _from_padded(padded: Padded) -> _PoolingInput:
    return _PoolingInput(padded.data, padded.slide, begin=padded.begin)


def _whole_end(spatial: Shape, slide: Windows, reach: Sequence[int], rounding: str) -> tuple[int, ...] | None:
    """The pads after each spatial axis with which no window is cut off at the end; None if a dim is unknown.

    reach      number of elements that a window spans along each axis
    rounding   "ceil" or "ceil_torch"
    """
    ends = []
    for size, stride, width, begin, end in zip(spatial, slide.strides, reach, slide.begin, slide.end, strict=True):
        if not isinstance(size, int):
            return None
        last = -(-(size + begin + end - width) // stride) * stride
        if rounding == "ceil_torch" and last >= size + begin:
            last -= stride
        ends.append(max(last + width - size - begin, 0))
    return tuple(ends)


def _end(g: FunctionBuilder, size: str, slide: Windows, reach: Sequence[int], rounding: str) -> str:
    """The pads of `_whole_end` as an int64 vector, computed at run time; `size` holds the spatial dims."""
    stride, width, begin = g.i64(*slide.strides), g.i64(*reach), g.i64(*slide.begin)
    less = (b + e - w + s - 1 for b, e, w, s in zip(slide.begin, slide.end, reach, slide.strides, strict=True))
    before = g.Add(size, begin)
    count = g.Div(g.Add(size, g.i64(*less)), stride)
    if rounding == "ceil_torch":  # the last window that begins before the end of the data
        count = g.Min(count, g.Div(g.Sub(before, g.i64(1)), stride))
    return g.Max(g.Sub(g.Add(g.Mul(count, stride), width), before), g.i64(0))


@lowers("MaxPool")
def max_pool_1(op: LayerView, g: FunctionBuilder) -> str:
    """max-pool-1: ONNX's MaxPool of data [N, C, d1, ..., dk]."""
    return _max_pool(op, g, (1,) * len(_kernel(op)), 1)[0]


@lowers("MaxPool", since=8)
def max_pool_8(op: LayerView, g: FunctionBuilder) -> tuple[str, ...]:
    """max-pool-8, max-pool-14: MaxPool of data [N, C, d1, ..., dk].

    The second output holds positions of the maxima in the flattened dims from the attribute `axis` on; ONNX's positions
    are in all dims flattened.
    """
    if not op.is_read(1):
        return (*_max_pool(op, g, of_length(op, "dilations", len(_kernel(op)), 1, lower=1), 1), "")
    largest, where = _max_pool(op, g, of_length(op, "dilations", len(_kernel(op)), 1, lower=1), 2)
    axis = op.normalized_axis(op.integer("axis", 0), op.rank(0))
    if axis:
        size = g.ReduceProd(g.dims(op.x(0), axis), keepdims=1)
        where = g.Mod(where, size)
    return largest, g.cast(where, DType.INT64, op.type_of("index_element_type", "i64"))


def _max_pool(op: LayerView, g: FunctionBuilder, dilations: tuple[int, ...], outputs: int) -> tuple[str, ...]:
    dtype = op.dtype(0)
    wide = _EXACT.get(dtype, dtype)
    slide = replace(windows(op, len(_kernel(op))), dilations=dilations)
    frame = _pooling_input(op, g, g.cast(op.x(0), dtype, wide), slide, fill=_lowest(g, wide), is_whole=False)
    largest, *where = g.node(
        "MaxPool", (frame.data,), outputs, ceil_mode=int(frame.ceil) or None, **_attributes(op, frame)
    )
    if where and frame.begin is not None:
        where = [_position_without_pads(op, g, where[0], g.dims(frame.data, 2), frame.begin)]
    return (g.cast(largest, wide, dtype), *where)


def _attributes(op: LayerView, pooling: _PoolingInput) -> dict[str, Any]:
    slide = pooling.slide
    dilations = slide.dilations if any(d > 1 for d in slide.dilations) else None
    return {
        "kernel_shape": _kernel(op), "strides": slide.strides, "dilations": dilations,
        "pads": slide.pads, "auto_pad": slide.onnx_auto_pad,
    }  # fmt: skip


def _position_without_pads(op: LayerView, g: FunctionBuilder, where: str, padded: str, begin: str) -> str:
    """Positions in the flattened data, from `where`, positions in the flattened padded data.

    padded   int64 vector of the padded spatial dims
    begin    int64 vector of the numbers of elements added before each spatial axis

    A position in the pads becomes that of the first element of the channel.
    """
    rank = len(_kernel(op))
    position, step = g.i64(0), g.i64(1)
    is_inside = ""
    for axis in reversed(range(rank)):
        size, first = g.Gather(padded, g.i64(axis)), g.Gather(begin, g.i64(axis))
        at, length = g.Sub(g.Mod(where, size), first), g.dim(op.x(0), 2 + axis)
        inside = g.And(g.GreaterOrEqual(at, g.i64(0)), g.Less(at, length))
        is_inside = g.And(is_inside, inside) if is_inside else inside
        position = g.Add(position, g.Mul(at, step))
        step = g.Mul(step, length)
        where = g.Div(where, size)
    return g.Add(g.Where(is_inside, position, g.i64(0)), g.Mul(where, step))


def _lowest(g: FunctionBuilder, dtype: DType) -> str:
    """The smallest finite number of type `dtype`, a scalar."""
    kind = np.dtype(numpy_of(dtype))
    return g.const(np.array(np.finfo(kind).min if kind.kind == "f" else np.iinfo(kind).min, kind))


@lowers("AvgPool")
def average_pool(op: LayerView, g: FunctionBuilder) -> str:
    """avg-pool-1, avg-pool-14, avg-pool-16: AveragePool of data [N, C, d1, ..., dk]; integer means are rounded.

    If a Pad pads the data and pads do not count, each mean is divided by the fraction of elements that count. A second
    AveragePool, of padded ones, computes that fraction.
    """
    dtype = op.dtype(0)
    wide = AS_FLOAT.get(dtype, dtype)
    data = g.cast(op.x(0), dtype, wide)
    slide = windows(op, len(_kernel(op)))
    if any(d > 1 for d in slide.dilations):
        g.require_opset(19, "AvgPool with dilations")
    counts = not op.flag("exclude-pad", op.flag("exclude_pad", True))
    frame = _pooling_input(op, g, data, slide, is_whole=counts and any(slide.begin + slide.end))

    def mean(x: str, counted: bool) -> str:
        return g.AveragePool(
            x, ceil_mode=int(frame.ceil) or None, count_include_pad=int(counted) or None, **_attributes(op, frame)
        )

    def back(means: str) -> str:
        return g.cast(g.Round(means) if dtype.is_integer else means, wide, dtype)

    if counts or frame.begin is None:
        return back(mean(frame.data, counts))
    ones = _pooling_input(op, g, g.Expand(g.scalar(1, wide), g.Shape(data)), slide, is_whole=False)
    return back(g.Div(mean(frame.data, True), mean(ones.data, True)))
