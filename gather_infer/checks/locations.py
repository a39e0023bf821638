"""Locations of nodes, for findings of the checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from gather_infer.diagnostic import Location
from gather_infer.inference import Inference
from gather_infer.inference.inferred_graphs import InferredGraph, InferredGraphs, position_of
from gather_infer.inference.proto.schema import schema_of
from gather_infer.ir import Graph, Model, Node
from gather_infer.node_ids import GraphPath, NodePath, Root


class NodeLocations:
    """The nodes of a model and their locations, by graph path and position.

    A path names a graph of the model file, or the function body from which the inference derived the types of an
    operator.
    """

    def __init__(self, inference: Inference) -> None:
        self._inference = inference

    @property
    def graphs(self) -> Model:
        """The graphs of the model file."""
        return self._inference.ir

    @cached_property
    def _bodies(self) -> InferredGraphs:
        return InferredGraphs(self._inference)

    def release(self) -> None:
        """Free the memory of the graphs; they are built again if another location is needed."""
        self._inference.release_ir()
        self.__dict__.pop("_bodies", None)

    def nodes(self, path: GraphPath) -> Sequence[Node]:
        """The nodes of the graph at `path`, by position; none for a graph that `graph` does not find."""
        graph = self.graph(path)
        return () if graph is None else graph.file_nodes

    def graph(self, path: GraphPath) -> Graph | None:
        """The graph at `path`; None for the lowering of a layer, which no file holds."""
        body = self.inferred_graph(path)
        return self.graphs.graphs.get(path) if body is None else body.graph

    def inferred_graph(self, path: GraphPath) -> InferredGraph | None:
        """The inferred graph at `path`; None if it was not interpreted."""
        return self._bodies.at(path) if path.root is Root.GRAPH else None

    def producer(self, path: GraphPath, name: str) -> int | None:
        """The position of the node that writes a value of the graph at `path`; None for an input or an initializer."""
        graph = self.graph(path)
        found = None if graph is None else graph.producers.get(name)
        return None if found is None else position_of(found[0])

    def location(self, path: GraphPath, position: int, value: str = "") -> Location:
        """The location of a node, that of the layer for a node of its lowering.

        value   the tensor that a finding is about, as `input x` or `output y`
        """
        while self.graph(path) is None:
            path, position, value = path.above, path.steps[-1].node, ""
        node, body = self.nodes(path)[position], self.inferred_graph(path)
        if body is None:
            where, imported = self.graphs.node_path(path, position), node.version
        else:
            where = NodePath(path, position, body.labels[position])
            imported = body.opsets.versions.get(node.domain, 0)
        schema = schema_of(node.op_type, imported, node.domain)
        version = imported if schema is None else schema.since
        return Location(where, node.op_type, node.domain, version, value)

    def location_of_value(self, path: GraphPath, name: str) -> Location:
        """The location of the node that outputs a value of the graph at `path`; for an input, that of the value."""
        producer = self.producer(path, name)
        if producer is None:
            return Location(value=name, graph=self.graphs.graph_label(path))
        return self.location(path, producer, f"output {name}")
