"""Normalization over axes, channels, groups and neighbours.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/normalization/
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import WIDE_FLOATS, legalized
from gather_infer.tensor import DType, static_dims

lowerings = LoweringTable()
lowers = lowerings.lowers

_LAYER_SINCE: Final = 17
"""First ai.onnx opset with LayerNormalization."""
_MAX_SCALE: Final = 1 << 16
"""Maximum number of elements of a scale of ones."""
_MAX_POOLED = 3
"""Maximum number of spatial axes of an AveragePool in onnxruntime."""


def _wide(op: LayerView, index: int = 0) -> DType:
    """The type to compute in for the element type of input `index`."""
    dtype = op.dtype(index)
    return WIDE_FLOATS.get(dtype, dtype)


def _axes(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Input `index`, which lists axes, as an int64 vector."""
    known = op.ints(index)
    if known is not None:
        return g.i64(*known)
    return g.as_vector(g.cast(op.x(index), op.dtype(index), DType.INT64))


def _centred(g: FunctionBuilder, x: str, axes: str) -> str:
    return g.Sub(x, g.ReduceMean(x, axes, keepdims=1, noop_with_empty_axes=1))


def _variance(g: FunctionBuilder, centred: str, axes: str) -> str:
    # onnxruntime's LayerNormalization fusion looks for a Pow; it multiplies the base with itself
    squares = g.Pow(centred, g.scalar(2, DType.FLOAT32))
    return g.ReduceMean(squares, axes, keepdims=1, noop_with_empty_axes=1)


@lowers("BatchNormInference", preserves_failures=True)
def batch_norm_0(op: LayerView, g: FunctionBuilder) -> str:
    """batch-norm-inference-1: ONNX's BatchNormalization, with another order of inputs.

    gamma [C], beta [C], data [N, C, ...], mean [C], variance [C]
    """
    return _batch_norm(op, g, (2, 0, 1, 3, 4))


@lowers("BatchNormInference", since=5, preserves_failures=True)
def batch_norm_5(op: LayerView, g: FunctionBuilder) -> str:
    """batch-norm-inference-5: ONNX's BatchNormalization.

    data [N, C, ...], gamma [C], beta [C], mean [C], variance [C]
    """
    return _batch_norm(op, g, (0, 1, 2, 3, 4))


def _batch_norm(op: LayerView, g: FunctionBuilder, order: tuple[int, ...]) -> str:
    """A BatchNormalization; `order` holds the layer's input positions of data, gamma, beta, mean and variance."""
    epsilon = op.number("epsilon", op.number("eps", 1e-5))

    def normalised(*inputs: str) -> str:
        return g.BatchNormalization(*inputs, epsilon=epsilon)

    return legalized(g, op.dtype(0), normalised, *(op.x(i) for i in order), by=WIDE_FLOATS)


@lowers("GroupNormalization", since=12)
def group_normalization(op: LayerView, g: FunctionBuilder) -> str:
    """group-normalization-12: ReduceMean over a Reshape to groups, then Mul and Add per channel.

    data [N, C, d1, ..., dk], scale [C], bias [C]
    """
    groups, rank, wide = op.integer("num_groups"), op.rank(0), _wide(op)
    x, scale, bias = (g.cast(op.x(i), op.dtype(i), wide) for i in range(3))
    split = g.concat(g.dim(x, 0), g.i64(groups), g.Div(g.dim(x, 1), g.i64(groups)), g.dims(x, 2))
    axes = g.i64(*range(2, rank + 1))
    centred = _centred(g, g.Reshape(x, split, allowzero=1), axes)
    spread = g.Sqrt(g.Add(_variance(g, centred, axes), g.scalar(op.number("epsilon"), wide)))
    whole = g.Reshape(g.Div(centred, spread), g.Shape(x), allowzero=1)
    around = range(1, rank - 1)
    scaled = g.Add(g.Mul(whole, g.unsqueeze(scale, *around)), g.unsqueeze(bias, *around))
    return g.cast(scaled, wide, op.dtype(0))


@lowers("MVN")
def mvn_1(op: LayerView, g: FunctionBuilder) -> str:
    """mvn-1: as mvn-6; `eps` is inside the root.

    The axes are `reduction_axes` if given; otherwise all but the first with `across_channels`, else all but the first
    two.
    """
    first = 1 if op.flag("across_channels", True) else 2
    axes = list(op.integers("reduction_axes", ())) or list(range(first, op.rank(0)))
    return _mvn(op, g, axes, is_inside=True)


@lowers("MVN", since=6)
def mvn_6(op: LayerView, g: FunctionBuilder) -> str:
    """mvn-6: LayerNormalization or InstanceNormalization, else ReduceMean, Sub and Div over the axes of an input.

    Inputs: data, axes [k]. The attribute `eps_mode` puts `eps` inside or outside the root.
    """
    mode = op.text("eps_mode", "inside_sqrt", choices=("inside_sqrt", "outside_sqrt"))
    return _mvn(op, g, op.ints(1), is_inside=mode == "inside_sqrt")


def _mvn(op: LayerView, g: FunctionBuilder, axes: list[int] | None, *, is_inside: bool) -> str:
    """Input 0 minus its mean over `axes`, divided by its deviation; `axes` None: those of input 1, at run time."""
    wide = _wide(op)
    x = g.cast(op.x(0), op.dtype(0), wide)
    is_divided = op.flag("normalize_variance", True)
    whole = _as_one_node(op, g, x, axes) if is_divided and is_inside and axes else None
    if whole is not None:
        return g.cast(whole, wide, op.dtype(0))
    over = _axes(op, g, 1) if axes is None else g.i64(*axes)
    centred = _centred(g, x, over)
    if is_divided:
        eps, variance = g.scalar(op.number("eps"), wide), _variance(g, centred, over)
        spread = g.Sqrt(g.Add(variance, eps)) if is_inside else g.Add(g.Sqrt(variance), eps)
        centred = g.Div(centred, spread)
    return g.cast(centred, wide, op.dtype(0))


