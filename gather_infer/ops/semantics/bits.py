"""Value ranges of bitwise operations on two's complement integers.

A bound of None is the limit of the element type, as in `value_ranges`.
"""

from __future__ import annotations

from gather_infer import value_ranges
from gather_infer.symbolic import Dim, Scope, floordiv
from gather_infer.tensor import INTEGER_RANGE, DType, ValueRange


def width_of(dtype: DType) -> int:
    """Width in bits of an integer type."""
    least, most = INTEGER_RANGE[dtype]
    return (most - least).bit_length()


def shift_left(x: ValueRange, by: ValueRange, width: int, scope: Scope) -> ValueRange:
    """Value range of x << by, which is x * 2**by; unbounded unless `by` is known to be in [0, width - 1]."""
    amount = _shift_amounts(by, width)
    return (
        value_ranges.ANY if amount is None else value_ranges.mul(x, ValueRange(1 << amount[0], 1 << amount[1]), scope)
    )


def shift_right(x: ValueRange, by: ValueRange, width: int, scope: Scope) -> ValueRange:
    """Value range of x >> by, which is x // 2**by.

    Unbounded when x may be negative and `by` is not one number in [0, width - 1]. For x >= 0 and a `by` that may be
    outside [0, width - 1], the range is [0, x.hi].
    """
    amount = _shift_amounts(by, width)
    if amount is None:
        return ValueRange(0, x.hi) if value_ranges.is_non_negative(x, scope) else value_ranges.ANY
    least, most = amount
    if least == most:
        return ValueRange(_floor(x.lo, least, scope), _floor(x.hi, least, scope))
    if value_ranges.is_non_negative(x, scope):
        return ValueRange(_floor(x.lo, most, scope), _floor(x.hi, least, scope))
    return value_ranges.ANY


def _shift_amounts(by: ValueRange, width: int) -> tuple[int, int] | None:
    if isinstance(by.lo, int) and isinstance(by.hi, int) and 0 <= by.lo <= by.hi < width:
        return by.lo, by.hi
    return None


def _floor(end: Dim | None, by: int, scope: Scope) -> Dim | None:
    return None if end is None else floordiv(end, 1 << by, scope)


def bitwise_and(x: ValueRange, y: ValueRange, scope: Scope) -> ValueRange:
    """Value range of x & y: if an operand is >= 0, from 0 to the upper bound of that operand."""
    masks = [ValueRange(0, s.hi) for s in (x, y) if value_ranges.is_non_negative(s, scope)]
    if masks:
        return value_ranges.min_of(masks[0], masks[-1], scope)
    ends = _known_bounds(x, y)
    return value_ranges.ANY if ends is None else ValueRange(-(1 << _bits(*ends)), max(ends))


def bitwise_or(x: ValueRange, y: ValueRange, scope: Scope) -> ValueRange:
    """Value range of x | y: for operands >= 0, from the larger one to their sum."""
    ends = _known_bounds(x, y)
    if value_ranges.is_non_negative(x, scope) and value_ranges.is_non_negative(y, scope):
        found = ValueRange(value_ranges.max_of(x, y, scope).lo, value_ranges.add(x, y, scope).hi)
        return found if ends is None else value_ranges.meet(found, ValueRange(0, (1 << _bits(*ends)) - 1), scope)
    return value_ranges.ANY if ends is None else ValueRange(min(ends), (1 << _bits(*ends)) - 1)


def bitwise_xor(x: ValueRange, y: ValueRange, scope: Scope) -> ValueRange:
    """Value range of x ^ y: for operands >= 0, from 0 to the upper bound of x | y."""
    if value_ranges.is_non_negative(x, scope) and value_ranges.is_non_negative(y, scope):
        return ValueRange(0, bitwise_or(x, y, scope).hi)
    ends = _known_bounds(x, y)
    return value_ranges.ANY if ends is None else ValueRange(-(1 << _bits(*ends)), (1 << _bits(*ends)) - 1)


def bitwise_not(x: ValueRange, dtype: DType, scope: Scope) -> ValueRange:
    """Value range of ~x, which is -1 - x; for an unsigned `dtype`, its largest number minus x."""
    least, most = INTEGER_RANGE[dtype]
    last = -1 if least < 0 else most
    return value_ranges.sub(ValueRange(last, last), x, scope)


def _known_bounds(x: ValueRange, y: ValueRange) -> tuple[int, ...] | None:
    ends = (x.lo, x.hi, y.lo, y.hi)
    numbers = tuple(end for end in ends if isinstance(end, int))
    return numbers if len(numbers) == len(ends) else None


def _bits(*ends: int) -> int:
    """Number of bits, without the sign bit, of the widest of `ends`: enough for every number between them."""
    return max((end if end >= 0 else ~end).bit_length() for end in ends)
