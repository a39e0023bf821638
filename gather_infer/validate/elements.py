"""Preimage of an axis under the steps of an origin: the input elements for which every index is in bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gather_infer.inference.lineage.trace import Limit, Part, Quotient, Scaled, Step
from gather_infer.symbolic import Dim, Scope, ceildiv, floordiv, known_le, known_lt
from gather_infer.tensor import INTEGER_RANGE, DType
from gather_infer.value_ranges import cannot_wrap


@dataclass(frozen=True, slots=True)
class Demand:
    """`first <= x <= last` for each element x that is read, and all gaps nonnegative.

    first, last  None where x is unbounded
    low_gaps, high_gaps  from the lower and the upper bound of indices
    is_exact     False when the preimage may be larger
    is_falling   the index decreases where x increases
    """

    first: Dim | None
    last: Dim | None
    low_gaps: tuple[Dim, ...] = ()
    high_gaps: tuple[Dim, ...] = ()
    is_exact: bool = True
    is_falling: bool = False

    @property
    def gaps(self) -> tuple[Dim, ...]:
        return self.low_gaps + self.high_gaps

    def of_low_end(self) -> Demand:
        """The preimage where no other index is smaller."""
        changed = replace(self, last=None) if not self.is_falling else replace(self, first=None)
        return replace(changed, high_gaps=())

    def of_high_end(self) -> Demand:
        """The preimage where no other index is greater."""
        changed = replace(self, first=None) if not self.is_falling else replace(self, last=None)
        return replace(changed, low_gaps=())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The bounds that an element must have at one point between the input and the index; see ElementPreimage."""

    first: Dim | None
    last: Dim | None
    low_gaps: tuple[Dim, ...] = ()
    high_gaps: tuple[Dim, ...] = ()
    is_exact: bool = True


def demand(part: Part, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool) -> Demand | None:
    """The preimage of [low, high] under the steps of an origin that comes from an input; None when it is unknown.

    is_above, is_below  the indices are known not to be below `low`, above `high`
    """
    if part.wrap is not None:
        return _wrapped(part, part.wrap, low, high, scope, is_above=is_above, is_below=is_below)
    wanted = _without_strays(part, low, high, scope, is_above=is_above, is_below=is_below)
    if wanted is None:
        return None
    for limit in reversed(part.limits):
        wanted = _before_limit(wanted, limit, scope)
    wanted = _before_scaling(wanted, 1, part.offset, scope)
    for step in reversed(part.steps):
        before = _before(wanted, step, scope)
        if before is None:
            return None
        wanted = before
    first, last = wanted.first, wanted.last
    if part.source is not None:  # bounds that the type of the input implies are left out
        least, most = INTEGER_RANGE[part.source]
        first = None if first is None or known_le(first, least, scope) is True else first
        last = None if part.steps and last is not None and known_le(most, last, scope) is True else last
    falls = sum(isinstance(step, Scaled) and step.factor < 0 for step in part.steps) % 2 == 1
    return Demand(first, last, wanted.low_gaps, wanted.high_gaps, wanted.is_exact, falls)


def _before(wanted: _Wanted, step: Step, scope: Scope) -> _Wanted | None:
    """The bounds before a step that give `target` after it; None when they are unknown."""
    match step:
        case Limit():
            return _before_limit(wanted, step, scope)
        case Quotient(divisor):
            return _before_division(wanted, divisor, scope)
    if step.wraps is None:
        return _before_scaling(wanted, step.factor, step.offset, scope)
    inside = _inside(wanted, step, step.wraps, scope)
    return None if inside is None else _before_scaling(inside, step.factor, step.offset, scope)


def _before_scaling(wanted: _Wanted, factor: int, offset: Dim, scope: Scope) -> _Wanted:
    """first <= factor * x + offset <= last"""
    low = None if wanted.first is None else wanted.first - offset
    high = None if wanted.last is None else wanted.last - offset
    if factor < 0:
        low, high = None if high is None else -high, None if low is None else -low
    size = abs(factor)
    first = None if low is None else ceildiv(low, size, scope)
    return replace(wanted, first=first, last=None if high is None else floordiv(high, size, scope))


