"""NonMaxSuppression in all its versions, and NMSRotated.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.rotated_boxes import rotated_boxes, rotated_overlap
from gather_infer.openvino.lowerings.suppression import (
    LOWEST,
    Suppress,
    SuppressionState,
    boxes_of,
    max_candidates,
    overlap,
    padded,
    select_greedily,
)
from gather_infer.openvino.lowerings.tensor_idioms import (
    argsort,
    as_float,
    as_int64,
    axis_slice,
    dims,
    product,
    reshape,
    shape_vector,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers
_FLOAT, _INT = DType.FLOAT32, DType.INT64


@lowers("NonMaxSuppression", since=1)
@lowers("NonMaxSuppression", since=3)
@lowers("NonMaxSuppression", since=4)
def indices(op: LayerView, g: FunctionBuilder) -> str:
    """sort/non-max-suppression-1, non-max-suppression-3, non-max-suppression-4: selected_indices of version 5."""
    return suppression(op, g)[0]


@lowers("NonMaxSuppression", since=5)
@lowers("NonMaxSuppression", since=9)
def suppression(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """sort/non-max-suppression-5, non-max-suppression-9: NonMaxSuppression; with soft_nms_sigma a Loop.

    boxes    [n, p, 4] as y0 x0 y1 x1, or as x and y of the centre, width and height; scores [n, c, p]
    scalars  max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma, each 0 by default
    results  selected_indices [k, 3] of image, class and box; selected_scores [k, 3] of image, class and score; [1] of k

    OpenVINO drops a box whose overlap is iou_threshold or more, ONNX only a box whose overlap is above it.
    """
    if op.has(5) and op.known_number(5) != 0:
        return _results(op, g, *_softly(op, g))
    limit, most = _limit(op, g), _max_boxes(op, g)
    if limit is None:  # every overlap is >= 0, so the first box drops all others
        limit, most = g.const([0.0], "f4"), g.Min(most, g.i64(1))
    found = g.NonMaxSuppression(
        as_float(op, g, 0), as_float(op, g, 1), most, limit, _number(op, g, 4), center_point_box=int(_is_centred(op))
    )
    return _results(op, g, found, g.GatherND(as_float(op, g, 1), found))


def _is_centred(op: LayerView) -> bool:
    return op.text("box_encoding", "corner", choices=("corner", "center")) == "center"


def _max_boxes(op: LayerView, g: FunctionBuilder) -> str:
    """Maximum number of selected boxes per class, int64 [1]; 0 by default."""
    return g.Reshape(as_int64(op, g, 2), g.i64(1)) if op.has(2) else g.i64(0)


def _number(op: LayerView, g: FunctionBuilder, index: int) -> str:
    """The number in input `index`, float32 [1]; 0 if the input is left out."""
    return g.Reshape(as_float(op, g, index), g.i64(1)) if op.has(index) else g.const([0.0], "f4")


def _limit(op: LayerView, g: FunctionBuilder) -> str | None:
    """ONNX's iou_threshold, float32 [1]: the largest number below OpenVINO's; None if OpenVINO's is known <= 0."""
    known = op.known_number(3) if op.has(3) else 0.0
    if known is None:  # the next float below a positive one; ONNX requires a limit in [0, 1]
        below = g.Mul(_number(op, g, 3), g.const([1 - 2.0**-24], "f4"))
        return g.Clip(below, g.scalar(0, _FLOAT), g.scalar(1, _FLOAT))
    value = np.float32(known)
    return g.const([min(np.nextafter(value, np.float32(-1)), np.float32(1))], "f4") if value > 0 else None


