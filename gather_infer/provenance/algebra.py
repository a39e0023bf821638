"""Exact arithmetic of sizes of at least 1: an empty tensor mixes no rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gather_infer.symbolic import Dim, Scope, floordiv, product


@lru_cache(maxsize=4096)
def quotient(dividend: Dim, divisor: Dim) -> Dim | None:
    """The dim q with `q * divisor == dividend` for sizes of at least 1; None if none is found."""
    if divisor == 1:
        return dividend
    if isinstance(divisor, int) and divisor < 1:
        return None
    scope = Scope()
    scope.divisors_are_nonzero = True
    found = floordiv(dividend, divisor, scope)
    return found if found * divisor == dividend else None


def strides(shape: Sequence[Dim]) -> list[Dim]:
    """The number of elements from one index of an axis to the next, per axis, in row-major order."""
    found: list[Dim] = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        found[axis] = found[axis + 1] * shape[axis + 1]
    return found


def digit_in(shape: Sequence[Dim], size: Dim, stride: Dim, outer: Dim) -> tuple[int, Dim] | None:
    """The axis, and the size inside it, of a digit of the row-major order.

    size     the number of its values
    stride   the number of elements from one value to the next
    outer    the number of times that it runs through all of its values

    None if no axis of `shape` holds all of the digit. The total numbers of elements are equal, but as symbolic
    expressions they may differ; then the place follows from `outer` alone.
    """
    if any(dim == 0 for dim in shape):
        return None
    for axis, step in enumerate(strides(shape)):
        inner = quotient(stride, step)
        if inner is not None and quotient(shape[axis], inner * size) is not None:
            return axis, inner
    before: Dim = 1
    for axis, dim in enumerate(shape):
        part = quotient(outer, before)
        inner = None if part is None else quotient(dim, part * size)
        if inner is not None:
            return axis, inner
        before = before * dim
    return None


def groups(shape: Sequence[Dim], target: Sequence[Dim]) -> list[tuple[range, range]]:
    """The axes of two shapes of the same number of elements, cut where both have a common row-major boundary."""
    ends = {product(shape[:axis]): axis for axis in range(len(shape) + 1)}
    found: list[tuple[range, range]] = []
    start, first = 0, 0
    for axis in range(1, len(target) + 1):
        end = ends.get(product(target[:axis]))
        if end is None or end < start:
            continue
        if axis == len(target):
            end = len(shape)
        found.append((range(start, end), range(first, axis)))
        start, first = end, axis
    if first < len(target) or start < len(shape):
        found.append((range(start, len(shape)), range(first, len(target))))
    return found
