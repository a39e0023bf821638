"""What a rewriting rule sees: a node, what is known of what it reads and writes, its neighbours, what it may build."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, NodeProto, TensorProto, defs, helper

from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation, UsageError
from gather_infer.ops import standard_rules
from gather_infer.passes.draft import Draft, Graph, Node
from gather_infer.passes.evaluate import Evaluator, evaluator_of
from gather_infer.passes.evaluate.constant import Constant, from_integers
from gather_infer.passes.rewrite import Rewrite
from gather_infer.passes.twins import Repeats, Twins
from gather_infer.places import GraphPath, Root
from gather_infer.rules import Traits
from gather_infer.symbolic import Dim, Expr, Scope, known_eq, known_le
from gather_infer.tensor import DType, Shape, SymbolicTensor, Value, element_bytes

T = TypeVar("T")

_MAX_READ: Final = 1 << 16
"""Elements of an integer constant that a rule may look at one by one."""


class Unavailable(Exception):
    """The opset version of the model has no such operator, or no such constant; the rewrite is not made."""


class Surroundings(Protocol):
    """What a site asks of the engine."""

    draft: Draft
    max_growth: int
    faulty: frozenset[tuple[GraphPath, int]]

    repeats: Repeats

    @property
    def scope(self) -> Scope:
        """What is known of dims."""

    @property
    def twins(self) -> Twins:
        """Constants that are there twice."""

    def ask(self, node: Node) -> None:
        """Have the rules asked about a node once more."""

    def remembered(self, key: object, make: Callable[[], T]) -> T:
        """What `make` finds about the draft, until something is rewritten."""

    def fresh(self, base: str) -> str:
        """A name that is new to the model."""

    def load(self, graph: Graph, name: str) -> Constant | None:
        """The bits of a constant; None when the name stands for none."""

    def note(self, site: Site, code: str, text: str, detail: tuple[str, ...] = ()) -> None:
        """Say once why a node was left alone."""

    def constant(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a constant of the graph that is the same bit for bit, or of a new one, added to `made`."""

    def own_constant(self, graph: Graph, constant: Constant, base: str, made: dict[str, Constant]) -> str:
        """The name of a new constant, added to `made`."""


