"""Exact rational arithmetic on dims: the values between the operators of an expression.

`/` divides exactly, as in sympy: `floor(W/2 - 1/2)` floors the ratio (W - 1)/2, and no part of it is rounded earlier.
A value that floats have rounded is marked. Rounding it to an integer is exact for every size below 2^52, and any other
operation on it is refused, since its result would depend on the digits that the float has lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isqrt
from typing import Final, NoReturn

from gather_infer.symbolic.division import ceildiv, floordiv, mod, truncdiv
from gather_infer.symbolic.evaluate import evaluate
from gather_infer.symbolic.min_max import maximum, minimum
from gather_infer.symbolic.normal_form import Atom, Dim, Expr, Symbol, from_terms, terms_of

__all__ = [
    "ExactRatio",
    "InexactValue",
    "absolute",
    "broadcast",
    "ceiling",
    "difference",
    "dim_of",
    "float_quotient",
    "floor",
    "floor_quotient",
    "largest",
    "nearest",
    "negative",
    "product_of",
    "quotient",
    "remainder",
    "sign",
    "smallest",
    "square_root",
    "sum_of",
    "truncated",
]

_MAX_RESIDUES: Final = 1024
"""Residues that the proof that a fraction is an integer may try."""


class InexactValue(ArithmeticError):
    """A value that has no exact form: a fraction that need not be an integer, a root, or a rounded float."""


@dataclass(frozen=True, slots=True)
class ExactRatio:
    """The value num / den, which need not be an integer; undefined where den is 0.

    is_rounded   the writer computed it as a float, which may differ from num / den in the last bit
    """

    num: Dim
    den: Dim = 1
    is_rounded: bool = False


def dim_of(value: ExactRatio) -> Dim:
    """The ratio as a dim. Raises InexactValue unless it is an integer for every size.

    A fraction of symbols alone, `N*(N + 1)/2`, is one if it is for all residues of the symbols, since a polynomial
    modulo d depends on them only modulo d.
    """
    num, den = value.num, value.den
    if isinstance(den, int) and den != 0:
        if den < 0:
            num, den = -num, -den
        if value.is_rounded:
            _refuse_rounded()
        if den == 1:
            return num
        if isinstance(num, int):
            if num % den == 0:
                return num // den
            raise InexactValue(f"{num}/{den} is not an integer")
        elif all(coefficient % den == 0 for _, coefficient in num.terms) or _is_multiple(num, den):
            return floordiv(num, den)
    raise InexactValue("'/' may leave a fraction, expected floor(...), ceil(...) or '//' around it")


def _is_multiple(dim: Expr, number: int) -> bool:
    """Whether the number divides a polynomial in symbols for all their values; False when that is not tried."""
    names = sorted(dim.symbols)
    if number ** len(names) > _MAX_RESIDUES or len(dim.terms) > 32:
        return False
    if not all(isinstance(atom, Symbol) for monomial, _ in dim.terms for atom in monomial):
        return False
    return all(
        evaluate(dim, dict(zip(names, residues, strict=True))) % number == 0
        for residues in product(range(number), repeat=len(names))
    )


def _refuse_rounded() -> NoReturn:
    raise InexactValue("the value depends on how floats round")


def _exact(*values: ExactRatio) -> None:
    if any(value.is_rounded for value in values):
        _refuse_rounded()


def negative(value: ExactRatio) -> ExactRatio:
    """-value; floats are symmetric, so a rounded value stays rounded once."""
    return replace(value, num=-value.num)


def sum_of(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    _exact(a, b)
    if a.den == b.den:
        return ExactRatio(a.num + b.num, a.den)
    return ExactRatio(a.num * b.den + b.num * a.den, a.den * b.den)


def difference(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    return sum_of(a, negative(b))


def product_of(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    _exact(a, b)
    return ExactRatio(a.num * b.num, a.den * b.den)


def quotient(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    """a / b, exact. Raises ZeroDivisionError when b is the constant 0."""
    _exact(a, b)
    if isinstance(b.num, int) and b.num == 0:
        raise ZeroDivisionError
    return ExactRatio(a.num * b.den, a.den * b.num)


def float_quotient(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    """a / b as a float, rounded once. A division by a power of 2 is exact."""
    result = quotient(a, b)
    den = result.den
    return replace(result, is_rounded=not (isinstance(den, int) and den & (den - 1) == 0))


def floor(value: ExactRatio) -> ExactRatio:
    return ExactRatio(floordiv(value.num, value.den))


def ceiling(value: ExactRatio) -> ExactRatio:
    return ExactRatio(ceildiv(value.num, value.den))


def truncated(value: ExactRatio) -> ExactRatio:
    """The value rounded toward 0. Raises InexactValue when the sign of its denominator is unknown."""
    result = truncdiv(value.num, value.den)
    if result is None:
        raise InexactValue(f"the sign of {value.den} is unknown, so it is open which way the quotient is truncated")
    return ExactRatio(result)


def nearest(value: ExactRatio) -> ExactRatio:
    """The value rounded to the nearest integer, ties to the even one, as Python's `round`."""
    twice = 2 * value.den
    above = 2 * value.num + value.den
    # floor(x + 1/2) is odd at a tie between an even number and the odd one above it
    upper = floordiv(above, twice)
    is_tie = 1 - _indicator(mod(above, twice))
    return ExactRatio(upper - is_tie * mod(upper, 2))


