"""Traces through nodes that shift, scale or limit elements, or give them another type."""

from __future__ import annotations

from dataclasses import replace

from gather_infer import spans
from gather_infer.inference.lineage.trace import Limit, Part, Trace
from gather_infer.inference.lineage.visit import Visit, by_column, fitting, is_point, ranked
from gather_infer.symbolic import Dim, Scope, known_le
from gather_infer.tensor import DType, Span


def cast(visit: Visit) -> Trace | None:
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
            parts.append(replace(part, span=spans.type_span(target), exact=False, wraps=target))
    return Trace(tuple(parts), trace.axis)


def _bounded(part: Part, span: Span) -> Part:
    """The part when only the bounds of its elements are left."""
    return Part(span, needs=part.needs)


def added(visit: Visit) -> Trace | None:
    """x + d, d + x or x - d, with the one number d."""
    negative = visit.node.op_type == "Sub"
    for x, d in ((0, 1), (1, 0))[: 1 if negative else 2]:
        number = visit.number(d)
        if number is None or (isinstance(number, int) and not -spans.HUGE <= number <= spans.HUGE):
            continue
        offset = -number if negative else number
        visit.frame.shifts[visit.node.output[0]] = (visit.node.input[x], offset)
        trace = visit.trace(x)
        if trace is None:
            return None
        parts = tuple(_shifted(visit, p, offset) for p in trace.parts)
        return ranked(visit, Trace(parts, trace.axis), visit.tensor(x))
    visit.frame.sums[visit.node.output[0]] = (visit.node.op_type, visit.node.input[0], visit.node.input[1])
    return _beside(visit) or _outer(visit)


def _beside(visit: Visit) -> Trace | None:
    """x + d, d + x or x - d, with a constant d that has a number for each index of the last axis of x."""
    negative, shape = visit.node.op_type == "Sub", visit.result.shape
    for x, d in ((0, 1), (1, 0))[: 1 if negative else 2]:
        numbers = visit.row(d)
        if not shape or numbers is None or shape[-1] != len(numbers) or visit.tensor(x).shape != shape:
            continue
        trace = by_column(visit, x, len(shape) - 1)
        if trace is None:
            return None
        parts = trace.parts
        if trace.axis is None and len(parts) == 1:  # nobody knows which of its elements stand in a column
            parts = (replace(parts[0], whole=False, direct=False, exact=is_point(parts[0])),) * len(numbers)
        elif trace.axis != len(shape) - 1:
            return None
        shifts = [-number if negative else number for number in numbers]
        return Trace(tuple(_shifted(visit, p, n) for p, n in zip(parts, shifts, strict=True)), len(shape) - 1)
    return None


def _outer(visit: Visit) -> Trace | None:
    """The sum, or difference, of each element of one tensor with each of another: so of their ends as well."""
    shapes = [visit.tensor(i).shape for i in (0, 1)]
    parts = [visit.parts(i) for i in (0, 1)]
    if shapes[0] is None or shapes[1] is None or any(len(own) != 1 or not own[0].exact for own in parts):
        return None
    if any(1 not in pair for pair in zip(reversed(shapes[0]), reversed(shapes[1]), strict=False)):
        return None
    (x,), (y,) = parts
    combined = (spans.add if visit.node.op_type == "Add" else spans.sub)(x.span, y.span, visit.scope)
    span = fitting(visit, combined)
    needs = None if x.needs is None or y.needs is None else (*x.needs, *y.needs)
    return Trace((Part(span, exact=span == combined and _is_closed(span), needs=needs),))


def _is_closed(span: Span) -> bool:
    return span.lo is not None and span.hi is not None


def scaled(visit: Visit) -> Trace | None:
    """x * d, for the ends of x and a number d >= 0."""
    for x, d in ((0, 1), (1, 0)):
        number, parts = visit.number(d), visit.parts(x)
        if number is None or known_le(0, number, visit.scope) is not True or len(parts) != 1 or not parts[0].exact:
            continue
        product = spans.mul(parts[0].span, Span(number, number), visit.scope)
        span = fitting(visit, product)
        return Trace((Part(span, exact=span == product and _is_closed(span), needs=parts[0].needs),))
    return None


def _shifted(visit: Visit, part: Part, offset: Dim) -> Part:
    dtype = visit.result.dtype
    moved = spans.add(part.span, Span(offset, offset), visit.scope)
    span = fitting(visit, moved)
    if part.wrap is not None or part.wraps not in (None, dtype):
        return _bounded(part, span)
    is_closed = span == moved and span.lo is not None and span.hi is not None
    return replace(
        part,
        span=span,
        offset=part.offset + offset,
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
            nearer = spans.least if limit.is_upper else spans.most
            span = nearer(span, Span(limit.end, limit.end), visit.scope)
        if part.wrap is not None or part.wraps is not None:  # what x was is lost: a limit takes its signs away
            parts.append(_bounded(part, span))
            continue
        is_cut = not all(_is_within(part.span, limit, visit.scope) for limit in limits)
        span = span if is_cut else part.span
        parts.append(replace(part, span=span, exact=part.exact and not is_cut, limits=(*part.limits, *limits)))
    return ranked(visit, Trace(tuple(parts), trace.axis), source)


def _is_within(span: Span, limit: Limit, scope: Scope) -> bool:
    """Whether no number of the span is past a limit."""
    if limit.is_upper:
        return span.hi is not None and known_le(span.hi, limit.end, scope) is True
    return span.lo is not None and known_le(limit.end, span.lo, scope) is True
