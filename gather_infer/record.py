"""What a run notes beside the facts of values: findings, accesses, what validity implies, what had to be assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from gather_infer.places import GraphPath, NodePath
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_le, least_of, reduced

_T = TypeVar("_T")
Mark: TypeAlias = int
"""How many entries a record had at some moment."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left relation right` (relation is `==` or `<=`) holds in every legal run because `node` demands it.

    Constraints that say the same are equal, whichever nodes demand them.

    is_enforced   False where the specification demands it, and onnxruntime may run all the same
    """

    left: Dim
    relation: str
    right: Dim
    node: NodePath = field(compare=False)
    is_enforced: bool = field(default=True, compare=False)

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"


@dataclass(frozen=True, slots=True)
class Demand:
    """One of `any_of`, each (left, relation, right), holds in every legal run: `node` fails where none does.

    It may be implied, and known from then on, or more than one constraint can say: `a == b or a == 1 or b == 1`.

    refusal   the specification allows other sizes, but this runtime fails there; else empty. Nothing follows from it
    is_enforced   see Constraint
    """

    any_of: tuple[tuple[Dim, str, Dim], ...]
    node: NodePath = field(compare=False)
    refusal: str = ""
    is_enforced: bool = field(default=True, compare=False)

    @property
    def symbols(self) -> frozenset[str]:
        """Those of all its dims."""
        return frozenset().union(*(free_symbols(left) | free_symbols(right) for left, _, right in self.any_of))

    def __str__(self) -> str:
        return " or ".join(f"{left} {relation} {right}" for left, relation, right in self.any_of)


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A clause of `node` of which the facts do not tell whether it holds: the node may fail, and no demand says when.

    any_of   where sizes decide after all, in a body that not every run comes to: it holds where one of these does
    tight    the node fails in every run that comes to the body and in which none of `any_of` holds
    """

    reason: str
    node: NodePath
    any_of: tuple[tuple[Dim, str, Dim], ...] = ()
    tight: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Assumption:
    """`dim >= least` (or `dim <= most`) was assumed: the facts of `node` are right unless it fails.

    least   None when the assumption is an upper limit
    most    None when the assumption is a lower limit
    """

    dim: Dim
    least: int | None
    node: NodePath
    reason: str
    most: int | None = None

    def __str__(self) -> str:
        relation = f">= {self.least}" if self.most is None else f"<= {self.most}"
        return f"{self.dim} {relation} (node {self.node})"

    @property
    def claim(self) -> tuple[Dim, int | None, int | None]:
        """What is assumed, whichever node needs it."""
        return self.dim, self.least, self.most

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

    node: NodePath
    op_type: str
    reason: str
    data_dependent: bool
    operands: frozenset[str] = frozenset()
    equals: Dim | None = None


@dataclass(frozen=True, slots=True)
class Iterations:
    """The body of a loop runs `trips` times, in which `counter` is every number from 0 on below that.

    counter   the name of the symbol that the facts of the body have for the number of the iteration
    trips     a generated symbol where the number is not known
    """

    body: GraphPath
    counter: str
    trips: Dim


@dataclass(frozen=True, slots=True)
class Choice:
    """An element of an input of the model decides: true exactly where `input relation number`.

    relation  `<`, `>=`, `==` or `!=`; `==` alone for a bool, whose elements are 0 and 1
    """

    input: str
    relation: str
    number: int
    is_bool: bool = False

    @property
    def negated(self) -> Choice:
        """True exactly where this is false."""
        if self.is_bool:
            return replace(self, number=1 - self.number)
        return replace(self, relation={"<": ">=", ">=": "<", "==": "!=", "!=": "=="}[self.relation])

    def __str__(self) -> str:
        if self.is_bool:
            return f"{self.input} is {'true' if self.number else 'false'}"
        return f"{self.input} {self.relation} {self.number}"


