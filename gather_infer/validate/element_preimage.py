"""Preimage of an axis: the input elements for which the index that is computed from them is in bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gather_infer.inference.provenance.origin import Affine, Clamp, ElementStep, Origin, Quotient
from gather_infer.symbolic import Dim, Scope, ceildiv, floordiv, known_le, known_lt
from gather_infer.tensor import INTEGER_RANGE, DType
from gather_infer.value_ranges import cannot_wrap


@dataclass(frozen=True, slots=True)
class ElementPreimage:
    """The condition `first <= x <= last` on each input element x that is read, and that all gaps are >= 0.

    first, last  None if x needs no bound on that side
    low_gaps     the gaps that result from the lower bound of the indices
    high_gaps    the gaps that result from the upper bound of the indices
    is_exact     False if the preimage may be larger: the condition is sufficient, but perhaps not necessary
    is_falling   the index decreases as x increases
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

    def of_low_end(self) -> ElementPreimage:
        """The conditions that the lower bound of the indices requires, for an origin that is the smallest index."""
        changed = replace(self, last=None) if not self.is_falling else replace(self, first=None)
        return replace(changed, high_gaps=())

    def of_high_end(self) -> ElementPreimage:
        """The conditions that the upper bound of the indices requires, for an origin that is the greatest index."""
        changed = replace(self, first=None) if not self.is_falling else replace(self, last=None)
        return replace(changed, low_gaps=())


@dataclass(frozen=True, slots=True)
class _Target:
    """The bounds of a value between the input and the index, such that the index is in bounds; see ElementPreimage."""

    first: Dim | None
    last: Dim | None
    low_gaps: tuple[Dim, ...] = ()
    high_gaps: tuple[Dim, ...] = ()
    is_exact: bool = True


def element_preimage(
    origin: Origin, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool
) -> ElementPreimage | None:
    """The input elements that the operations recorded in `origin` map into [low, high]; None if they are unknown.

    is_above  the indices are known to be >= `low`
    is_below  the indices are known to be <= `high`
    """
    if origin.negative_offset is not None:
        return _preimage_of_negative_wrap(
            origin, origin.negative_offset, low, high, scope, is_above=is_above, is_below=is_below
        )
    wanted = _offset_target(origin, low, high, scope, is_above=is_above, is_below=is_below)
    if wanted is None:
        return None
    for limit in reversed(origin.clamps):
        wanted = _preimage_of_clamp(wanted, limit, scope)
    wanted = _preimage_of_affine(wanted, 1, origin.offset, scope)
    for step in reversed(origin.steps):
        before = _preimage_of_step(wanted, step, scope)
        if before is None:
            return None
        wanted = before
    first, last = wanted.first, wanted.last
    if origin.source_dtype is not None:  # bounds that the type of the input implies are left out
        least, most = INTEGER_RANGE[origin.source_dtype]
        first = None if first is None or known_le(first, least, scope) is True else first
        last = None if origin.steps and last is not None and known_le(most, last, scope) is True else last
    falls = sum(isinstance(step, Affine) and step.factor < 0 for step in origin.steps) % 2 == 1
    return ElementPreimage(first, last, wanted.low_gaps, wanted.high_gaps, wanted.is_exact, falls)


def _preimage_of_step(target: _Target, step: ElementStep, scope: Scope) -> _Target | None:
    """The bounds of the operand of a step for which its result is in `target`; None when they are unknown."""
    match step:
        case Clamp():
            return _preimage_of_clamp(target, step, scope)
        case Quotient(divisor):
            return _preimage_of_division(target, divisor, scope)
    if step.overflow_dtype is None:
        return _preimage_of_affine(target, step.factor, step.offset, scope)
    inside = _target_without_overflow(target, step, step.overflow_dtype, scope)
    return None if inside is None else _preimage_of_affine(inside, step.factor, step.offset, scope)


def _preimage_of_affine(target: _Target, factor: int, offset: Dim, scope: Scope) -> _Target:
    """The bounds of x for which `factor * x + offset` is in `target`, without overflow."""
    low = None if target.first is None else target.first - offset
    high = None if target.last is None else target.last - offset
    if factor < 0:
        low, high = None if high is None else -high, None if low is None else -low
    size = abs(factor)
    first = None if low is None else ceildiv(low, size, scope)
    return replace(target, first=first, last=None if high is None else floordiv(high, size, scope))


