"""Graphs, nodes and values of the IR, with def-use chains by name and by scope.

A value is identified by the graph that defines it and its name there. Subgraphs see the values of the graphs around
them; an inner definition shadows an outer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from gather_infer import tensor
from gather_infer.ir.constant import Constant
from gather_infer.model.paths import GraphOrFunction
from gather_infer.node_ids import GraphPath, NodeId, Root

ConstantPayload: TypeAlias = "Constant | TensorProto | AttributeProto"
"""The elements of a constant: those of a pass, an initializer of the file, or the attribute of a Constant node."""


@dataclass(slots=True, eq=False)
class Node:
    """A node.

    proto      the message of the file or of a new node; it is never modified: `inputs` and `outputs` are the current
               names
    op_type    a copy of `proto.op_type`, which is slow to read; `is_constant` is True for a Constant of ai.onnx
    domain     "" for ai.onnx
    version    of the opset of its domain that the graph imports, 0 for none
    order_key  sort key within the graph: the position of a node of the file, and a counter of new nodes
    origin     the position of the node in the file or, in a subgraph of a new node, in the message; None for a new node
    bodies     its subgraphs
    why        the reason for the edit that has added or changed the node; "" for an untouched node
    new_name   the name that an edit has given the node; "" if it has its own
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
    moved_from: NodeId | None = None
    new_name: str = ""
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
    def source(self) -> NodeId | None:
        """The graph and position of the node in the file; None for a new node."""
        if self.origin is None:
            return self.moved_from
        return None if self.graph.is_new else (self.graph.path, self.origin)

    @property
    def name(self) -> str:
        """The current name; "" if the node has none."""
        return self.new_name or str(self.proto.name)

    def nested_nodes(self) -> Iterator[Node]:
        """The nodes of the subgraphs, at any depth; subgraphs may nest deeper than Python's call stack."""
        pending = list(self.bodies)
        while pending:
            body = pending.pop()
            for inner in list(body.nodes):
                yield inner
                pending += inner.bodies


@dataclass(frozen=True, slots=True)
class Use:
    """A read of a value: the input `index` of `node`, which may be in a subgraph of the graph that defines it."""

    node: Node
    index: int


class Value(NamedTuple):
    """A handle of a value: the graph that defines it, and its name there."""

    graph: Graph
    name: str

    @property
    def producer(self) -> Node | None:
        """The node that writes the value; None for an input or an initializer."""
        found = self.graph.producers.get(self.name)
        return None if found is None else found[0]

    @property
    def initializer(self) -> TensorProto | None:
        """The initializer of the file that holds the value; None for a removed, new or sparse one too."""
        return None if self.name in self.graph.dropped else self.graph.initializers.get(self.name)

    @property
    def readers(self) -> tuple[Node, ...]:
        """The nodes that read the value, those of subgraphs included, each once."""
        return tuple(self.graph.readers.get(self.name, ()))

    def uses(self) -> Iterator[Use]:
        """The node inputs that read the value, those of subgraphs included."""
        for node in self.readers:
            yield from (Use(node, index) for index, name in enumerate(node.inputs) if name == self.name)

    @property
    def is_output(self) -> bool:
        """Whether the value is an output of its graph, or of a subgraph that captures it."""
        return self.name in self.graph.output_set or bool(self.graph.returned.get(self.name))

    @property
    def fact(self) -> tensor.Value:
        """The fact that an analysis has attached; unknown if none has."""
        return self.graph.facts.get(self.name, tensor.UNKNOWN)


