"""Transfer functions of arithmetic: nodes that offset, scale, divide, clamp or cast elements."""

from __future__ import annotations

import itertools
from typing import Final

from gather_infer import value_ranges
from gather_infer.inference.provenance.origin import Affine, Clamp, Origin, Provenance, Quotient, RangeEnd
from gather_infer.inference.provenance.transfer_context import (
    TransferContext,
    at_result_rank,
    by_column,
    without_overflow,
)
from gather_infer.ops.semantics.bits import width_of
from gather_infer.symbolic import Dim, Scope, known_le
from gather_infer.tensor import INTEGER_RANGE, DType, ValueRange

MAX_STEPS: Final = 64
"""Maximal number of steps of one origin; beyond it only the bounds of the elements are tracked."""


def cast(context: TransferContext) -> Provenance | None:
    """Cast to int32 or int64.

    It may overflow, unless the target type holds every value of the source type or the value range of the operand fits.
    """
    source, target = context.fact(0).dtype, context.result.dtype
    trace = context.provenance(0)
    if trace is None or target not in (DType.INT32, DType.INT64):
        return None
    parts: list[Origin] = []
    for part in trace.origins:
        span = without_overflow(context, part.value_range)
        widens = source is not DType.UINT64 and (target is DType.INT64 or source not in (DType.INT64, DType.UINT32))
        if widens or (span == part.value_range and span.lo is not None and span.hi is not None):
            parts.append(part)
        else:
            if part.negative_offset is not None or part.clamps:
                part = _bounded(part, part.value_range)
            parts.append(part._replace(value_range=value_ranges.type_range(target), exact=False, overflow_dtype=target))
    return Provenance(tuple(parts), trace.axis)


def _bounded(origin: Origin, value_range: ValueRange) -> Origin:
    """`origin` without its input and steps: only the bounds `value_range` and `nonempty_if`."""
    return Origin(value_range, nonempty_if=origin.nonempty_if)


def added(context: TransferContext) -> Provenance | None:
    """Add and Sub with a single number d: x + d, d + x, x - d or d - x; other sums use columns or value ranges."""
    negative = context.node.op_type == "Sub"
    for x, d in ((0, 1), (1, 0))[: 1 if negative else 2]:
        number = context.only_element(d)
        if number is None or not value_ranges.cannot_wrap(number):
            continue
        offset = -number if negative else number
        context.environment.offsets[context.node.output[0]] = (context.node.input[x], offset)
        trace = context.provenance(x)
        if trace is None:
            return None
        parts = tuple(_shifted(context, p, offset) for p in trace.origins)
        return at_result_rank(context, Provenance(parts, trace.axis), context.fact(x))
    context.environment.sums[context.node.output[0]] = (
        context.node.op_type,
        context.node.input[0],
        context.node.input[1],
    )
    if negative and (number := context.only_element(0)) is not None and value_ranges.cannot_wrap(number):
        return _stepped_input(context, 1, Affine(-1, number))
    return _added_per_column(context) or _added_ranges(context)


def _added_per_column(context: TransferContext) -> Provenance | None:
    """Add and Sub of a tensor and a constant with one number for each index of the tensor's last axis."""
    negative, shape = context.node.op_type == "Sub", context.result.shape
    for x, d in ((0, 1), (1, 0))[: 1 if negative else 2]:
        numbers = context.constant_row(d)
        if not shape or numbers is None or shape[-1] != len(numbers) or context.fact(x).shape != shape:
            continue
        trace = by_column(context, x, len(shape) - 1)
        if trace is None:
            return None
        parts = trace.origins
        if trace.axis is None and len(parts) == 1:  # which of its elements are in a column is unknown
            parts = (parts[0].subset,) * len(numbers)
        elif trace.axis != len(shape) - 1:
            return None
        shifts = [-number if negative else number for number in numbers]
        return Provenance(tuple(_shifted(context, p, n) for p, n in zip(parts, shifts, strict=True)), len(shape) - 1)
    return None


def _added_ranges(context: TransferContext) -> Provenance | None:
    """Add and Sub of two tensors with known bounds, or of input elements and a bounded tensor.

    In a full outer sum, which broadcasts every element against every other, the bounds are attained.
    """
    shapes = [context.fact(i).shape for i in (0, 1)]
    both = [context.origins(i) for i in (0, 1)]
    if shapes[0] is None or shapes[1] is None or any(len(own) != 1 for own in both):
        return None
    is_outer = all(1 in pair for pair in zip(reversed(shapes[0]), reversed(shapes[1]), strict=False))
    (x,), (y,) = both
    if x.exact and y.exact and is_outer:
        combined = (value_ranges.add if context.node.op_type == "Add" else value_ranges.sub)(
            x.value_range, y.value_range, context.scope
        )
        span = without_overflow(context, combined)
        needs = None if x.nonempty_if is None or y.nonempty_if is None else (*x.nonempty_if, *y.nonempty_if)
        return Provenance((Origin(span, exact=span == combined and _is_closed(span), nonempty_if=needs),))
    for part, other, is_first in ((x, y, True), (y, x, False)):
        is_told = _is_closed(other.value_range) and other.value_range != value_ranges.type_range(context.result.dtype)
        if part.input and not other.input and is_told and not part.is_bounded_only:
            return _added_range(context, part, other, is_first=is_first, is_outer=is_outer and other.exact)
    return None


