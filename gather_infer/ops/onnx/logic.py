"""Rules of comparisons, logical operators, IsNaN, IsInf and Where, in three-valued logic: True, False, unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import elements
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.ops.semantics.elements import Element
from gather_infer.ops.semantics.elementwise import Values, apply, operands, require_dtype, same_dtype, tensor_of
from gather_infer.rules import OpCall, Rule, RuleSet
from gather_infer.symbolic import Dim, Scope, known_le, known_lt
from gather_infer.tensor import INTEGER_RANGE, DType, Shape, SymbolicTensor, ValueRange, holds_values, make_values
from gather_infer.value_ranges import needs_range

rules = RuleSet("")

BOOLS = frozenset({DType.BOOL})

Truth: TypeAlias = "bool | None"


def _not(x: Truth) -> Truth:
    return None if x is None else not x


def _bool_tensor(shape: Shape | None, values: Values | None, truth: Truth = None) -> SymbolicTensor:
    """A bool tensor with elements `values`; `truth` is the value that all its elements have. None means unknown."""
    span = None if truth is None else ValueRange(int(truth), int(truth))
    return tensor_of(DType.BOOL, shape, values, span)


Comparison: TypeAlias = Callable[[OpCall, Element, Element], Truth]
RangeComparison: TypeAlias = Callable[[ValueRange, ValueRange, Scope], Truth]


def _less_by_range(a: ValueRange, b: ValueRange, scope: Scope) -> Truth:
    if _is_less(a.hi, b.lo, scope):
        return True
    return False if _is_at_most(b.hi, a.lo, scope) else None


def _equal_by_range(a: ValueRange, b: ValueRange, scope: Scope) -> Truth:
    if _is_less(a.hi, b.lo, scope) or _is_less(b.hi, a.lo, scope):
        return False
    single = a.lo is not None and a.lo == a.hi == b.lo == b.hi
    return True if single else None


def _is_less(a: Dim | None, b: Dim | None, scope: Scope) -> bool:
    return a is not None and b is not None and known_lt(a, b, scope) is True


def _is_at_most(a: Dim | None, b: Dim | None, scope: Scope) -> bool:
    return a is not None and b is not None and known_le(a, b, scope) is True


def _ordered(x: Element, y: Element) -> bool:
    """Whether neither element is NaN; every ordering comparison with NaN is false."""
    return not (elements.is_nan(x) or elements.is_nan(y))


def _at_most(op: OpCall, x: Element, y: Element) -> Truth:
    return _not(elements.less(op, y, x)) if _ordered(x, y) else False


# C = A op B, a bool. Before version 7 attributes `broadcast` and `axis` broadcast B to A; since 7 both broadcast.
# Spec: https://onnx.ai/onnx/operators/onnx__Equal.html, __Less, __Greater, __LessOrEqual, __GreaterOrEqual
COMPARISONS: dict[str, tuple[int, Comparison, RangeComparison]] = {
    "Equal": (1, elements.equal, _equal_by_range),
    "Less": (1, elements.less, _less_by_range),
    "Greater": (1, lambda op, x, y: elements.less(op, y, x), lambda a, b, scope: _less_by_range(b, a, scope)),
    "LessOrEqual": (12, _at_most, lambda a, b, scope: _not(_less_by_range(b, a, scope))),
    "GreaterOrEqual": (12, lambda op, x, y: _at_most(op, y, x), lambda a, b, scope: _not(_less_by_range(a, b, scope))),
}


def _comparison(op_type: str, element: Comparison, by_range: RangeComparison) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        a, b = op.tensor(0), op.tensor(1)
        dtype = same_dtype(a, b)
        b, shape = operands(op, a, b)
        values = None
        if a.values is not None and b.values is not None:
            values = apply(lambda x, y: element(op, x, y), a.values, b.values)
        truth = None
        if (dtype in INTEGER_RANGE or dtype is DType.BOOL) and needs_range(values):
            truth = by_range(value_ranges.range_of(a, op.scope), value_ranges.range_of(b, op.scope), op.scope)
        return [_bool_tensor(shape, values, truth)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, (_since, _element, _by_span) in COMPARISONS.items():
    rules.rule(_op_type, since=_since)(_comparison(_op_type, _element, _by_span))


def _and(x: Truth, y: Truth) -> Truth:
    if x is False or y is False:
        return False
    return True if x is True and y is True else None


def _or(x: Truth, y: Truth) -> Truth:
    return _not(_and(_not(x), _not(y)))


def _xor(x: Truth, y: Truth) -> Truth:
    return None if x is None or y is None else x is not y


def truth_of(tensor: SymbolicTensor) -> Truth:
    """The common value of all elements of a bool tensor; None when they may differ or are unknown."""
    span = value_ranges.range_of(SymbolicTensor(tensor.dtype, tensor.shape, None, tensor.value_range))
    if tensor.values is not None and tensor.values.size:
        first = tensor.values.flat[0]
        return first if isinstance(first, bool) and all(e is first for e in tensor.values.flat) else None
    return bool(span.lo) if span.lo is not None and span.lo == span.hi else None


def truths(tensor: SymbolicTensor) -> Values | None:
    """The elements of a bool tensor as an array of True, False and None (unknown).

    Returns None instead of an array when the shape is not static or has too many elements to track.
    """
    if tensor.values is not None:
        return tensor.values
    if tensor.shape is None or not tensor.is_static:
        return None
    dims = tuple(d for d in tensor.shape if isinstance(d, int))
    if not holds_values(dims):
        return None
    return make_values([truth_of(tensor)] * math.prod(dims), dims)


# C = A op B, all bool; one known operand may decide the result, as in False AND x.
# Spec: https://onnx.ai/onnx/operators/onnx__And.html, __Or, __Xor
CONNECTIVES: dict[str, Callable[[Truth, Truth], Truth]] = {"And": _and, "Or": _or, "Xor": _xor}


def _connective(op_type: str, element: Callable[[Truth, Truth], Truth]) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        a, b = op.tensor(0), op.tensor(1)
        require_dtype(a, "A", BOOLS, "bool")
        require_dtype(b, "B", BOOLS, "bool")
        b, shape = operands(op, a, b)
        values = None
        if a.values is not None or b.values is not None:
            left, right = truths(a), truths(b)
            if left is not None and right is not None:
                values = apply(element, left, right)
        return [_bool_tensor(shape, values, element(truth_of(a), truth_of(b)))]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html"
    return rule


for _op_type, _connect in CONNECTIVES.items():
    rules.rule(_op_type, idempotent=_op_type != "Xor")(_connective(_op_type, _connect))


@rules.rule("Not", involutive=True)
def logical_not(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Not.html

    X, a bool tensor -> bool, shape of X
    """
    x = op.tensor(0)
    require_dtype(x, "X", BOOLS, "bool")
    values = None if x.values is None else apply(_not, x.values)
    return [_bool_tensor(x.shape, values, _not(truth_of(x)))]


