"""The mutable model (the IR of the rewrites): nodes, def-use chains, facts and constants, kept consistent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from onnx import FunctionProto, NodeProto, TensorProto

from gather_infer.domains import plain_domain
from gather_infer.errors import UsageError
from gather_infer.model.apply import apply_to
from gather_infer.model.edits import AddInitializer, Edit, InsertNodes, Journal, RemoveInitializer, RemoveNode
from gather_infer.model.paths import subgraph_at
from gather_infer.model.toposort import topological_order
from gather_infer.node_ids import GraphPath, NodeId, NodePath, Root
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.pass_input import ConstantPayload, PassInput
from gather_infer.tensor import UNKNOWN, Value

_MAX_NEW_NODES: Final = 1 << 40
"""More than the number of new nodes; a new node sorts before the node of the file at its position."""


@dataclass(slots=True, eq=False)
class Node:
    """A node of a mutable model.

    proto      the message of the file, or that of a rewrite; `inputs` and `outputs` are the current ones
    op_type    a copy of `proto.op_type`, which is slow to read; `is_constant` is True for a Constant of ai.onnx
    order_key  sort key within the graph: the position of a node of the file, and a counter of new nodes
    origin     the position of the node in its graph in the file; None for a new or moved node
    bodies     its subgraphs
    why        the law of the rewrite that has added or changed the node; empty for an unchanged node
    moved_from the graph and position in the file of a node that was moved to another graph
    """

    proto: NodeProto
    graph: Graph
    order_key: tuple[int, int]
    inputs: list[str]
    outputs: list[str]
    domain: str
    version: int
    origin: int | None = None
    bodies: list[Graph] = field(default_factory=list)
    why: str = ""
    is_removed: bool = False
    moved_from: tuple[GraphPath, int] | None = None
    op_type: str = field(init=False)
    is_constant: bool = field(init=False)

    def __post_init__(self) -> None:
        self.op_type = str(self.proto.op_type)
        self.is_constant = self.op_type == "Constant" and not self.domain

    @property
    def is_edited(self) -> bool:
        """Whether the node differs from the node of the file, or is new."""
        return self.origin is None or bool(self.why)

    @property
    def source(self) -> tuple[GraphPath, int] | None:
        """The graph and position of the node in the file; None for a new node."""
        return self.moved_from if self.origin is None else (self.graph.path, self.origin)


@dataclass(slots=True, eq=False)
class Graph:
    """The main graph, a subgraph or the body of a function.

    outer          the enclosing graph, whose values are visible; `owner` is the node there that holds this graph
    input_set, output_set  the inputs and outputs as sets
    has_subgraphs  whether one of its nodes has ever held a subgraph
    nodes          in the order in which they were added
    producers      value -> the node that writes it, and the index of the output
    readers        value defined here -> the nodes that read it, those of subgraphs included
    constants      value -> the payload that holds its elements, the same in every run
    initializers   the initializers of the file; those in `sparse` are not among the constants
    added          new constants
    dropped        removed initializers
    facts          the facts about the values that this graph defines
    fixed          values that keep their name and are never removed
    """

    path: GraphPath
    outer: Graph | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    versions: Mapping[str, int]
    facts: dict[str, Value]
    initializers: dict[str, TensorProto]
    sparse: frozenset[str]
    fixed: set[str]
    constants: dict[str, ConstantPayload]
    owner: Node | None = None
    nodes: dict[Node, None] = field(default_factory=dict)
    producers: dict[str, tuple[Node, int]] = field(default_factory=dict)
    readers: dict[str, dict[Node, None]] = field(default_factory=dict)
    added: dict[str, tuple[Constant, str]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    input_set: frozenset[str] = field(init=False)
    output_set: frozenset[str] = field(init=False)
    is_in_function: bool = field(init=False)
    has_subgraphs: bool = False

    def __post_init__(self) -> None:
        self.input_set, self.output_set = frozenset(self.inputs), frozenset(self.outputs)
        self.is_in_function = self.path.root is Root.FUNCTION

    def defines(self, name: str) -> bool:
        return (
            name in self.producers
            or name in self.added
            or (name in self.initializers and name not in self.dropped)
            or name in self.input_set
            or name in self.sparse
        )

    def scope_chain(self) -> Iterator[Graph]:
        """This graph, the one that encloses it, and so on outwards."""
        graph: Graph | None = self
        while graph is not None:
            yield graph
            graph = graph.outer

    def defining_graph(self, name: str) -> Graph | None:
        """The graph that defines the value which `name` refers to in this graph; None if there is none."""
        if name in self.producers:  # the most frequent case
            return self
        graph: Graph | None = self
        while graph is not None and not graph.defines(name):
            graph = graph.outer
        return graph

    def fact(self, name: str) -> Value:
        """The fact about the value that `name` refers to in this graph."""
        home = self if name in self.producers else self.defining_graph(name)
        return UNKNOWN if home is None else home.facts.get(name, UNKNOWN)

    def producer(self, name: str) -> tuple[Node, int] | None:
        """The node that writes the value which `name` refers to in this graph, and the index of the output."""
        home = self.defining_graph(name)
        return None if home is None else home.producers.get(name)

    def constant_payload(self, name: str) -> ConstantPayload | None:
        """The payload of the constant that `name` refers to in this graph; None if the value is not a constant."""
        home = self.defining_graph(name) if name else None
        return None if home is None else home.constants.get(name)

    def is_fixed(self, name: str) -> bool:
        """Whether the graph has to define a value of this name, even if no node reads it."""
        return name in self.fixed or name in self.output_set


class MutableModel:
    """A model with the changes of the rewrites. The messages of the file are never modified.

    Raises ModelStructureError as `PassInput`.
    """

    def __init__(self, pass_input: PassInput) -> None:
        self.pass_input = pass_input
        self.graphs: dict[GraphPath, Graph] = {}
        self._serial = 0
        self._removed: dict[GraphPath, dict[int, str]] = {}
        self.removed_sources: list[NodeId] = []
        """Nodes of the file removed since the list was last cleared."""
        self._gathers = 0
        self.new_constants: list[tuple[Graph, str]] = []
        """Constants added or renamed since the list was last cleared."""
        self.dangling: set[Node] = set()
        """Nodes that read a name which no graph defines."""
        proto = pass_input.model.proto
        for path, scope in pass_input.index.scopes.items():  # outer ones first
            if path.root not in (Root.GRAPH, Root.FUNCTION):
                continue
            body = pass_input.bodies[path]
            outer = self.graphs[scope.outer] if scope.outer is not None else None
            imports = body.opset_import if isinstance(body, FunctionProto) else proto.opset_import
            graph = Graph(
                path,
                outer,
                scope.inputs,
                scope.outputs,
                {plain_domain(o.domain): o.version for o in reversed(imports)} if outer is None else outer.versions,
                dict(pass_input.facts(path)),
                {} if isinstance(body, FunctionProto) else {t.name: t for t in body.initializer},
                frozenset(scope.sparse),
                set(pass_input.fixed(path)),
                pass_input.constants_of(path),
            )
            self.graphs[path] = graph
            for position in scope.order:
                self._insert(graph, body.node[position], (position, 0), position)
        self._gathers_of_file = self._gathers
        self._link_owners()
        for graph in self.graphs.values():
            for name in graph.outputs:
                home = graph.defining_graph(name)
                if home is not None and home is not graph:
                    home.fixed.add(name)  # the subgraph returns it under this name
            for node in graph.nodes:
                self._add_reads(node)

    def _link_owners(self) -> None:
        """Link each subgraph with the node that holds it."""
        at: dict[Graph, dict[int | None, Node]] = {}
        for path, graph in self.graphs.items():
            if path.steps and graph.outer is not None:
                if graph.outer not in at:
                    at[graph.outer] = {node.origin: node for node in graph.outer.nodes}
                graph.owner = at[graph.outer][path.steps[-1].node]
                graph.owner.bodies.append(graph)
                graph.outer.has_subgraphs = True

    def _insert(
        self, graph: Graph, proto: NodeProto, order_key: tuple[int, int], origin: int | None, why: str = ""
    ) -> Node:
        domain = plain_domain(proto.domain)
        version = graph.versions.get(domain, 0)
        node = Node(proto, graph, order_key, proto.input[:], proto.output[:], domain, version, origin, why=why)
        graph.nodes[node] = None
        self._gathers += _is_gather(node)
        for at, name in enumerate(node.outputs):
            if name:
                graph.producers[name] = node, at
        return node

    def _add_reads(self, node: Node) -> None:
        for name in node.inputs:
            home = node.graph.defining_graph(name) if name else None
            if home is not None:
                home.readers.setdefault(name, {})[node] = None
            elif name:
                self.dangling.add(node)

    # queries

    @property
    def nodes(self) -> Iterator[Node]:
        """All nodes, outer graphs first.

        In each graph the nodes of the file come first, in topological order with ties in the order of the file; then
        the new ones.
        """
        for graph in self.graphs.values():
            yield from list(graph.nodes)

    def readers(self, graph: Graph, name: str) -> Sequence[Node]:
        """The nodes that read the value which `name` refers to in a graph, those of subgraphs included."""
        home = graph.defining_graph(name)
        return () if home is None else tuple(home.readers.get(name, ()))

    def is_needed(self, graph: Graph, name: str) -> bool:
        """Whether a value that the graph defines is live: a node reads it, or it is a graph output or a fixed value."""
        return bool(graph.readers.get(name)) or name in graph.fixed or name in graph.output_set

    def is_removable(self, node: Node) -> bool:
        """Whether a node can be removed once its outputs are dead, because it is known to have no side effect."""
        return self.pass_input.is_pure(node.proto, node.version) and all(
            self.pass_input.is_pure(inner.proto, inner.version) for inner in _nested_nodes(node)
        )

    def is_droppable(self, graph: Graph, name: str) -> bool:
        """Whether an initializer can be removed once it is dead; one that a caller may override cannot."""
        return name in graph.constants and not graph.is_fixed(name)

    def may_add_constant(self, graph: Graph, constant: Constant) -> bool:
        """Whether the graph can hold a new constant of the type of `constant`.

        A Constant node is needed where an initializer would have to be an input; not every version allows every type.
        """
        return (
            graph.path.root is Root.GRAPH and self.pass_input.has_free_initializers
        ) or self.pass_input.is_constant_type(constant.data_type, graph.versions.get("", 0))

    def label(self, node: Node) -> NodePath:
        """The path of a node; for a new node, the name of its first output."""
        if node.source is not None:
            return self.pass_input.node(*node.source)
        return NodePath(node.graph.path, -1, next(filter(None, node.outputs), node.op_type))

    @property
    def spare_gathers(self) -> int:
        """The number of Gathers that can be added until the model has as many Gathers as its file."""
        return self._gathers_of_file - self._gathers

    # changes

    def add(self, graph: Graph, proto: NodeProto, before: Node, why: str, facts: Iterable[Value]) -> Node:
        """Insert a new node right before the node `before`; `facts` are about its outputs, in order."""
        self._serial += 1
        node = self._insert(graph, proto, (before.order_key[0], self._serial - _MAX_NEW_NODES), None, why)
        for name, fact in zip(node.outputs, facts, strict=False):
            if name:
                graph.facts[name] = fact
        if node.is_constant and len(proto.attribute) == 1:
            graph.constants[node.outputs[0]] = proto.attribute[0]
            self.new_constants.append((graph, node.outputs[0]))
        self._add_reads(node)
        return node

    def move(self, node: Node, graph: Graph, before: Node, why: str) -> None:
        """Move a node of a subgraph to the enclosing graph, right before another node; its values keep their names."""
        self._serial += 1
        node.moved_from = node.source
        node.origin = None
        node.graph = graph
        node.order_key = before.order_key[0], self._serial - _MAX_NEW_NODES
        node.why = node.why or why
        graph.nodes[node] = None

    def add_constant(self, graph: Graph, name: str, constant: Constant, fact: Value, why: str) -> None:
        """Add a new constant to a graph."""
        graph.added[name] = constant, why
        graph.constants[name] = constant
        graph.facts[name] = fact
        self.new_constants.append((graph, name))

    def replace_all_uses(self, graph: Graph, old: str, new: str, why: str) -> list[Node]:
        """Replace all uses of `old`, which the graph defines, by `new`. Returns the readers."""
        readers = list(graph.readers.pop(old, ()))
        for node in readers:
            node.inputs = [new if name == old else name for name in node.inputs]
            node.why = node.why or why
            home = node.graph.defining_graph(new)
            if home is not None:
                home.readers.setdefault(new, {})[node] = None
        return readers

    def set_input(self, node: Node, at: int, name: str, why: str) -> str:
        """Set input `at` of a node. Returns the name of the value that it read before."""
        old = node.inputs[at]
        node.inputs[at] = name
        node.why = node.why or why
        if old and old not in node.inputs:
            home = node.graph.defining_graph(old)
            if home is not None:
                del home.readers[old][node]
        self._add_reads(node)
        return old

    def detach(self, node: Node, at: int, name: str, why: str) -> None:
        """Rename output `at` of a node to `name`, so that another value can take over its old name and its readers.

        The node is then removed, or stays for another output.
        """
        del node.graph.producers[node.outputs[at]]
        node.graph.constants.pop(node.outputs[at], None)
        node.outputs[at] = name
        node.why = node.why or why
        node.graph.producers[name] = node, at

    def rename(self, graph: Graph, old: str, new: str, why: str) -> None:
        """Rename the value `old`, an output of a node or a new constant, to `new`, also in all nodes that read it."""
        if old in graph.added:
            graph.added[new] = graph.added.pop(old)
        else:
            node, at = graph.producers.pop(old)
            node.outputs[at] = new
            node.why = node.why or why
            graph.producers[new] = node, at
        graph.facts[new] = graph.facts.pop(old, UNKNOWN)
        if old in graph.constants:
            graph.constants[new] = graph.constants.pop(old)
            self.new_constants.append((graph, new))
        for reader in list(graph.readers.pop(old, ())):
            reader.inputs = [new if name == old else name for name in reader.inputs]
            reader.why = reader.why or why
            graph.readers.setdefault(new, {})[reader] = None

    def remove(self, node: Node, why: str) -> list[str]:
        """Remove a node with its subgraphs. Returns the names of the values that they read."""
        lost = []
        for erased in [node, *_nested_nodes(node)]:
            erased.is_removed = True
            if erased.source is not None:
                self.removed_sources.append(erased.source)
            self._gathers -= _is_gather(erased)
            graph = erased.graph
            if erased.origin is not None:
                self._removed.setdefault(graph.path, {})[erased.origin] = why
            del graph.nodes[erased]
            for name in erased.outputs:
                if name and graph.producers.get(name, (None, 0))[0] is erased:
                    del graph.producers[name]
                    graph.constants.pop(name, None)
            lost += self._drop_reads(erased)
            for body in erased.bodies:
                self.graphs.pop(body.path, None)
        return lost

    def _drop_reads(self, node: Node) -> list[str]:
        lost = []
        for name in dict.fromkeys(node.inputs):
            graph: Graph | None = node.graph
            while graph is not None and node not in graph.readers.get(name, ()):
                graph = graph.outer
            if graph is not None:
                del graph.readers[name][node]
                lost.append(name)
        return lost

    def drop(self, graph: Graph, name: str, why: str) -> None:
        """Remove an initializer of the file, or a new constant."""
        if name in graph.added:
            del graph.added[name]
        else:
            graph.dropped[name] = why
            graph.input_set -= {name}  # before IR version 4 each initializer is an input as well
        graph.constants.pop(name, None)

    # the edits

    def journal(self, by: str) -> Journal:
        """The edits that turn the file into this model."""
        journal = Journal()
        changed = {
            around for graph in self.graphs.values() if self._is_changed(graph) for around in graph.scope_chain()
        }
        within: set[Graph] = set()  # graphs of inserted nodes, which are written out with them
        for graph in self.graphs.values():  # outer ones first
            if graph.outer in within:
                within.add(graph)
            elif graph not in within and graph in changed:
                journal.add(*self._edits(graph, by, within))
        return journal

    def _is_changed(self, graph: Graph) -> bool:
        """Whether a graph differs from that of the file, apart from its subgraphs."""
        return bool(
            graph.added or graph.dropped or graph.path in self._removed or any(node.is_edited for node in graph.nodes)
        )

    def _edits(self, graph: Graph, by: str, within: set[Graph] | None) -> Iterator[Edit]:
        """The edits of one graph.

        within   receives the subgraphs of inserted nodes, which are written out with them. None for such a subgraph,
                 where all nodes with subgraphs are inserted anew
        """
        path, body = graph.path, self.pass_input.bodies[graph.path]
        for name, (constant, why) in graph.added.items():
            tensor = constant.to_tensor(name)
            yield AddInitializer(by=by, reason=why, path=path, cost=constant.nbytes, tensor=tensor)
        for name, why in graph.dropped.items():
            yield RemoveInitializer(by=by, reason=why, path=path, name=name)
        sequence = self.toposort(graph)
        # A changed node is removed and inserted again, as is one that now comes after a later node of the file.
        stays: dict[int, Node] = {}
        for node in sequence:
            is_as_it_was = node.origin is not None and not node.is_edited and not (node.bodies and within is None)
            if is_as_it_was and node.origin is not None and node.origin > next(reversed(stays), -1):
                stays[node.origin] = node
        reasons = {node.origin: node.why or "moved after its inputs" for node in sequence if node.origin is not None}
        reasons |= self._removed.get(path, {})
        for position in range(len(body.node)):
            if position not in stays:
                yield RemoveNode(by=by, reason=reasons[position], path=path, node=position)
        group: list[Node] = []
        names = _node_names(sequence)
        for node in sequence:
            if node.origin is None or stays.get(node.origin) is not node:
                group.append(node)
                if within is not None:
                    within.update(node.bodies)
            elif group:
                yield from self._inserted(path, group, names, node.origin, by)
                group = []
        if group:
            yield from self._inserted(path, group, names, len(body.node), by)

    def _inserted(
        self, path: GraphPath, group: Sequence[Node], names: Mapping[Node, str], before: int, by: str
    ) -> Iterator[Edit]:
        for node in group:
            message = self._to_proto(node, names[node], by)
            why = node.why or "moved after its inputs"
            yield InsertNodes(by=by, reason=why, path=path, nodes=(message,), before=before, origin=node.origin)

    def _to_proto(self, node: Node, name: str, by: str) -> NodeProto:
        """The current node with its subgraphs; the message of the file itself if nothing has changed."""
        if not node.why and not node.bodies and name == node.proto.name:
            return node.proto
        copy = NodeProto()
        copy.CopyFrom(node.proto)
        if name:
            copy.name = name
        del copy.input[:]
        del copy.output[:]
        copy.input.extend(node.inputs)
        copy.output.extend(node.outputs)
        for body in node.bodies:
            apply_to(subgraph_at(copy, body.path.steps[-1]), self._edits(body, by, None), self.pass_input.ir_version)
        return copy

    def toposort(self, graph: Graph) -> list[Node]:
        """The nodes of a graph in topological order, otherwise in the order of their keys."""
        nodes = sorted(graph.nodes, key=lambda node: node.order_key)
        at = {node: position for position, node in enumerate(nodes)}
        reads: list[set[int]] = [set() for _ in nodes]
        for name, (producer, _) in graph.producers.items():
            for reader in graph.readers.get(name, ()):
                inner = reader
                while inner.graph is not graph:
                    assert inner.graph.owner is not None, "a value is read in its graph or in a subgraph"
                    inner = inner.graph.owner
                reads[at[inner]].add(at[producer])
        for node in nodes:
            below = list(node.bodies)
            while below:
                body = below.pop()
                below += [inner for each in body.nodes for inner in each.bodies]
                for name in body.outputs:  # a subgraph may return an outer value without a node of its own
                    if name in graph.producers and body.defining_graph(name) is graph:
                        reads[at[node]].add(at[graph.producers[name][0]])
        order, cyclic = topological_order(reads)
        if cyclic:
            laws = sorted({nodes[position].why for position in cyclic} - {""})
            raise UsageError(f"the rewrites lead to a cycle of nodes: {'; '.join(laws)}")
        return [nodes[position] for position in order]


def _is_gather(node: Node) -> bool:
    return node.op_type == "Gather" and not node.domain


def _nested_nodes(node: Node) -> Iterator[Node]:
    """The nodes of the subgraphs of a node, at any depth."""
    pending = list(node.bodies)
    while pending:
        body = pending.pop()
        for inner in list(body.nodes):
            yield inner
            pending += inner.bodies


def _node_names(nodes: Sequence[Node]) -> dict[Node, str]:
    """Node -> its name, unique within the graph: runtimes reject duplicates. Subgraphs may use the same names."""
    found = {node: node.proto.name for node in nodes if node.origin is not None}
    taken = set(found.values()) - {""}
    for node in nodes:
        if node not in found:
            name = node.proto.name
            numbers = count(1)
            while name in taken:
                name = f"{node.proto.name}_{next(numbers)}"
            taken |= {name} - {""}
            found[node] = name
    return found
