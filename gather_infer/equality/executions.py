"""Executions of nodes. Nodes with the same execution fail in the same runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gather_infer.ir.graph import Node


class Execution(NamedTuple):
    """The operation that a node performs, and the runs in which it does.

    key      operator, attributes and operands; the call of a node with bodies; None for an If with a known branch,
             which does nothing but that branch
    context  the body in which it is executed, as in `TermPool`
    holder   the node of control flow that decides whether and how often; None if each run executes it once
    """

    key: Hashable
    context: int
    holder: Node | None


def shared_nodes(first: Mapping[Node, Execution], second: Mapping[Node, Execution]) -> set[Node]:
    """The nodes of the second model that the first executes, too: with the same operands, as often, in the same runs.

    The nodes of control flow around them have the same calls, so that they take the same branches, and make as many
    iterations.
    """
    return nodes_like(first, first, second)


def nodes_like(nodes: Iterable[Node], first: Mapping[Node, Execution], second: Mapping[Node, Execution]) -> set[Node]:
    """The nodes of the second model that are executed like one of some nodes of the first."""
    known = {_place(first, node) for node in nodes}
    return {node for node in second if _place(second, node) in known} if known else set()


def body_of(executions: Mapping[Node, Execution], node: Node) -> Hashable:
    """Equal for nodes of bodies that are executed in the same runs; None for a node that each run executes."""
    found = executions[node]
    return (found.context, *_chain(executions, found.holder)) if found.holder is not None else None


def _place(executions: Mapping[Node, Execution], node: Node) -> Hashable:
    """Equal for nodes that are executed alike."""
    found = executions[node]
    return (found.context, found.key) if found.holder is None else tuple(_chain(executions, node))


def _chain(executions: Mapping[Node, Execution], node: Node | None) -> Iterator[Hashable]:
    """The keys of a node and of those around it, with their contexts."""
    while node is not None:
        found = executions[node]
        yield found.context
        yield found.key
        node = found.holder
