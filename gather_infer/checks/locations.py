"""Locations of nodes, for findings of the checks."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto

from gather_infer.diagnostic import Location
from gather_infer.domains import plain_domain
from gather_infer.inference import Inference
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs
from gather_infer.inference.proto.schema import schema_of
from gather_infer.ir import Model
from gather_infer.model.paths import graph_at, joined_label, label_of, node_labels
from gather_infer.node_ids import GraphPath, NodePath, Root


class NodeLocations:
    """The nodes of a model and their locations, by graph path and position.

    A path names a graph of the model file, or the function body from which the inference derived the types of an
    operator. Labels of nodes are computed once per graph.

    graphs   the graphs of the model file
    """

    def __init__(self, inference: Inference) -> None:
        self.graphs = Model.of(inference.model)
        self._model = inference.model.proto
        self._bodies = InferredGraphs(inference)
        self._labels: dict[GraphPath, Sequence[str]] = {}
        self._imported = self._bodies.main.opsets.versions

    def nodes(self, path: GraphPath) -> Sequence[NodeProto]:
        """The nodes of the graph at `path`."""
        body = self._inferred_body(path)
        return graph_at(self._model, path).node if body is None else body.nodes

    def producer(self, path: GraphPath, name: str) -> int | None:
        """The position of the node that writes a value of the graph at `path`; None for an input or an initializer."""
        body = self._inferred_body(path)
        if body is not None:
            found = body.producers.get(name)
            return None if found is None else found[0]
        node = self.graphs[path].producers.get(name)
        return None if node is None else node[0].origin

    def location(self, path: GraphPath, position: int, value: str = "") -> Location:
        """The location of a node; `value` is the tensor that a finding is about, as `input x` or `output y`."""
        node, body = self.nodes(path)[position], self._inferred_body(path)
        if path not in self._labels:
            self._labels[path] = self._labels_of(path) if body is None else body.labels
        domain = plain_domain(node.domain)
        imported = self._imported if body is None else body.opsets.versions
        version = imported.get(domain, 0)
        schema = schema_of(node.op_type, version, domain)
        version = version if schema is None else schema.since
        return Location(NodePath(path, position, self._labels[path][position]), node.op_type, domain, version, value)

    def _inferred_body(self, path: GraphPath) -> InferredGraph | None:
        return self._bodies.at(path) if path.root is Root.GRAPH else None

    def _labels_of(self, path: GraphPath) -> list[str]:
        label = label_of(self._model, path)
        return [joined_label(label, each) for each in node_labels(graph_at(self._model, path).node)]
