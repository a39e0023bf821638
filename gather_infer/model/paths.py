"""Graphs of a model by path, and the labels of their nodes in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from gather_infer.domains import plain_domain
from gather_infer.node_ids import MAIN, GraphPath, NodePath, Root, Step

GraphOrFunction: TypeAlias = "GraphProto | FunctionProto"


def graph_at(model: ModelProto, path: GraphPath) -> GraphOrFunction:
    """The graph or function body at `path` in `model`.

    Raises IndexError for a path that does not exist, LookupError for a step into a function that is not defined.
    """
    body = _root(model, path)
    for step in path.steps:
        body = _below(model, body, step)
    return body


def label_of(model: ModelProto, path: GraphPath) -> str:
    """The label of graph `path` in messages, such as `my_function/Loop#2/body`; "" for the main graph."""
    body = _root(model, path)
    label = "" if path.root is Root.GRAPH else _name(body) or path.root.value
    for step in path.steps:
        label = subgraph_label(joined_label(label, node_labels(body.node)[step.node]), body.node[step.node], step)
        body = _below(model, body, step)
    return label


def node_at(model: ModelProto, path: GraphPath, position: int) -> NodePath:
    """The NodePath, with its label, of the node at `position` in graph `path`."""
    return NodePath(
        path, position, joined_label(label_of(model, path), node_labels(graph_at(model, path).node)[position])
    )


def node_labels(nodes: Iterable[NodeProto]) -> list[str]:
    """Labels of the nodes of a graph, all distinct.

    The label is the node's name. A node without a name has operator and position as label, such as `Gather#7`; a node
    whose name other nodes have too, name and position.
    """
    labels = [node.name or f"{node.op_type}#{position}" for position, node in enumerate(nodes)]
    if len(set(labels)) == len(labels):
        return labels
    count = Counter(labels)
    taken = {label for label, number in count.items() if number == 1}
    for position, label in enumerate(labels):
        if count[label] == 1:
            continue
        label = f"{label}#{position}"
        while label in taken:
            label += "#"
        taken.add(label)
        labels[position] = label
    return labels


def joined_label(label: str, inner: str) -> str:
    """`inner`, the label of a node or value in a graph, prefixed with the graph's `label`."""
    return f"{label}/{inner}" if label else inner


def subgraph_label(label: str, node: NodeProto, step: Step) -> str:
    """The label of the subgraph that `step` leads to; `label` is the label of the node that holds the subgraph."""
    if step.attribute is None:
        return label
    name = f"{label}/{node.attribute[step.attribute].name}"
    return name if step.item is None else f"{name}#{step.item}"


def subgraphs(node: NodeProto, position: int) -> Iterator[tuple[Step, GraphProto]]:
    """The graphs in the attributes of `node`, each with its step; `position` is the position of `node`."""
    for at, attribute in enumerate(node.attribute):
        if attribute.HasField("g"):
            yield Step(position, at), attribute.g
        for item, graph in enumerate(attribute.graphs):
            yield Step(position, at, item), graph


def roots(model: ModelProto) -> Iterator[tuple[GraphPath, GraphOrFunction]]:
    """The main graph, the functions and the training graphs, each with its path."""
    yield MAIN, model.graph
    for position, function in enumerate(model.functions):
        yield GraphPath(Root.FUNCTION, position), function
    for position, info in enumerate(model.training_info):
        if info.HasField("initialization"):
            yield GraphPath(Root.INITIALIZATION, position), info.initialization
        if info.HasField("algorithm"):
            yield GraphPath(Root.ALGORITHM, position), info.algorithm


def bodies(model: ModelProto) -> Iterator[tuple[GraphPath, GraphOrFunction]]:
    """Every graph and function of the model with its path, each before the subgraphs that it contains."""
    pending = list(roots(model))[::-1]
    while pending:
        path, body = pending.pop()
        yield path, body
        holders = [(node, at) for at, node in enumerate(body.node) if _has_graphs(node)]
        inner = [found for node, at in holders for found in subgraphs(node, at)]
        pending += [(path.below(step), graph) for step, graph in reversed(inner)]


def _has_graphs(node: NodeProto) -> bool:
    return bool(node.attribute) and any(a.HasField("g") or a.graphs for a in node.attribute)


def subgraph_at(node: NodeProto, step: Step) -> GraphProto:
    """The graph in the attribute of `node` that `step` refers to."""
    assert step.attribute is not None, "a node holds graphs in attributes"
    attribute = node.attribute[step.attribute]
    graph: GraphProto = attribute.g if step.item is None else attribute.graphs[step.item]
    return graph


def _name(body: GraphOrFunction) -> str:
    return str(body.name)


def _below(model: ModelProto, body: GraphOrFunction, step: Step) -> GraphOrFunction:
    node = body.node[step.node]
    if step.attribute is not None:
        return subgraph_at(node, step)
    key = (plain_domain(node.domain), node.op_type, node.overload)
    function: FunctionProto
    for function in model.functions:
        if (plain_domain(function.domain), function.name, function.overload) == key:
            return function
    raise LookupError(f"the model defines no function {node.op_type}")


def _root(model: ModelProto, path: GraphPath) -> GraphOrFunction:
    body: GraphOrFunction
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