def _preimage_of_division(target: _Target, divisor: Dim, scope: Scope) -> _Target | None:
    """The bounds of x for which x / divisor, rounded toward 0, is in `target`; None if they are unknown.

    The preimage of 0 is larger than that of any other quotient.
    """
    first, last, gaps, is_exact = target.first, target.last, target.high_gaps, target.is_exact
    if target.first is not None:
        if known_le(target.first, 0, scope) is True:
            first = target.first * divisor - (divisor - 1)
        elif known_le(1, target.first, scope) is True:
            first = target.first * divisor
        else:
            return None
    if target.last is not None:
        if known_lt(target.last, 0, scope) is True:
            last = target.last * divisor
        else:
            last = target.last * divisor + (divisor - 1)
            if known_le(0, target.last, scope) is not True:
                gaps = (*gaps, target.last)
                is_exact &= _is_empty_below(target.first, target.last, scope)
    return replace(target, first=first, last=last, high_gaps=gaps, is_exact=is_exact)


def _is_empty_below(first: Dim | None, last: Dim, scope: Scope) -> bool:
    """Whether [first, last] is proved to be empty in all runs in which `last` is negative."""
    if first is None:
        return False
    negative = scope.child()
    negative.add_fact(-1 - last)
    return known_lt(last, first, negative) is True


def _preimage_of_clamp(target: _Target, clamp: Clamp, scope: Scope) -> _Target:
    """The bounds of x for which min(x, bound), or max(x, bound) for a lower clamp, is in `target`."""
    first, last, end, is_exact = target.first, target.last, clamp.bound, target.is_exact
    low_gaps, high_gaps = target.low_gaps, target.high_gaps
    if last is not None:
        is_inside = known_le(end, last, scope)
        if not clamp.is_upper:  # max(i, end) <= last  is  i <= last and end <= last
            high_gaps += () if is_inside is True else (last - end,)
        elif is_inside is True:  # min(i, end) <= last  is  i <= last or end <= last
            last = None
        elif is_inside is None:
            is_exact = False
    if first is not None:
        is_inside = known_le(first, end, scope)
        if clamp.is_upper:
            low_gaps += () if is_inside is True else (end - first,)
        elif is_inside is True:
            first = None
        elif is_inside is None:
            is_exact = False
    return _Target(first, last, low_gaps, high_gaps, is_exact)


def _target_without_overflow(target: _Target, step: Affine, overflow_dtype: DType, scope: Scope) -> _Target | None:
    """`target` restricted to results of `factor * x + offset` that do not overflow the type; None if unknown.

    The restriction is sufficient. It is also necessary if no overflowed number is in the target.
    """
    if overflow_dtype is DType.INT64 and step.bounds != INTEGER_RANGE[DType.UINT64]:
        return _target_without_int64_overflow(target, step, scope)
    if step.bounds is None or not isinstance(step.offset, int):
        return _target_within_type(target, overflow_dtype, scope)
    below, above = sorted(step.factor * end + step.offset for end in step.bounds)
    return _target_with_bounded_overflow(target, below, above, overflow_dtype, scope)


def _target_without_int64_overflow(target: _Target, step: Affine, scope: Scope) -> _Target | None:
    """As `_target_without_overflow`, for int64.

    Sizes are below 2^62. With a factor of 1 or -1 an overflowed number is far from all sizes. So it can only be in a
    target that is unbounded on its side.
    """
    least, most = INTEGER_RANGE[DType.INT64]
    below, above = _may_overflow(step, scope)
    is_exact = abs(step.factor) == 1
    is_exact &= not above or (target.first is not None and cannot_wrap(target.first))
    is_exact &= not below or (target.last is not None and cannot_wrap(target.last))
    first, last = target.first, target.last
    first = least if first is None else first if cannot_wrap(first) else _ordered(first, least, scope)[1]
    last = most if last is None else last if cannot_wrap(last) else _ordered(last, most, scope)[0]
    if first is None or last is None:
        return None
    return replace(target, first=first, last=last, is_exact=target.is_exact and is_exact)


