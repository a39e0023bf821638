"""Value ranges of floats that integers become on their way to an index, as in `Cast(Floor(Cast(i) / 5))`.

Every operator is monotone and rounds as IEEE 754 specifies, so it maps the bounds of its input to the bounds of its
output. For a symbolic bound the quotient itself is tracked: a float quotient rounded down equals the exact quotient
rounded down (proof in ops/semantics/elements.py) if the type can represent the numerator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.context import Context
from gather_infer.symbolic import Dim, Expr, Scope, floordiv
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value, ValueRange

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment

NumpyFloat: TypeAlias = type[np.float32] | type[np.float64]
FLOAT_TYPES: Final[dict[DType, NumpyFloat]] = {DType.FLOAT32: np.float32, DType.FLOAT64: np.float64}
_EXACT: Final = 1 << 24
"""float32 represents all integers up to this magnitude exactly."""

OPERATORS: Final = frozenset({"Cast", "Div", "Mul", "Floor", "Ceil"})
"""Operators of ai.onnx that are tracked, besides those that move elements."""


class FloatQuotient(NamedTuple):
    """Floats that are `n / den`, rounded to the float type, for integers n >= -2^24.

    value_range   bounds of n
    upper_bound   the largest integer that the float type must represent exactly
    """

    value_range: ValueRange
    den: int
    upper_bound: Dim

    def truncated(self, scope: Scope) -> ValueRange:
        """Bounds of the quotients rounded toward zero."""
        return value_ranges.trunc_div(self.value_range, ValueRange(self.den, self.den), scope)


FloatInterval: TypeAlias = tuple[float, float]
FloatRange: TypeAlias = FloatInterval | FloatQuotient
"""Numeric bounds of some floats, or a symbolic quotient where the bounds are not numbers."""


def transfer_floats(
    node: NodeProto,
    op_type: str,
    moved: int | None,
    inputs: Sequence[Value | None],
    result: SymbolicTensor,
    environment: Environment,
    scope: Scope,
) -> None:
    """Record the bounds of the floats in a node's output.

    op_type   the operator, if it is one of `OPERATORS`; else empty
    moved     position of the input of which output 0 has some or all elements, unchanged; None for other operators
    """
    at = moved or 0
    source = inputs[at] if at < len(inputs) else None
    kind = None if result.dtype is None else FLOAT_TYPES.get(result.dtype)
    if kind is None or not isinstance(source, SymbolicTensor) or source.dtype is None:
        return
    found: FloatRange | None
    if op_type == "Cast" and source.dtype.is_integer:
        span = value_ranges.range_of(source, scope)
        found = _integers(span, scope) or _quotient(span, scope)
    else:
        found = environment.float_ranges.get(node.input[at]) if environment.float_ranges else None
        if found is None or source.dtype is not result.dtype:
            return
        factor = positive(inputs[1]) if op_type in ("Div", "Mul") else None
        if moved is None and isinstance(found, FloatQuotient):
            found = _next_quotient(op_type, found, factor, scope)
        elif moved is None and not isinstance(found, FloatQuotient):
            found = _next_numbers(op_type, found, factor, kind)
    if found is not None:
        environment.float_ranges[node.output[0]] = found


def _next_numbers(op_type: str, ends: FloatInterval, factor: float | None, kind: NumpyFloat) -> FloatInterval | None:
    """The bounds of a node's output for input bounds `ends`; None when they are unknown or exceed 2^24.

    factor   the constant operand of Div and Mul, None when unknown
    """
    if op_type in ("Floor", "Ceil"):
        step = math.floor if op_type == "Floor" else math.ceil
        ends = float(step(ends[0])), float(step(ends[1]))
    elif op_type in ("Div", "Mul"):
        if factor is None:
            return None
        with np.errstate(all="ignore"):
            made = [kind(e) / kind(factor) if op_type == "Div" else kind(e) * kind(factor) for e in ends]
        ends = float(made[0]), float(made[1])
    return ends if max(map(abs, ends)) <= _EXACT else None


def _next_quotient(op_type: str, quotient: FloatQuotient, factor: float | None, scope: Scope) -> FloatQuotient | None:
    """The output of a node whose input is `quotient`; None when it is not a quotient."""
    if op_type == "Floor":
        lo, hi = quotient.value_range.lo, quotient.value_range.hi
        assert lo is not None and hi is not None, "a quotient is tracked where both bounds are known"
        return FloatQuotient(
            ValueRange(floordiv(lo, quotient.den, scope), floordiv(hi, quotient.den, scope)), 1, quotient.upper_bound
        )
    if op_type == "Div":
        if quotient.den != 1 or factor is None or not factor.is_integer() or factor > _EXACT:
            return None
        return FloatQuotient(quotient.value_range, int(factor), quotient.upper_bound)
    return None


def truncated(
    found: FloatRange, source_dtype: DType | None, target_dtype: DType, context: Context
) -> ValueRange | None:
    """The value range of floats `found` of type `source_dtype` cast to `target_dtype`; None when it is unknown.

    Both types must be able to represent a symbolic bound; if this is not known, it is added as an assumption.
    """
    if isinstance(found, FloatQuotient):
        if target_dtype not in (DType.INT32, DType.INT64):
            return None
        largest = _EXACT if source_dtype is not DType.FLOAT64 else INTEGER_RANGE[target_dtype][1]
        reason = f"{found.upper_bound} has to fit in the element type"
        # float64 and int64 represent sizes and their products without an assumption
        if largest < INTEGER_RANGE[DType.INT64][1] and not context.assume_at_most(found.upper_bound, largest, reason):
            return None
        return found.truncated(context.scope)
    least, greatest = math.trunc(found[0]), math.trunc(found[1])
    low, high = INTEGER_RANGE[target_dtype]
    return ValueRange(least, greatest) if low <= least and greatest <= high else None


def _integers(value_range: ValueRange, scope: Scope) -> FloatInterval | None:
    """Numeric bounds of `value_range` that float32 represents exactly; None when there are none."""
    if value_range.lo is None or value_range.hi is None:
        return None
    lo, hi = scope.bounds(value_range.lo).lo, scope.bounds(value_range.hi).hi
    if lo is None or hi is None or lo < -_EXACT or hi > _EXACT or lo > hi:
        return None
    return float(lo), float(hi)


def _quotient(value_range: ValueRange, scope: Scope) -> FloatQuotient | None:
    """A quotient with denominator 1, for a range with a symbolic upper bound and a lower bound >= -2^24; else None."""
    is_small = isinstance(value_range.lo, int) and value_range.lo >= -_EXACT
    if not isinstance(value_range.hi, Expr) or not (is_small or value_ranges.is_non_negative(value_range, scope)):
        return None
    return FloatQuotient(value_range, 1, value_range.hi)


def number_of(value: Value | None) -> float | None:
    """The element of a one-element tensor if it is a finite number, else None."""
    number = value.only_element if isinstance(value, SymbolicTensor) else None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    return float(number) if -math.inf < number < math.inf else None


def positive(value: Value | None) -> float | None:
    """The element of a one-element tensor if it is a finite number > 0, else None."""
    number = number_of(value)
    return number if number is not None and number > 0 else None
