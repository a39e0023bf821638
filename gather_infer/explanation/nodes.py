"""The nodes for which a run inferred types, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gather_infer.domains import plain_domain
from gather_infer.inference.inferred_graphs import InferredGraphs
from gather_infer.inference.result import Inference
from gather_infer.node_ids import NodePath


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
            yield NodeRecord(place, node.op_type, plain_domain(node.domain), tuple(node.input), tuple(node.output))
