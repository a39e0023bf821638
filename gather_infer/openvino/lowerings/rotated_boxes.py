"""Intersection over union of rotated rectangles.

The intersection is bounded by the parts of the edges of each rectangle that are inside the other one. By Green's
theorem, its area is half the sum of the cross products of the ends of these parts. An edge is clipped in the frame of
the other rectangle, where that rectangle is parallel to the axes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.tensor_idioms import axis_slice
from gather_infer.tensor import DType

_FLOAT = DType.FLOAT32
_CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))
"""Corners of a rectangle, in the order in which its edges are traversed."""
_SLACK = 1e-6
"""Relative enlargement of the second rectangle when it clips edges of the first one, and reduction of the first one
when it clips edges of the second one. Edges that coincide are thereby counted once.
"""


@dataclass(frozen=True, slots=True)
class Rotated:
    """Rectangles: centre, half of width and height, cosine and sine of the angle, each [rows, candidates]."""

    x: str
    y: str
    width: str
    height: str
    cosine: str
    sine: str

    def at(self, g: FunctionBuilder, pick: str) -> Rotated:
        """The rectangle of each row at index `pick` [rows, 1]; each field of the result is [rows, 1]."""
        return Rotated(*(g.GatherElements(getattr(self, one.name), pick, axis=1) for one in fields(self)))


def rotated_boxes(g: FunctionBuilder, boxes: str, *, clockwise: bool) -> Rotated:
    """The rectangles of `boxes` [rows, candidates, 5]: x and y of the centre, width, height, angle in radians.

    clockwise   positive angles turn clockwise
    """
    x, y, width, height, angle = (g.squeeze(axis_slice(g, boxes, k, k + 1, 2), 2) for k in range(5))
    angle = angle if clockwise else g.Neg(angle)
    half = g.scalar(0.5, _FLOAT)
    return Rotated(x, y, g.Mul(width, half), g.Mul(height, half), g.Cos(angle), g.Sin(angle))


def rotated_overlap(g: FunctionBuilder, a: Rotated, b: Rotated) -> str:
    """Intersection over union of `a` [rows, 1] and `b` [rows, candidates]; 0 unless both areas are positive."""
    zero = g.scalar(0, _FLOAT)
    turn = (  # from the frame of b to that of a
        g.Add(g.Mul(a.cosine, b.cosine), g.Mul(a.sine, b.sine)),
        g.Sub(g.Mul(a.cosine, b.sine), g.Mul(a.sine, b.cosine)),
    )
    away = g.Sub(b.x, a.x), g.Sub(b.y, a.y)
    ahead = _turned(g, away, (a.cosine, g.Neg(a.sine)))
    back = _turned(g, tuple(g.Neg(one) for one in away), (b.cosine, g.Neg(b.sine)))
    other = turn[0], g.Neg(turn[1])
    slack = g.Mul(g.Add(g.Add(a.width, a.height), g.Add(b.width, b.height)), g.scalar(_SLACK, _FLOAT))
    own = _edges_in_frame(g, a, (g.Sub(a.x, a.x), g.Sub(a.y, a.y)), None)
    of_a = _edges_in_frame(g, a, back, other)
    of_b = _edges_in_frame(g, b, ahead, turn)
    shares_a = _within(g, of_a, b, slack)
    shares_b = _within(g, of_b, a, g.Neg(slack))
    twice = g.Add(_edge_area(g, own, shares_a), _edge_area(g, of_b, shares_b))
    common = g.Max(g.Mul(twice, g.scalar(0.5, _FLOAT)), zero)
    areas = [g.Mul(g.Mul(one.width, one.height), g.scalar(4, _FLOAT)) for one in (a, b)]
    found = g.Div(common, g.Sub(g.Add(*areas), common))
    both = g.And(*(g.Greater(area, zero) for area in areas))
    return g.Where(both, found, zero)


Edges = tuple[str, str, str, str]
"""The four edges of rectangles: x and y of the begin, x and y of the direction vector, each [rows, candidates, 4]."""


def _turned(g: FunctionBuilder, point: tuple[str, ...], angle: tuple[str, str]) -> tuple[str, str]:
    """`point` (x, y) rotated about the origin by `angle`, given as cosine and sine."""
    (x, y), (cosine, sine) = point, angle
    return g.Sub(g.Mul(x, cosine), g.Mul(y, sine)), g.Add(g.Mul(x, sine), g.Mul(y, cosine))


def _edges_in_frame(g: FunctionBuilder, box: Rotated, centre: tuple[str, ...], turn: tuple[str, str] | None) -> Edges:
    """The edges of `box` in a frame in which its centre is `centre` and its rotation `turn`.

    turn   cosine and sine of the rotation; None for no rotation
    """
    corners = np.array(_CORNERS, "f4")
    points = [g.Mul(g.unsqueeze(s, 2), g.const(corners[:, k])) for k, s in enumerate((box.width, box.height))]
    ways = np.roll(corners, -1, axis=0) - corners
    steps = [g.Mul(g.unsqueeze(s, 2), g.const(ways[:, k])) for k, s in enumerate((box.width, box.height))]
    if turn is not None:
        wide = (g.unsqueeze(turn[0], 2), g.unsqueeze(turn[1], 2))
        points, steps = [*_turned(g, tuple(points), wide)], [*_turned(g, tuple(steps), wide)]
    x, y = (g.Add(p, g.unsqueeze(c, 2)) for p, c in zip(points, centre, strict=True))
    return x, y, steps[0], steps[1]


def _within(g: FunctionBuilder, edges: Edges, box: Rotated, slack: str) -> str:
    """The fraction of each edge that is inside `box`, enlarged by `slack` on each side.

    edges   in the frame in which `box` is centred and parallel to the axes
    """
    tiny, zero = g.scalar(1e-12, _FLOAT), g.scalar(0, _FLOAT)
    starts, ends = [zero], [g.scalar(1, _FLOAT)]
    for begin, way, half in ((edges[0], edges[2], box.width), (edges[1], edges[3], box.height)):
        side = g.unsqueeze(g.Add(half, slack), 2)
        step = g.Where(g.Less(g.Abs(way), tiny), tiny, way)
        low, high = g.Div(g.Sub(g.Neg(side), begin), step), g.Div(g.Sub(side, begin), step)
        starts.append(g.Min(low, high))
        ends.append(g.Max(low, high))
    return g.Max(g.Sub(g.Min(*ends), g.Max(*starts)), zero)


def _edge_area(g: FunctionBuilder, edges: Edges, shares: str) -> str:
    """Twice the area that clipped edges contribute, [rows, candidates]: the sum of the cross products of their ends.

    shares   fraction of each edge that clipping keeps
    """
    cross = g.Sub(g.Mul(edges[0], edges[3]), g.Mul(edges[1], edges[2]))
    return g.ReduceSum(g.Mul(cross, shares), g.i64(2), keepdims=0)
