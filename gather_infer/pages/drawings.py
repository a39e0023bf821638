"""Drawings of a page: the surroundings of accesses by index and of other nodes, and the model by repeated blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from gather_infer.inference.result import Access, Inference
from gather_infer.node_ids import MAIN
from gather_infer.pages.layered_layout import Layout, layered_layout
from gather_infer.pages.repeated_blocks import Block, repeated_blocks
from gather_infer.pages.tables import PageTables
from gather_infer.report.json import Json

MAX_BOXES: Final = 26
"""Maximum number of boxes around an access."""

_MAX_CENTERS: Final = 12
_CHAIN_DEPTH: Final = 7
_MAX_CHAIN: Final = 14
_MAX_CONSUMERS: Final = 4
_MAX_INTERFACE: Final = 4
_SHOWN_OPERATORS: Final = 4

_HEIGHT: Final = 46
_MIN_WIDTH: Final = 96
_MAX_WIDTH: Final = 208
_CHARACTER: Final = 7.3


def _width(*texts: str) -> int:
    """The width of a box with lines of text."""
    return min(_MAX_WIDTH, max(_MIN_WIDTH, round(max(map(len, texts)) * _CHARACTER) + 24))


class _Graph:
    """Boxes and edges before the layout; a box is the kind and position of what it stands for."""

    def __init__(self) -> None:
        self.boxes: dict[tuple[str, int], tuple[int, int]] = {}
        self.edges: dict[tuple[int, int], int] = {}

    def add(self, kind: str, position: int, width: int) -> int:
        key = (kind, position)
        self.boxes.setdefault(key, (width, _HEIGHT))
        return list(self.boxes).index(key)

    def join(self, start: int, end: int, tensor: int) -> None:
        self.edges.setdefault((start, end), tensor)


class GraphDrawings:
    """Draws the surroundings of accesses and of other nodes.

    A drawing has the boxes `[kind, position, left, top, width]`, the edges `[from, to, tensor, points]`, and its size.
    Equal graphs, as those of repeated layers, are laid out once.
    """

    def __init__(self, tables: PageTables) -> None:
        self.tables = tables
        self._layouts: dict[object, Layout] = {}

    def around_access(self, access: Access) -> dict[str, Json]:
        """Data, indices and the nodes that compute them, and consumers."""
        node = self.tables.nodes[access.node]
        inputs = self.tables.node_inputs[node]
        indices = inputs[access.input] if access.input < len(inputs) else None
        result = self.tables.tensors.get((access.node.graph, access.result))
        return self._drawing(self._chain(node, (indices,), (result,)))

    def around_node(self, node: int) -> dict[str, Json]:
        """A node, the nodes that compute its inputs, and consumers."""
        return self._drawing(self._chain(node, self.tables.node_inputs[node], self.tables.node_outputs[node]))

    def around_nodes(self, nodes: Sequence[int]) -> dict[str, Json]:
        """The nodes, those that compute their inputs, and those that read their outputs, MAX_BOXES together."""
        return self._drawing(self._node_graph(nodes))

    def _drawing(self, graph: _Graph) -> dict[str, Json]:
        sizes, edges = tuple(graph.boxes.values()), tuple(graph.edges)
        layout = self._layouts.get((sizes, edges))
        if layout is None:
            layout = self._layouts[sizes, edges] = layered_layout(sizes, edges)
        return {
            "boxes": [
                [kind, position, *corner, size[0]]
                for ((kind, position), size), corner in zip(graph.boxes.items(), layout.boxes, strict=True)
            ],
            "edges": _edges(graph, layout),
            "size": [layout.width, layout.height],
        }

    def _chain(self, node: int, followed: Sequence[int | None], results: Sequence[int | None]) -> _Graph:
        """A node, the nodes that compute `followed`, and those that read the `results`."""
        tables, graph = self.tables, _Graph()
        center = self._node_box(graph, node)
        others = [(tensor, center, _CHAIN_DEPTH - 1) for tensor in tables.node_inputs[node] if tensor not in followed]
        pending = [*((tensor, center, 0) for tensor in followed), *others]
        for tensor, below, depth in pending:  # which grows meanwhile
            if tensor is None or len(graph.boxes) >= MAX_BOXES - _MAX_CONSUMERS:
                continue
            producer = tables.producers[tensor]
            if producer is None or tables.is_constant[tensor]:
                if depth < 2 or below == center or not tables.is_constant[tensor]:
                    graph.join(self._tensor_box(graph, tensor), below, tensor)
                continue
            is_new = ("node", producer) not in graph.boxes
            if is_new and below != center and len(graph.boxes) > _MAX_CHAIN:
                continue
            box = self._node_box(graph, producer)
            graph.join(box, below, tensor)
            if is_new and depth < _CHAIN_DEPTH:
                pending += [(found, box, depth + 1) for found in tables.node_inputs[producer]]
        for result in results:
            for consumer in () if result is None else tables.consumers[result][:_MAX_CONSUMERS]:
                if len(graph.boxes) < MAX_BOXES:
                    graph.join(center, self._node_box(graph, consumer), result or 0)
        return graph

    def _node_graph(self, nodes: Sequence[int]) -> _Graph:
        tables, graph = self.tables, _Graph()
        for node in nodes[:_MAX_CENTERS]:
            self._node_box(graph, node)
        centers = {position for _, position in graph.boxes}
        for node in sorted(centers):
            for tensor in tables.node_inputs[node]:
                if tensor is not None and len(graph.boxes) < MAX_BOXES:
                    producer = tables.producers[tensor]
                    if producer is None or tables.is_constant[tensor]:
                        self._tensor_box(graph, tensor)
                    else:
                        self._node_box(graph, producer)
            for result in tables.node_outputs[node]:
                for consumer in [] if result is None else tables.consumers[result][:_MAX_CONSUMERS]:
                    if len(graph.boxes) < MAX_BOXES:
                        self._node_box(graph, consumer)
        drawn = list(graph.boxes)
        for number, (kind, position) in enumerate(drawn):
            for tensor in tables.node_inputs[position] if kind == "node" else ():
                if tensor is None:
                    continue
                producer = tables.producers[tensor]
                start = ("tensor", tensor) if producer is None or tables.is_constant[tensor] else ("node", producer)
                if start in graph.boxes:
                    graph.join(drawn.index(start), number, tensor)
        return graph

    def _node_box(self, graph: _Graph, node: int) -> int:
        return graph.add("node", node, _width(self.tables.operators[node], self.tables.labels[node]))

    def _tensor_box(self, graph: _Graph, tensor: int) -> int:
        return graph.add("tensor", tensor, _width(self.tables.names[tensor]))


def _edges(graph: _Graph, layout: Layout) -> Json:
    return [
        [start, end, tensor, [number for point in route for number in point]]
        for ((start, end), tensor), route in zip(graph.edges.items(), layout.routes, strict=True)
    ]


def overview(inference: Inference, tables: PageTables) -> Json:
    """The main graph as blocks, and its inputs and outputs: boxes, edges with the number of tensors, and the size.

    A block has `label`, `count`, `nodes` (those of its first repetition) and `operators` with their counts.
    """
    constants = {producer for tensor, producer in enumerate(tables.producers) if tables.is_constant[tensor]}
    nodes = [at for path, at in tables.nodes.items() if path.graph == MAIN and at not in constants]
    blocks = repeated_blocks([tables.operators[at] for at in nodes], [tables.labels[at] for at in nodes])
    parts: list[dict[str, Json]] = [_block(block, nodes, tables) for block in blocks]
    home = {nodes[at]: number for number, block in enumerate(blocks) for at in range(block.start, block.end)}
    edges: Counter[tuple[int, int]] = Counter()
    for node, block_number in home.items():
        for tensor in tables.node_inputs[node]:
            producer = None if tensor is None else tables.producers[tensor]
            if producer is not None and producer in home and home[producer] != block_number:
                edges[home[producer], block_number] += 1
    for kind, names in (("input", inference.inputs), ("output", inference.outputs)):
        tensors = [tables.tensors[MAIN, name] for name in names if (MAIN, name) in tables.tensors]
        for group in [[tensor] for tensor in tensors] if len(tensors) <= _MAX_INTERFACE else [tensors]:
            number = len(parts)
            label = tables.names[group[0]] if len(group) == 1 else f"{len(group)} {kind}s"
            parts.append({"kind": kind, "label": label, "tensors": [*group]})
            for tensor in group:
                producer = tables.producers[tensor]
                if kind == "output" and producer in home:
                    edges[home[producer], number] += 1
                if kind == "input":
                    edges.update((number, home[at]) for at in tables.consumers[tensor] if at in home)
    sizes = [(_width(*map(str, _lines(part))) + 16, _HEIGHT + 18) for part in parts]
    layout = layered_layout(sizes, list(edges))
    for part, corner, size in zip(parts, layout.boxes, sizes, strict=True):
        part["box"] = [*corner, *size]
    drawn: list[Json] = [
        [*edge, number, [at for point in route for at in point]]
        for (edge, number), route in zip(edges.items(), layout.routes, strict=True)
    ]
    return {"blocks": [*parts], "edges": drawn, "size": [layout.width, layout.height]}


def _lines(part: dict[str, Json]) -> Sequence[Json]:
    return [part["label"], part.get("summary", "")]


def _block(block: Block, nodes: Sequence[int], tables: PageTables) -> dict[str, Json]:
    first = nodes[block.start : block.start + block.period]
    operators = Counter(tables.operators[at] for at in first)
    common = operators.most_common(_SHOWN_OPERATORS)
    number = "1 node" if block.period == 1 else f"{block.period} nodes"
    return {
        "kind": "block",
        "label": f"{block.count} × {number}" if block.count > 1 else number,
        "summary": ", ".join(name for name, _ in common),
        "count": block.count,
        "scope": _common_scope([tables.labels[at] for at in first]),
        "nodes": [first[0], first[-1], nodes[block.end - 1]],
        "operators": [[name, count] for name, count in operators.most_common()],
    }


def _common_scope(labels: Sequence[str]) -> str:
    """The parts of a path that all labels begin with: `/encoder/layer.0`."""
    parts = [label.split("/")[:-1] for label in labels]
    common = []
    for at in zip(*parts, strict=False):
        if len(set(at)) > 1:
            break
        common.append(at[0])
    return "/".join(common)
