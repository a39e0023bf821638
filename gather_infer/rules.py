"""Rules, their view of a node (`OpCall`), and their registry (`RuleSet`).

A rule is a function `OpCall -> list of output facts`, the transfer function of an operator. It raises `SpecViolation`
when its node breaks the operator's specification; the interpreter adds the location. Users pass their own rule sets to
`infer(model, rules=[...])`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from gather_infer.access import Addressing
from gather_infer.context import Context, Relation
from gather_infer.diagnostic import CODES, Severity
from gather_infer.node_facts import NodeFacts
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_le
from gather_infer.tensor import SymbolicTensor, Value
from gather_infer.trail import Cause
from gather_infer.versioned import VersionedTable

if TYPE_CHECKING:
    import numpy as np


Attribute: TypeAlias = "int | float | str | SymbolicTensor | tuple[Any, ...] | object"


@dataclass(frozen=True, slots=True)
class OpCall(NodeFacts):
    """One node as a rule sees it.

    inputs      a fact per input; None for an omitted input, `SymbolicTensor()` if nothing is known about an input
    attributes  values by name, as `attr` returns them
    outputs     whether each output is used; a rule returns one fact per output, in order
    version     the opset version in force for `domain`
    load        position of an input -> elements of that constant input; see `array`
    """

    op_type: str
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    outputs: Sequence[bool] = (True,)
    version: int = 1
    domain: str = ""
    context: Context = field(default_factory=Context)
    load: Callable[[int], np.ndarray[Any, Any] | None] | None = None

    def attr(self, name: str, default: Any = None) -> Any:
        """The value of attribute `name` (int, float, str, SymbolicTensor, or a tuple of these); `default` if absent."""
        return self.attributes.get(name, default)

    def value(self, index: int) -> Value | None:
        """The fact about input `index`, of any kind; None if the input is omitted."""
        return self.inputs[index] if index < len(self.inputs) else None

    def array(self, index: int) -> np.ndarray[Any, Any] | None:
        """The elements of input `index` if it is an integer constant of the model, read from the file; else None."""
        self.context.trail.note_effect()  # the elements are not part of the input's fact, which is the cache key
        return self.load(index) if self.load is not None else None

    @property
    def scope(self) -> Scope:
        return self.context.scope

    def fresh(self, reason: str, *, determined_by: tuple[object, ...] = ()) -> Expr:
        """See Context.fresh."""
        return self.context.fresh(reason, determined_by=determined_by)

    def derived(self, operation: str, *operands: object, reason: str, equals: Dim | None = None) -> Expr:
        """See Context.derived."""
        return self.context.derived(operation, *operands, reason=reason, equals=equals)

    def add_implied_fact(self, dim: Dim) -> None:
        """Add the fact `dim >= 0` and record that this node implies it; see Context.add_implied_fact."""
        if isinstance(dim, Expr) and known_le(0, dim, self.scope) is None:
            self.context.add_implied_constraint((0, "<=", dim))
        self.context.add_implied_fact(dim)

    def add_fact(self, dim: Dim) -> None:
        """Add the fact `dim >= 0`, which the operator guarantees in every run (NonZero finds at most all elements)."""
        self.context.add_implied_fact(dim)

    def require(self, *any_of: Relation, otherwise: str | Callable[[], str], code: str = "GI210") -> None:
        """See Context.require."""
        self.context.require(*any_of, otherwise=otherwise, code=code)

    def add_runtime_constraint(self, *any_of: Relation) -> None:
        """See Context.add_runtime_constraint."""
        self.context.add_runtime_constraint(*any_of)

    def unenforced(self) -> AbstractContextManager[None]:
        """See Context.unenforced."""
        return self.context.unenforced()

    def add_unchecked(self, reason: str) -> None:
        """See Context.add_unchecked."""
        self.context.add_unchecked(reason)

    def add_implied_constraint(self, *any_of: Relation) -> None:
        """See Context.add_implied_constraint."""
        self.context.add_implied_constraint(*any_of)

    def add_constraint(self, left: Dim, relation: str, right: Dim) -> None:
        """See Context.add_constraint."""
        self.context.add_constraint(left, relation, right)

    def require_equal(self, left: Dim, right: Dim, what: str, *, code: str = "GI212") -> Dim:
        """See Context.require_equal."""
        return self.context.require_equal(left, right, what, code=code)

    def assume(self, dim: Dim, lower: int, reason: str) -> bool:
        """See Context.assume."""
        return self.context.assume(dim, lower, reason)

    def assume_at_most(self, dim: Dim, upper: int, reason: str) -> bool:
        """See Context.assume_at_most."""
        return self.context.assume_at_most(dim, upper, reason)

    def derivation(self, name: str) -> tuple[Any, ...] | None:
        """See Context.derivation."""
        return self.context.derivation(name)

    def cause(self, name: str) -> Cause | None:
        """Why the generated symbol `name` exists; None for a symbol that the model declares."""
        return self.context.causes.get(name)

    def check_operands(self, traits: Traits) -> None:
        """Record as unchecked the requirements of `traits` that the rule cannot check for this node.

        They concern elements that are not known, and sizes in `unchecked_sizes` that are not numbers.
        """
        for index, clause in traits.operands.items():
            value = self.value(index)
            if value is None or (isinstance(value, SymbolicTensor) and _is_known(value, index in traits.dims)):
                continue
            if self.load is None or self.load(index) is None:
                self.add_unchecked(f"input {index} of {self.op_type} is known only at run time: {clause}")
        for index in sorted(traits.unchecked_sizes):
            value = self.value(index)
            if isinstance(value, SymbolicTensor) and (value.shape is None or any(map(free_symbols, value.shape))):
                self.add_unchecked(
                    f"some requirements of {self.op_type} on sizes of input {index} are unknown: {value}"
                )

    def address(self, *axes: Addressing) -> None:
        """Declare the axes that the node addresses by index; bounds checks use the facts known before the node runs.

        The rule must be registered with its index inputs: `rule(..., addresses={1: 0})`.
        """
        self.context.addressed += axes

    def report(self, code: str, message: str, *detail: str, severity: Severity | None = None) -> None:
        """Add a finding about this node, for a problem that leaves its outputs valid, unlike a SpecViolation."""
        if code not in CODES:
            raise ValueError(f"unknown code {code}")
        self.context.report(code, message, detail, severity)


def _is_known(operand: SymbolicTensor, may_be_dims: bool) -> bool:
    """Whether every element of `operand` is known: a number, or, if `may_be_dims`, a symbolic dim."""
    if operand.values is None:
        return operand.shape is not None and any(isinstance(dim, int) and dim == 0 for dim in operand.shape)
    return all(
        element is not None and (may_be_dims or not isinstance(element, Expr)) for element in operand.values.flat
    )


_Macs = TypeVar("_Macs", bound=Callable[[Any], Dim])

Rule: TypeAlias = Callable[[OpCall], "list[SymbolicTensor] | list[Value] | list[Value | None]"]


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of an operator that hold for all inputs, in addition to its rule.

    addresses        index input -> the input whose axes its elements address: {1: 0} for Gather
    checks_types     the rule checks element types, with its own codes; otherwise they are checked by the schema
    moves            position of the input whose unchanged elements make up output 0. Elements may be dropped or
                     repeated; other inputs and attributes only select and place them. None if there is no such input
    permutes         with `moves`: each element of the moved input is in output 0 exactly once
    gathers          output 0 holds the addressed elements, possibly dequantized or masked: the operator is of the
                     Gather family
    outputs_dims     the elements of output 0 are dims of input 0 or their product, and the node cannot fail
    deterministic    equal inputs give equal outputs, across nodes and across runs
    idempotent       op(op(x)) == op(x), bit for bit, for an operator of one input; op(x, x) == x for one of several
                     operands, except that it may make a signalling NaN quiet
    involutive       op(op(x)) == x, bit for bit
    operands         input -> text of a requirement on its elements: {1: "each is an axis"}. If an element is neither a
                     number nor a dim that the rule checks, the contract lists the requirement as unchecked
    dims             the inputs in `operands` for which the rule also checks elements that are symbolic dims
    unchecked_sizes  inputs whose sizes have to meet requirements that the rule does not check; the contract lists them
                     as unchecked unless the sizes are numbers

    Raises ValueError for `permutes` without `moves`, `gathers` without `addresses`, or a position in `dims` that is not
    in `operands`.
    """

    addresses: Mapping[int, int] = field(default_factory=dict)
    checks_types: bool = False
    moves: int | None = None
    permutes: bool = False
    gathers: bool = False
    outputs_dims: bool = False
    deterministic: bool = True
    operands: Mapping[int, str] = field(default_factory=dict)
    dims: frozenset[int] = frozenset()
    unchecked_sizes: frozenset[int] = frozenset()
    idempotent: bool = False
    involutive: bool = False

    def __post_init__(self) -> None:
        if self.permutes and self.moves is None:
            raise ValueError("permutes requires moves=")
        if self.gathers and not self.addresses:
            raise ValueError("gathers requires addresses=")
        if not self.dims <= self.operands.keys():
            raise ValueError("dims requires operands= for the same inputs")


