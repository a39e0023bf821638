"""Transfer functions of arithmetic: nodes that offset, scale, divide, clamp or cast elements."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Final

from gather_infer import value_ranges
from gather_infer.inference.lineage.trace import End, Limit, Part, Quotient, Scaled, Trace
from gather_infer.inference.lineage.visit import Visit, by_column, fitting, ranked
from gather_infer.ops.vocabulary.bits import width_of
from gather_infer.symbolic import Dim, Scope, known_le
from gather_infer.tensor import INTEGER_RANGE, DType, ValueRange

MAX_STEPS: Final = 64
"""Steps of one origin; of an element with more only the bounds are tracked."""


def cast(visit: Visit) -> Trace | None:
    """Cast to int32 or int64; a narrowing one may overflow."""
    source, target = visit.tensor(0).dtype, visit.result.dtype
    trace = visit.trace(0)
    if trace is None or target not in (DType.INT32, DType.INT64):
        return None
    parts: list[Part] = []
    for part in trace.parts:
        span = fitting(visit, part.span)
        widens = source is not DType.UINT64 and (target is DType.INT64 or source not in (DType.INT64, DType.UINT32))
        if widens or (span == part.span and span.lo is not None and span.hi is not None):
            parts.append(part)
        else:
            if part.wrap is not None or part.limits:
                part = _bounded(part, part.span)
            parts.append(replace(part, span=value_ranges.type_range(target), exact=False, wraps=target))
    return Trace(tuple(parts), trace.axis)


def _bounded(part: Part, span: ValueRange) -> Part:
    """An origin of which only the bounds are left."""
    return Part(span, needs=part.needs)


def added(visit: Visit) -> Trace | None:
    """Add and Sub with one number d: x + d, d + x or x - d; other sums fall back to columns and ranges."""
    negative = visit.node.op_type == "Sub"
    for x, d in ((0, 1), (1, 0))[: 1 if negative else 2]:
        number = visit.number(d)
        if number is None or not value_ranges.cannot_wrap(number):
            continue
        offset = -number if negative else number
        visit.frame.offsets[visit.node.output[0]] = (visit.node.input[x], offset)
        trace = visit.trace(x)
        if trace is None:
            return None
        parts = tuple(_shifted(visit, p, offset) for p in trace.parts)
        return ranked(visit, Trace(parts, trace.axis), visit.tensor(x))
    visit.frame.sums[visit.node.output[0]] = (visit.node.op_type, visit.node.input[0], visit.node.input[1])
    if negative and (number := visit.number(0)) is not None and value_ranges.cannot_wrap(number):
        return _taken(visit, 1, Scaled(-1, number))
    return _beside(visit) or _of_ends(visit)


def _beside(visit: Visit) -> Trace | None:
    """Add and Sub with a constant that has one number for each index of the last axis of x."""
    negative, shape = visit.node.op_type == "Sub", visit.result.shape
    for x, d in ((0, 1), (1, 0))[: 1 if negative else 2]:
        numbers = visit.row(d)
        if not shape or numbers is None or shape[-1] != len(numbers) or visit.tensor(x).shape != shape:
            continue
        trace = by_column(visit, x, len(shape) - 1)
        if trace is None:
            return None
        parts = trace.parts
        if trace.axis is None and len(parts) == 1:  # which of its elements are in a column is unknown
            parts = (parts[0].dropped,) * len(numbers)
        elif trace.axis != len(shape) - 1:
            return None
        shifts = [-number if negative else number for number in numbers]
        return Trace(tuple(_shifted(visit, p, n) for p, n in zip(parts, shifts, strict=True)), len(shape) - 1)
    return None


def _of_ends(visit: Visit) -> Trace | None:
    """Add and Sub of two tensors with known bounds, or of input elements and a bounded tensor.

    For a full outer sum the bounds are attained.
    """
    shapes = [visit.tensor(i).shape for i in (0, 1)]
    both = [visit.parts(i) for i in (0, 1)]
    if shapes[0] is None or shapes[1] is None or any(len(own) != 1 for own in both):
        return None
    is_outer = all(1 in pair for pair in zip(reversed(shapes[0]), reversed(shapes[1]), strict=False))
    (x,), (y,) = both
    if x.exact and y.exact and is_outer:
        combined = (value_ranges.add if visit.node.op_type == "Add" else value_ranges.sub)(x.span, y.span, visit.scope)
        span = fitting(visit, combined)
        needs = None if x.needs is None or y.needs is None else (*x.needs, *y.needs)
        return Trace((Part(span, exact=span == combined and _is_closed(span), needs=needs),))
    for part, other, is_first in ((x, y, True), (y, x, False)):
        is_told = _is_closed(other.span) and other.span != value_ranges.type_range(visit.result.dtype)
        if part.input and not other.input and is_told and not part.is_bounded_only:
            return _spread(visit, part, other, is_first=is_first, is_outer=is_outer and other.exact)
    return None


def _spread(visit: Visit, part: Part, other: Part, *, is_first: bool, is_outer: bool) -> Trace | None:
    """The elements of an input plus or minus numbers in a bounded range: one origin for each bound of the sum."""
    negative = visit.node.op_type == "Sub"
    if part.end is not None or part.source is DType.UINT64:
        return None
    ends = []
    for number in (other.span.lo, other.span.hi):
        assert number is not None, "the caller checks that the range is closed"
        if not value_ranges.cannot_wrap(number):
            return None
        if negative and not is_first:
            ends.append(_stepped(visit, part, Scaled(-1, number)))
        else:
            ends.append(_shifted(visit, part, -number if negative else number))
    if negative and is_first:
        ends.reverse()
    whole = fitting(visit, value_ranges.hull(ends[0].span, ends[1].span, scope=visit.scope))
    needs = None if part.needs is None or other.needs is None else (*part.needs, *other.needs)
    is_there = is_outer and part.end is None
    return Trace(
        tuple(
            replace(end, span=whole, exact=False, direct=False, needs=needs, end=End(is_low=is_low, is_there=is_there))
            for end, is_low in zip(ends, (True, False), strict=True)
        )
    )


def _is_closed(span: ValueRange) -> bool:
    return span.lo is not None and span.hi is not None


def scaled(visit: Visit) -> Trace | None:
    """Mul by a number k; or by a size k, for elements whose bounds are attained."""
    for x, k in ((0, 1), (1, 0)):
        number = visit.number(k)
        if isinstance(number, int) and 0 < abs(number) <= value_ranges.HUGE:
            return _taken(visit, x, Scaled(number, 0))
        parts = visit.parts(x)
        if number is None or known_le(0, number, visit.scope) is not True or len(parts) != 1 or not parts[0].exact:
            continue
        product = value_ranges.mul(parts[0].span, ValueRange(number, number), visit.scope)
        span = fitting(visit, product)
        return Trace((Part(span, exact=span == product and _is_closed(span), needs=parts[0].needs),))
    return None


def negated(visit: Visit) -> Trace | None:
    """Neg."""
    return _taken(visit, 0, Scaled(-1, 0))


def divided(visit: Visit) -> Trace | None:
    """Div by a number d >= 1, rounded toward 0."""
    number = visit.number(1)
    if number is None or known_le(1, number, visit.scope) is not True:
        return None
    return _taken(visit, 0, Quotient(number))


def shifted_bits(visit: Visit) -> Trace | None:
    """BitShift of unsigned x: x << k is x * 2**k, x >> k is x / 2**k."""
    number, dtype = visit.number(1), visit.result.dtype
    assert dtype is not None, "only tensors of a known type are tracked"
    if not isinstance(number, int) or not 0 <= number < width_of(dtype) or INTEGER_RANGE[dtype][0] < 0:
        return None
    is_left = any(a.name == "direction" and a.s == b"LEFT" for a in visit.node.attribute)
    return _taken(visit, 0, Scaled(1 << number, 0) if is_left else Quotient(1 << number))


def _taken(visit: Visit, index: int, step: Scaled | Quotient) -> Trace | None:
    """The provenance of an input after one more step; None where neither its origin nor attained bounds are known."""
    trace, parts = visit.trace(index), visit.parts(index)
    if trace is None and not any(part.exact for part in parts):
        return None
    found = Trace(tuple(_stepped(visit, part, step) for part in parts), None if trace is None else trace.axis)
    return ranked(visit, found, visit.tensor(index))


def _stepped(visit: Visit, part: Part, step: Scaled | Quotient) -> Part:
    """One origin after one more step."""
    if isinstance(step, Quotient):
        moved = value_ranges.trunc_div(part.span, ValueRange(step.divisor, step.divisor), visit.scope)
    else:
        moved = value_ranges.mul(part.span, ValueRange(step.factor, step.factor), visit.scope)
        moved = value_ranges.add(moved, ValueRange(step.offset, step.offset), visit.scope)
    span = fitting(visit, moved)
    is_closed = span == moved and _is_closed(span)
    if part.is_bounded_only or (part.input and part.source is DType.UINT64) or len(part.steps) >= MAX_STEPS:
        return _bounded(part, span)
    if isinstance(step, Scaled):
        step = replace(step, wraps=None if is_closed else visit.result.dtype, given=_numbers(part, visit.scope))
    end = part.end
    if end is not None and isinstance(step, Scaled) and step.factor < 0:
        end = replace(end, is_low=not end.is_low)
    return replace(part.stepped(step, span, _held(span, visit)), exact=part.exact and is_closed, end=end)


def _numbers(part: Part, scope: Scope) -> tuple[int, int] | None:
    """Numeric bounds of the elements of an origin."""
    lo, hi = part.span.lo, part.span.hi
    least = None if lo is None else scope.bounds(lo).lo
    most = None if hi is None else scope.bounds(hi).hi
    if least is not None and most is not None:
        return least, most
    given = part.numbers if part.offset == 0 and not part.limits else None
    return None if given is None else (given[0] if least is None else least, given[1] if most is None else most)


def _held(span: ValueRange, visit: Visit) -> tuple[int, int]:
    """Numeric bounds of the elements of the result, from a value range and the element type."""
    assert visit.result.dtype is not None, "only tensors of a known type are tracked"
    least, most = INTEGER_RANGE[visit.result.dtype]
    lo = None if span.lo is None else visit.scope.bounds(span.lo).lo
    hi = None if span.hi is None else visit.scope.bounds(span.hi).hi
    return least if lo is None else max(lo, least), most if hi is None else min(hi, most)


def _shifted(visit: Visit, part: Part, offset: Dim) -> Part:
    """One origin plus an offset."""
    dtype = visit.result.dtype
    moved = value_ranges.add(part.span, ValueRange(offset, offset), visit.scope)
    span, whole = fitting(visit, moved), part.offset + offset
    if part.wrap is not None or part.wraps not in (None, dtype) or not value_ranges.cannot_wrap(whole):
        return _bounded(part, span)
    is_closed = span == moved and span.lo is not None and span.hi is not None
    return replace(
        part,
        span=span,
        offset=whole,
        limits=tuple(replace(limit, end=limit.end + offset) for limit in part.limits),
        exact=part.exact and is_closed,
        wraps=part.wraps if is_closed else dtype,
    )


def limited(visit: Visit) -> Trace | None:
    """Clip, or Min and Max of a tensor and a number."""
    trace, source = visit.trace(0), visit.tensor(0)
    limits: list[Limit] = []
    if visit.node.op_type == "Clip":
        for index in (1, 2):
            if index < len(visit.inputs) and visit.inputs[index] is not None:
                number = visit.number(index)
                if number is None:
                    return None
                limits.append(Limit(number, is_upper=index == 2))
    else:
        if len(visit.inputs) != 2:
            return None
        number = visit.number(1)
        if number is None:
            trace, source, number = visit.trace(1), visit.tensor(1), visit.number(0)
        if number is None:
            return None
        limits.append(Limit(number, is_upper=visit.node.op_type == "Min"))
    if trace is None:
        return None
    parts: list[Part] = []
    for part in trace.parts:
        span = part.span
        for limit in limits:
            nearer = value_ranges.min_of if limit.is_upper else value_ranges.max_of
            span = nearer(span, ValueRange(limit.end, limit.end), visit.scope)
        is_long = len(part.limits) + len(limits) > MAX_STEPS
        # A clamp after an overflow or an offset of negative elements is not invertible.
        if part.wrap is not None or part.wraps is not None or is_long:
            parts.append(_bounded(part, span))
            continue
        is_cut = not all(_is_within(part.span, limit, visit.scope) for limit in limits)
        span = span if is_cut else part.span
        kept = tuple(limit for limit, _ in itertools.groupby((*part.limits, *limits)))
        parts.append(replace(part, span=span, exact=part.exact and not is_cut, limits=kept))
    return ranked(visit, Trace(tuple(parts), trace.axis), source)


def _is_within(span: ValueRange, limit: Limit, scope: Scope) -> bool:
    """Whether the whole value range is inside a clamp."""
    if limit.is_upper:
        return span.hi is not None and known_le(span.hi, limit.end, scope) is True
    return span.lo is not None and known_le(limit.end, span.lo, scope) is True
