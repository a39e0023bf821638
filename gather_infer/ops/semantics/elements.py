"""Arithmetic on single tensor elements, constant or symbolic, exact to the element type.

An element is an int, a float, a bool, an Expr (an integer that the type represents exactly), a Ratio (floats only) or
None (unknown). Constants follow the type to the bit: integers wrap, floats round. A symbolic result is kept only when
no run can wrap or round it; in int32, uint32 and float32 that may rest on a listed assumption ("seq <= 16777216").

Rounding   + - * / of float16, bfloat16 and float32 may be computed in float64 and rounded again: with 53 >= 2p + 2 bits
           double rounding is exact.
Quotients  floor(fl(a/b)) == floor(a/b), and the same for ceil, for integers |a| <= 2^p, b >= 1, p the bits of the
           significand. fl is monotone and integers up to 2^p are exact, so only fl(a/b) == n for some integer n > 0
           with a/b != n could go wrong (signs are symmetric, 0 is never reached). Let 2^e <= n < 2^(e+1).
           a/b = n + r/b, r >= 1: needs r/b <= 2^(e-p), half the spacing above n, so r*2^p <= b*2^e <= b*n = a - r.
           a/b = n - r/b, 1 <= r < b, 2^e < n: needs r*2^p <= b*2^e <= b*(n - 1) = a + r - b < a.
           a/b = n - r/b, 2^e = n, half the spacing below is 2^(e-p-1): needs r*2^(p+1) <= b*n = a + r <= 2^p + r.
           All three contradict |a| <= 2^p.
Products   floor(fl(n*c)) == floor(n*s/t), and the same for ceil, for a constant c = s/t*(1 + e) with |e| < 2^-(p+1) and
           integers |n|*s + t <= 2^(p-1): c is 0.7 or 1.7 rounded to the type. Let n > 0, m = floor(n*s/t). If m is
           n*s/t, it is the nearest number to n*c: they are m*|e| < m*2^-(p+1) apart, and half the spacing on either
           side of m is at least as much. If not, n*s/t is at least 1/t from m and m + 1, and fl(n*c) less than
           (m + 1)*2^-(p+1) + (m + 1)*2^-p from n*s/t, which is at most 1/t because (m + 1)*t <= n*s + t.
"""

from __future__ import annotations

import fractions
import math
from typing import TypeAlias, TypeGuard

import numpy as np

from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, ceildiv, floordiv, known_eq, known_le, known_lt, maximum, minimum, truncdiv
from gather_infer.symbolic import mod as floor_mod
from gather_infer.tensor import INTEGER_RANGE, DType, Ratio
from gather_infer.value_ranges import cannot_wrap, is_within

Element: TypeAlias = "int | float | Expr | Ratio | None"

EXACT_BITS = {DType.FLOAT64: 53, DType.FLOAT32: 24, DType.FLOAT16: 11, DType.BFLOAT16: 8}
"""Bits of the significand: integers up to 2 to this power are exact."""

MAX_FACTOR = 1 << 12
"""Limit for numerator and denominator of a constant factor of a symbolic float; beyond it results are rarely exact."""


def wrap(value: int, dtype: DType) -> int:
    """`value` wrapped to `dtype` in two's complement."""
    least, most = INTEGER_RANGE[dtype]
    return value if least <= value <= most else (value - least) % (most - least + 1) + least


def round_float(value: float, dtype: DType) -> float | None:
    """`value`, an int or a float, rounded to the float type `dtype`.

    None for types below 16 bits, and for BFLOAT16 when `value` is not a float32 number: rounding twice might be wrong.
    """
    with np.errstate(all="ignore"):
        if dtype is DType.FLOAT32:
            if isinstance(value, int) and -(2**63) <= value < 2**64:
                whole = np.int64(value) if value < 2**63 else np.uint64(value)
                return float(whole.astype(np.float32))
            return float(np.float32(value))
        if dtype is DType.FLOAT64:
            return float(value)
        if dtype is DType.FLOAT16:
            return float(np.float16(value))
    if dtype is DType.BFLOAT16:
        return _round_bfloat16(float(value))
    return None