def _softly(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """Indices [k, 3] and scores [k] of boxes selected by soft suppression: overlap with selected boxes lowers scores.

    If soft_nms_sigma is 0 at run time, suppression is hard: boxes that overlap too much are dropped.
    """
    scores, boxes = padded(g, as_float(op, g, 1), LOWEST, 2), padded(g, as_float(op, g, 0), 0, 1)
    if _is_centred(op):
        centre, half = axis_slice(g, boxes, 0, 2, 2), g.Mul(axis_slice(g, boxes, 2, 4, 2), g.scalar(0.5, _FLOAT))
        boxes = g.Concat(g.Sub(centre, half), g.Add(centre, half), axis=2)
    else:
        first, last = axis_slice(g, boxes, 0, 2, 2), axis_slice(g, boxes, 2, 4, 2)
        boxes = g.Concat(g.Min(first, last), g.Max(first, last), axis=2)
    start = _start(op, g, boxes, scores, 4)
    shapes = boxes_of(g, start.boxes)
    limit, floor = g.as_scalar(_number(op, g, 3)), g.as_scalar(_number(op, g, 4))
    sigma = g.as_scalar(_number(op, g, 5))
    zero = g.scalar(0, _FLOAT)
    positive = g.Greater(sigma, zero)
    factor = g.Where(positive, g.Div(g.scalar(-0.5, _FLOAT), g.Where(positive, sigma, g.scalar(1, _FLOAT))), zero)

    def suppress(body: FunctionBuilder, pick: str, found: str, now: SuppressionState) -> SuppressionState:
        share = overlap(body, shapes.at(body, pick), shapes, positive=True)
        decay = body.Exp(body.Mul(body.Mul(share, share), factor))
        decayed = body.Where(found, body.Mul(now.scores, decay), now.scores)
        left = body.And(now.is_candidate, body.Greater(decayed, floor))
        covered = body.GreaterOrEqual(share, limit)
        covered = body.And(body.And(found, body.Not(positive)), covered)
        return SuppressionState(decayed, body.And(left, body.Not(covered)))

    return _listed(op, g, start, suppress)


@dataclass(frozen=True, slots=True)
class _Start:
    """The candidates of each class of each image, at most k, by descending score.

    boxes   [n * c, k, width]
    state   scores and flags of the candidates, [n * c, k] each
    ranked  index of each candidate among the boxes of its image, [n * c, k]
    """

    boxes: str
    state: SuppressionState
    ranked: str


def _start(op: LayerView, g: FunctionBuilder, boxes: str, scores: str, width: int) -> _Start:
    """The candidates among `boxes` [n, p, width] whose `scores` [n, c, p] are above the score threshold."""
    left = g.Greater(scores, g.as_scalar(_number(op, g, 4)))
    number = max_candidates(g, left)
    best, ranked = g.node("TopK", (g.Where(left, scores, g.scalar(LOWEST, _FLOAT)), number), 2, axis=2)
    left = g.GatherElements(left, ranked, axis=2)
    chosen = g.GatherND(boxes, g.unsqueeze(ranked, 3), batch_dims=1)
    rows = product(g, *dims(op, g, 1, 0, 1))
    best, left, ranked = (reshape(g, one, rows, number) for one in (best, left, ranked))
    return _Start(reshape(g, chosen, rows, number, width), SuppressionState(best, left), ranked)


def _listed(op: LayerView, g: FunctionBuilder, start: _Start, suppress: Suppress) -> tuple[str, str]:
    """Indices [k, 3] and scores [k] of the boxes that greedy selection with `suppress` selects, by image and class."""
    turns = g.Min(g.as_scalar(_max_boxes(op, g)), g.as_scalar(g.dim(start.ranked, 1)))
    taken = select_greedily(g, start.state, turns, suppress)
    where = g.Transpose(g.NonZero(taken.is_valid), perm=[1, 0])
    row, classes = axis_slice(g, where, 0, 1, 1), shape_vector(g, *dims(op, g, 1, 1))
    box = g.unsqueeze(g.GatherND(g.GatherElements(start.ranked, taken.index, axis=1), where), 1)
    found = g.Concat(g.Div(row, classes), g.Mod(row, classes), box, axis=1)
    return found, g.GatherND(taken.score, where)


def _results(op: LayerView, g: FunctionBuilder, found: str, scores: str) -> tuple[str, str, str]:
    """The three outputs of the layer, from the indices `found` [k, 3] and `scores` [k] of the selected boxes.

    The boxes are sorted by score with `sort_result_descending`, otherwise they keep the order by image and class.
    """
    if op.flag("sort_result_descending", True):
        ranked = argsort(g, scores)
        found, scores = g.Gather(found, ranked, axis=0), g.Gather(scores, ranked, axis=0)
    kind = op.type_of("output_type", "i64")
    places = g.Cast(axis_slice(g, found, 0, 2, 1), to=int(_FLOAT))
    rated = g.Concat(places, g.unsqueeze(scores, 1), axis=1)
    return g.cast(found, _INT, kind), rated, g.cast(g.dim(found, 0), _INT, kind)


@lowers("NMSRotated", since=13)
def rotated(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """sort/nms-rotated-13: NonMaxSuppression of rotated boxes, in a Loop.

    boxes   [n, p, 5]: x and y of the centre, width, height, angle in radians

    Other inputs and results are those of NonMaxSuppression without soft_nms_sigma.
    """
    scores, boxes = padded(g, as_float(op, g, 1), LOWEST, 2), padded(g, as_float(op, g, 0), 0, 1)
    start = _start(op, g, boxes, scores, 5)
    shapes = rotated_boxes(g, start.boxes, clockwise=op.flag("clockwise", True))
    limit = g.as_scalar(_number(op, g, 3))

    def suppress(body: FunctionBuilder, pick: str, found: str, now: SuppressionState) -> SuppressionState:
        share = rotated_overlap(body, shapes.at(body, pick), shapes)
        covered = body.And(found, body.Greater(share, limit))
        return SuppressionState(now.scores, body.And(now.is_candidate, body.Not(covered)))

    return _results(op, g, *_listed(op, g, start, suppress))