@rules.rule("IsNaN", since=9)
def is_nan(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__IsNaN.html

    X, a float tensor -> bool, shape of X
    """
    x = op.tensor(0)
    _require_float(x)
    if x.values is None:
        return [SymbolicTensor(DType.BOOL, x.shape)]
    # A symbolic element is an integer or a quotient of integers, never NaN.
    return [_bool_tensor(x.shape, apply(lambda e: None if e is None else e != e, x.values))]


@rules.rule("IsInf", since=10)
def is_inf(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__IsInf.html

    X, a float tensor -> bool, shape of X
    """
    x = op.tensor(0)
    _require_float(x)
    if x.values is None:
        return [SymbolicTensor(DType.BOOL, x.shape)]
    found = set()
    if op.attr("detect_negative", 1) != 0:
        found.add(-math.inf)
    if op.attr("detect_positive", 1) != 0:
        found.add(math.inf)
    return [_bool_tensor(x.shape, apply(lambda e: None if e is None else e in found, x.values))]


def _require_float(x: SymbolicTensor) -> None:
    if x.dtype is not None and not x.dtype.is_float:
        raise SpecViolation(f"X must be a float tensor, is {x.dtype}", "GI211")


@rules.rule("Where", since=9)
def where(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Where.html

    Where the condition is unknown, an element that is equal in X and Y is still known.
    """
    condition, x, y = op.tensor(0), op.tensor(1), op.tensor(2)
    require_dtype(condition, "condition", BOOLS, "bool")
    dtype = same_dtype(x, y, ("X", "Y"))
    same = condition.shape == x.shape == y.shape
    shape = x.shape if same else broadcast(op, condition.shape, x.shape, y.shape)
    truth = truth_of(condition)
    values = _selected(condition, x, y) if x.values is not None or y.values is not None else None
    span = None
    if dtype is not None and (dtype in INTEGER_RANGE or dtype is DType.BOOL) and needs_range(values):
        found = [value_ranges.range_of(branch, op.scope) for branch, out in ((x, False), (y, True)) if truth is not out]
        span = value_ranges.fit(op, value_ranges.hull(*found, scope=op.scope), dtype)
    return [tensor_of(dtype, shape, values, span)]


def _selected(condition: SymbolicTensor, x: SymbolicTensor, y: SymbolicTensor) -> Values | None:
    """The elements of the result of Where; an input whose elements are not tracked counts as all unknown.

    Returns None when the shape of an input is not static or has too many elements to track.
    """
    conditions, left, right = truths(condition), _elements_or_unknown(x), _elements_or_unknown(y)
    if conditions is None or left is None or right is None:
        return None
    return apply(_select, conditions, left, right)


def _elements_or_unknown(tensor: SymbolicTensor) -> Values | None:
    return truths(tensor) if tensor.values is not None else truths(SymbolicTensor(None, tensor.shape))


def _select(condition: Truth, x: Element, y: Element) -> Element:
    """`x` if `condition`, else `y`; None for an unknown result.

    If `condition` is None, the result is known only when `x` and `y` are the same. -0.0 counts as unknown, because
    onnxruntime adds the selected element to 0 and so returns 0.0.
    """
    if condition is None:
        return _select(True, x, y) if elements.is_same(x, y) else None
    chosen = x if condition else y
    return None if elements.is_negative_zero(chosen) else chosen
