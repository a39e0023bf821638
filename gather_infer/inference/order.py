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
    graphs = [g for a in node.attribute for g in (*((a.g,) if a.HasField("g") else ()), *a.graphs)]
    while graphs:
        graph: GraphProto = graphs.pop()
        for inner in graph.node:
            yield from inner.input
            graphs += [g for a in inner.attribute for g in (*((a.g,) if a.HasField("g") else ()), *a.graphs)]
        yield from (output.name for output in graph.output)