def _round_bfloat16(value: float) -> float | None:
    with np.errstate(all="ignore"):
        single = np.float32(value)
    if not math.isfinite(single):
        return float(single)
    if float(single) != value:
        return None  # avoid double rounding
    bits = int(single.view(np.uint32))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return float(np.uint32(bits).view(np.float32))


def to_element(op: OpCall, value: Dim, dtype: DType) -> Element:
    """An exact integer result `value` as an element of `dtype`.

    A number is wrapped or rounded to the type. A symbolic value is kept; the result is None when it may wrap or round.
    """
    if isinstance(value, int):
        return wrap(value, dtype) if dtype in INTEGER_RANGE else round_float(value, dtype)
    return value if is_representable(op, value, dtype) else None


def is_representable(op: OpCall, value: Expr, dtype: DType) -> bool:
    """Whether `dtype` represents the integer `value` exactly, in every run or under a listed assumption."""
    if dtype is DType.INT64 or dtype is DType.FLOAT64:
        return cannot_wrap(value)  # expressions in sizes stay below 2^53
    if dtype is DType.UINT64:
        return cannot_wrap(value) and known_le(0, value, op.scope) is True
    if dtype in INTEGER_RANGE:
        least, most = INTEGER_RANGE[dtype]
        return is_within(op, value, least, most, may_assume=most >= 2**31 - 1)
    if dtype not in EXACT_BITS:
        return False
    limit = 1 << EXACT_BITS[dtype]
    return is_within(op, value, -limit, limit, may_assume=dtype is DType.FLOAT32)


def is_number(element: object) -> TypeGuard[int | float]:
    """Whether an element is a known number."""
    return isinstance(element, (int, float))


Fraction: TypeAlias = "tuple[Dim, int]"

MAX_TERM = 1000
"""Limit for numerator and denominator when a rounded constant is recognized as a fraction."""


def scaled(op: OpCall, n: Expr, c: float, dtype: DType) -> Element:
    """A Ratio with the floor and the ceiling of n*c, where c is a simple fraction rounded to `dtype`; else None.

    Proof: Products in the docstring of the module.
    """
    if dtype not in (DType.FLOAT32, DType.FLOAT64) or not 0 < c <= MAX_TERM:
        return None
    near = fractions.Fraction(c).limit_denominator(MAX_TERM)
    if not near.denominator > 1 or not 0 < near.numerator <= MAX_TERM:
        return None
    bits = EXACT_BITS[dtype]
    error = fractions.Fraction(c) / near - 1
    if not -1 < error * 2 ** (bits + 1) < 1:
        return None
    num = n * near.numerator
    limit = 2 ** (bits - 1) - near.denominator
    if dtype is DType.FLOAT32 and not (isinstance(num, Expr) and is_within(op, num, -limit, limit, may_assume=True)):
        return None
    return _ratio(op, num, near.denominator, dtype)


def _exact(element: Element) -> Fraction | None:
    """The exact value of an element as (num, den), den a power of two; None when it is unknown, infinite or rounded."""
    if isinstance(element, (int, Expr)):
        return element, 1
    if isinstance(element, float):
        return element.as_integer_ratio() if math.isfinite(element) else None
    if isinstance(element, Ratio) and element.is_exact:
        return element.num, element.den
    return None


def _is_simple(fraction: Fraction) -> bool:
    num, den = fraction
    return isinstance(num, Expr) or (abs(num) <= MAX_FACTOR and den <= MAX_FACTOR)


def _ratio(op: OpCall, num: Dim, den: int, dtype: DType) -> Element:
    """num / den as an element of the float type `dtype`; rounded when den is not a power of two.

    None when the quotient cannot be represented, for example where `num` may be too large.
    """
    if isinstance(num, int):
        return None if den == 0 else round_float(num / den, dtype) if abs(num) <= 2**53 else None
    whole = floordiv(num, den)
    if whole * den == num:
        return to_element(op, whole, dtype)
    if dtype not in EXACT_BITS or not is_representable(op, num, dtype):
        return None
    return Ratio(num, den)


def _is_huge(x: Element) -> bool:
    """Whether an element is a constant so large (as for "no limit") that arithmetic with sizes may wrap."""
    return isinstance(x, int) and not cannot_wrap(x)


