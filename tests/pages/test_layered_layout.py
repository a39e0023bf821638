"""Properties of the layered layout: no overlaps, edges downwards, routes that begin and end at their boxes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gather_infer.pages.layered_layout import COLUMN_GAP, ROW_GAP, Layout, layered_layout

Size = tuple[int, int]
Edge = tuple[int, int]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[Edge]]:
    sizes = draw(st.lists(st.tuples(st.integers(1, 240), st.integers(1, 60)), min_size=1, max_size=14))
    ends = st.integers(0, len(sizes) - 1)
    return sizes, draw(st.lists(st.tuples(ends, ends), max_size=30, unique=True))


def require_sound(sizes: list[Size], edges: list[Edge], layout: Layout) -> None:
    rectangles = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.boxes, sizes, strict=True)]
    for i, (left, top, right, bottom) in enumerate(rectangles):
        assert 0 <= left < right <= layout.width + 1
        assert 0 <= top < bottom <= layout.height
        for x, y, other_right, other_bottom in rectangles[:i]:
            assert right <= x or other_right <= left or bottom <= y or other_bottom <= top
            if y == top:
                assert right + COLUMN_GAP - 1 <= x or other_right + COLUMN_GAP - 1 <= left
    for (start, end), route in zip(edges, layout.routes, strict=True):
        if start == end:
            assert route == ()
            continue
        heights = [y for _, y in route]
        assert heights == sorted(heights), "downwards"
        first, last = rectangles[start], rectangles[end]
        if first[1] > last[1]:  # the edge closes a cycle
            first, last = last, first
        assert first[3] == heights[0] < heights[-1] == last[1]
        assert first[0] - 1 <= route[0][0] <= first[2] + 1
        assert last[0] - 1 <= route[-1][0] <= last[2] + 1


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_any_graph(graph: tuple[list[Size], list[Edge]]) -> None:
    sizes, edges = graph
    layout = layered_layout(sizes, edges)
    require_sound(sizes, edges, layout)
    assert layout == layered_layout(sizes, edges)


def test_a_chain_is_a_column() -> None:
    layout = layered_layout([(100, 40)] * 4, [(0, 1), (1, 2), (2, 3)])
    assert layout.boxes == tuple((0, i * (40 + ROW_GAP)) for i in range(4))
    assert layout.width == 100


def test_a_diamond_has_both_branches_side_by_side() -> None:
    layout = layered_layout([(100, 40)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    (_, y1), (_, y2) = layout.boxes[1:3]
    assert y1 == y2
    assert abs(layout.boxes[1][0] - layout.boxes[2][0]) >= 100 + COLUMN_GAP


def test_edges_that_need_not_cross_do_not() -> None:
    layout = layered_layout([(50, 20)] * 4, [(0, 3), (1, 2)])
    upper, lower = layout.boxes[:2], layout.boxes[2:]
    assert (upper[0][0] < upper[1][0]) == (lower[1][0] < lower[0][0])


def test_sources_are_near_their_successors() -> None:
    layout = layered_layout([(50, 20)] * 4, [(0, 1), (1, 2), (3, 2)])
    assert layout.boxes[3][1] == layout.boxes[1][1]


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0)], [(0, 0)], [(0, 1), (1, 2), (2, 0), (2, 2)]])
def test_cycles(edges: list[Edge]) -> None:
    sizes = [(30, 20)] * (max(max(edge) for edge in edges) + 1)
    require_sound(sizes, edges, layered_layout(sizes, edges))


def test_nothing() -> None:
    assert layered_layout([], []) == Layout((), (), 0, 0)
