"""RoI align: ROIAlign, ROIAlignRotated, ExperimentalDetectronROIFeatureExtractor.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gather_infer.dialect import AxisSize, InputPrecondition
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.tensor_idioms import (
    as_float,
    as_int64,
    axis_element,
    axis_slice,
    dims,
    iota,
    shape_vector,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers
_FLOAT = DType.FLOAT32

_IMAGES: Final = {2: InputPrecondition(0, AxisSize(0), margin=1, is_enforced=False)}
"""Precondition on the image index of each region, input 2: it is in [0, n - 1] for n images."""


@lowers("ROIAlign", since=3, preconditions=_IMAGES)
@lowers("ROIAlign", since=9, preconditions=_IMAGES)
def roi_align(op: LayerView, g: FunctionBuilder) -> str:
    """detection/roi-align-3, roi-align-9: RoiAlign; MaxPool follows for mode `max`. Version 9 adds aligned_mode.

    data    [n, c, h, w], rois [r, 4] as x0 y0 x1 y1, batch_indices [r]
    result  [r, c, pooled_h, pooled_w]

    With mode `max`, OpenVINO returns the maximum of 0 and the samples of a bin; ONNX's maximum is over the weighted
    corners of the samples. RoiAlign with bins of one sample each therefore computes the samples, and MaxPool their
    maximum.
    """
    rois = as_float(op, g, 1)
    aligned = op.text("aligned_mode", "asymmetric", choices=("asymmetric", "half_pixel_for_nn", "half_pixel"))
    if aligned == "half_pixel":
        rois = g.Add(rois, g.scalar(0.5, _FLOAT))
    features, batch = as_float(op, g, 0), as_int64(op, g, 2)
    samples, scale = op.integer("sampling_ratio"), op.number("spatial_scale")
    pooled = op.integer("pooled_h"), op.integer("pooled_w")
    shifted = aligned != "asymmetric"
    if op.text("mode", choices=("max", "avg")) == "avg":
        made = _means(g, features, batch, rois, pooled, samples, scale, shifted=shifted)
    elif samples <= 0:
        made = _pooled(g, features, batch, _scaled(g, rois, scale, shifted=shifted), pooled, samples, None, is_max=True)
    else:  # bins with one sample each
        fine = pooled[0] * samples, pooled[1] * samples
        each = _means(g, features, batch, rois, fine, 1, scale, shifted=shifted)
        most = g.MaxPool(each, kernel_shape=[samples, samples], strides=[samples, samples])
        made = g.Max(most, g.scalar(0, _FLOAT))
    return g.cast(made, _FLOAT, op.dtype(0))


def _means(
    g: FunctionBuilder,
    features: str,
    batch: str,
    rois: str,
    pooled: tuple[int, int],
    samples: int,
    scale: float,
    *,
    shifted: bool,
) -> str:
    """Mean of the samples in each bin of each region: [r, c, pooled_h, pooled_w].

    batch, rois   image index [r] and box [r, 4] of each region
    pooled        number of bins along each axis: pooled_h, pooled_w
    samples       number of samples of a bin along each axis; 0 or less for the length of the bin, rounded up
    scale         factor from the coordinates of boxes to those of the features
    shifted       boxes are shifted by half an element; otherwise their sides are at least 1
    """
    if g.opset >= 22:  # onnxruntime has no kernel of RoiAlign-22
        return _pooled(
            g, features, batch, _scaled(g, rois, scale, shifted=shifted), pooled, samples, None, is_max=False
        )
    return g.RoiAlign(
        features,
        rois,
        batch,
        coordinate_transformation_mode="half_pixel" if shifted else "output_half_pixel",
        mode="avg",
        output_height=pooled[0],
        output_width=pooled[1],
        sampling_ratio=max(samples, 0),
        spatial_scale=scale,
    )


def _scaled(g: FunctionBuilder, rois: str, scale: float, *, shifted: bool) -> list[str]:
    """x0, y0, width and height in the feature map, each [r, 1], of boxes `rois` [r, 4] as x0 y0 x1 y1.

    scale, shifted   as for `_means`
    """
    box = g.Mul(rois, g.scalar(scale, _FLOAT))
    if shifted:
        box = g.Sub(box, g.scalar(0.5, _FLOAT))
    x0, y0, x1, y1 = (axis_slice(g, box, k, k + 1, 1) for k in range(4))
    extent = [g.Sub(x1, x0), g.Sub(y1, y0)]
    if not shifted:
        extent = [g.Max(one, g.scalar(1, _FLOAT)) for one in extent]
    return [x0, y0, *extent]


@lowers("ROIAlignRotated", since=15, preconditions=_IMAGES)
def roi_align_rotated(op: LayerView, g: FunctionBuilder) -> str:
    """detection/roi-align-rotated-15: bilinear samples at rotated positions, by GatherND.

    data    [n, c, h, w], rois [r, 5] (x and y of the centre, width, height, angle in radians), batch_indices [r]
    result  [r, c, pooled_h, pooled_w], the mean of the samples in each bin of the rotated box
    """
    rois = as_float(op, g, 1)
    x, y, width, height, angle = (axis_slice(g, rois, k, k + 1, 1) for k in range(5))
    scale, half = g.scalar(op.number("spatial_scale"), _FLOAT), g.scalar(0.5, _FLOAT)
    x, y = (g.Sub(g.Mul(one, scale), half) for one in (x, y))
    width, height = (g.Mul(one, scale) for one in (width, height))
    if op.flag("clockwise_mode", False):
        angle = g.Neg(angle)
    box = [g.Mul(width, g.scalar(-0.5, _FLOAT)), g.Mul(height, g.scalar(-0.5, _FLOAT)), width, height]
    pooled = op.integer("pooled_h"), op.integer("pooled_w")
    turn = (x, y, g.Cos(angle), g.Sin(angle))
    features, samples = as_float(op, g, 0), op.integer("sampling_ratio")
    made = _pooled(g, features, as_int64(op, g, 2), box, pooled, samples, turn, is_max=False)
    return g.cast(made, _FLOAT, op.dtype(0))


def _pooled(
    g: FunctionBuilder,
    features: str,
    batch: str,
    box: list[str],
    pooled: tuple[int, int],
    samples: int,
    turn: tuple[str, str, str, str] | None,
    *,
    is_max: bool,
) -> str:
    """For each bin of each box, the mean of its samples, or the maximum of 0 and its samples (`is_max`).

    box      x0, y0, width and height, each [r, 1]
    pooled   number of bins along each axis: pooled_h, pooled_w
    samples  number of samples of a bin along each axis; 0 or less for the length of the bin, rounded up
    turn     for rotated boxes, x and y of the centre, cosine and sine of the angle, each [r, 1]; `box` is then relative
             to the centre. None for boxes without rotation
    result   [r, c, pooled_h, pooled_w]
    """
    xs, columns = _along(g, box[0], box[2], pooled[1], samples)
    ys, rows = _along(g, box[1], box[3], pooled[0], samples)
    x, y = g.unsqueeze(xs, 1, 3), g.unsqueeze(ys, 2, 4)  # [r, pooled_h, pooled_w, samples_y, samples_x]
    if turn is not None:
        centre_x, centre_y, cosine, sine = (g.unsqueeze(one, 2, 3, 4) for one in turn)
        along, down = g.Add(g.Mul(y, sine), g.Mul(x, cosine)), g.Sub(g.Mul(y, cosine), g.Mul(x, sine))
        x, y = g.Add(along, centre_x), g.Add(down, centre_y)
    else:
        whole = g.Shape(g.Add(x, y))
        x, y = g.Expand(x, whole), g.Expand(y, whole)
    found = _sampled(g, features, batch, x, y)
    if samples <= 0:
        real = g.And(g.unsqueeze(_first(g, columns), 1, 2, 3), g.unsqueeze(_first(g, rows), 1, 2, 4))
        found = g.Where(g.unsqueeze(real, 5), found, g.scalar(0, _FLOAT))
    if is_max:
        made = g.Max(g.ReduceMax(found, g.i64(3, 4), keepdims=0), g.scalar(0, _FLOAT))
    else:
        number = g.unsqueeze(g.Max(g.Mul(rows, columns), g.scalar(1, _FLOAT)), 2, 3)
        made = g.Div(g.ReduceSum(found, g.i64(3, 4), keepdims=0), number)
    return g.Transpose(made, perm=[0, 3, 1, 2])


def _along(g: FunctionBuilder, start: str, extent: str, bins: int, samples: int) -> tuple[str, str]:
    """Positions of samples along an axis, [r, bins, samples], and the number of samples of a bin, [r, 1]; all float32.

    start, extent   first coordinate and length of each box along the axis, [r, 1]
    samples         as for `_pooled`; if it is 0 or less, boxes with shorter bins have invalid samples, see `_first`
    """
    length = g.Div(extent, g.scalar(bins, _FLOAT))
    if samples > 0:
        number = g.scalar(samples, _FLOAT)
        steps = g.const(np.arange(samples, dtype="f4") + np.float32(0.5))
        size = g.Expand(number, g.Shape(start))
    else:
        size = number = g.Max(g.Ceil(length), g.scalar(0, _FLOAT))
        most = g.ReduceMax(g.Concat(g.const([[1.0]], "f4"), size, axis=0), keepdims=0)
        whole = iota(g, g.unsqueeze(g.Cast(most, to=int(DType.INT64)), 0))
        steps = g.Add(g.Cast(whole, to=int(_FLOAT)), g.scalar(0.5, _FLOAT))
    begin = g.Add(start, g.Mul(g.const(np.arange(bins, dtype="f4")), length))
    within = g.Mul(g.Div(length, number), steps)
    return g.Add(g.unsqueeze(begin, 2), g.unsqueeze(within, 1)), size


def _first(g: FunctionBuilder, number: str) -> str:
    """Flags [r, samples] of the valid samples of `_along`: the first `number` samples of each bin, `number` [r, 1]."""
    most = g.ReduceMax(g.Concat(g.const([[1.0]], "f4"), number, axis=0), keepdims=0)
    places = iota(g, g.unsqueeze(g.Cast(most, to=int(DType.INT64)), 0))
    return g.Less(g.Cast(places, to=int(_FLOAT)), number)


def _sampled(g: FunctionBuilder, features: str, batch: str, x: str, y: str) -> str:
    """Bilinear samples of `features` [n, c, h, w] in the images `batch` [r], at positions `x`, `y` [r, p, q, s, t].

    Returns [r, p, q, s, t, c]. A sample more than one element outside the image is 0.
    """
    sides = [g.Cast(g.as_scalar(g.dim(features, axis)), to=int(_FLOAT)) for axis in (3, 2)]
    zero, one = g.scalar(0, _FLOAT), g.scalar(1, _FLOAT)
    inside, low, high, weight = [], [], [], []
    for place, side in zip((x, y), sides, strict=True):
        inside.append(g.And(g.GreaterOrEqual(place, g.scalar(-1, _FLOAT)), g.LessOrEqual(place, side)))
        last = g.Sub(side, one)
        cut = g.Min(g.Max(place, zero), last)
        low.append(g.Floor(cut))
        high.append(g.Min(g.Add(low[-1], one), last))
        weight.append(g.Sub(cut, low[-1]))
    channels_last = g.Transpose(features, perm=[0, 2, 3, 1])
    image = g.Expand(g.unsqueeze(batch, 1, 2, 3, 4), g.Shape(x))
    terms = []
    for row, share_y in ((low[1], g.Sub(one, weight[1])), (high[1], weight[1])):
        for column, share_x in ((low[0], g.Sub(one, weight[0])), (high[0], weight[0])):
            spot = [image, *(g.Cast(place, to=int(DType.INT64)) for place in (row, column))]
            corner = g.GatherND(channels_last, g.Concat(*(g.unsqueeze(p, 5) for p in spot), axis=5))
            terms.append(g.Mul(corner, g.unsqueeze(g.Mul(share_y, share_x), 5)))
    total = g.Add(g.Add(terms[0], terms[1]), g.Add(terms[2], terms[3]))
    return g.Where(g.unsqueeze(g.And(*inside), 5), total, zero)


@lowers("ExperimentalDetectronROIFeatureExtractor", since=6)
def roi_features(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """detection/experimental-detectron-roi-feature-extractor-6: RoiAlign per pyramid level, written by ScatterND.

    rois     [r, 4] as x0 y0 x1 y1; then the levels of a pyramid, each [1, c, h, w]
    results  [r, c, output_size, output_size], for each box from the level that its area selects; and the rois

    A box without area selects no level; its features are zeros.
    """
    rois, size, levels = as_float(op, g, 0), op.integer("output_size"), len(op.names) - 1
    one = g.scalar(1, _FLOAT)
    x0, y0, x1, y1 = (axis_element(g, rois, k, 1) for k in range(4))
    area = g.Mul(g.Sub(x1, x0), g.Sub(y1, y0))
    has_area = g.Greater(area, g.scalar(0, _FLOAT))
    side = g.Div(g.Sqrt(g.Where(has_area, area, one)), g.scalar(224, _FLOAT))
    log = g.Div(g.Log(g.Add(side, g.scalar(1e-6, _FLOAT))), g.scalar(np.log(np.float32(2)), _FLOAT))
    level = g.Floor(g.Add(log, g.scalar(2, _FLOAT)))
    level = g.Clip(level, g.scalar(0, _FLOAT), g.scalar(levels - 1, _FLOAT))
    (channels,) = dims(op, g, 1, 1)
    made = g.Expand(g.scalar(0, _FLOAT), shape_vector(g, g.dim(rois, 0), channels, size, size))
    scales = op.integers("pyramid_scales", lower=1)
    if len(scales) < levels:
        raise SpecViolation(f"attribute pyramid_scales must have {levels} elements, has {len(scales)}", "GI106")
    for k, scale in enumerate(scales[:levels]):
        chosen = g.And(has_area, g.Equal(level, g.scalar(k, _FLOAT)))
        where = g.Transpose(g.NonZero(chosen), perm=[1, 0])
        boxes = g.GatherND(rois, where)
        starts = axis_slice(g, boxes, 0, 2, 1)  # a box covers at least one element of the feature map
        ends = g.Max(axis_slice(g, boxes, 2, 4, 1), g.Add(starts, g.scalar(scale, _FLOAT)))
        boxes, first = g.Concat(starts, ends, axis=1), g.Expand(g.i64(0), g.dim(boxes, 0))
        features, samples = as_float(op, g, k + 1), op.integer("sampling_ratio")
        pooled = _means(g, features, first, boxes, (size, size), samples, 1 / scale, shifted=op.flag("aligned", False))
        made = g.ScatterND(made, where, pooled)
    return g.cast(made, _FLOAT, op.dtype(0)), op.x(0)
