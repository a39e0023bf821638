"""Inlining: the nodes of a subgraph replace the node that holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Graph, Node
from gather_infer.ir.model import Model
from gather_infer.ir.toposort import toposort
from gather_infer.tensor import UNKNOWN

MAX_MOVED: Final = 1 << 20
"""Bytes up to which an initializer of a subgraph is moved, even if `max_growth` is lower: the model has it already."""


class Inlining:
    """The inlining of a subgraph: its nodes move to the enclosing graph and replace the node that holds it.

    body    a subgraph of `node`
    bound   input of the body -> value of the enclosing graph that replaces it
    names   value of the body -> its name outside; a new one if another graph defines a value of that name
    """

    def __init__(self, model: Model, node: Node, body: Graph, bound: Mapping[str, str]) -> None:
        self.model = model
        self.node = node
        self.body = body
        own_names = [*body.producers, *body.added, *(name for name in body.initializers if name not in body.dropped)]
        others = [graph for graph in model.graphs.values() if graph is not body]
        self.names: dict[str, str] = {
            name: model.fresh(name) if any(graph.defines(name) for graph in others) else name
            for name in own_names
            if name not in body.inputs
        }
        self.names.update(bound)

    def name(self, inner: str) -> str:
        """The name in the enclosing graph of a value that is visible in the body."""
        return self.names.get(inner, inner)

    def is_possible(
        self,
        load: Callable[[Graph, str], Constant | None],
        may_add: Callable[[Graph, Constant], bool],
        max_bytes: int,
    ) -> bool:
        """Whether the nodes of the body can move: names keep their meaning and constants can be read.

        load       returns the elements of a constant
        may_add    whether a graph can hold a constant as an initializer or a Constant node
        max_bytes  the size up to which an initializer of the body is read
        """
        body, graph = self.body, self.node.graph
        if body.sparse or any(self.name(name) != name for name in body.fixed):
            return False
        for name in body.inputs:
            if name not in self.names and (body.readers.get(name) or name in body.fixed or name in body.initializers):
                return False
        for name in body.initializers:
            if name not in body.dropped:
                constant = load(body, name)
                if constant is None or constant.nbytes > max_bytes or not may_add(graph, constant):
                    return False
        for inner, name in self.names.items():
            for reader in body.readers.get(inner, ()):
                between = reader.graph
                while between is not body:
                    if between.defines(name):
                        return False  # another value shadows the name in that subgraph
                    assert between.outer is not None, "a reader of a value of the body is inside of the body"
                    between = between.outer
        return True

    def move(self, load: Callable[[Graph, str], Constant | None], why: str) -> list[Node]:
        """Move the nodes and constants of the body to the enclosing graph, right before the node. Returns the moved
        nodes.
        """
        body, graph, model = self.body, self.node.graph, self.model
        moved = toposort(body)
        for name in [*body.initializers, *body.added]:
            if name not in body.dropped and name not in body.inputs:
                constant = load(body, name)
                assert constant is not None, "is_possible has checked that it can be read"
                model.add_constant(graph, self.name(name), constant, body.facts.get(name, UNKNOWN), why)
        for node in moved:
            model.move(node, graph, self.node, why)
            for at, name in enumerate(node.outputs):
                if name:
                    node.outputs[at] = new = self.name(name)
                    graph.producers[new] = node, at
                    graph.facts[new] = body.facts.get(name, UNKNOWN)
                    if name in body.constants:
                        graph.constants[new] = body.constants[name]
                        model.new_constants.append((graph, new))
        graph.fixed |= body.fixed
        reads: dict[Node, set[str]] = {}
        for name, readers in body.readers.items():
            if not readers:
                continue  # the value may be removed
            home = graph.defining_graph(self.name(name))
            assert home is not None, "a value that is read is defined"
            for reader in readers:
                reads.setdefault(reader, set()).add(name)
                home.readers.setdefault(self.name(name), {})[reader] = None
        for reader, names in reads.items():
            inputs = [self.name(name) if name in names else name for name in reader.inputs]
            if inputs != reader.inputs:
                reader.inputs, reader.why = inputs, reader.why or why
        for name, inner_bodies in body.returned.items():
            if inner_bodies:
                home = graph.defining_graph(self.name(name))
                assert home is not None, "a value that a subgraph returns is defined"
                home.returned.setdefault(self.name(name), {}).update(inner_bodies)
        body.nodes.clear()
        body.readers.clear()
        body.returned.clear()
        for inner in model.graphs.values():
            if inner.outer is body:
                inner.outer = graph
        return moved
