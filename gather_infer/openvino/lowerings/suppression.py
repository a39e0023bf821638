"""Greedy non-maximum suppression in a Loop: select the best box, drop the boxes that overlap it, repeat.

A row holds the boxes of one class of one image, and is independent of the other rows. One Loop processes all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.tensor_idioms import axis_slice, iota, loop
from gather_infer.tensor import DType

_FLOAT, _INT = DType.FLOAT32, DType.INT64
LOWEST: Final = float(np.finfo(np.float32).min)
"""Score of an excluded candidate."""


@dataclass(frozen=True, slots=True)
class SuppressionState:
    """Loop-carried state of a suppression.

    scores        [rows, candidates], the current scores
    is_candidate  [rows, candidates], flags of the boxes that can still be selected
    extra         further values that a `Suppress` function carries from one selection to the next
    """

    scores: str
    is_candidate: str
    extra: tuple[str, ...] = ()


Suppress: TypeAlias = "Callable[[FunctionBuilder, str, str, SuppressionState], SuppressionState]"
"""Returns the state after a selection.

Arguments: the builder of the Loop's body; the index of the selected candidate of each row, [rows, 1]; flags of the rows
whose selection is valid, [rows, 1]; the state before the selection.
"""


@dataclass(frozen=True, slots=True)
class SelectedCandidates:
    """The selected candidates of each row in order of selection, each field [rows, turns].

    index     index of the candidate in its row
    score     its score when it was selected
    is_valid  false for entries that only fill up a row with fewer selections
    """

    index: str
    score: str
    is_valid: str


def select_greedily(
    g: FunctionBuilder, start: SuppressionState, turns: str, suppress: Suppress, ranks: Sequence[int] = ()
) -> SelectedCandidates:
    """Select candidates of each row by descending score, the first one among equals, until none is left.

    start     state with at least one box in each row
    turns     int64 scalar: the maximum number of selections in a row; the Loop runs at least once
    suppress  updates the state after each selection
    ranks     ranks of the extra values of the state, which are float32
    """
    places = iota(g, g.dim(start.scores, 1))
    one = g.scalar(1, _INT)

    def step(
        body: FunctionBuilder, number: str, carried: tuple[str, ...]
    ) -> tuple[list[str], str, list[tuple[str, DType]]]:
        now = SuppressionState(carried[0], carried[1], carried[2:])
        ranked = body.Where(now.is_candidate, now.scores, body.scalar(LOWEST, _FLOAT))
        pick = body.ArgMax(ranked, axis=1, keepdims=1)
        found, score = (body.GatherElements(x, pick, axis=1) for x in (now.is_candidate, now.scores))
        after = suppress(body, pick, found, now)
        left = body.And(after.is_candidate, body.Not(body.Equal(places, pick)))
        going = body.Greater(body.ReduceSum(body.Cast(left, to=int(_INT)), keepdims=0), body.scalar(0, _INT))
        return [after.scores, left, *after.extra], going, [(pick, _INT), (score, _FLOAT), (found, DType.BOOL)]

    carried = [(start.scores, _FLOAT, 2), (start.is_candidate, DType.BOOL, 2)]
    carried += [(value, _FLOAT, rank) for value, rank in zip(start.extra, ranks, strict=True)]
    results = loop(g, g.Max(turns, one), carried, step, 3)[-3:]
    index, score, is_one = (g.Transpose(g.squeeze(x, 2), perm=[1, 0]) for x in results)
    # drops the selection that the Loop makes even if turns == 0
    in_time = g.Less(iota(g, g.dim(index, 1)), turns)
    return SelectedCandidates(index, score, g.And(is_one, in_time))


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes by their corners, x0 y0 x1 y1, and areas, all tensors of one shape such as [rows, candidates]."""

    corners: tuple[str, ...]
    areas: str

    def at(self, g: FunctionBuilder, pick: str) -> Boxes:
        """The box of each row at index `pick` [rows, 1]; each field of the result is [rows, 1]."""
        corners = tuple(g.GatherElements(one, pick, axis=1) for one in self.corners)
        return Boxes(corners, g.GatherElements(self.areas, pick, axis=1))

    def along(self, g: FunctionBuilder, axis: int) -> Boxes:
        """The boxes with a dim of 1 inserted at `axis`, for broadcasting against other boxes."""
        return Boxes(tuple(g.unsqueeze(one, axis) for one in self.corners), g.unsqueeze(self.areas, axis))


