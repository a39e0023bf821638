"""Value ranges (MLIR: IntegerValueRange): interval arithmetic on the elements of integer tensors, with symbolic bounds.

A bound of None is the limit of the element type. Integer arithmetic wraps, so a sum that may overflow has no bounds:
`[0, None] + [1, 1]` is unbounded on both sides, `[0, None] + [-5, -5]` is `[-5, None]`. A bool counts as 0 or 1.

A bound whose expression is too large becomes None; the functions raise no exceptions for it. `scope` holds the facts
that functions use to compare bounds; None means no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

from gather_infer.rules import OpCall
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Scope,
    ceildiv,
    evaluate,
    floordiv,
    known_le,
    known_lt,
    maximum,
    minimum,
)
from gather_infer.symbolic.normal_form import FloorDiv, Max, Min, constant_term
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, ValueRange

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ANY = ValueRange()
"""The top of the lattice: no bounds."""

MAX_BOUND_SIZE = 64
"""Largest number of nodes in the expression of a bound; larger bounds are dropped, as users could not follow proofs."""

SAMPLE_SIZE = 16
"""A typical size: a bound that is false if every symbol has this size is never assumed."""

HUGE = 1 << 53
"""A number of larger magnitude is treated as "no limit": its sum with a size may overflow int64."""

MAX_FACTOR = 1 << 36
"""Largest sum of coefficients in an expression that is trusted not to overflow int64."""

MAX_SIZES = 8
"""Largest number of factors in a product that is trusted to be an element count; longer products may overflow int64."""


def cannot_wrap(dim: Dim) -> bool:
    """Whether `dim` is trusted to fit in int64: no number beyond HUGE, no huge coefficient, no long product."""
    if isinstance(dim, int):
        return -HUGE <= dim <= HUGE
    terms = [(monomial, abs(factor)) for monomial, factor in dim.terms if monomial]
    is_small = -HUGE <= constant_term(dim) <= HUGE and sum(factor for _, factor in terms) <= MAX_FACTOR
    return is_small and all(
        len(monomial) <= MAX_SIZES and all(map(_atom_cannot_wrap, monomial)) for monomial, _ in terms
    )


def _atom_cannot_wrap(atom: Expr) -> bool:
    match atom:
        case FloorDiv(num=num):
            return cannot_wrap(num)
        case Min(args=args):  # a huge constant stands for "no limit" and does not count
            return all(cannot_wrap(arg) for arg in args if not (isinstance(arg, int) and arg > 0))
        case Max(args=args):
            return all(cannot_wrap(arg) for arg in args if not (isinstance(arg, int) and arg < 0))
    return True


def range_of(tensor: SymbolicTensor, scope: Scope | None = None) -> ValueRange:
    """Bounds of all elements of `tensor`: from its elements if all are known, else `value_range`, else `type_range`."""
    if tensor.values is not None:
        found = range_of_elements(tensor.values.flat, scope)
        if found is not None:
            return found
    if tensor.value_range is not None:
        return tensor.value_range
    return type_range(tensor.dtype)


def explicit_range(tensor: SymbolicTensor, scope: Scope | None = None) -> ValueRange | None:
    """The `value_range` for a copy of `tensor` without `values`; None for other tensors, and if nothing bounds it."""
    if tensor.value_range is not None:
        return tensor.value_range
    if tensor.values is None or tensor.dtype is None or not tensor.dtype.is_integer:
        return None
    span = range_of(tensor, scope)
    return None if span.lo is None and span.hi is None else span


def needs_range(values: npt.NDArray[np.object_] | None) -> bool:
    """Whether a value range adds information to `values`: an element is unknown, or there are no elements.

    The range of an empty tensor bounds elements that are appended to it later, as in a loop.
    """
    return values is None or not values.size or None in values.reshape(-1).tolist()


def type_range(dtype: DType | None) -> ValueRange:
    """The value range of an element type.

    The limits of int64 and the upper limit of uint64 are None, since no proof uses them; ANY for unknown types.
    """
    if dtype is DType.BOOL:
        return ValueRange(0, 1)
    if dtype is None or dtype is DType.INT64 or dtype not in INTEGER_RANGE:
        return ANY
    return ValueRange(0, None) if dtype is DType.UINT64 else ValueRange(*INTEGER_RANGE[dtype])


def range_of_elements(elements: Iterable[object], scope: Scope | None = None) -> ValueRange | None:
    """A range that holds all `elements`; None if an element is unknown or there are no elements.

    It is the smallest such range, except that it is ANY for more than 8 different symbolic elements, and for numbers
    beyond HUGE with symbolic elements.
    """
    numbers: list[int] = []
    symbolic: dict[Expr, None] = {}
    for element in elements:
        if isinstance(element, int):
            numbers.append(int(element))
        elif isinstance(element, Expr):
            symbolic[element] = None
        else:
            return None
    if not symbolic:
        return ValueRange(min(numbers), max(numbers)) if numbers else None
    ends: list[Dim] = list(symbolic)
    if len(ends) > 8:  # a hull of many different sizes is useless and expensive
        return ANY
    if any(not -HUGE <= number <= HUGE for number in numbers):
        return ANY
    low: list[Dim] = [min(numbers)] if numbers else []
    high: list[Dim] = [max(numbers)] if numbers else []
    return ValueRange(_min_of_all([*low, *ends], scope), _max_of_all([*high, *ends], scope))


def hull(*spans: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The lattice join: a range that contains all of `spans`."""
    first = spans[0]
    if all(s == first for s in spans):
        return first
    return ValueRange(_min_of_all([s.lo for s in spans], scope), _max_of_all([s.hi for s in spans], scope))


