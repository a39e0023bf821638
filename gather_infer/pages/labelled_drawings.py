"""Drawings with their texts, for a report that has no tables of the tensors and nodes of the model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from gather_infer.inference.result import Access, Inference
from gather_infer.node_ids import NodePath
from gather_infer.pages.drawings import GraphDrawings
from gather_infer.pages.tables import PageTables
from gather_infer.report.json import Json
from gather_infer.tensor import SymbolicTensor

LONGEST: Final = 200
"""Maximum number of characters of a name in a drawing, of which a box shows the end; a longer one loses its middle."""


class LabelledDrawings:
    """Draws parts of a model as boxes `[kind, operator, name, left, top, width]` and edges `[from, key, type, points]`.

    The kind of a box is `node`, `input` or `constant`, or the mark of a node: `center`, `removed` or `added`.
    """

    def __init__(self, inference: Inference) -> None:
        self.tables = PageTables(inference)
        self._drawings = GraphDrawings(self.tables)
        self._keys = list(self.tables.tensors)

    def around_access(self, access: Access) -> Json:
        """The data and the indices of an access, the nodes that compute them, and consumers."""
        return self._labelled(self._drawings.around_access(access), (self.tables.nodes[access.node],), "center")

    def around_nodes(self, nodes: Sequence[int], marked: Collection[int], mark: str) -> Json:
        """The nodes at these positions and their neighbours; those in `marked` have the kind `mark`."""
        return self._labelled(self._drawings.around_nodes(nodes), marked, mark)

    def around_node(self, path: NodePath) -> Json:
        """A node, the nodes that compute its inputs, and consumers; None if the inference did not reach the node."""
        position = self.tables.nodes.get(path)
        if position is None:
            return None
        return self._labelled(self._drawings.around_node(position), (position,), "center")

    def _labelled(self, drawing: Any, centers: Collection[int], mark: str) -> Json:
        tables, marked = self.tables, set(centers)
        boxes: list[Json] = []
        for kind, position, left, top, width in drawing["boxes"]:
            if kind == "node":
                kind = mark if position in marked else "node"
                texts = tables.operators[position], tables.labels[position]
            else:
                kind = "constant" if tables.is_constant[position] else "input"
                texts = tables.names[position], kind
            boxes.append([kind, *map(_short, texts), left, top, width])
        focus = next((i for i, box in enumerate(drawing["boxes"]) if box[0] == "node" and box[1] in marked), 0)
        edges = [[start, tensor, _short(self._type(tensor)), points] for start, _, tensor, points in drawing["edges"]]
        return {"boxes": boxes, "edges": edges, "size": drawing["size"], "focus": focus}

    def _type(self, tensor: int) -> str:
        path, name = self._keys[tensor]
        value = self.tables.inference.scopes[path].get(name)
        if not isinstance(value, SymbolicTensor):
            return "" if value is None else str(value)
        dims = "..." if value.shape is None else ", ".join(map(str, value.shape))
        return f"{value.dtype or '?'}[{dims}]"


def _short(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2 - 1
    return f"{text[:half]}…{text[-half:]}"
