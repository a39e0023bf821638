"""Axis factors: which sizes an axis is the product of, and in which order.

An axis of a tensor holds sizes in row-major order. After `x: [batch, 7, 64]` is reshaped to `[7*batch, 64]`, axis 0 has
the factors `(batch, 7)`: its index is `row * 7 + position`. After a Transpose before the Reshape they are `(7, batch)`.
The dim is the same, the meaning is not. A later Reshape has to put the batch where the order of the elements puts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from itertools import product as choices
from typing import NamedTuple, TypeAlias

from gather_infer.symbolic import Dim, Expr, evaluate, product

Factors: TypeAlias = "tuple[Dim, ...]"
"""Sizes whose product is the dim of an axis, the outermost first; an axis of size 1 has none."""
AxisFactors: TypeAlias = "tuple[Factors, ...]"
"""The factors of each axis of a tensor."""

MAX_PLACEMENTS = 64
_WHOLE = 2  # the begin and the end of an axis that nothing cuts


class WindowSize(int):
    """The inner part of an axis that is cut into windows: `4` of `height//4, 4`.

    outer, whole   the number of windows, and the size of the axis; a run fails unless the product is this size
    """

    outer: Dim
    whole: Dim

    @classmethod
    def of(cls, size: int, outer: Dim, whole: Dim) -> WindowSize:
        found = cls(size)
        found.outer, found.whole = outer, whole
        return found


class _Digit(NamedTuple):
    """A free size in the order of the elements: it steps every `stride` elements, and had `size` values."""

    dim: Dim
    size: int
    stride: int

    def begins_inside(self, stride: int) -> bool:
        return self.stride < stride < self.stride * self.size


def whole(dim: Dim) -> Factors:
    """The factors of an axis about which nothing else is known."""
    return () if dim == 1 else (dim,)


def dim_of(factors: Factors) -> Dim:
    return product([int(factor) if isinstance(factor, int) else factor for factor in factors])


def is_free(dim: Dim, free: Mapping[str, int]) -> bool:
    """Whether a dim depends on a freed size."""
    return isinstance(dim, Expr) and not dim.symbols.isdisjoint(free)


def placements(
    axes: AxisFactors,
    target: Sequence[int],
    is_freed: Callable[[Dim], bool],
    old: Mapping[str, int],
    may_cut: Callable[[Dim], bool] = lambda _: False,
) -> Iterator[AxisFactors]:
    """The factors of the axes of a Reshape that keeps the row-major order, the most likely first.

    axes      of the input
    target    the sizes of the output before any size was freed
    is_freed  whether a dim depends on a freed size
    old       a number for each symbol; for the freed ones the old size
    may_cut   whether an axis of the output may hold a part of a freed size, as windows of an image do

    There is none if an axis of the output would cut a freed size that may not be cut, and more than one if the old size
    was 1, or is cut: into windows of a size, or into a number of windows.
    """
    whole_digits: list[_Digit] = []
    stride = 1
    for factor in reversed(joined([factor for axis in axes for factor in axis])):
        size = evaluate(factor, old)
        if isinstance(factor, WindowSize) or is_freed(factor):
            whole_digits.append(_Digit(factor, size, stride))
        stride *= size
    strides = [1] * len(target)
    for axis in range(len(target) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * target[axis + 1]
    parts = [_parts(digit, strides, may_cut(digit.dim)) for digit in whole_digits]
    for chosen in islice(choices(*parts), MAX_PLACEMENTS):
        yield from _placed([digit for digits in chosen for digit in digits], target, strides)


def _parts(digit: _Digit, strides: Sequence[int], may_cut: bool) -> list[list[_Digit]]:
    """The digits in place of one that axes of the output may cut: each of its parts can be the one that is free."""
    cuts = sorted({digit.stride, digit.stride * digit.size, *(s for s in strides if digit.begins_inside(s))})
    if isinstance(digit.dim, WindowSize):
        return [[digit]] if len(cuts) <= _WHOLE else [[]]
    if len(cuts) <= _WHOLE or not may_cut:
        return [[digit]]
    found = []
    for low, high in zip(cuts[-2::-1], cuts[:0:-1], strict=True):
        if low % digit.stride or high % low:
            return [[digit]]
        count = high // low
        part = windows_in(digit.dim, digit.size // count)
        found.append([_Digit(part, count, low)])
        if low != digit.stride and not found[1:]:
            inner = low // digit.stride
            found[0].insert(0, _Digit(WindowSize.of(inner, part, digit.dim), inner, digit.stride))
    if len(cuts) > _WHOLE + 1:  # the inner part is cut again
        found[0] = found[0][1:]
    return found


def windows_in(dim: Dim, size: int) -> Dim:
    """The number of windows of a size in an axis; a run in which the size does not divide the axis fails.

    Rounded up, it is not 0, which a Reshape would take for a size to keep.
    """
    return (dim + (size - 1)) // size


def joined(factors: Sequence[Dim]) -> list[Dim]:
    """Factors with an axis that was cut into windows as one: `height//4, 4` as `height`."""
    found: list[Dim] = []
    for factor in factors:
        if isinstance(factor, WindowSize) and found and found[-1] == factor.outer:
            found[-1] = factor.whole
        else:
            found.append(factor)
    return found


def _placed(digits: Sequence[_Digit], target: Sequence[int], strides: Sequence[int]) -> Iterator[AxisFactors]:
    """The factors of the axes of the output, with digits from the innermost to the outermost."""
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
    found = joined(found)
    inner = room // stride
    return (*found, inner) if inner != 1 else tuple(found)
