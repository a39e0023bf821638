"""Layered drawing of directed graphs, after Sugiyama: layers, order within layers, coordinates.

Boxes never overlap, and every edge leads downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

COLUMN_GAP: Final = 28
ROW_GAP: Final = 44
_BEND_WIDTH: Final = 10
_SWEEPS: Final = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """Coordinates of a drawing.

    boxes   left and top of each box
    routes  points of each edge, downwards, from the bottom of its first box to the top of its second
    """

    boxes: tuple[tuple[int, int], ...]
    routes: tuple[tuple[tuple[int, int], ...], ...]
    width: int
    height: int


def layered_layout(sizes: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int]]) -> Layout:
    """The drawing of a graph.

    sizes   width and height of each box
    edges   positions of the boxes that each edge leads from and to. An edge that closes a cycle is drawn as its reverse
    """
    if not sizes:
        return Layout((), (), 0, 0)
    return _Drawing(sizes, _acyclic(len(sizes), edges)).layout()


def _acyclic(number: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges, those that lead back in a depth-first search reversed; an edge from a box to itself stays."""
    below: list[list[int]] = [[] for _ in range(number)]
    for start, end in edges:
        below[start].append(end)
    state = [0] * number  # 1: on the path, 2: finished
    back: set[tuple[int, int]] = set()
    for root in range(number):
        if state[root]:
            continue
        path = [(root, iter(below[root]))]
        state[root] = 1
        while path:
            box, rest = path[-1]
            following = next(rest, None)
            if following is None:
                state[box] = 2
                path.pop()
            elif state[following] == 1:
                back.add((box, following))
            elif state[following] == 0:
                state[following] = 1
                path.append((following, iter(below[following])))
    return [edge[::-1] if edge in back else edge for edge in edges]


