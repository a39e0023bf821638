"""What a rule sees and how it is found.

A rule is a pure function `OpCall -> list of output facts`. It raises `SpecViolation` when its node breaks the
operator's specification; the walk adds where. Rule sets are values: users pass theirs to `infer(model, rules=[...])`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

from gather_infer.access import Addressing
from gather_infer.context import Context, Stated
from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation
from gather_infer.record import Cause
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_le
from gather_infer.tensor import SymbolicTensor, Value

if TYPE_CHECKING:
    import numpy as np


Attribute: TypeAlias = "int | float | str | SymbolicTensor | tuple[Any, ...] | object"


@dataclass(frozen=True, slots=True)
class OpCall:
    """One node as a rule sees it.

    inputs   a fact per input; None for an input that is left out. A known-unknown tensor is `SymbolicTensor()`
    outputs  for each output whether somebody may use it; a rule returns one fact per output, in order
    version  the opset version in force for the domain
    """

    op_type: str
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    outputs: Sequence[bool] = (True,)
    version: int = 1
    domain: str = ""
    context: Context = field(default_factory=Context)
    load: Callable[[int], np.ndarray[Any, Any] | None] | None = None

    @overload
    def attr(self, name: str) -> Any: ...
    @overload
    def attr(self, name: str, default: Any) -> Any: ...
    def attr(self, name: str, default: Any = None) -> Any:
        """The attribute's value: int, float, str, SymbolicTensor, or a tuple of those; `default` when it is absent."""
        return self.attributes.get(name, default)

    def has(self, index: int) -> bool:
        """True when input `index` is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int) -> Value | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def tensor(self, index: int) -> SymbolicTensor:
        """Input `index` as a dense tensor.

        Raises SpecViolation when the input is missing or is a sequence, an optional, a map or sparse.
        """
        value = self.input(index)
        if value is None:
            raise SpecViolation(f"input {index} is missing", "GI107")
        if not isinstance(value, SymbolicTensor):
            raise SpecViolation(f"input {index} must be a tensor, is {value}", "GI211")
        return value

    def optional_tensor(self, index: int) -> SymbolicTensor | None:
        """As `tensor`, but None when the input is left out."""
        return self.tensor(index) if self.has(index) else None

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """The numbers of an integer input that is a constant of the model, read from the file on demand; else None."""
        self.context.record.note_effect()  # what the constant holds is not among the facts of the input
        return self.load(index) if self.load is not None else None

    @property
    def scope(self) -> Scope:
        return self.context.scope

    def fresh(self, reason: str) -> Expr:
        """See Context.fresh."""
        return self.context.fresh(reason)

    def derived(self, operation: str, *operands: object, reason: str, equals: Dim | None = None) -> Expr:
        """See Context.derived."""
        return self.context.derived(operation, *operands, reason=reason, equals=equals)

    def imply(self, dim: Dim) -> None:
        """Learn `dim >= 0`, and record that this node demands it; see Context.imply."""
        if isinstance(dim, Expr) and known_le(0, dim, self.scope) is None:
            self.context.demand((0, "<=", dim))
        self.context.imply(dim)

    def learn(self, dim: Dim) -> None:
        """Learn `dim >= 0`, which no run fails to meet: NonZero does not find more elements than there are."""
        self.context.imply(dim)

    def require(self, *any_of: Stated, otherwise: str | Callable[[], str], code: str = "GI210") -> None:
        """See Context.require."""
        self.context.require(*any_of, otherwise=otherwise, code=code)

    def refuse(self, *any_of: Stated) -> None:
        """See Context.refuse."""
        self.context.refuse(*any_of)

    def unenforced(self) -> AbstractContextManager[None]:
        """See Context.unenforced."""
        return self.context.unenforced()

    def leave_open(self, reason: str) -> None:
        """See Context.leave_open."""
        self.context.leave_open(reason)

    def demand(self, *any_of: Stated) -> None:
        """See Context.demand."""
        self.context.demand(*any_of)

    def constrain(self, left: Dim, relation: str, right: Dim) -> None:
        """See Context.constrain."""
        self.context.constrain(left, relation, right)

    def require_equal(self, left: Dim, right: Dim, what: str, *, code: str = "GI212") -> Dim:
        """See Context.require_equal."""
        return self.context.require_equal(left, right, what, code=code)

    def assume(self, dim: Dim, least: int, reason: str) -> bool:
        """See Context.assume."""
        return self.context.assume(dim, least, reason)

    def assume_at_most(self, dim: Dim, most: int, reason: str) -> bool:
        """See Context.assume_at_most."""
        return self.context.assume_at_most(dim, most, reason)

    def derivation(self, name: str) -> tuple[Any, ...] | None:
        """See Context.derivation."""
        return self.context.derivation(name)

    def cause(self, name: str) -> Cause | None:
        """Why there is a generated symbol of this name; None for a symbol of the model."""
        return self.context.causes.get(name)

    def check_operands(self, traits: Traits) -> None:
        """Leave open what the node demands of operands whose elements are not known, and of sizes beyond its rule."""
        for index, clause in traits.operands.items():
            value = self.input(index)
            if value is None or (isinstance(value, SymbolicTensor) and _is_known(value, index in traits.dims)):
                continue
            if self.load is None or self.load(index) is None:
                self.leave_open(f"input {index} of {self.op_type} is known in a run only: {clause}")
        for index in sorted(traits.unstated):
            value = self.input(index)
            if isinstance(value, SymbolicTensor) and (value.shape is None or any(map(free_symbols, value.shape))):
                self.leave_open(f"not all that {self.op_type} demands of the sizes of input {index} is known: {value}")

    def address(self, *axes: Addressing) -> None:
        """Say which axes the node addresses by index; a verdict on each is given from the facts before this node.

        The rule declares the index input: `rule(..., addresses={1: 0})`.
        """
        self.context.addressed += axes

    def report(self, code: str, message: str, *detail: str, severity: Severity | None = None) -> None:
        """Add a finding about this node and go on; for what is no reason to give up its outputs."""
        self.context.report(code, message, detail, severity)


def _is_known(operand: SymbolicTensor, may_be_dims: bool) -> bool:
    """Whether every element is a number, or a dim where these will do."""
    if operand.values is None:
        return operand.shape is not None and any(isinstance(dim, int) and dim == 0 for dim in operand.shape)
    return all(
        element is not None and (may_be_dims or not isinstance(element, Expr)) for element in operand.values.flat
    )


_Macs = TypeVar("_Macs", bound=Callable[[Any], Dim])

Rule: TypeAlias = Callable[[OpCall], "list[SymbolicTensor] | list[Value] | list[Value | None]"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What is true of an operator, whatever its inputs are, beside what its rule says of a call.

    addresses      the inputs that hold indices, each with the input whose axes they address: {1: 0} of Gather
    checks_types   the rule itself says which element types are not allowed, under its own codes; else the schema does
    moves          each element of output 0 is an element of this input, as it is. Some of the input may be missing, or
                   stand there several times; other inputs and attributes only say which, and where
    permutes       with `moves`: each element of that input is in output 0 exactly once
    gathers        output 0 holds what the indices point at, be it dequantized or masked: it is of the gather family
    tells_dims     the elements of output 0 are dims of input 0 or their product, and nothing can fail
    deterministic  the same inputs give the same outputs, at another node and in another run too
    operands       the inputs of whose elements the node demands something, and what: {1: "each is an axis"}. Where an
                   element is known neither as a number nor as a dim that the rule itself judges, that is open in the
                   contract
    dims           those of them of which the rule judges elements that are dims
    unstated       the inputs of whose sizes the node demands more than the rule says: where one is no number, that is
                   open in the contract

    Raises ValueError for `permutes` without `moves`, and `gathers` without `addresses`.
    """

    addresses: Mapping[int, int] = field(default_factory=dict)
    checks_types: bool = False
    moves: int | None = None
    permutes: bool = False
    gathers: bool = False
    tells_dims: bool = False
    deterministic: bool = True
    operands: Mapping[int, str] = field(default_factory=dict)
    dims: frozenset[int] = frozenset()
    unstated: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.permutes and self.moves is None:
            raise ValueError("what permutes elements moves them: give moves= too")
        if self.gathers and not self.addresses:
            raise ValueError("what gathers addresses by index: give addresses= too")
        if not self.dims <= self.operands.keys():
            raise ValueError("inputs whose dims are judged are operands: give operands= too")


