"""Value ranges of bitwise operations on two's complement integers.

A bound of None is the limit of the element type, as in `value_ranges`.
"""

from __future__ import annotations

from gather_infer import spans
from gather_infer.symbolic import Dim, Scope, floordiv
from gather_infer.tensor import INTEGER_RANGE, DType, Span


def width_of(dtype: DType) -> int:
    """Width in bits of an integer type."""
    least, most = INTEGER_RANGE[dtype]
    return (most - least).bit_length()


def left(x: Span, by: Span, width: int, scope: Scope) -> Span:
    """x << by, which is x * 2**by; unbounded when the shift may reach the width."""
    amount = _within(by, width)
    return spans.ANY if amount is None else spans.mul(x, Span(1 << amount[0], 1 << amount[1]), scope)


def right(x: Span, by: Span, width: int, scope: Scope) -> Span:
    """x >> by, rounded down; when the shift may reach the width, an x >= 0 still bounds the result."""
    amount = _within(by, width)
    if amount is None:
        return Span(0, x.hi) if spans.is_never_negative(x, scope) else spans.ANY
    least, most = amount
    if least == most:
        return Span(_floor(x.lo, least, scope), _floor(x.hi, least, scope))
    if spans.is_never_negative(x, scope):
        return Span(_floor(x.lo, most, scope), _floor(x.hi, least, scope))
    return spans.ANY


def _within(by: Span, width: int) -> tuple[int, int] | None:
    if isinstance(by.lo, int) and isinstance(by.hi, int) and 0 <= by.lo <= by.hi < width:
        return by.lo, by.hi
    return None


def _floor(end: Dim | None, by: int, scope: Scope) -> Dim | None:
    return None if end is None else floordiv(end, 1 << by, scope)


def both(x: Span, y: Span, scope: Scope) -> Span:
    """x & y: at most each operand that is >= 0"""
    masks = [Span(0, s.hi) for s in (x, y) if spans.is_never_negative(s, scope)]
    if masks:
        return spans.least(masks[0], masks[-1], scope)
    ends = _ends(x, y)
    return spans.ANY if ends is None else Span(-(1 << _bits(*ends)), max(ends))


def either(x: Span, y: Span, scope: Scope) -> Span:
    """x | y: for operands >= 0 at least the larger one, at most their sum"""
    ends = _ends(x, y)
    if spans.is_never_negative(x, scope) and spans.is_never_negative(y, scope):
        found = Span(spans.most(x, y, scope).lo, spans.add(x, y, scope).hi)
        return found if ends is None else spans.both(found, Span(0, (1 << _bits(*ends)) - 1), scope)
    return spans.ANY if ends is None else Span(min(ends), (1 << _bits(*ends)) - 1)


def one(x: Span, y: Span, scope: Scope) -> Span:
    """x ^ y: for operands >= 0 at most x | y"""
    if spans.is_never_negative(x, scope) and spans.is_never_negative(y, scope):
        return Span(0, either(x, y, scope).hi)
    ends = _ends(x, y)
    return spans.ANY if ends is None else Span(-(1 << _bits(*ends)), (1 << _bits(*ends)) - 1)


def turned(x: Span, dtype: DType, scope: Scope) -> Span:
    """~x, which is -1 - x; for an unsigned type its largest number minus x"""
    least, most = INTEGER_RANGE[dtype]
    last = -1 if least < 0 else most
    return spans.sub(Span(last, last), x, scope)


def _ends(x: Span, y: Span) -> tuple[int, ...] | None:
    ends = (x.lo, x.hi, y.lo, y.hi)
    numbers = tuple(end for end in ends if isinstance(end, int))
    return numbers if len(numbers) == len(ends) else None


def _bits(*ends: int) -> int:
    """Bits, without the sign, that numbers within these bounds need."""
    return max((end if end >= 0 else ~end).bit_length() for end in ends)
