"""What the rules of one run share: what is known of sizes, the symbols it has made, what it has recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from gather_infer.access import Addressing
from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation
from gather_infer.places import MAIN, GraphPath, NodePath, Source
from gather_infer.record import Assumption, Cause, Constraint, Demand, Record, Unchecked
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq, known_le, least_of, reduced, symbol

Stated: TypeAlias = "tuple[Dim, str, Dim]"
"""`(left, relation, right)`, the relation `==` or `<=`."""


class Finding(NamedTuple):
    """What a rule has to say about its node; see `Diagnostic`."""

    code: str
    message: str
    detail: tuple[str, ...] = ()
    severity: Severity | None = None


class Standing(NamedTuple):
    """Where a walk stands: at a node of a graph, in a scope that knows this much, with so many symbols generated."""

    graph: GraphPath
    position: int
    scope: Scope
    known: Scope
    causes: int
    derived: int


class Context:
    """What the rules of one run share: the scope, generated symbols and what validity implied or had to be assumed.

    reserved    names that a generated symbol must not take: those of other symbols, and what else the file calls dims
    may_assume  False gives the exact answer or an unknown instead of an assumption
    zero_dims   symbols whose declared lower bound is 0: nothing is ever assumed about them

    implied     dims that are known to be >= 0 everywhere, each with the nodes that imply it, known before or not; None
                is what the types of inputs imply
    equated     pairs of dims that nodes outside of bodies demand to be equal, with these nodes
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
        self.record = Record()
        self.causes: dict[str, Cause] = {}
        self.findings: list[Finding] = []
        self.addressed: list[Addressing] = []
        self.unassumed: Standing | None = None  # where the first assumption was made; until then nothing rests on one
        self.implied: dict[Expr, dict[Source | None, None]] = {}
        self.equated: dict[tuple[Dim, Dim], dict[Source | None, None]] = {}
        self.is_enforced = True  # see `unenforced`
        self.is_ambiguous = False  # a name that the model declares stands for a generated symbol too
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
        """The node whose rule is at work."""
        return NodePath(self.graph, self.position, self.labels[self.position])

    @property
    def _source(self) -> Source | None:
        """The node whose rule is at work; None before the first."""
        return (self.graph, self.position) if self.op_type else None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """The scope, the node, whether to assume: afterwards what they were before, whatever is walked meanwhile."""
        kept = self.scope, self.may_assume, self.op_type, self.graph, self.labels, self.position
        try:
            yield
        finally:
            self.scope, self.may_assume, self.op_type, self.graph, self.labels, self.position = kept

    @contextmanager
    def unenforced(self) -> Iterator[None]:
        """For clauses of a specification that onnxruntime does not check: it may run where they do not hold.

        They are demanded and learnt like others; no line of a contract that they make is tight.
        """
        before, self.is_enforced = self.is_enforced, False
        try:
            yield
        finally:
            self.is_enforced = before

    def rest_on_assumption(self) -> None:
        """Note where the walk stands before the first of its facts that may not hold in every run."""
        if self.unassumed is None:
            known = self.scope.snapshot()
            counts = len(self.causes), len(self._derived)
            self.unassumed = Standing(self.graph, self.position, self.scope, known, *counts)

    def resumed(self, standing: Standing, scope: Scope) -> Context:
        """What the rules shared where a walk stood, for one that goes on from there and assumes nothing."""
        found = Context(scope, reserved=self._reserved, may_assume=False, zero_dims=self.zero_dims)
        found.causes = dict(islice(self.causes.items(), standing.causes))
        found._numbers = dict(self._numbers)
        found._derived = dict(islice(self._derived.items(), standing.derived))
        found._derivations = {symbol.name: key for key, symbol in found._derived.items()}
        return found

    @property
    def constraints(self) -> list[Constraint]:
        """What validity demands of dims, in the order in which nodes do."""
        return list(self.record.all(Constraint))

    @property
    def assumptions(self) -> list[Assumption]:
        """What had to be assumed."""
        return list(self.record.all(Assumption))

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
        self.record.note_effect()
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
        if not isinstance(dim, Expr):
            return
        if self.scope is self._outermost:
            self.implied.setdefault(dim, {})[self._source] = None
        if known_le(0, dim, self.scope) is None:
            self.record.note_effect()
            self.scope.require(dim)

    def constrain(self, left: Dim, relation: str, right: Dim) -> None:
        """Record a constraint that validity implies, in few words, with the first node that does.

        The symbols stay as they are.
        """
        if isinstance(left, int) and isinstance(right, int):
            return
        left, right = reduced(left, relation, right)
        if relation == "==" and self.scope is self._outermost:
            self.equated.setdefault((left, right), {})[self._source] = None
        self.record.constrain(Constraint(left, relation, right, self.node, self.is_enforced))

    def require(self, *any_of: Stated, otherwise: str | Callable[[], str], code: str = "GI210") -> None:
        """One clause of a specification: one of `any_of` holds, else the node fails.

        Of sizes that are known it is checked, of others it is demanded, and learnt where it is one inequation.

        otherwise   the message where none can hold

        Raises SpecViolation when none holds in any run.
        """
        undecided = self._undecided(any_of)
        if undecided is not None and not undecided:
            raise SpecViolation(otherwise if isinstance(otherwise, str) else otherwise(), code)
        if undecided is not None and len(undecided) > 1:
            self.demand(*undecided)
            return
        for left, relation, right in any_of if undecided is None and len(any_of) == 1 else undecided or ():
            if relation == "<=":
                if undecided is not None:
                    self.demand((left, "<=", right))
                self.imply(right - left)  # also what is known: the node is one more of those that imply it
            elif undecided is not None:
                self.constrain(left, "==", right)

    def refuse(self, *any_of: Stated, runtime: str = "onnxruntime") -> None:
        """Record that a runtime fails where none of `any_of` holds, though the specification allows it.

        Nothing is learnt from it.
        """
        undecided = self._undecided(any_of)
        if undecided:
            self.demand(*undecided, refusal=runtime)

    def _undecided(self, any_of: Iterable[Stated]) -> list[Stated] | None:
        """Those of the relations that may hold; None when one does in every run."""
        found: list[Stated] = []
        for left, relation, right in any_of:
            answer = (known_eq if relation == "==" else known_le)(left, right, self.scope)
            if answer is True:
                return None
            if answer is None:
                found.append((left, relation, right))
        return found

    def leave_open(self, reason: str) -> None:
        """Record that the node may fail for a reason of which no facts tell: it is open in the contract."""
        self.record.leave_open(Unchecked(reason, self.node))

    def demand(self, *any_of: Stated, refusal: str = "") -> None:
        """Record that one of (left, relation, right) holds in every legal run, with the first node that demands it.

        relation   `==` or `<=`
        refusal    see Demand
        """
        stated: list[Stated] = []
        for left, relation, right in any_of:
            assert relation in ("==", "<="), "the other relations are these with the sides exchanged"
            left, right = reduced(left, relation, right)
            stated.append((left, relation, right))
        self.record.demand(Demand(tuple(stated), self.node, refusal, self.is_enforced))

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
        self.rest_on_assumption()
        self.record.assume(Assumption(dim, least, self.node, reason))
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
        self.rest_on_assumption()
        self.record.assume(Assumption(-below, None, self.node, reason, -least))
        return True

    def report(self, code: str, message: str, detail: tuple[str, ...], severity: Severity | None) -> None:
        """Add a finding about the current node."""
        self.record.note_effect()
        self.findings.append(Finding(code, message, detail, severity))
