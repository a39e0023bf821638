"""What is demanded of the elements of an input, for indices that are computed from them."""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.inference.lineage.trace import Part
from gather_infer.symbolic import Dim, Scope, known_le, known_lt
from gather_infer.tensor import INTEGER_RANGE, DType


@dataclass(frozen=True, slots=True)
class Demand:
    """`first <= x <= last` for each element x that is read, and that no gap is negative.

    first, last  None where nothing is demanded
    is_exact     False when less would do
    """

    first: Dim | None
    last: Dim | None
    gaps: tuple[Dim, ...] = ()
    is_exact: bool = True


def demand(part: Part, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool) -> Demand | None:
    """What makes every index of `part`, which comes from an input, be in [low, high]; None when that cannot be told.

    is_above, is_below  they are known not to be below `low`, above `high`
    """
    if part.wrap is not None:
        return _wrapped(part, part.wrap, low, high, scope, is_above=is_above, is_below=is_below)
    narrow = _without_strays(part, low, high, scope, is_above=is_above, is_below=is_below)
    if narrow is None:
        return None
    first, least_gaps, is_low_exact = (None, (), True) if narrow.first is None else _lowest(part, narrow.first, scope)
    last, most_gaps, is_high_exact = (None, (), True) if narrow.last is None else _highest(part, narrow.last, scope)
    if part.source is not None and first is not None and known_le(first, INTEGER_RANGE[part.source][0], scope) is True:
        first = None
    return Demand(first, last, least_gaps + most_gaps, narrow.is_exact and is_low_exact and is_high_exact)


def _highest(part: Part, high: Dim, scope: Scope) -> tuple[Dim | None, tuple[Dim, ...], bool]:
    """The last x whose index is not above `high`, the gaps, and whether this is exact."""
    gaps: list[Dim] = []
    is_exact = True
    for limit in reversed(part.limits):
        is_inside = known_le(limit.end, high, scope)
        if not limit.is_upper:  # max(i, end) <= high  is  i <= high and end <= high
            if is_inside is not True:
                gaps.append(high - limit.end)
        elif is_inside is True:  # min(i, end) <= high  is  i <= high or end <= high
            return None, tuple(gaps), is_exact
        elif is_inside is None:
            is_exact = False
    return high - part.offset, tuple(gaps), is_exact


def _lowest(part: Part, low: Dim, scope: Scope) -> tuple[Dim | None, tuple[Dim, ...], bool]:
    """As `_highest`, the other way round."""
    gaps: list[Dim] = []
    is_exact = True
    for limit in reversed(part.limits):
        is_inside = known_le(low, limit.end, scope)
        if limit.is_upper:
            if is_inside is not True:
                gaps.append(limit.end - low)
        elif is_inside is True:
            return None, tuple(gaps), is_exact
        elif is_inside is None:
            is_exact = False
    return low - part.offset, tuple(gaps), is_exact


def _wrapped(
    part: Part, wrap: Dim, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool
) -> Demand | None:
    """Of an x < 0 that gets `wrap` added first."""
    if known_le(0, wrap, scope) is not True or known_le(wrap, high + 1, scope) is not True:
        return None
    return Demand(None if is_above else low - wrap, None if is_below else high)


def _without_strays(part: Part, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool) -> Demand | None:
    """Between which numbers x + offset has to be, where it may pass the ends of a type and become another number.

    None when it cannot be told, or when a number in bounds may have come from outside the type.
    """
    first, last = None if is_above else low, None if is_below else high
    if part.wraps is None:
        return Demand(first, last)
    if part.wraps is DType.INT64 and part.source is not DType.UINT64:
        # Sizes do not reach 2^62, so that numbers which pass an end by one are far out of bounds at the other end.
        # There a branch of Where that is used for numbers below the last row still has them.
        least, most = INTEGER_RANGE[DType.INT64]
        if is_above and known_le(0, part.offset, scope) is not True:
            first = least
        if is_below and known_le(part.offset, 0, scope) is not True:
            last = most
        return Demand(first, last)
    if part.source is None or not isinstance(part.offset, int):
        return None
    least, most = INTEGER_RANGE[part.wraps]
    below, above = (end + part.offset for end in INTEGER_RANGE[part.source])
    is_exact = True
    if below < least:  # what is below becomes a number from here to the end
        is_exact &= known_lt(high, most + 1 - (least - below), scope) is True
        _, first = _ordered(low, least, scope)
        if first is None:
            return None
    if above > most:
        is_exact &= known_lt(least - 1 + (above - most), low, scope) is True
        last = high if part.wraps is DType.INT64 else _ordered(high, most, scope)[0]
        if last is None:
            return None
    return Demand(first, last, is_exact=is_exact)


def _ordered(a: Dim, b: Dim, scope: Scope) -> tuple[Dim, Dim] | tuple[None, None]:
    """The lesser one and the greater one; None when it cannot be told which is which."""
    if known_le(a, b, scope) is True:
        return a, b
    return (b, a) if known_le(b, a, scope) is True else (None, None)
