"""Value ranges (MLIR: IntegerValueRange): interval arithmetic on the elements of integer tensors, with symbolic bounds.

A bound of None is the end of the element type. Integer arithmetic wraps, so a sum that may overflow has no bounds: `[0,
None] + [1, 1]` is unbounded on both sides, `[0, None] + [-5, -5]` is `[-5, None]`. A bool counts as 0 or 1.

No function here raises; a bound that would exceed the size cap is dropped.
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
from gather_infer.symbolic.dim import FloorDiv, Max, Min, constant_term
from gather_infer.tensor import INTEGER_RANGE, DType, Span, SymbolicTensor

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ANY = Span()
"""The top of the lattice: no bounds."""

MAX_END_SIZE = 64
"""Nodes of a symbolic bound; longer ones are dropped, since no reader could follow a proof from them."""

ORDINARY_SIZE = 16
"""A typical size; a bound that fails for it is not assumed."""

HUGE = 1 << 53
"""Larger numbers stand for "no limit": added to a size they may well wrap."""

MAX_FACTOR = 1 << 36
"""Sum of the factors of sizes up to which an expression stays within int64 for the sizes of one tensor."""

MAX_SIZES = 8
"""Number of sizes whose product still counts elements; a longer product may overflow int64."""


def is_near(dim: Dim) -> bool:
    """False for a bound that may overflow int64: a huge number, or a size with a huge factor."""
    if isinstance(dim, int):
        return -HUGE <= dim <= HUGE
    terms = [(monomial, abs(factor)) for monomial, factor in dim.terms if monomial]
    is_small = -HUGE <= constant_term(dim) <= HUGE and sum(factor for _, factor in terms) <= MAX_FACTOR
    return is_small and all(len(monomial) <= MAX_SIZES and all(map(_is_atom_near, monomial)) for monomial, _ in terms)


def _is_atom_near(atom: Expr) -> bool:
    match atom:
        case FloorDiv(num=num):
            return is_near(num)
        case Min(args=args):  # a huge constant stands for "no limit" and does not count
            return all(is_near(arg) for arg in args if not (isinstance(arg, int) and arg > 0))
        case Max(args=args):
            return all(is_near(arg) for arg in args if not (isinstance(arg, int) and arg < 0))
    return True


def span_of(tensor: SymbolicTensor, scope: Scope | None = None) -> Span:
    """Bounds of all elements: from the values when all are known, else the value range, else those of the element type.

    int64 has none, and uint64 starts at 0: no proof uses their far ends.
    """
    if tensor.values is not None:
        found = of_elements(tensor.values.flat, scope)
        if found is not None:
            return found
    if tensor.span is not None:
        return tensor.span
    return type_span(tensor.dtype)


def kept_span(tensor: SymbolicTensor, scope: Scope | None = None) -> Span | None:
    """The value range of an integer tensor after its known elements are dropped; None for no range."""
    if tensor.span is not None:
        return tensor.span
    if tensor.values is None or tensor.dtype is None or not tensor.dtype.is_integer:
        return None
    span = span_of(tensor, scope)
    return None if span.lo is None and span.hi is None else span


def needs_span(values: npt.NDArray[np.object_] | None) -> bool:
    """True when a value range adds to the elements: some are unknown, or there are none.

    The range of an empty tensor bounds the elements it would have: a loop may start from it.
    """
    return values is None or not values.size or None in values.reshape(-1).tolist()


def type_span(dtype: DType | None) -> Span:
    """The value range of an element type."""
    if dtype is DType.BOOL:
        return Span(0, 1)
    if dtype is None or dtype is DType.INT64 or dtype not in INTEGER_RANGE:
        return ANY
    return Span(0, None) if dtype is DType.UINT64 else Span(*INTEGER_RANGE[dtype])


def of_elements(elements: Iterable[object], scope: Scope | None = None) -> Span | None:
    """The hull of single elements; None when one is unknown or there are none."""
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
        return Span(min(numbers), max(numbers)) if numbers else None
    ends: list[Dim] = list(symbolic)
    if len(ends) > 8:  # a hull of many different sizes is useless and expensive
        return ANY
    if any(not -HUGE <= number <= HUGE for number in numbers):
        return ANY
    low: list[Dim] = [min(numbers)] if numbers else []
    high: list[Dim] = [max(numbers)] if numbers else []
    return Span(_least([*low, *ends], scope), _most([*high, *ends], scope))


def hull(*spans: Span, scope: Scope | None = None) -> Span:
    """The lattice join: the value range of a tensor whose elements come from any of several tensors."""
    first = spans[0]
    if all(s == first for s in spans):
        return first
    return Span(_least([s.lo for s in spans], scope), _most([s.hi for s in spans], scope))


def both(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """The lattice meet: the value range of elements that are in both ranges."""
    return Span(_most_known([a.lo, b.lo], scope), _least_known([a.hi, b.hi], scope))


def fit(op: OpCall, span: Span, dtype: DType | None) -> Span | None:
    """`value_range` as the range of a result of type `dtype`; None when an element may overflow the type and wrap.

    Symbolic bounds are sizes and do not reach 2^63; that they fit in 32 bits is known or a listed assumption.
    """
    if dtype is None or (dtype not in INTEGER_RANGE and dtype is not DType.BOOL):
        return None
    least, most = INTEGER_RANGE.get(dtype, (0, 1))
    lo, hi = span.lo, span.hi
    if (isinstance(lo, int) and not least <= lo <= most) or (isinstance(hi, int) and not least <= hi <= most):
        return None
    if least == 0 and not _at_least(lo, 0, op.scope):
        return None
    if (lo is None and hi is None) or span == type_span(dtype):
        return None
    if dtype is not DType.INT64 and dtype is not DType.UINT64:
        for end in (lo, hi):
            if isinstance(end, Expr) and not holds(op, end, least, most, may_assume=most >= 2**31 - 1):
                return None
    return span


def holds(op: OpCall, dim: Expr, least: int, most: int, *, may_assume: bool) -> bool:
    """True when lower <= dim <= upper is known or, with `may_assume`, listed as an assumption.

    A lower bound is assumed for signed types only: a difference of sizes may be negative whatever the sizes' magnitude.
    A bound that fails at SAMPLE_SIZE is not assumed either.
    """
    bounds = op.scope.bounds(dim)
    low = bounds.lo is not None and bounds.lo >= least
    high = bounds.hi is not None and bounds.hi <= most
    if low and high:
        return True
    if not may_assume or (not low and least == 0) or not (low or known_le(least, dim, op.scope) is not False):
        return False
    try:
        ordinary = evaluate(dim, dict.fromkeys(dim.symbols, ORDINARY_SIZE))
    except ZeroDivisionError:
        return False
    if not least <= ordinary <= most:
        return False
    reason = f"{dim} has to fit in the element type"
    if not high and not op.assume_at_most(dim, most, reason):
        return False
    return low or op.assume_at_most(-dim, -least, reason)


P = ParamSpec("P")


def _guarded(function: Callable[P, Span]) -> Callable[P, Span]:
    """Return ANY where a bound exceeds the hard cap on expressions."""

    @wraps(function)
    def result(*args: P.args, **kwargs: P.kwargs) -> Span:
        try:
            return function(*args, **kwargs)
        except DimTooLarge:
            return ANY

    return result


@_guarded
def add(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """a + b"""
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
    return _closed(lo, hi)


@_guarded
def neg(a: Span, scope: Scope | None = None) -> Span:
    """-a; the smallest integer is its own negative"""
    if a.lo is None:
        return ANY
    return _closed(None if a.hi is None else -a.hi, -a.lo)


@_guarded
def sub(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """a - b"""
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
    return _closed(lo, hi)


@_guarded
def mul(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """a * b: the extremes of a bilinear function are at the corners"""
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
        return _closed(a.lo * b.lo, a.hi * b.hi)
    corners: list[Dim | None] = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return _closed(_least(corners, scope), _most(corners, scope))


@_guarded
def trunc_div(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """a / b rounded toward zero, for b >= 1 or b <= -1 throughout; else ANY"""
    if _at_most(b.hi, -1, scope) and b.hi is not None:
        return neg(trunc_div(a, Span(-b.hi, None if b.lo is None else -b.lo), scope), scope)
    if not _at_least(b.lo, 1, scope):
        return ANY
    assert b.lo is not None, "it is at least 1"
    # Monotone in a; for a given a the quotient is closest to 0 at the largest b. Where an a >= 0 exists, a.hi >= 0.
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
    return _closed(lo, hi)


@_guarded
def mod(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """a mod b with the sign of b; b = 0 needs no result, since runtimes fail"""
    if _at_least(b.lo, 0, scope):
        if _at_least(a.lo, 0, scope):
            if a.hi is not None and b.lo is not None and known_lt(a.hi, b.lo, scope) is True:
                return a
            return _closed(0, _least_known([a.hi, None if b.hi is None else b.hi - 1], scope))
        return _closed(0, None if b.hi is None else b.hi - 1)
    if _at_most(b.hi, 0, scope):
        return _closed(None if b.lo is None else b.lo + 1, 0)
    lo = None if b.lo is None else minimum(b.lo + 1, 0, scope=scope)
    hi = None if b.hi is None else maximum(b.hi - 1, 0, scope=scope)
    return _closed(lo, hi)


@_guarded
def fmod(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """a mod b with the sign of a, as in C, for b != 0; runtimes compute it in float64, which is exact up to HUGE"""
    size = absolute(b, scope).hi
    most = None if size is None or (isinstance(size, int) and size > HUGE) else size - 1
    lo: Dim | None = 0
    hi: Dim | None = 0
    if not _at_least(a.lo, 0, scope):
        floor = None if a.lo is None else minimum(a.lo, 0, scope=scope)
        lo = _most_known([_held(floor), None if most is None else -most], scope)
    if not _at_most(a.hi, 0, scope):
        ceiling = None if a.hi is None else maximum(a.hi, 0, scope=scope)
        hi = _least_known([_held(ceiling), most], scope)
    return _closed(lo, hi)


def _held(end: Dim | None) -> Dim | None:
    """The bound; None for a number that float64 may round."""
    return None if isinstance(end, int) and not -HUGE <= end <= HUGE else end


@_guarded
def absolute(a: Span, scope: Scope | None = None) -> Span:
    """|a|; the smallest integer is its own absolute value"""
    if _at_least(a.lo, 0, scope):
        return a
    if a.lo is None:
        return ANY
    if _at_most(a.hi, 0, scope):
        return neg(a, scope)
    return _closed(0, None if a.hi is None else maximum(-a.lo, a.hi, scope=scope))


@_guarded
def least(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """min(a, b)"""
    return _closed(_least([a.lo, b.lo], scope), _least_known([a.hi, b.hi], scope))


@_guarded
def most(a: Span, b: Span, scope: Scope | None = None) -> Span:
    """max(a, b)"""
    return _closed(_most_known([a.lo, b.lo], scope), _most([a.hi, b.hi], scope))


def clip(a: Span, low: Span, high: Span, scope: Scope | None = None) -> Span:
    """min(max(a, low), high): the upper limit wins where the limits cross"""
    return least(most(a, low, scope), high, scope)


@_guarded
def repeated_sum(a: Span, count: Dim | None, scope: Scope | None = None, *, may_be_empty: bool = True) -> Span:
    """The sum of at most `count` elements of a; of at least one unless `may_be_empty`

    Wherever such a sum exists, count is >= 1, or >= 0 if it may be empty.
    """
    if a.lo == 0 and a.hi == 0:
        return a
    if count is None or a.lo is None or a.hi is None:
        return ANY
    fewest = Span(0, 0) if may_be_empty else a
    if _may_wrap(a, Span(count, count)):
        return ANY
    if _at_least(a.lo, 0, scope):
        return _closed(fewest.lo, a.hi * count)
    if _at_most(a.hi, 0, scope):
        return _closed(a.lo * count, fewest.hi)
    if _at_most(a.lo, 0, scope) and _at_least(a.hi, 0, scope):
        return _closed(a.lo * count, a.hi * count)
    return hull(fewest, mul(a, Span(count, count), scope), scope=scope)


def _may_wrap(a: Span, b: Span) -> bool:
    """True when the operation combines a huge number with a size."""
    ends = (a.lo, a.hi, b.lo, b.hi)
    if not any(isinstance(end, Expr) for end in ends):
        return False
    return any(isinstance(end, int) and not -HUGE <= end <= HUGE for end in ends)


def is_never_negative(a: Span, scope: Scope | None = None) -> bool:
    """True when every element is known to be >= 0."""
    return _at_least(a.lo, 0, scope)


def _at_least(end: Dim | None, number: int, scope: Scope | None) -> bool:
    if isinstance(end, int):
        return end >= number
    return end is not None and known_le(number, end, scope) is True


def _at_most(end: Dim | None, number: int, scope: Scope | None) -> bool:
    if isinstance(end, int):
        return end <= number
    return end is not None and known_le(end, number, scope) is True


def _closed(lo: Dim | None, hi: Dim | None) -> Span:
    """The range of two bounds, None for one that is too long; ANY when one may exceed 64 bits."""
    for end in (lo, hi):
        if end is not None and not (-(2**63) <= end < 2**64 if isinstance(end, int) else is_near(end)):
            return ANY
    return Span(_short(lo), _short(hi))


def _short(end: Dim | None) -> Dim | None:
    return None if isinstance(end, Expr) and end.size > MAX_END_SIZE else end


def _least(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    """The minimum of all bounds; None if any is unknown."""
    dims = list(dict.fromkeys(ends))
    known = [end for end in dims if end is not None]
    if len(known) < len(dims) or not known:
        return None
    return _short(_extreme(minimum, known, scope))


def _most(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    dims = list(dict.fromkeys(ends))
    known = [end for end in dims if end is not None]
    if len(known) < len(dims) or not known:
        return None
    return _short(_extreme(maximum, known, scope))


def _least_known(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    """The minimum of the known bounds: in a meet each of them is valid."""
    known = [end for end in ends if end is not None]
    return _short(_extreme(minimum, known, scope)) if known else None


def _most_known(ends: Iterable[Dim | None], scope: Scope | None) -> Dim | None:
    known = [end for end in ends if end is not None]
    return _short(_extreme(maximum, known, scope)) if known else None


def _extreme(which: Callable[..., Dim], ends: list[Dim], scope: Scope | None) -> Dim | None:
    if len(ends) == 1:
        return ends[0]
    try:
        return which(*ends, scope=scope)
    except DimTooLarge:
        return None
