"""Arithmetic on integer intervals, which may be unbounded on either side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["EVERYTHING", "NONNEGATIVE", "Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `lo` to `hi`, both included; None means unbounded on that side. Empty when lo > hi."""

    lo: int | None
    hi: int | None

    @property
    def is_point(self) -> bool:
        return self.lo is not None and self.lo == self.hi

    @property
    def is_empty(self) -> bool:
        return self.lo is not None and self.hi is not None and self.lo > self.hi

    def __contains__(self, value: int) -> bool:
        return (self.lo is None or self.lo <= value) and (self.hi is None or value <= self.hi)

    def __str__(self) -> str:
        left = "(-inf" if self.lo is None else f"[{self.lo}"
        return f"{left}, inf)" if self.hi is None else f"{left}, {self.hi}]"

    def __and__(self, other: Interval) -> Interval:
        """The intersection."""
        return Interval(_max_bound(self.lo, other.lo), _min_bound(self.hi, other.hi))

    def __or__(self, other: Interval) -> Interval:
        """The convex hull of the union."""
        return Interval(
            None if self.lo is None or other.lo is None else min(self.lo, other.lo),
            None if self.hi is None or other.hi is None else max(self.hi, other.hi),
        )

    def __neg__(self) -> Interval:
        return Interval(None if self.hi is None else -self.hi, None if self.lo is None else -self.lo)

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            None if self.lo is None or other.lo is None else self.lo + other.lo,
            None if self.hi is None or other.hi is None else self.hi + other.hi,
        )

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def scaled(self, factor: int) -> Interval:
        """The interval of `factor * x` for x in this interval."""
        if factor == 0:
            return Interval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return Interval(lo, hi) if factor > 0 else Interval(hi, lo)

    def __mul__(self, other: Interval) -> Interval:
        if self.lo is not None and self.lo >= 0 and other.lo is not None and other.lo >= 0:
            lo = self.lo * other.lo
            if self.hi == 0 or other.hi == 0:
                return Interval(0, 0)
            return Interval(lo, None if self.hi is None or other.hi is None else self.hi * other.hi)
        corners = [_times(a, b) for a in _corner_values(self) for b in _corner_values(other)]
        lowest, highest = min(corners), max(corners)
        return Interval(None if lowest == -_INFINITY else int(lowest), None if highest == _INFINITY else int(highest))

    def power(self, exponent: int) -> Interval:
        """The tight interval of `x ** exponent` for x in this interval and an exponent >= 1: x*x is never negative."""
        if exponent == 1:
            return self
        lo = None if self.lo is None else self.lo**exponent
        hi = None if self.hi is None else self.hi**exponent
        if exponent % 2 or (self.lo is not None and self.lo >= 0):
            return Interval(lo, hi)
        if self.hi is not None and self.hi <= 0:
            return Interval(hi, lo)
        return Interval(0, None if lo is None or hi is None else max(lo, hi))

    def __floordiv__(self, other: Interval) -> Interval:
        """The interval of `n // d` for all n in `self` and all d != 0 in `other`."""
        result: Interval | None = None
        for part in (other & Interval(1, None), other & Interval(None, -1)):
            if part.is_empty:
                continue
            numerator, divisor = (self, part) if part.lo is not None and part.lo > 0 else (-self, -part)
            piece = _floordiv_by_positive(numerator, divisor)
            result = piece if result is None else result | piece
        # The only divisor is 0: the quotient is undefined, so any interval is sound.
        return EVERYTHING if result is None else result

    @staticmethod
    def minimum(intervals: Iterable[Interval]) -> Interval:
        """The interval of `min(x, y, ...)` for operands in the given intervals."""
        lows, highs = zip(*((interval.lo, interval.hi) for interval in intervals), strict=True)
        return Interval(
            None if None in lows else min(lows), min((high for high in highs if high is not None), default=None)
        )

    @staticmethod
    def maximum(intervals: Iterable[Interval]) -> Interval:
        """The interval of `max(x, y, ...)` for operands in the given intervals."""
        return -Interval.minimum(-interval for interval in intervals)


EVERYTHING = Interval(None, None)
NONNEGATIVE = Interval(0, None)

_INFINITY = float("inf")


def _max_bound(a: int | None, b: int | None) -> int | None:
    """The larger of two lower bounds, where None means unbounded."""
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


def _min_bound(a: int | None, b: int | None) -> int | None:
    """The smaller of two upper bounds, where None means unbounded."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


def _corner_values(interval: Interval) -> tuple[int | float, int | float]:
    return (
        -_INFINITY if interval.lo is None else interval.lo,
        _INFINITY if interval.hi is None else interval.hi,
    )


def _times(a: int | float, b: int | float) -> int | float:
    # 0 times an unbounded end is 0: the end itself is not a member. A float operand is always infinite: its sign
    # decides, and an int too large for a float must not be converted.
    if a == 0 or b == 0:
        return 0
    if isinstance(a, float) or isinstance(b, float):
        return _INFINITY if (a > 0) == (b > 0) else -_INFINITY
    return a * b


def _floordiv_by_positive(numerator: Interval, divisor: Interval) -> Interval:
    smallest = divisor.lo
    assert smallest is not None and smallest > 0
    largest = divisor.hi
    lo, hi = numerator.lo, numerator.hi
    if lo is not None:
        # n // d falls with d for n >= 0 and rises with d for n < 0, toward 0 and -1.
        lo = lo // smallest if lo < 0 else 0 if largest is None else lo // largest
    if hi is not None:
        hi = hi // smallest if hi >= 0 else -1 if largest is None else hi // largest
    return Interval(lo, hi)
