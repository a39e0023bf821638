"""Traces through nodes that move, shift or limit elements.

They also sharpen the span of `Where(x < 0, x + n, x)`, which a rule cannot: it sees three tensors and not that they are
about the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto

from gather_infer import spans
from gather_infer.inference.lineage import counts, floats, growth
from gather_infer.inference.lineage.trace import Limit, Part, Test, Trace, one_element, part_of
from gather_infer.rules import Context, Traits
from gather_infer.symbolic import Dim, DimTooLarge, Scope, known_eq, known_le, product
from gather_infer.tensor import INTEGER_RANGE, DType, Span, SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.frame import Frame

TABLE_LIMIT: Final = 65536
"""Elements of a constant that is looked at as a whole."""

MAX_PARTS: Final = 8
"""Parts of a trace; a tensor with more is not followed."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """How an operator is followed; see `lineage_of`.

    own     the operator, where it has a law of its own; else empty
    moves   the input whose elements output 0 has, some or all of them; None where it has others
    permuted   that input, where each of its elements is there exactly once
    """

    own: str
    moves: int | None
    permuted: int | None


@dataclass(slots=True)
class Visit:
    """One node while the traces of its outputs are worked out."""

    node: NodeProto
    inputs: Sequence[Value | None]
    frame: Frame
    scope: Scope
    result: SymbolicTensor
    load: Callable[[str, Frame], np.ndarray[Any, Any] | None]

    def tensor(self, index: int) -> SymbolicTensor:
        value = self.inputs[index] if index < len(self.inputs) else None
        return value if isinstance(value, SymbolicTensor) else SymbolicTensor()

    def trace(self, index: int) -> Trace | None:
        return self.frame.trace(self.node.input[index]) if index < len(self.node.input) else None

    def parts(self, index: int) -> tuple[Part, ...]:
        """The parts of an input, or the one that its facts make."""
        trace = self.trace(index)
        return trace.parts if trace is not None else (part_of(self.tensor(index), self.scope),)

    def number(self, index: int) -> Dim | None:
        """The one element of an integer input, None when it is not known."""
        return one_element(self.tensor(index))

    def numbers(self, index: int) -> np.ndarray[Any, Any] | None:
        """The elements of a constant, of up to `TABLE_LIMIT`."""
        tensor = self.tensor(index)
        size = None if tensor.shape is None else product(tensor.shape)
        if not isinstance(size, int) or size > TABLE_LIMIT:
            return None
        return self.load(self.node.input[index], self.frame)

    def attribute(self, name: str, default: int) -> int:
        return next((int(a.i) for a in self.node.attribute if a.name == name), default)

    def axis(self, rank: int | None, default: int = 0) -> int | None:
        """The attribute axis, counted from the front."""
        axis = self.attribute("axis", default)
        return axis if axis >= 0 else None if rank is None else axis + rank


def lineage_of(domain: str, op_type: str, traits: Traits) -> Lineage | None:
    """How an operator is followed: by a law of its own, or because its traits say that it moves elements."""
    own = op_type if (domain, op_type) in _FOLLOWED else ""
    if not own and traits.moves is None:
        return None
    return Lineage(own, traits.moves, traits.moves if traits.permutes else None)


def follow(
    node: NodeProto,
    lineage: Lineage,
    inputs: Sequence[Value | None],
    outputs: Sequence[str],
    frame: Frame,
    context: Context,
    load: Callable[[str, Frame], np.ndarray[Any, Any] | None],
) -> None:
    """Note in `frame` where the elements of the outputs of a node come from, if it can be told."""
    scope = context.scope
    result = frame.values.get(outputs[0]) if outputs else None
    if not isinstance(result, SymbolicTensor) or result.dtype is None:
        return
    own, moves, permuted = lineage.own, lineage.moves, lineage.permuted
    if own in growth.STEPS:
        growth.follow_growth(node, inputs, result, frame, scope)
    if permuted is not None or own in counts.STEPS:
        counts.follow_count(node, own, permuted, inputs, result, frame)
    if result.dtype not in INTEGER_RANGE and result.dtype is not DType.BOOL:
        if moves is not None or own in floats.STEPS:
            floats.follow_float(node, own, moves, inputs, result, frame, scope)
        return
    values = result.values
    if values is not None and None not in values.flat:
        return  # the elements say it all
    if any(a.ref_attr_name for a in node.attribute):
        return
    if result.dtype is DType.BOOL:
        if own in _TESTING:
            _test(Visit(node, inputs, frame, scope, result, load))
        return
    if own == "Cast" and (found_floats := frame.floats.get(node.input[0])) is not None:
        source = inputs[0]
        assert isinstance(source, SymbolicTensor), "floats are followed through tensors"
        span = floats.truncated(found_floats, source.dtype, result.dtype, context)
        if span is not None:
            sharpen(outputs[0], span, frame)
        return
    visit = Visit(node, inputs, frame, scope, result, load)
    if own == "Split":
        _split(visit, outputs)
        return
    trace_of = _TRACES.get(own)
    if trace_of is not None:
        try:
            found = trace_of(visit)
        except DimTooLarge:
            return
    elif moves is None:
        return
    else:
        found = _some(visit.trace(moves)) if permuted is None else _moved(visit, moves)
    if found is None or len(found.parts) > MAX_PARTS:
        return
    frame.traces[outputs[0]] = found
    if len(found.parts) == 1:
        sharpen(outputs[0], found.parts[0].span, frame)


def sharpen(name: str, span: Span, frame: Frame) -> None:
    """Give a tensor the ends of a span where its own is open, or belongs to a larger tensor.

    An end that is the limit of the element type says nothing.
    """
    value = frame.values[name]
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "only tensors of a known type are followed"
    old, limits = value.span or Span(), spans.type_span(value.dtype)
    new = Span(
        old.lo if span.lo is None or span.lo == limits.lo else span.lo,
        old.hi if span.hi is None or span.hi == limits.hi else span.hi,
    )
    if new != old and value.values is None:
        ends = limits.lo if new.lo is None else new.lo, limits.hi if new.hi is None else new.hi
        frame.values[name] = value.with_(span=Span(*ends))


def _moved(visit: Visit, index: int = 0) -> Trace | None:
    """Every element of an input, elsewhere."""
    trace = visit.trace(index)
    return None if trace is None else Trace(_astray(trace))


def _astray(trace: Trace) -> tuple[Part, ...]:
    """The parts when their elements no longer stand where they stood in an input."""
    return tuple(replace(p, direct=False) for p in trace.parts)


def _repeated(visit: Visit) -> Trace | None:
    """Every element of the input, any number of times; none of them where the result alone is empty."""
    trace, given, shape = _moved(visit), visit.tensor(0).shape, visit.result.shape
    if trace is None or (
        given is not None
        and shape is not None
        and all(dim in given or known_le(1, dim, visit.scope) is True for dim in shape)
    ):
        return trace
    return Trace(tuple(replace(p, whole=False) for p in trace.parts))


def _same(visit: Visit) -> Trace | None:
    return visit.trace(0)


def _transposed(visit: Visit) -> Trace | None:
    trace, rank = visit.trace(0), visit.tensor(0).rank
    if trace is None or trace.axis is None or rank is None:
        return _moved(visit)
    order = next((list(a.ints) for a in visit.node.attribute if a.name == "perm"), list(range(rank))[::-1])
    return Trace(_astray(trace), order.index(trace.axis))


def _some(trace: Trace | None) -> Trace | None:
    """Some elements of a tensor, nobody knows which."""
    if trace is None:
        return None
    alone = len(trace.parts) == 1
    return Trace(
        tuple(
            replace(p, whole=False, direct=False, exact=_is_point(p), needs=() if alone else None) for p in trace.parts
        )
    )


def _is_point(part: Part) -> bool:
    return part.exact and part.span.lo == part.span.hi


def _picked(visit: Visit) -> Trace | None:
    trace = visit.trace(0)
    index = visit.number(1)
    if (
        trace is not None
        and trace.axis is not None
        and trace.axis == visit.axis(visit.tensor(0).rank)
        and isinstance(index, int)
        and -len(trace.parts) <= index < len(trace.parts)
    ):
        return Trace((trace.parts[index],))
    return _some(trace)


def _sliced(visit: Visit) -> Trace | None:
    trace = visit.trace(0)
    if visit.tensor(0).shape is not None and visit.tensor(0).shape == visit.result.shape:
        return _moved(visit)  # all of it, in whatever order
    if trace is None:
        return _progression(visit)
    if trace.axis is None:
        return _some(trace)
    start, end, axis = visit.number(1), visit.number(2), visit.number(3)
    stride = visit.number(4) if len(visit.inputs) > 4 and visit.inputs[4] is not None else 1
    rank = visit.tensor(0).rank
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(axis, int) and rank and stride == 1):
        return _some(trace)
    if axis % rank != trace.axis:
        rows = (replace(p, whole=False, direct=False, exact=_is_point(p)) for p in trace.parts)
        return replace(trace, parts=tuple(rows))
    parts = trace.parts[start:end]
    return Trace(parts, trace.axis) if parts else None


def _progression(visit: Visit) -> Trace | None:
    """A slice of a constant that rises, or falls, in equal steps along its axis, as positions do."""
    start, axis = visit.number(1), visit.number(3) if len(visit.inputs) > 3 else 0
    stride = visit.number(4) if len(visit.inputs) > 4 and visit.inputs[4] is not None else 1
    shape = visit.result.shape
    if start is None or not isinstance(axis, int) or stride != 1 or not shape or not -len(shape) <= axis < len(shape):
        return None
    numbers = visit.numbers(0)
    if numbers is None or numbers.size == 0 or known_le(0, start, visit.scope) is not True:
        return None
    rows = np.moveaxis(numbers, axis, -1).reshape(-1, numbers.shape[axis])
    first, step = int(rows[0, 0]), int(rows[0, 1]) - int(rows[0, 0]) if rows.shape[1] > 1 else 0
    if max(abs(first), abs(step)) > spans.HUGE or not (rows == first + step * np.arange(rows.shape[1])).all():
        return None
    ends = (first + step * start, first + step * (start + shape[axis] - 1))
    return Trace((Part(Span(*(ends if step >= 0 else ends[::-1])), exact=True),))


def _split(visit: Visit, outputs: Sequence[str]) -> None:
    trace, rank = visit.trace(0), visit.tensor(0).rank
    if trace is None:
        return
    axis, at = visit.axis(rank), 0
    for name in outputs:
        value = visit.frame.values.get(name) if name else None
        found = _some(trace)
        if trace.axis is not None and trace.axis == axis:
            length = value.shape[axis] if isinstance(value, SymbolicTensor) and value.shape is not None else None
            if not isinstance(length, int):
                return
            found = Trace(trace.parts[at : at + length], trace.axis)
            at += length
        if name and found is not None and found.parts:
            visit.frame.traces[name] = found
            if len(found.parts) == 1:
                sharpen(name, found.parts[0].span, visit.frame)


def _concat(visit: Visit) -> Trace | None:
    count = len(visit.node.input)
    if count > MAX_PARTS:
        return None
    axis = visit.axis(visit.result.rank)
    stacked = axis is not None
    parts: list[Part] = []
    for i in range(count):
        shape = visit.tensor(i).shape
        if shape is not None and 0 in shape:
            continue
        own = visit.parts(i)
        open_dims = None if shape is None else tuple(d for d in shape if known_le(1, d, visit.scope) is not True)
        # Stacked single rows are empty together; else one part may be empty where another is not.
        is_row = shape is not None and axis is not None and shape[axis] == 1
        stacked &= is_row
        if is_row and len(own) > 1:
            own = (_merged(own, visit.scope),)
        for p in own:
            needs = None if p.needs is None or open_dims is None else (*p.needs, *open_dims)
            parts.append(replace(p, direct=False, needs=p.needs if is_row else needs))
    if len(parts) == 1:
        parts = [replace(parts[0], needs=())]
    return Trace(tuple(parts), axis if stacked else None) if parts else None


def _merged(parts: tuple[Part, ...], scope: Scope) -> Part:
    """One part for the elements of several, of which only the bounds are left."""
    return Part(
        spans.hull(*(part.span for part in parts), scope=scope),
        needs=() if any(part.is_certain for part in parts) else None,
    )


def _cast(visit: Visit) -> Trace | None:
    source, target = visit.tensor(0).dtype, visit.result.dtype
    trace = visit.trace(0)
    if trace is None or target not in (DType.INT32, DType.INT64):
        return None
    parts: list[Part] = []
    for part in trace.parts:
        span = _fitting(visit, part.span)
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


def _added(visit: Visit) -> Trace | None:
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
        return _ranked(visit, Trace(parts, trace.axis), visit.tensor(x))
    visit.frame.sums[visit.node.output[0]] = (visit.node.op_type, visit.node.input[0], visit.node.input[1])
    return _outer(visit)


def _ranked(visit: Visit, trace: Trace, source: SymbolicTensor) -> Trace:
    """The trace of a tensor of the rank of the result; a number of more axes than `source` adds some in front."""
    if source.rank is not None and source.rank == visit.result.rank:
        return trace
    return Trace(_astray(trace))


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
    span = _fitting(visit, combined)
    needs = None if x.needs is None or y.needs is None else (*x.needs, *y.needs)
    return Trace((Part(span, exact=span == combined and _is_closed(span), needs=needs),))


def _is_closed(span: Span) -> bool:
    return span.lo is not None and span.hi is not None


def _scaled(visit: Visit) -> Trace | None:
    """x * d, for the ends of x and a number d >= 0."""
    for x, d in ((0, 1), (1, 0)):
        number, parts = visit.number(d), visit.parts(x)
        if number is None or known_le(0, number, visit.scope) is not True or len(parts) != 1 or not parts[0].exact:
            continue
        lo, hi = parts[0].span.lo, parts[0].span.hi
        if lo is None or hi is None:
            return None
        try:
            scaled = Span(lo * number, hi * number)
        except DimTooLarge:
            return None
        span = _fitting(visit, scaled)
        return Trace((Part(span, exact=span == scaled, needs=parts[0].needs),))
    return None


def _shifted(visit: Visit, part: Part, offset: Dim) -> Part:
    dtype = visit.result.dtype
    moved = spans.add(part.span, Span(offset, offset), visit.scope)
    span = _fitting(visit, moved)
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


def _fitting(visit: Visit, span: Span) -> Span:
    """The span of a sum; what may pass the end of the element type tells nothing."""
    if visit.result.dtype is DType.INT64:
        least, most = INTEGER_RANGE[DType.INT64]
        fits = all(not isinstance(end, int) or least <= end <= most for end in (span.lo, span.hi))
        return span if fits else spans.ANY
    limits = spans.type_span(visit.result.dtype)
    ends = ((limits.lo, span.lo), (span.lo, span.hi), (span.hi, limits.hi))
    fits = all(a is not None and b is not None and known_le(a, b, visit.scope) is True for a, b in ends)
    return span if fits else limits


def _limited(visit: Visit) -> Trace | None:
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
    return _ranked(visit, Trace(tuple(parts)), source)


def _is_within(span: Span, limit: Limit, scope: Scope) -> bool:
    """Whether no number of the span is past a limit."""
    if limit.is_upper:
        return span.hi is not None and known_le(span.hi, limit.end, scope) is True
    return span.lo is not None and known_le(limit.end, span.lo, scope) is True


def _range(visit: Visit) -> Trace | None:
    """All integers from start on, before limit; only with steps of 1 it is plain what the last one is."""
    start, limit, delta = (visit.number(i) for i in range(3))
    if start is None or limit is None or delta not in (1, -1):
        return None
    span = Span(start, limit - 1) if delta == 1 else Span(limit + 1, start)
    return Trace((Part(_fitting(visit, span), exact=_fitting(visit, span) == span),))


def _non_zero(visit: Visit) -> Trace | None:
    shape = visit.tensor(0).shape
    if shape is None or not shape or len(shape) > MAX_PARTS:
        return None
    found = visit.result.shape
    is_all = found is not None and known_eq(found[1], product(shape), visit.scope) is True
    return Trace(tuple(Part(Span(0, size - 1), exact=is_all) for size in shape), axis=0)


def _boxes(visit: Visit) -> Trace | None:
    shape = visit.tensor(1).shape
    if shape is None or len(shape) != 3:
        return None
    return Trace(tuple(Part(Span(0, size - 1)) for size in shape), axis=1)


_TESTS: Final = {
    # x < d and the like, for a tensor x and a number d: (the number is added to d, negated)
    "Less": (0, False),
    "LessOrEqual": (1, False),
    "Greater": (1, True),
    "GreaterOrEqual": (0, True),
}
_MIRRORED: Final = {
    "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
    "Greater": "Less",
    "GreaterOrEqual": "LessOrEqual",
}
_TESTING: Final = _TESTS.keys() | {"Not"}


def _test(visit: Visit) -> None:
    node, out = visit.node, visit.node.output[0]
    if node.op_type == "Not":
        found = visit.frame.tests.get(node.input[0])
        if found is not None:
            visit.frame.tests[out] = replace(found, negated=not found.negated)
        return
    for x, d, op_type in ((0, 1, node.op_type), (1, 0, _MIRRORED[node.op_type])):
        number = visit.number(d)
        dtype = visit.tensor(x).dtype
        if number is not None and dtype is not None and dtype.is_integer:
            more, negated = _TESTS[op_type]
            visit.frame.tests[out] = Test(node.input[x], number + more, negated)
            return


def _chosen(visit: Visit) -> Trace | None:
    """Where: the parts of both branches; under a test of the same tensor each sees the half that it is used for."""
    node, frame, scope = visit.node, visit.frame, visit.scope
    test = frame.tests.get(node.input[0])
    used: dict[int, Span] = {}
    if test is not None:
        base = frame.find(test.base)
        assert isinstance(base, SymbolicTensor), "tests are of tensors"
        span = spans.span_of(base, scope)
        below, above = (2, 1) if test.negated else (1, 2)
        halves = {
            below: Span(span.lo, spans.least(span, Span(test.limit - 1, test.limit - 1), scope).hi),
            above: Span(spans.most(span, Span(test.limit, test.limit), scope).lo, span.hi),
        }
        used = {branch: _half(visit, branch, test.base, half) for branch, half in halves.items()}
        sharpen(node.output[0], _fitting(visit, spans.hull(*used.values(), scope=scope)), frame)
        wrapped = _wrapped(visit, test, below, above)
        if wrapped is not None:
            return wrapped
    parts: list[Part] = []
    for branch in (1, 2):
        own = visit.parts(branch)
        for part in own:
            narrow = used.get(branch, part.span) if len(own) == 1 else part.span
            exact = _is_point(part) and narrow == part.span
            parts.append(replace(part, span=narrow, exact=exact, needs=None, whole=False, direct=False))
    return Trace(tuple(parts))


def _half(visit: Visit, branch: int, base: str, half: Span) -> Span:
    """The span of a branch where `base` is in `half`."""
    name, known = visit.node.input[branch], spans.span_of(visit.tensor(branch), visit.scope)
    if name == base:
        return half
    shifted, offset = visit.frame.shifts.get(name, ("", 0))
    if shifted == base:
        moved = spans.add(half, Span(offset, offset), visit.scope)
        return moved if _fitting(visit, moved) == moved else known
    total = _total(visit, name, base, half)
    if total is not None:
        return total
    function, value = visit.frame.growth.get(name), visit.frame.find(base)
    if function is None or function.base != base:
        return known
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "what grows does so with an integer tensor"
    grown = growth.grown(function, half, value.dtype, visit.scope)
    return Span(spans.most(grown, known, visit.scope).lo, spans.least(grown, known, visit.scope).hi)


def _total(visit: Visit, name: str, base: str, half: Span) -> Span | None:
    """The span of a sum or difference of `base` and another tensor where `base` is in `half`; None if it is open."""
    op_type, *operands = visit.frame.sums.get(name, ("",))
    if base not in operands:
        return None
    given: list[Span] = []
    for operand in operands:
        value = visit.frame.find(operand)
        known = spans.span_of(value, visit.scope) if isinstance(value, SymbolicTensor) else spans.ANY
        given.append(half if operand == base else known)
    found = (spans.add if op_type == "Add" else spans.sub)(given[0], given[1], visit.scope)
    return None if found.lo is None or found.hi is None or _fitting(visit, found) != found else found


def _wrapped(visit: Visit, test: Test, below: int, above: int) -> Trace | None:
    """The trace of `Where(x < 0, x + n, x)` for an input x as it is."""
    names = visit.node.input
    shifted, offset = visit.frame.shifts.get(names[below], ("", 0))
    trace = visit.frame.trace(test.base)
    if test.limit != 0 or names[above] != test.base or shifted != test.base or trace is None or len(trace.parts) != 1:
        return None
    part = trace.parts[0]
    if not part.input or part.offset != 0 or part.limits or part.wrap is not None or part.wraps is not None:
        return None
    result = visit.frame.values[visit.node.output[0]]
    assert isinstance(result, SymbolicTensor), "only tensors are followed"
    base = visit.tensor(above)
    return _ranked(visit, Trace((replace(part, wrap=offset, span=spans.span_of(result, visit.scope)),)), base)


_TRACES: Final[dict[str, Callable[[Visit], Trace | None]]] = {
    **dict.fromkeys(("Expand", "Tile"), _repeated),
    **dict.fromkeys(("Add", "Sub"), _added),
    "Mul": _scaled,
    **dict.fromkeys(("Clip", "Min", "Max"), _limited),
    "Identity": _same,
    "Transpose": _transposed,
    "Gather": _picked,
    "Slice": _sliced,
    "Concat": _concat,
    "Cast": _cast,
    "Range": _range,
    "NonZero": _non_zero,
    "NonMaxSuppression": _boxes,
    "Where": _chosen,
}
_FOLLOWED: Final = frozenset(
    ("", op_type) for op_type in _TRACES.keys() | _TESTING | {"Split"} | floats.STEPS | growth.STEPS | counts.STEPS
)
"""Operators with a law of their own: what else is followed moves elements, and its traits say so."""
