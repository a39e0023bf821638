"""Elementwise arithmetic: all operators of integers and booleans, and the correctly rounded ones of floats.

A float result is returned where IEEE 754 leaves no choice: + - * / and sqrt, changes of the sign only, selection and
comparison of elements, rounding to integers. A NaN result is not returned: its sign and payload differ between
runtimes. float16 and bfloat16 are computed in float32 and rounded; for these operations that equals rounding once. The
attributes `axis` and `broadcast` of opset 6 and before are not evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gather_infer.ir.constant import Constant
from gather_infer.passes.evaluate.evaluators import Evaluation, Evaluator, EvaluatorSet
from gather_infer.passes.evaluate.numbers import (
    Numbers,
    broadcast_shape,
    from_numbers,
    has_two_zeros,
    integer_range,
    is_float,
    is_integer,
    is_number,
    operands,
    result,
    to_numbers,
)
from gather_infer.tensor import DType

evaluators = EvaluatorSet("")

Ufunc = Callable[..., Any]

_MAX_IN_FLOAT64 = 1 << 53
"""Bound of the integers that are exact in float64, in which runtimes compute powers and remainders of integers."""


def _pair(call: Evaluation) -> tuple[int, Numbers, Numbers] | None:
    """The common element type of both inputs, and their numbers; None if the types differ or have no arithmetic."""
    found = operands(call, count=2)
    if found is None or not is_number(found[0]):
        return None
    data_type, (a, b) = found
    return data_type, a, b


def _one(call: Evaluation) -> tuple[int, Numbers] | None:
    """The element type of the only input, and its numbers; None if the type has no arithmetic."""
    found = operands(call, count=1)
    if found is None or not is_number(found[0]):
        return None
    return found[0], found[1][0]


def _computed(data_type: int, ufunc: Ufunc, *numbers: Numbers) -> list[Constant] | None:
    with np.errstate(all="ignore"):
        return result(data_type, np.asarray(ufunc(*numbers)))


def _rounded(ufunc: Ufunc) -> Evaluator:
    """An evaluator of the binary operator that `ufunc` computes: integers wrap around, floats are rounded once."""

    def evaluate(call: Evaluation) -> list[Constant] | None:
        found = _pair(call)
        return None if found is None else _computed(found[0], ufunc, *found[1:])

    return evaluate


evaluators.evaluates("Add", since=7)(_rounded(np.add))
evaluators.evaluates("Sub", since=7)(_rounded(np.subtract))
evaluators.evaluates("Mul", since=7)(_rounded(np.multiply))


@evaluators.evaluates("Div", since=7)
def _div(call: Evaluation) -> list[Constant] | None:
    found = _pair(call)
    if found is None:
        return None
    data_type, a, b = found
    if is_float(data_type):
        return _computed(data_type, np.divide, a, b)
    return None if _has_no_quotient(data_type, a, b) else _computed(data_type, _truncated, a, b)


def _has_no_quotient(data_type: int, a: Numbers, b: Numbers) -> bool:
    """Whether an integer division a / b is undefined or may trap in runtimes: by 0, or with a quotient out of range."""
    low, _ = integer_range(data_type)
    return bool((b == 0).any() or (low < 0 and (a == low).any() and (b == -1).any()))


def _truncated(a: Numbers, b: Numbers) -> Numbers:
    quotient = a // b
    is_below = (quotient * b != a) & ((a < 0) != (b < 0))
    return np.asarray(quotient + is_below.astype(quotient.dtype))


@evaluators.evaluates("Mod", since=10)
def _mod(call: Evaluation) -> list[Constant] | None:
    found = _pair(call)
    if found is None or not is_integer(found[0]) or _has_no_quotient(*found):
        return None
    match call.integer("fmod", 0):
        case 0:  # the sign of the divisor
            return _computed(found[0], np.mod, *found[1:])
        case 1 if not any((np.abs(n.astype(np.float64)) > _MAX_IN_FLOAT64).any() for n in found[1:]):
            return _computed(found[0], np.fmod, *found[1:])  # the sign of the dividend
    return None


@evaluators.evaluates("Pow", since=7)
def _pow(call: Evaluation) -> list[Constant] | None:
    base, exponent = call.input(0), call.input(1)
    if base.data_type not in (DType.INT32, DType.INT64) or not is_integer(exponent.data_type):
        return None
    x, y = to_numbers(base), to_numbers(exponent)
    if x is None or y is None or broadcast_shape([x.shape, y.shape]) is None:
        return None
    if ((y < 0) | (y > _MAX_IN_FLOAT64)).any():
        return None
    with np.errstate(all="ignore"):
        size = np.abs(np.power(x.astype(np.float64), y.astype(np.float64)))
        if size.size and size.max() > min(_MAX_IN_FLOAT64, integer_range(base.data_type)[1]):
            return None
        # An exponent above 64 has a base of -1, 0 or 1 here: only its parity matters.
        small = np.where(y > 64, 64 + y % 2, y).astype(np.int64)
        return result(base.data_type, np.asarray(np.power(x.astype(np.int64), small)))


@evaluators.evaluates("Neg", since=6)
def _neg(call: Evaluation) -> list[Constant] | None:
    found = _one(call)
    if found is None or (is_integer(found[0]) and integer_range(found[0])[0] == 0):
        return None
    return _computed(found[0], np.negative, found[1])


@evaluators.evaluates("Abs", since=6)
def _abs(call: Evaluation) -> list[Constant] | None:
    found = _one(call)
    if found is None:
        return None
    data_type, x = found
    if is_integer(data_type) and integer_range(data_type)[0] < 0 and (x == integer_range(data_type)[0]).any():
        return None  # undefined in C++
    return _computed(data_type, np.abs, x)


@evaluators.evaluates("Sign", since=9)
def _sign(call: Evaluation) -> list[Constant] | None:
    found = _one(call)
    if found is None or np.isnan(found[1]).any():
        return None
    data_type, x = found
    if is_float(data_type) and ((x == 0) & np.signbit(x)).any():
        return None  # 0.0 by the specification, -0.0 in some runtimes
    return _computed(data_type, np.subtract, (x > 0).astype(x.dtype), (x < 0).astype(x.dtype))


def _of_float(ufunc: Ufunc) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        found = _one(call)
        return _computed(found[0], ufunc, found[1]) if found is not None and is_float(found[0]) else None

    return evaluate


evaluators.evaluates("Sqrt", since=6)(_of_float(np.sqrt))
evaluators.evaluates("Floor", since=6)(_of_float(np.floor))
evaluators.evaluates("Ceil", since=6)(_of_float(np.ceil))
evaluators.evaluates("Round", since=11)(_of_float(np.rint))


@evaluators.evaluates("Sum", since=8)
def _sum(call: Evaluation) -> list[Constant] | None:
    """Sum of one or two float tensors; None for more, because the order in which they are added is not defined."""
    found = operands(call)
    if found is None or not (is_number(found[0]) and is_float(found[0])) or len(found[1]) > 2:
        return None
    data_type, numbers = found
    with np.errstate(all="ignore"):
        total = np.add(*numbers) if len(numbers) == 2 else numbers[0]
    # -0.0 if the sum starts with the first tensor, 0.0 if it starts with 0.
    is_negative_zero = (total == 0) & np.signbit(total)
    return None if is_negative_zero.any() else result(data_type, np.asarray(total))


def _extreme(ufunc: Ufunc) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        found = operands(call)
        if found is None or not is_number(found[0]):
            return None
        data_type, numbers = found
        if call.version < 8 and any(n.shape != numbers[0].shape for n in numbers):
            return None
        if is_float(data_type) and (any(np.isnan(n).any() for n in numbers) or has_two_zeros(*numbers)):
            return None
        picked = numbers[0]
        for more in numbers[1:]:
            picked = ufunc(picked, more)
        return result(data_type, np.asarray(picked))

    return evaluate


evaluators.evaluates("Min", since=6)(_extreme(np.minimum))
evaluators.evaluates("Max", since=6)(_extreme(np.maximum))


@evaluators.evaluates("Clip", since=6)
def _clip_by_attributes(call: Evaluation) -> list[Constant] | None:
    data = call.input(0)
    x = to_numbers(data)
    if x is None or data.data_type != DType.FLOAT32:
        return None
    given = (call.typed_attr(name, float) for name in ("min", "max"))
    low, high = (None if bound is None else np.array(bound, np.float32) for bound in given)
    return _clipped(data.data_type, x, low, high)


@evaluators.evaluates("Clip", since=11)
def _clip(call: Evaluation) -> list[Constant] | None:
    data = call.input(0)
    low, high = call.constant(1), call.constant(2)
    x = to_numbers(data) if is_number(data.data_type) else None
    bounds = [c if c is None else to_numbers(c) for c in (low, high) if c is None or c.data_type == data.data_type]
    if x is None or len(bounds) != 2 or any(b is not None and b.ndim for b in bounds):
        return None
    return _clipped(data.data_type, x, *bounds)


def _clipped(data_type: int, x: Numbers, low: Numbers | None, high: Numbers | None) -> list[Constant] | None:
    """`Min(high, Max(x, low))`; a bound is None if it is left out.

    None where runtimes differ: for NaN, low > high, zeros of both signs, and infinity if the bound on its side is None.
    """
    given = [b for b in (low, high) if b is not None]
    if any(np.isnan(n).any() for n in (x, *given)) or (low is not None and high is not None and low > high):
        return None
    if is_float(data_type):
        # An omitted bound is the largest finite number in some runtimes, infinity in others.
        if low is None and (x == -np.inf).any():
            return None
        if high is None and ((x == np.inf).any() or (low is not None and low == np.inf)):
            return None
        if has_two_zeros(x, *given):
            return None
    for ufunc, bound in ((np.maximum, low), (np.minimum, high)):
        x = x if bound is None else np.asarray(ufunc(x, bound))
    return result(data_type, x)


@evaluators.evaluates("BitShift", since=11)
def _bit_shift(call: Evaluation) -> list[Constant] | None:
    found = _pair(call)
    direction = call.text("direction")
    if found is None or not is_integer(found[0]) or direction not in ("LEFT", "RIGHT"):
        return None
    data_type, x, y = found
    width = x.dtype.itemsize * 8
    is_within = (y >= 0) & (y < width)
    if call.version < 28 and not (is_within.all() and x.dtype.kind == "u"):
        return None  # undefined in earlier versions
    by, beyond = np.where(is_within, y, 0).astype(y.dtype), np.zeros_like(x)
    if direction == "LEFT":
        plain = f"u{x.dtype.itemsize}"
        shifted = np.left_shift(x.view(plain), by.view(plain)).view(x.dtype)
    else:
        shifted = np.right_shift(x, by)
        if x.dtype.kind == "i":
            beyond = np.right_shift(x, width - 1)
    return result(data_type, np.where(is_within, shifted, beyond))


def _bitwise(ufunc: Ufunc) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        found = _pair(call)
        return None if found is None or is_float(found[0]) else _computed(found[0], ufunc, *found[1:])

    return evaluate


evaluators.evaluates("BitwiseAnd", since=18)(_bitwise(np.bitwise_and))
evaluators.evaluates("BitwiseOr", since=18)(_bitwise(np.bitwise_or))
evaluators.evaluates("BitwiseXor", since=18)(_bitwise(np.bitwise_xor))


@evaluators.evaluates("BitwiseNot", since=18)
def _bitwise_not(call: Evaluation) -> list[Constant] | None:
    found = _one(call)
    return None if found is None or is_float(found[0]) else _computed(found[0], np.invert, found[1])


def _logical(ufunc: Ufunc, inputs: int) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        found = operands(call, count=inputs)
        return _computed(DType.BOOL, ufunc, *found[1]) if found is not None and found[0] == DType.BOOL else None

    return evaluate


evaluators.evaluates("And", since=7)(_logical(np.logical_and, 2))
evaluators.evaluates("Or", since=7)(_logical(np.logical_or, 2))
evaluators.evaluates("Xor", since=7)(_logical(np.logical_xor, 2))
evaluators.evaluates("Not")(_logical(np.logical_not, 1))


def _comparison(ufunc: Ufunc) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        found = _pair(call)
        return None if found is None else _computed(DType.BOOL, ufunc, *found[1:])

    return evaluate


evaluators.evaluates("Greater", since=7)(_comparison(np.greater))
evaluators.evaluates("Less", since=7)(_comparison(np.less))
evaluators.evaluates("GreaterOrEqual", since=12)(_comparison(np.greater_equal))
evaluators.evaluates("LessOrEqual", since=12)(_comparison(np.less_equal))


@evaluators.evaluates("Equal", since=7)
def _equal(call: Evaluation) -> list[Constant] | None:
    a, b = call.input(0), call.input(1)
    if a.data_type == b.data_type == DType.STRING:
        as_ranks = _numbered(a, b)
        return _equal(Evaluation(call.node, as_ranks, call.version))
    found = operands(call, count=2)
    if found is None or not (is_number(found[0]) or found[0] == DType.BOOL):
        return None
    return _computed(DType.BOOL, np.equal, *found[1])


def _numbered(*texts: Constant) -> list[Constant]:
    """Each string tensor as an int64 tensor; equal strings become equal numbers, different strings different ones."""
    number: dict[bytes, int] = {}
    numbered = []
    for text in texts:
        ranks = [number.setdefault(element, len(number)) for element in text.bits.flat]
        found = from_numbers(DType.INT64, np.array(ranks, dtype=np.int64).reshape(text.bits.shape))
        assert found is not None, "constants of int64 are supported"
        numbered.append(found)
    return numbered


@evaluators.evaluates("IsNaN", since=9)
def _is_nan(call: Evaluation) -> list[Constant] | None:
    data = call.input(0)
    x = to_numbers(data) if is_float(data.data_type) else None
    return None if x is None else _computed(DType.BOOL, np.isnan, x)


@evaluators.evaluates("IsInf", since=10)
def _is_inf(call: Evaluation) -> list[Constant] | None:
    data = call.input(0)
    x = to_numbers(data) if is_float(data.data_type) else None
    if x is None:
        return None
    is_found = np.zeros(x.shape, np.bool_)
    for name, infinity in (("detect_negative", -np.inf), ("detect_positive", np.inf)):
        if call.integer(name, 1):
            is_found |= x == infinity
    return result(DType.BOOL, is_found)
