"""A node as rewrite rules see it: its attributes, the facts about its inputs and outputs, and its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gather_infer.ir.constant import Constant
from gather_infer.model.attributes import attribute_of
from gather_infer.node_facts import NodeFacts
from gather_infer.node_ids import GraphPath, Root
from gather_infer.ops import standard_rule
from gather_infer.passes.constants import Constants
from gather_infer.passes.duplicates import CommonSubexpressions, DuplicateConstants, attributes_key
from gather_infer.passes.mutable_model import Graph, MutableModel, Node
from gather_infer.rules import Traits
from gather_infer.symbolic import Dim, Scope, known_eq, known_le
from gather_infer.tensor import UNKNOWN, DType, Shape, SymbolicTensor, Value

T = TypeVar("T")
V = TypeVar("V", bound="NodeView")

_MAX_READ: Final = 1 << 16
"""Maximum number of elements of an integer constant that a rule may read."""


class RewriteContext(Protocol):
    """The services of the driver that matches and graph-level passes use."""

    model: MutableModel
    max_growth: int
    faulty: frozenset[tuple[GraphPath, int]]
    protected: frozenset[str]
    dependencies: list[Hashable]
    """Nodes and names of values that were examined since the list was last cleared."""

    constants: Constants
    duplicate_constants: DuplicateConstants
    common_subexpressions: CommonSubexpressions

    @property
    def scope(self) -> Scope:
        """The facts about dims."""

    def enqueue(self, node: Node) -> None:
        """Have the rules examine a node again."""

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """The result of `compute`, cached until the next rewrite."""

    def fresh(self, base: str) -> str:
        """A name that the model does not use yet."""

    def note(self, view: NodeView, code: str, text: str, detail: tuple[str, ...] = ()) -> None:
        """Report once why a node was left alone."""


@dataclass(slots=True, eq=False)
class NodeView(NodeFacts):
    """A node of the mutable model, read only.

    Values are identified by their names in the graph of the node. Facts hold in every run in which the model does not
    fail.
    """

    context: RewriteContext
    node: Node

    def view_of(self: V, node: Node) -> V:
        """The view of another node; the rule depends on that node from now on."""
        self.context.dependencies.append(node)
        return type(self)(self.context, node)

    # the node

    @property
    def graph(self) -> Graph:
        """The graph of the node."""
        return self.node.graph

    @property
    def op_type(self) -> str:
        return self.node.op_type

    @property
    def domain(self) -> str:
        """The domain of the operator; "" is ai.onnx."""
        return self.node.domain

    @property
    def version(self) -> int:
        """The opset version of the domain of the node."""
        return self.node.version

    @property
    def opset(self) -> int:
        """The opset version of ai.onnx; 0 if it is not imported."""
        return self.graph.versions.get("", 0)

    @property
    def scope(self) -> Scope:
        """The facts about dims, for proofs such as `known_eq(a, b, match.scope)`."""
        return self.context.scope

    @property
    def traits(self) -> Traits | None:
        """The traits of the operator; None if the package has no rule for it."""
        found = standard_rule(self.node.domain, self.node.op_type, self.node.version)
        return None if found is None else found.traits

    def attr(self, name: str, default: Any = None) -> Any:
        """The value of attribute `name` (int, float, str, message, or a tuple of these); `default` if it is absent."""
        return attribute_of(self.node.proto, name, default)

    def same_attributes(self, other: NodeView) -> bool:
        """Whether both nodes, of one operator, have equal attributes, given or by default."""
        return attributes_key(self.node) == attributes_key(other.node)

    # its inputs

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, "" for one that is left out."""
        return tuple(self.node.inputs)

    def input(self, index: int) -> str:
        """The name of input `index`; "" if it is left out."""
        return self.node.inputs[index] if index < len(self.node.inputs) else ""

    def value(self, index: int) -> Value | None:
        """The fact about input `index`, of any kind; None if the input is left out."""
        inputs = self.node.inputs
        return self.node.graph.fact(inputs[index]) if index < len(inputs) and inputs[index] else None

    def fact_of(self, name: str) -> SymbolicTensor:
        """The fact about the value `name`, which the node could read; an unknown one if the value is not a tensor."""
        found = self.node.graph.fact(name) if name else None
        return found if isinstance(found, SymbolicTensor) else UNKNOWN

    def array(self, index: int) -> npt.NDArray[np.int64] | None:
        """The elements of input `index`, an int32 or int64 constant, in its shape.

        None if the input is not such a constant, or has more than 65 536 elements.
        """
        fact = self.fact(index)
        if fact.dtype not in (DType.INT32, DType.INT64) or fact.size is None or fact.size > _MAX_READ:
            return None
        constant = self.constant(index)
        return None if constant is None else constant.to_indices()

    def is_constant(self, index: int) -> bool:
        """Whether input `index` is a constant: it has the same elements in every run."""
        return self.node.graph.constant_payload(self.input(index)) is not None

    def constant(self, index: int) -> Constant | None:
        """The elements of input `index`, mapped if they are external data; None if the input is not a constant."""
        return self.context.constants.load(self.graph, self.input(index))

    def constant_of(self, name: str) -> Constant | None:
        """As `constant`, for a value by name."""
        return self.context.constants.load(self.graph, name)

    def producer(self: V, index: int, *op_types: str) -> V | None:
        """The producer of input `index`, if its operator is one of `op_types` of ai.onnx; else None.

        Without `op_types` any operator will do. None too for a faulty producer, of which nothing is known.
        """
        return self.producer_of(self.input(index), *op_types)

    def producer_of(self: V, name: str, *op_types: str) -> V | None:
        """As `producer`, for a value by name.

        None for a node of an enclosing graph: its values can be read, but a rewrite here cannot replace it.
        """
        found = self.graph.producer(name) if name else None
        if found is None or found[0].graph is not self.graph:
            return None
        node = found[0]
        if op_types and (node.domain or node.op_type not in op_types):
            return None
        view = self.view_of(node)
        return view if view.is_operator and not view.is_faulty else None

    def position_of(self, name: str) -> int:
        """The index of a value among the outputs of the node. Raises ValueError if it is not one."""
        return self.node.outputs.index(name)

    def siblings(self: V, index: int) -> list[V]:
        """The nodes of the same graph that read the same value as input `index`, including this node."""
        return self.readers_of(self.input(index))

    def readers_of(self: V, name: str) -> list[V]:
        """The nodes of the same graph that read a value."""
        self.context.dependencies.append(name)
        readers = self.context.model.readers(self.graph, name)
        return [self.view_of(node) for node in readers if node.graph is self.graph]

    def is_only_reader(self, index: int) -> bool:
        """Whether this node is the only use of the value that input `index` reads, so that both can be removed."""
        name = self.input(index)
        self.context.dependencies.append(name)
        home = self.graph.defining_graph(name)
        if home is not self.graph or home.is_fixed(name) or self.node.inputs.count(name) != 1:
            return False
        readers = home.readers.get(name, {})
        return len(readers) == 1 and self.node in readers

    def equivalent_nodes(self: V) -> Iterator[V]:
        """The equivalent nodes: same operator, attributes and inputs; see `CommonSubexpressions.equivalent_to`."""
        return (self.view_of(node) for node in self.context.common_subexpressions.equivalent_to(self.node))

    def equal_constant(self, name: str) -> str | None:
        """A constant that equals the constant `name` bit for bit and can replace it; None if there is none."""
        home = self.graph.defining_graph(name)
        return (
            None
            if home is None or name not in home.constants
            else self.context.duplicate_constants.replacement(home, name)
        )

    def is_droppable(self, name: str) -> bool:
        """Whether a value is an initializer that is removed once it is dead."""
        home = self.graph.defining_graph(name)
        return home is not None and name not in home.producers and self.context.model.is_droppable(home, name)

    def feeds(self, name: str, *op_types: str) -> bool:
        """Whether a node with one of the `op_types`, of any domain, reads the value `name`."""
        self.context.dependencies.append(name)
        return any(node.op_type in op_types for node in self.context.model.readers(self.graph, name))

    # its outputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs, "" for one that is left out."""
        return tuple(self.node.outputs)

    def output(self, index: int = 0) -> str:
        return self.node.outputs[index] if index < len(self.node.outputs) else ""

    def result(self, index: int = 0) -> SymbolicTensor:
        """The fact about output `index`; an unknown one if the output is left out or is not a tensor."""
        outputs = self.node.outputs
        return self.fact_of(outputs[index]) if index < len(outputs) else UNKNOWN

    def is_needed(self, index: int = 0) -> bool:
        """Whether output `index` is live."""
        name = self.output(index)
        self.context.dependencies.append(name)
        return bool(name) and self.context.model.is_needed(self.graph, name)

    def readers(self: V, index: int = 0) -> list[V]:
        """The nodes that read output `index`, those of subgraphs included."""
        self.context.dependencies.append(self.output(index))
        return [self.view_of(node) for node in self.context.model.readers(self.graph, self.output(index))]

    def is_graph_output(self, index: int = 0) -> bool:
        """Whether output `index` has to keep its name: it is a graph output, or the file refers to it elsewhere."""
        return self.graph.is_fixed(self.output(index))

    # proofs

    def equal(self, left: Dim, right: Dim) -> bool:
        """Whether two dims are equal in every run; False if that cannot be proved."""
        return left is right or known_eq(left, right, self.context.scope) is True

    def at_most(self, left: Dim, right: Dim) -> bool:
        """Whether `left <= right` in every run; False if that cannot be proved."""
        return known_le(left, right, self.scope) is True

    def same_shape(self, left: Shape | None, right: Shape | None) -> bool:
        """Whether two shapes are equal in every run; False if that cannot be proved."""
        return (
            left is not None
            and right is not None
            and len(left) == len(right)
            and all(self.equal(a, b) for a, b in zip(left, right, strict=True))
        )

    def is_within(self, index: int, lo: Dim, hi: Dim) -> bool:
        """Whether all elements of integer input `index` are in `[lo, hi]` in every run; False if not proved."""
        return self.is_at_least(index, lo) and self.is_at_most(index, hi)

    def is_at_least(self, index: int, lo: Dim) -> bool:
        """Whether all elements of integer input `index` are >= `lo` in every run; False if that cannot be proved."""
        known, span = self.elements(index), self.fact(index).value_range
        if known is not None:
            return all(self.at_most(lo, v) for v in known)
        return span is not None and span.lo is not None and self.at_most(lo, span.lo)

    def is_at_most(self, index: int, hi: Dim) -> bool:
        """Whether all elements of integer input `index` are <= `hi` in every run; False if that cannot be proved."""
        known, span = self.elements(index), self.fact(index).value_range
        if known is not None:
            return all(self.at_most(v, hi) for v in known)
        return span is not None and span.hi is not None and self.at_most(span.hi, hi)

    # its state

    @property
    def is_faulty(self) -> bool:
        """Whether the inference has found an error at the node, or the node reads an undefined name."""
        faulty, dangling = self.context.faulty, self.context.model.dangling
        return (bool(faulty) and self.node.source in faulty) or (bool(dangling) and self.node in dangling)

    @property
    def is_protected(self) -> bool:
        """Whether the node must not be rewritten: it is faulty, or the rewritten model might not load."""
        protected = self.context.protected
        return self.is_faulty or (bool(protected) and any(name in protected for name in self.node.outputs))

    @property
    def is_operator(self) -> bool:
        """Whether the node is the operator of its name: not a call of a function, and without attribute references."""
        node = self.node
        if node.graph.is_in_function and self.has_attribute_reference:
            return False
        pass_input = self.context.model.pass_input
        return not pass_input.has_functions or pass_input.is_operator(node.proto)

    @property
    def has_attribute_reference(self) -> bool:
        """Whether an attribute refers to an attribute of the enclosing function, so that its value differs by call."""
        node = self.node
        return node.graph.is_in_function and any(a.ref_attr_name for a in node.proto.attribute)

    @property
    def is_trained(self) -> bool:
        """Whether training graphs may change constants of the model."""
        return self.context.model.pass_input.is_trained

    @property
    def has_free_initializers(self) -> bool:
        """Whether a constant of the graph can be an initializer without being an input."""
        return self.graph.path.root is Root.GRAPH and self.context.model.pass_input.has_free_initializers

    @property
    def max_growth(self) -> int:
        """Bytes by which a rewrite may let the constants grow."""
        return self.context.max_growth

    @property
    def growth_limit(self) -> int:
        """Bytes that new constants may have: `max_growth`, plus those of constant inputs that only this node reads.

        The inputs do not count if the model has large constants, because it is rewritten in memory.
        """
        if self.context.model.pass_input.has_large_constants:
            return self.max_growth
        freed = 0
        for index, name in enumerate(self.node.inputs):
            if name and self.is_constant(index) and self.is_only_reader(index):
                freed += self.fact(index).nbytes or 0
        return self.max_growth + freed