NO_TRAITS: Final = Traits()


@dataclass(frozen=True, slots=True)
class Registered:
    """A rule, the version since which it holds, and the traits of the operator since then."""

    since: int
    rule: Rule
    traits: Traits = NO_TRAITS


@dataclass(frozen=True, slots=True)
class Counted:
    """How many multiply-adds an operator takes.

    text     for people, in the letters of the operator's page
    source   where that is, or empty
    macs     the same as a function of a `gather_infer.cost.Work`
    """

    text: str
    source: str
    macs: Callable[[Any], Dim]


class RuleSet:
    """The rules of one domain; one rule per behaviour change, found by the newest `since <= version`."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self._rules: dict[str, list[Registered]] = {}
        self._counted: dict[str, Counted] = {}

    def rule(
        self,
        op_type: str,
        *,
        since: int = 1,
        addresses: Mapping[int, int] | None = None,
        checks_types: bool = False,
        moves: int | None = None,
        permutes: bool = False,
        gathers: bool = False,
        tells_dims: bool = False,
        deterministic: bool = True,
        operands: Mapping[int, str] | None = None,
        dims: Iterable[int] = (),
        unstated: Iterable[int] = (),
    ) -> Callable[[Rule], Rule]:
        """Decorator: the function is the rule of `op_type` from version `since` on; for the rest see `Traits`."""
        traits = Traits(
            addresses or {}, checks_types, moves, permutes, gathers, tells_dims, deterministic, operands or {},
            frozenset(dims), frozenset(unstated),
        )  # fmt: skip

        def add(function: Rule) -> Rule:
            self._add(op_type, Registered(since, function, traits))
            return function

        return add

    def macs(self, op_type: str, *, text: str, source: str = "") -> Callable[[_Macs], _Macs]:
        """Decorator: the function counts the multiply-adds of `op_type`; `text` says the same to people.

        It is given a `gather_infer.cost.Work` and returns a number or an expression.
        """

        def add(function: _Macs) -> _Macs:
            self._count(op_type, Counted(text, source, function))
            return function

        return add

    def _count(self, op_type: str, counted: Counted) -> None:
        if op_type in self._counted:
            raise ValueError(f"the multiply-adds of {self.domain or 'ai.onnx'} {op_type} are counted twice")
        self._counted[op_type] = counted

    def counted(self, op_type: str) -> Counted | None:
        """How the multiply-adds of an operator are counted; None where this set does not say it."""
        return self._counted.get(op_type)

    def _add(self, op_type: str, entry: Registered) -> None:
        versions = self._rules.setdefault(op_type, [])
        if any(known.since == entry.since for known in versions):
            raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two rules since {entry.since}")
        versions.append(entry)
        versions.sort(key=lambda known: -known.since)

    def lookup(self, op_type: str, version: int) -> Registered | None:
        """The rule in force at `version` with its traits, or None."""
        return next((entry for entry in self._rules.get(op_type, ()) if entry.since <= version), None)

    def versions(self, op_type: str) -> Sequence[Registered]:
        """Every rule of an operator, the newest first."""
        return tuple(self._rules.get(op_type, ()))

    def find(self, op_type: str, version: int) -> Rule | None:
        """The rule in force at `version`, or None."""
        found = self.lookup(op_type, version)
        return None if found is None else found.rule

    def entries(self) -> list[tuple[str, int, Rule]]:
        """Every (op_type, since, rule), sorted."""
        return sorted(
            ((op, entry.since, entry.rule) for op, versions in self._rules.items() for entry in versions),
            key=lambda entry: entry[:2],
        )

    def update(self, other: RuleSet) -> None:
        """Take over the rules of another set of the same domain; raises ValueError when one is defined twice."""
        for op_type, versions in other._rules.items():
            for entry in versions:
                self._add(op_type, entry)
        for op_type, counted in other._counted.items():
            self._count(op_type, counted)
