"""Monotonicity analysis: tensors that are a non-decreasing function of another tensor, like T5's position buckets:

    Where(x < 16, x, Min(16 + Cast(Log(Cast(x) / 16) / 2.08 * 16), 31))

The rule for Log gives no bounds, since 0 and -1 have no logarithm. But the second branch is selected only for x >= 16,
and it is a composition of non-decreasing functions. So the bounds of x >= 16 map to the bounds of the branch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.inference.provenance.float_ranges import FLOAT_TYPES, number_of, positive
from gather_infer.symbolic import Scope
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value, ValueRange

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment

OPERATORS: Final = frozenset({"Cast", "Mul", "Div", "Log", "Add", "Min", "Max", "Identity"})
MAX_STEPS: Final = 16
_ERROR: Final = 2.0**-16
"""Bound on the relative and the absolute rounding error of one step, far larger than that of float32."""
_LARGEST_FLOAT: Final = 1e30
_LARGEST: Final = {DType.INT32: 1 << 30, DType.INT64: 1 << 62}
"""By type, the largest magnitude for which additions and casts are tracked; beyond it they may overflow."""


class MonotoneStep(NamedTuple):
    """One non-decreasing function: operator, element type of the result, and constant operand, NaN if there is none."""

    op_type: str
    dtype: DType
    number: float = math.nan


class MonotoneFunction(NamedTuple):
    """A non-decreasing function, applied to each element of the integer tensor `base`, whose shape may be broadcast."""

    base: str
    steps: tuple[MonotoneStep, ...]


def transfer_monotone(
    node: NodeProto, inputs: Sequence[Value | None], result: SymbolicTensor, environment: Environment, scope: Scope
) -> None:
    """Record a MonotoneFunction for the output of a node, if it is a non-decreasing function of some integer tensor."""
    for at, source in enumerate(inputs[:2]):
        before = environment.monotonicity.get(node.input[at])
        if (before is None and node.op_type != "Cast") or not isinstance(source, SymbolicTensor):
            continue
        if before is None and source.dtype not in INTEGER_RANGE:
            continue
        step = _step(node.op_type, at, source, inputs, result, scope)
        if step is None:
            continue
        found = (
            MonotoneFunction(node.input[at], (step,))
            if before is None
            else MonotoneFunction(before.base, (*before.steps, step))
        )
        if len(found.steps) <= MAX_STEPS:
            environment.monotonicity[node.output[0]] = found
        return


def _step(
    op_type: str, at: int, source: SymbolicTensor, inputs: Sequence[Value | None], result: SymbolicTensor, scope: Scope
) -> MonotoneStep | None:
    """The function that a node applies to input `at`; None when it is not known to be non-decreasing."""
    dtype = result.dtype
    assert dtype is not None, "only tensors of a known type are tracked"
    if dtype not in FLOAT_TYPES and dtype not in _LARGEST:
        return None
    if op_type == "Cast":
        is_float = source.dtype in FLOAT_TYPES
        is_made_float = dtype in FLOAT_TYPES and source.dtype in INTEGER_RANGE
        return MonotoneStep(op_type, dtype) if is_float or is_made_float else None
    if op_type in ("Log", "Identity"):
        return MonotoneStep(op_type, dtype)
    other = inputs[1 - at] if len(inputs) == 2 else None
    if op_type == "Add" and dtype in FLOAT_TYPES:
        term = number_of(other)
        return None if term is None else MonotoneStep(op_type, dtype, term)
    if op_type in ("Mul", "Div"):
        factor = positive(other) if dtype in FLOAT_TYPES and not (op_type == "Div" and at == 1) else None
        return None if factor is None else MonotoneStep(op_type, dtype, factor)
    if op_type in ("Add", "Min", "Max") and dtype in _LARGEST and isinstance(other, SymbolicTensor):
        span = value_ranges.range_of(other, scope)
        if isinstance(span.lo, int) and span.lo == span.hi and abs(span.lo) < _LARGEST[dtype]:
            return MonotoneStep(op_type, dtype, span.lo)
    return None


def image(function: MonotoneFunction, domain: ValueRange, dtype: DType, scope: Scope) -> ValueRange:
    """The value range of `function` for base elements of type `dtype` in `domain`; without bounds when unknown."""
    least, most = INTEGER_RANGE[dtype]
    lo = None if domain.lo is None else scope.bounds(domain.lo).lo
    hi = None if domain.hi is None else scope.bounds(domain.hi).hi
    ends: tuple[float, float] | None = (least if lo is None else lo, most if hi is None else hi)
    for step in function.steps:
        ends = None if ends is None else _image_of_step(step, *ends)
    if ends is None or ends[0] > ends[1] or function.steps[-1].dtype not in _LARGEST:
        return ValueRange()
    return ValueRange(int(ends[0]), int(ends[1]))


def _image_of_step(step: MonotoneStep, lo: float, hi: float) -> tuple[float, float] | None:
    """Bounds of `step` on [lo, hi]; None when it may leave the domain of the operator or overflow its type."""
    number, largest = step.number, _LARGEST.get(step.dtype)
    if largest is not None:
        match step.op_type:
            case "Identity":
                return lo, hi
            case "Min":
                return min(lo, number), min(hi, number)
            case "Max":
                return max(lo, number), max(hi, number)
            case _ if max(-lo, hi) > largest:
                return None
            case "Cast":
                return math.trunc(lo), math.trunc(hi)
            case _:
                return lo + number, hi + number
    match step.op_type:
        case "Mul":
            lo, hi = lo * number, hi * number
        case "Div":
            lo, hi = lo / number, hi / number
        case "Log":
            if min(lo, hi) <= 0:
                return None
            lo, hi = math.log(lo), math.log(hi)
        case "Add":
            lo, hi = lo + number, hi + number
    if max(-lo, hi) > _LARGEST_FLOAT:
        return None
    return lo - _ERROR * (1 + abs(lo)), hi + _ERROR * (1 + abs(hi))
