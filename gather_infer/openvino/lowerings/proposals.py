"""Box proposals: anchors shifted and scaled by deltas, then non-maximum suppression.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.priors import MIN_RATIO
from gather_infer.openvino.lowerings.suppression import (
    LOWEST,
    SelectedCandidates,
    SuppressionState,
    boxes_of,
    hard_suppression,
    padded,
    select_greedily,
)
from gather_infer.openvino.lowerings.tensor_idioms import (
    argsort,
    as_float,
    axis_element,
    axis_slice,
    dims,
    iota,
    product,
    reshape,
    shape_vector,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers
_FLOAT, _INT = DType.FLOAT32, DType.INT64
_LONGEST: Final = log(1000 / 16)
"""Largest logarithm of the factor by which deltas scale a side of a box."""


@dataclass(frozen=True, slots=True)
class _SelectedBoxes:
    """The candidate boxes of each image, [n, k, 4], and the selection among these candidates."""

    boxes: str
    selection: SelectedCandidates


def _moved(
    g: FunctionBuilder, boxes: str, deltas: str, *, offset: float, longest: float | None, inclusive: bool
) -> str:
    """Boxes [..., 4] as x0 y0 x1 y1, shifted and scaled by deltas [..., 4] of x, y, width and height.

    Deltas of x and y are in units of the box's sides; deltas of width and height are logarithms of factors.

    offset     1 if corners are inclusive pixel indices, else 0
    longest    upper bound of the deltas of width and height; None for no bound
    inclusive  the result has inclusive end corners too, if `offset` is 1
    """
    first, last = axis_slice(g, boxes, 0, 2, -1), axis_slice(g, boxes, 2, 4, -1)
    sides = g.Add(g.Sub(last, first), g.scalar(offset, _FLOAT))
    half = g.scalar(0.5, _FLOAT)
    centre = g.Add(g.Mul(axis_slice(g, deltas, 0, 2, -1), sides), g.Add(first, g.Mul(half, sides)))
    growth = axis_slice(g, deltas, 2, 4, -1)
    if longest is not None:
        growth = g.Min(growth, g.scalar(longest, _FLOAT))
    reach = g.Mul(half, g.Mul(g.Exp(growth), sides))
    end = g.Add(centre, reach)
    if inclusive and offset:
        end = g.Sub(end, g.scalar(offset, _FLOAT))
    return g.Concat(g.Sub(centre, reach), end, axis=-1)


def _cut(g: FunctionBuilder, boxes: str, extent: str) -> str:
    """Boxes [..., 4] clipped to [0, extent]; `extent` broadcasts, and holds the bounds of x0 y0 x1 y1."""
    return g.Max(g.Min(boxes, extent), g.scalar(0, _FLOAT))


def _is_large_enough(g: FunctionBuilder, boxes: str, lower: str, *, offset: float) -> str:
    """Flags [...] of the boxes [..., 4] whose width and height, plus `offset`, are at least `lower`."""
    sides = g.Add(g.Sub(axis_slice(g, boxes, 2, 4, -1), axis_slice(g, boxes, 0, 2, -1)), g.scalar(offset, _FLOAT))
    fits = g.GreaterOrEqual(sides, lower)
    return g.And(axis_element(g, fits, 0, -1), axis_element(g, fits, 1, -1))


def _selected_boxes(
    g: FunctionBuilder, boxes: str, scores: str, left: str | None, counts: tuple[int, int], limit: float, offset: float
) -> _SelectedBoxes:
    """Greedy suppression among the boxes [n, p, 4] with the best scores [n, p].

    left    flags [n, p] of the boxes that may be selected; None for all boxes
    counts  maximum number of boxes of an image before and after the suppression
    limit   a box whose overlap with a selected box is above this number is dropped
    offset  1 if corners are inclusive pixel indices, else 0
    """
    number = g.Min(g.dim(scores, 1), g.i64(counts[0]))
    best, ranked = g.node("TopK", (scores, number), 2, axis=1)
    kept = g.Greater(best, g.scalar(LOWEST, _FLOAT))
    if left is not None:
        kept = g.And(kept, g.GatherElements(left, ranked, axis=1))
    boxes = g.GatherND(boxes, g.unsqueeze(ranked, 2), batch_dims=1)
    covers = hard_suppression(
        g, boxes_of(g, boxes, offset=offset), g.scalar(limit, _FLOAT), offset=offset, touching=True
    )
    turns = g.as_scalar(g.Min(number, g.i64(counts[1])))
    return _SelectedBoxes(boxes, select_greedily(g, SuppressionState(best, kept), turns, covers))


def _listed(g: FunctionBuilder, chosen: _SelectedBoxes, total: int) -> tuple[str, str, str, str]:
    """The selected boxes [n, total, 4] and scores [n, total] of each image, padded with zeros.

    Also returns two flags of each entry, [n, total] each: it is a selected box; it is the first entry of the padding.
    """
    taken, places = chosen.selection, iota(g, g.i64(total))
    number = g.ReduceSum(g.Cast(taken.is_valid, to=int(_INT)), g.i64(1), keepdims=1)
    is_one, zero = g.Less(places, number), g.scalar(0, _FLOAT)
    turn = g.Min(places, g.Sub(g.dim(taken.index, 1), g.i64(1)))
    score, index = (g.Gather(x, turn, axis=1) for x in (taken.score, taken.index))
    boxes = g.GatherND(chosen.boxes, g.unsqueeze(index, 2), batch_dims=1)
    boxes = g.Where(g.unsqueeze(is_one, 2), boxes, zero)
    return boxes, g.Where(is_one, score, zero), is_one, g.Equal(places, number)


@lowers("Proposal", since=1)
@lowers("Proposal", since=4)
def proposal(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """detection/proposal-1, proposal-4: anchors, TopK and a suppression Loop.

    class_probs  [n, 2 * anchors, h, w], the second half for the foreground
    bbox_deltas  [n, 4 * anchors, h, w]
    image_shape  height, width and one or two scales
    results      rois [n * post_nms_topn, 5] of image index, x0 y0 x1 y1; from version 4 on, scores [n * post_nms_topn]

    An image with fewer boxes gets rows of zeros; the first of them has image index -1.
    """
    is_tensorflow = op.text("framework", "") == "tensorflow"
    offset = 0.0 if is_tensorflow else 1.0
    base = _anchors(op, is_tensorflow=is_tensorflow)
    images, rows, columns = dims(op, g, 0, 0, 2, 3)
    number = product(g, rows, columns, len(base))
    info = as_float(op, g, 2)
    extent = g.Gather(info, g.i64(*([0, 1] if is_tensorflow else [1, 0]) * 2), axis=0)
    scales = g.Gather(info, g.i64(3 if op.size(2, 0) == 4 else 2, 2), axis=0)
    anchors = _shifted(op, g, base, rows, columns, is_tensorflow=is_tensorflow)
    if is_tensorflow:
        anchors = _cut(g, anchors, extent)
    scale = [op.number("box_coordinate_scale", 1)] * 2 + [op.number("box_size_scale", 1)] * 2
    deltas = g.Div(_by_position(op, g, as_float(op, g, 1), images, len(base), rows, columns), g.const(scale, "f4"))
    boxes = _moved(g, anchors, deltas, offset=offset, longest=None, inclusive=False)
    if op.flag("clip_before_nms", True):
        boxes = _cut(g, boxes, g.Sub(extent, g.scalar(offset, _FLOAT)))
    fits = _is_large_enough(g, boxes, g.Mul(scales, g.scalar(op.number("min_size"), _FLOAT)), offset=offset)
    foreground = g.Transpose(axis_slice(g, as_float(op, g, 0), len(base), 2 * len(base), 1), perm=[0, 2, 3, 1])
    scores = g.Mul(reshape(g, foreground, images, number), g.Cast(fits, to=int(_FLOAT)))
    if not isinstance(number, int) or not number:
        boxes, scores = padded(g, boxes, 0, 1), padded(g, scores, LOWEST, 1)
    total = op.integer("post_nms_topn")
    chosen = _selected_boxes(
        g, boxes, scores, None, (op.integer("pre_nms_topn"), total), op.number("nms_thresh"), offset
    )
    found, score, is_one, is_end = _listed(g, chosen, total)
    if op.flag("clip_after_nms", False):
        found = _cut(g, found, extent)
    if op.flag("normalize", False):
        found = g.Div(found, extent)
    image = g.Cast(g.unsqueeze(iota(g, shape_vector(g, images)), 1), to=int(_FLOAT))
    rest = g.Where(is_end, g.scalar(-1, _FLOAT), g.scalar(0, _FLOAT))
    rois = g.Concat(g.unsqueeze(g.Where(is_one, image, rest), 2), found, axis=2)
    every = product(g, images, total)
    made = reshape(g, rois, every, 5), reshape(g, score, every)
    return g.cast(made[0], _FLOAT, op.dtype(0)), g.cast(made[1], _FLOAT, op.dtype(0))


def _anchors(op: LayerView, *, is_tensorflow: bool) -> npt.NDArray[np.float32]:
    """The corners of the anchors of the first cell of the grid, [ratios * scales, 4]."""
    size, found = op.integer("base_size"), []
    offset = 0 if is_tensorflow else 1
    centre = 0.0 if is_tensorflow else 0.5 * (size - offset)
    for ratio in op.numbers("ratio", lower=MIN_RATIO):
        width = np.sqrt(np.float32(size * size) / np.float32(ratio))
        width = width if is_tensorflow else np.floor(width + np.float32(0.5))
        height = width * np.float32(ratio)
        height = height if is_tensorflow else np.floor(height + np.float32(0.5))
        for scale in op.numbers("scale"):
            across, down = (0.5 * (side * np.float32(scale) - offset) for side in (width, height))
            found.append((centre - across, centre - down, centre + across, centre + down))
    return np.array(found, "f4")


def _shifted(
    op: LayerView,
    g: FunctionBuilder,
    base: npt.NDArray[np.float32],
    rows: str | int,
    columns: str | int,
    *,
    is_tensorflow: bool,
) -> str:
    """`base` [anchors, 4] shifted by the position of every cell: [1, rows * columns * anchors, 4]."""
    stride = g.scalar(op.integer("feat_stride"), _FLOAT)
    down, across = (g.Mul(g.Cast(iota(g, shape_vector(g, n)), to=int(_FLOAT)), stride) for n in (rows, columns))
    shape = shape_vector(g, rows, columns, 1, 1)
    y, x = g.Expand(g.unsqueeze(down, 1, 2, 3), shape), g.Expand(g.unsqueeze(across, 0, 2, 3), shape)
    corner = (y, x) if is_tensorflow else (x, y)
    shifted = g.Add(g.Concat(*corner, *corner, axis=3), g.const(base))
    return reshape(g, shifted, 1, product(g, rows, columns, len(base)), 4)


def _by_position(
    op: LayerView,
    g: FunctionBuilder,
    x: str,
    images: str | int,
    anchors: str | int,
    rows: str | int,
    columns: str | int,
) -> str:
    """Deltas `x` [n, anchors * 4, h, w] rearranged to [n, h * w * anchors, 4]."""
    split = reshape(g, x, images, anchors, 4, rows, columns)
    return reshape(g, g.Transpose(split, perm=[0, 3, 4, 1, 2]), images, product(g, rows, columns, anchors), 4)


@lowers("GenerateProposals", since=9)
def generate_proposals(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """detection/generate-proposals-9: anchors from an input, moved by deltas, then TopK and a suppression Loop.

    im_info      [n, 3 or 4], height, width and scales
    anchors      [h, w, a, 4] as x0 y0 x1 y1
    boxesdeltas  [n, 4 * a, h, w]
    scores       [n, a, h, w]
    results      rois [k, 4] and roi scores [k], ordered by image; number of rois of each image [n]
    """
    info, offset = as_float(op, g, 0), 0.0 if op.flag("normalized", True) else 1.0
    images, anchors, rows, columns = dims(op, g, 3, 0, 1, 2, 3)
    number = product(g, rows, columns, anchors)
    extent = g.unsqueeze(g.Gather(info, g.i64(1, 0, 1, 0), axis=1), 1)
    scales = g.unsqueeze(g.Gather(info, g.i64(3 if op.size(0, 1) == 4 else 2, 2), axis=1), 1)
    base = reshape(g, as_float(op, g, 1), 1, number, 4)
    deltas = _by_position(op, g, as_float(op, g, 2), images, anchors, rows, columns)
    boxes = _moved(g, base, deltas, offset=offset, longest=_LONGEST, inclusive=True)
    boxes = _cut(g, boxes, g.Sub(extent, g.scalar(offset, _FLOAT)))
    fits = _is_large_enough(g, boxes, g.Mul(scales, g.scalar(op.number("min_size"), _FLOAT)), offset=offset)
    scores = reshape(g, g.Transpose(as_float(op, g, 3), perm=[0, 2, 3, 1]), images, number)
    scores = g.Max(scores, g.scalar(np.nextafter(np.float32(LOWEST), np.float32(0)), _FLOAT))
    if not isinstance(number, int) or not number:
        boxes, scores = padded(g, boxes, 0, 1), padded(g, scores, LOWEST, 1)
        fits = g.Concat(fits, g.Expand(g.scalar(False, DType.BOOL), shape_vector(g, g.dim(fits, 0), 1)), axis=1)
    counts = op.integer("pre_nms_count"), op.integer("post_nms_count")
    chosen = _selected_boxes(g, boxes, scores, fits, counts, op.number("nms_threshold"), offset)
    taken = chosen.selection
    where = g.Transpose(g.NonZero(taken.is_valid), perm=[1, 0])
    index = g.unsqueeze(g.GatherND(taken.index, where), 1)
    found = g.GatherND(chosen.boxes, g.Concat(axis_slice(g, where, 0, 1, 1), index, axis=1))
    each = reshape(g, g.ReduceSum(g.Cast(taken.is_valid, to=int(_INT)), g.i64(1), keepdims=0), images)
    kind = op.dtype(3)
    score = g.cast(g.GatherND(taken.score, where), _FLOAT, kind)
    return g.cast(found, _FLOAT, kind), score, g.cast(each, _INT, op.type_of("roi_num_type", "i64"))


@lowers("ExperimentalDetectronGenerateProposalsSingleImage", since=6)
def generate_proposals_of_one(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """detection/experimental-detectron-generate-proposals-single-image-6: GenerateProposals for one image.

    im_info  [3], height, width, scale
    anchors  [h * w * a, 4] as x0 y0 x1 y1
    deltas   [4 * a, h, w]
    scores   [a, h, w]
    results  rois [post_nms_count, 4] and roi scores [post_nms_count], padded with zeros
    """
    info = as_float(op, g, 0)
    anchors, rows, columns = dims(op, g, 3, 0, 1, 2)
    number = product(g, rows, columns, anchors)
    extent = g.Gather(info, g.i64(1, 0, 1, 0), axis=0)
    deltas = _by_position(op, g, g.unsqueeze(as_float(op, g, 2), 0), 1, anchors, rows, columns)
    boxes = _moved(g, g.unsqueeze(as_float(op, g, 1), 0), deltas, offset=1, longest=_LONGEST, inclusive=True)
    boxes = _cut(g, boxes, g.Sub(extent, g.scalar(1, _FLOAT)))
    fits = _is_large_enough(g, boxes, g.scalar(op.number("min_size"), _FLOAT), offset=1)
    scores = reshape(g, g.Transpose(as_float(op, g, 3), perm=[1, 2, 0]), 1, number)
    scores = g.Mul(scores, g.Cast(fits, to=int(_FLOAT)))
    if not isinstance(number, int) or not number:
        boxes, scores = padded(g, boxes, 0, 1), padded(g, scores, LOWEST, 1)
    counts = op.integer("pre_nms_count"), op.integer("post_nms_count")
    chosen = _selected_boxes(g, boxes, scores, None, counts, op.number("nms_threshold"), 0)
    found, score, _, _ = _listed(g, chosen, counts[1])
    kind = op.dtype(3)
    return g.cast(g.squeeze(found, 0), _FLOAT, kind), g.cast(g.squeeze(score, 0), _FLOAT, kind)


@lowers("ExperimentalDetectronDetectionOutput", since=6)
def detectron_output(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """detection/experimental-detectron-detection-output-6: a suppression Loop over all classes.

    rois     [r, 4] as x0 y0 x1 y1
    deltas   [r, 4 * classes]
    scores   [r, classes]; class 0 is background
    im_info  [1, 3]
    results  boxes [m, 4], classes [m] and scores [m] for m = max_detections_per_image, padded with zeros

    Rows are ordered by class, or by score if there are more detections than rows.
    """
    classes, total = op.integer("num_classes"), op.integer("max_detections_per_image")
    boxes, scores = _per_class(op, g, classes)
    label = iota(g, g.i64(classes))
    left = g.And(
        g.Greater(scores, g.scalar(op.number("score_threshold"), _FLOAT)),
        g.unsqueeze(g.Greater(label, g.scalar(0, _INT)), 1),
    )
    most = op.integer("post_nms_count")
    number = g.dim(scores, 1)
    turns = g.as_scalar(number if most < 0 else g.Min(number, g.i64(most)))
    limit = g.scalar(op.number("nms_threshold"), _FLOAT)
    taken = select_greedily(
        g,
        SuppressionState(scores, left),
        turns,
        hard_suppression(g, boxes_of(g, boxes, offset=1), limit, offset=1, touching=True),
    )
    owner = g.as_vector(g.Expand(g.unsqueeze(label, 1), g.Shape(taken.index)))
    index, score, is_one = (g.as_vector(x) for x in (taken.index, taken.score, taken.is_valid))
    by_index = argsort(g, index, descending=False)
    masked = g.Where(is_one, score, g.scalar(LOWEST, _FLOAT))
    by_score = g.Gather(by_index, argsort(g, g.Gather(masked, by_index, axis=0)), axis=0)
    found = g.ReduceSum(g.Cast(is_one, to=int(_INT)), keepdims=1)
    many = g.Greater(found, g.i64(total))
    ranked = g.Where(many, by_score, argsort(g, g.Cast(is_one, to=int(_FLOAT))))
    places = iota(g, g.i64(total))
    spot = g.Gather(ranked, g.Min(places, g.Sub(g.Shape(ranked), g.i64(1))), axis=0)
    owner, index, score = (g.Gather(x, spot, axis=0) for x in (owner, index, score))
    corners = g.GatherND(boxes, g.Concat(g.unsqueeze(owner, 1), g.unsqueeze(index, 1), axis=1))
    is_row, zero, kind = g.Less(places, found), g.scalar(0, _FLOAT), op.dtype(0)
    made = g.cast(g.Where(g.unsqueeze(is_row, 1), corners, zero), _FLOAT, kind)
    owner = g.Cast(g.Where(is_row, owner, g.scalar(0, _INT)), to=int(DType.INT32))
    return made, owner, g.cast(g.Where(is_row, score, zero), _FLOAT, kind)


def _per_class(op: LayerView, g: FunctionBuilder, classes: int) -> tuple[str, str]:
    """The boxes [classes, r, 4] and scores [classes, r] of each class.

    A region without a positive width and height gets zeros. A box is added if there may be none.
    """
    rois, scores = as_float(op, g, 0), g.Transpose(as_float(op, g, 2), perm=[1, 0])
    (number,) = dims(op, g, 0, 0)
    deltas = g.Transpose(reshape(g, as_float(op, g, 1), number, classes, 4), perm=[1, 0, 2])
    deltas = g.Div(deltas, g.const(op.numbers("deltas_weights", count=4), "f4"))
    longest = op.number("max_delta_log_wh")
    moved = _moved(g, g.unsqueeze(rois, 0), deltas, offset=1, longest=longest, inclusive=True)
    zero = g.scalar(0, _FLOAT)
    sides = g.Greater(g.Sub(axis_slice(g, rois, 2, 4, 1), axis_slice(g, rois, 0, 2, 1)), zero)
    is_box = g.And(axis_slice(g, sides, 0, 1, 1), axis_slice(g, sides, 1, 2, 1))
    boxes = g.Where(is_box, g.Max(moved, zero), zero)
    scores = g.Where(g.squeeze(is_box, 1), scores, zero)
    if not number or not isinstance(number, int):
        return padded(g, boxes, 0, 1), padded(g, scores, LOWEST, 1)
    return boxes, scores
