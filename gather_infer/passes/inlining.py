"""The nodes of a subgraph in the place of the node that holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.tensor import UNKNOWN

MAX_MOVED: Final = 1 << 20
"""Bytes of a constant that a body may hold however little constants may grow: it is read, and the model has it."""


class Inlining:
    """A body that is to take the place of its node.

    body    one of the graphs of `node`
    bound   input of the body -> value of the graph around that stands in its place
    names   value of the body -> what it is called outside; the same, unless another graph has such a value too
    """

    def __init__(self, draft: Draft, node: Node, body: Graph, bound: Mapping[str, str]) -> None:
        self.draft = draft
        self.node = node
        self.body = body
        own = [*body.producers, *body.added, *(name for name in body.initializers if name not in body.dropped)]
        others = [graph for graph in draft.graphs.values() if graph is not body]
        self.names: dict[str, str] = {
            name: draft.subject.index.fresh(name) if any(graph.defines(name) for graph in others) else name
            for name in own
            if name not in body.inputs
        }
        self.names.update(bound)

    def name(self, inner: str) -> str:
        """What a value that the body knows is called in the graph around."""
        return self.names.get(inner, inner)

    def is_possible(self, load: Callable[[Graph, str], Constant | None], room: int) -> bool:
        """Whether nothing in the body needs it as a graph of its own.

        load   the bits of a constant
        room   bytes of an initializer of the body at most: it is read
        """
        body, graph, draft = self.body, self.node.graph, self.draft
        if body.sparse or any(self.name(name) != name for name in body.fixed):
            return False
        for name in body.inputs:
            if name not in self.names and (body.readers.get(name) or name in body.fixed or name in body.initializers):
                return False
        for name in body.initializers:
            if name not in body.dropped:
                constant = load(body, name)
                if constant is None or constant.nbytes > room or not draft.may_add_constant(graph, constant):
                    return False
        for inner, name in self.names.items():
            for reader in body.readers.get(inner, ()):
                between = reader.graph
                while between is not body:
                    if between.defines(name):
                        return False  # the name means another value in that subgraph
                    assert between.outer is not None, "who reads a value of the body is inside of it"
                    between = between.outer
        return True

    def move(self, load: Callable[[Graph, str], Constant | None], why: str) -> list[Node]:
        """Move the nodes and constants of the body out, right before the node, which is left without it; the nodes."""
        body, graph, draft = self.body, self.node.graph, self.draft
        moved = draft.sequence(body)
        for name in [*body.initializers, *body.added]:
            if name not in body.dropped and name not in body.inputs:
                constant = load(body, name)
                assert constant is not None, "it has been found possible"
                draft.add_constant(graph, self.name(name), constant, body.facts.get(name, UNKNOWN), why)
        for node in moved:
            draft.move(node, graph, self.node, why)
            for at, name in enumerate(node.outputs):
                if name:
                    node.outputs[at] = new = self.name(name)
                    graph.producers[new] = node, at
                    graph.facts[new] = body.facts.get(name, UNKNOWN)
                    if name in body.constants:
                        graph.constants[new] = body.constants[name]
                        draft.new_constants.append((graph, new))
        graph.fixed |= body.fixed
        reads: dict[Node, set[str]] = {}
        for name, readers in body.readers.items():
            if not readers:
                continue  # it may be gone
            home = graph.home(self.name(name))
            assert home is not None, "a value that is read is defined"
            for reader in readers:
                reads.setdefault(reader, set()).add(name)
                home.readers.setdefault(self.name(name), {})[reader] = None
        for reader, names in reads.items():
            inputs = [self.name(name) if name in names else name for name in reader.inputs]
            if inputs != reader.inputs:
                reader.inputs, reader.why = inputs, reader.why or why
        body.nodes.clear()
        body.readers.clear()
        for inner in draft.graphs.values():
            if inner.outer is body:
                inner.outer = graph
        return moved
