"""Topological order of the nodes of a graph, and the names that subgraphs capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx import GraphProto, NodeProto

from gather_infer.ir.toposort import cycle_among, topological_order
from gather_infer.model.paths import subgraphs


def topological(nodes: Sequence[NodeProto]) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """A topological order of `nodes`, the blocked nodes, which are on or behind a cycle, and the nodes of one cycle.

    Nodes are given by position. A name that none of `nodes` produces counts as defined elsewhere. Names that a subgraph
    captures count as inputs of its node.
    """
    producer: dict[str, int] = {}  # the first producer counts where a name is defined twice
    for position, node in enumerate(nodes):
        for name in node.output:
            if name:
                producer.setdefault(name, position)
    reads = [{producer[name] for name in _reads(node) if name in producer} for node in nodes]
    order, blocked = topological_order(reads)
    return order, blocked, cycle_among(reads, blocked) if blocked else ()


def _reads(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for graph in _subgraphs(node):
        yield from captures(graph)


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    return (graph for _, graph in subgraphs(node, 0))


def captures(graph: GraphProto) -> set[str]:
    """The names that a subgraph reads from enclosing graphs."""
    found: set[str] = set()
    pending: list[tuple[GraphProto, set[str]]] = [(graph, set())]  # iterative, since subgraphs may nest deeply
    while pending:
        graph, around = pending.pop()
        defined = around | {v.name for v in graph.input} | {t.name for t in graph.initializer}
        defined |= {t.values.name for t in graph.sparse_initializer}
        for node in graph.node:
            defined.update(node.output)
        found.update(o.name for o in graph.output if o.name and o.name not in defined)
        for node in graph.node:
            found.update(name for name in node.input if name and name not in defined)
            pending += [(inner, defined) for inner in _subgraphs(node)]
    return found


def captured(node: NodeProto) -> set[str]:
    """The names that the subgraphs of a node read from the graph of the node or graphs around it."""
    return {name for graph in _subgraphs(node) for name in captures(graph)}


def is_read(name: str, graph: GraphProto) -> bool:
    """Whether a node, a subgraph or an output of `graph` reads `name`."""
    return any(output.name == name for output in graph.output) or any(name in _reads(node) for node in graph.node)
