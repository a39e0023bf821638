"""NonMaxSuppression in all its versions.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

import numpy as np

from gather_infer.openvino.lowerings.fragment import Fragment
from gather_infer.openvino.lowerings.layer import Layer
from gather_infer.openvino.lowerings.parts import as_float, as_int64, dims, order, part, product, reshape, sizes
from gather_infer.openvino.lowerings.rotated import rotated_boxes, rotated_overlap
from gather_infer.openvino.lowerings.suppression import LOWEST, State, Taken, boxes_of, overlap, padded, take
from gather_infer.openvino.lowerings.table import Lowerings
from gather_infer.tensor import DType

lowerings = Lowerings()
lowers = lowerings.lowers
_FLOAT, _INT = DType.FLOAT32, DType.INT64


@lowers("NonMaxSuppression", since=1)
@lowers("NonMaxSuppression", since=3)
@lowers("NonMaxSuppression", since=4)
def indices(op: Layer, g: Fragment) -> str:
    """sort/non-max-suppression-1, -3 (output_type), -4: as `suppression`, the first output only."""
    return suppression(op, g)[0]


@lowers("NonMaxSuppression", since=5)
@lowers("NonMaxSuppression", since=9)
def suppression(op: Layer, g: Fragment) -> tuple[str, str, str]:
    """sort/non-max-suppression-5, non-max-suppression-9.

    boxes   [n, p, 4], y0 x0 y1 x1, or x y of the centre, width and height; scores [n, c, p]
    scalars max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma, each 0 by default
    result  selected_indices [k, 3], image, class and box; selected_scores [k, 3], image, class and score; [1], k

    A box is dropped that overlaps as much as iou_threshold; in ONNX it has to be more.
    """
    sigma = None if not op.has(5) else op.value(5)
    if op.has(5) and (sigma is None or float(sigma.reshape(-1)[0]) != 0):
        return _results(op, g, *_softly(op, g))
    limit, most = _limit(op, g), _most(op, g)
    if limit is None:  # a box overlaps any other by 0 at least
        limit, most = g.const([0.0], "f4"), g.Min(most, g.i64(1))
    found = g.NonMaxSuppression(
        as_float(op, g, 0), as_float(op, g, 1), most, limit, _number(op, g, 4), center_point_box=int(_is_centred(op))
    )
    return _results(op, g, found, g.GatherND(as_float(op, g, 1), found))


def _is_centred(op: Layer) -> bool:
    return op.text("box_encoding", "corner", among=("corner", "center")) == "center"


def _most(op: Layer, g: Fragment) -> str:
    """How many boxes of a class at most, [1]."""
    return g.Reshape(as_int64(op, g, 2), g.i64(1)) if op.has(2) else g.i64(0)


def _number(op: Layer, g: Fragment, index: int) -> str:
    """A threshold, [1], 0 without one."""
    return g.Reshape(as_float(op, g, index), g.i64(1)) if op.has(index) else g.const([0.0], "f4")


def _limit(op: Layer, g: Fragment) -> str | None:
    """What a box has to overlap more than to be dropped, [1]: the number below iou_threshold. None for 0 and less."""
    known = op.value(3) if op.has(3) else np.zeros(1)
    if known is None:  # of a positive number this is the next below; ONNX has limits in [0, 1]
        below = g.Mul(_number(op, g, 3), g.const([1 - 2.0**-24], "f4"))
        return g.Clip(below, g.scalar(0, _FLOAT), g.scalar(1, _FLOAT))
    value = np.float32(known.reshape(-1)[0])
    return g.const([min(np.nextafter(value, np.float32(-1)), np.float32(1))], "f4") if value > 0 else None


def _softly(op: Layer, g: Fragment) -> tuple[str, str]:
    """Selection where scores decay by what is taken, if sigma is positive: indices [k, 3], scores [k]."""
    scores, boxes = padded(g, as_float(op, g, 1), LOWEST, 2), padded(g, as_float(op, g, 0), 0, 1)
    if _is_centred(op):
        centre, half = part(g, boxes, 0, 2, 2), g.Mul(part(g, boxes, 2, 4, 2), g.scalar(0.5, _FLOAT))
        boxes = g.Concat(g.Sub(centre, half), g.Add(centre, half), axis=2)
    else:
        first, last = part(g, boxes, 0, 2, 2), part(g, boxes, 2, 4, 2)
        boxes = g.Concat(g.Min(first, last), g.Max(first, last), axis=2)
    rows = _rows(op, g, boxes, 4)
    shapes = boxes_of(g, rows)
    limit, floor = g.as_scalar(_number(op, g, 3)), g.as_scalar(_number(op, g, 4))
    sigma = g.as_scalar(_number(op, g, 5))
    zero = g.scalar(0, _FLOAT)
    positive = g.Greater(sigma, zero)
    factor = g.Where(positive, g.Div(g.scalar(-0.5, _FLOAT), g.Where(positive, sigma, g.scalar(1, _FLOAT))), zero)

    def suppress(body: Fragment, pick: str, found: str, now: State) -> State:
        share = overlap(body, shapes.at(body, pick), shapes, positive=True)
        decay = body.Exp(body.Mul(body.Mul(share, share), factor))
        decayed = body.Where(found, body.Mul(now.scores, decay), now.scores)
        left = body.And(now.left, body.Greater(decayed, floor))
        covered = body.GreaterOrEqual(share, limit)
        covered = body.And(body.And(found, body.Not(positive)), covered)
        return State(decayed, body.And(left, body.Not(covered)))

    return _listed(op, g, _row_scores(op, g, scores), floor, suppress)


def _rows(op: Layer, g: Fragment, boxes: str, width: int) -> str:
    """Boxes [n, p, width] for each class: [n * c, p, width]."""
    batch, classes = dims(op, g, 1, 0, 1)
    wide = g.Expand(g.unsqueeze(boxes, 1), sizes(g, batch, classes, g.dim(boxes, 1), width))
    return reshape(g, wide, product(g, batch, classes), g.dim(boxes, 1), width)


def _row_scores(op: Layer, g: Fragment, scores: str) -> str:
    """Scores [n, c, p] as [n * c, p]."""
    return reshape(g, scores, product(g, *dims(op, g, 1, 0, 1)), g.dim(scores, 2))


def _listed(op: Layer, g: Fragment, scores: str, floor: str, suppress: object) -> tuple[str, str]:
    """What is taken of scores [n * c, p] above a floor: indices [k, 3] and scores [k], by image and class."""
    most = g.as_scalar(_most(op, g))
    turns = g.Min(most, g.as_scalar(g.dim(scores, 1)))
    taken: Taken = take(g, State(scores, g.Greater(scores, floor)), turns, suppress)  # type: ignore[arg-type]
    where = g.Transpose(g.NonZero(taken.is_one), perm=[1, 0])
    (classes,) = dims(op, g, 1, 1)
    row, classes = part(g, where, 0, 1, 1), sizes(g, classes)
    box = g.unsqueeze(g.GatherND(taken.index, where), 1)
    found = g.Concat(g.Div(row, classes), g.Mod(row, classes), box, axis=1)
    return found, g.GatherND(taken.score, where)


def _results(op: Layer, g: Fragment, found: str, scores: str) -> tuple[str, str, str]:
    """The outputs, of indices [k, 3] and scores [k] by image and class."""
    if op.flag("sort_result_descending", True):
        ranked = order(g, scores)
        found, scores = g.Gather(found, ranked, axis=0), g.Gather(scores, ranked, axis=0)
    kind = op.type_of("output_type", "i64")
    places = g.Cast(part(g, found, 0, 2, 1), to=int(_FLOAT))
    rated = g.Concat(places, g.unsqueeze(scores, 1), axis=1)
    return g.cast(found, _INT, kind), rated, g.cast(g.dim(found, 0), _INT, kind)


@lowers("NMSRotated", since=13)
def rotated(op: Layer, g: Fragment) -> tuple[str, str, str]:
    """sort/nms-rotated-13: as `suppression`, without decay.

    boxes   [n, p, 5], x y of the centre, width, height, angle in radians
    """
    scores, boxes = padded(g, as_float(op, g, 1), LOWEST, 2), padded(g, as_float(op, g, 0), 0, 1)
    shapes = rotated_boxes(g, _rows(op, g, boxes, 5), clockwise=op.flag("clockwise", True))
    limit, floor = g.as_scalar(_number(op, g, 3)), g.as_scalar(_number(op, g, 4))

    def suppress(body: Fragment, pick: str, found: str, now: State) -> State:
        share = rotated_overlap(body, shapes.at(body, pick), shapes)
        covered = body.And(found, body.Greater(share, limit))
        return State(now.scores, body.And(now.left, body.Not(covered)))

    return _results(op, g, *_listed(op, g, _row_scores(op, g, scores), floor, suppress))
