"""The nodes for which a run inferred types, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gather_infer.inference.inferred_graphs import InferredGraphs
from gather_infer.inference.result import Inference
from gather_infer.node_ids import GraphPath, NodePath


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of the main graph, or of an inferred subgraph or function call.

    path             `path.graph` is a key of `Inference.scopes`
    inputs, outputs  names of values, "" for an omitted optional one
    """

    path: NodePath
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def inferred_nodes(inference: Inference) -> Iterator[NodeRecord]:
    """Yield every node of the inferred graphs, by graph in the order of `Inference.scopes`, then in file order."""
    bodies = InferredGraphs(inference)
    for path in inference.scopes:
        body = bodies.at(path)
        for position, node in enumerate(() if body is None else body.nodes):
            assert body is not None, "it has nodes"
            place = NodePath(path, position, body.labels[position])
            yield NodeRecord(place, node.op_type, node.domain, tuple(node.inputs), tuple(node.outputs))


def inferred_producers(inference: Inference) -> dict[tuple[GraphPath, str], NodePath]:
    """The node that produces a value, for each value of the inferred graphs that a node produces."""
    bodies = InferredGraphs(inference)
    found: dict[tuple[GraphPath, str], NodePath] = {}
    for path, values in inference.scopes.items():
        body = bodies.at(path)
        for name in () if body is None else values:
            assert body is not None, "it has values"
            producer = body.producer(name)
            if producer is not None:
                found[path, name] = producer[0].path
    return found