def add(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x + y; None when the result is unknown or may be inexact."""
    if x is None or y is None:
        return None
    if is_number(x) and is_number(y):
        if isinstance(x, int) and isinstance(y, int) and dtype in INTEGER_RANGE:
            return wrap(x + y, dtype)
        return round_float(float(x) + float(y), dtype)
    a, b = _exact(x), _exact(y)
    if a is None or b is None or max(a[1], b[1]) > MAX_FACTOR or _is_huge(x) or _is_huge(y):
        return None
    if a[1] == b[1] == 1:
        return to_element(op, a[0] + b[0], dtype)
    return _ratio(op, a[0] * b[1] + b[0] * a[1], a[1] * b[1], dtype)


def sub(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x - y; None when the result is unknown or may be inexact."""
    if isinstance(x, int) and isinstance(y, int) and dtype in INTEGER_RANGE:
        return wrap(x - y, dtype)
    return add(op, dtype, x, _negative(y))


def mul(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x * y; None when the result is unknown or may be inexact."""
    if x is None or y is None:
        return 0 if dtype in INTEGER_RANGE and (_is_zero(x) or _is_zero(y)) else None  # 0.0 * inf is not 0
    if is_number(x) and is_number(y):
        if isinstance(x, int) and isinstance(y, int) and dtype in INTEGER_RANGE:
            return wrap(x * y, dtype)
        return round_float(float(x) * float(y), dtype)
    if dtype in INTEGER_RANGE:
        if not isinstance(x, (int, Expr)) or not isinstance(y, (int, Expr)) or _is_huge(x) or _is_huge(y):
            return None
        return to_element(op, x * y, dtype)
    a, b = _exact(x), _exact(y)
    if a is None or b is None:
        return None
    if not (_is_simple(a) and _is_simple(b)):
        n, c = (x, y) if isinstance(x, Expr) else (y, x)
        return scaled(op, n, c, dtype) if isinstance(n, Expr) and isinstance(c, float) else None
    for zero, other in ((x, b[0]), (y, a[0])):
        if isinstance(zero, (int, float)) and zero == 0:  # a negative factor would turn 0.0 into -0.0
            return zero if known_le(0, other, op.scope) is True else None
    return _ratio(op, a[0] * b[0], a[1] * b[1], dtype)


def div(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x / y; integers round toward zero. None when the result is unknown or inexact, or an integer is divided by 0."""
    if x is None or y is None:
        return None
    if dtype in INTEGER_RANGE:
        return _integer_div(op, dtype, x, y)
    if is_number(x) and is_number(y):
        with np.errstate(all="ignore"):
            return round_float(float(np.float64(x) / np.float64(y)), dtype)
    a, b = _exact(x), _exact(y)
    if a is None or b is None or not isinstance(b[0], int) or b[0] == 0:
        return None
    if b[1] != 1 and not _is_simple(b):
        return None
    num, den = a[0] * b[1], a[1] * b[0]
    return _ratio(op, -num, -den, dtype) if den < 0 else _ratio(op, num, den, dtype)


def _integer_div(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    if not isinstance(x, (int, Expr)) or not isinstance(y, (int, Expr)) or not _is_divisor(op, y):
        return None
    if isinstance(x, int) and isinstance(y, int):
        quotient = abs(x) // abs(y)
        quotient = quotient if (x < 0) == (y < 0) else -quotient
        return quotient if wrap(quotient, dtype) == quotient else None  # minimum / -1 traps
    result = truncdiv(x, y, op.scope)
    return None if result is None else to_element(op, result, dtype)


def _is_divisor(op: OpCall, y: Dim) -> bool:
    """Whether division by the integer `y` is possible; False when `y` is known to be 0.

    Adds the fact y >= 1 for a `y` that is known to be >= 0.
    """
    if isinstance(y, int):
        return y != 0
    if known_le(0, y, op.scope) is True:
        op.add_implied_fact(y - 1)
    return known_eq(y, 0, op.scope) is not True


def mod(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x mod y with the sign of y, for integer types; None when unknown."""
    if not isinstance(x, (int, Expr)) or not isinstance(y, (int, Expr)) or not _is_divisor(op, y):
        return None
    if dtype not in INTEGER_RANGE:
        return None
    if isinstance(y, int) and y < 0:
        return to_element(op, -floor_mod(-x, -y, op.scope), dtype)
    return to_element(op, floor_mod(x, y, op.scope), dtype)


def fmod(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x mod y with the sign of x, as in C; None when unknown."""
    if isinstance(x, (int, Expr)) and isinstance(y, (int, Expr)) and dtype in INTEGER_RANGE:
        if not _is_divisor(op, y):
            return None
        if _is_huge(x) or _is_huge(y):
            return None  # runtimes go through the float64 `fmod`
        if isinstance(x, int) and isinstance(y, int):
            return abs(x) % abs(y) if x >= 0 else -(abs(x) % abs(y))
        quotient = truncdiv(x, y, op.scope)
        return None if quotient is None else to_element(op, x - y * quotient, dtype)
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        if not math.isfinite(x) or math.isnan(y) or y == 0:
            return None
        return round_float(math.fmod(x, y), dtype)
    return None


def power(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x to the power y, for y = 1/2 or an integer y in [0, 64].

    None unless the result is known to be an integer that runtimes compute exactly.
    """
    if not is_number(y) or x is None or isinstance(x, Ratio):
        return None
    if y == 0.5 and isinstance(x, float) and 0 < x < 1 << 24 and x == math.isqrt(int(x)) ** 2 and dtype in EXACT_BITS:
        return float(math.isqrt(int(x)))  # exact for any `pow` with an error below one ulp
    if not isinstance(y, (int, float)) or y != y or not 0 <= y <= 64 or int(y) != y:
        return None
    exponent = int(y)
    if isinstance(x, Expr):
        if exponent > 8:
            return None
        result: Dim = 1
        for _ in range(exponent):
            result = result * x
        return to_element(op, result, dtype)
    if not math.isfinite(x) or int(x) != x or (x == 0 and math.copysign(1, x) < 0):
        return None
    whole = int(x) ** exponent
    # Many runtimes compute integer powers by a float64 `pow`.
    if abs(whole) > 1 << min(53, EXACT_BITS.get(dtype, 53)) or not (dtype in INTEGER_RANGE or dtype in EXACT_BITS):
        return None
    if dtype in INTEGER_RANGE:
        return whole if wrap(whole, dtype) == whole else None
    return float(whole)


def _negative(x: Element) -> Element:
    """-x, not wrapped or rounded to an element type; None when unknown."""
    if isinstance(x, Ratio):
        num = -x.num
        return Ratio(num, x.den) if isinstance(num, Expr) else None
    return None if x is None else -x


def neg(op: OpCall, dtype: DType, x: Element) -> Element:
    """-x; None when unknown."""
    if isinstance(x, int) and dtype not in INTEGER_RANGE:
        return -float(x)
    return to_element(op, -x, dtype) if isinstance(x, (int, Expr)) else _negative(x)


def absolute(op: OpCall, dtype: DType, x: Element) -> Element:
    """The absolute value of x; None when unknown."""
    if x is None:
        return None
    if isinstance(x, (int, float)):
        return to_element(op, abs(x), dtype) if isinstance(x, int) else abs(x)
    num = x.num if isinstance(x, Ratio) else x
    if known_le(0, num, op.scope) is True:
        return x
    if known_le(num, 0, op.scope) is True:
        return neg(op, dtype, x)
    return to_element(op, maximum(x, -x, scope=op.scope), dtype) if isinstance(x, Expr) else None


def sign(op: OpCall, dtype: DType, x: Element) -> Element:
    """-1, 0 or 1, the sign of x; None when unknown, and for NaN and -0.0, where runtimes differ."""
    if isinstance(x, float):
        return None if is_nan(x) or is_negative_zero(x) else math.copysign(1.0, x) if x else x
    if isinstance(x, Ratio):
        x = x.num
    if x is None:
        return None
    return to_element(op, minimum(maximum(x, -1, scope=op.scope), 1, scope=op.scope), dtype)


def floor(op: OpCall, dtype: DType, x: Element) -> Element:
    """x, of a float type, rounded down; None when unknown."""
    if isinstance(x, float):
        return float(np.floor(x))
    return floordiv(x.num, x.den, op.scope) if isinstance(x, Ratio) else x


def ceil(op: OpCall, dtype: DType, x: Element) -> Element:
    """x, of a float type, rounded up; None when unknown."""
    if isinstance(x, float):
        return float(np.ceil(x))
    return ceildiv(x.num, x.den, op.scope) if isinstance(x, Ratio) else x


def round_half_even(op: OpCall, dtype: DType, x: Element) -> Element:
    """x, of a float type, rounded to the nearest integer, halves to the even one; None when unknown."""
    if isinstance(x, float):
        return float(np.rint(x))
    return x if isinstance(x, (int, Expr)) else None


def truncate(op: OpCall, x: Element) -> Dim | None:
    """x, of a float type, rounded toward zero to an integer; None when x is unknown or not finite."""
    if isinstance(x, float):
        return int(x) if math.isfinite(x) else None
    return truncdiv(x.num, x.den, op.scope) if isinstance(x, Ratio) else x


def sqrt(op: OpCall, dtype: DType, x: Element) -> Element:
    """The square root of a known number >= 0, correctly rounded by IEEE 754; else None."""
    if not isinstance(x, (int, float)) or not x >= 0:
        return None
    return round_float(math.sqrt(x), dtype)


def min_of(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """min(x, y), NaN if either is NaN; None when unknown."""
    order = _is_first_less(op, x, y)
    if order is None:
        return minimum(x, y, scope=op.scope) if isinstance(x, (int, Expr)) and isinstance(y, (int, Expr)) else None
    return _nan_or_zero(x, y, x if order else y)


def max_of(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """max(x, y), NaN if either is NaN; None when unknown."""
    order = _is_first_less(op, x, y)
    if order is None:
        return maximum(x, y, scope=op.scope) if isinstance(x, (int, Expr)) and isinstance(y, (int, Expr)) else None
    return _nan_or_zero(x, y, y if order else x)


def _is_first_less(op: OpCall, x: Element, y: Element) -> bool | None:
    return True if is_nan(x) or is_nan(y) else less(op, x, y)


def _nan_or_zero(x: Element, y: Element, chosen: Element) -> Element:
    if is_nan(x) or is_nan(y):
        return math.nan
    if isinstance(x, float) and x == 0.0 and isinstance(y, float) and y == 0.0 and not is_same(x, y):
        return None  # runtimes differ on which of -0.0 and 0.0 they return
    return chosen


def is_nan(x: Element) -> bool:
    """Whether an element is known to be NaN."""
    return isinstance(x, float) and x != x


def is_negative_zero(x: Element) -> bool:
    """Whether an element is known to be -0.0."""
    return isinstance(x, float) and x == 0.0 and math.copysign(1.0, x) < 0


def less(op: OpCall, x: Element, y: Element) -> bool | None:
    """x < y; None when it is unknown or depends on the run."""
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return x < y
    if x is None or y is None:
        return None
    for element, outcome in ((x, -1), (y, 1)):
        if isinstance(element, float) and not math.isfinite(element):
            return element * outcome > 0  # false for NaN
    a, b = _exact(x), _exact(y)
    if a is None or b is None:
        return None
    return known_lt(a[0] * b[1], b[0] * a[1], op.scope)


def equal(op: OpCall, x: Element, y: Element) -> bool | None:
    """x == y; None when it is unknown or depends on the run."""
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return x == y
    if x is None or y is None:
        return None
    a, b = _exact(x), _exact(y)
    if x == y and a is not None:
        return True
    if a is None or b is None:
        return False if any(isinstance(e, float) and not math.isfinite(e) for e in (x, y)) else None
    return known_eq(a[0] * b[1], b[0] * a[1], op.scope)


def is_same(x: Element, y: Element) -> bool:
    """Whether two elements are known to be bit-identical in every run; False for an unknown element."""
    if x is None or y is None or type(x) is not type(y) or (isinstance(x, Ratio) and not x.is_exact):
        return False
    if isinstance(x, float) and isinstance(y, float):
        return x == y and math.copysign(1, x) == math.copysign(1, y)
    return x == y


def _is_zero(x: Element) -> bool:
    return isinstance(x, int) and x == 0
