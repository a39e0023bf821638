"""Axis factors beside sizes that were dynamic before: the symbols of these sizes, and the order of the elements."""

from __future__ import annotations

from collections.abc import Mapping

from gather_infer.symbolic import Dim, evaluate, product
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, Factors, WindowSize, is_free, joined


def with_symbols(factors: Factors, dim: Dim, old: Mapping[str, int]) -> Factors:
    """Factors of an axis whose static dim is `2*seq`: `batch, seq` for `batch, 101`, where 101 stands for `seq`.

    They are unchanged if this is not the only number among them.

    old   a number for each symbol; for the freed ones the old size
    """
    numbers = [at for at, factor in enumerate(factors) if isinstance(factor, int)]
    if isinstance(dim, int) or len(numbers) != 1 or len(factors) < 2:
        return factors
    (at,) = numbers
    number = factors[at]
    others = product([evaluate(factor, old) for factor in factors if factor is not number])
    rest = dim // others
    if isinstance(number, WindowSize) or rest * others != dim or evaluate(rest, old) != number:
        return factors
    return (*factors[:at], rest, *factors[at + 1 :])


def has_order_of(before: AxisFactors, after: AxisFactors, freed: Mapping[str, int]) -> bool:
    """Whether each freed size steps by as many elements in both shapes, at all sizes."""
    return _strides(before, freed) == _strides(after, freed)


def _strides(axes: AxisFactors, freed: Mapping[str, int]) -> list[tuple[Dim, Dim]]:
    """The freed sizes, the innermost first, and the number of elements inside of each."""
    found: list[tuple[Dim, Dim]] = []
    stride: Dim = 1
    for factor in reversed(joined([factor for axis in axes for factor in axis])):
        if is_free(factor, freed):
            found.append((factor, stride))
        stride = product([stride, factor])
    return found
