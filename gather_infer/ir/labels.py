"""Labels of the graphs and nodes of a file in locations, computed on first use."""

from __future__ import annotations

from onnx import ModelProto

from gather_infer.model.paths import GraphOrFunction, joined_label, label_of, node_labels, subgraph_label
from gather_infer.node_ids import GraphPath, NodePath


class FileLabels:
    """The labels of the graphs and nodes of a file.

    bodies   path of a graph -> its message, for all graphs that have labels
    """

    def __init__(self, proto: ModelProto) -> None:
        self.bodies: dict[GraphPath, GraphOrFunction] = {}
        self._proto = proto
        self._labels: dict[GraphPath, tuple[str, tuple[str, ...]]] = {}

    def graph_label(self, path: GraphPath) -> str:
        """The label of the graph at `path`, "" for the main graph."""
        return self._labels_of(path)[0]

    def node_path(self, path: GraphPath, position: int) -> NodePath:
        """The path of the node at `position` of the graph at `path`, with its label."""
        return NodePath(path, position, self._labels_of(path)[1][position])

    def _labels_of(self, path: GraphPath) -> tuple[str, tuple[str, ...]]:
        """The labels of a graph and of its nodes."""
        missing: list[GraphPath] = []
        while path not in self._labels:  # no recursion: subgraphs may nest deeply
            missing.append(path)
            if not path.steps:
                break
            path = path.above
        for each in reversed(missing):
            body = self.bodies[each]
            if each.steps:
                step = each.steps[-1]
                outer = self.bodies[each.above].node[step.node]
                label = subgraph_label(self._labels[each.above][1][step.node], outer, step)
            else:
                label = label_of(self._proto, each)
            labels = [joined_label(label, inner) if label else inner for inner in node_labels(body.node)]
            self._labels[each] = label, tuple(labels)
            path = each
        return self._labels[path]
