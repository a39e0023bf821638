"""Def-use chains of a model, counted from its nodes alone: an oracle for the chains that the IR maintains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from gather_infer.ir import Graph, Model, Node
from gather_infer.node_ids import GraphPath, Root

NodeKey: TypeAlias = tuple[GraphPath, tuple[int, int]]
"""A node of a model: its graph and its sort key there."""
ValueKey: TypeAlias = tuple[GraphPath, str]
"""A value: the graph that defines it, and its name."""

Key = TypeVar("Key")


@dataclass(frozen=True)
class Chains:
    """The def-use chains of a model; values without an entry have no producer, no reader, and are not returned."""

    producers: Mapping[ValueKey, tuple[NodeKey, int]]
    readers: Mapping[ValueKey, frozenset[NodeKey]]
    returned: Mapping[ValueKey, frozenset[GraphPath]]
    dangling: frozenset[NodeKey]


def key_of(node: Node) -> NodeKey:
    return node.graph.path, node.order_key


def held(model: Model) -> Chains:
    """The chains as the model holds them."""
    graphs = model.graphs.values()
    return Chains(
        {(g.path, name): (key_of(node), at) for g in graphs for name, (node, at) in g.producers.items()},
        {(g.path, name): frozenset(map(key_of, r)) for g in graphs for name, r in g.readers.items() if r},
        {(g.path, name): frozenset(b.path for b in r) for g in graphs for name, r in g.returned.items() if r},
        frozenset(map(key_of, model.dangling)),
    )


def recounted(model: Model) -> Chains:
    """The chains as the nodes, the interfaces and the nesting of the graphs define them."""
    names = {graph: defined_names(graph) for graph in model.graphs.values()}
    producers: dict[ValueKey, tuple[NodeKey, int]] = {}
    readers: dict[ValueKey, set[NodeKey]] = {}
    returned: dict[ValueKey, set[GraphPath]] = {}
    dangling: set[NodeKey] = set()
    for graph in model.graphs.values():
        for node in sorted(graph.nodes, key=lambda node: node.order_key):
            for at, name in enumerate(node.outputs):
                if name:
                    producers.setdefault((graph.path, name), (key_of(node), at))
            for name in filter(None, node.inputs):
                home = home_of(names, graph, name)
                if home is None:
                    dangling.add(key_of(node))
                else:
                    readers.setdefault((home.path, name), set()).add(key_of(node))
        for name in graph.outputs:
            home = home_of(names, graph, name)
            if home is not None and home is not graph:
                returned.setdefault((home.path, name), set()).add(graph.path)
    return Chains(producers, _frozen(readers), _frozen(returned), frozenset(dangling))


def _frozen(sets: Mapping[ValueKey, set[Key]]) -> dict[ValueKey, frozenset[Key]]:
    return {key: frozenset(entries) for key, entries in sets.items()}


def defined_names(graph: Graph) -> set[str]:
    """The names that a graph defines, by its nodes, inputs and initializers."""
    written = {name for node in graph.nodes for name in node.outputs if name}
    return written | graph.input_set | graph.sparse | graph.added.keys() | graph.initializers.keys() - graph.dropped


def home_of(names: Mapping[Graph, set[str]], graph: Graph, name: str) -> Graph | None:
    """The innermost graph at or around `graph` that defines the name; None if there is none."""
    around: Graph | None = graph
    while around is not None and name not in names[around]:
        around = around.outer
    return around


def nodes_below(node: Node) -> Iterator[Node]:
    """The node, and the nodes of its subgraphs at any depth."""
    yield node
    for body in node.bodies:
        for inner in body.nodes:
            yield from nodes_below(inner)


def graphs_below(node: Node) -> Iterator[Graph]:
    """The subgraphs of the node, at any depth."""
    for inner in nodes_below(node):
        yield from inner.bodies


def dependencies(model: Model, graph: Graph) -> dict[Node, set[Node]]:
    """Node -> the nodes of the same graph whose outputs it or one of its subgraphs reads or returns."""
    names = {each: defined_names(each) for each in model.graphs.values()}
    writers = {name: node for node in graph.nodes for name in node.outputs if name}
    found: dict[Node, set[Node]] = {}
    for node in graph.nodes:
        reads: list[tuple[Graph, str]] = [(n.graph, name) for n in nodes_below(node) for name in n.inputs]
        reads += [(body, name) for body in graphs_below(node) for name in body.outputs]
        found[node] = {
            writers[name] for at, name in reads if name in writers and home_of(names, at, name) is graph
        }  # fmt: skip
    return found


def reachable(edges: Mapping[Node, Iterable[Node]], start: Iterable[Node]) -> set[Node]:
    """The nodes that `start` depends on, with those of `start`."""
    found: set[Node] = set()
    pending = list(start)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += edges[node]
    return found


GraphName: TypeAlias = tuple[object, ...]
"""A graph: its root, and for each node around it the first output and the attribute that leads to the graph."""
NodeName: TypeAlias = tuple[GraphName, tuple[str, ...]]
"""A node: its graph, and its outputs."""


@dataclass(frozen=True)
class GraphChains:
    """A graph in terms of names alone, which do not change when the model is written and read."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    initializers: frozenset[str]
    nodes: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]
    producers: Mapping[str, tuple[NodeName, int]]
    readers: Mapping[str, frozenset[NodeName]]
    returned: Mapping[str, frozenset[GraphName]]


def by_name(model: Model) -> dict[GraphName, GraphChains]:
    """The graphs of the model by name, with the chains that the model holds; each node has an output."""
    chains = held(model)
    nodes = {key_of(node): (graph_name(node.graph), tuple(node.outputs)) for node in model.nodes}
    graphs = {graph.path: graph_name(graph) for graph in model.graphs.values()}
    result: dict[GraphName, GraphChains] = {}
    for graph in model.graphs.values():
        path, own = graph.path, graph_name(graph)
        kept = frozenset(graph.initializers.keys() - graph.dropped | graph.sparse)
        kept |= {value.name for value, default, _ in graph.new_inputs if default is not None}
        listed = [(node.op_type, node.domain, tuple(node.inputs), tuple(node.outputs)) for node in graph.nodes]
        producers = {name: (nodes[node], at) for (home, name), (node, at) in chains.producers.items() if home == path}
        if path.root is Root.FUNCTION and not path.steps:  # a function has no initializers: constants become nodes
            listed += [("Constant", "", (), (name,)) for name in graph.added]
            producers |= {name: ((own, (name,)), 0) for name in graph.added}
        else:
            kept |= graph.added.keys()
        readers = {
            name: frozenset(nodes[n] for n in found) for (home, name), found in chains.readers.items() if home == path
        }
        returned = {
            name: frozenset(graphs[g] for g in found) for (home, name), found in chains.returned.items() if home == path
        }
        result[own] = GraphChains(
            graph.inputs, graph.outputs, kept, tuple(sorted(listed)), producers, readers, returned
        )
    assert len(result) == len(model.graphs), "names identify graphs"
    return result


def graph_name(graph: Graph) -> GraphName:
    if graph.owner is None:
        return (graph.path.root, graph.path.position)
    step = graph.path.steps[-1]
    first = next(filter(None, graph.owner.outputs))
    return (*graph_name(graph.owner.graph), (first, step.attribute, step.item))
