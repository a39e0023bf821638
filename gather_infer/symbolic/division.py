"""Division of dims: `//` and `%` round toward minus infinity, `truncdiv` toward zero.

Every identity below keeps the divisor, so that the result is undefined exactly where `a // b` is, or requires `b != 0`.
An identity that requires `b > 0` may be used when `b >= 0` is known: where b is 0 both sides are undefined.
"""

from __future__ import annotations

from math import gcd

from gather_infer.symbolic.interval import Interval
from gather_infer.symbolic.min_max import maximum
from gather_infer.symbolic.normal_form import (
    Dim,
    Expr,
    FloorDiv,
    Monomial,
    constant_term,
    floordiv_atom,
    from_terms,
    terms_of,
)
from gather_infer.symbolic.scope import DEFAULT, Scope

__all__ = ["ceildiv", "floordiv", "mod", "truncdiv"]

_MAX_STEPS = 64


def floordiv(a: Dim, b: Dim, scope: Scope | None = None) -> Dim:
    """a // b, rounded toward minus infinity. Raises ZeroDivisionError when b is the constant 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if scope is None:
        scope = DEFAULT
    key = ("//", a, b)
    result = scope.results.get(key)
    if result is None:
        result = _divide(a, b, scope)
        scope.results[key] = result
    return result


def mod(a: Dim, b: Dim, scope: Scope | None = None) -> Dim:
    """a % b == a - b*(a // b); the result has the sign of b."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return a - b * floordiv(a, b, scope)


def ceildiv(a: Dim, b: Dim, scope: Scope | None = None) -> Dim:
    """a / b rounded toward plus infinity."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    sign = (DEFAULT if scope is None else scope).bounds(b)
    # -(-a // b) == (a + b - 1) // b                                                      b > 0
    if sign.lo is not None and sign.lo >= 0:
        return floordiv(a + b - 1, b, scope)
    return -floordiv(-a, b, scope)


def truncdiv(a: Dim, b: Dim, scope: Scope | None = None) -> Dim | None:
    """a / b rounded toward zero, as ONNX divides integers; None when the sign of b is unknown."""
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b)
        return quotient if (a >= 0) == (b >= 0) else -quotient
    known = DEFAULT if scope is None else scope
    divisor = known.bounds(b)
    if divisor.hi is not None and divisor.hi <= 0:
        a, b = -a, -b
    elif divisor.lo is None or divisor.lo < 0:
        return None
    dividend = known.bounds(a)
    if dividend.lo is not None and dividend.lo >= 0:
        return floordiv(a, b, scope)
    if dividend.hi is not None and dividend.hi <= 0:
        return -floordiv(-a, b, scope)
    return floordiv(maximum(a, 0, scope=scope), b, scope) - floordiv(maximum(-a, 0, scope=scope), b, scope)


def _divide(a: Dim, b: Dim, scope: Scope) -> Dim:
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        if b < 0:
            # a // -b == -a // b
            a, b = -a, -b
        if b == 0:
            raise ZeroDivisionError(f"{a} is divided by 0")
        return a if b == 1 else _by_constant(a, b, scope)
    if b.terms[0][1] < 0:
        return _divide(-a, -b, scope)
    return _by_symbolic(a, b, scope)


def _by_constant(a: Dim, c: int, scope: Scope) -> Dim:
    """a // c for a constant c > 1."""
    if isinstance(a, int):
        return a // c
    if a.terms[0][1] < 0:
        # -a // c == -((a + c - 1) // c)                                                  c > 0
        return -_by_constant(-a + (c - 1), c, scope)
    # (c*q + r) // c == q + r // c. The coefficients of r keep their sign, its constant is in [0, c).
    quotient: dict[Monomial, int] = {}
    remainder: dict[Monomial, int] = {}
    for monomial, k in a.terms:
        q = (k // c if k > 0 else -(-k // c)) if monomial else k // c
        quotient[monomial] = q
        remainder[monomial] = k - q * c
    if any(quotient.values()):
        return from_terms(quotient) + _by_constant(from_terms(remainder), c, scope)
    k = constant_term(a)
    # (g*a + k) // (g*c) == (a + k//g) // c                                               g > 0
    g = gcd(c, *(coefficient for monomial, coefficient in a.terms if monomial))
    if g > 1:
        return _divide(_divided_exactly(a - k, g) + k // g, c // g, scope)
    merged = _merged(a, c, scope)
    if merged is not None:
        return merged
    for g in sorted({k for monomial, k in a.terms if monomial and 1 < k < c and c % k == 0}, reverse=True):
        # (g*u + v) // (g*m) == u // m                                                    0 <= v < g, m > 0
        shorter = _without_low_digit(a, g, scope)
        if shorter is not None:
            return _divide(shorter, c // g, scope)
    bounds = scope.bounds(a) // Interval(c, c)
    if bounds.lo is not None and bounds.lo == bounds.hi:
        return bounds.lo
    return floordiv_atom(a, c)


def _by_symbolic(a: Dim, b: Expr, scope: Scope) -> Dim:
    """a // b where the leading coefficient of b is positive."""
    divisor = scope.bounds(b)
    if divisor.lo is not None and divisor.lo == divisor.hi and divisor.lo != 0:
        return _divide(a, divisor.lo, scope)
    is_nonzero = scope.divisors_are_nonzero or 0 not in divisor
    is_positive = divisor.lo is not None and divisor.lo >= 0  # where a // b is defined
    if isinstance(a, int) and a == 0:
        # 0 // b == 0                                                                     b != 0
        return 0 if is_nonzero else floordiv_atom(a, b)

    # (b*q + r) // b == q + r // b; for r == 0 the divisor is gone, which needs           b != 0
    quotient, remainder = _long_division(a, b)
    if isinstance(remainder, int) and remainder == 0:
        return quotient if is_nonzero else floordiv_atom(a, b)
    if not isinstance(quotient, int) or quotient != 0:
        return quotient + _divide(remainder, b, scope)

    # (g*a + k) // (g*b) == (a + k//g) // b                                               g > 0, and b > 0 if k % g
    k = constant_term(a)
    g = gcd(*(coefficient for _, coefficient in b.terms), *(c for monomial, c in terms_of(a) if monomial))
    if g > 1 and (is_positive or k % g == 0):
        return _divide(_divided_exactly(a - k, g) + k // g, _divided_exactly(b, g), scope)
    # (s*a) // (s*b) == a // b                                                            s != 0
    for atom in dict.fromkeys(b.terms[0][0]):
        if not all(atom in monomial for monomial, _ in b.terms + terms_of(a)):
            continue
        if scope.divisors_are_nonzero or 0 not in scope.bounds(atom):
            return _divide(_without(a, atom), _without(b, atom), scope)
    if is_positive:
        if isinstance(a, Expr):
            merged = _merged(a, b, scope)
            if merged is not None:
                return merged
            if len(b.terms) == 1 and scope is not DEFAULT:
                for digit in _digits(a, b):
                    shorter = _without_low_digit(a, digit, scope)
                    if shorter is not None:
                        # (g*u + v) // (g*m) == u // m                                    0 <= v < g, m > 0
                        rest = _divided_exactly(b, digit) if isinstance(digit, int) else _without(b, digit)
                        return _divide(shorter, rest, scope)
            if a.terms[0][1] < 0:
                # -a // b == -1 - (a - 1) // b                                            b > 0
                return -1 - _divide(-a - 1, b, scope)
        # a // b == 0 for 0 <= a < b, which implies b > 0; a // b == -1 for -b <= a < 0
        dividend = scope.bounds(a)
        if dividend.lo is not None and dividend.lo >= 0:
            gap = scope.bounds(b - 1 - a).lo
            if gap is not None and gap >= 0:
                return 0
        elif dividend.hi is not None and dividend.hi < 0:
            gap = scope.bounds(a + b).lo
            if gap is not None and gap >= 0:
                return -1
    return floordiv_atom(a, b)


def _merged(a: Expr, d: Dim, scope: Scope) -> Dim | None:
    """One quotient equal to `a // d` for `a` = x//b + c and d > 0; None when no term of `a` is a lone quotient."""
    for monomial, coefficient in a.terms:
        if len(monomial) != 1 or coefficient not in (1, -1):
            continue
        inner = monomial[0]
        if not isinstance(inner, FloorDiv):
            continue
        x, b = inner.num, inner.den
        if coefficient == 1:
            # (x//b + c) // d == (x + b*c) // (b*d)                                       b != 0, d > 0
            return _divide(x + b * (a - inner), b * d, scope)
        if isinstance(b, int) and b > 0:
            # -(x//b) == (-x + b - 1) // b                                                b > 0
            return _divide(-x + (b - 1) + b * (a + inner), b * d, scope)
    return None


def _digits(a: Expr, b: Expr) -> list[Dim]:
    """Factors of `b`, which has one term, that may be pulled out of `a`: atoms, and numbers, the larger ones first."""
    numbers = {gcd(k, b.terms[0][1]) for monomial, k in a.terms if monomial} - {1}
    return [*dict.fromkeys(b.terms[0][0]), *sorted(numbers, reverse=True)]


def _without_low_digit(a: Expr, g: Dim, scope: Scope) -> Dim | None:
    """`u` if a == g*u + v with 0 <= v < g, so that a // (g*m) == u // m for m > 0; None if that is not known."""
    if scope is DEFAULT:
        return None  # no symbol has an upper bound there
    high: dict[Monomial, int] = {}
    low: dict[Monomial, int] = {}
    for monomial, coefficient in a.terms:
        if isinstance(g, int):
            (high if monomial and coefficient % g == 0 else low)[monomial] = coefficient
        else:
            (high if g in monomial else low)[monomial] = coefficient
    if not high or not low:
        return None
    rest = from_terms(low)
    bounds = scope.bounds(rest)
    if bounds.lo is None or bounds.lo < 0:
        return None
    gap = scope.bounds(g - 1 - rest).lo
    if gap is None or gap < 0:
        return None
    kept = from_terms(high)
    return _divided_exactly(kept, g) if isinstance(g, int) else _without(kept, g)


def _divided_exactly(dim: Dim, g: int) -> Dim:
    return from_terms({monomial: coefficient // g for monomial, coefficient in terms_of(dim)})


def _without(dim: Dim, factor: Expr) -> Dim:
    result: dict[Monomial, int] = {}
    for monomial, coefficient in terms_of(dim):
        at = monomial.index(factor)
        result[monomial[:at] + monomial[at + 1 :]] = coefficient
    return from_terms(result)


def _long_division(a: Dim, b: Expr) -> tuple[Dim, Dim]:
    """(q, r) with a == b*q + r, where no term of r is a multiple of the leading term of b; (0, a) after `_MAX_STEPS`
    steps.
    """
    lead, factor = b.terms[0]
    quotient: Dim = 0
    remainder: Dim = a
    for _ in range(_MAX_STEPS):
        for monomial, coefficient in terms_of(remainder):
            if abs(coefficient) < factor or len(monomial) < len(lead):
                continue
            cofactor = _cofactor(monomial, lead)
            if cofactor is None:
                continue
            times = coefficient // factor if coefficient > 0 else -(-coefficient // factor)
            step = from_terms({cofactor: times})
            quotient = quotient + step
            remainder = remainder - step * b
            break
        else:
            return quotient, remainder
    return 0, a


def _cofactor(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
