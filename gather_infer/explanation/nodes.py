"""The nodes that a run has walked, as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gather_infer.domains import plain_domain
from gather_infer.inference.result import Inference
from gather_infer.inference.walked import Bodies
from gather_infer.places import NodePath


@dataclass(frozen=True, slots=True)
class WalkedNode:
    """A node of the main graph, or of a subgraph or function call that was walked.

    path     `path.graph` is a key of `Inference.scopes`
    inputs   names, "" where an optional one is left out; `outputs` likewise
    """

    path: NodePath
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def walked_nodes(inference: Inference) -> Iterator[WalkedNode]:
    """Every node, scope by scope as in `Inference.scopes`, in the order of the file."""
    bodies = Bodies(inference)
    for path in inference.scopes:
        body = bodies.at(path)
        for position, node in enumerate(() if body is None else body.nodes):
            assert body is not None, "it has nodes"
            place = NodePath(path, position, body.labels[position])
            yield WalkedNode(place, node.op_type, plain_domain(node.domain), tuple(node.input), tuple(node.output))