@dataclass
class _Drawing:
    """The state of a drawing: `vertices` are the boxes, then the bends of edges that cross layers."""

    sizes: Sequence[tuple[int, int]]
    edges: list[tuple[int, int]]
    layers: list[list[int]] = field(default_factory=list)
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    bends: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def layout(self) -> Layout:
        self._place_in_layers()
        self._order()
        centers = self._centers()
        tops, heights, top = [], [], 0
        for layer in self.layers:
            height = max((self.sizes[v][1] for v in layer if v < len(self.sizes)), default=0)
            tops.append(top)
            heights.append(height)
            top += height + ROW_GAP
        rank = {vertex: number for number, layer in enumerate(self.layers) for vertex in layer}
        boxes = [(centers[v] - width // 2, tops[rank[v]]) for v, (width, _) in enumerate(self.sizes)]
        routes = []
        for start, end in self.edges:
            points = [(centers[start], tops[rank[start]] + self.sizes[start][1])]
            for bend in self.bends.get((start, end), ()):
                row = rank[bend]
                points += [(centers[bend], tops[row]), (centers[bend], tops[row] + heights[row])]
            points.append((centers[end], tops[rank[end]]))
            routes.append(tuple(points) if start != end else ())
        width = max(left + size[0] for (left, _), size in zip(boxes, self.sizes, strict=True))
        width = max(width, *(x for route in routes for x, _ in route), 0)
        return Layout(tuple(boxes), tuple(routes), width, max(top - ROW_GAP, 0))

    def _place_in_layers(self) -> None:
        """Give each box the layer below the lowest of its predecessors; sources move down to their first successor."""
        number = len(self.sizes)
        pairs = sorted({edge for edge in self.edges if edge[0] != edge[1]})
        successors: list[list[int]] = [[] for _ in range(number)]
        open_edges = [0] * number
        for start, end in pairs:
            successors[start].append(end)
            open_edges[end] += 1
        is_source = [count == 0 for count in open_edges]
        rank = [0] * number
        ready = [box for box in range(number) if is_source[box]]
        for box in ready:  # which grows meanwhile
            for end in successors[box]:
                rank[end] = max(rank[end], rank[box] + 1)
                open_edges[end] -= 1
                if open_edges[end] == 0:
                    ready.append(end)
        for box in range(number):
            if is_source[box] and successors[box]:
                rank[box] = min(rank[end] for end in successors[box]) - 1
        self.layers = [[] for _ in range(max(rank) + 1)]
        for box in range(number):
            self.layers[rank[box]].append(box)
        self.above = [[] for _ in range(number)]
        self.below = [[] for _ in range(number)]
        self.widths = [width for width, _ in self.sizes]
        for start, end in pairs:
            previous = start
            for layer in range(rank[start] + 1, rank[end]):
                bend = len(self.widths)
                self.widths.append(_BEND_WIDTH)
                self.above.append([])
                self.below.append([])
                self.layers[layer].append(bend)
                self.bends.setdefault((start, end), []).append(bend)
                self._join(previous, bend)
                previous = bend
            self._join(previous, end)

    def _join(self, start: int, end: int) -> None:
        self.below[start].append(end)
        self.above[end].append(start)

    def _order(self) -> None:
        """Order the vertices of each layer by the mean position of neighbours; keep the best sweep."""
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(_SWEEPS):
            is_down = sweep % 2 == 0
            for layer in self.layers if is_down else reversed(self.layers):
                neighbours = self.above if is_down else self.below
                position = {v: i for other in self.layers for i, v in enumerate(other)}
                keys = {
                    v: sum(position[n] for n in neighbours[v]) / len(neighbours[v]) if neighbours[v] else position[v]
                    for v in layer
                }
                layer.sort(key=keys.__getitem__)
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best

    def _crossings(self) -> int:
        """The number of pairs of edges between neighbouring layers that cross."""
        total = 0
        for upper, lower in zip(self.layers, self.layers[1:], strict=False):
            position = {vertex: number for number, vertex in enumerate(lower)}
            ends = [position[end] for start in upper for end in sorted(self.below[start], key=position.__getitem__)]
            total += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
        return total

    def _centers(self) -> list[int]:
        """The horizontal center of each vertex: near the mean of its neighbours, in the order of its layer."""
        centers = [0.0] * len(self.widths)
        for layer in self.layers:
            at = 0.0
            for vertex in layer:
                centers[vertex] = at + self.widths[vertex] / 2
                at += self.widths[vertex] + COLUMN_GAP
        for sweep in range(2 * _SWEEPS):
            is_down = sweep % 2 == 0
            neighbours = self.above if is_down else self.below
            for layer in self.layers if is_down else reversed(self.layers):
                wanted = [
                    sum(centers[n] for n in neighbours[v]) / len(neighbours[v]) if neighbours[v] else centers[v]
                    for v in layer
                ]
                for vertex, center in zip(layer, self._apart(layer, wanted), strict=True):
                    centers[vertex] = center
        left = min(centers[v] - self.widths[v] / 2 for layer in self.layers for v in layer)
        return [round(center - left) for center in centers]

    def _apart(self, layer: Sequence[int], wanted: Sequence[float]) -> list[float]:
        """The centers nearest to `wanted` at which the vertices of a layer keep their order and their gaps.

        Isotonic regression: neighbours that would overlap are pooled at the mean of their wishes.
        """
        offsets, at = [], 0.0
        for i, vertex in enumerate(layer):
            at += 0.0 if i == 0 else (self.widths[layer[i - 1]] + self.widths[vertex]) / 2 + COLUMN_GAP
            offsets.append(at)
        pools: list[tuple[float, int]] = []  # mean and number of members
        for wish, offset in zip(wanted, offsets, strict=True):
            mean, members = wish - offset, 1
            while pools and pools[-1][0] > mean:
                other, others = pools.pop()
                mean = (mean * members + other * others) / (members + others)
                members += others
            pools.append((mean, members))
        starts = [mean for mean, members in pools for _ in range(members)]
        return [start + offset for start, offset in zip(starts, offsets, strict=True)]