NO_TRAITS: Final = Traits()


class RegisteredRule(NamedTuple):
    """A rule with the traits of its operator; both apply from opset version `since` on."""

    since: int
    rule: Rule
    traits: Traits = NO_TRAITS


class MacsFormula(NamedTuple):
    """Formula for the number of multiply-adds (MACs) of an operator.

    text     the formula for printing, in the letters of the operator's specification
    source   reference for the formula; may be empty
    macs     the formula as a function of a `gather_infer.cost.Work`
    """

    text: str
    source: str
    macs: Callable[[Any], Dim]


class RuleSet(VersionedTable[RegisteredRule]):
    """The rules of one domain, by operator and first opset version; also its multiply-add formulas.

    A lookup at an opset version returns the newest rule with `since <= version`, with its traits.
    """

    def __init__(self, domain: str) -> None:
        super().__init__(domain, "rules")
        self._macs_formulas: dict[str, MacsFormula] = {}

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
        outputs_dims: bool = False,
        deterministic: bool = True,
        operands: Mapping[int, str] | None = None,
        dims: Iterable[int] = (),
        unchecked_sizes: Iterable[int] = (),
        idempotent: bool = False,
        involutive: bool = False,
    ) -> Callable[[Rule], Rule]:
        """Decorator that registers the rule of `op_type` from version `since` on; see Traits for other arguments."""
        traits = Traits(
            addresses or {}, checks_types, moves, permutes, gathers, outputs_dims, deterministic, operands or {},
            frozenset(dims), frozenset(unchecked_sizes), idempotent, involutive,
        )  # fmt: skip

        def add(function: Rule) -> Rule:
            self._add(op_type, RegisteredRule(since, function, traits))
            return function

        return add

    def macs(self, op_type: str, *, text: str, source: str = "") -> Callable[[_Macs], _Macs]:
        """Decorator that registers a function that counts the multiply-adds of `op_type`; see MacsFormula.

        The function receives a `gather_infer.cost.Work` and returns a number or an expression.
        """

        def add(function: _Macs) -> _Macs:
            self._add_macs(op_type, MacsFormula(text, source, function))
            return function

        return add

    def _add_macs(self, op_type: str, formula: MacsFormula) -> None:
        if op_type in self._macs_formulas:
            raise ValueError(f"the multiply-adds of {self.domain or 'ai.onnx'} {op_type} are counted twice")
        self._macs_formulas[op_type] = formula

    def macs_formula(self, op_type: str) -> MacsFormula | None:
        """The multiply-add formula of `op_type`; None if this set has none."""
        return self._macs_formulas.get(op_type)

    def find(self, op_type: str, version: int) -> Rule | None:
        """As `lookup`, without the traits."""
        found = self.lookup(op_type, version)
        return None if found is None else found.rule

    @property
    def formula_op_types(self) -> Collection[str]:
        """The operators that have a multiply-add formula."""
        return self._macs_formulas.keys()

    def entries(self) -> list[tuple[str, int, Rule]]:
        """(op_type, since, rule) of every rule, sorted by op_type and since."""
        return [(op, entry.since, entry.rule) for op in sorted(self.op_types) for entry in reversed(self.versions(op))]

    def update(self, other: RuleSet) -> None:
        """Add the rules and formulas of `other`, a set of the same domain.

        Raises ValueError if both sets define the same rule or formula.
        """
        self._merge(other)
        for op_type, counted in other._macs_formulas.items():
            self._add_macs(op_type, counted)