def _as_one_node(op: LayerView, g: FunctionBuilder, x: str, axes: list[int]) -> str | None:
    """`x`, input 0 in the type to compute in, normalized over `axes` by one node with a scale of ones.

    The last axes, if their dims are numbers, by LayerNormalization; all from axis 2 on, if the channels are a number,
    by InstanceNormalization. None if neither fits. Nor for float64: LayerNormalization computes in float32 by default.
    """
    if not op.has_rank(0) or _wide(op) is not DType.FLOAT32:
        return None
    rank, eps = op.rank(0), op.number("eps")
    listed = {op.normalized_axis(axis, rank) for axis in axes}
    first = min(listed)
    if listed != set(range(first, rank)):
        return None
    channels = op.size(0, 1) if first == 2 else None
    sizes = static_dims(op.shape(0)[first:])
    if channels is not None and 0 < channels <= _MAX_SCALE and (sizes is None or len(sizes) > 1):
        ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
        return g.InstanceNormalization(x, g.const(ones), g.const(zeros), epsilon=eps)
    if sizes is None or not 1 < prod(sizes) <= _MAX_SCALE or g.opset < _LAYER_SINCE:
        return None
    return g.LayerNormalization(x, g.const(np.ones(sizes, np.float32)), axis=first - rank, epsilon=eps)


@lowers("NormalizeL2")
def normalize_l2(op: LayerView, g: FunctionBuilder) -> str:
    """normalize-l2-1: ReduceSum of the squares, Sqrt and Div.

    Inputs: data, axes [k]. If `axes` is empty, each element is divided by itself, and 0 stays 0.
    """
    wide = _wide(op)
    x = g.cast(op.x(0), op.dtype(0), wide)
    if op.ints(1) == []:
        return g.Cast(g.Not(g.Equal(x, g.scalar(0, wide))), to=op.dtype(0))
    squares = g.ReduceSum(g.Mul(x, x), _axes(op, g, 1), keepdims=1, noop_with_empty_axes=1)
    eps = g.scalar(op.number("eps"), wide)
    is_added = op.text("eps_mode", choices=("add", "max")) == "add"
    length = g.Sqrt(g.Add(squares, eps) if is_added else g.Max(squares, eps))
    return g.cast(g.Div(x, length), wide, op.dtype(0))


@lowers("GRN")
def grn(op: LayerView, g: FunctionBuilder) -> str:
    """grn-1: ReduceSum of the squares of data [N, C, ...] over the channels, Sqrt and Div."""
    wide = _wide(op)
    x = g.cast(op.x(0), op.dtype(0), wide)
    squares = g.ReduceSum(g.Mul(x, x), g.i64(1), keepdims=1)
    return g.cast(g.Div(x, g.Sqrt(g.Add(squares, g.scalar(op.number("bias"), wide)))), wide, op.dtype(0))


@lowers("LRN")
def lrn(op: LayerView, g: FunctionBuilder) -> str:
    """lrn-1: LRN for axis 1, an odd size and rank 4, else AveragePool of the squares.

    Inputs: data, axes [k]. The result is x / (bias + alpha * s / size^k)^beta for each element x.

    s is the sum of the squares of the elements at most (size - 1) // 2 away from x along each of the axes. ONNX's LRN
    only takes axis 1, and for an even size its window has one more element.
    """
    rank, size = op.rank(0), op.integer("size", lower=1)
    axes = sorted(op.axes(1, rank))
    alpha, beta, bias = op.number("alpha"), op.number("beta"), op.number("bias")
    wide = DType.FLOAT32
    x = g.cast(op.x(0), op.dtype(0), wide)
    if axes == [1] and size % 2 and rank == 4:
        return g.cast(g.LRN(x, alpha=alpha, beta=beta, bias=bias, size=size), wide, op.dtype(0))
    mean, width = g.Mul(x, x), (size - 1) // 2 * 2 + 1
    for start in range(0, len(axes), _MAX_POOLED):
        mean = _window_mean(g, mean, rank, axes[start : start + _MAX_POOLED], width)
    weighted = g.Mul(mean, g.scalar(alpha * (width / size) ** len(axes), wide))
    scale = g.Pow(g.Add(weighted, g.scalar(bias, wide)), g.scalar(beta, wide))
    return g.cast(g.Div(x, scale), wide, op.dtype(0))


def _window_mean(g: FunctionBuilder, x: str, rank: int, axes: list[int], width: int) -> str:
    """For each element of `x`, the mean over a window around it, `width` elements long along each of `axes`.

    Elements beyond the ends count as 0. The axes become spatial axes of an AveragePool.
    """
    rest = [axis for axis in range(rank) if axis not in axes]
    order = rest + axes
    turned = g.transpose(x, order)
    shape, spatial = g.Shape(turned), g.dims(turned, len(rest))
    rows = g.ReduceProd(g.dims(turned, 0, len(rest)), keepdims=1) if rest else g.i64(1)
    flat = g.Reshape(turned, g.concat(rows, g.i64(1), spatial), allowzero=1)
    pads, kernel = [width // 2] * 2 * len(axes), [width] * len(axes)
    pooled = g.AveragePool(flat, kernel_shape=kernel, strides=[1] * len(axes), pads=pads, count_include_pad=1)
    return g.transpose(g.Reshape(pooled, shape, allowzero=1), [order.index(axis) for axis in range(rank)])
