"""Adaptive pooling: pooling to a given output size.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/pooling/

An axis of n elements is pooled to m elements. Element o of the result pools the elements from floor(o * n / m) to
before ceil((o + 1) * n / m). If n and m are known, the windows are constants; otherwise they are computed at run time.
"""

from __future__ import annotations

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, numpy_of
from gather_infer.openvino.lowerings.layer_view import MAX_READ, LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import AS_FLOAT, WIDE_FLOATS
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_INT64 = DType.INT64


@lowers("AdaptiveAvgPool", since=8)
def adaptive_average_pool(op: LayerView, g: FunctionBuilder) -> str:
    """adaptive-avg-pool-8: a MatMul with the averaging weights for each axis.

    data    [N, C, d1, ..., dk], output_shape [k]
    """
    dtype, rank = op.dtype(0), op.rank(0)
    wide = AS_FLOAT.get(dtype, dtype)
    x = g.cast(op.x(0), dtype, wide)
    for axis in range(2, rank):
        order = [a for a in range(rank) if a != axis] + [axis]
        pooled = g.MatMul(g.transpose(x, order), _means(op, g, axis, wide))
        x = g.transpose(pooled, [order.index(a) for a in range(rank)])
    return g.cast(x, wide, dtype)


def _means(op: LayerView, g: FunctionBuilder, axis: int, dtype: DType) -> str:
    """Weights [n, m] along `axis`: the weight of each of n elements in the mean of each of m windows."""
    size, wanted = op.size(0, axis), op.ints(1, count=op.rank(0) - 2, lower=1)
    count = 0 if wanted is None else wanted[axis - 2]
    if size is not None and 0 < size * count <= MAX_READ:
        shares = np.zeros((size, count), numpy_of(dtype))
        for o in range(count):
            start, stop = o * size // count, -(-(o + 1) * size // count)
            shares[start:stop, o] = 1 / (stop - start)
        return g.const(shares)
    first, behind, length = _borders(op, g, axis)
    element = g.unsqueeze(_range(g, length), 1)
    inside = g.And(g.GreaterOrEqual(element, first), g.Less(element, behind))
    return g.Div(g.Cast(inside, to=dtype), g.Cast(g.Sub(behind, first), to=dtype))


def _range(g: FunctionBuilder, stop: str) -> str:
    return g.Range(g.scalar(0, _INT64), stop, g.scalar(1, _INT64))


def _borders(op: LayerView, g: FunctionBuilder, axis: int) -> tuple[str, str, str]:
    """Begin and exclusive end of each window along `axis`, int64 vectors [m], and the length of the axis, a scalar."""
    one = g.scalar(1, _INT64)
    size = g.squeeze(g.dim(op.x(0), axis), 0)
    count = g.Gather(g.cast(op.x(1), op.dtype(1), _INT64), g.scalar(axis - 2, _INT64))
    o = _range(g, count)
    start = g.Div(g.Mul(o, size), count)
    stop = g.Div(g.Add(g.Mul(g.Add(o, one), size), g.Sub(count, one)), count)  # rounded up
    return start, stop, size


@lowers("AdaptiveMaxPool", since=8)
def adaptive_max_pool(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """adaptive-max-pool-8: Gather of every window, then ArgMax and GatherElements.

    data    [N, C, d1, ..., dk], output_shape [k]

    The second output holds the position of each maximum in the flattened spatial axes; the first among equal elements.
    All windows are gathered at the length of the longest window; a shorter window repeats its last element.
    """
    dtype, rank = op.dtype(0), op.rank(0)
    spatial = rank - 2
    wide = WIDE_FLOATS.get(dtype, dtype)
    x, position = g.cast(op.x(0), dtype, wide), g.i64(0)
    for i in range(spatial):
        # each earlier axis has become two, of windows and of positions in a window; later axes are unchanged
        elements = _elements(op, g, 2 + i)
        x = g.Gather(x, elements, axis=2 + 2 * i)
        at = g.unsqueeze(elements, *(a for a in range(2 * spatial) if a not in (2 * i, 2 * i + 1)))
        position = g.Add(g.Mul(position, g.dim(op.x(0), 2 + i)), at)
    counts, lengths = [2 + 2 * i for i in range(spatial)], [3 + 2 * i for i in range(spatial)]
    x = g.transpose(x, [0, 1, *counts, *lengths])
    position = g.transpose(position, [a - 2 for a in (*counts, *lengths)])
    whole = g.concat(g.dims(x, 0, 2 + spatial), _product(g, x, 2 + spatial))
    flat = g.Reshape(x, whole, allowzero=1)
    positions = g.Reshape(position, g.concat(g.dims(x, 2, 2 + spatial), _product(g, x, 2 + spatial)), allowzero=1)
    first = g.ArgMax(flat, axis=2 + spatial, keepdims=1)
    last_axis = 2 + spatial
    largest = g.squeeze(g.GatherElements(flat, first, axis=last_axis), last_axis)
    where = g.squeeze(g.GatherElements(g.Expand(positions, whole), first, axis=last_axis), last_axis)
    return g.cast(largest, wide, dtype), g.cast(where, _INT64, op.type_of("index_element_type", "i64"))


def _product(g: FunctionBuilder, x: str, start: int) -> str:
    return g.ReduceProd(g.dims(x, start), keepdims=1)


def _elements(op: LayerView, g: FunctionBuilder, axis: int) -> str:
    """Positions [m, l] of the elements of each of m windows along `axis`; l is the length of the longest window."""
    size, wanted = op.size(0, axis), op.ints(1, count=op.rank(0) - 2, lower=1)
    count = 0 if wanted is None else wanted[axis - 2]
    if size is not None and 0 < size * count <= MAX_READ:
        starts = np.arange(count) * size // count
        stops = -(-(np.arange(count) + 1) * size // count)
        longest = int((stops - starts).max(initial=0))
        return g.const(np.minimum(starts[:, None] + np.arange(longest), stops[:, None] - 1).astype(np.int64))
    start, stop, _ = _borders(op, g, axis)
    longest_one = g.ReduceMax(g.Sub(stop, start), keepdims=0)
    last = g.Sub(g.unsqueeze(stop, 1), g.scalar(1, _INT64))
    return g.Min(g.Add(g.unsqueeze(start, 1), _range(g, longest_one)), last)
