"""Substitution: rebuild a dim with other symbols, or simplify it with the facts of a scope."""

from __future__ import annotations

from collections.abc import Mapping

from gather_infer.symbolic.division import floordiv
from gather_infer.symbolic.min_max import maximum, minimum
from gather_infer.symbolic.normal_form import Dim, DimTooLarge, Expr, Extremum, FloorDiv, Min, Symbol
from gather_infer.symbolic.sampling import has_different_values
from gather_infer.symbolic.scope import Scope

__all__ = ["normalized", "replace_atom", "simplify", "substitute"]


def substitute(dim: Dim, mapping: Mapping[str, Dim]) -> Dim:
    """The dim with the symbols in `mapping` replaced. A replacement must be >= 0, like the symbol.

    Raises ZeroDivisionError when a divisor becomes the constant 0.
    """
    if isinstance(dim, int) or dim.symbols.isdisjoint(mapping):
        return dim
    if isinstance(dim, Symbol):
        return mapping[dim.name]
    return _Substitution(mapping, {}, None).dim(dim)


def simplify(dim: Dim, scope: Scope) -> Dim:
    """The dim rebuilt with the facts of a scope: `max(0, N - 1)` is `N - 1` when N >= 1.

    Equal to the dim for every binding in scope where the dim is defined. Returns the dim itself when it is defined for
    no binding, or when the result would be too large.
    """
    try:
        return normalized(dim, scope)
    except (ZeroDivisionError, DimTooLarge):
        return dim


def normalized(dim: Dim, scope: Scope) -> Dim:
    """As `simplify`. Raises ZeroDivisionError when a divisor is 0 in scope: the dim is then defined for no binding."""
    return _Substitution({}, {}, scope).dim(dim)


def replace_atom(dim: Dim, old: Expr, new: Dim, scope: Scope) -> Dim:
    """The dim with the atom `old` replaced by `new`, which is equal in `scope`, and simplified with the facts of the
    scope.

    Raises ZeroDivisionError when a divisor becomes 0.
    """
    return _Substitution({}, {old: new}, scope).dim(dim)


class _Substitution:
    """Rebuilds dims bottom up with `floordiv`, `minimum`, `maximum`, `+` and `*`, which apply their identities.

    mapping        replacements of symbols
    rebuilt_dims   memo of results; an initial entry replaces an atom by the given dim
    scope          facts to simplify with; None for a plain substitution
    """

    def __init__(self, mapping: Mapping[str, Dim], rebuilt_dims: dict[Expr, Dim], scope: Scope | None) -> None:
        self.mapping = mapping
        self.rebuilt_dims = rebuilt_dims
        self.scope = scope

    def dim(self, dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        found = self.rebuilt_dims.get(dim)
        if found is None:
            found = self.rebuilt_dims[dim] = self.rebuild(dim)
        return found

    def rebuild(self, dim: Expr) -> Dim:
        scope = self.scope
        if isinstance(dim, Symbol):
            if scope is None:
                return self.mapping.get(dim.name, dim)
            return _as_constant(dim, scope)
        if scope is None and dim.symbols.isdisjoint(self.mapping):
            return dim
        if isinstance(dim, FloorDiv):
            quotient = floordiv(self.dim(dim.num), self.dim(dim.den), scope)
            return quotient if scope is None else _as_constant(quotient, scope)
        if isinstance(dim, Extremum):
            args = [self.dim(arg) for arg in dim.args]
            least = minimum(*args, scope=scope) if isinstance(dim, Min) else maximum(*args, scope=scope)
            return least if scope is None else _as_constant(least, scope)
        result: Dim = 0
        for monomial, coefficient in dim.terms:
            term: Dim = coefficient
            for atom in monomial:
                term = term * self.dim(atom)
            result = result + term
        return result if scope is None else _as_constant(result, scope)


def _as_constant(dim: Dim, scope: Scope) -> Dim:
    """The number that the dim equals if its bounds in scope coincide, else the dim."""
    if not isinstance(dim, int):
        facts = scope.relevant_facts(dim)
        if (facts or not isinstance(dim, Symbol)) and has_different_values(dim, scope.samples, facts):
            return dim  # so its bounds differ
    interval = scope.bounds(dim)
    return interval.lo if interval.lo is not None and interval.lo == interval.hi else dim