def _may_overflow(step: Affine, scope: Scope) -> tuple[bool, bool]:
    """Whether `factor * x + offset` may be below the range of int64, and whether it may be above."""
    least, most = given = step.bounds or INTEGER_RANGE[DType.INT64]
    low, high = (step.factor * end + step.offset for end in (given if step.factor > 0 else (most, least)))
    least, most = INTEGER_RANGE[DType.INT64]
    return known_le(least, low, scope) is not True, known_le(high, most, scope) is not True


def _target_within_type(target: _Target, overflow_dtype: DType, scope: Scope) -> _Target | None:
    """`target` restricted to the range of a type, which is sufficient to exclude an overflow; None if unknown."""
    least, most = INTEGER_RANGE[overflow_dtype]
    first = least if target.first is None else _ordered(target.first, least, scope)[1]
    last = most if target.last is None else _ordered(target.last, most, scope)[0]
    return None if first is None or last is None else replace(target, first=first, last=last, is_exact=False)


def _target_with_bounded_overflow(
    target: _Target, below: int, above: int, overflow_dtype: DType, scope: Scope
) -> _Target | None:
    """As `_target_without_overflow`, for results that are in [below, above] before they overflow the type."""
    first, last, is_exact = target.first, target.last, target.is_exact
    least, most = INTEGER_RANGE[overflow_dtype]
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
    return replace(target, first=first, last=last, is_exact=is_exact)


def _preimage_of_negative_wrap(
    origin: Origin, negative_offset: Dim, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool
) -> ElementPreimage | None:
    """The preimage of [low, high] if `negative_offset` is added to each negative element; None when unknown."""
    if known_le(0, negative_offset, scope) is not True or known_le(negative_offset, high + 1, scope) is not True:
        return None
    return ElementPreimage(None if is_above else low - negative_offset, None if is_below else high)


def _offset_target(
    origin: Origin, low: Dim, high: Dim, scope: Scope, *, is_above: bool, is_below: bool
) -> _Target | None:
    """The bounds that x + offset, which may overflow, must have for the index to be in [low, high].

    The parameters are those of `element_preimage`. None if the bounds are unknown.
    """
    first, last = None if is_above else low, None if is_below else high
    if origin.overflow_dtype is None:
        return _Target(first, last)
    if origin.overflow_dtype is DType.INT64 and origin.source_dtype is not DType.UINT64:
        # Sizes are below 2^62, so a number that overflows int64 by a size is far out of bounds at the other end. There
        # the branch of a Where that handles numbers below the last row still has it.
        least, most = INTEGER_RANGE[DType.INT64]
        if is_above and known_le(0, origin.offset, scope) is not True:
            first = least
        if is_below and known_le(origin.offset, 0, scope) is not True:
            last = most
        return _Target(first, last, is_exact=all(map(cannot_wrap, (low, high, origin.offset))))
    numbers = origin.bounds
    if numbers is None or not isinstance(origin.offset, int):
        return _target_within_type(_Target(first, last), origin.overflow_dtype, scope)
    below, above = (end + origin.offset for end in numbers)
    least, most = INTEGER_RANGE[origin.overflow_dtype]
    is_exact = True
    if below < least:  # numbers below wrap around to the upper end of the type
        is_exact &= known_lt(high, most + 1 - (least - below), scope) is True
        _, first = _ordered(low, least, scope)
        if first is None:
            return None
    if above > most:
        is_exact &= known_lt(least - 1 + (above - most), low, scope) is True
        last = high if origin.overflow_dtype is DType.INT64 else _ordered(high, most, scope)[0]
        if last is None:
            return None
    return _Target(first, last, is_exact=is_exact)


def _ordered(a: Dim, b: Dim, scope: Scope) -> tuple[Dim, Dim] | tuple[None, None]:
    """The two dims, the smaller one first; (None, None) if their order is unknown."""
    if known_le(a, b, scope) is True:
        return a, b
    return (b, a) if known_le(b, a, scope) is True else (None, None)
