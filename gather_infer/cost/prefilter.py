"""Sample evaluation: compares expressions at a few sizes to skip dominance proofs that would fail."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt

from gather_infer.symbolic import Dim, Scope
from gather_infer.symbolic.normal_form import Atom, Extremum, FloorDiv, Min, terms_of

SIZES: Final = (0, 1, 4096, 0, 1, 4096, 3, 61)
"""Sizes that samples assign to symbols."""

LARGE: Final = 2
"""Index of the large size in `SIZES`, and of the sample that assigns it to all symbols."""

POINTS: Final = 24

Values = npt.NDArray[np.float64]


class Samples:
    """Values of dims at `POINTS` samples, in float64: a filter before proofs, so rounding is harmless.

    scope   facts about the symbols; sample sizes are clamped to their bounds
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._atoms: dict[Atom, Values] = {}

    def values(self, dim: Dim) -> Values:
        """The value of `dim` at every sample: all symbols 0, all 1, all 4096, then mixed sizes."""
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
            # no legal run has a divisor of 0
            return np.floor_divide(self.values(atom.num), np.where(divisor == 0, 1, divisor))
        if isinstance(atom, Extremum):
            pick = np.minimum if isinstance(atom, Min) else np.maximum
            return reduce(pick, map(self.values, atom.args))
        return np.array([self._size(atom.name, point) for point in range(POINTS)], float)

    def _size(self, name: str, point: int) -> int:
        """The size of symbol `name` at sample `point`; mixed sizes come from a hash, so they are reproducible."""
        size = SIZES[point if point <= LARGE else crc32(f"{point} {name}".encode()) % len(SIZES)]
        bounds = self.scope.symbol_bounds(name)
        if bounds.hi is not None:
            size = min(size, bounds.hi)
        return size if bounds.lo is None else max(size, bounds.lo)
