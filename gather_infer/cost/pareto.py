"""Pareto front of the program points whose live bytes may be the peak, pruned while points are added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gather_infer.cost.prefilter import LARGE, Samples, Values
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim, Scope, free_symbols, known_le, substitute, symbol
from gather_infer.symbolic.normal_form import terms_of


@dataclass(frozen=True, slots=True)
class ProgramPoint:
    """The number of bytes of activations that are live while `node` runs; None is the point before the first node."""

    live: Dim
    node: NodePath | None


class ParetoSet:
    """Program points in order of insertion, without those that another point dominates.

    A point dominates another if it is proved to have at least as many live bytes in every run.

    scope   facts about the symbols
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.points: list[ProgramPoint] = []
        self._samples = Samples(scope)
        self._values: list[Values] = []
        self._seen: set[Dim] = set()

    def add(self, point: ProgramPoint) -> None:
        """Insert `point` unless an existing point dominates it, and drop the points that `point` dominates."""
        if point.live in self._seen:
            return
        self._seen.add(point.live)
        values = self._samples.values(point.live)
        # Dominance at all samples is necessary for dominance, so only then is a proof attempted.
        for other, theirs in zip(self.points, self._values, strict=True):
            if (values <= theirs).all() and self._at_most(point.live, other.live):
                return
        kept = [
            (other, theirs)
            for other, theirs in zip(self.points, self._values, strict=True)
            if not ((theirs <= values).all() and self._at_most(other.live, point.live))
        ]
        self.points = [*(other for other, _ in kept), point]
        self._values = [*(theirs for _, theirs in kept), values]

    def largest_first(self) -> list[ProgramPoint]:
        """The points by descending live bytes at the sample where all symbols are large."""
        return sorted(self.points, key=lambda moment: -self._samples.values(moment.live)[LARGE])

    def extend(self, points: Sequence[ProgramPoint]) -> None:
        for moment in points:
            self.add(moment)

    def _at_most(self, a: Dim, b: Dim) -> bool:
        """Whether a <= b is proved: by the signs of the terms of b - a if it is a polynomial, else by `known_le`."""
        difference = b - a
        # A polynomial in symbols shifted to start at 0 is never negative if no coefficient is.
        if all(atom.is_symbol for monomial, _ in terms_of(difference) for atom in monomial):
            return all(value >= 0 for _, value in terms_of(self._beyond_bounds(difference)))
        return known_le(a, b, self.scope) is True

    def _beyond_bounds(self, dim: Dim) -> Dim:
        """`dim` with each symbol replaced by symbol + lower bound, so that the new symbols start at 0."""
        least = {name: self.scope.symbol_bounds(name).lo or 0 for name in free_symbols(dim)}
        return substitute(dim, {name: symbol(name) + lo for name, lo in least.items() if lo})