def meet(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The lattice meet: a range that contains every element that is in both `a` and `b`."""
    return ValueRange(_max_of_known([a.lo, b.lo], scope), _min_of_known([a.hi, b.hi], scope))


def fit(op: OpCall, value_range: ValueRange, dtype: DType | None) -> ValueRange | None:
    """`value_range` as the range of a result of type `dtype`; None if an element may overflow the type and wrap.

    None also if the range is not narrower than that of the type. Symbolic bounds are sizes, which do not reach
    2^63. That they fit in a type of at most 32 bits is proved, or, for 32 bits only, added as an assumption.
    """
    if dtype is None or (dtype not in INTEGER_RANGE and dtype is not DType.BOOL):
        return None
    lower, upper = INTEGER_RANGE.get(dtype, (0, 1))
    lo, hi = value_range.lo, value_range.hi
    if (isinstance(lo, int) and not lower <= lo <= upper) or (isinstance(hi, int) and not lower <= hi <= upper):
        return None
    if lower == 0 and not _at_least(lo, 0, op.scope):
        return None
    if (lo is None and hi is None) or value_range == type_range(dtype):
        return None
    if dtype is not DType.INT64 and dtype is not DType.UINT64:
        for end in (lo, hi):
            if isinstance(end, Expr) and not is_within(op, end, lower, upper, may_assume=upper >= 2**31 - 1):
                return None
    return value_range


def is_within(op: OpCall, dim: Expr, lower: int, upper: int, *, may_assume: bool) -> bool:
    """Whether lower <= dim <= upper is known, or, with `may_assume`, has been added to the assumptions.

    A lower bound of 0 is not assumed, since a difference of sizes may be negative. A bound that is false if all symbols
    are SAMPLE_SIZE is not assumed either.
    """
    bounds = op.scope.bounds(dim)
    low = bounds.lo is not None and bounds.lo >= lower
    high = bounds.hi is not None and bounds.hi <= upper
    if low and high:
        return True
    if not may_assume or (not low and lower == 0) or not (low or known_le(lower, dim, op.scope) is not False):
        return False
    try:
        ordinary = evaluate(dim, dict.fromkeys(dim.symbols, SAMPLE_SIZE))
    except ZeroDivisionError:
        return False
    if not lower <= ordinary <= upper:
        return False
    reason = f"{dim} has to fit in the element type"
    if not high and not op.assume_at_most(dim, upper, reason):
        return False
    return low or op.assume_at_most(-dim, -lower, reason)


P = ParamSpec("P")


def _any_if_too_large(function: Callable[P, ValueRange]) -> Callable[P, ValueRange]:
    """Decorator that returns ANY if `function` raises DimTooLarge because the expression of a bound is too large."""

    @wraps(function)
    def result(*args: P.args, **kwargs: P.kwargs) -> ValueRange:
        try:
            return function(*args, **kwargs)
        except DimTooLarge:
            return ANY

    return result


@_any_if_too_large
def add(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of a + b."""
    if _may_wrap(a, b):
        return ANY
    # The sum may wrap unless both bounds are known, or the other operand only moves away from the unknown bound.
    if a.lo is None or b.lo is None:
        if not ((a.lo is None and _at_least(b.lo, 0, scope)) or (b.lo is None and _at_least(a.lo, 0, scope))):
            return ANY
        lo = None
    else:
        lo = a.lo + b.lo
    if a.hi is None or b.hi is None:
        if not ((a.hi is None and _at_most(b.hi, 0, scope)) or (b.hi is None and _at_most(a.hi, 0, scope))):
            return ANY
        hi = None
    else:
        hi = a.hi + b.hi
    return _bounded(lo, hi)


@_any_if_too_large
def neg(a: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of -a; ANY if `a.lo` is None, since the smallest integer is its own negative."""
    if a.lo is None:
        return ANY
    return _bounded(None if a.hi is None else -a.hi, -a.lo)


@_any_if_too_large
def sub(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of a - b."""
    if _may_wrap(a, b):
        return ANY
    if b.lo is None:  # a - (-2^63) stays in range only for a < 0
        if not _at_most(a.hi, -1, scope):
            return ANY
        hi: Dim | None = None
    elif a.hi is None:
        if not _at_least(b.lo, 0, scope):
            return ANY
        hi = None
    else:
        hi = a.hi - b.lo
    if b.hi is None:  # a - (2^63 - 1) stays in range only for a >= -1
        if not _at_least(a.lo, -1, scope):
            return ANY
        lo: Dim | None = None
    elif a.lo is None:
        if not _at_most(b.hi, 0, scope):
            return ANY
        lo = None
    else:
        lo = a.lo - b.hi
    return _bounded(lo, hi)


@_any_if_too_large
def mul(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of a * b: the extremes of a product are products of bounds."""
    if _may_wrap(a, b):
        return ANY
    for x, y in ((a, b), (b, a)):
        if x.lo == 1 and x.hi == 1:
            return y
        if x.lo == 0 and x.hi == 0:
            return x
    if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
        return ANY
    if _at_least(a.lo, 0, scope) and _at_least(b.lo, 0, scope):
        return _bounded(a.lo * b.lo, a.hi * b.hi)
    corners: list[Dim | None] = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _bounded(_min_of_all(corners, scope), _max_of_all(corners, scope))


@_any_if_too_large
def trunc_div(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of a / b rounded toward zero; ANY unless b >= 1 or b <= -1 is known for all elements."""
    if _at_most(b.hi, -1, scope) and b.hi is not None:
        return neg(trunc_div(a, ValueRange(-b.hi, None if b.lo is None else -b.lo), scope), scope)
    if not _at_least(b.lo, 1, scope):
        return ANY
    assert b.lo is not None, "it is at least 1"
    # Monotone in a; for a given a the quotient is closest to 0 at the largest b. If some a is >= 0, then a.hi >= 0.
    lo: Dim | None = None
    hi: Dim | None = None
    is_positive, is_negative = _at_least(a.lo, 0, scope), _at_most(a.hi, 0, scope)
    if is_positive:
        lo = 0 if a.lo is None or b.hi is None else floordiv(a.lo, b.hi, scope)
    elif a.lo is not None:
        lo = ceildiv(a.lo, b.lo, scope)
        lo = lo if is_negative else minimum(lo, 0, scope=scope)
    if is_negative:
        hi = 0 if a.hi is None or b.hi is None else ceildiv(a.hi, b.hi, scope)
    elif a.hi is not None:
        hi = floordiv(a.hi, b.lo, scope)
        hi = hi if is_positive else maximum(hi, 0, scope=scope)
    return _bounded(lo, hi)


@_any_if_too_large
def mod(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of a mod b with the sign of b; b = 0 is not considered, since runtimes fail."""
    if _at_least(b.lo, 0, scope):
        if _at_least(a.lo, 0, scope):
            if a.hi is not None and b.lo is not None and known_lt(a.hi, b.lo, scope) is True:
                return a
            return _bounded(0, _min_of_known([a.hi, None if b.hi is None else b.hi - 1], scope))
        return _bounded(0, None if b.hi is None else b.hi - 1)
    if _at_most(b.hi, 0, scope):
        return _bounded(None if b.lo is None else b.lo + 1, 0)
    lo = None if b.lo is None else minimum(b.lo + 1, 0, scope=scope)
    hi = None if b.hi is None else maximum(b.hi - 1, 0, scope=scope)
    return _bounded(lo, hi)


@_any_if_too_large
def fmod(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of a mod b with the sign of a, as in C, for b != 0.

    Runtimes compute it in float64, which is exact up to HUGE.
    """
    size = absolute(b, scope).hi
    largest = None if size is None or (isinstance(size, int) and size > HUGE) else size - 1
    lo: Dim | None = 0
    hi: Dim | None = 0
    if not _at_least(a.lo, 0, scope):
        floor = None if a.lo is None else minimum(a.lo, 0, scope=scope)
        lo = _max_of_known([_exact_in_float64(floor), None if largest is None else -largest], scope)
    if not _at_most(a.hi, 0, scope):
        ceiling = None if a.hi is None else maximum(a.hi, 0, scope=scope)
        hi = _min_of_known([_exact_in_float64(ceiling), largest], scope)
    return _bounded(lo, hi)


def _exact_in_float64(end: Dim | None) -> Dim | None:
    """`end`, or None if it is a number that float64 may round."""
    return None if isinstance(end, int) and not -HUGE <= end <= HUGE else end


@_any_if_too_large
def absolute(a: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of |a|; ANY if `a.lo` is None, since the absolute value of the smallest integer wraps to itself."""
    if _at_least(a.lo, 0, scope):
        return a
    if a.lo is None:
        return ANY
    if _at_most(a.hi, 0, scope):
        return neg(a, scope)
    return _bounded(0, None if a.hi is None else maximum(-a.lo, a.hi, scope=scope))


@_any_if_too_large
def min_of(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of min(a, b)."""
    return _bounded(_min_of_all([a.lo, b.lo], scope), _min_of_known([a.hi, b.hi], scope))


@_any_if_too_large
def max_of(a: ValueRange, b: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of max(a, b)."""
    return _bounded(_max_of_known([a.lo, b.lo], scope), _max_of_all([a.hi, b.hi], scope))


def clip(a: ValueRange, low: ValueRange, high: ValueRange, scope: Scope | None = None) -> ValueRange:
    """The range of min(max(a, low), high): the upper limit wins if low > high."""
    return min_of(max_of(a, low, scope), high, scope)


@_any_if_too_large
def repeated_sum(
    a: ValueRange, count: Dim | None, scope: Scope | None = None, *, may_be_empty: bool = True
) -> ValueRange:
    """The range of a sum of 1 to `count` elements in the range `a`; with `may_be_empty`, of 0 to `count` elements.

    count   an upper bound, None if unknown. The caller guarantees count >= 1, or count >= 0 with `may_be_empty`.
    """
    if a.lo == 0 and a.hi == 0:
        return a
    if count is None or a.lo is None or a.hi is None:
        return ANY
    fewest = ValueRange(0, 0) if may_be_empty else a
    if _may_wrap(a, ValueRange(count, count)):
        return ANY
    if _at_least(a.lo, 0, scope):
        return _bounded(fewest.lo, a.hi * count)
    if _at_most(a.hi, 0, scope):
        return _bounded(a.lo * count, fewest.hi)
    if _at_most(a.lo, 0, scope) and _at_least(a.hi, 0, scope):
        return _bounded(a.lo * count, a.hi * count)
    return hull(fewest, mul(a, ValueRange(count, count), scope), scope=scope)


def _may_wrap(a: ValueRange, b: ValueRange) -> bool:
    """Whether one bound is a number beyond HUGE and another bound is symbolic, so that their sum may overflow."""
    ends = (a.lo, a.hi, b.lo, b.hi)
    if not any(isinstance(end, Expr) for end in ends):
        return False
    return any(isinstance(end, int) and not -HUGE <= end <= HUGE for end in ends)


def is_non_negative(a: ValueRange, scope: Scope | None = None) -> bool:
    """Whether every element in the range `a` is known to be >= 0."""
    return _at_least(a.lo, 0, scope)


def _at_least(end: Dim | None, number: int, scope: Scope | None) -> bool:
    if isinstance(end, int):
        return end >= number
    return end is not None and known_le(number, end, scope) is True


def _at_most(end: Dim | None, number: int, scope: Scope | None) -> bool:
    if isinstance(end, int):
        return end <= number
    return end is not None and known_le(end, number, scope) is True


def _bounded(lo: Dim | None, hi: Dim | None) -> ValueRange:
    """The range [lo, hi] without bounds larger than MAX_BOUND_SIZE; ANY when a bound may exceed 64 bits."""
    for end in (lo, hi):
        if end is not None and not (-(2**63) <= end < 2**64 if isinstance(end, int) else cannot_wrap(end)):
            return ANY
    return ValueRange(_readable(lo), _readable(hi))


def _readable(end: Dim | None) -> Dim | None:
    return None if isinstance(end, Expr) and end.size > MAX_BOUND_SIZE else end


def _min_of_all(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    """The minimum of all bounds `ends`; None if a bound is None, or the minimum is too large."""
    dims = list(dict.fromkeys(ends))
    known = [end for end in dims if end is not None]
    if len(known) < len(dims) or not known:
        return None
    return _readable(_extreme(minimum, known, scope))


def _max_of_all(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    dims = list(dict.fromkeys(ends))
    known = [end for end in dims if end is not None]
    if len(known) < len(dims) or not known:
        return None
    return _readable(_extreme(maximum, known, scope))


def _min_of_known(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    """The minimum of the bounds in `ends` that are not None; None if all are None, or the minimum is too large."""
    known = [end for end in ends if end is not None]
    return _readable(_extreme(minimum, known, scope)) if known else None


def _max_of_known(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    known = [end for end in ends if end is not None]
    return _readable(_extreme(maximum, known, scope)) if known else None


def _extreme(which: Callable[..., Dim], ends: list[Dim], scope: Scope | None) -> Dim | None:
    if len(ends) == 1:
        return ends[0]
    try:
        return which(*ends, scope=scope)
    except DimTooLarge:
        return None
