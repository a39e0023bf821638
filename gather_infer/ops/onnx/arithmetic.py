"""Rules of arithmetic operators: Add, Sub, Mul, Div, Mod, Pow, bitwise, Neg, Abs, Sign, Min, Max, Sum, Mean, Clip."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import bits, elements
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.elements import Element
from gather_infer.ops.semantics.elementwise import (
    BinaryElement,
    BinaryRange,
    UnaryElement,
    UnaryRange,
    apply,
    binary,
    operands,
    require_dtype,
    same_dtype,
    same_shape,
    tensor_of,
    unary,
)
from gather_infer.rules import OpCall, Rule, RuleSet
from gather_infer.symbolic import Expr, Scope, floordiv, known_eq, known_le
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, ValueRange
from gather_infer.value_ranges import needs_range

rules = RuleSet("")

INTEGERS = frozenset(INTEGER_RANGE)


# C = A op B, all of one element type. Before version 7 attributes broadcast B to A; since 7 both broadcast.
# Spec: https://onnx.ai/onnx/operators/onnx__Add.html, __Sub, __Mul, __Div
ARITHMETIC: dict[str, tuple[BinaryElement, BinaryRange]] = {
    "Add": (elements.add, value_ranges.add),
    "Sub": (elements.sub, value_ranges.sub),
    "Mul": (elements.mul, value_ranges.mul),
    "Div": (elements.div, value_ranges.trunc_div),
}


def _arithmetic(op_type: str, element: BinaryElement, value_range: BinaryRange) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        if op_type == "Div":
            _constrain_divisor(op)
        return binary(op, element, value_range)

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


def _constrain_divisor(op: OpCall) -> None:
    """For an integer divisor, input 1, record the constraint that no element is 0, without adding a fact.

    The constraint also holds when the result is empty, because runtimes fail then too. An element that may be 0 and is
    not known to be >= 0 is recorded as unchecked.
    """
    divisor = op.tensor(1)
    if divisor.dtype not in INTEGER_RANGE:
        return
    if divisor.values is None:
        span = value_ranges.range_of(divisor, op.scope)
        is_above = span.lo is not None and known_le(1, span.lo, op.scope) is True
        is_below = span.hi is not None and known_le(span.hi, -1, op.scope) is True
        if not is_above and not is_below:
            op.add_unchecked("an integer divisor may be 0")
        return
    for number in dict.fromkeys(divisor.values.flat):
        if isinstance(number, Expr) and known_le(0, number, op.scope) is True:
            if known_le(1, number, op.scope) is None:
                op.add_implied_constraint((1, "<=", number))
        elif not isinstance(number, (int, Expr)) or known_eq(number, 0, op.scope) is not False:
            op.add_unchecked("an integer divisor may be 0")


for _op_type, (_element, _span) in ARITHMETIC.items():
    rules.rule(_op_type)(_arithmetic(_op_type, _element, _span))


@rules.rule("Mod", since=10)
def mod(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Mod.html

    With fmod = 0 the result has the sign of B, and floats are allowed from version 28 on only. With fmod = 1 the result
    has the sign of A, as with fmod in C.
    """
    _constrain_divisor(op)
    if op.attr("fmod", 0) == 1:
        return binary(op, elements.fmod, value_ranges.fmod)
    a = op.tensor(0)
    if op.version < 28 and a.dtype is not None and a.dtype.is_float:
        raise SpecViolation(f"fmod must be 1 for {a.dtype}, is 0", "GI211")
    return binary(op, elements.mod, value_ranges.mod)


