"""Dims that are equal in every run of the first model, in one form."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Final
from zlib import crc32

from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Scope,
    evaluate,
    floordiv,
    free_symbols,
    known_eq,
    known_le,
    simplify,
    substitute,
    symbol,
)
from gather_infer.symbolic.normal_form import Atom, FloorDiv, Symbol, from_terms, terms_of
from gather_infer.symbolic.substitution import replace_atom

SAMPLES: Final = 2
"""Bindings at which dims are evaluated before they are compared."""


class DimTable:
    """Dims that are equal in every run get one form: the first one seen.

    symbols        name -> the dim that the symbol is equal to
    atoms          quotient, minimum or maximum -> the dim that it is equal to
    is_undefined   whether an equation divides by 0 in every run, so that the first model succeeds in none
    """

    def __init__(self, facts: Scope) -> None:
        self.facts = facts
        self.symbols: dict[str, Dim] = {}
        self.atoms: dict[Atom, Dim] = {}
        self.is_undefined = False
        self._forms: dict[Dim, Dim] = {}
        self._by_values: dict[tuple[int, ...], list[Dim]] = {}
        self._quotients: dict[Dim, list[FloorDiv]] = {}

    def equate(self, left: Dim, right: Dim) -> None:
        """Use that two dims are equal in every run in which the first model does not fail."""
        difference = _without_factors(left - right, self.facts)
        self.facts.add_fact(difference)
        self.facts.add_fact(-difference)
        for dim in (left, right):
            for atom in _quotients_of(dim):
                self._quotients.setdefault(atom.num, []).append(atom)
        try:
            difference = substitute(left, self.symbols) - substitute(right, self.symbols)
        except ZeroDivisionError:
            self.is_undefined = True
            return
        left, right = _without_minus(_without_factors(difference, self.facts))
        if left == right:
            return
        if not isinstance(right, Symbol) and isinstance(left, Symbol):
            left, right = right, left
        if isinstance(right, Symbol) and right.name not in free_symbols(left):
            try:
                symbols = {name: substitute(dim, {right.name: left}) for name, dim in self.symbols.items()}
            except ZeroDivisionError:
                self.is_undefined = True
                return
            self.symbols = {**symbols, right.name: left}
        elif isinstance(left, Expr) and isinstance(right, Expr):
            small, large = sorted((left, right), key=lambda dim: dim.size)
            if isinstance(large, Atom):
                self.atoms[large] = small
            self._forms[simplify(large, self.facts)] = self.form(small)

    def form(self, dim: Dim) -> Dim:
        """The form of a dim."""
        if isinstance(dim, int):
            return dim
        found = self._forms.get(dim)
        if found is None:
            try:
                found = self._form(substitute(dim, self.symbols))
            except ZeroDivisionError:  # a divisor is 0 in every run of the first model
                found = dim
            self._forms[dim] = found
        return found

    def _form(self, dim: Dim) -> Dim:
        simple = self._with_equal_atoms(simplify(dim, self.facts))
        if isinstance(simple, int):
            return simple
        if simple in self._forms:
            return self._forms[simple]
        try:
            values = tuple(
                evaluate(simple, {name: self._sample(name, number) for name in simple.symbols})
                for number in range(SAMPLES)
            )
        except ZeroDivisionError:
            return simple
        same = self._by_values.setdefault(values, [])
        for other in same:
            if other is simple or known_eq(other, simple, self.facts) is True:
                return other
        same.append(simple)
        return simple

    def _sample(self, name: str, number: int) -> int:
        """A value of a symbol within its bounds."""
        bounds = self.facts.bounds(symbol(name))
        low = 0 if bounds.lo is None else bounds.lo
        count = 91 if bounds.hi is None else max(1, min(91, bounds.hi - low + 1))
        return low + crc32(f"{name}/{number}".encode()) % count

    def _with_equal_atoms(self, dim: Dim) -> Dim:
        """A dim with the atoms replaced that are equal to others."""
        if isinstance(dim, int) or dim.depth == 1 or not self._quotients:
            return dim
        for atom in dict.fromkeys(_atoms(dim)):
            equal = self.atoms.get(atom)
            if equal is None and isinstance(atom, FloorDiv):
                equal = self._multiple(atom)
            if equal is not None and isinstance(dim, Expr):
                try:
                    dim = replace_atom(dim, atom, equal, self.facts)
                except (ZeroDivisionError, DimTooLarge):
                    return dim
        return dim

    def _multiple(self, atom: FloorDiv) -> Dim | None:
        """`k*(n // (c*k))` if it is equal to the quotient `n // c`, for a quotient in a known equation."""
        for other in self._quotients.get(atom.num, ()):
            if isinstance(atom.den, int) and isinstance(other.den, int) and other.den > atom.den > 0:
                times = other.den // atom.den
                if times * atom.den == other.den and known_eq(atom, times * other, self.facts) is True:
                    return times * other
        return None


def _without_factors(difference: Dim, facts: Scope) -> Dim:
    """A dim that is 0 in the same runs: without the factors of all its terms that are at least 1."""
    if isinstance(difference, int):
        return difference
    monomials = [monomial for monomial, _ in difference.terms]
    for atom in monomials[0]:
        if all(atom in monomial for monomial in monomials) and known_le(1, atom, facts) is True:
            return _without_factors(floordiv(difference, atom, facts), facts)
    return floordiv(difference, gcd(*(coefficient for _, coefficient in difference.terms)))


def _without_minus(difference: Dim) -> tuple[Dim, Dim]:
    """Two dims without negative coefficients, whose difference is the given one."""
    positive = {monomial: k for monomial, k in terms_of(difference) if k > 0}
    negative = {monomial: -k for monomial, k in terms_of(difference) if k < 0}
    return from_terms(positive), from_terms(negative)


def _atoms(dim: Dim) -> Iterator[Atom]:
    """The quotients, minima and maxima in a dim, inner ones first."""
    if isinstance(dim, int) or dim.depth == 1:
        return
    for monomial, _ in dim.terms:
        for atom in monomial:
            for inner in (atom.num, atom.den) if isinstance(atom, FloorDiv) else getattr(atom, "args", ()):
                yield from _atoms(inner)
            if not isinstance(atom, Symbol):
                yield atom


def _quotients_of(dim: Dim) -> Iterator[FloorDiv]:
    if isinstance(dim, Expr):
        for monomial, _ in dim.terms:
            yield from (atom for atom in monomial if isinstance(atom, FloorDiv))
