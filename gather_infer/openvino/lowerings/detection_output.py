"""DetectionOutput, the last layer of SSD networks, by TopK, a suppression Loop and GatherND.

Page: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
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
_FLOAT, _INT, _FLAG = DType.FLOAT32, DType.INT64, DType.INT32
_CODES = ("caffe.priorboxparameter.corner", "caffe.priorboxparameter.center_size")


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The numbers of images, priors and classes; the name of an int64 vector of one element for an unknown one."""

    images: str | int
    priors: str | int
    classes: str | int


@lowers("DetectionOutput", since=1)
@lowers("DetectionOutput", since=8)
def detection_output(op: LayerView, g: FunctionBuilder) -> str:
    """detection/detectionoutput-1, detectionoutput-8: TopK, a suppression Loop, GatherND; version 1 has num_classes.

    box logits         [n, priors * (1 or classes) * 4]
    class predictions  [n, priors * classes]
    proposals          [1 or n, 2, priors * (4 or 5)], boxes and variances; only boxes if the logits include variances
    optional inputs    class predictions [n, priors * 2] and box logits of a first stage
    result             [1, 1, k, 7] of image index, class, score and box; after the last detection a row with image
                       index -1, then rows of zeros
    """
    known = _sizes(op, g)
    boxes = _decoded(op, g, known)
    scores = _scores(op, g, known)
    left = g.And(_candidates(op, g, scores, known), _real(op, g, known))
    most, lowest = op.integer("top_k", -1), g.scalar(LOWEST, _FLOAT)
    if most >= 0 and op.flag("decrease_label_id", False):
        left = g.And(left, _best(g, g.Where(left, scores, lowest), most, known))
    number = g.Min(shape_vector(g, known.priors), max_candidates(g, left))
    if most >= 0:
        number = g.Min(number, g.i64(max(most, 1)))
    scores, ranked = g.node("TopK", (g.Where(left, scores, lowest), number), 2, axis=2)
    left = g.GatherElements(left, ranked, axis=2)
    chosen = g.GatherND(boxes, g.unsqueeze(ranked, 3), batch_dims=2)
    rows = product(g, known.images, known.classes)
    start = SuppressionState(reshape(g, scores, rows, number), reshape(g, left, rows, number))
    shapes = boxes_of(g, reshape(g, chosen, rows, number, 4))
    limit = g.scalar(op.number("nms_threshold"), _FLOAT)
    turns = g.as_scalar(number) if most else g.scalar(0, _INT)
    taken = select_greedily(g, start, turns, hard_suppression(g, shapes, limit, touching=True))
    each = g.dim(taken.index, 1)
    by_class = [reshape(g, x, known.images, known.classes, each) for x in (taken.index, taken.score, taken.is_valid)]
    prior = g.GatherElements(ranked, by_class[0], axis=2)
    where = g.Transpose(g.NonZero(_kept(op, g, prior, by_class[1], by_class[2], known)), perm=[1, 0])
    return _filled(op, g, where, g.GatherND(by_class[1], where), g.GatherND(prior, where), boxes, known)


