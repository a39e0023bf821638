"""Topological order of nodes, and the cycles that prevent one."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush


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
