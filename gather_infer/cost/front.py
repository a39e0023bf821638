"""The largest of many sums, kept few while they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from gather_infer.places import NodePath
from gather_infer.symbolic import Dim, Scope, evaluate, free_symbols, known_le, substitute, symbol
from gather_infer.symbolic.dim import terms_of

SIZES: Final = (0, 1, 4096, 0, 1, 4096, 3, 61)
"""What symbols are tried with."""

LARGE: Final = 2
"""The position of the large one, which is also the point where all symbols have it."""

POINTS: Final = 24
"""Bindings for which two sums are compared before anything is proved."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Bytes of the activations that are live while a node runs; before the first one where `node` is None."""

    live: Dim
    node: NodePath | None


class Front:
    """Moments of which none is known to be beaten by another one in every run, in the order in which they came.

    scope   what is known of the symbols
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.moments: list[Moment] = []
        self._values: list[tuple[int, ...]] = []
        self._seen: set[Dim] = set()

    def add(self, moment: Moment) -> None:
        """Keep the moment, unless one that is kept is at least as large in every run."""
        if moment.live in self._seen:
            return
        self._seen.add(moment.live)
        values = self._tried(moment.live)
        for other, theirs in zip(self.moments, self._values, strict=True):
            if _all_at_most(values, theirs) and self._at_most(moment.live, other.live):
                return
        kept = [
            (other, theirs)
            for other, theirs in zip(self.moments, self._values, strict=True)
            if not (_all_at_most(theirs, values) and self._at_most(other.live, moment.live))
        ]
        self.moments = [*(other for other, _ in kept), moment]
        self._values = [*(theirs for _, theirs in kept), values]

    def extend(self, moments: Sequence[Moment]) -> None:
        for moment in moments:
            self.add(moment)

    def large(self, dim: Dim) -> int:
        """The dim where all symbols are large."""
        return _value(dim, {name: self._size(name, LARGE) for name in free_symbols(dim)})

    def _tried(self, dim: Dim) -> tuple[int, ...]:
        """The dim for some bindings: where one sum is larger than another, nothing has to be proved."""
        if isinstance(dim, int):
            return (dim,) * POINTS
        names = sorted(free_symbols(dim))
        return tuple(_value(dim, {name: self._size(name, point) for name in names}) for point in range(POINTS))

    def _size(self, name: str, point: int) -> int:
        """A size of a symbol, another mixture at each point: first all 0, all 1, all large."""
        size = SIZES[point if point <= LARGE else crc32(f"{point} {name}".encode()) % len(SIZES)]
        bounds = self.scope.symbol_bounds(name)
        if bounds.hi is not None:
            size = min(size, bounds.hi)
        return size if bounds.lo is None else max(size, bounds.lo)

    def _at_most(self, a: Dim, b: Dim) -> bool:
        """Whether a <= b is known: b - a has no negative term, or, where it is no polynomial, it is proved."""
        difference = b - a
        if all(atom.is_symbol for monomial, _ in terms_of(difference) for atom in monomial):
            return all(value >= 0 for _, value in terms_of(self._beyond_bounds(difference)))
        return known_le(a, b, self.scope) is True

    def _beyond_bounds(self, dim: Dim) -> Dim:
        """The dim with what each symbol is beyond the least that it can be in its place."""
        least = {name: self.scope.symbol_bounds(name).lo or 0 for name in free_symbols(dim)}
        return substitute(dim, {name: symbol(name) + lo for name, lo in least.items() if lo})


def _all_at_most(these: Sequence[int], those: Sequence[int]) -> bool:
    return all(a <= b for a, b in zip(these, those, strict=True))


def _value(dim: Dim, sizes: dict[str, int]) -> int:
    try:
        return evaluate(dim, sizes)
    except ZeroDivisionError:
        return 0  # the sizes are those of no run