@rules.rule("Pow")
def power(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Pow.html (version 12: the exponent may have another element type)"""
    x, y = op.tensor(0), op.tensor(1)
    dtype = x.dtype if op.version >= 12 else same_dtype(x, y, ("X", "Y"))
    y, shape = operands(op, x, y)
    if dtype is None or x.values is None or y.values is None:
        return [SymbolicTensor(dtype, shape)]
    return [tensor_of(dtype, shape, apply(lambda a, b: elements.power(op, dtype, a, b), x.values, y.values), None)]


@rules.rule("BitShift", since=11)
def bit_shift(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__BitShift.html

    Version 28 adds the signed types and defines shifts by the bit width of the type or more.
    """
    dtype = op.tensor(0).dtype
    width = bits.width_of(dtype) if dtype in INTEGER_RANGE else 0
    match op.attr("direction"):
        case "LEFT":
            return binary(op, _shift_left, lambda x, y, scope: bits.shift_left(x, y, width, scope), names=("X", "Y"))
        case "RIGHT":
            return binary(op, _shift_right, lambda x, y, scope: bits.shift_right(x, y, width, scope), names=("X", "Y"))
        case other:
            raise SpecViolation(f'direction must be "LEFT" or "RIGHT", is "{other}"', "GI106")


def _shift_left(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    if dtype not in INTEGER_RANGE or not isinstance(x, (int, Expr)) or not isinstance(y, int):
        return None
    if not _is_shift(dtype, y):
        return 0 if op.version >= 28 else None
    return elements.to_element(op, x * (1 << y), dtype)


def _shift_right(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    if dtype not in INTEGER_RANGE or not isinstance(x, (int, Expr)) or not isinstance(y, int):
        return None
    if not _is_shift(dtype, y):
        return (-1 if x < 0 else 0) if op.version >= 28 and isinstance(x, int) else None
    return floordiv(x, 1 << y, op.scope)  # arithmetic shift: it rounds down


def _is_shift(dtype: DType, y: int) -> bool:
    """Whether shift `y` is >= 0 and below the bit width of `dtype`; before version 28 other shifts are undefined."""
    return 0 <= y < bits.width_of(dtype)


# C = A op B, bit by bit.
# Spec: https://onnx.ai/onnx/operators/onnx__BitwiseAnd.html, __BitwiseOr, __BitwiseXor
BITWISE: dict[str, tuple[Callable[[int, int], int], BinaryRange]] = {
    "BitwiseAnd": (operator.and_, bits.bitwise_and),
    "BitwiseOr": (operator.or_, bits.bitwise_or),
    "BitwiseXor": (operator.xor, bits.bitwise_xor),
}


def _bitwise(op_type: str, number: Callable[[int, int], int], value_range: BinaryRange) -> Rule:
    def element(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
        return number(x, y) if isinstance(x, int) and isinstance(y, int) else None

    def rule(op: OpCall) -> list[SymbolicTensor]:
        require_dtype(op.tensor(0), "A", INTEGERS, "an integer tensor")
        return binary(op, element, value_range)

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, (_number, _bounds) in BITWISE.items():
    rules.rule(_op_type, since=18, idempotent=_op_type != "BitwiseXor")(_bitwise(_op_type, _number, _bounds))


@rules.rule("BitwiseNot", since=18, involutive=True)
def bitwise_not(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__BitwiseNot.html

    X, an integer tensor -> element type and shape of X
    """
    require_dtype(op.tensor(0), "X", INTEGERS, "an integer tensor")
    dtype = op.tensor(0).dtype

    def element(op: OpCall, dtype: DType, x: Element) -> Element:
        # ~x == -x - 1 in two's complement; for an unsigned x it wraps to max - x.
        return elements.wrap(~x, dtype) if isinstance(x, int) else None

    return unary(op, element, None if dtype is None else lambda x, scope: bits.bitwise_not(x, dtype, scope))


def _sign_range(x: ValueRange, scope: Scope) -> ValueRange:
    return value_ranges.clip(x, ValueRange(-1, -1), ValueRange(1, 1), scope)


# Y = f(X) keeps shape and element type; integer results have value ranges.
# Spec: https://onnx.ai/onnx/operators/onnx__Neg.html, __Abs, __Sign
UNARY: dict[str, tuple[int, UnaryElement, UnaryRange]] = {
    "Neg": (1, elements.neg, value_ranges.neg),
    "Abs": (1, elements.absolute, value_ranges.absolute),
    "Sign": (9, elements.sign, _sign_range),
}


def _unary(op_type: str, element: UnaryElement, value_range: UnaryRange) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        return unary(op, element, value_range)

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, (_since, _unary_element, _unary_span) in UNARY.items():
    _inverts = _op_type == "Neg"
    rules.rule(_op_type, since=_since, idempotent=not _inverts, involutive=_inverts)(
        _unary(_op_type, _unary_element, _unary_span)
    )


def _added(op: OpCall, dtype: DType, x: Element, y: Element) -> Element:
    """x + y; None if the sum is unknown or is -0.0, where a runtime that starts the sum from 0 returns 0.0"""
    total = elements.add(op, dtype, x, y)
    return None if elements.is_negative_zero(total) else total


MAX_COMBINED = 64
"""Largest number of inputs whose elements or value ranges are combined; expressions grow with each input."""

# Any number of inputs of one element type. Before version 8 all have one shape; since 8 they broadcast.
# Spec: https://onnx.ai/onnx/operators/onnx__Min.html, __Max, __Sum, __Mean
VARIADIC: dict[str, tuple[BinaryElement | None, BinaryRange | None]] = {
    "Min": (elements.min_of, value_ranges.min_of),
    "Max": (elements.max_of, value_ranges.max_of),
    "Sum": (_added, value_ranges.add),
    "Mean": (None, None),
}


def _variadic(op_type: str, element: BinaryElement | None, value_range: BinaryRange | None) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        inputs = [op.tensor(index) for index in range(len(op.inputs))]
        if not inputs:
            raise SpecViolation("at least 1 input is needed, there is none", "GI107")
        first = inputs[0]
        dtype = first.dtype
        for number, other in enumerate(inputs[1:], 1):
            dtype = same_dtype(first.with_(dtype=dtype), other, ("data_0", f"data_{number}"))
        if len(inputs) == 1:
            return [first if op_type != "Sum" or dtype not in INTEGER_RANGE else SymbolicTensor(dtype, first.shape)]
        shapes = [tensor.shape for tensor in inputs]
        broadcasts = op.version >= 8
        shape = broadcast(op, *shapes) if broadcasts else reduce(lambda a, b: same_shape(op, a, b), shapes)
        values = None
        arrays = [tensor.values for tensor in inputs if tensor.values is not None]
        is_ordered = op_type == "Sum" and dtype not in INTEGER_RANGE and len(inputs) > 2  # order of rounding
        if element is not None and dtype is not None and len(arrays) == len(inputs) <= MAX_COMBINED and not is_ordered:
            kind, function = dtype, element
            values = apply(lambda *xs: reduce(lambda x, y: function(op, kind, x, y), xs), *arrays)
        bounds = None
        if value_range is not None and dtype in INTEGER_RANGE and needs_range(values) and len(inputs) <= MAX_COMBINED:
            scope, combine = op.scope, value_range
            found = reduce(
                lambda a, b: combine(a, b, scope), (value_ranges.range_of(tensor, scope) for tensor in inputs)
            )
            bounds = value_ranges.fit(op, found, dtype)
        return [tensor_of(dtype, shape, values, bounds)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, (_folded, _folded_span) in VARIADIC.items():
    rules.rule(_op_type, idempotent=_op_type in ("Min", "Max"))(_variadic(_op_type, _folded, _folded_span))


@rules.rule("Clip", idempotent=True)
def clip_by_attributes(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Clip.html (versions 1 and 6: min and max are attributes)"""
    low, high = op.attr("min"), op.attr("max")

    def element(op: OpCall, dtype: DType, x: Element) -> Element:
        least, most = (None if limit is None else _rounded(limit, dtype) for limit in (low, high))
        return _clipped(op, dtype, x, least, most)

    return unary(op, element)


def _rounded(limit: float, dtype: DType) -> float:
    """`limit` rounded to the float type `dtype`; NaN when the rounded number is unknown."""
    found = elements.round_float(limit, dtype)
    return math.nan if found is None else found


@rules.rule("Clip", since=11, idempotent=True)
def clip(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Clip.html (version 11: min and max are optional inputs; 12 adds integers)

    Where min > max the result is max.
    """
    x = op.tensor(0)
    dtype = x.dtype
    limits = []
    for index, name in ((1, "min"), (2, "max")):
        limit = op.optional_tensor(index)
        if limit is not None:
            dtype = same_dtype(x.with_(dtype=dtype), limit, ("input", name)) if dtype is not None else limit.dtype
            if limit.rank is not None and limit.shape not in ((), (1,)):
                raise SpecViolation(f"{name} must be a scalar, has rank {limit.rank}", "GI305")
        limits.append(limit)
    if dtype is None or (x.values is None and dtype not in INTEGER_RANGE):
        return [SymbolicTensor(dtype, x.shape)]
    values = None
    kind = dtype
    constants = [_limit(limit) for limit in limits]
    if x.values is not None and all(limit is None or limit.values is not None for limit in limits):
        values = apply(lambda e: _clipped(op, kind, e, constants[0], constants[1]), x.values)
    bounds = None
    if dtype in INTEGER_RANGE and needs_range(values):
        found = value_ranges.range_of(x, op.scope)
        if limits[0] is not None:
            found = value_ranges.max_of(found, value_ranges.range_of(limits[0], op.scope), op.scope)
        if limits[1] is not None:
            found = value_ranges.min_of(found, value_ranges.range_of(limits[1], op.scope), op.scope)
        bounds = value_ranges.fit(op, found, dtype)
    return [tensor_of(dtype, x.shape, values, bounds)]


def _limit(limit: SymbolicTensor | None) -> Element:
    if limit is None or limit.values is None:
        return None
    element: Element = limit.values.item()
    return float("nan") if element is None else element


def _clipped(op: OpCall, dtype: DType, x: Element, lower: Element, upper: Element) -> Element:
    """min(max(x, lower), upper); None when the result is unknown. A limit of None means no limit, NaN an unknown limit.

    The result is unknown for an infinite `x` without a limit on its side: runtimes return `x` or the largest number.
    """
    for limit, nearer, end in ((lower, elements.max_of, -math.inf), (upper, elements.min_of, math.inf)):
        if elements.is_nan(limit) or (limit is None and x == end):
            return None
        if limit is not None:
            x = None if x is None else nearer(op, dtype, x, limit)
    return x
