"""RoI pooling: ROIPooling, PSROIPooling, DeformablePSROIPooling.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/detection/

A region is a row of image index, x1, y1, x2, y2. Bilinear samples and means of bins are separable: an Einsum multiplies
the data by weights of the rows and weights of the columns.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import MAX_GENERATED, LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_MAX_BINS: Final = 256
"""Maximum number of bins along a side of a region, of samples along a side of a bin, and of classes.

Generated constants have an element for each combination of bin, sample and class.
"""

_FLOAT, _INT64 = DType.FLOAT32, DType.INT64
_ROWS, _COLUMNS = 2, 3
"""The spatial axes of data [N, C, H, W]."""


def _column(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """Column `index` of the regions, input 1, as float32 [regions, 1]."""
    regions = g.cast(op.x(1), op.dtype(1), _FLOAT)
    return g.Slice(regions, g.i64(index), g.i64(index + 1), g.i64(1))


def _batch(op: LayerView, g: FunctionBuilder, data: str) -> str:
    """The image in `data` that each region belongs to: [regions, ...]."""
    return g.Gather(data, g.Cast(g.squeeze(_column(op, g, 0), 1), to=_INT64), axis=0)


def _number(g: FunctionBuilder, value: float) -> str:
    return g.scalar(value, _FLOAT)


def _size(op: LayerView, g: FunctionBuilder, axis: int) -> str:
    """The dim of input 0, the data, at `axis`, as a float32 scalar."""
    return g.Cast(g.squeeze(g.dim(op.x(0), axis), 0), to=_FLOAT)


def _elements(op: LayerView, g: FunctionBuilder, axis: int) -> str:
    """The float32 vector 0, 1, ..., d - 1 for the dim d of input 0, the data, at `axis`."""
    stop = g.squeeze(g.dim(op.x(0), axis), 0)
    return g.Cast(g.Range(g.scalar(0, _INT64), stop, g.scalar(1, _INT64)), to=_FLOAT)


def _bilinear(op: LayerView, g: FunctionBuilder, place: str, axis: int) -> str:
    """Weights [..., d] of the d elements along `axis` for bilinear samples at positions `place` [...].

    All weights for a position outside the data are 0.
    """
    last = g.Sub(_size(op, g, axis), _number(g, 1))
    distance = g.Abs(g.Sub(g.unsqueeze(place, -1), _elements(op, g, axis)))
    inside = g.And(g.GreaterOrEqual(place, _number(g, 0)), g.LessOrEqual(place, last))
    near = g.Max(g.Sub(_number(g, 1), distance), _number(g, 0))
    return g.Mul(near, g.unsqueeze(g.Cast(inside, to=_FLOAT), -1))


@lowers("ROIPooling")
def roi_pooling(op: LayerView, g: FunctionBuilder) -> str:
    """roi-pooling-1: MaxRoiPool, or bilinear samples by Einsum.

    data [N, C, H, W], regions [R, 5]

    With method `max`, corners are scaled by spatial_scale; with `bilinear`, they are fractions of the height and width.
    """
    if op.integers("output_size", ()):
        pooled = op.integers("output_size", count=2, lower=1)
    else:
        pooled = tuple(op.integer(name, lower=1) for name in ("pooled_h", "pooled_w"))
    if max(pooled) > MAX_GENERATED:
        raise LoweringRefused(f"{max(pooled)} samples along a side, more than {MAX_GENERATED} are not converted")
    x = g.cast(op.x(0), op.dtype(0), _FLOAT)
    if op.text("method", "max", choices=("max", "bilinear")) == "max":
        regions = g.cast(op.x(1), op.dtype(1), _FLOAT)
        made = g.MaxRoiPool(x, regions, pooled_shape=pooled, spatial_scale=op.number("spatial_scale"))
        return g.cast(made, _FLOAT, op.dtype(0))
    rows = _bilinear(op, g, _spread(op, g, 2, 4, pooled[0], _ROWS), _ROWS)
    columns = _bilinear(op, g, _spread(op, g, 1, 3, pooled[1], _COLUMNS), _COLUMNS)
    made = g.Einsum(_batch(op, g, x), rows, columns, equation="rchw,rph,rqw->rcpq")
    return g.cast(made, _FLOAT, op.dtype(0))


def _spread(op: LayerView, g: FunctionBuilder, first: int, last: int, count: int, axis: int) -> str:
    """`count` evenly spaced positions [R, count] in each region along `axis`; a single position is in the middle.

    first, last   columns of the regions with the coordinates of the first and the last position
    """
    start, stop = _column(op, g, first), _column(op, g, last)
    reach = g.Sub(_size(op, g, axis), _number(g, 1))
    if count == 1:
        return g.Mul(g.Mul(g.Add(start, stop), _number(g, 0.5)), reach)
    step = g.Div(g.Mul(g.Sub(stop, start), reach), _number(g, count - 1))
    return g.Add(g.Mul(g.const(np.arange(count, dtype=np.float32)), step), g.Mul(start, reach))


@lowers("PSROIPooling")
def psroi_pooling(op: LayerView, g: FunctionBuilder) -> str:
    """psroi-pooling-1: position-sensitive pooling by Einsum, where each bin has its own channels.

    data [N, C, H, W], regions [R, 5]

    In mode `average`, C is output_dim * group_size^2, and the result is the mean of the elements of each bin. In mode
    `bilinear`, C is spatial_bins_y * spatial_bins_x * output_dim, and each element of the result is the mean of one
    sample from each part of the region.
    """
    x = g.cast(op.x(0), op.dtype(0), _FLOAT)
    is_mean = op.text("mode", "average", choices=("average", "bilinear")) == "average"
    return g.cast(_bins_mean(op, g, x) if is_mean else _bins_bilinear(op, g, x), _FLOAT, op.dtype(0))


def _bins_mean(op: LayerView, g: FunctionBuilder, x: str) -> str:
    bins, depth = _bins(op), op.integer("output_dim", lower=1)
    rows, columns = _members(op, g, 2, 4, _ROWS), _members(op, g, 1, 3, _COLUMNS)
    split = g.concat(g.dim(x, 0), g.i64(depth, bins, bins), g.dims(x, 2))
    data = _batch(op, g, g.Reshape(x, split, allowzero=1))
    total = g.Einsum(data, rows, columns, equation="rdijhw,rih,rjw->rdij")
    high, wide = (g.ReduceSum(one, g.i64(2), keepdims=0) for one in (rows, columns))
    count = g.unsqueeze(g.Mul(g.unsqueeze(high, 2), g.unsqueeze(wide, 1)), 1)
    mean = g.Div(total, g.Max(count, _number(g, 1)))
    return g.Where(g.Greater(count, _number(g, 0)), mean, _number(g, 0))


def _members(op: LayerView, g: FunctionBuilder, first: int, last: int, axis: int) -> str:
    """For each region, bin and element along `axis`, [R, bins, d]: 1 if the element belongs to the bin, else 0.

    first, last   columns of the regions with the coordinates of the begin and the end
    """
    bins, scale, one = _bins(op), op.number("spatial_scale"), _number(g, 1)
    start = g.Mul(_rounded(g, _column(op, g, first)), _number(g, scale))
    stop = g.Mul(g.Add(_rounded(g, _column(op, g, last)), one), _number(g, scale))
    size = g.Div(g.Max(g.Sub(stop, start), _number(g, 0.1)), _number(g, bins))
    number = g.const(np.arange(bins, dtype=np.float32))
    begin = g.Floor(g.Add(g.Mul(number, size), start))
    end = g.Ceil(g.Add(g.Mul(g.Add(number, one), size), start))
    element = _elements(op, g, axis)
    inside = g.And(g.GreaterOrEqual(element, g.unsqueeze(begin, 2)), g.Less(element, g.unsqueeze(end, 2)))
    return g.Cast(inside, to=_FLOAT)


def _rounded(g: FunctionBuilder, x: str) -> str:
    """The integers nearest to `x`; halves round away from 0."""
    return g.Mul(g.Sign(x), g.Floor(g.Add(g.Abs(x), _number(g, 0.5))))


def _bins_bilinear(op: LayerView, g: FunctionBuilder, x: str) -> str:
    across, down = (op.integer(name, lower=1, upper=MAX_GENERATED) for name in ("spatial_bins_x", "spatial_bins_y"))
    depth = op.integer("output_dim", lower=1)
    rows = _bilinear(op, g, _samples(op, g, 2, 4, down, _ROWS), _ROWS)
    columns = _bilinear(op, g, _samples(op, g, 1, 3, across, _COLUMNS), _COLUMNS)
    split = g.concat(g.dim(x, 0), g.i64(down, across, depth), g.dims(x, 2))
    data = _batch(op, g, g.Reshape(x, split, allowzero=1))
    total = g.Einsum(data, rows, columns, equation="ryxdhw,ryph,rxqw->rdpq")
    return g.Div(total, _number(g, across * down))


def _samples(op: LayerView, g: FunctionBuilder, first: int, last: int, parts: int, axis: int) -> str:
    """Positions [R, parts, group_size] along `axis` of the samples in each part of each region.

    first, last   columns of the regions with the coordinates of the begin and the end
    parts         number of parts of a region along the axis
    """
    count, scale = _bins(op), op.number("spatial_scale")
    start = g.Mul(_column(op, g, first), _number(g, scale))
    size = g.Div(g.Sub(g.Mul(_column(op, g, last), _number(g, scale)), start), _number(g, parts))
    reach = g.Sub(_size(op, g, axis), _number(g, 1))
    begin = g.Add(start, g.Mul(g.const(np.arange(parts, dtype=np.float32)), size))
    if count == 1:
        return g.unsqueeze(g.Mul(g.Add(begin, g.Mul(size, _number(g, 0.5))), reach), 2)
    step = g.Div(g.Mul(g.unsqueeze(size, 2), reach), _number(g, count - 1))
    inner = g.Mul(g.const(np.arange(count, dtype=np.float32)), step)
    return g.Add(inner, g.Mul(g.unsqueeze(begin, 2), reach))


@lowers("DeformablePSROIPooling")
def deformable_psroi_pooling(op: LayerView, g: FunctionBuilder) -> str:
    """deformable-psroi-pooling-1: the mean of samples in G*G bins shifted by offsets, by Einsum.

    data [N, D*G*G, H, W], regions [R, 5], offsets [R, 2*K, P, P] (optional)

    D is output_dim, G is group_size. Each bin has spatial_bins_y * spatial_bins_x samples, shifted by the offsets of
    one of K classes. Samples more than half an element outside the data do not count. The result for a region with a
    negative image index is 0.
    """
    bins, depth = _bins(op, 1), op.integer("output_dim", lower=1)
    classes = _classes(op)
    x = g.cast(op.x(0), op.dtype(0), _FLOAT)
    split = g.concat(g.dim(x, 0), g.i64(classes, depth // classes, bins, bins), g.dims(x, 2))
    image = _column(op, g, 0)
    of = g.Cast(g.squeeze(g.Max(image, _number(g, 0)), 1), to=_INT64)
    data = g.Gather(g.Reshape(x, split, allowzero=1), of, axis=0)
    columns, across = _moved(op, g, 0, classes)
    rows, down = _moved(op, g, 1, classes)
    total = g.Einsum(data, rows, columns, equation="rkcijhw,rkijh,rkijw->rkcij")
    count = g.unsqueeze(g.Mul(across, down), 2)
    mean = g.Div(total, g.Max(count, _number(g, 1)))
    whole = g.Reshape(mean, g.concat(g.dim(image, 0), g.i64(depth, bins, bins)), allowzero=1)
    is_image = g.unsqueeze(g.GreaterOrEqual(image, _number(g, 0)), 2, 3)
    return g.cast(g.Where(is_image, whole, _number(g, 0)), _FLOAT, op.dtype(0))


def _classes(op: LayerView) -> int:
    if not op.has(2):
        return 1
    offsets = op.size(2, 1)
    if offsets is None:
        raise LoweringRefused("the number of classes, half of dim 1 of the offsets, is not known")
    if not 2 <= offsets <= 2 * _MAX_BINS:
        raise LoweringRefused(f"offsets of {offsets // 2} classes, 1 to {_MAX_BINS} are converted")
    return offsets // 2


def _bins(op: LayerView, default: int | None = None) -> int:
    """The attribute group_size: the number of bins along a side of a region; required if `default` is None."""
    return op.integer("group_size", default, lower=1, upper=_MAX_BINS)


def _moved(op: LayerView, g: FunctionBuilder, part: int, classes: int) -> tuple[str, str]:
    """For bins that learned offsets move: the weights of the elements along an axis, and the number of valid samples.

    The axis is W for part 0 and H for part 1, with d elements. A weight is summed over the samples of a bin:
    [R, K, G, G, d] for R regions, K `classes` and G bins a side. The numbers of valid samples are [R, K, G, G].
    """
    bins, scale = _bins(op, 1), _number(g, op.number("spatial_scale"))
    samples = op.integer("spatial_bins_y" if part else "spatial_bins_x", 1, lower=1, upper=_MAX_BINS)
    half, one = _number(g, 0.5), _number(g, 1)
    start = g.Sub(g.Mul(_rounded(g, _column(op, g, 1 + part)), scale), half)
    stop = g.Sub(g.Mul(g.Add(_rounded(g, _column(op, g, 3 + part)), one), scale), half)
    start, length = (g.unsqueeze(v, 2, 3, 4) for v in (start, g.Max(g.Sub(stop, start), _number(g, 0.1))))
    bin_of = np.indices((classes, bins, bins))[1 if part else 2][..., None]
    steps = (bin_of + np.arange(samples) / samples) / bins
    place = g.Add(start, g.Mul(length, g.const(steps.astype(np.float32))))
    if op.has(2):
        place = g.Add(place, g.Mul(_offsets(op, g, part, classes), length))
    axis = _ROWS if part else _COLUMNS
    size, zero = _size(op, g, axis), _number(g, 0)
    inside = g.And(g.GreaterOrEqual(place, _number(g, -0.5)), g.LessOrEqual(place, g.Sub(size, half)))
    counts = g.Cast(inside, to=_FLOAT)
    kept = g.Min(g.Max(place, zero), g.Sub(size, one))
    distance = g.Abs(g.Sub(g.unsqueeze(kept, -1), _elements(op, g, axis)))
    weights = g.Mul(g.Max(g.Sub(one, distance), zero), g.unsqueeze(counts, -1))
    return g.ReduceSum(weights, g.i64(4), keepdims=0), g.ReduceSum(counts, g.i64(4), keepdims=0)


def _offsets(op: LayerView, g: FunctionBuilder, part: int, classes: int) -> str:
    """Shift of each bin along x (part 0) or y (part 1), as a fraction of the region's side: [R, K, G, G, 1]."""
    bins, parts = _bins(op, 1), op.integer("part_size", 1, lower=1)
    offsets = g.Mul(g.cast(op.x(2), op.dtype(2), _FLOAT), _number(g, op.number("trans_std", 1.0)))
    split = g.concat(g.dim(offsets, 0), g.i64(classes, 2), g.dims(offsets, 2))
    of_axis = g.Gather(g.Reshape(offsets, split, allowzero=1), g.scalar(part, _INT64), axis=2)
    which = g.const(np.arange(bins) * parts // bins)
    return g.unsqueeze(g.Gather(g.Gather(of_axis, which, axis=2), which, axis=3), -1)