def _before_division(wanted: _Wanted, divisor: Dim, scope: Scope) -> _Wanted | None:
    """first <= x / divisor <= last, rounded toward 0: the preimage of 0 is larger than that of other quotients."""
    first, last, gaps, is_exact = wanted.first, wanted.last, wanted.high_gaps, wanted.is_exact
    if wanted.first is not None:
        if known_le(wanted.first, 0, scope) is True:
            first = wanted.first * divisor - (divisor - 1)
        elif known_le(1, wanted.first, scope) is True:
            first = wanted.first * divisor
        else:
            return None
    if wanted.last is not None:
        if known_lt(wanted.last, 0, scope) is True:
            last = wanted.last * divisor
        else:
            last = wanted.last * divisor + (divisor - 1)
            if known_le(0, wanted.last, scope) is not True:
                gaps = (*gaps, wanted.last)
                is_exact &= _is_empty_below(wanted.first, wanted.last, scope)
    return replace(wanted, first=first, last=last, high_gaps=gaps, is_exact=is_exact)


def _is_empty_below(first: Dim | None, last: Dim, scope: Scope) -> bool:
    """Whether no number is in [first, last] where `last` is negative."""
    if first is None:
        return False
    negative = scope.child()
    negative.require(-1 - last)
    return known_lt(last, first, negative) is True


def _before_limit(wanted: _Wanted, limit: Limit, scope: Scope) -> _Wanted:
    """first <= min(i, bound) <= last, where the clamp is an upper one; else with max."""
    first, last, end, is_exact = wanted.first, wanted.last, limit.end, wanted.is_exact
    low_gaps, high_gaps = wanted.low_gaps, wanted.high_gaps
    if last is not None:
        is_inside = known_le(end, last, scope)
        if not limit.is_upper:  # max(i, end) <= last  is  i <= last and end <= last
            high_gaps += () if is_inside is True else (last - end,)
        elif is_inside is True:  # min(i, end) <= last  is  i <= last or end <= last
            last = None
        elif is_inside is None:
            is_exact = False
    if first is not None:
        is_inside = known_le(first, end, scope)
        if limit.is_upper:
            low_gaps += () if is_inside is True else (end - first,)
        elif is_inside is True:
            first = None
        elif is_inside is None:
            is_exact = False
    return _Wanted(first, last, low_gaps, high_gaps, is_exact)


def _inside(wanted: _Wanted, step: Scaled, wraps: DType, scope: Scope) -> _Wanted | None:
    """The bounds of `factor * x + offset`, where it may overflow the type `overflow_dtype`.

    Staying within the type is sufficient. It is also necessary where no overflowed number is in the target.
    """
    if wraps is DType.INT64 and step.given != INTEGER_RANGE[DType.UINT64]:
        return _inside_widest(wanted, step, scope)
    if step.given is None or not isinstance(step.offset, int):
        return _inside_type(wanted, wraps, scope)
    below, above = sorted(step.factor * end + step.offset for end in step.given)
    return _within(wanted, below, above, wraps, scope)


def _inside_widest(wanted: _Wanted, step: Scaled, scope: Scope) -> _Wanted | None:
    """The bounds of `factor * x + offset` for an int64 x that may overflow.

    Sizes are below 2^62. With a factor of 1 or -1 an overflowed number is far from them, so it is in the target only
    where that is unbounded on its side.
    """
    least, most = INTEGER_RANGE[DType.INT64]
    below, above = _reached(step, scope)
    is_exact = abs(step.factor) == 1
    is_exact &= not above or (wanted.first is not None and cannot_wrap(wanted.first))
    is_exact &= not below or (wanted.last is not None and cannot_wrap(wanted.last))
    first, last = wanted.first, wanted.last
    first = least if first is None else first if cannot_wrap(first) else _ordered(first, least, scope)[1]
    last = most if last is None else last if cannot_wrap(last) else _ordered(last, most, scope)[0]
    if first is None or last is None:
        return None
    return replace(wanted, first=first, last=last, is_exact=wanted.is_exact and is_exact)


