"""Traces of what is made of positions: Range, NonZero, boxes, slices of constants that count."""

from __future__ import annotations

import numpy as np

from gather_infer import spans
from gather_infer.inference.lineage.trace import Part, Trace
from gather_infer.inference.lineage.visit import MAX_PARTS, Visit, fitting
from gather_infer.symbolic import known_eq, known_le, product
from gather_infer.tensor import Span


def progression(visit: Visit) -> Trace | None:
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


def integers(visit: Visit) -> Trace | None:
    """All integers from start on, before limit; only with steps of 1 it is plain what the last one is."""
    start, limit, delta = (visit.number(i) for i in range(3))
    if start is None or limit is None or delta not in (1, -1):
        return None
    span = Span(start, limit - 1) if delta == 1 else Span(limit + 1, start)
    return Trace((Part(fitting(visit, span), exact=fitting(visit, span) == span),))


def non_zero(visit: Visit) -> Trace | None:
    shape = visit.tensor(0).shape
    if shape is None or not shape or len(shape) > MAX_PARTS:
        return None
    found = visit.result.shape
    is_all = found is not None and known_eq(found[1], product(shape), visit.scope) is True
    return Trace(tuple(Part(Span(0, size - 1), exact=is_all) for size in shape), axis=0)


def boxes(visit: Visit) -> Trace | None:
    shape = visit.tensor(1).shape
    if shape is None or len(shape) != 3:
        return None
    return Trace(tuple(Part(Span(0, size - 1)) for size in shape), axis=1)
