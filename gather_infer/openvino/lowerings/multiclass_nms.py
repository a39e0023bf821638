"""Non-maximum suppression over all classes of an image: MulticlassNms and MatrixNms.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.suppression import (
    LOWEST,
    SuppressionState,
    boxes_of,
    hard_suppression,
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
    iota,
    product,
    reshape,
    shape_vector,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers
_FLOAT, _INT = DType.FLOAT32, DType.INT64


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Scores, box indices and validity flags of the candidates of each class: [n, c, k] or [n * c, k] each."""

    score: str
    box: str
    is_valid: str


@lowers("MatrixNms", since=8)
def matrix_nms(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """sort/matrix-non-max-suppression-8: TopK and a matrix of overlaps, without a Loop.

    boxes    [n, p, 4] as x0 y0 x1 y1; scores [n, c, p]
    results  selected_outputs [k, 6] of class, score and box; selected_indices [k, 1]; valid_outputs [n], the number of
             selected boxes of each image

    A box's score decays with its overlap with each box of higher score, and less if that box itself overlaps boxes of
    still higher score.
    """
    boxes, scores = _inputs(op, g)
    most = op.integer("nms_top_k", -1)
    number = g.dim(scores, 2) if most < 0 else g.Min(g.dim(scores, 2), g.i64(most))
    score, box = g.node("TopK", (scores, number), 2, axis=2)
    offset = 0 if op.flag("normalized", True) else 1
    chosen = boxes_of(g, g.GatherND(boxes, g.unsqueeze(box, 3), batch_dims=1), offset=offset, ordered=True)
    share = overlap(g, chosen.along(g, 3), chosen.along(g, 2), offset=offset, touching=True)  # [n, c, k, k]
    places, one, zero = iota(g, number), g.scalar(1, _FLOAT), g.scalar(0, _FLOAT)
    is_better = g.Less(places, g.unsqueeze(places, 1))
    share = g.Where(is_better, share, zero)
    covered = g.unsqueeze(g.ReduceMax(share, g.i64(3), keepdims=0), 2)
    if op.text("decay_function", "linear", choices=("linear", "gaussian")) == "gaussian":
        less = g.Sub(g.Mul(covered, covered), g.Mul(share, share))
        decay = g.Exp(g.Mul(less, g.scalar(op.number("gaussian_sigma", 2), _FLOAT)))
    else:
        decay = g.Div(g.Sub(one, share), g.Add(g.Sub(one, covered), g.scalar(1e-10, _FLOAT)))
    decay = g.ReduceMin(g.Where(is_better, decay, one), g.i64(3), keepdims=0)
    decayed = g.Mul(g.Min(decay, one), score)
    is_one = g.Greater(score, g.scalar(op.number("score_threshold", 0), _FLOAT))
    is_one = g.And(is_one, g.Greater(decayed, g.scalar(op.number("post_threshold", 0), _FLOAT)))
    is_one = g.And(is_one, _in_foreground(op, g, 1))
    return _results(op, g, _Candidates(decayed, box, is_one), boxes)


def _inputs(op: LayerView, g: FunctionBuilder) -> tuple[str, str]:
    """The boxes and scores as float32; padded by one box if there may be none."""
    boxes, scores = as_float(op, g, 0), as_float(op, g, 1)
    if op.size(0, 1):
        return boxes, scores
    return padded(g, boxes, 0, 1), padded(g, scores, LOWEST, op.rank(1) - 1)


def _in_foreground(op: LayerView, g: FunctionBuilder, axis: int) -> str:
    """Flags [c, 1] of the classes other than the background; `axis` is the axis of the classes in the scores."""
    classes = iota(g, g.dim(op.x(1), axis))
    background = g.scalar(op.integer("background_class", -1), _INT)
    return g.unsqueeze(g.Not(g.Equal(classes, background)), 1)


@lowers("MulticlassNms", since=8)
@lowers("MulticlassNms", since=9)
def multiclass_nms(op: LayerView, g: FunctionBuilder) -> tuple[str, str, str]:
    """sort/multiclass-non-max-suppression-8, multiclass-non-max-suppression-9: TopK, then a Loop.

    boxes    [n, p, 4] as x0 y0 x1 y1, and scores [n, c, p]; or [c, p, 4] and [c, p] for p boxes of all images
    roisnum  [n], from version 9 on: the number of boxes of each image, for the second form of the other inputs
    results  as for `matrix_nms`
    """
    boxes, scores = _inputs(op, g)
    floor = g.scalar(op.number("score_threshold", 0), _FLOAT)
    if op.rank(1) == 2:
        images, classes = _sizes(op, g)
        wide = shape_vector(g, images, classes, g.dim(scores, 1))
        left = g.And(g.GreaterOrEqual(scores, floor), g.unsqueeze(_box_ownership(op, g, g.dim(scores, 1)), 1))
        scores = g.Expand(scores, wide)
        boxes_per_class = g.Expand(boxes, g.concat(wide, g.i64(4)))
    else:
        images, classes = _sizes(op, g)
        left = g.GreaterOrEqual(scores, floor)
        boxes_per_class = g.Expand(g.unsqueeze(boxes, 1), shape_vector(g, images, classes, g.dim(scores, 2), 4))
    left = g.And(left, _in_foreground(op, g, op.rank(1) - 2))
    scores = g.Where(left, scores, g.scalar(LOWEST, _FLOAT))
    most = op.integer("nms_top_k", -1)
    number = max_candidates(g, left) if most < 0 else g.Min(max_candidates(g, left), g.i64(max(most, 1)))
    scores, best = g.node("TopK", (scores, number), 2, axis=2)
    left = g.GatherElements(left, best, axis=2)
    boxes_per_class = g.GatherND(boxes_per_class, g.unsqueeze(best, 3), batch_dims=2)
    rows = product(g, images, classes)
    flat = SuppressionState(reshape(g, scores, rows, number), reshape(g, left, rows, number))
    taken = _suppressed(op, g, flat, reshape(g, boxes_per_class, rows, number, 4), most)
    shape = [shape_vector(g, images, classes), g.dim(taken.box, 1)]
    score, box, is_one = (reshape(g, x, *shape) for x in (taken.score, taken.box, taken.is_valid))
    return _results(op, g, _Candidates(score, g.GatherElements(best, box, axis=2), is_one), boxes)


def _sizes(op: LayerView, g: FunctionBuilder) -> tuple[str | int, str | int]:
    """The numbers of images and of classes: each a number if known, else the name of an int64 vector of one element."""
    if op.rank(1) == 2:
        return dims(op, g, 2, 0)[0], dims(op, g, 1, 0)[0]
    images, classes = dims(op, g, 1, 0, 1)
    return images, classes


def _box_ownership(op: LayerView, g: FunctionBuilder, boxes: str) -> str:
    """Flags [n, p] of the boxes that belong to each image by `roisnum`; `boxes` is an int64 vector that holds p."""
    number = as_int64(op, g, 2)
    ends = g.unsqueeze(g.CumSum(number, g.scalar(0, _INT)), 1)
    places = iota(g, boxes)
    return g.And(g.Less(places, ends), g.GreaterOrEqual(places, g.Sub(ends, g.unsqueeze(number, 1))))


def _suppressed(op: LayerView, g: FunctionBuilder, start: SuppressionState, boxes: str, max_boxes: int) -> _Candidates:
    """The candidates that greedy suppression selects in each row, in order: scores, box indices and validity flags.

    Each field of the result is [rows, turns], where turns is k, or 0 if `max_boxes` is 0.

    start      scores and flags of the candidates, [rows, k] each
    boxes      [rows, k, 4]
    max_boxes  the attribute nms_top_k; 0 selects nothing
    """
    offset = 0 if op.flag("normalized", True) else 1
    shapes, limit = boxes_of(g, boxes, offset=offset), g.scalar(op.number("iou_threshold", 0), _FLOAT)
    turns = g.as_scalar(g.dim(start.scores, 1)) if max_boxes else g.scalar(0, _INT)
    eta = op.number("nms_eta", 1)
    if eta >= 1:
        covers = hard_suppression(g, shapes, limit, at_limit=True, offset=offset, positive=True)
        taken = select_greedily(g, start, turns, covers)
        return _Candidates(taken.score, taken.index, taken.is_valid)
    rows = g.dim(start.scores, 0)
    limits = g.Expand(limit, shape_vector(g, rows, 1))
    none_yet = g.Expand(g.scalar(-1, _FLOAT), g.Shape(start.scores))

    def suppress(body: FunctionBuilder, pick: str, found: str, now: SuppressionState) -> SuppressionState:
        """Lower the limit after each selection, and apply the new limit to earlier overlaps again."""
        share = overlap(body, shapes.at(body, pick), shapes, offset=offset, positive=True)
        most_yet = body.Where(found, body.Max(now.extra[0], share), now.extra[0])
        sinks = body.And(found, body.Greater(now.extra[1], body.scalar(0.5, _FLOAT)))
        sunk = body.Where(sinks, body.Mul(now.extra[1], body.scalar(eta, _FLOAT)), now.extra[1])
        return SuppressionState(now.scores, body.And(now.is_candidate, body.Less(most_yet, sunk)), (most_yet, sunk))

    taken = select_greedily(
        g, SuppressionState(start.scores, start.is_candidate, (none_yet, limits)), turns, suppress, (2, 2)
    )
    return _Candidates(taken.score, taken.index, taken.is_valid)


def _results(op: LayerView, g: FunctionBuilder, found: _Candidates, boxes: str) -> tuple[str, str, str]:
    """The three outputs of the layer: the best `keep_top_k` selections of each image, in the requested order.

    found   the selected candidates, [n, c, k] each
    boxes   all boxes of the layer
    """
    shared = op.rank(1) == 3
    images, classes = _sizes(op, g)
    each = g.dim(found.score, 2)
    whole = g.Mul(shape_vector(g, classes), each)
    score, box, is_one = (reshape(g, x, images, whole) for x in (found.score, found.box, found.is_valid))
    ranked = argsort(g, g.Where(is_one, score, g.scalar(LOWEST, _FLOAT)), axis=1)
    kept, most = g.GatherElements(is_one, ranked, axis=1), op.integer("keep_top_k", -1)
    if most >= 0:
        kept = g.And(kept, g.Less(iota(g, whole), g.scalar(most, _INT)))
    number = g.ReduceSum(g.Cast(kept, to=int(_INT)), g.i64(1), keepdims=0)
    where = g.Transpose(g.NonZero(kept), perm=[1, 0])
    image = axis_slice(g, where, 0, 1, 1)
    spot = g.unsqueeze(g.GatherND(ranked, where), 1)
    label, place = g.Div(spot, each), g.Concat(image, spot, axis=1)
    score, box = (g.unsqueeze(g.GatherND(x, place), 1) for x in (score, box))
    at = _order(op, g, image, label, score)
    if at is not None:
        image, label, score, box = (g.Gather(x, at, axis=0) for x in (image, label, score, box))
    corners = g.GatherND(boxes, g.Concat(image if shared else label, box, axis=1))
    rows = g.Concat(g.Cast(label, to=int(_FLOAT)), score, corners, axis=1)
    if shared:
        index = g.Add(g.Mul(image, shape_vector(g, *dims(op, g, 0, 1))), box)
    else:
        index = g.Add(g.Mul(box, shape_vector(g, classes)), label)
    kind = op.type_of("output_type", "i64")
    return g.cast(rows, _FLOAT, op.dtype(0)), g.cast(index, _INT, kind), g.cast(number, _INT, kind)


def _order(op: LayerView, g: FunctionBuilder, image: str, label: str, score: str) -> str | None:
    """The row indices that sort the results as the attributes request; None if the present order is the requested one.

    image, label, score   columns [k, 1] of the rows, which are sorted by image, then by score
    """
    across, by = op.flag("sort_result_across_batch", False), op.text("sort_result_type", "none").lower()
    if across and by == "score":
        return argsort(g, g.squeeze(score, 1))
    if by == "classid" and across:
        return argsort(g, g.squeeze(label, 1), descending=False)
    if by == "classid" and op.op_type == "MulticlassNms":
        key = g.Add(g.Mul(image, g.Add(g.dim(op.x(1), op.rank(1) - 2), g.i64(1))), label)
        return argsort(g, g.squeeze(key, 1), descending=False)
    return None