def _reached(step: Scaled, scope: Scope) -> tuple[bool, bool]:
    """Whether `factor * x + offset` may overflow int64 at the lower end, and at the upper one."""
    least, most = given = step.given or INTEGER_RANGE[DType.INT64]
    low, high = (step.factor * end + step.offset for end in (given if step.factor > 0 else (most, least)))
    least, most = INTEGER_RANGE[DType.INT64]
    return known_le(least, low, scope) is not True, known_le(high, most, scope) is not True


def _inside_type(wanted: _Wanted, wraps: DType, scope: Scope) -> _Wanted | None:
    """The target within a type, which is sufficient to exclude an overflow."""
    least, most = INTEGER_RANGE[wraps]
    first = least if wanted.first is None else _ordered(wanted.first, least, scope)[1]
    last = most if wanted.last is None else _ordered(wanted.last, most, scope)[0]
    return None if first is None or last is None else replace(wanted, first=first, last=last, is_exact=False)


def _within(wanted: _Wanted, below: int, above: int, wraps: DType, scope: Scope) -> _Wanted | None:
    """The bounds of numbers in [below, above] of which some may overflow the type."""
    first, last, is_exact = wanted.first, wanted.last, wanted.is_exact
    least, most = INTEGER_RANGE[wraps]
    if below < least:  # numbers below wrap around to [stray, most]
        stray = most + 1 - (least - below)
        is_exact &= stray > least and last is not None and known_lt(last, stray, scope) is True
        first = least if first is None else _ordered(first, least, scope)[1]
        if first is None:
            return None
    if above > most:
        stray = least - 1 + (above - most)
        is_exact &= stray < most and first is not None and known_lt(stray, first, scope) is True
        last = most if last is None else _ordered(last, most, scope)[0]
        if last is None:
            return None
    return replace(wanted, first=first, last=last, is_exact=is_exact)


def _wrapped(
    part: Part, wrap: Dim, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool
) -> Demand | None:
    """The preimage where an x < 0 has `negative_offset` added first."""
    if known_le(0, wrap, scope) is not True or known_le(wrap, high + 1, scope) is not True:
        return None
    return Demand(None if is_above else low - wrap, None if is_below else high)


def _without_strays(part: Part, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool) -> _Wanted | None:
    """The bounds of x + offset, where it may overflow.

    None when they are unknown, or when an index in bounds may be an overflowed number.
    """
    first, last = None if is_above else low, None if is_below else high
    if part.wraps is None:
        return _Wanted(first, last)
    if part.wraps is DType.INT64 and part.source is not DType.UINT64:
        # Sizes are below 2^62, so a number that overflows int64 by a size is far out of bounds at the other end. There
        # the branch of a Where that handles numbers below the last row still has it.
        least, most = INTEGER_RANGE[DType.INT64]
        if is_above and known_le(0, part.offset, scope) is not True:
            first = least
        if is_below and known_le(part.offset, 0, scope) is not True:
            last = most
        return _Wanted(first, last, is_exact=all(map(cannot_wrap, (low, high, part.offset))))
    numbers = part.numbers
    if numbers is None or not isinstance(part.offset, int):
        return _inside_type(_Wanted(first, last), part.wraps, scope)
    below, above = (end + part.offset for end in numbers)
    least, most = INTEGER_RANGE[part.wraps]
    is_exact = True
    if below < least:  # numbers below wrap around to the upper end of the type
        is_exact &= known_lt(high, most + 1 - (least - below), scope) is True
        _, first = _ordered(low, least, scope)
        if first is None:
            return None
    if above > most:
        is_exact &= known_lt(least - 1 + (above - most), low, scope) is True
        last = high if part.wraps is DType.INT64 else _ordered(high, most, scope)[0]
        if last is None:
            return None
    return _Wanted(first, last, is_exact=is_exact)


def _ordered(a: Dim, b: Dim, scope: Scope) -> tuple[Dim, Dim] | tuple[None, None]:
    """The smaller and the larger dim; None when the order is unknown."""
    if known_le(a, b, scope) is True:
        return a, b
    return (b, a) if known_le(b, a, scope) is True else (None, None)