def _sizes(op: LayerView, g: FunctionBuilder) -> _Sizes:
    images, predictions = dims(op, g, 1, 0, 1)
    (length,) = dims(op, g, 2, 2)
    width = _width(op)
    priors = length // width if isinstance(length, int) else g.Div(length, g.i64(width))
    classes = op.integer("num_classes", 0)
    if classes:
        return _Sizes(images, priors, classes)
    if isinstance(predictions, int) and isinstance(priors, int):
        return _Sizes(images, priors, predictions // priors if priors else 0)
    return _Sizes(images, priors, g.Div(shape_vector(g, predictions), shape_vector(g, priors)))


def _width(op: LayerView) -> int:
    """The length of a proposal: 4 if boxes are normalized; 5 if they are in pixels, with the image index first."""
    return 4 if op.flag("normalized", False) else 5


def _scores(op: LayerView, g: FunctionBuilder, known: _Sizes) -> str:
    """Scores [n, classes, priors]; a prior that the first stage rejects has score 1 for the background, else 0."""
    given = reshape(g, as_float(op, g, 1), known.images, known.priors, known.classes)
    scores = g.Transpose(given, perm=[0, 2, 1])
    if not op.has(3):
        return scores
    first = reshape(g, as_float(op, g, 3), known.images, known.priors, 2)
    is_nothing = g.Less(axis_element(g, first, 1, 2), g.scalar(op.number("objectness_score", 0), _FLOAT))
    background = g.Equal(_classes(g, known), g.scalar(op.integer("background_label_id", 0), _INT))
    return g.Where(g.unsqueeze(is_nothing, 1), g.Cast(background, to=int(_FLOAT)), scores)


def _classes(g: FunctionBuilder, known: _Sizes) -> str:
    """The class indices 0, 1, ..., int64 [classes, 1]."""
    return g.unsqueeze(iota(g, shape_vector(g, known.classes)), 1)


def _candidates(op: LayerView, g: FunctionBuilder, scores: str, known: _Sizes) -> str:
    """Flags [n, classes, priors] of the scores above the threshold, except those of the background.

    With decrease_label_id, class 0 is the background, and only the best class of each prior is flagged.
    """
    floor = g.scalar(op.number("confidence_threshold", 0), _FLOAT)
    classes, zero = _classes(g, known), g.scalar(0, _INT)
    if not op.flag("decrease_label_id", False):
        background = g.scalar(op.integer("background_label_id", 0), _INT)
        return g.And(g.Greater(scores, floor), g.Not(g.Equal(classes, background)))
    high = g.And(g.GreaterOrEqual(scores, floor), g.Greater(scores, g.scalar(-1, _FLOAT)))
    high = g.And(high, g.Greater(classes, zero))
    best = g.ArgMax(g.Where(high, scores, g.scalar(LOWEST, _FLOAT)), axis=1, keepdims=1)
    return g.And(high, g.Equal(classes, best))


def _real(op: LayerView, g: FunctionBuilder, known: _Sizes) -> str:
    """Flags [n or 1, 1, priors] of the priors before the first one whose image index is -1.

    A scalar true if proposals are normalized, because they have no image index then.
    """
    if _width(op) == 4:
        return g.scalar(True, DType.BOOL)
    images = axis_element(g, _proposals(op, g, 0, 5, known), 0, 2)
    over = g.Cast(g.Equal(images, g.scalar(-1, _FLOAT)), to=int(_INT))
    ended = g.CumSum(over, g.scalar(1, _INT))
    return g.unsqueeze(g.Equal(ended, g.scalar(0, _INT)), 1)


def _best(g: FunctionBuilder, scores: str, limit: int, known: _Sizes) -> str:
    """Flags [n, classes, priors] of the `limit` best of each image's `scores` [n, classes, priors]."""
    whole = product(g, known.classes, known.priors)
    flat = reshape(g, scores, known.images, whole)
    _, first = g.node("TopK", (flat, g.Min(shape_vector(g, whole), g.i64(limit))), 2, axis=1)
    return reshape(g, _marked(g, flat, first, None), known.images, known.classes, known.priors)


def _marked(g: FunctionBuilder, like: str, positions: str, flags: str | None) -> str:
    """Flags with the shape of `like`: `flags` (None: true) at `positions` along axis 1, and false elsewhere."""
    none = g.Expand(g.scalar(0, _FLAG), g.Shape(like))
    given = g.Expand(g.scalar(1, _FLAG), g.Shape(positions)) if flags is None else g.Cast(flags, to=int(_FLAG))
    return g.Greater(g.ScatterElements(none, positions, given, axis=1), g.scalar(0, _FLAG))


def _proposals(op: LayerView, g: FunctionBuilder, row: int, width: int, known: _Sizes) -> str:
    """Row `row` of the proposals, [n or 1, priors, width]: row 0 holds the boxes, row 1 the variances."""
    (images,) = dims(op, g, 2, 0)
    length = product(g, known.priors, width)
    flat = g.Slice(axis_element(g, as_float(op, g, 2), row, 1), g.i64(0), shape_vector(g, length), g.i64(1))
    return reshape(g, flat, images, known.priors, width)


def _decoded(op: LayerView, g: FunctionBuilder, known: _Sizes) -> str:
    """Boxes [n, classes, priors, 4], decoded from the logits relative to the proposals."""
    width, encoded = _width(op), op.flag("variance_encoded_in_target", False)
    base = axis_slice(g, _proposals(op, g, 0, width, known), width - 4, width, 2)
    base = g.unsqueeze(base, 1)
    variance = None if encoded else g.unsqueeze(_proposals(op, g, 1, 4, known), 1)
    for index in (4, 0) if op.has(4) else (0,):
        logits = _logits(op, g, index, known)
        base = _moved(op, g, base, logits if variance is None else g.Mul(variance, logits))
    return g.Expand(base, shape_vector(g, known.images, known.classes, known.priors, 4))


def _logits(op: LayerView, g: FunctionBuilder, index: int, known: _Sizes) -> str:
    """The box logits in input `index`, rearranged to [n, 1 or classes, priors, 4]."""
    classes = 1 if op.flag("share_location", True) else known.classes
    given = reshape(g, as_float(op, g, index), known.images, known.priors, classes, 4)
    return g.Transpose(given, perm=[0, 2, 1, 3])


def _moved(op: LayerView, g: FunctionBuilder, base: str, logits: str) -> str:
    """The boxes `base` [..., 4], divided by the input's size unless normalized, then moved by `logits` [..., 4].

    The attribute `code_type` defines how logits move corners, or centre and size.
    """
    if not op.flag("normalized", False):
        extent = [op.integer("input_width", 1), op.integer("input_height", 1)] * 2
        base = g.Div(base, g.const(extent, "f4"))
    code = op.text("code_type", _CODES[0], choices=_CODES)
    if code == _CODES[0]:
        moved = g.Add(base, logits)
    else:
        half = g.scalar(0.5, _FLOAT)
        first, last = axis_slice(g, base, 0, 2, 3), axis_slice(g, base, 2, 4, 3)
        extents, centre = g.Sub(last, first), g.Mul(g.Add(first, last), half)
        centre = g.Add(g.Mul(axis_slice(g, logits, 0, 2, 3), extents), centre)
        reach = g.Mul(g.Mul(g.Exp(axis_slice(g, logits, 2, 4, 3)), extents), half)
        moved = g.Concat(g.Sub(centre, reach), g.Add(centre, reach), axis=3)
    return _cut(g, moved) if op.flag("clip_before_nms", False) else moved


def _cut(g: FunctionBuilder, boxes: str) -> str:
    return g.Clip(boxes, g.scalar(0, _FLOAT), g.scalar(1, _FLOAT))


def _kept(op: LayerView, g: FunctionBuilder, prior: str, score: str, is_one: str, known: _Sizes) -> str:
    """Flags of the `keep_top_k` best selections of each image; among equal scores, lower prior indices come first.

    prior, score, is_one   prior index, score and validity flag of each selection, [n, classes, turns] each, like the
                           result
    """
    (keep,) = op.integers("keep_top_k", count=1)
    if keep < 0:
        return is_one
    whole = product(g, known.classes, g.dim(prior, 2))
    flat = [reshape(g, x, known.images, whole) for x in (prior, score, is_one)]
    by_prior = argsort(g, flat[0], descending=False, axis=1)
    masked = g.Where(flat[2], flat[1], g.scalar(LOWEST, _FLOAT))
    by_score = argsort(g, g.GatherElements(masked, by_prior, axis=1), axis=1)
    best = g.Slice(g.GatherElements(by_prior, by_score, axis=1), g.i64(0), g.i64(keep), g.i64(1))
    marked = _marked(g, flat[0], best, None)
    return g.And(is_one, reshape(g, marked, known.images, known.classes, g.dim(prior, 2)))


def _filled(op: LayerView, g: FunctionBuilder, where: str, score: str, prior: str, boxes: str, known: _Sizes) -> str:
    """The layer's output, from the final selections.

    where          [k, 3], image, class and turn of each selection
    score, prior   [k], score and prior index of each selection
    boxes          [n, classes, priors, 4]
    """
    spots = g.Concat(axis_slice(g, where, 0, 2, 1), g.unsqueeze(prior, 1), axis=1)
    corners = g.GatherND(boxes, spots)
    if op.flag("clip_after_nms", False):
        corners = _cut(g, corners)
    label = axis_slice(g, where, 1, 2, 1)
    if op.flag("decrease_label_id", False):
        label = g.Sub(label, g.i64(1))
    places = g.Cast(g.Concat(axis_slice(g, where, 0, 1, 1), label, axis=1), to=int(_FLOAT))
    rows = g.Concat(places, g.unsqueeze(score, 1), corners, axis=1)
    ends = g.const([[-1, 0, 0, 0, 0, 0, 0], [0] * 7], "f4")
    (keep,), most = op.integers("keep_top_k", count=1), op.integer("top_k", -1)
    if keep > 0:
        total = product(g, known.images, keep)
    else:
        total = product(g, known.images, known.classes, most if most > 0 else known.priors)
    last = g.Add(g.dim(rows, 0), g.i64(1))
    table = g.Gather(g.Concat(rows, ends, axis=0), g.Min(iota(g, shape_vector(g, total)), last), axis=0)
    return g.cast(g.unsqueeze(table, 0, 1), _FLOAT, op.dtype(0))