@dataclass(slots=True, eq=False)
class Graph:
    """The main graph, a subgraph, a training graph or the body of a function.

    outer          the graph whose values are visible in this one; `owner` is the node there that holds this graph. A
                   training graph sees those of the main graph and has no owner
    inputs         names in order; an initializer of the same name is a default
    input_set, output_set  the inputs and outputs as sets
    versions       domain -> imported version
    has_subgraphs  whether one of its nodes has ever held a subgraph
    file_nodes     the nodes of the file by position, those that an edit has removed included
    nodes          in topological order when the file is read, new ones at the end; those on or behind a cycle are
                   `cyclic` and come last
    producers      value -> the node that writes it, and the index of the output; the first one if there are several
    readers        value defined here -> the nodes that read it, those of subgraphs included
    returned       value defined here -> the subgraphs that return it without a node of their own
    initializers   those of the file by name; `sparse` are the names of the sparse ones
    added          new initializers, each with its reason
    dropped        removed initializers, each with its reason
    new_inputs     new inputs, each with its default, None if it has none, and its reason; `removed_inputs` are names
                   with reasons
    new_outputs    new outputs, each with its reason; `removed_outputs` are names with reasons
    types          value -> the type to declare for it, with the reason
    is_new         whether it is a subgraph of a new node, which is not in the file
    fixed          values that keep their name and are never removed
    facts          facts that an analysis has attached to values that this graph defines
    constants      values that a pass treats as constants -> the payload that holds the elements
    """

    path: GraphPath
    proto: GraphOrFunction
    outer: Graph | None
    owner: Node | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    versions: Mapping[str, int]
    initializers: dict[str, TensorProto]
    sparse: frozenset[str]
    file_nodes: list[Node] = field(default_factory=list)
    nodes: dict[Node, None] = field(default_factory=dict)
    cyclic: tuple[Node, ...] = ()
    producers: dict[str, tuple[Node, int]] = field(default_factory=dict)
    readers: dict[str, dict[Node, None]] = field(default_factory=dict)
    returned: dict[str, dict[Graph, None]] = field(default_factory=dict)
    added: dict[str, tuple[Constant | TensorProto, str]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    new_inputs: list[tuple[ValueInfoProto, TensorProto | None, str]] = field(default_factory=list)
    removed_inputs: dict[str, str] = field(default_factory=dict)
    new_outputs: list[tuple[ValueInfoProto, str]] = field(default_factory=list)
    removed_outputs: dict[str, str] = field(default_factory=dict)
    types: dict[str, tuple[TypeProto, str]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    facts: dict[str, tensor.Value] = field(default_factory=dict)
    constants: dict[str, ConstantPayload] = field(default_factory=dict)
    input_set: frozenset[str] = field(init=False)
    output_set: frozenset[str] = field(init=False)
    is_in_function: bool = field(init=False)
    has_subgraphs: bool = False
    is_new: bool = False

    def __post_init__(self) -> None:
        self.input_set, self.output_set = frozenset(self.inputs), frozenset(self.outputs)
        self.is_in_function = self.path.root is Root.FUNCTION
        if self.outer is not None:
            self.is_new = self.outer.is_new

    @property
    def sorted_nodes(self) -> list[Node]:
        """The nodes in topological order, without those on or behind a cycle; for a graph without edits."""
        return list(self.nodes)[: len(self.nodes) - len(self.cyclic)]

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

    def value(self, name: str) -> Value | None:
        """The value that `name` refers to in this graph; None for an undefined name and for ""."""
        home = self.defining_graph(name) if name else None
        return None if home is None else Value(home, name)

    def fact(self, name: str) -> tensor.Value:
        """The fact about the value that `name` refers to in this graph."""
        home = self if name in self.producers else self.defining_graph(name)
        return tensor.UNKNOWN if home is None else home.facts.get(name, tensor.UNKNOWN)

    def producer(self, name: str) -> tuple[Node, int] | None:
        """The node that writes the value which `name` refers to in this graph, and the index of the output."""
        home = self.defining_graph(name)
        return None if home is None else home.producers.get(name)

    def constant_payload(self, name: str) -> ConstantPayload | None:
        """The payload of the constant that `name` refers to in this graph; None if the value is not a constant."""
        home = self.defining_graph(name) if name else None
        return None if home is None else home.constants.get(name)

    def declared_types(self) -> dict[str, TypeProto]:
        """Value -> its declared type, for the values of this graph that have a declaration."""
        new = (*(value for value, _, _ in self.new_inputs), *(value for value, _ in self.new_outputs))
        interface = () if isinstance(self.proto, FunctionProto) else (*self.proto.input, *self.proto.output)
        found: dict[str, TypeProto] = {}
        for value in (*new, *interface, *self.proto.value_info):
            found.setdefault(value.name, value.type)
        return found | {name: declared for name, (declared, _) in self.types.items()}

    def tensor(self, name: str) -> TensorProto | None:
        """The elements of an initializer of this graph, of the file or added as a message; None for another value."""
        if name in self.added:
            payload = self.added[name][0]
            return payload if isinstance(payload, TensorProto) else payload.to_tensor(name)
        return None if name in self.dropped else self.initializers.get(name)

    def is_fixed(self, name: str) -> bool:
        """Whether the graph has to define a value of this name, even if no node reads it."""
        return name in self.fixed or name in self.output_set

    def users(self, name: str) -> set[Node]:
        """The nodes of this graph that read the value which `name` refers to, themselves or in their subgraphs."""
        home = self.defining_graph(name)
        if home is None:
            return set()
        found = {
            self.node_around(reader) for reader in home.readers.get(name, ()) if self.path.contains(reader.graph.path)
        }
        for body in home.returned.get(name, ()):
            if body.owner is not None and self.path.contains(body.owner.graph.path):
                found.add(self.node_around(body.owner))
        return found

    def node_around(self, node: Node) -> Node:
        """The node of this graph that `node` is, or that holds it in a subgraph."""
        while node.graph is not self:
            assert node.graph.owner is not None, "the node is in this graph or in a subgraph of it"
            node = node.graph.owner
        return node

    def captures(self) -> tuple[str, ...]:
        """The names that the graph and its subgraphs read or return from the graphs around it, by first use."""
        found: dict[str, None] = {}
        inside = {self}
        pending = [(self, iter(self.nodes))]  # subgraphs may nest deeper than Python's call stack
        while pending:
            graph, nodes = pending[-1]
            node = next(nodes, None)
            names = graph.outputs if node is None else filter(None, node.inputs)
            found.update((name, None) for name in names if graph.defining_graph(name) not in inside)
            if node is None:
                pending.pop()
                continue
            inside.update(node.bodies)
            pending += [(body, iter(body.nodes)) for body in reversed(node.bodies)]
        return tuple(found)


def interface_of(body: GraphOrFunction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the inputs and of the outputs."""
    if isinstance(body, FunctionProto):
        return tuple(body.input), tuple(body.output)
    assert isinstance(body, GraphProto), "a body is a graph or a function"
    return tuple(value.name for value in body.input), tuple(value.name for value in body.output)
