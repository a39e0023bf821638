"""What a rewriting rule sees: a node, what is known of what it reads and writes, its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto

from gather_infer.ops import standard_rules
from gather_infer.passes.constants import Constants
from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.evaluate.constant import Constant
from gather_infer.passes.twins import Repeats, Twins
from gather_infer.places import GraphPath, Root
from gather_infer.rules import Traits
from gather_infer.symbolic import Dim, Expr, Scope, known_eq, known_le
from gather_infer.tensor import UNKNOWN, DType, Shape, SymbolicTensor, Value, element_bytes

T = TypeVar("T")
V = TypeVar("V", bound="View")

GATHERS: Final = object()
"""What is looked at by who has found that there is no Gather to spare."""

_MAX_READ: Final = 1 << 16
"""Elements of an integer constant that a rule may look at one by one."""


class Surroundings(Protocol):
    """What is asked of the engine."""

    draft: Draft
    max_growth: int
    faulty: frozenset[tuple[GraphPath, int]]
    kept: frozenset[str]
    looked: list[Hashable]
    """Nodes and names of values that were looked at since it was emptied."""

    constants: Constants
    twins: Twins
    repeats: Repeats

    @property
    def scope(self) -> Scope:
        """What is known of dims."""

    def ask(self, node: Node) -> None:
        """Have the rules asked about a node once more."""

    def remembered(self, key: object, make: Callable[[], T]) -> T:
        """What `make` finds about the draft, until something is rewritten."""

    def fresh(self, base: str) -> str:
        """A name that is new to the model."""

    def note(self, view: View, code: str, text: str, detail: tuple[str, ...] = ()) -> None:
        """Say once why a node was left alone."""


@dataclass(slots=True, eq=False)
class View:
    """A node with its surroundings.

    A value is known by the name that it has at the node. Facts hold in every run in which the model does not fail.
    """

    engine: Surroundings
    node: Node

    def at(self: V, node: Node) -> V:
        """The same of another node."""
        self.engine.looked.append(node)
        return type(self)(self.engine, node)

    # the node

    @property
    def graph(self) -> Graph:
        """The graph that it stands in."""
        return self.node.graph

    @property
    def op_type(self) -> str:
        return self.node.op_type

    @property
    def domain(self) -> str:
        """Of the operator; "" is ai.onnx."""
        return self.node.domain

    @property
    def version(self) -> int:
        """The opset version in force for the domain of the node."""
        return self.node.version

    @property
    def opset(self) -> int:
        """The opset version of ai.onnx in force; 0 when it is not imported."""
        return self.graph.versions.get("", 0)

    @property
    def scope(self) -> Scope:
        """What is known of dims; questions go to `known_eq(a, b, site.scope)` and the like."""
        return self.engine.scope

    @property
    def has_spare_gathers(self) -> bool:
        """Whether the model has fewer Gathers now than in its file: one may take the place of another operator."""
        is_one = self.engine.draft.spare_gathers > 0
        if not is_one:
            self.engine.looked.append(GATHERS)
        return is_one

    @property
    def traits(self) -> Traits | None:
        """Those of the operator; None when the package has no rule for it."""
        node = self.node
        return _traits_of(node.domain, node.op_type, node.version)

    def attribute(self, name: str) -> AttributeProto | None:
        """An attribute, None when it is not given."""
        return next((a for a in self.node.proto.attribute if a.name == name), None)

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = self.attribute(name)
        return default if found is None else int(found.i)

    def integers(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of integers, None when it is not given."""
        found = self.attribute(name)
        return None if found is None else tuple(map(int, found.ints))

    def text(self, name: str, default: str = "") -> str:
        """A string attribute."""
        found = self.attribute(name)
        return default if found is None else found.s.decode("utf-8", "replace")

    def same_attributes(self, other: View) -> bool:
        """Whether both nodes have equal attributes."""
        mine, theirs = (
            sorted(a.SerializeToString(deterministic=True) for a in s.node.proto.attribute) for s in (self, other)
        )
        return mine == theirs

    # what it reads

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names that it reads, "" for an input that is left out."""
        return tuple(self.node.inputs)

    def input(self, at: int) -> str:
        """The value that input `at` reads; "" when it is left out."""
        return self.node.inputs[at] if at < len(self.node.inputs) else ""

    def fact(self, at: int) -> SymbolicTensor:
        """What is known of an input; nothing of one that is left out or is no tensor."""
        inputs = self.node.inputs
        return self.known(inputs[at]) if at < len(inputs) else UNKNOWN

    def known(self, name: str) -> SymbolicTensor:
        """What is known of a value that the node could read."""
        found = self.node.graph.fact(name) if name else None
        return found if isinstance(found, SymbolicTensor) else UNKNOWN

    def value(self, name: str) -> Value | None:
        """As `known`, of sequences and optionals as well."""
        return self.graph.fact(name) if name else None

    def shape(self, at: int) -> Shape | None:
        """The shape of an input, None when its rank is not known."""
        return self.fact(at).shape

    def rank(self, at: int) -> int | None:
        """The rank of an input, None when it is not known."""
        shape = self.fact(at).shape
        return None if shape is None else len(shape)

    def elements(self, at: int) -> tuple[Dim, ...] | None:
        """All elements of an integer input, in order, as numbers or dims; None when one is not known.

        Those of a constant are read from the model when it has up to 65 536.
        """
        fact = self.fact(at)
        if fact.dtype is None or not fact.dtype.is_integer:
            return None
        if fact.values is not None:
            found = tuple(fact.values.ravel().tolist())
            return found if all(isinstance(v, (int, Expr)) for v in found) else None
        numbers = self.numbers(at)
        return None if numbers is None else tuple(map(int, numbers.ravel().tolist()))

    def numbers(self, at: int) -> npt.NDArray[np.int64] | None:
        """The elements of an int32 or int64 constant in their shape; None when the input is none.

        Not of one with more than 65 536 elements.
        """
        fact = self.fact(at)
        if fact.dtype not in (DType.INT32, DType.INT64) or _count(fact.shape) > _MAX_READ:
            return None
        constant = self.constant(at)
        return None if constant is None else constant.to_indices()

    def integers_of(self, at: int) -> tuple[int, ...] | None:
        """As `elements`, but None unless they are all numbers."""
        found = self.elements(at)
        if found is None:
            return None
        numbers = tuple(v for v in found if isinstance(v, int))
        return numbers if len(numbers) == len(found) else None

    def is_constant(self, at: int) -> bool:
        """Whether an input holds the same elements in every run."""
        return self.node.graph.held(self.input(at)) is not None

    def constant(self, at: int) -> Constant | None:
        """The bits of a constant input, mapped from the file where they are large; None when it is none."""
        return self.engine.constants.load(self.graph, self.input(at))

    def constant_of(self, name: str) -> Constant | None:
        """As `constant`, for a value by name."""
        return self.engine.constants.load(self.graph, name)

    def producer(self: V, at: int, *op_types: str) -> V | None:
        """The node that writes an input, if it is one of these operators of ai.onnx (any, when none is given).

        None for one that is faulty: nothing follows from it.
        """
        return self.writer(self.input(at), *op_types)

    def writer(self: V, name: str, *op_types: str) -> V | None:
        """As `producer`, for a value by name. None for a node of an outer graph: it can be read, not rewritten with."""
        found = self.graph.producer(name) if name else None
        if found is None or found[0].graph is not self.graph:
            return None
        node = found[0]
        if op_types and (node.domain or node.op_type not in op_types):
            return None
        site = self.at(node)
        return site if site.is_as_named and not site.is_faulty else None

    def position_of(self, name: str) -> int:
        """Which of the node's outputs a value is. Raises ValueError for another one."""
        return self.node.outputs.index(name)

    def siblings(self: V, at: int) -> list[V]:
        """The nodes of the same graph that read what input `at` reads, this one among them."""
        return self.readers_of(self.input(at))

    def readers_of(self: V, name: str) -> list[V]:
        """The nodes of the same graph that read a value."""
        self.engine.looked.append(name)
        readers = self.engine.draft.readers(self.graph, name)
        return [self.at(node) for node in readers if node.graph is self.graph]

    def is_only_reader(self, at: int) -> bool:
        """Whether nobody else needs what input `at` reads: it goes when this node does."""
        name = self.input(at)
        self.engine.looked.append(name)
        home = self.graph.home(name)
        if home is not self.graph or home.is_fixed(name) or self.node.inputs.count(name) != 1:
            return False
        readers = home.readers.get(name, {})
        return len(readers) == 1 and self.node in readers

    def repeats(self: V) -> Iterator[V]:
        """The nodes with the same operator and attributes that read the same values, as `Repeats.of` has them."""
        return (self.at(node) for node in self.engine.repeats.of(self.node))

    def twin(self, name: str) -> str | None:
        """Another constant that equals the constant `name` bit for bit, one that is to stay of the two."""
        home = self.graph.home(name)
        return None if home is None or name not in home.constants else self.engine.twins.first(home, name)

    def is_droppable(self, name: str) -> bool:
        """Whether a value is a constant that is no node, and goes when nobody reads it."""
        home = self.graph.home(name)
        return home is not None and name not in home.producers and self.engine.draft.is_droppable(home, name)

    def feeds(self, name: str, *op_types: str) -> bool:
        """Whether one of these operators, of any domain, reads a value."""
        self.engine.looked.append(name)
        return any(node.op_type in op_types for node in self.engine.draft.readers(self.graph, name))

    # what it writes

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names that it writes, "" for an output that is left out."""
        return tuple(self.node.outputs)

    def output(self, at: int = 0) -> str:
        return self.node.outputs[at] if at < len(self.node.outputs) else ""

    def result(self, at: int = 0) -> SymbolicTensor:
        """What is known of an output."""
        outputs = self.node.outputs
        return self.known(outputs[at]) if at < len(outputs) else UNKNOWN

    def is_needed(self, at: int = 0) -> bool:
        """Whether somebody reads an output."""
        name = self.output(at)
        self.engine.looked.append(name)
        return bool(name) and self.engine.draft.is_needed(self.graph, name)

    def readers(self: V, at: int = 0) -> list[V]:
        """The nodes that read an output, those in subgraphs too."""
        self.engine.looked.append(self.output(at))
        return [self.at(node) for node in self.engine.draft.readers(self.graph, self.output(at))]

    def is_graph_output(self, at: int = 0) -> bool:
        """Whether an output has to keep its name: it is one of the graph's, or something else refers to it."""
        return self.graph.is_fixed(self.output(at))

    # questions

    def equal(self, left: Dim, right: Dim) -> bool:
        """Whether two dims are equal in every run; False when that is not known."""
        return left is right or known_eq(left, right, self.engine.scope) is True

    def at_most(self, left: Dim, right: Dim) -> bool:
        """Whether `left <= right` in every run; False when that is not known."""
        return known_le(left, right, self.scope) is True

    def same_shape(self, left: Shape | None, right: Shape | None) -> bool:
        """Whether two shapes are equal in every run; False when that is not known."""
        return (
            left is not None
            and right is not None
            and len(left) == len(right)
            and all(self.equal(a, b) for a, b in zip(left, right, strict=True))
        )

    def is_within(self, at: int, lo: Dim, hi: Dim) -> bool:
        """Whether every element of an integer input is in `[lo, hi]` in every run; False when that is not known."""
        return self.is_from(at, lo) and self.is_up_to(at, hi)

    def is_from(self, at: int, lo: Dim) -> bool:
        """Whether no element of an integer input is below `lo` in any run; False when that is not known."""
        known, span = self.elements(at), self.fact(at).span
        if known is not None:
            return all(self.at_most(lo, v) for v in known)
        return span is not None and span.lo is not None and self.at_most(lo, span.lo)

    def is_up_to(self, at: int, hi: Dim) -> bool:
        """Whether no element of an integer input is above `hi` in any run; False when that is not known."""
        known, span = self.elements(at), self.fact(at).span
        if known is not None:
            return all(self.at_most(v, hi) for v in known)
        return span is not None and span.hi is not None and self.at_most(span.hi, hi)

    def count(self, fact: SymbolicTensor) -> int | None:
        """The number of elements of a tensor, None when it depends on the run."""
        found = 1
        for dim in fact.shape or ():
            if not isinstance(dim, int):
                return None
            found *= dim
        return None if fact.shape is None else found

    def nbytes(self, fact: SymbolicTensor) -> int | None:
        """The bytes of a tensor, None when they depend on the run or its type is not known."""
        count = self.count(fact)
        return None if count is None or fact.dtype is None else count * element_bytes(fact.dtype)

    # what it may be

    @property
    def is_faulty(self) -> bool:
        """Whether the inference has found an error at the node, or the node reads what nothing defines."""
        faulty, lacking = self.engine.faulty, self.engine.draft.lacking
        return (bool(faulty) and self.node.source in faulty) or (bool(lacking) and self.node in lacking)

    @property
    def is_left(self) -> bool:
        """Whether the node stays as it is: there is an error at it, or the model would not load any more."""
        kept = self.engine.kept
        return self.is_faulty or (bool(kept) and any(name in kept for name in self.node.outputs))

    @property
    def is_as_named(self) -> bool:
        """Whether the node is the operator that its name says, no function of the model, with attributes of its own."""
        node = self.node
        if node.graph.is_in_function and self.has_reference:
            return False
        subject = self.engine.draft.subject
        return not subject.has_functions or subject.is_ours(node.proto)

    @property
    def has_reference(self) -> bool:
        """Whether an attribute is that of the function around the node: it differs from call to call."""
        node = self.node
        return node.graph.is_in_function and any(a.ref_attr_name for a in node.proto.attribute)

    @property
    def rests_on_training(self) -> bool:
        """Whether constants of the model may be changed by its training graphs."""
        return self.engine.draft.subject.is_trained

    @property
    def has_free_initializers(self) -> bool:
        """Whether a constant of the graph can be an initializer that is no input."""
        return self.graph.path.root is Root.GRAPH and self.engine.draft.subject.has_free_initializers

    @property
    def max_growth(self) -> int:
        """Bytes by which a rewrite may let the constants grow."""
        return self.engine.max_growth

    @property
    def growth_limit(self) -> int:
        """Bytes that new constants can have at most, since those that the node reads may go.

        Large ones of a heavy model stay as they are: it is rewritten in the memory of its graph.
        """
        if self.engine.draft.subject.is_heavy:
            return self.max_growth
        freed = 0
        for at, name in enumerate(self.node.inputs):
            if name and self.is_constant(at) and self.is_only_reader(at):
                freed += self.nbytes(self.fact(at)) or 0
        return self.max_growth + freed


@cache
def _traits_of(domain: str, op_type: str, version: int) -> Traits | None:
    rules = standard_rules().get(domain)
    found = None if rules is None else rules.lookup(op_type, version)
    return None if found is None else found.traits


def _count(shape: Shape | None) -> int:
    """The number of elements, more than any where it is not known."""
    total = 1
    for dim in shape or ():
        total *= dim if isinstance(dim, int) else _MAX_READ + 1
    return total if shape is not None else _MAX_READ + 1
