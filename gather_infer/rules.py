"""What a rule sees and how it is found.

A rule is a pure function `OpCall -> list of output facts`. It raises `SpecViolation` when its node breaks the
operator's specification; the walk adds where. Rule sets are values: users pass theirs to `infer(model, rules=[...])`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq, known_le, least_of, reduced, symbol
from gather_infer.tensor import SymbolicTensor, Value

if TYPE_CHECKING:
    import numpy as np

    from gather_infer.access import Addressing

Attribute: TypeAlias = "int | float | str | SymbolicTensor | tuple[Any, ...] | object"


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left relation right` (relation is `==` or `<=`) holds in every legal run because `node` demands it.

    Constraints that say the same are equal, whichever nodes demand them.
    """

    left: Dim
    relation: str
    right: Dim
    node: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True, slots=True)
class Assumption:
    """`dim >= least` (or `dim <= most`) was assumed: the facts of `node` are right unless it fails.

    least   None when the assumption is an upper limit
    most    None when the assumption is a lower limit
    """

    dim: Dim
    least: int | None
    node: str
    reason: str
    most: int | None = None

    def __str__(self) -> str:
        relation = f">= {self.least}" if self.most is None else f"<= {self.most}"
        return f"{self.dim} {relation} (node {self.node})"

    def is_known(self, scope: Scope) -> bool:
        """True when the scope proves it, so that nothing rests on it any more."""
        if self.least is not None and known_le(self.least, self.dim, scope) is not True:
            return False
        return self.most is None or known_le(self.dim, self.most, scope) is True


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a fresh symbol exists: the node that made it and what it could not know.

    operands   for a function of dims: the symbols that it depends on
    equals     a dim of the same size in every legal run, too unwieldy to reason with; None when there is no such dim
    """

    node: str
    op_type: str
    reason: str
    data_dependent: bool
    operands: frozenset[str] = frozenset()
    equals: Dim | None = None


class Context:
    """What the rules of one run share: the scope, generated symbols and what validity implied or had to be assumed.

    reserved    names that a generated symbol must not take: those of other symbols, and what else the file calls dims
    may_assume  False gives the exact answer or an unknown instead of an assumption
    zero_dims   symbols whose declared lower bound is 0: nothing is ever assumed about them
    """

    def __init__(
        self,
        scope: Scope | None = None,
        *,
        reserved: Iterable[str] = (),
        may_assume: bool = True,
        zero_dims: Iterable[str] = (),
    ) -> None:
        self.scope = scope if scope is not None else Scope()
        self.may_assume = may_assume
        self.zero_dims = frozenset(zero_dims)
        self.causes: dict[str, Cause] = {}
        self.constraints: dict[Constraint, None] = {}
        self.assumptions: dict[tuple[Dim, int], Assumption] = {}
        self.findings: list[tuple[str, str, tuple[str, ...], Severity | None]] = []
        self.addressed: list[Addressing] = []
        self.is_ambiguous = False  # a name that the model declares stands for a generated symbol too
        self.effects = 0  # grows with whatever a rule does besides returning facts
        self.node = ""
        self.op_type = ""
        self._reserved = set(reserved)
        self._numbers: dict[str, int] = {}
        self._derived: dict[tuple[object, ...], Expr] = {}
        self._derivations: dict[str, tuple[Any, ...]] = {}

    def fresh(self, reason: str, *, stem: str = "") -> Expr:
        """A new symbol >= 0, different from every other; for sizes that depend on data."""
        return self._generate(stem or self.op_type.lower() or "dim", reason, data_dependent=True)

    def _generate(
        self,
        stem: str,
        reason: str,
        *,
        data_dependent: bool,
        operands: frozenset[str] = frozenset(),
        equals: Dim | None = None,
    ) -> Expr:
        number = self._numbers.get(stem, 0)
        while (name := f"{stem}_{number}") in self._reserved:
            number += 1
        self._numbers[stem] = number + 1
        self._reserved.add(name)
        self.effects += 1
        self.causes[name] = Cause(self.node, self.op_type, reason, data_dependent, operands, equals)
        return symbol(name)

    def adopt(self, name: str) -> Expr:
        """The symbol of a name that the model declares somewhere inside; see `is_ambiguous`."""
        self.is_ambiguous |= name in self.causes
        self._reserved.add(name)
        return symbol(name)

    def derived(self, operation: str, *operands: object, reason: str, equals: Dim | None = None) -> Expr:
        """The symbol of `operation(operands)`, a function of dims alone: the same question, the same symbol.

        equals   see Cause
        """
        key = (operation, *operands)
        found = self._derived.get(key)
        if found is None:
            symbols = [free_symbols(d) for d in operands if isinstance(d, Expr)]
            found = self._derived[key] = self._generate(
                operation, reason, data_dependent=False, operands=frozenset().union(*symbols), equals=equals
            )
            self._derivations[found.name] = key
        return found

    def derivation(self, name: str) -> tuple[Any, ...] | None:
        """What a symbol was derived from, (operation, operands ...); None for a symbol that was not."""
        return self._derivations.get(name)

    def imply(self, dim: Dim) -> None:
        """Learn `dim >= 0`: the node fails in every run where it does not hold."""
        if isinstance(dim, Expr) and known_le(0, dim, self.scope) is None:
            self.effects += 1
            self.scope.require(dim)

    def constrain(self, left: Dim, relation: str, right: Dim) -> None:
        """Record a constraint that validity implies, in few words, with the first node that does.

        The symbols stay as they are.
        """
        if isinstance(left, int) and isinstance(right, int):
            return
        left, right = reduced(left, relation, right)
        constraint = Constraint(left, relation, right, self.node)
        if constraint not in self.constraints:
            self.effects += 1
            self.constraints[constraint] = None

    def require_equal(self, left: Dim, right: Dim, what: str, *, code: str = "GI212") -> Dim:
        """The one dim that two dims which have to agree stand for; `what` names them in the message.

        Raises SpecViolation when they can never be equal. When it depends on the run, a constraint is recorded and the
        number, if one of them is a number, is returned.
        """
        if left is right or left == right:
            return left
        if known_eq(left, right, self.scope) is False:
            raise SpecViolation(f"{what} must be equal, are {left} and {right}", code)
        self.constrain(left, "==", right)
        return right if isinstance(right, int) else left

    def assume(self, dim: Dim, least: int, reason: str) -> bool:
        """True when `dim >= least` may be relied on here: it is known, or it is now listed as an assumption."""
        known = known_le(least, dim, self.scope)
        if known is not None:
            return known
        if not self.may_assume or free_symbols(dim) & self.zero_dims:
            return False
        assert isinstance(dim, Expr), "what is said of a number is known"
        dim, least = least_of(dim, least)
        self._list((dim, least), Assumption(dim, least, self.node, reason))
        return True

    def assume_at_most(self, dim: Dim, most: int, reason: str) -> bool:
        """As `assume`, for `dim <= most`: a size that an element type has to hold."""
        known = known_le(dim, most, self.scope)
        if known is not None:
            return known
        if not self.may_assume:
            return False
        below = -dim
        assert isinstance(below, Expr), "what is said of a number is known"
        below, least = least_of(below, -most)
        self._list((below, least), Assumption(-below, None, self.node, reason, -least))
        return True

    def _list(self, key: tuple[Dim, int], assumption: Assumption) -> None:
        if key not in self.assumptions:
            self.effects += 1
            self.assumptions[key] = assumption

    def report(self, code: str, message: str, detail: tuple[str, ...], severity: Severity | None) -> None:
        """Add a finding about the current node."""
        self.effects += 1
        self.findings.append((code, message, detail, severity))


@dataclass(slots=True)
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
        self.context.effects += 1  # what the constant holds is not among the facts of the input
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
        """See Context.imply: `dim >= 0` in every legal run."""
        self.context.imply(dim)

    def require_equal(self, left: Dim, right: Dim, what: str, *, code: str = "GI212") -> Dim:
        """See Context.require_equal."""
        return self.context.require_equal(left, right, what, code=code)

    def assume(self, dim: Dim, least: int, reason: str) -> bool:
        """See Context.assume."""
        return self.context.assume(dim, least, reason)

    def report(self, code: str, message: str, *detail: str, severity: Severity | None = None) -> None:
        """Add a finding about this node and go on; for what is no reason to give up its outputs."""
        self.context.report(code, message, detail, severity)


Rule: TypeAlias = Callable[[OpCall], "list[SymbolicTensor] | list[Value] | list[Value | None]"]


class RuleSet:
    """The rules of one domain; one rule per behaviour change, found by the newest `since <= version`."""

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self._rules: dict[str, list[tuple[int, Rule]]] = {}

    def rule(self, op_type: str, *, since: int = 1) -> Callable[[Rule], Rule]:
        """Decorator: the function is the rule of `op_type` from version `since` on."""

        def add(function: Rule) -> Rule:
            versions = self._rules.setdefault(op_type, [])
            if any(s == since for s, _ in versions):
                raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two rules since {since}")
            versions.append((since, function))
            versions.sort(key=lambda entry: -entry[0])
            return function

        return add

    def find(self, op_type: str, version: int) -> Rule | None:
        """The rule in force at `version`, or None."""
        for since, function in self._rules.get(op_type, ()):
            if since <= version:
                return function
        return None

    def entries(self) -> list[tuple[str, int, Rule]]:
        """Every (op_type, since, rule), sorted."""
        return sorted(
            ((op, since, function) for op, versions in self._rules.items() for since, function in versions),
            key=lambda entry: entry[:2],
        )

    def update(self, other: RuleSet) -> None:
        """Take over the rules of another set of the same domain; raises ValueError when one is defined twice."""
        for op_type, since, function in other.entries():
            self.rule(op_type, since=since)(function)
