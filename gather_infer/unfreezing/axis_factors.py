"""Axis factors: which sizes an axis is the product of, and in which order.

An axis of a tensor holds sizes in row-major order. After `x: [batch, 7, 64]` is reshaped to `[7*batch, 64]`, axis 0 has
the factors `(batch, 7)`: its index is `row * 7 + position`. After a Transpose before the Reshape they are `(7, batch)`.
The dim is the same, the meaning is not. A later Reshape has to put the batch where the order of the elements puts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product as choices
from typing import NamedTuple, TypeAlias

from gather_infer.symbolic import Dim, Expr, evaluate, product

Factors: TypeAlias = "tuple[Dim, ...]"
"""Sizes whose product is the dim of an axis, the outermost first; an axis of size 1 has none."""
AxisFactors: TypeAlias = "tuple[Factors, ...]"
"""The factors of each axis of a tensor."""

MAX_PLACEMENTS = 64


class _Digit(NamedTuple):
    """A free size in the order of the elements: it steps every `stride` elements, and had `size` values."""

    dim: Expr
    size: int
    stride: int


def whole(dim: Dim) -> Factors:
    """The factors of an axis about which nothing else is known."""
    return () if dim == 1 else (dim,)


def dim_of(factors: Factors) -> Dim:
    return product(factors)


def is_free(dim: Dim, free: Mapping[str, int]) -> bool:
    """Whether a dim depends on a freed size."""
    return isinstance(dim, Expr) and not dim.symbols.isdisjoint(free)


def placements(
    axes: AxisFactors, target: Sequence[int], is_freed: Callable[[Dim], bool], old: Mapping[str, int]
) -> Iterator[AxisFactors]:
    """The factors of the axes of a Reshape that keeps the row-major order, the most likely first.

    axes      of the input
    target    the sizes of the output before any size was freed
    is_freed  whether a dim depends on a freed size
    old       a number for each symbol; for the freed ones the old size

    There is none if an axis of the output would cut a freed size, and more than one if the old size was 1.
    """
    digits: list[_Digit] = []
    stride = 1
    for factor in reversed([factor for axis in axes for factor in axis]):
        size = evaluate(factor, old)
        if isinstance(factor, Expr) and is_freed(factor):
            digits.append(_Digit(factor, size, stride))
        stride *= size
    strides = [1] * len(target)
    for axis in range(len(target) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * target[axis + 1]
    homes: list[list[int]] = []
    inner: tuple[_Digit, int] | None = None  # the next free size inside, and its home
    for digit in digits:
        beside = None if inner is None or inner[0].stride * inner[0].size != digit.stride else inner[1]
        found_homes = _homes(digit, target, strides, beside)
        homes.insert(0, found_homes)
        inner = (digit, found_homes[0]) if found_homes else None
    for number, chosen in enumerate(choices(*homes)):
        if number == MAX_PLACEMENTS:
            return
        held = list(zip(reversed(digits), chosen, strict=True))
        yield tuple(
            _factors([digit for digit, home in held if home == axis], size, strides[axis])
            for axis, size in enumerate(target)
        )


def _homes(digit: _Digit, target: Sequence[int], strides: Sequence[int], beside: int | None) -> list[int]:
    """The output axes that can hold a digit: an axis of its own, one that it is the outermost part of, others.

    beside   the axis that holds the free size next to it, such as the width beside a height
    """

    def rank(axis: int) -> tuple[bool, bool, bool, bool, int]:
        is_alone = target[axis] == digit.size and strides[axis] == digit.stride
        is_outermost = strides[axis] * target[axis] == digit.stride * digit.size
        is_last = axis == len(target) - 1 > 0  # the last axis is that of features
        return not is_alone, axis != beside, is_last, not is_outermost, axis

    found = [
        axis
        for axis, size in enumerate(target)
        if strides[axis] and digit.stride % strides[axis] == 0
        and digit.size and size % (digit.stride // strides[axis] * digit.size) == 0
    ]  # fmt: skip
    return sorted(found, key=rank)


def _factors(digits: Sequence[_Digit], size: int, stride: int) -> Factors:
    """The factors of an output axis that is a home of digits: these, the largest stride first, and numbers between."""
    found: list[Dim] = []
    room = stride * size
    for digit in sorted(digits, key=lambda each: -each.stride):
        outer, rest = divmod(room, digit.stride * digit.size)
        assert not rest, "the strides of sizes are multiples of each other, and a home holds whole sizes"
        found += [outer, digit.dim] if outer != 1 else [digit.dim]
        room = digit.stride
    inner = room // stride
    return (*found, inner) if inner != 1 else tuple(found)
