"""Provenance of iota-like tensors: Range, NonZero, box indices, slices of arithmetic progressions."""

from __future__ import annotations

import numpy as np

from gather_infer import value_ranges
from gather_infer.inference.provenance.extents import shared_extent
from gather_infer.inference.provenance.origin import Origin, Provenance, RangeEnd
from gather_infer.inference.provenance.transfer_context import MAX_ORIGINS, TransferContext
from gather_infer.symbolic import Dim, Expr, known_eq, known_le, product
from gather_infer.tensor import ValueRange


def progression(context: TransferContext) -> Provenance | None:
    """Slice of a constant that is an arithmetic progression along the sliced axis, like a table of positions."""
    start, axis = context.only_element(1), context.only_element(3) if len(context.inputs) > 3 else 0
    stride = context.only_element(4) if context.has(4) else 1
    shape = context.result.shape
    if start is None or not isinstance(axis, int) or stride != 1 or not shape or not -len(shape) <= axis < len(shape):
        return None
    numbers = context.array(0)
    if numbers is None or numbers.size == 0 or known_le(0, start, context.scope) is not True:
        return None
    rows = np.moveaxis(numbers, axis, -1).reshape(-1, numbers.shape[axis])
    first, step = int(rows[0, 0]), int(rows[0, 1]) - int(rows[0, 0]) if rows.shape[1] > 1 else 0
    if (
        abs(first) + abs(step) * rows.shape[1] > value_ranges.HUGE
        or not (rows == first + step * np.arange(rows.shape[1])).all()
    ):
        return None
    ends = (first + step * start, first + step * (start + shape[axis] - 1))
    return Provenance((Origin(ValueRange(*(ends if step >= 0 else ends[::-1])), exact=True),))


def arange(context: TransferContext) -> Provenance | None:
    """Range: numbers from `start`, inclusive, to `limit`, exclusive, in steps of `delta`."""
    start, limit, delta = (context.only_element(i) for i in range(3))
    shape = context.result.shape
    if start is not None and limit is not None and delta in (1, -1):
        return Provenance(
            (Origin(ValueRange(start, limit - 1) if delta == 1 else ValueRange(limit + 1, start), exact=True),)
        )
    if start is not None and delta == 1 and shape:
        size = shared_extent(context.node.input[1], start, shape[0], context.environment)
        context.environment.values[context.node.output[0]] = context.result.with_(shape=(size,))
        is_counted = isinstance(size, Expr) and size.is_symbol and size.name in context.environment.all_symbol_origins()
        if not is_counted and context.result.value_range is not None and context.result.value_range.hi is not None:
            return None  # the bounds from data are tighter than a symbol that replaces them
        return Provenance((Origin(ValueRange(start, start + size - 1), exact=True),))
    if delta is None or known_le(1, delta, context.scope) is not True:
        return None
    return _range_between(context, is_dense=delta == 1)


def _range_between(context: TransferContext, *, is_dense: bool) -> Provenance | None:
    """Origins of a Range whose start or limit is a graph input element: one for each bound.

    is_dense   whether delta is 1, so that limit - 1 is an element

    Both bounds are elements of a nonempty range, but it may be empty unless start and limit are the same input element
    plus known offsets.
    """
    ends = [context.origins(i) for i in (0, 1)]
    if any(len(own) != 1 for own in ends) or not (ends[0][0].input or ends[1][0].input):
        return None
    (first,), (last,) = ends
    if any(part.negative_offset is not None or part.end is not None for part in (first, last)):
        return None
    span, shape = value_ranges.range_of(context.result, context.scope), context.result.shape
    count = _distance(first, last)
    if count is not None and shape:  # where limit overflows its type, the range is empty
        context.scope.add_fact(count - shape[0])
    is_known = first.exact if not first.input else count is not None
    parts = []
    ways = (
        (first, 0, RangeEnd(is_lower=True, is_attained=is_known)),
        (last, -1, RangeEnd(is_lower=False, is_attained=is_known and is_dense)),
    )
    for part, offset, end in ways:
        limits = tuple(limit._replace(bound=limit.bound + offset) for limit in part.clamps)
        own = value_ranges.meet(
            value_ranges.add(part.value_range, ValueRange(offset, offset), context.scope), span, context.scope
        )
        moved = part._replace(value_range=own, offset=part.offset + offset, clamps=limits, direct=False, exact=False)
        parts.append(moved._replace(end=end, nonempty_if=()))
    return Provenance(tuple(parts))


def _distance(first: Origin, last: Origin) -> Dim | None:
    """`last - first` if both origins are the same input element plus different offsets; None otherwise."""
    is_same = (
        first.whole
        and first._replace(value_range=last.value_range, offset=last.offset, overflow_dtype=last.overflow_dtype) == last
    )
    return last.offset - first.offset if is_same and first.overflow_dtype is None and not first.clamps else None


def non_zero(context: TransferContext) -> Provenance | None:
    """NonZero: row k holds positions on axis k."""
    shape = context.fact(0).shape
    if shape is None or not shape or len(shape) > MAX_ORIGINS:
        return None
    found = context.result.shape
    is_all = found is not None and known_eq(found[1], product(shape), context.scope) is True
    return Provenance(tuple(Origin(ValueRange(0, size - 1), exact=is_all) for size in shape), axis=0)


def non_max_suppression(context: TransferContext) -> Provenance | None:
    """NonMaxSuppression: columns of batch, class and box indices."""
    shape = context.fact(1).shape
    if shape is None or len(shape) != 3:
        return None
    return Provenance(tuple(Origin(ValueRange(0, size - 1)) for size in shape), axis=1)
