"""`min` and `max` of dims in canonical form.

Canonical: n-ary and flat, constants merged into one, dominated arguments dropped, arguments sorted with the constant
first. Terms and factors that all arguments share are moved outside:

    max(a + c, b + c) == max(a, b) + c        c: the terms that all arguments have with one sign
    max(g*a, g*b)     == g*max(a, b)          g: the positive common divisor of all coefficients
    max(s*a, s*b)     == s*max(a, b)          s: a common factor with s >= 0
    max(-a, -b)       == -min(a, b)           when all arguments lead with a minus

The same identities hold with min and max exchanged. `max(0, N - 1)` stays, because its arguments share nothing. `max(1,
N)` is another object, although it equals `max(0, N - 1) + 1`; `known_eq` proves that.
"""

from __future__ import annotations

from math import gcd

from gather_infer.symbolic.normal_form import (
    Atom,
    Dim,
    Extremum,
    Max,
    Min,
    Monomial,
    Symbol,
    from_terms,
    max_atom,
    min_atom,
    terms_of,
)
from gather_infer.symbolic.sampling import has_different_signs
from gather_infer.symbolic.scope import DEFAULT, Scope

__all__ = ["maximum", "minimum"]

_MAX_COMPARED = 12  # arguments; more of them are not compared pair by pair


def minimum(*dims: Dim, scope: Scope | None = None) -> Dim:
    """The minimum of one or more dims."""
    return _memoised(Min, dims, DEFAULT if scope is None else scope)


def maximum(*dims: Dim, scope: Scope | None = None) -> Dim:
    """The maximum of one or more dims."""
    return _memoised(Max, dims, DEFAULT if scope is None else scope)


def _memoised(kind: type[Extremum], dims: tuple[Dim, ...], scope: Scope) -> Dim:
    for dim in dims:
        if not isinstance(dim, int):
            break
    else:
        numbers = [dim for dim in dims if isinstance(dim, int)]
        return min(numbers) if kind is Min else max(numbers)
    key = (kind, dims)
    result = scope.results.get(key)
    if result is None:
        result = _extremum(kind, dims, scope)
        scope.results[key] = result
    return result


def _extremum(kind: type[Extremum], dims: tuple[Dim, ...], scope: Scope) -> Dim:
    args = _undominated(kind, _flattened(kind, dims), scope)
    if len(args) == 1:
        return args[0]
    shared = _shared_addend(args)
    if shared:
        addend = from_terms(shared)
        return _extremum(kind, tuple(arg - addend for arg in args), scope) + addend
    g = gcd(*(coefficient for arg in args for _, coefficient in terms_of(arg)))
    if g > 1:
        return _extremum(kind, tuple(_scaled_down(arg, g) for arg in args), scope) * g
    factor = _shared_factor(args, scope)
    if factor is not None:
        return _extremum(kind, tuple(_without(arg, factor) for arg in args), scope) * factor
    if all((arg <= 0) if isinstance(arg, int) else arg.terms[0][1] < 0 for arg in args):
        return -_extremum(Min if kind is Max else Max, tuple(-arg for arg in args), scope)
    ordered = tuple(sorted(args, key=_argument_order))
    return min_atom(ordered) if kind is Min else max_atom(ordered)


def _argument_order(arg: Dim) -> tuple[int, str]:
    if isinstance(arg, int):
        return (0, "")
    return (1, arg.name) if isinstance(arg, Symbol) else (2, str(arg))


def _flattened(kind: type[Extremum], dims: tuple[Dim, ...]) -> list[Dim]:
    """The arguments by max(max(a, b) + c, d) == max(a + c, b + c, d), without duplicates, with constants merged."""
    found: dict[Dim, None] = {}
    constants: list[int] = []
    todo = list(reversed(dims))
    while todo:
        dim = todo.pop()
        if isinstance(dim, int):
            constants.append(dim)
            continue
        inner = [m[0] for m, c in dim.terms if c == 1 and len(m) == 1 and type(m[0]) is kind]
        if len(inner) == 1:
            nested = inner[0]
            assert isinstance(nested, Extremum)
            rest = dim - nested
            todo.extend(arg + rest for arg in reversed(nested.args))
        else:
            found[dim] = None
    result = list(found)
    if constants:
        result.append(min(constants) if kind is Min else max(constants))
    return result


def _undominated(kind: type[Extremum], args: list[Dim], scope: Scope) -> list[Dim]:
    """Drop x from max(x, y, ...) when x <= y is known, and from min(x, y, ...) when x >= y is known."""
    if len(args) < 2 or len(args) > _MAX_COMPARED:
        return args
    kept: list[Dim] = []
    for candidate in sorted(args, key=_argument_order):
        beaten = False
        for other in list(kept):
            gap = other - candidate
            if not isinstance(gap, int) and has_different_signs(gap, scope.samples, scope.relevant_facts(gap)):
                continue  # so its bounds have different signs too
            difference = scope.bounds(gap)
            if kind is Min:
                difference = -difference
            if difference.lo is not None and difference.lo >= 0:
                beaten = True
                break
            if difference.hi is not None and difference.hi <= 0:
                kept.remove(other)
        if not beaten:
            kept.append(candidate)
    return kept


def _shared_addend(args: list[Dim]) -> dict[Monomial, int]:
    """The monomials that all arguments have with the same sign, each with the coefficient of the smallest magnitude."""
    tables = [dict(terms_of(arg)) for arg in args]
    shared: dict[Monomial, int] = {}
    for monomial in tables[0]:
        column = [table.get(monomial, 0) for table in tables]
        if all(value > 0 for value in column):
            shared[monomial] = min(column)
        elif all(value < 0 for value in column):
            shared[monomial] = max(column)
    return shared


def _shared_factor(args: list[Dim], scope: Scope) -> Atom | None:
    """An atom that is known to be >= 0 and divides all arguments; None if there is none."""
    monomials = [monomial for arg in args for monomial, _ in terms_of(arg)]
    if not monomials or not all(monomials):
        return None
    for atom in monomials[0]:
        if all(atom in monomial for monomial in monomials):
            lo = scope.bounds(atom).lo
            if lo is not None and lo >= 0:
                return atom
    return None


def _without(dim: Dim, factor: Atom) -> Dim:
    result: dict[Monomial, int] = {}
    for monomial, coefficient in terms_of(dim):
        at = monomial.index(factor)
        result[monomial[:at] + monomial[at + 1 :]] = coefficient
    return from_terms(result)


def _scaled_down(dim: Dim, g: int) -> Dim:
    return from_terms({monomial: coefficient // g for monomial, coefficient in terms_of(dim)})
