"""The model of the IR: its graphs, the edits that keep def-use chains consistent, and the journal of the changes.

Building costs some microseconds a node and reads no weights. An edit never modifies a message of the file, so a node
without edits is written back as it is, with fields that this version of onnx does not know.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Final

from onnx import FunctionProto, ModelProto, NodeProto

from gather_infer.domains import plain_domain
from gather_infer.errors import UsageError
from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Graph, Node, interface_of
from gather_infer.ir.toposort import cycle_among, topological_order
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply, apply_to
from gather_infer.model.edits import (
    AddInitializer,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveInitializer,
    RemoveNode,
)
from gather_infer.model.names import Names
from gather_infer.model.paths import (
    GraphOrFunction,
    joined_label,
    label_of,
    node_labels,
    roots,
    subgraph_at,
    subgraph_label,
    subgraphs,
)
from gather_infer.node_ids import MAIN, GraphPath, NodeId, NodePath, Root
from gather_infer.tensor import UNKNOWN, Value

_MAX_NEW_NODES: Final = 1 << 40
"""More than the number of new nodes: they sort before the node of the file at their position, in insertion order."""


class Model:
    """The graphs of a model, outer ones before inner ones, and the edits made to them. `proto` is never modified.

    Names that are defined twice, cycles and undefined names are tolerated, and reported by `verifier`; edits are only
    safe in a model without them.

    roots   the kinds of graphs to read; the others stay as they are
    """

    def __init__(self, proto: ModelProto, roots: Collection[Root] = tuple(Root)) -> None:
        self.proto = proto
        self.graphs: dict[GraphPath, Graph] = {}
        self.functions: dict[tuple[str, str, str], Graph] = {}
        """Domain, name and overload -> the body; the first one if there are several."""
        self.dangling: set[Node] = set()
        """Nodes that read a name which no graph defines."""
        self.has_duplicates = False
        """Whether a graph defines a name twice."""
        self.removed_sources: list[NodeId] = []
        """Nodes of the file removed since the list was last cleared."""
        self.new_constants: list[tuple[Graph, str]] = []
        """Constants added or renamed since the list was last cleared."""
        self._serial = 0
        self._removed: dict[GraphPath, dict[int, str]] = {}
        self._imports: dict[GraphPath, dict[str, int]] = {}
        self._names: Names | None = None
        self._labels: dict[GraphPath, tuple[str, tuple[str, ...]]] = {}
        self._bodies: dict[GraphPath, GraphOrFunction] = {}
        unsorted: set[Graph] = set()
        with _paused_collection():
            self._read(roots)
            for graph in self.graphs.values():
                self._link(graph, unsorted)
        for graph in unsorted:
            nodes, order, cyclic = self._topological(graph)
            graph.cyclic = tuple(nodes[position] for position in cyclic)
            graph.nodes = dict.fromkeys([*(nodes[position] for position in order), *graph.cyclic])

    @classmethod
    def of(cls, model: ModelFile) -> Model:
        """The graphs of a file, training graphs included."""
        return cls(model.proto)

    # building

    def _read(self, kinds: Collection[Root]) -> None:
        """Read all graphs, without recursion: subgraphs may nest deeper than Python's call stack."""
        pending: list[tuple[GraphPath, GraphOrFunction, Node | None]] = []
        pending += [(path, body, None) for path, body in roots(self.proto) if path.root in kinds][::-1]
        while pending:
            path, body, owner = pending.pop()
            graph = self._read_graph(path, body, owner)
            held: list[tuple[GraphPath, GraphOrFunction, Node | None]] = []
            producers, nodes, versions = graph.producers, graph.nodes, graph.versions
            for position, message in enumerate(body.node):
                domain = plain_domain(message.domain)
                outputs = message.output[:]  # a slice of a protobuf list takes half the time of list()
                node = Node(
                    message, graph, (position, 0), message.input[:], outputs, domain, versions.get(domain, 0), position
                )
                nodes[node] = None
                graph.file_nodes.append(node)
                for at, name in enumerate(outputs):
                    if name:
                        if name in producers:
                            self.has_duplicates = True
                        else:
                            producers[name] = node, at
                if message.attribute:
                    held += [(path.below(step), inner, node) for step, inner in subgraphs(message, position)]
            pending += reversed(held)
            given = (*graph.inputs, *(n for n in (*graph.initializers, *graph.sparse) if n not in graph.input_set))
            if len(set(given)) < len(given) or not producers.keys().isdisjoint(given):
                self.has_duplicates = True

    def _read_graph(self, path: GraphPath, body: GraphOrFunction, owner: Node | None) -> Graph:
        inputs, outputs = interface_of(body)
        tensors = [] if isinstance(body, FunctionProto) else list(body.initializer)
        sparse = [] if isinstance(body, FunctionProto) else [t.values.name for t in body.sparse_initializer]
        initializers = {held.name: held for held in tensors}
        if len(initializers) + len(set(sparse)) < len(tensors) + len(sparse):
            self.has_duplicates = True
        outer = None if owner is None else owner.graph
        if path.root in (Root.INITIALIZATION, Root.ALGORITHM) and owner is None:
            outer = self.graphs.get(MAIN)
        if owner is not None:
            versions = owner.graph.versions
        else:
            imports = body.opset_import if isinstance(body, FunctionProto) else self.proto.opset_import
            versions = {plain_domain(entry.domain): entry.version for entry in reversed(imports)}
        graph = Graph(path, body, outer, owner, inputs, outputs, versions, initializers, frozenset(sparse))
        self.graphs[path] = graph
        self._bodies[path] = body
        if owner is not None:
            owner.bodies.append(graph)
            owner.graph.has_subgraphs = True
        if isinstance(body, FunctionProto):
            self.functions.setdefault((plain_domain(body.domain), body.name, body.overload), graph)
        return graph

    def _link(self, graph: Graph, unsorted: set[Graph]) -> None:
        """Add the reads of a graph to the def-use chains, and graphs with a read of a later node to `unsorted`."""
        producers, readers = graph.producers, graph.readers
        for node in graph.nodes:
            for name in node.inputs:
                if not name:
                    continue
                found = producers.get(name)
                if found is None:
                    home = self._add_outer_read(node, name)
                    if home is not None and home is not graph and _is_before_its_producer(node, home, name):
                        unsorted.add(home)
                    continue
                known = readers.get(name)
                if known is None:
                    readers[name] = {node: None}
                else:
                    known[node] = None
                if found[0].order_key >= node.order_key:
                    unsorted.add(graph)
        for name in graph.outputs:
            home = graph.defining_graph(name)
            if home is not None and home is not graph:
                home.returned.setdefault(name, {})[graph] = None
                home.fixed.add(name)  # the subgraph returns it under this name
                if graph.owner is not None and _is_before_its_producer(graph.owner, home, name):
                    unsorted.add(home)

    def _add_outer_read(self, node: Node, name: str) -> Graph | None:
        home = node.graph.defining_graph(name)
        if home is None:
            self.dangling.add(node)
        else:
            home.readers.setdefault(name, {})[node] = None
        return home

    def _add_reads(self, node: Node) -> None:
        for name in node.inputs:
            if name:
                self._add_outer_read(node, name)

    # queries

    @property
    def nodes(self) -> Iterator[Node]:
        """All nodes, outer graphs first.

        In each graph the nodes of the file come first, in topological order with ties in the order of the file; then
        the new ones.
        """
        for graph in self.graphs.values():
            yield from list(graph.nodes)

    @property
    def main(self) -> Graph:
        return self.graphs[MAIN]

    def __getitem__(self, path: GraphPath) -> Graph:
        return self.graphs[path]

    def called_function(self, node: Node) -> Graph | None:
        """The body of the function of the model that a node calls; None if it calls none."""
        return self.functions.get((node.domain, node.op_type, node.proto.overload)) if self.functions else None

    def fresh(self, base: str) -> str:
        """A name that is not in use in the model and was not returned before."""
        if self._names is None:
            self._names = Names(self.proto)
        return self._names.fresh(base)

    def node_path(self, path: GraphPath, position: int) -> NodePath:
        """The path of the node of the file at `position` of the graph at `path`, with its label."""
        return NodePath(path, position, self._file_labels(path)[1][position])

    def graph_label(self, path: GraphPath) -> str:
        """The label of a graph of the file in locations, "" for the main graph."""
        return self._file_labels(path)[0]

    def _file_labels(self, path: GraphPath) -> tuple[str, tuple[str, ...]]:
        """The labels of a graph and of its nodes."""
        missing: list[GraphPath] = []
        while path not in self._labels:  # no recursion: subgraphs may nest deeply
            missing.append(path)
            if not path.steps:
                break
            path = path.above
        for each in reversed(missing):
            body = self._bodies[each]
            if each.steps:
                step = each.steps[-1]
                outer = self._bodies[each.above].node[step.node]
                label = subgraph_label(self._labels[each.above][1][step.node], outer, step)
            else:
                label = label_of(self.proto, each)
            labels = [joined_label(label, inner) if label else inner for inner in node_labels(body.node)]
            self._labels[each] = label, tuple(labels)
            path = each
        return self._labels[path]

    def readers(self, graph: Graph, name: str) -> Sequence[Node]:
        """The nodes that read the value which `name` refers to in a graph, those of subgraphs included."""
        home = graph.defining_graph(name)
        return () if home is None else tuple(home.readers.get(name, ()))

    def is_needed(self, graph: Graph, name: str) -> bool:
        """Whether a value that the graph defines is live: a node reads it, or it is a graph output or a fixed value."""
        return bool(graph.readers.get(name)) or name in graph.fixed or name in graph.output_set

    def is_droppable(self, graph: Graph, name: str) -> bool:
        """Whether an initializer can be removed once it is dead; one that a caller may override cannot."""
        return name in graph.constants and not graph.is_fixed(name)

    def label(self, node: Node) -> NodePath:
        """The path of a node; for a new node, the name of its first output."""
        if node.source is not None:
            return self.node_path(*node.source)
        return NodePath(node.graph.path, -1, next(filter(None, node.outputs), node.op_type))

    # edits

    def _insert(self, graph: Graph, proto: NodeProto, order_key: tuple[int, int], why: str) -> Node:
        domain = plain_domain(proto.domain)
        version = graph.versions.get(domain, 0)
        node = Node(proto, graph, order_key, proto.input[:], proto.output[:], domain, version, why=why)
        graph.nodes[node] = None
        for at, name in enumerate(node.outputs):
            if name:
                graph.producers[name] = node, at
        return node

    def add(self, graph: Graph, proto: NodeProto, before: Node, why: str, facts: Iterable[Value]) -> Node:
        """Insert a new node right before the node `before`; `facts` are about its outputs, in order."""
        self._serial += 1
        node = self._insert(graph, proto, (before.order_key[0], self._serial - _MAX_NEW_NODES), why)
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
        self.dangling.discard(node)
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
        for erased in [node, *node.nested_nodes()]:
            erased.is_removed = True
            self.dangling.discard(erased)
            if erased.source is not None:
                self.removed_sources.append(erased.source)
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
                for name in body.outputs:
                    home = body.defining_graph(name)
                    if home is not None and home is not body:
                        home.returned.get(name, {}).pop(body, None)
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

    def import_opset(self, domain: str, version: int, path: GraphPath = MAIN) -> None:
        """Import a version of an opset in the model, or in the function at `path`.

        Nodes of that domain that are in the model keep their version: they have to be valid in both.
        """
        self._imports.setdefault(path, {})[plain_domain(domain)] = version

    def drop(self, graph: Graph, name: str, why: str) -> None:
        """Remove an initializer of the file, or a new constant."""
        if name in graph.added:
            del graph.added[name]
        else:
            graph.dropped[name] = why
            graph.input_set -= {name}  # before IR version 4 each initializer is an input as well
        graph.constants.pop(name, None)

    # the edits as a journal

    def to_proto(self) -> ModelProto:
        """The model with its edits as a message; a message without edits is equal to that of the file."""
        return apply(self.journal("ir"), self.proto)

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
        for path, imports in self._imports.items():
            for domain, version in imports.items():
                journal.add(ImportOpset(by=by, reason="imported", path=path, domain=domain, version=version))
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
        path, body = graph.path, graph.proto
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
            apply_to(subgraph_at(copy, body.path.steps[-1]), self._edits(body, by, None), self.proto.ir_version)
        return copy

    def toposort(self, graph: Graph) -> list[Node]:
        """The nodes of a graph in topological order, otherwise in the order of their keys.

        Raises UsageError for a cycle, which an edit has made.
        """
        nodes, order, cyclic = self._topological(graph)
        if cyclic:
            laws = sorted({nodes[position].why for position in cyclic} - {""})
            raise UsageError(f"the rewrites lead to a cycle of nodes: {'; '.join(laws)}")
        return [nodes[position] for position in order]

    def cycle(self, graph: Graph) -> list[Node]:
        """The nodes of one cycle, in the direction of the data; empty if there is none."""
        nodes = sorted(graph.nodes, key=lambda node: node.order_key)
        reads = _dependencies(graph, nodes)
        _, cyclic = topological_order(reads)
        return [nodes[position] for position in cycle_among(reads, cyclic)] if cyclic else []

    def _topological(self, graph: Graph) -> tuple[list[Node], tuple[int, ...], tuple[int, ...]]:
        """The nodes by their keys, the positions in topological order, and those on or behind a cycle."""
        nodes = sorted(graph.nodes, key=lambda node: node.order_key)
        return nodes, *topological_order(_dependencies(graph, nodes))


@contextmanager
def _paused_collection() -> Iterator[None]:
    """Pause the garbage collector while a graph is built: each collection would traverse all of it and find nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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


def _is_before_its_producer(node: Node, home: Graph, name: str) -> bool:
    """Whether a node that reads a value of an enclosing graph is held by a node before that of the value."""
    found = home.producers.get(name)
    if found is None or not home.path.contains(node.graph.path):
        return False  # not a node, or read by a training graph
    return found[0].order_key >= home.node_around(node).order_key


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
