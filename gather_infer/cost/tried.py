"""Sums at some sizes: where one is larger than another, nobody has to ask whether it never is."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from gather_infer.symbolic import Dim, Scope
from gather_infer.symbolic.dim import Atom, Extremum, FloorDiv, Min, terms_of

SIZES: Final = (0, 1, 4096, 0, 1, 4096, 3, 61)
"""What symbols are tried with."""

LARGE: Final = 2
"""The position of the large one, which is also the point where all symbols have it."""

POINTS: Final = 24

Values = npt.NDArray[np.float64]


class Trial:
    """Values of dims at a number of points, in floats: near enough for a guess, which a proof follows.

    scope   what is known of the symbols: they are tried within their bounds
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._atoms: dict[Atom, Values] = {}

    def values(self, dim: Dim) -> Values:
        """The dim at every point: first with all symbols 0, then 1, then large; then in mixtures."""
        found: Values = np.zeros(POINTS)
        for monomial, coefficient in terms_of(dim):
            found = found + reduce(mul, map(self._atom, monomial), np.full(POINTS, float(coefficient)))
        return found

    def _atom(self, atom: Atom) -> Values:
        found = self._atoms.get(atom)
        if found is None:
            found = self._atoms[atom] = self._of(atom)
        return found

    def _of(self, atom: Any) -> Values:
        if isinstance(atom, FloorDiv):
            divisor = self.values(atom.den)
            # a divisor is never 0 in a run
            return np.floor_divide(self.values(atom.num), np.where(divisor == 0, 1, divisor))
        if isinstance(atom, Extremum):
            pick = np.minimum if isinstance(atom, Min) else np.maximum
            return reduce(pick, map(self.values, atom.args))
        return np.array([self._size(atom.name, point) for point in range(POINTS)], float)

    def _size(self, name: str, point: int) -> int:
        """A size of a symbol, another mixture at each point."""
        size = SIZES[point if point <= LARGE else crc32(f"{point} {name}".encode()) % len(SIZES)]
        bounds = self.scope.symbol_bounds(name)
        if bounds.hi is not None:
            size = min(size, bounds.hi)
        return size if bounds.lo is None else max(size, bounds.lo)