@dataclass(frozen=True, slots=True)
class PathCondition:
    """When a body runs that not every run comes to: a branch of an If, the body of a loop that may run 0 times.

    body      its path
    node      the node that holds it
    name      of the attribute, `then_branch`
    negative  a dim that is negative exactly where the body runs, of the runs that come to the node; None where no dim
              tells
    choice    an element of an input that decides instead
    other     the other branch of an If
    """

    body: GraphPath
    node: NodePath
    name: str
    negative: Dim | None = None
    choice: Choice | None = None
    other: GraphPath | None = None

    @property
    def condition(self) -> str:
        """`seq >= 3`, `c is true`; empty where it is not known."""
        if self.choice is not None:
            return str(self.choice)
        runs = None if self.negative is None else -self.negative
        if not isinstance(runs, Expr):
            return ""
        dim, least = least_of(runs, 1)
        below, above = reduced(least, "<=", dim)
        return f"{above} >= {below}" if isinstance(below, int) else f"{below} <= {above}"

    def __str__(self) -> str:
        """`then_branch of node If_0 is taken only where seq >= 3`."""
        happens = "runs" if self.other is None else "is taken"
        where = f"only where {self.condition}" if self.condition else "in some runs only"
        return f"{self.name} of node {self.node} {happens} {where}"


class Record:
    """Entries of any kind in the order in which they were made; a constraint or a claim is entered once.

    It only grows, but for what was entered since a mark: a trial is taken back, of what not every run reaches some
    entries are dropped, and what is known of the loops around an access is added when they end.

    added   how many entries there ever were: a call that leaves it as it was had no effect but its facts
    """

    def __init__(self) -> None:
        self._entries: list[object] = []
        self._once: dict[object, object] = {}
        self.added = 0

    def add(self, entry: object) -> None:
        self._entries.append(entry)
        self.added += 1

    def note_effect(self) -> None:
        """Say that something was learnt that leaves no entry: a symbol, a fact of a scope, the bytes of a constant."""
        self.added += 1

    def constrain(self, constraint: Constraint) -> None:
        self._add_once(constraint)

    def demand(self, demand: Demand) -> None:
        self._add_once(demand)

    def leave_open(self, unchecked: Unchecked) -> None:
        self._add_once(unchecked)

    def assume(self, assumption: Assumption) -> None:
        self._add_once(assumption)

    def _add_once(self, entry: Constraint | Demand | Unchecked | Assumption) -> None:
        key = _key(entry)
        if key not in self._once:
            self._once[key] = entry
            self.add(entry)

    def mark(self) -> Mark:
        return len(self._entries)

    def since(self, mark: Mark, kind: type[_T]) -> Iterator[_T]:
        """The entries of a kind that were made after a mark and are still there."""
        return (entry for entry in self._entries[mark:] if isinstance(entry, kind))

    def all(self, kind: type[_T]) -> Iterator[_T]:
        """The entries of a kind."""
        return self.since(0, kind)

    def rollback(self, mark: Mark) -> None:
        """Forget what was entered since `mark`."""
        self.keep_since(mark, lambda _: False)

    def revise_since(self, mark: Mark, kind: type[_T], change: Callable[[_T], _T]) -> None:
        """Put what `change` makes of them in the place of the entries of a kind since `mark`."""
        for position in range(mark, len(self._entries)):
            entry = self._entries[position]
            if isinstance(entry, kind):
                self._entries[position] = change(entry)

    def keep_since(self, mark: Mark, is_kept: Callable[[object], bool]) -> None:
        """Of the entries since `mark` only these stay."""
        new = self._entries[mark:]
        kept = [entry for entry in new if is_kept(entry)]
        if len(kept) == len(new):
            return
        self._entries[mark:] = kept
        stays = {id(entry) for entry in kept}
        for entry in new:
            if isinstance(entry, (Assumption, Constraint, Demand, Unchecked)) and id(entry) not in stays:
                self._once.pop(_key(entry), None)


def _key(entry: Constraint | Demand | Unchecked | Assumption) -> object:
    """The same for entries that say the same."""
    if isinstance(entry, Assumption):
        return entry.claim
    return entry if isinstance(entry, Unchecked) else (entry, entry.is_enforced)
