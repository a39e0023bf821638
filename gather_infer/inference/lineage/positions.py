"""Provenance of iota-like tensors: Range, NonZero, box indices, slices of arithmetic progressions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gather_infer import value_ranges
from gather_infer.inference.lineage.extents import note_extent
from gather_infer.inference.lineage.trace import End, Part, Trace
from gather_infer.inference.lineage.visit import MAX_PARTS, Visit
from gather_infer.symbolic import Dim, Expr, known_eq, known_le, product
from gather_infer.tensor import ValueRange


def progression(visit: Visit) -> Trace | None:
    """Slice of a constant that is an arithmetic progression along its axis, like a table of positions."""
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
    if (
        abs(first) + abs(step) * rows.shape[1] > value_ranges.HUGE
        or not (rows == first + step * np.arange(rows.shape[1])).all()
    ):
        return None
    ends = (first + step * start, first + step * (start + shape[axis] - 1))
    return Trace((Part(ValueRange(*(ends if step >= 0 else ends[::-1])), exact=True),))


def integers(visit: Visit) -> Trace | None:
    """Range: every number from start on, before limit, in steps of delta."""
    start, limit, delta = (visit.number(i) for i in range(3))
    shape = visit.result.shape
    if start is not None and limit is not None and delta in (1, -1):
        return Trace((Part(ValueRange(start, limit - 1) if delta == 1 else ValueRange(limit + 1, start), exact=True),))
    if start is not None and delta == 1 and shape:
        size = note_extent(visit.node.input[1], start, shape[0], visit.frame)
        visit.frame.values[visit.node.output[0]] = visit.result.with_(shape=(size,))
        is_counted = isinstance(size, Expr) and size.is_symbol and size.name in visit.frame.all_symbol_origins()
        if not is_counted and visit.result.value_range is not None and visit.result.value_range.hi is not None:
            return None  # the bounds from data are tighter than a symbol that replaces them
        return Trace((Part(ValueRange(start, start + size - 1), exact=True),))
    if delta is None or known_le(1, delta, visit.scope) is not True:
        return None
    return _between(visit, is_dense=delta == 1)


def _between(visit: Visit, *, is_dense: bool) -> Trace | None:
    """Origins of a Range whose bounds are input elements; the last one before limit is attained where it `is_dense`.

    Whether the range is empty depends on start and limit, unless both are the same element up to a known distance.
    """
    ends = [visit.parts(i) for i in (0, 1)]
    if any(len(own) != 1 for own in ends) or not (ends[0][0].input or ends[1][0].input):
        return None
    (first,), (last,) = ends
    if any(part.wrap is not None or part.end is not None for part in (first, last)):
        return None
    span, shape = value_ranges.range_of(visit.result, visit.scope), visit.result.shape
    count = _distance(first, last)
    if count is not None and shape:  # where limit overflows its type, the range is empty
        visit.scope.require(count - shape[0])
    is_known = first.exact if not first.input else count is not None
    parts = []
    ways = (
        (first, 0, End(is_low=True, is_there=is_known)),
        (last, -1, End(is_low=False, is_there=is_known and is_dense)),
    )
    for part, offset, end in ways:
        limits = tuple(replace(limit, end=limit.end + offset) for limit in part.limits)
        own = value_ranges.meet(value_ranges.add(part.span, ValueRange(offset, offset), visit.scope), span, visit.scope)
        moved = replace(part, span=own, offset=part.offset + offset, limits=limits, direct=False, exact=False)
        parts.append(replace(moved, end=end, needs=()))
    return Trace(tuple(parts))


def _distance(first: Part, last: Part) -> Dim | None:
    """The distance between two origins that are the same element plus a size; None where they are not."""
    is_same = first.whole and replace(first, span=last.span, offset=last.offset, wraps=last.wraps) == last
    return last.offset - first.offset if is_same and first.wraps is None and not first.limits else None


def non_zero(visit: Visit) -> Trace | None:
    """NonZero: row k holds positions on axis k."""
    shape = visit.tensor(0).shape
    if shape is None or not shape or len(shape) > MAX_PARTS:
        return None
    found = visit.result.shape
    is_all = found is not None and known_eq(found[1], product(shape), visit.scope) is True
    return Trace(tuple(Part(ValueRange(0, size - 1), exact=is_all) for size in shape), axis=0)


def boxes(visit: Visit) -> Trace | None:
    """NonMaxSuppression: columns of batch, class and box indices."""
    shape = visit.tensor(1).shape
    if shape is None or len(shape) != 3:
        return None
    return Trace(tuple(Part(ValueRange(0, size - 1)) for size in shape), axis=1)
