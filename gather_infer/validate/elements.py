"""What is demanded of the elements of an input, for indices that are computed from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gather_infer.inference.lineage.trace import Limit, Part, Quotient, Scaled, Step
from gather_infer.spans import is_near
from gather_infer.symbolic import Dim, Scope, ceildiv, floordiv, known_le, known_lt
from gather_infer.tensor import INTEGER_RANGE, DType


@dataclass(frozen=True, slots=True)
class Demand:
    """`first <= x <= last` for each element x that is read, and that no gap is negative.

    first, last  None where nothing is demanded
    low_gaps, high_gaps  those that the lower, and the upper bound of indices comes to
    is_exact     False when less would do
    is_falling   the index is the less the greater x is
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
        """What is demanded where no other index is less."""
        changed = replace(self, last=None) if not self.is_falling else replace(self, first=None)
        return replace(changed, high_gaps=())

    def of_high_end(self) -> Demand:
        """What is demanded where no other index is greater."""
        changed = replace(self, first=None) if not self.is_falling else replace(self, last=None)
        return replace(changed, low_gaps=())


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Between which numbers an element has to be on its way from the input to the index; see Demand."""

    first: Dim | None
    last: Dim | None
    low_gaps: tuple[Dim, ...] = ()
    high_gaps: tuple[Dim, ...] = ()
    is_exact: bool = True


def demand(part: Part, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool) -> Demand | None:
    """What makes every index of `part`, which comes from an input, be in [low, high]; None when that cannot be told.

    is_above, is_below  they are known not to be below `low`, above `high`
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
    if part.source is not None:  # what the type of the input keeps anyway is not demanded
        least, most = INTEGER_RANGE[part.source]
        first = None if first is None or known_le(first, least, scope) is True else first
        last = None if part.steps and last is not None and known_le(most, last, scope) is True else last
    falls = sum(isinstance(step, Scaled) and step.factor < 0 for step in part.steps) % 2 == 1
    return Demand(first, last, wanted.low_gaps, wanted.high_gaps, wanted.is_exact, falls)


def _before(wanted: _Wanted, step: Step, scope: Scope) -> _Wanted | None:
    """What has to hold before a step, so that `wanted` does after it; None when that cannot be told."""
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
    """first <= x / divisor <= last, rounded toward 0: so 0 is the quotient of more numbers than others are."""
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
    """first <= min(i, end) <= last, where the limit is an upper one; else with max"""
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
    """Between which numbers `factor * x + offset` has to be, where it may become another number of the type `wraps`.

    It is enough that it is within the type; so it has to be where none that has become another one is wanted.
    """
    if wraps is DType.INT64 and step.given != INTEGER_RANGE[DType.UINT64]:
        return _inside_widest(wanted, step, scope)
    if step.given is None or not isinstance(step.offset, int):
        return _inside_type(wanted, wraps, scope)
    below, above = sorted(step.factor * end + step.offset for end in step.given)
    return _within(wanted, below, above, wraps, scope)


def _inside_widest(wanted: _Wanted, step: Scaled, scope: Scope) -> _Wanted | None:
    """Where `factor * x + offset` has to be, of an int64 x, when what passes an end of int64 comes back at the other.

    Sizes do not reach 2^62: with a factor of 1 or -1 what comes back is far from them, and wanted only where any number
    at that end is.
    """
    least, most = INTEGER_RANGE[DType.INT64]
    below, above = _reached(step, scope)
    is_exact = abs(step.factor) == 1
    is_exact &= not above or (wanted.first is not None and is_near(wanted.first))
    is_exact &= not below or (wanted.last is not None and is_near(wanted.last))
    first, last = wanted.first, wanted.last
    first = least if first is None else first if is_near(first) else _ordered(first, least, scope)[1]
    last = most if last is None else last if is_near(last) else _ordered(last, most, scope)[0]
    if first is None or last is None:
        return None
    return replace(wanted, first=first, last=last, is_exact=wanted.is_exact and is_exact)


def _reached(step: Scaled, scope: Scope) -> tuple[bool, bool]:
    """Whether `factor * x + offset` may pass the lower end of int64, and the upper one."""
    least, most = given = step.given or INTEGER_RANGE[DType.INT64]
    low, high = (step.factor * end + step.offset for end in (given if step.factor > 0 else (most, least)))
    least, most = INTEGER_RANGE[DType.INT64]
    return known_le(least, low, scope) is not True, known_le(high, most, scope) is not True


def _inside_type(wanted: _Wanted, wraps: DType, scope: Scope) -> _Wanted | None:
    """That numbers are within a type, which is enough for them to be what they were."""
    least, most = INTEGER_RANGE[wraps]
    first = least if wanted.first is None else _ordered(wanted.first, least, scope)[1]
    last = most if wanted.last is None else _ordered(wanted.last, most, scope)[0]
    return None if first is None or last is None else replace(wanted, first=first, last=last, is_exact=False)


def _within(wanted: _Wanted, below: int, above: int, wraps: DType, scope: Scope) -> _Wanted | None:
    """Between which numbers, of those in [below, above], some have to be that become others past the ends of a type."""
    first, last, is_exact = wanted.first, wanted.last, wanted.is_exact
    least, most = INTEGER_RANGE[wraps]
    if below < least:  # what is below becomes a number from here to the end
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
    """Of an x < 0 that gets `wrap` added first."""
    if known_le(0, wrap, scope) is not True or known_le(wrap, high + 1, scope) is not True:
        return None
    return Demand(None if is_above else low - wrap, None if is_below else high)


def _without_strays(part: Part, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool) -> _Wanted | None:
    """Between which numbers x + offset has to be, where it may pass the ends of a type and become another number.

    None when it cannot be told, or when a number in bounds may have come from outside the type.
    """
    first, last = None if is_above else low, None if is_below else high
    if part.wraps is None:
        return _Wanted(first, last)
    if part.wraps is DType.INT64 and part.source is not DType.UINT64:
        # Sizes do not reach 2^62, so that numbers which pass an end by one are far out of bounds at the other end.
        # There a branch of Where that is used for numbers below the last row still has them.
        least, most = INTEGER_RANGE[DType.INT64]
        if is_above and known_le(0, part.offset, scope) is not True:
            first = least
        if is_below and known_le(part.offset, 0, scope) is not True:
            last = most
        return _Wanted(first, last, is_exact=all(map(is_near, (low, high, part.offset))))
    numbers = part.numbers
    if numbers is None or not isinstance(part.offset, int):
        return _inside_type(_Wanted(first, last), part.wraps, scope)
    below, above = (end + part.offset for end in numbers)
    least, most = INTEGER_RANGE[part.wraps]
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
    return _Wanted(first, last, is_exact=is_exact)


def _ordered(a: Dim, b: Dim, scope: Scope) -> tuple[Dim, Dim] | tuple[None, None]:
    """The lesser one and the greater one; None when it cannot be told which is which."""
    if known_le(a, b, scope) is True:
        return a, b
    return (b, a) if known_le(b, a, scope) is True else (None, None)
