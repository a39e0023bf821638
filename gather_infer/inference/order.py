"""An order in which nodes can be visited, for graphs that do not list their nodes in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx import GraphProto, NodeProto


def topological(nodes: Sequence[NodeProto]) -> tuple[list[int], list[int]]:
    """Positions of `nodes` with every producer before its users, and the positions that a cycle keeps waiting.

    Nodes that are ready keep the order of the file. A name that no node here produces counts as defined elsewhere.
    What a subgraph reads from outside counts as an input of its node.
    """
    producer: dict[str, int] = {}
    for position, node in enumerate(nodes):
        for name in node.output:
            if name:
                producer.setdefault(name, position)
    users: list[list[int]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for position, node in enumerate(nodes):
        for source in {producer[name] for name in _reads(node) if name in producer}:
            users[source].append(position)
            waiting[position] += 1
    order = [position for position, count in enumerate(waiting) if count == 0]
    for position in order:  # grows while it is walked
        for user in users[position]:
            waiting[user] -= 1
            if waiting[user] == 0:
                order.append(user)
    return order, [position for position, count in enumerate(waiting) if count > 0]


def _reads(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for graph in _subgraphs(node):
        yield from captures(graph)


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def captures(graph: GraphProto) -> set[str]:
    """The names that a subgraph reads from the graphs around it."""
    defined = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    defined |= {t.values.name for t in graph.sparse_initializer}
    read = {output.name for output in graph.output}
    for node in graph.node:
        defined.update(node.output)
        read.update(_reads(node))
    return {name for name in read - defined if name}


def captured(node: NodeProto) -> set[str]:
    """The names that the subgraphs of a node read from outside."""
    return {name for graph in _subgraphs(node) for name in captures(graph)}
