"""Topological order of nodes, and the cycles that prevent one."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from gather_infer.errors import UsageError
from gather_infer.ir.graph import Graph, Node


def toposort(graph: Graph) -> list[Node]:
    """The nodes of a graph in topological order, otherwise in the order of their keys.

    Raises UsageError for a cycle, which an edit has made.
    """
    ordered, cyclic = sort_nodes(graph)
    if cyclic:
        laws = sorted({node.why for node in cyclic} - {""})
        raise UsageError(f"the rewrites lead to a cycle of nodes: {'; '.join(laws)}")
    return ordered


def cycle(graph: Graph) -> list[Node]:
    """The nodes of one cycle, in the direction of the data; empty if there is none."""
    nodes = sorted(graph.nodes, key=lambda node: node.order_key)
    reads = _dependencies(graph, nodes)
    _, cyclic = topological_order(reads)
    return [nodes[position] for position in cycle_among(reads, cyclic)] if cyclic else []


def sort_nodes(graph: Graph) -> tuple[list[Node], tuple[Node, ...]]:
    """The nodes of a graph as `toposort`, without those on or behind a cycle; and these."""
    nodes = sorted(graph.nodes, key=lambda node: node.order_key)
    order, cyclic = topological_order(_dependencies(graph, nodes))
    return [nodes[position] for position in order], tuple(nodes[position] for position in cyclic)


def topological_order(reads: Sequence[set[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The positions of the nodes, producers first; and the positions of nodes that are on a cycle or depend on a cycle.

    reads   for each node, the positions of the nodes whose outputs it reads

    Kahn's algorithm; among the nodes that are ready, the lowest position comes first.
    """
    # the common case: the file is in order
    if not any(sources and max(sources) >= position for position, sources in enumerate(reads)):
        return tuple(range(len(reads))), ()
    users: list[list[int]] = [[] for _ in reads]
    waiting = [len(sources) for sources in reads]
    for position, sources in enumerate(reads):
        for source in sources:
            users[source].append(position)
    ready = [position for position, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        position = heappop(ready)
        order.append(position)
        for user in users[position]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, user)
    return tuple(order), tuple(position for position, count in enumerate(waiting) if count > 0)


def cycle_among(reads: Sequence[set[int]], cyclic: Sequence[int]) -> list[int]:
    """The positions of the nodes on one cycle: each reads the node before it, and the first reads the last.

    reads    as for `topological_order`
    cyclic   the second result of `topological_order`; every node in it reads at least one node in it
    """
    stuck = set(cyclic)
    trail: dict[int, int] = {}
    position = cyclic[0]
    while position not in trail:
        trail[position] = len(trail)
        position = min(reads[position] & stuck)
    return [p for p, at in trail.items() if at >= trail[position]][::-1]


def _dependencies(graph: Graph, nodes: Sequence[Node]) -> list[set[int]]:
    """For each of the nodes of a graph, by position, the nodes whose outputs it or its subgraphs read.

    If an input or initializer has the name of an output, readers of the name read the input or initializer.
    """
    at = {node: position for position, node in enumerate(nodes)}
    reads: list[set[int]] = [set() for _ in nodes]
    given = graph.input_set | (graph.initializers.keys() - graph.dropped.keys())
    for name, (producer, _) in graph.producers.items():
        if name in given:
            continue
        for reader in graph.readers.get(name, ()):
            if reader.graph is graph or graph.path.contains(reader.graph.path):  # not a reader in a training graph
                reads[at[graph.node_around(reader)]].add(at[producer])
    for node in nodes:
        below = list(node.bodies)
        while below:
            body = below.pop()
            below += [inner for each in body.nodes for inner in each.bodies]
            for name in body.outputs:  # a subgraph may return an outer value without a node of its own
                if name in graph.producers and name not in given and body.defining_graph(name) is graph:
                    reads[at[node]].add(at[graph.producers[name][0]])
    return reads