def _indicator(dim: Dim) -> Dim:
    """0 where the dim is 0, else 1."""
    return minimum(maximum(dim, -dim), 1)


def floor_quotient(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    return floor(quotient(a, b))


def remainder(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    """a - b*floor(a / b), which has the sign of b."""
    _exact(a, b)
    if a.den == 1 == b.den:
        return ExactRatio(mod(a.num, b.num))
    return difference(a, product_of(b, floor_quotient(a, b)))


def largest(values: Sequence[ExactRatio]) -> ExactRatio:
    return _extreme(values, maximum)


def smallest(values: Sequence[ExactRatio]) -> ExactRatio:
    return _extreme(values, minimum)


def _extreme(values: Sequence[ExactRatio], choose: Callable[..., Dim]) -> ExactRatio:
    """The extremum over a common denominator. Raises InexactValue unless each denominator is a number."""
    _exact(*values)
    common = 1
    for value in values:
        if not isinstance(value.den, int):
            raise InexactValue("the sign of a denominator under min or max is unknown")
        common *= abs(value.den)
    scaled = [value.num * (common // value.den) for value in values if isinstance(value.den, int)]
    return ExactRatio(choose(*scaled), common)


def absolute(value: ExactRatio) -> ExactRatio:
    return replace(largest([replace(value, is_rounded=False), negative(replace(value, is_rounded=False))]),
                   is_rounded=value.is_rounded)  # fmt: skip


def sign(value: ExactRatio) -> ExactRatio:
    """-1, 0 or 1. Raises InexactValue unless the denominator is a number."""
    if not isinstance(value.den, int):
        raise InexactValue(f"the sign of {value.den} is unknown")
    num = value.num if value.den > 0 else -value.num
    return ExactRatio(maximum(minimum(num, 1), -1))


def broadcast(a: ExactRatio, b: ExactRatio) -> ExactRatio:
    """The size of two axes that broadcast: b where a is 1, else a."""
    first, second = dim_of(a), dim_of(b)
    return ExactRatio(second + (first - second) * _indicator(first - 1))


def square_root(value: ExactRatio) -> ExactRatio:
    """The root of a perfect square. Raises InexactValue for any other value."""
    _exact(value)
    root_of_den = isqrt(value.den) if isinstance(value.den, int) and value.den > 0 else 0
    if root_of_den and root_of_den**2 == value.den and len(terms_of(value.num)) < 2:
        found: Dim = 0
        for monomial, coefficient in terms_of(value.num):
            pairs, left = _halved(monomial)
            if left or coefficient < 0 or isqrt(coefficient) ** 2 != coefficient:
                break
            found = from_terms({pairs: isqrt(coefficient)})
        else:
            return ExactRatio(found, root_of_den)
    raise InexactValue("a root that need not be an integer")


def _halved(monomial: tuple[Atom, ...]) -> tuple[tuple[Atom, ...], bool]:
    """Every second atom of a sorted product, and whether it is no square of symbols, which are >= 0."""
    is_square = monomial[::2] == monomial[1::2] and all(isinstance(atom, Symbol) for atom in monomial)
    return monomial[::2], not is_square
