"""Bounds of shifted, joined and turned bits, held against every pair of numbers between the ends."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable

import pytest

from gather_infer.ops.semantics import bits
from gather_infer.symbolic import Scope
from gather_infer.tensor import DType, ValueRange

ENDS = (-9, -8, -5, -1, 0, 1, 3, 4, 7, 8)
SPANS = [(low, high) for low, high in itertools.product(ENDS, repeat=2) if low <= high]
AMOUNTS = [(low, high) for low, high in itertools.product((0, 1, 2, 7), repeat=2) if low <= high]
SCOPE = Scope()


def numbers(span: tuple[int, int]) -> range:
    return range(span[0], span[1] + 1)


def check(found: ValueRange, made: Iterable[int]) -> None:
    assert all((found.lo is None or found.lo <= e) and (found.hi is None or e <= found.hi) for e in made), found


@pytest.mark.parametrize(
    ("bounds", "number"),
    [(bits.bitwise_and, operator.and_), (bits.bitwise_or, operator.or_), (bits.bitwise_xor, operator.xor)],
)
def test_joined(
    bounds: Callable[[ValueRange, ValueRange, Scope], ValueRange], number: Callable[[int, int], int]
) -> None:
    for x, y in itertools.product(SPANS, repeat=2):
        found = bounds(ValueRange(*x), ValueRange(*y), SCOPE)
        assert found.lo is not None and found.hi is not None
        check(found, (number(i, j) for i in numbers(x) for j in numbers(y)))


@pytest.mark.parametrize(
    ("bounds", "number"), [(bits.shift_left, operator.lshift), (bits.shift_right, operator.rshift)]
)
def test_shifted(
    bounds: Callable[[ValueRange, ValueRange, int, Scope], ValueRange], number: Callable[[int, int], int]
) -> None:
    for x, by in itertools.product(SPANS, AMOUNTS):
        check(
            bounds(ValueRange(*x), ValueRange(*by), 8, SCOPE), (number(i, j) for i in numbers(x) for j in numbers(by))
        )
    assert bits.shift_right(ValueRange(4, 9), ValueRange(1, 1), 8, SCOPE) == ValueRange(2, 4)
    assert bits.shift_left(ValueRange(4, 9), ValueRange(1, 2), 8, SCOPE) == ValueRange(8, 36)


def test_shifts_by_the_width_of_the_type() -> None:
    """Nothing says what they give; of a number that is not negative no more than it is."""
    assert bits.shift_left(ValueRange(0, 3), ValueRange(0, 8), 8, SCOPE) == ValueRange()
    assert bits.shift_right(ValueRange(0, 3), ValueRange(0, 8), 8, SCOPE) == ValueRange(0, 3)
    assert bits.shift_right(ValueRange(-1, 3), ValueRange(0, 8), 8, SCOPE) == ValueRange()


@pytest.mark.parametrize("dtype", [DType.INT8, DType.UINT8])
def test_turned(dtype: DType) -> None:
    for x in SPANS:
        if dtype is DType.INT8 or x[0] >= 0:
            found = bits.bitwise_not(ValueRange(*x), dtype, SCOPE)
            last = -1 if dtype is DType.INT8 else 255
            assert found == ValueRange(last - x[1], last - x[0])
