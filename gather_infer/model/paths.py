"""Addresses of graphs in a model, that hold no protobuf message: they stay true while the model is not edited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

Body: TypeAlias = "GraphProto | FunctionProto"


class Root(Enum):
    """What a path starts at."""

    GRAPH = "graph"
    FUNCTION = "function"
    INITIALIZATION = "initialization"
    ALGORITHM = "algorithm"


@dataclass(frozen=True, slots=True)
class Step:
    """From a graph into a subgraph: position of the node, of its attribute, and in `graphs` (None for `g`)."""

    node: int
    attribute: int
    item: int | None = None


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A graph of a model: the main graph, the `position`-th function or training graph, or a subgraph of one."""

    root: Root = Root.GRAPH
    position: int = 0
    steps: tuple[Step, ...] = ()

    def below(self, step: Step) -> GraphPath:
        return replace(self, steps=(*self.steps, step))

    def contains(self, other: GraphPath) -> bool:
        """Whether `other` is this graph or inside it."""
        depth = len(self.steps)
        return (self.root, self.position, self.steps) == (other.root, other.position, other.steps[:depth])

    def find(self, model: ModelProto) -> Body:
        """The graph in `model`. Raises IndexError when there is none."""
        body = _root(model, self)
        for step in self.steps:
            attribute = body.node[step.node].attribute[step.attribute]
            body = attribute.g if step.item is None else attribute.graphs[step.item]
        return body

    def label(self, model: ModelProto) -> str:
        """The path as locations write it: "" for the main graph, `If_3/then_branch`, `my_function/Loop#2/body`."""
        body = _root(model, self)
        names = [] if self.root is Root.GRAPH else [body.name or self.root.value]
        for step in self.steps:
            node = body.node[step.node]
            attribute = node.attribute[step.attribute]
            names += [node_name(node, step.node), attribute.name]
            body = attribute.g if step.item is None else attribute.graphs[step.item]
        return "/".join(names)

    def node_label(self, model: ModelProto, position: int) -> str:
        """The path of a node of this graph, `If_3/then_branch/Gather_1`."""
        label = self.label(model)
        name = node_name(self.find(model).node[position], position)
        return f"{label}/{name}" if label else name


MAIN = GraphPath()


def node_name(node: NodeProto, position: int) -> str:
    """The node's own name, else operator and position: `Gather#7`."""
    return node.name or f"{node.op_type}#{position}"


def subgraphs(node: NodeProto, position: int) -> Iterator[tuple[Step, GraphProto]]:
    """The graphs that the node at `position` carries."""
    for at, attribute in enumerate(node.attribute):
        if attribute.HasField("g"):
            yield Step(position, at), attribute.g
        for item, graph in enumerate(attribute.graphs):
            yield Step(position, at, item), graph


def roots(model: ModelProto) -> Iterator[tuple[GraphPath, Body]]:
    """The main graph, the functions, the training graphs."""
    yield MAIN, model.graph
    for position, function in enumerate(model.functions):
        yield GraphPath(Root.FUNCTION, position), function
    for position, info in enumerate(model.training_info):
        if info.HasField("initialization"):
            yield GraphPath(Root.INITIALIZATION, position), info.initialization
        if info.HasField("algorithm"):
            yield GraphPath(Root.ALGORITHM, position), info.algorithm


def bodies(model: ModelProto) -> Iterator[tuple[GraphPath, Body]]:
    """Every graph and function of the model, each before what it contains."""
    pending = list(roots(model))[::-1]
    while pending:
        path, body = pending.pop()
        yield path, body
        inner = [found for position, node in enumerate(body.node) for found in subgraphs(node, position)]
        pending += [(path.below(step), graph) for step, graph in reversed(inner)]


def _root(model: ModelProto, path: GraphPath) -> Body:
    body: Body
    match path.root:
        case Root.GRAPH:
            body = model.graph
        case Root.FUNCTION:
            body = model.functions[path.position]
        case Root.INITIALIZATION:
            body = model.training_info[path.position].initialization
        case Root.ALGORITHM:
            body = model.training_info[path.position].algorithm
    return body