def boxes_of(g: FunctionBuilder, boxes: str, *, offset: float = 0, ordered: bool = False) -> Boxes:
    """Corners and areas of `boxes` [..., 4] as x0 y0 x1 y1.

    offset   added to width and height: 1 if corners are inclusive pixel indices, else 0
    ordered  a box with x1 < x0 or y1 < y0 gets area 0
    """
    x0, y0, x1, y1 = corners = tuple(g.squeeze(axis_slice(g, boxes, k, k + 1, -1), -1) for k in range(4))
    width, height = (g.Sub(end, start) for start, end in ((x0, x1), (y0, y1)))
    if offset:
        areas = g.Mul(*(g.Add(side, g.scalar(offset, _FLOAT)) for side in (width, height)))
    else:
        areas = g.Mul(width, height)
    if ordered:
        zero = g.scalar(0, _FLOAT)
        is_box = g.And(g.GreaterOrEqual(width, zero), g.GreaterOrEqual(height, zero))
        areas = g.Where(is_box, areas, zero)
    return Boxes(corners, areas)


def overlap(
    g: FunctionBuilder, a: Boxes, b: Boxes, *, offset: float = 0, touching: bool = False, positive: bool = False
) -> str:
    """Intersection over union of `a` and `b`, elementwise with broadcasting.

    offset    as for `boxes_of`
    touching  the result is 0 for boxes that do not meet, whatever the offset
    positive  the result is 0 unless both boxes have a positive area
    """
    zero = g.scalar(0, _FLOAT)
    sides = []
    for low, high in ((0, 2), (1, 3)):
        side = g.Sub(g.Min(a.corners[high], b.corners[high]), g.Max(a.corners[low], b.corners[low]))
        sides.append(g.Max(g.Add(side, g.scalar(offset, _FLOAT)) if offset else side, zero))
    common = g.Mul(*sides)
    found = g.Div(common, g.Sub(g.Add(a.areas, b.areas), common))
    if touching:
        meet = [g.LessOrEqual(p.corners[low], q.corners[low + 2]) for p, q in ((a, b), (b, a)) for low in (0, 1)]
        found = g.Where(g.And(g.And(meet[0], meet[1]), g.And(meet[2], meet[3])), found, zero)
    if positive:
        both = g.And(*(g.Greater(one.areas, zero) for one in (a, b)))
        found = g.Where(both, found, zero)
    return found


def hard_suppression(
    g: FunctionBuilder, boxes: Boxes, limit: str, *, at_limit: bool = False, **kind: bool | float
) -> Suppress:
    """A `Suppress` function that drops boxes whose overlap with the selected box is above `limit`.

    at_limit   also drop boxes whose overlap equals `limit`
    kind       keyword arguments of `overlap`
    """

    def suppress(body: FunctionBuilder, pick: str, found: str, now: SuppressionState) -> SuppressionState:
        share = overlap(body, boxes.at(body, pick), boxes, **kind)  # type: ignore[arg-type] # `kind` has the flags and the number of `overlap`
        covered = (body.GreaterOrEqual if at_limit else body.Greater)(share, limit)
        return SuppressionState(now.scores, body.And(now.is_candidate, body.Not(body.And(found, covered))), now.extra)

    return suppress


def max_candidates(g: FunctionBuilder, left: str) -> str:
    """The largest number of candidates in a row, int64 [1], from flags `left` [..., candidates]; at least 1.

    Callers cut the rows to this length by TopK, so that boxes below the score threshold cost no iterations of the Loop.
    """
    number = g.ReduceSum(g.Cast(left, to=int(_INT)), g.i64(-1), keepdims=0)
    return g.ReduceMax(g.Concat(g.i64(1), g.as_vector(number), axis=0), keepdims=1)


def padded(g: FunctionBuilder, x: str, value: float, axis: int) -> str:
    """`x`, float32, with `value` appended once along `axis`, so that the axis is not empty."""
    shape = [g.dims(x, 0, axis), g.i64(1), g.dims(x, axis + 1)]
    return g.Concat(x, g.Expand(g.scalar(value, _FLOAT), g.concat(*shape)), axis=axis)
