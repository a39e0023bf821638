"""Questions about dims, answered `True` or `False` for every binding in scope, or `None`: cannot be decided.

A binding counts when it satisfies the scope and both sides are defined, i.e. no divisor in them is 0.
"""

from __future__ import annotations

from math import gcd

from gather_infer.symbolic.dim import Atom, Dim, DimTooLarge, Expr, Extremum, FloorDiv, Max, constant_term
from gather_infer.symbolic.rebuild import replace, simplify
from gather_infer.symbolic.scope import DEFAULT, Scope

__all__ = ["known_eq", "known_le", "known_lt"]

_MAX_CASES = 32


def known_eq(a: Dim, b: Dim, scope: Scope | None = None) -> bool | None:
    """Whether a == b."""
    if a is b:
        return True
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    if scope is None:
        scope = DEFAULT
    difference = a - b
    if isinstance(difference, int):
        return difference == 0
    bounds = scope.bounds(difference)
    if (bounds.lo is not None and bounds.lo > 0) or (bounds.hi is not None and bounds.hi < 0):
        return False
    if bounds.lo == 0 == bounds.hi:
        return True
    # g*x + k is never 0 when g does not divide k.
    k = constant_term(difference)
    if k % gcd(*(coefficient for monomial, coefficient in difference.terms if monomial)):
        return False
    if _is_nonnegative(difference, scope):
        if _is_nonnegative(-difference, scope):
            return True
        return False if _is_nonnegative(difference - 1, scope) else None
    return False if _is_nonnegative(-difference - 1, scope) else None


def known_le(a: Dim, b: Dim, scope: Scope | None = None) -> bool | None:
    """Whether a <= b."""
    if isinstance(a, int) and isinstance(b, int):
        return a <= b
    if a is b:
        return True
    if scope is None:
        scope = DEFAULT
    if _is_nonnegative(b - a, scope):
        return True
    return False if _is_nonnegative(a - b - 1, scope) else None


def known_lt(a: Dim, b: Dim, scope: Scope | None = None) -> bool | None:
    """Whether a < b."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    return known_le(a + 1, b, scope)


def _is_nonnegative(dim: Dim, scope: Scope) -> bool:
    """Whether dim >= 0 is known; False when it is not known."""
    if isinstance(dim, int):
        return dim >= 0
    lo = scope.bounds(dim).lo
    if lo is not None and lo >= 0:
        return True
    hi = scope.bounds(dim).hi
    if hi is not None and hi < 0:
        return False
    if all(isinstance(atom, Expr) and atom.is_symbol for monomial, _ in dim.terms for atom in monomial) and not any(
        True for _ in scope.facts
    ):
        return False
    try:
        return _by_cases(dim, scope.where_defined(), [_MAX_CASES])
    except DimTooLarge:
        return False


def _by_cases(dim: Dim, scope: Scope, budget: list[int]) -> bool:
    """dim >= 0, by trying every argument of a min or max in its place, with what that says of the others."""
    if not isinstance(dim, int):
        try:
            dim = simplify(dim, scope)
        except ZeroDivisionError:
            return True  # defined for no binding in scope
    if isinstance(dim, int):
        return dim >= 0
    lo = scope.bounds(dim).lo
    if lo is not None and lo >= 0:
        return True
    atom = _innermost_extremum(dim)
    if atom is None:
        return False
    budget[0] -= len(atom.args)
    if budget[0] < 0:
        return False
    for chosen in atom.args:
        case = scope.child()
        for other in atom.args:
            if other is not chosen:
                case.require(chosen - other if isinstance(atom, Max) else other - chosen)
        try:
            if not _by_cases(replace(dim, atom, chosen, case), case, budget):
                return False
        except ZeroDivisionError:
            continue
    return True


def _innermost_extremum(dim: Dim) -> Extremum | None:
    if isinstance(dim, int):
        return None
    for monomial, _ in dim.terms:
        for atom in monomial:
            found = _within(atom)
            if found is not None:
                return found
    return None


def _within(atom: Atom) -> Extremum | None:
    parts = (atom.num, atom.den) if isinstance(atom, FloorDiv) else atom.args if isinstance(atom, Extremum) else ()
    for part in parts:
        found = _innermost_extremum(part)
        if found is not None:
            return found
    return atom if isinstance(atom, Extremum) else None
