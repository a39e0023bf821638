"""The model of the IR: its graphs, and the edits that keep def-use chains consistent.

Building costs some microseconds a node and reads no weights. An edit never modifies a message of the file, so a node
without edits is written back as it is, with fields that this version of onnx does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from gather_infer.domains import plain_domain, versions_of
from gather_infer.ir.collection import no_collections
from gather_infer.ir.constant import Constant
from gather_infer.ir.graph import Graph, Node, interface_of
from gather_infer.ir.labels import FileLabels
from gather_infer.ir.toposort import sort_nodes
from gather_infer.model import ModelFile
from gather_infer.model.names import Names
from gather_infer.model.paths import (
    GraphOrFunction,
    subgraphs,
)
from gather_infer.model.paths import roots as roots_of
from gather_infer.node_ids import MAIN, GraphPath, NodeId, NodePath, Root
from gather_infer.tensor import UNKNOWN, Value

_Unread: TypeAlias = "tuple[GraphPath, GraphOrFunction, Node | None]"
"""A graph to read: its path, its message, and the node that holds it."""
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
        self.may_repeat_names = False
        """Whether new nodes keep a name that other nodes of their graph have; else it gets a number when written."""
        self._serial = 0
        self.removed: dict[GraphPath, dict[int, str]] = {}
        """Path of a graph -> position of a removed node -> why it is removed."""
        self.imports: dict[GraphPath, dict[str, int | None]] = {}
        """Path of the main graph or a function -> domain -> its new version; None for an import that is removed."""
        self._names: Names | None = None
        self._labels = FileLabels(proto)
        unsorted: set[Graph] = set()
        with no_collections():
            pending: list[_Unread] = [(path, body, None) for path, body in roots_of(proto) if path.root in roots]
            for graph in self._read(pending[::-1]):
                self._link(graph, unsorted)
        self._sort(unsorted)

    def _sort(self, unsorted: Iterable[Graph]) -> None:
        """Sort the nodes of graphs that are not in topological order."""
        for graph in unsorted:
            ordered, graph.cyclic = sort_nodes(graph)
            graph.nodes = dict.fromkeys([*ordered, *graph.cyclic])

    @classmethod
    def of(cls, model: ModelFile) -> Model:
        """The graphs of a file, training graphs included."""
        return cls(model.proto)

    # building

    def _read(self, pending: list[_Unread]) -> list[Graph]:
        """Read graphs, the last one first, with their subgraphs; outer ones come before inner ones.

        Without recursion: subgraphs may nest deeper than Python's call stack.
        """
        found: list[Graph] = []
        while pending:
            path, body, owner = pending.pop()
            graph = self._read_graph(path, body, owner)
            found.append(graph)
            held: list[_Unread] = []
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
        return found

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
            versions = versions_of(imports)
        graph = Graph(path, body, outer, owner, inputs, outputs, versions, initializers, frozenset(sparse))
        self.graphs[path] = graph
        self._labels.bodies[path] = body
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

    def release(self) -> None:
        """Free the memory of the graphs, which link to each other, without a garbage collection.

        Only `proto` and the paths of the graphs remain usable.
        """
        for graph in self.graphs.values():
            graph.nodes.clear()
            graph.file_nodes.clear()
            graph.producers.clear()
            graph.readers.clear()

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
        return self._labels.node_path(path, position)

    def graph_label(self, path: GraphPath) -> str:
        """The label of a graph of the file in locations, "" for the main graph."""
        return self._labels.graph_label(path)

    def imported_opsets(self) -> dict[str, int]:
        """Domain -> version of the opsets that the model imports, with the edits."""
        changed = {**self.main.versions, **self.imports.get(MAIN, {})}
        return {domain: version for domain, version in changed.items() if version is not None}

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

    def add(self, graph: Graph, proto: NodeProto, before: Node | None, why: str, facts: Iterable[Value] = ()) -> Node:
        """Insert a new node with its subgraphs.

        before  the node right before which it is inserted, which may be removed; None inserts at the end
        facts   about its outputs, in order
        """
        self._serial += 1
        position = len(graph.file_nodes) if before is None else before.order_key[0]
        domain = plain_domain(proto.domain)
        node = Node(
            proto, graph, (position, self._serial - _MAX_NEW_NODES), proto.input[:], proto.output[:], domain,
            graph.versions.get(domain, 0), why=why,
        )  # fmt: skip
        graph.nodes[node] = None
        for at, name in enumerate(node.outputs):
            if name:
                graph.producers[name] = node, at
        for name, fact in zip(node.outputs, facts, strict=False):
            if name:
                graph.facts[name] = fact
        if node.is_constant and len(proto.attribute) == 1:
            graph.constants[node.outputs[0]] = proto.attribute[0]
            self.new_constants.append((graph, node.outputs[0]))
        self._add_reads(node)
        if proto.attribute:
            self._read_bodies(node)
        return node

    def _read_bodies(self, node: Node) -> None:
        """Read the subgraphs of a new node. Their paths lead through a position that no node of a file has."""
        pending: list[_Unread] = [
            (node.graph.path.below(step), inner, node) for step, inner in subgraphs(node.proto, -self._serial)
        ]
        if pending:
            unsorted: set[Graph] = set()
            found = self._read(pending[::-1])
            for body in found:
                body.is_new = True
            for body in found:
                self._link(body, unsorted)
            self._sort(unsorted)

    def replace(self, node: Node, nodes: Iterable[NodeProto], why: str) -> list[Node]:
        """Replace a node by new nodes in its place; values that they write keep their readers. Returns the new nodes.

        Outputs of the node that the new nodes do not write have to be unused, or be defined by a later edit.
        """
        self.remove(node, why)
        return [self.add(node.graph, proto, node, why) for proto in nodes]

    def move(self, node: Node, graph: Graph, before: Node, why: str) -> None:
        """Move a node of a subgraph to the enclosing graph, right before another node; its values keep their names."""
        self._serial += 1
        node.moved_from = node.source
        node.origin = None
        node.graph = graph
        node.order_key = before.order_key[0], self._serial - _MAX_NEW_NODES
        node.why = node.why or why
        graph.nodes[node] = None

    def add_constant(
        self, graph: Graph, name: str, constant: Constant | TensorProto, fact: Value | None, why: str
    ) -> None:
        """Add a new constant to a graph, under a new name or that of an output of a removed node.

        constant   its elements, or the initializer with this name
        fact       the fact about it; None keeps the fact about the value of this name
        """
        graph.added[name] = constant, why
        graph.constants[name] = constant
        if fact is not None:
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
        if old in graph.types:
            graph.types[new] = graph.types.pop(old)
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
                self.removed.setdefault(graph.path, {})[erased.origin] = why
            del graph.nodes[erased]
            for name in erased.outputs:
                if name and graph.producers.get(name, (None, 0))[0] is erased:
                    del graph.producers[name]
                    graph.constants.pop(name, None)
                    graph.types.pop(name, None)
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
        self.imports.setdefault(path, {})[plain_domain(domain)] = version

    def remove_import(self, domain: str, path: GraphPath = MAIN) -> None:
        """Remove the import of a domain in which no node is."""
        self.imports.setdefault(path, {})[plain_domain(domain)] = None

    def add_input(self, graph: Graph, value: ValueInfoProto, default: TensorProto | None, why: str) -> None:
        """Append an input to a graph, under a new name or that of an output of a removed node.

        default   an initializer of the same name; None if callers have to feed the input
        """
        graph.new_inputs.append((value, default, why))
        graph.inputs = *graph.inputs, value.name
        graph.input_set |= {value.name}

    def remove_input(self, graph: Graph, name: str, why: str) -> None:
        """Remove an input of the file that no node reads and that is no output."""
        graph.removed_inputs[name] = why
        graph.inputs = tuple(other for other in graph.inputs if other != name)
        graph.input_set -= {name}

    def add_output(self, graph: Graph, value: ValueInfoProto, why: str) -> None:
        """Append a value that the graph defines to its outputs."""
        graph.new_outputs.append((value, why))
        graph.outputs = *graph.outputs, value.name
        graph.output_set |= {value.name}

    def remove_output(self, graph: Graph, name: str, why: str) -> None:
        """Remove an output of the file; the value stays."""
        graph.removed_outputs[name] = why
        graph.outputs = tuple(other for other in graph.outputs if other != name)
        graph.output_set -= {name}

    def declare_type(self, graph: Graph, name: str, declared: TypeProto, why: str) -> None:
        """Declare the type of a value that the graph defines, or of a graph output."""
        graph.types[name] = declared, why

    def rename_node(self, node: Node, name: str, why: str) -> None:
        """Give a node another name; the names of values stay."""
        node.new_name = name
        node.why = node.why or why

    def drop(self, graph: Graph, name: str, why: str) -> None:
        """Remove an initializer of the file, or a new constant."""
        if name in graph.added:
            del graph.added[name]
        else:
            graph.dropped[name] = why
            graph.input_set -= {name}  # before IR version 4 each initializer is an input as well
        graph.constants.pop(name, None)


def _is_before_its_producer(node: Node, home: Graph, name: str) -> bool:
    """Whether a node that reads a value of an enclosing graph is held by a node before that of the value."""
    found = home.producers.get(name)
    if found is None or not home.path.contains(node.graph.path):
        return False  # not a node, or read by a training graph
    return found[0].order_key >= home.node_around(node).order_key
