"""State shared by the rules of one run: known facts about sizes, generated symbols, and the trail of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from gather_infer.access import Addressing
from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation
from gather_infer.node_ids import MAIN, GraphPath, NodeId, NodePath
from gather_infer.symbolic import (
    Dim,
    Expr,
    Scope,
    canonical_lower_bound,
    canonical_relation,
    free_symbols,
    known_eq,
    known_le,
    symbol,
)
from gather_infer.trail import Assumption, Cause, Constraint, ImpliedConstraint, Trail, Unchecked

Relation: TypeAlias = "tuple[Dim, str, Dim]"
"""A relation `(left, relation, right)`, where the relation is `==` or `<=`."""


class Finding(NamedTuple):
    """A diagnostic that a rule reports about its node, before its location is added; see `Diagnostic`."""

    code: str
    message: str
    detail: tuple[str, ...] = ()
    severity: Severity | None = None


class ResumePoint(NamedTuple):
    """A point of the main graph from which a run without assumptions can resume.

    scope    the interpreter's scope at the point; later facts are added to the same object
    known    snapshot of the facts in `scope` at the point
    causes   number of symbols generated before the point
    derived  number of derived symbols generated before the point
    """

    graph: GraphPath
    position: int
    scope: Scope
    known: Scope
    causes: int
    derived: int


class Context:
    """State shared by the rules of one run: the scope, generated symbols, and implied or assumed facts.

    reserved       names that generated symbols must avoid: the symbols and dim names that the file uses
    may_assume     whether rules may add assumptions; if False, a result that needs one is unknown
    zero_dims      symbols whose declared lower bound is 0; `assume` adds no assumption about dims that contain them
    implied_facts  dim that is >= 0 in every valid run -> all nodes of the outermost graph that imply this, also nodes
                   that imply a known fact; None instead of a node means the types of the inputs
    equated        pair of dims that must be equal -> the nodes of the outermost graph that require this
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
        self.trail = Trail()
        self.causes: dict[str, Cause] = {}
        self.findings: list[Finding] = []
        self.addressed: list[Addressing] = []
        self.taint_point: ResumePoint | None = None  # before the first fact that relies on an assumption
        self.implied_facts: dict[Expr, dict[NodeId | None, None]] = {}
        self.equated: dict[tuple[Dim, Dim], dict[NodeId | None, None]] = {}
        self.is_enforced = True  # see `unenforced`
        self.is_ambiguous = False  # a declared dim and a generated symbol share a name
        self.op_type = ""
        self.graph = MAIN
        self.labels: Sequence[str] = ("",)
        self.position = 0
        self._outermost = self.scope
        self._reserved = set(reserved)
        self._numbers: dict[str, int] = {}
        self._derived: dict[tuple[object, ...], Expr] = {}
        self._derivations: dict[str, tuple[Any, ...]] = {}

    @property
    def node(self) -> NodePath:
        """The node whose rule is running."""
        return NodePath(self.graph, self.position, self.labels[self.position])

    @property
    def _source(self) -> NodeId | None:
        """The node whose rule is running; None before the first rule runs."""
        return (self.graph, self.position) if self.op_type else None

    @contextmanager
    def preserved(self) -> Iterator[None]:
        """Context manager that restores the scope, the current node and `may_assume` on exit."""
        kept = self.scope, self.may_assume, self.op_type, self.graph, self.labels, self.position
        try:
            yield
        finally:
            self.scope, self.may_assume, self.op_type, self.graph, self.labels, self.position = kept

    @contextmanager
    def unenforced(self) -> Iterator[None]:
        """Context manager for clauses of a specification that onnxruntime does not check, so that runs may break them.

        Such clauses still add constraints and facts, but contract lines derived from them are not marked tight.
        """
        before, self.is_enforced = self.is_enforced, False
        try:
            yield
        finally:
            self.is_enforced = before

    def taint(self) -> None:
        """Mark all later facts as tainted: they rely on an assumption that may fail in some run.

        The first call snapshots the program point, so that a run without assumptions can resume there.
        """
        if self.taint_point is None:
            known = self.scope.snapshot()
            counts = len(self.causes), len(self._derived)
            self.taint_point = ResumePoint(self.graph, self.position, self.scope, known, *counts)

    def resume_from(self, point: ResumePoint, scope: Scope) -> Context:
        """A new context without assumptions that continues from `point`, with `scope` as its scope."""
        found = Context(scope, reserved=self._reserved, may_assume=False, zero_dims=self.zero_dims)
        found.causes = dict(islice(self.causes.items(), point.causes))
        found._numbers = dict(self._numbers)
        found._derived = dict(islice(self._derived.items(), point.derived))
        found._derivations = {symbol.name: key for key, symbol in found._derived.items()}
        return found

    @property
    def constraints(self) -> list[Constraint]:
        """The constraints that valid runs satisfy, in the order in which nodes imply them."""
        return list(self.trail.all(Constraint))

    @property
    def assumptions(self) -> list[Assumption]:
        """The assumptions made so far, in order."""
        return list(self.trail.all(Assumption))

    def fresh(self, reason: str, *, stem: str = "", determined_by: tuple[object, ...] = ()) -> Expr:
        """A new symbol >= 0 for a size that depends on data.

        reason         why the size is unknown, for messages
        stem           beginning of the symbol's name; by default the operator
        determined_by  what determines the size although no expression tells how: equal ones give the same symbol
        """
        stem = stem or self.op_type.lower() or "dim"
        key = (stem, *determined_by)
        found = self._derived.get(key) if determined_by else None
        if found is None:
            found = self._generate(stem, reason, data_dependent=True)
            if determined_by:
                self._derived[key] = found
                self._derivations[found.name] = key
        return found

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
        self.trail.note_effect()
        self.causes[name] = Cause(self.node, self.op_type, reason, data_dependent, operands, equals)
        return symbol(name)

    def declared_symbol(self, name: str) -> Expr:
        """The symbol for a dim name that a graph declares; sets `is_ambiguous` if a generated symbol has the name."""
        self.is_ambiguous |= name in self.causes
        self._reserved.add(name)
        return symbol(name)

    def derived(self, operation: str, *operands: object, reason: str, equals: Dim | None = None) -> Expr:
        """The symbol for `operation(operands)`, a function of dims alone: equal calls return the same symbol.

        reason, equals   see Cause
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
        """The `(operation, operand, ...)` that determines the generated symbol `name`; None if nothing does."""
        return self._derivations.get(name)

    def add_implied_fact(self, dim: Dim) -> None:
        """Add the fact `dim >= 0`; the current node fails in every run in which `dim` is negative."""
        if not isinstance(dim, Expr):
            return
        if self.scope is self._outermost:
            self.implied_facts.setdefault(dim, {})[self._source] = None
        if known_le(0, dim, self.scope) is None:
            self.trail.note_effect()
            self.scope.add_fact(dim)

    def add_constraint(self, left: Dim, relation: str, right: Dim) -> None:
        """Record `left relation right` in canonical form, with the first node that implies it.

        An equality does not substitute one symbol for another in later dims.
        """
        if isinstance(left, int) and isinstance(right, int):
            return
        left, right = canonical_relation(left, relation, right)
        if relation == "==" and self.scope is self._outermost:
            self.equated.setdefault((left, right), {})[self._source] = None
        self.trail.add_constraint(Constraint(left, relation, right, self.node, self.is_enforced))

    def require(self, *any_of: Relation, otherwise: str | Callable[[], str], code: str = "GI210") -> None:
        """Enforce one clause of a specification: at least one relation of `any_of` holds, or the node fails.

        A clause that the known facts do not decide is recorded as an implied constraint. A single inequality is also
        added to the scope as a fact.

        otherwise   error message, or a function that returns it, for when every relation is known to be false

        Raises SpecViolation when every relation is known to be false.
        """
        # None: the clause holds, but this node still counts as one that implies it; []: it fails; else undecided
        undecided = self._undecided(any_of)
        if undecided is not None and not undecided:
            raise SpecViolation(otherwise if isinstance(otherwise, str) else otherwise(), code)
        if undecided is not None and len(undecided) > 1:
            self.add_implied_constraint(*undecided)
            return
        for left, relation, right in any_of if undecided is None and len(any_of) == 1 else undecided or ():
            if relation == "<=":
                if undecided is not None:
                    self.add_implied_constraint((left, "<=", right))
                self.add_implied_fact(right - left)  # known or not: this node is one more that implies it
            elif undecided is not None:
                self.add_constraint(left, "==", right)

    def add_runtime_constraint(self, *any_of: Relation, runtime: str = "onnxruntime") -> None:
        """Record that `runtime` fails unless a relation of `any_of` holds, although the specification allows the node.

        The scope does not change.
        """
        undecided = self._undecided(any_of)
        if undecided:
            self.add_implied_constraint(*undecided, runtime=runtime)

    def _undecided(self, any_of: Iterable[Relation]) -> list[Relation] | None:
        """The relations of `any_of` that are not known to be false; None when one of them is known to be true."""
        found: list[Relation] = []
        for left, relation, right in any_of:
            answer = (known_eq if relation == "==" else known_le)(left, right, self.scope)
            if answer is True:
                return None
            if answer is None:
                found.append((left, relation, right))
        return found

    def add_unchecked(self, reason: str) -> None:
        """Record that the node may fail for a reason that the facts do not decide; the contract lists it as open."""
        self.trail.add_unchecked(Unchecked(reason, self.node))

    def add_implied_constraint(self, *any_of: Relation, runtime: str = "") -> None:
        """Record that at least one relation of `any_of` holds in every legal run, with the current node as the reason.

        With a `runtime`, it holds in every run that this runtime accepts.

        any_of     triples (left, relation, right), where relation is `==` or `<=`
        runtime    see ImpliedConstraint
        """
        relations: list[Relation] = []
        for left, relation, right in any_of:
            assert relation in ("==", "<="), "other relations are these with the sides exchanged"
            left, right = canonical_relation(left, relation, right)
            relations.append((left, relation, right))
        self.trail.add_implied_constraint(ImpliedConstraint(tuple(relations), self.node, runtime, self.is_enforced))

    def require_equal(self, left: Dim, right: Dim, what: str, *, code: str = "GI212") -> Dim:
        """Record that two dims must be equal and return one of them, preferably a number.

        what   describes both dims in the error message

        If their equality depends on the run, a constraint is recorded. Raises SpecViolation when the dims can never be
        equal.
        """
        if left is right or left == right:
            return left
        if known_eq(left, right, self.scope) is False:
            raise SpecViolation(f"{what} must be equal, are {left} and {right}", code)
        self.add_constraint(left, "==", right)
        return right if isinstance(right, int) else left

    def assume(self, dim: Dim, lower: int, reason: str) -> bool:
        """Whether results may rely on `dim >= lower`: it is known, or is now added to the assumptions, which users see.

        reason   why the current node needs it, for users
        """
        known = known_le(lower, dim, self.scope)
        if known is not None:
            return known
        if not self.may_assume or free_symbols(dim) & self.zero_dims:
            return False
        assert isinstance(dim, Expr), "comparisons of numbers are decided"
        dim, lower = canonical_lower_bound(dim, lower)
        self.taint()
        self.trail.add_assumption(Assumption(dim, lower, self.node, reason))
        return True

    def assume_at_most(self, dim: Dim, upper: int, reason: str) -> bool:
        """As `assume`, for `dim <= upper`; used where `dim` must fit an element type, also for dims of `zero_dims`."""
        known = known_le(dim, upper, self.scope)
        if known is not None:
            return known
        if not self.may_assume:
            return False
        below = -dim
        assert isinstance(below, Expr), "comparisons of numbers are decided"
        below, lower = canonical_lower_bound(below, -upper)
        self.taint()
        self.trail.add_assumption(Assumption(-below, None, self.node, reason, -lower))
        return True

    def report(self, code: str, message: str, detail: tuple[str, ...], severity: Severity | None) -> None:
        """Add a finding about the current node."""
        self.trail.note_effect()
        self.findings.append(Finding(code, message, detail, severity))