@dataclass(slots=True, eq=False)
class Site:
    """A node with its surroundings.

    A value is known by the name that it has at the node. Facts hold in every run in which the model does not fail.
    """

    engine: Surroundings
    node: Node
    _nodes: list[NodeProto] = field(default_factory=list)
    _constants: dict[str, Constant] = field(default_factory=dict)

    @property
    def has_built(self) -> bool:
        """Whether a rule has made nodes or constants here."""
        return bool(self._nodes or self._constants)

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
        return self.engine.remembered("spare gathers", lambda: self.engine.draft.spare_gathers > 0)

    @property
    def traits(self) -> Traits | None:
        """Those of the operator; None when the package has no rule for it."""
        rules = standard_rules().get(self.domain)
        found = None if rules is None else rules.lookup(self.op_type, self.version)
        return None if found is None else found.traits

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

    def same_attributes(self, other: Site) -> bool:
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
        return self.known(self.input(at))

    def known(self, name: str) -> SymbolicTensor:
        """What is known of a value that the node could read."""
        found = self.value(name)
        return found if isinstance(found, SymbolicTensor) else SymbolicTensor()

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
        return self.graph.held(self.input(at)) is not None

    def constant(self, at: int) -> Constant | None:
        """The bits of a constant input, mapped from the file where they are large; None when it is none."""
        return self.engine.load(self.graph, self.input(at))

    def constant_of(self, name: str) -> Constant | None:
        """As `constant`, for a value by name."""
        return self.engine.load(self.graph, name)

    def producer(self, at: int, *op_types: str) -> Site | None:
        """The node that writes an input, if it is one of these operators of ai.onnx (any, when none is given)."""
        return self.writer(self.input(at), *op_types)

    def writer(self, name: str, *op_types: str) -> Site | None:
        """As `producer`, for a value by name. None for a node of an outer graph: it can be read, not rewritten with."""
        found = self.graph.producer(name) if name else None
        if found is None or found[0].graph is not self.graph:
            return None
        node = found[0]
        if op_types and (node.domain or node.op_type not in op_types):
            return None
        site = Site(self.engine, node)
        return None if site.has_reference or not self.engine.draft.subject.is_ours(node.proto) else site

    def position_of(self, name: str) -> int:
        """Which of the node's outputs a value is. Raises ValueError for another one."""
        return self.node.outputs.index(name)

    def siblings(self, at: int) -> list[Site]:
        """The nodes of the same graph that read what input `at` reads, this one among them."""
        return self.readers_of(self.input(at))

    def readers_of(self, name: str) -> list[Site]:
        """The nodes of the same graph that read a value."""
        readers = self.engine.draft.readers(self.graph, name)
        return [Site(self.engine, node) for node in readers if node.graph is self.graph]

    def is_only_reader(self, at: int) -> bool:
        """Whether nobody else needs what input `at` reads: it goes when this node does."""
        name = self.input(at)
        home = self.graph.home(name)
        if home is not self.graph or home.is_fixed(name) or self.node.inputs.count(name) != 1:
            return False
        readers = home.readers.get(name, {})
        return len(readers) == 1 and self.node in readers

    def repeats(self) -> list[Site]:
        """The nodes of the same operator with the same attributes that read values of the same names."""
        return [Site(self.engine, node) for node in self.engine.repeats.of(self.node)]

    def reads_as(self, other: Site) -> bool:
        """Whether both nodes read the same values: equal names could mean others in another graph."""
        return self.inputs == other.inputs and all(
            self.graph.home(name) is other.graph.home(name) for name in self.inputs if name
        )

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
        return self.known(self.output(at))

    def is_needed(self, at: int = 0) -> bool:
        """Whether somebody reads an output."""
        name = self.output(at)
        return bool(name) and self.engine.draft.is_needed(self.graph, name)

    def readers(self, at: int = 0) -> list[Site]:
        """The nodes that read an output, those in subgraphs too."""
        return [Site(self.engine, node) for node in self.engine.draft.readers(self.graph, self.output(at))]

    def is_graph_output(self, at: int = 0) -> bool:
        """Whether an output has to keep its name: it is one of the graph's, or something else refers to it."""
        return self.graph.is_fixed(self.output(at))

    # questions

    def equal(self, left: Dim, right: Dim) -> bool:
        """Whether two dims are equal in every run; False when that is not known."""
        return known_eq(left, right, self.scope) is True

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
        """Whether the inference has found an error at the node."""
        return bool(self.engine.faulty) and self.node.source in self.engine.faulty

    @property
    def has_reference(self) -> bool:
        """Whether an attribute is that of the function around the node: it differs from call to call."""
        return self.graph.path.root is Root.FUNCTION and any(a.ref_attr_name for a in self.node.proto.attribute)

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
        """Bytes that new constants can have at most, since those that the node reads may go."""
        freed = 0
        for at, name in enumerate(self.node.inputs):
            if name and self.is_constant(at) and self.is_only_reader(at):
                freed += self.nbytes(self.fact(at)) or 0
        return self.max_growth + freed

    def ask_again(self) -> None:
        """Have the rules asked about the node once more: something that they look at has changed."""
        self.engine.ask(self.node)

    def evaluator(self) -> Evaluator | None:
        """What evaluates the operator on constants; None when nothing does."""
        return evaluator_of(self.domain, self.op_type, self.version)

    def leave(self, why: str) -> None:
        """Tell the user why the node stays as it is."""
        self.engine.note(self, "GI401", f"not folded: {why}")

    def report(self, violation: SpecViolation) -> None:
        """Tell the user that the node fails in every run."""
        self.engine.note(self, violation.code, violation.message, violation.detail)

    def folded(self, law: str, results: Sequence[Constant], *, needed_only: bool = False) -> Rewrite:
        """A rewrite in which these constants take the place of the outputs. Raises Unavailable."""
        names = []
        for at, result in enumerate(results):
            if not self.output(at) or (needed_only and not self.is_needed(at)):
                names.append("")
            elif self.is_graph_output(at):
                names.append(self.engine.own_constant(self.graph, result, self.output(at), self._constants))
            else:
                names.append(self.add_constant(result, self.output(at)))
        return self.keeps(law, *names, *[""] * (len(self.node.outputs) - len(names)))

    # what takes its place

    def keeps(self, law: str, *values: str) -> Rewrite:
        """A rewrite in which these take the place of the node's outputs, in order; "" for one that nobody reads.

        The values are some that the node could read, or come from `new` and the other makers of nodes.
        """
        if len(values) != len(self.node.outputs):
            raise UsageError(f"{len(values)} values for the {len(self.node.outputs)} outputs of {self.op_type}")
        pairs = zip(self.node.outputs, values, strict=True)
        made = {old: new for old, new in pairs if old and new}
        return Rewrite(law=law, values=made, nodes=tuple(self._nodes), constants=dict(self._constants))

    def keeps_all(self, law: str, values: Mapping[str, str]) -> Rewrite:
        """As `keeps`, for outputs of several nodes of the graph, of this one among them, by name.

        New nodes stand in for all of them, and read nothing that comes from one of them.
        """
        others = frozenset(values.keys() - set(self.node.outputs))
        made = dict(values)
        return Rewrite(law=law, values=made, siblings=others, nodes=tuple(self._nodes), constants=dict(self._constants))

    def body(self, name: str) -> Graph | None:
        """The graph that an attribute holds."""
        at = next((i for i, a in enumerate(self.node.proto.attribute) if a.name == name), None)
        return next((body for body in self.node.bodies if body.path.steps[-1].attribute == at), None)

    def inlined(self, law: str, body: Graph, values: Sequence[str], bound: Mapping[str, str]) -> Rewrite:
        """A rewrite in which the nodes of a graph of the node take its place.

        values   of the body, or new ones, that take the place of the node's outputs, in order
        bound    input of the body -> the value of the graph around, or new one, that takes its place
        """
        made = {old: new for old, new in zip(self.node.outputs, values, strict=True) if old and new}
        return Rewrite(
            law=law, values=made, body=body, bound=bound, nodes=tuple(self._nodes), constants=dict(self._constants)
        )

    def new(self, op_type: str, inputs: Sequence[str], *, domain: str = "", **attributes: Any) -> str:
        """A new node with one output, which is returned; attributes that are None are left out."""
        return self.new_outputs(op_type, inputs, 1, domain=domain, **attributes)[0]

    def new_outputs(
        self, op_type: str, inputs: Sequence[str], count: int, *, domain: str = "", **attributes: Any
    ) -> list[str]:
        """As `new`, for a node with several outputs. Raises Unavailable where the model has no such operator."""
        domain = plain_domain(domain)
        version = self.graph.versions.get(domain, 0)
        if not version or (not domain and not defs.has(op_type, version, domain)):
            raise Unavailable
        base = self.output() or op_type
        made = [self.engine.fresh(f"{base}_{op_type}") for _ in range(count)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self._nodes.append(helper.make_node(op_type, list(inputs), made, domain=domain or None, **given))
        return made

    def copy(self, node: Site, inputs: Sequence[str]) -> list[str]:
        """A new node like another one, attributes and all, that reads these; its outputs."""
        proto = NodeProto()
        proto.CopyFrom(node.node.proto)
        base = self.output() or node.op_type
        made = [self.engine.fresh(f"{base}_{node.op_type}") if name else "" for name in node.node.outputs]
        del proto.input[:]
        del proto.output[:]
        proto.input.extend(inputs)
        proto.output.extend(made)
        self._nodes.append(proto)
        return made

    def add_constant(self, constant: Constant, base: str = "") -> str:
        """A new constant, or one of the model that is the same, bit for bit.

        Raises Unavailable where the model may get none of its type.
        """
        return self.engine.constant(self.graph, constant, base or self.output() or self.op_type, self._constants)

    def vector(self, elements: Iterable[int], dtype: int = TensorProto.INT64) -> str:
        """A constant integer tensor of rank 1. Raises Unavailable."""
        values = np.array(list(elements), dtype=object).reshape(-1)
        return self.add_constant(from_integers(dtype, values))

    def scalar(self, element: int, dtype: int = TensorProto.INT64) -> str:
        """A constant integer of rank 0. Raises Unavailable."""
        values = np.empty((), dtype=object)
        values[()] = element
        return self.add_constant(from_integers(dtype, values))

    def squeeze(self, data: str, axes: Sequence[int]) -> str:
        """A new Squeeze, as the opset version of the model has it."""
        if self.opset < 13:
            return self.new("Squeeze", [data], axes=list(axes))
        return self.new("Squeeze", [data, self.vector(axes)])

    def unsqueeze(self, data: str, axes: Sequence[int]) -> str:
        """A new Unsqueeze, as the opset version of the model has it."""
        if self.opset < 13:
            return self.new("Unsqueeze", [data], axes=list(axes))
        return self.new("Unsqueeze", [data, self.vector(axes)])

    def slice(
        self, data: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] = ()
    ) -> str:
        """A new Slice, as the opset version of the model has it. Raises Unavailable for steps before version 10."""
        plain = all(step == 1 for step in steps)
        if self.opset < 10:
            if not plain:
                raise Unavailable
            return self.new("Slice", [data], starts=list(starts), ends=list(ends), axes=list(axes))
        given = [data, self.vector(starts), self.vector(ends), self.vector(axes)]
        return self.new("Slice", given if plain else [*given, self.vector(steps)])

    def reshape(self, data: str, target: Sequence[int]) -> str:
        """A new Reshape to a constant target, in which 0 copies a dim. Raises Unavailable before version 5."""
        if self.opset < 5:
            raise Unavailable
        return self.new("Reshape", [data, self.vector(target)])


def _count(shape: Shape | None) -> int:
    """The number of elements, more than any where it is not known."""
    total = 1
    for dim in shape or ():
        total *= dim if isinstance(dim, int) else _MAX_READ + 1
    return total if shape is not None else _MAX_READ + 1
