"""What is said of the inputs, held against what the model allows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gather_infer.checks.places import Places
from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import UsageError
from gather_infer.inference.options import suggestion
from gather_infer.record import Constraint
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Interval,
    Scope,
    free_symbols,
    known_le,
    known_lt,
    substitute,
    symbol,
)
from gather_infer.validate import Condition, Elements, Kind, Verdict
from gather_infer.validate.condition import counterexample, difference

_RANGE = re.compile(r"\s*(-?\d+)?\s*\.\.\s*(-?\d+)?\s*")


def read_ranges(
    ranges: Mapping[str, tuple[int | None, int | None]] | Iterable[str], inputs: Iterable[str]
) -> dict[str, Interval]:
    """What the elements of inputs are between: `input_ids=0..30521`, or a mapping to pairs of inclusive bounds.

    Raises UsageError for what reads otherwise, and for an input that the model does not have.
    """
    known = list(inputs)
    found: dict[str, Interval] = {}
    for name, interval in _entries(ranges):
        if name not in known:
            raise UsageError(f"no input {name!r}{suggestion(name, known)}")
        if interval.is_empty:
            raise UsageError(f"range of {name!r}: nothing is in {interval.lo}..{interval.hi}")
        found[name] = interval
    return found


def _entries(ranges: Mapping[str, tuple[int | None, int | None]] | Iterable[str]) -> Iterator[tuple[str, Interval]]:
    if isinstance(ranges, Mapping):
        for name, (low, high) in ranges.items():
            yield name, Interval(low, high)
        return
    for text in ranges:
        name, equals, value = text.partition("=")
        match = _RANGE.fullmatch(value)
        if not equals or match is None:
            raise UsageError(
                f"a range must read INPUT=LOW..HIGH, integers of which either may be left out, found {text!r}"
            )
        low, high = (None if end is None else int(end) for end in match.groups())
        yield name.strip(), Interval(low, high)


@dataclass(frozen=True, slots=True)
class Limits:
    """What is said of the inputs.

    declared   of their dims
    ranges     of their elements
    """

    declared: Scope
    ranges: Mapping[str, Interval]

    def settled(self, verdict: Verdict) -> Verdict:
        """A conditional verdict without the conditions that the ranges meet; proved when none is left."""
        if verdict.kind is not Kind.CONDITIONAL:
            return verdict
        left = tuple(c for c in verdict.conditions if not self._is_met(c))
        if len(left) == len(verdict.conditions):
            return verdict
        kept = tuple(w for w in verdict.witness if any(w[0] == str(c.left) for c in left))
        return replace(verdict, kind=Kind.CONDITIONAL if left else Kind.PROVED, conditions=left, witness=kept)

    def broken(self, verdict: Verdict) -> Iterator[Diagnostic]:
        """A finding for each condition of a conditional verdict that something breaks which is said to be legal."""
        access = verdict.access
        if verdict.kind is not Kind.CONDITIONAL:
            return
        where = Location(access.node, access.op_type, access.domain, access.version)
        for condition in verdict.conditions:
            text = self._breach(condition)
            if text is not None:
                yield diagnostic(
                    "GI501",
                    f"{text} is declared, which reaches outside {condition}: the model fails there",
                    where,
                    detail=(verdict.reason,),
                )

    def beyond(self, constraints: Iterable[Constraint], places: Places) -> Iterator[Diagnostic]:
        """A finding for each demand on one size that a size breaks which is said to be legal."""
        for constraint in constraints:
            text = self._size_breach(constraint.left, constraint.relation, constraint.right)
            if text is not None:
                where = places.node(constraint.node.graph, constraint.node.position)
                yield diagnostic(
                    "GI501", f"{text} is declared, which reaches outside {constraint}: the model fails there", where
                )

    def pinned(self, constraints: Iterable[Constraint], known: frozenset[str], places: Places) -> Iterator[Diagnostic]:
        """A finding for each symbol of the inputs that may be of one size only."""
        for constraint in constraints:
            pair = (constraint.left, constraint.right)
            names = [dim for dim in pair if isinstance(dim, Expr) and dim.is_symbol and dim.name in known]
            sizes = [dim for dim in pair if isinstance(dim, int)]
            if constraint.relation == "==" and names and sizes:
                where = places.node(constraint.node.graph, constraint.node.position)
                message = f"the inputs leave {names[0]} open, the node works with {names[0]} = {sizes[0]} only"
                yield diagnostic("GI322", message, where)

    def _is_met(self, condition: Condition) -> bool:
        if not isinstance(condition.left, Elements) or condition.left.input not in self.ranges:
            return False
        given = self.ranges[condition.left.input]
        if condition.relation == ">=":
            return given.lo is not None and known_le(condition.right, given.lo, self.declared) is True
        return given.hi is not None and known_lt(given.hi, condition.right, self.declared) is True

    def _breach(self, condition: Condition) -> str | None:
        """What is said and breaks the condition."""
        if not isinstance(condition.left, Elements):
            return self._size_breach(condition.left, condition.relation, condition.right)
        given = self.ranges.get(condition.left.input)
        if given is None:
            return None
        said = f"{condition.left.input}={_text(given)}"
        if condition.relation == ">=":
            return said if given.lo is not None and known_lt(given.lo, condition.right, self.declared) is True else None
        return said if given.hi is not None and known_le(condition.right, given.hi, self.declared) is True else None

    def _size_breach(self, left: Dim, relation: str, right: Dim) -> str | None:
        """What is said of one size and breaks the relation, whatever the other sizes are.

        Bounds of each say nothing of sizes together: `past=0..60` and `seq=1..8` may well mean at most 64. Nor does
        `seq=..8` say that there is a size of 0.
        """
        ways = ("<=", ">=") if relation == "==" else (relation,)
        conditions = [Condition(left, way, right) for way in ways]
        names = sorted(free_symbols(left) | free_symbols(right))
        for name in names:
            given = self.declared.bounds(symbol(name))
            if given.hi is None:
                continue  # nothing is said of large sizes
            if len(names) == 1:
                found = counterexample(conditions, self.declared)
                size = found[0][1] if found else None
            else:
                ends = (end for end in (given.hi, given.lo) if end is not None)
                size = next((end for end in ends if any(self._surely_breaks(c, name, end) for c in conditions)), None)
            if size is not None and size != 0:
                return f"{name}={_text(given)}"
        return None

    def _surely_breaks(self, condition: Condition, name: str, size: int) -> bool:
        try:
            gap = substitute(difference(condition), {name: size})
        except (ZeroDivisionError, DimTooLarge):
            return False
        return known_lt(gap, 0, self.declared) is True


def _text(interval: Interval) -> str:
    return f"{'' if interval.lo is None else interval.lo}..{'' if interval.hi is None else interval.hi}"