def _added_range(
    context: TransferContext, origin: Origin, other: Origin, *, is_first: bool, is_outer: bool
) -> Provenance | None:
    """Elements of a graph input plus or minus numbers in a bounded range: one origin for each bound of the sum.

    origin     origin of the elements
    other      origin of the numbers, of which only the bounds are used
    is_first   whether the elements are the first operand
    is_outer   whether every element is combined with each bound of the numbers
    """
    negative = context.node.op_type == "Sub"
    if origin.end is not None or origin.source_dtype is DType.UINT64:
        return None
    ends = []
    for number in (other.value_range.lo, other.value_range.hi):
        assert number is not None, "the caller checks that the range is closed"
        if not value_ranges.cannot_wrap(number):
            return None
        if negative and not is_first:
            ends.append(_stepped(context, origin, Affine(-1, number)))
        else:
            ends.append(_shifted(context, origin, -number if negative else number))
    if negative and is_first:
        ends.reverse()
    whole = without_overflow(context, value_ranges.hull(ends[0].value_range, ends[1].value_range, scope=context.scope))
    needs = (
        None if origin.nonempty_if is None or other.nonempty_if is None else (*origin.nonempty_if, *other.nonempty_if)
    )
    is_there = is_outer and origin.end is None
    return Provenance(
        tuple(
            end._replace(
                value_range=whole,
                exact=False,
                direct=False,
                nonempty_if=needs,
                end=RangeEnd(is_lower=is_low, is_attained=is_there),
            )
            for end, is_low in zip(ends, (True, False), strict=True)
        )
    )


def _is_closed(value_range: ValueRange) -> bool:
    return value_range.lo is not None and value_range.hi is not None


def scaled(context: TransferContext) -> Provenance | None:
    """Mul by a numeric constant, or by a symbolic size if the bounds of the elements are attained."""
    for x, k in ((0, 1), (1, 0)):
        number = context.only_element(k)
        if isinstance(number, int) and 0 < abs(number) <= value_ranges.HUGE:
            return _stepped_input(context, x, Affine(number, 0))
        parts = context.origins(x)
        if number is None or known_le(0, number, context.scope) is not True or len(parts) != 1 or not parts[0].exact:
            continue
        product = value_ranges.mul(parts[0].value_range, ValueRange(number, number), context.scope)
        span = without_overflow(context, product)
        return Provenance((Origin(span, exact=span == product and _is_closed(span), nonempty_if=parts[0].nonempty_if),))
    return None


def negated(context: TransferContext) -> Provenance | None:
    """Neg: multiplication by -1."""
    return _stepped_input(context, 0, Affine(-1, 0))


def divided(context: TransferContext) -> Provenance | None:
    """Div by a number d >= 1, rounded toward 0."""
    number = context.only_element(1)
    if number is None or known_le(1, number, context.scope) is not True:
        return None
    return _stepped_input(context, 0, Quotient(number))


def bit_shifted(context: TransferContext) -> Provenance | None:
    """BitShift of unsigned x: x << k is x * 2**k, x >> k is x / 2**k."""
    number, dtype = context.only_element(1), context.result.dtype
    assert dtype is not None, "only tensors of a known type are tracked"
    if not isinstance(number, int) or not 0 <= number < width_of(dtype) or INTEGER_RANGE[dtype][0] < 0:
        return None
    is_left = context.text("direction") == "LEFT"
    return _stepped_input(context, 0, Affine(1 << number, 0) if is_left else Quotient(1 << number))


def _stepped_input(context: TransferContext, index: int, step: Affine | Quotient) -> Provenance | None:
    """The provenance of input `index` after one more step; None if neither provenance nor exact bounds are known."""
    trace, parts = context.provenance(index), context.origins(index)
    if trace is None and not any(part.exact for part in parts):
        return None
    found = Provenance(tuple(_stepped(context, part, step) for part in parts), None if trace is None else trace.axis)
    return at_result_rank(context, found, context.fact(index))


