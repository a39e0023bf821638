"""The trail of an inference run: diagnostics, accesses, constraints and assumptions in the order of discovery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.symbolic import Dim, Expr, Scope, canonical_lower_bound, canonical_relation, free_symbols, known_le

_T = TypeVar("_T")
Checkpoint: TypeAlias = int
"""A point in the history of a trail, as the number of entries at that point."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left relation right` (`==` or `<=`) holds in every valid run, because `node` implies it.

    Comparison of two constraints with == ignores the nodes.

    is_enforced   False if the specification requires the relation, but onnxruntime does not check it
    """

    left: Dim
    relation: str
    right: Dim
    node: NodePath = field(compare=False)
    is_enforced: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True, slots=True)
class ImpliedConstraint:
    """A disjunction that every valid run satisfies: `node` fails unless a relation in `any_of` holds.

    Unlike a Constraint, a disjunction may have several alternatives (`a == b or a == 1 or b == 1`), or repeat a known
    fact.

    any_of        triples (left, relation, right), where relation is `==` or `<=`
    runtime       name of a runtime that fails if no alternative holds, although the specification allows the node; no
                  fact is derived from such a constraint. Empty for a requirement of the specification
    is_enforced   see Constraint
    """

    any_of: tuple[tuple[Dim, str, Dim], ...]
    node: NodePath = field(compare=False)
    runtime: str = ""
    is_enforced: bool = field(default=True, compare=False)

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols of all dims in `any_of`."""
        return frozenset().union(*(free_symbols(left) | free_symbols(right) for left, _, right in self.any_of))

    def __str__(self) -> str:
        return " or ".join(f"{left} {relation} {right}" for left, relation, right in self.any_of)


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A clause of `node` that the facts do not decide: the node may fail, and no implied constraint covers it.

    reason   the clause as text for messages
    any_of   for a clause about sizes in a body that some runs skip: relations, any one of which fulfils the clause
    tight    the node fails in every run that reaches the body with every relation of `any_of` false
    """

    reason: str
    node: NodePath
    any_of: tuple[tuple[Dim, str, Dim], ...] = ()
    tight: bool = field(default=False, compare=False)


class Assumption(NamedTuple):
    """An assumed fact `dim >= lower` or `dim <= upper`, under which the inferred facts of `node` are valid.

    lower    None if the assumption is an upper bound
    upper    None if the assumption is a lower bound
    reason   why `node` needs the assumption, for messages
    """

    dim: Dim
    lower: int | None
    node: NodePath
    reason: str
    upper: int | None = None

    def __str__(self) -> str:
        relation = f">= {self.lower}" if self.upper is None else f"<= {self.upper}"
        return f"{self.dim} {relation} (node {self.node})"

    @property
    def key(self) -> tuple[Dim, int | None, int | None]:
        """The assumed fact without `node` and `reason`, as (dim, lower, upper)."""
        return self.dim, self.lower, self.upper

    def is_known(self, scope: Scope) -> bool:
        """Whether `scope` proves the assumed fact, so that it need not be assumed."""
        if self.lower is not None and known_le(self.lower, self.dim, scope) is not True:
            return False
        return self.upper is None or known_le(self.dim, self.upper, scope) is True


class Cause(NamedTuple):
    """Why a generated symbol exists: the node whose rule generated it, and the reason why its size is unknown.

    data_dependent   whether the size depends on elements, not only on dims
    operands         the symbols on which the size depends, if it is a function of dims; else empty
    equals           expression that equals the symbol in every valid run but is too large for proofs; None if there is
                     no such expression
    """

    node: NodePath
    op_type: str
    reason: str
    data_dependent: bool
    operands: frozenset[str] = frozenset()
    equals: Dim | None = None


class Iterations(NamedTuple):
    """Trip count of a loop body: the body runs `trip_count` times, with `counter` in [0, trip_count).

    body        path of the loop body
    counter     name of the symbol for the iteration number in the facts of the body
    trip_count  number of iterations; a generated symbol if it is unknown
    """

    body: GraphPath
    counter: str
    trip_count: Dim


class InputPredicate(NamedTuple):
    """The predicate `input relation number` on the one element of a model input that a condition reads.

    input     name of the model input
    relation  `<`, `>=`, `==` or `!=`; only `==` for a bool input
    number    for a bool input, 0 is false and 1 is true
    """

    input: str
    relation: str
    number: int
    is_bool: bool = False

    @property
    def negated(self) -> InputPredicate:
        """The predicate that is true exactly if this predicate is false."""
        if self.is_bool:
            return self._replace(number=1 - self.number)
        return self._replace(relation={"<": ">=", ">=": "<", "==": "!=", "!=": "=="}[self.relation])

    def __str__(self) -> str:
        if self.is_bool:
            return f"{self.input} is {'true' if self.number else 'false'}"
        return f"{self.input} {self.relation} {self.number}"


class PathCondition(NamedTuple):
    """The condition under which an optional body runs: a branch of an If, or a loop body that may run 0 times.

    body             path of the body
    node             the node that holds the body
    name             name of the attribute that holds the body, such as `then_branch`
    sign_predicate   a dim that is negative in exactly those runs that enter the body, of all runs that reach `node`;
                     None if no such dim is known
    input_predicate  predicate on a model input that is true exactly if the body runs; None if none is known
    other_branch     path of the other branch of an If; None for a loop body
    """

    body: GraphPath
    node: NodePath
    name: str
    sign_predicate: Dim | None = None
    input_predicate: InputPredicate | None = None
    other_branch: GraphPath | None = None

    @property
    def condition(self) -> str:
        """The condition as text, such as `seq >= 3` or `c is true`; "" if it is unknown."""
        if self.input_predicate is not None:
            return str(self.input_predicate)
        runs = None if self.sign_predicate is None else -self.sign_predicate
        if not isinstance(runs, Expr):
            return ""
        dim, lower = canonical_lower_bound(runs, 1)
        below, above = canonical_relation(lower, "<=", dim)
        return f"{above} >= {below}" if isinstance(below, int) else f"{below} <= {above}"

    def __str__(self) -> str:
        """A sentence for messages, such as `then_branch of node If_0 is taken only where seq >= 3`."""
        happens = "runs" if self.other_branch is None else "is taken"
        where = f"only where {self.condition}" if self.condition else "in some runs only"
        return f"{self.name} of node {self.node} {happens} {where}"


class Trail:
    """Entries of any type in the order in which they are added; equal constraints or assumptions are added only once.

    Only the entries since a checkpoint can be changed. For example, a trial iteration of a loop is rolled back, and
    accesses in a loop are completed when the loop ends.

    total_added   number of entries and other side effects ever recorded; if a call leaves it unchanged, the call had no
                  side effect
    """

    def __init__(self) -> None:
        self._entries: list[object] = []
        self._unique: dict[object, object] = {}
        self.total_added = 0

    def add(self, entry: object) -> None:
        self._entries.append(entry)
        self.total_added += 1

    def note_effect(self) -> None:
        """Count a side effect without an entry: generating a symbol, adding a fact to a scope, reading a constant."""
        self.total_added += 1

    def add_constraint(self, constraint: Constraint) -> None:
        self._add_once(constraint)

    def add_implied_constraint(self, constraint: ImpliedConstraint) -> None:
        self._add_once(constraint)

    def add_unchecked(self, unchecked: Unchecked) -> None:
        self._add_once(unchecked)

    def add_assumption(self, assumption: Assumption) -> None:
        self._add_once(assumption)

    def _add_once(self, entry: Constraint | ImpliedConstraint | Unchecked | Assumption) -> None:
        key = _key(entry)
        if key not in self._unique:
            self._unique[key] = entry
            self.add(entry)

    def checkpoint(self) -> Checkpoint:
        return len(self._entries)

    def since(self, checkpoint: Checkpoint, kind: type[_T]) -> Iterator[_T]:
        """The entries of type `kind` that were added since `checkpoint` and not dropped."""
        return (entry for entry in self._entries[checkpoint:] if isinstance(entry, kind))

    def all(self, kind: type[_T]) -> Iterator[_T]:
        """All entries of type `kind`, in order."""
        return self.since(0, kind)

    def rollback(self, checkpoint: Checkpoint) -> None:
        """Drop the entries since `checkpoint`."""
        self.filter_since(checkpoint, lambda _: False)

    def revise_since(self, checkpoint: Checkpoint, kind: type[_T], change: Callable[[_T], _T]) -> None:
        """Replace each entry of type `kind` since `checkpoint` by `change(entry)`."""
        for position in range(checkpoint, len(self._entries)):
            entry = self._entries[position]
            if isinstance(entry, kind):
                self._entries[position] = change(entry)

    def filter_since(self, checkpoint: Checkpoint, is_kept: Callable[[object], bool]) -> None:
        """Drop the entries since `checkpoint` that `is_kept` rejects."""
        new = self._entries[checkpoint:]
        kept = [entry for entry in new if is_kept(entry)]
        if len(kept) == len(new):
            return
        self._entries[checkpoint:] = kept
        stays = {id(entry) for entry in kept}
        for entry in new:
            if isinstance(entry, (Assumption, Constraint, ImpliedConstraint, Unchecked)) and id(entry) not in stays:
                self._unique.pop(_key(entry), None)


def _key(entry: Constraint | ImpliedConstraint | Unchecked | Assumption) -> object:
    """The deduplication key of `entry`: equal for entries with the same content."""
    if isinstance(entry, Assumption):
        return entry.key
    return entry if isinstance(entry, Unchecked) else (entry, entry.is_enforced)