def _stepped(context: TransferContext, origin: Origin, step: Affine | Quotient) -> Origin:
    """`origin` after one more step; only its bounds if the step cannot be recorded."""
    if isinstance(step, Quotient):
        moved = value_ranges.trunc_div(origin.value_range, ValueRange(step.divisor, step.divisor), context.scope)
    else:
        moved = value_ranges.mul(origin.value_range, ValueRange(step.factor, step.factor), context.scope)
        moved = value_ranges.add(moved, ValueRange(step.offset, step.offset), context.scope)
    span = without_overflow(context, moved)
    is_closed = span == moved and _is_closed(span)
    if (
        origin.is_bounded_only
        or (origin.input and origin.source_dtype is DType.UINT64)
        or len(origin.steps) >= MAX_STEPS
    ):
        return _bounded(origin, span)
    if isinstance(step, Affine):
        step = step._replace(
            overflow_dtype=None if is_closed else context.result.dtype, bounds=_bounds_of(origin, context.scope)
        )
    end = origin.end
    if end is not None and isinstance(step, Affine) and step.factor < 0:
        end = end._replace(is_lower=not end.is_lower)
    return origin.with_step(step, span, _step_bounds(span, context))._replace(exact=origin.exact and is_closed, end=end)


def _bounds_of(origin: Origin, scope: Scope) -> tuple[int, int] | None:
    """Numeric bounds of the elements of an origin; None when unknown."""
    lo, hi = origin.value_range.lo, origin.value_range.hi
    least = None if lo is None else scope.bounds(lo).lo
    most = None if hi is None else scope.bounds(hi).hi
    if least is not None and most is not None:
        return least, most
    given = origin.bounds if origin.offset == 0 and not origin.clamps else None
    return None if given is None else (given[0] if least is None else least, given[1] if most is None else most)


def _step_bounds(value_range: ValueRange, context: TransferContext) -> tuple[int, int]:
    """Numeric bounds of the result's elements, from their value range and the result's element type."""
    assert context.result.dtype is not None, "only tensors of a known type are tracked"
    least, most = INTEGER_RANGE[context.result.dtype]
    lo = None if value_range.lo is None else context.scope.bounds(value_range.lo).lo
    hi = None if value_range.hi is None else context.scope.bounds(value_range.hi).hi
    return least if lo is None else max(lo, least), most if hi is None else min(hi, most)


def _shifted(context: TransferContext, origin: Origin, offset: Dim) -> Origin:
    """`origin` plus an offset; only its bounds if the offset cannot be recorded."""
    dtype = context.result.dtype
    moved = value_ranges.add(origin.value_range, ValueRange(offset, offset), context.scope)
    span, whole = without_overflow(context, moved), origin.offset + offset
    if (
        origin.negative_offset is not None
        or origin.overflow_dtype not in (None, dtype)
        or not value_ranges.cannot_wrap(whole)
    ):
        return _bounded(origin, span)
    is_closed = span == moved and span.lo is not None and span.hi is not None
    return origin._replace(
        value_range=span,
        offset=whole,
        clamps=tuple(limit._replace(bound=limit.bound + offset) for limit in origin.clamps),
        exact=origin.exact and is_closed,
        overflow_dtype=origin.overflow_dtype if is_closed else dtype,
    )


def clamped(context: TransferContext) -> Provenance | None:
    """Clip, or Min and Max of a tensor and a number."""
    trace, source = context.provenance(0), context.fact(0)
    limits: list[Clamp] = []
    if context.node.op_type == "Clip":
        for index in (1, 2):
            if context.has(index):
                number = context.only_element(index)
                if number is None:
                    return None
                limits.append(Clamp(number, is_upper=index == 2))
    else:
        if len(context.inputs) != 2:
            return None
        number = context.only_element(1)
        if number is None:
            trace, source, number = context.provenance(1), context.fact(1), context.only_element(0)
        if number is None:
            return None
        limits.append(Clamp(number, is_upper=context.node.op_type == "Min"))
    if trace is None:
        return None
    parts: list[Origin] = []
    for part in trace.origins:
        span = part.value_range
        for limit in limits:
            nearer = value_ranges.min_of if limit.is_upper else value_ranges.max_of
            span = nearer(span, ValueRange(limit.bound, limit.bound), context.scope)
        is_long = len(part.clamps) + len(limits) > MAX_STEPS
        # A clamp after an overflow or an offset of negative elements is not invertible.
        if part.negative_offset is not None or part.overflow_dtype is not None or is_long:
            parts.append(_bounded(part, span))
            continue
        is_cut = not all(_is_within(part.value_range, limit, context.scope) for limit in limits)
        span = span if is_cut else part.value_range
        kept = tuple(limit for limit, _ in itertools.groupby((*part.clamps, *limits)))
        parts.append(part._replace(value_range=span, exact=part.exact and not is_cut, clamps=kept))
    return at_result_rank(context, Provenance(tuple(parts), trace.axis), source)


def _is_within(value_range: ValueRange, clamp: Clamp, scope: Scope) -> bool:
    """Whether a clamp is known to leave all elements in `value_range` unchanged."""
    if clamp.is_upper:
        return value_range.hi is not None and known_le(value_range.hi, clamp.bound, scope) is True
    return value_range.lo is not None and known_le(clamp.bound, value_range.lo, scope) is True
