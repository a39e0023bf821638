"""Rules of reductions along axes: Reduce*, ArgMax, ArgMin, CumSum, CumProd."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import elements
from gather_infer.ops.semantics.elements import EXACT_BITS, Element
from gather_infer.ops.semantics.elementwise import BinaryElement, Values, tensor_of
from gather_infer.ops.semantics.indices import INDEX_TYPES
from gather_infer.ops.semantics.operands import all_ints, elements_of_vector
from gather_infer.ops.semantics.preconditions import known_value, normalize_axis, require_min_rank, require_scalar
from gather_infer.rules import OpCall, Rule, RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, Expr, known_eq, known_le, product, total, truncdiv
from gather_infer.tensor import INTEGER_RANGE, DType, Shape, SymbolicTensor, ValueRange
from gather_infer.value_ranges import needs_range

rules = RuleSet("")

Row: TypeAlias = "list[Element]"
RowReduction: TypeAlias = Callable[[OpCall, DType, Row], Element]


def _integers(row: Row) -> list[Dim] | None:
    """The elements of `row` as integers; None unless every element is known to be integral and not -0.0."""
    whole: list[Dim] = []
    for element in row:
        if isinstance(element, float) and elements.is_same(element, _rounded(element)):
            whole.append(int(element))
        elif isinstance(element, (int, Expr)):
            whole.append(element)
        else:
            return None
    return whole


def _rounded(number: float) -> float | None:
    return float(int(number)) if math.isfinite(number) else None


def _to_element_in_any_order(
    op: OpCall, dtype: DType, row: list[Dim], result: Dim, combine: Callable[..., Dim]
) -> Element:
    """`result`, the sum or product of `row`, as an element; None when some order of evaluation may round or wrap.

    combine   the function that returned `result` for `row`: total or product

    Integers may round too: runtimes add int64 in float64, and clamp where int32 would wrap.
    """
    largest = combine([abs(e) for e in row if isinstance(e, int) and e != 0])
    limit = min(1 << EXACT_BITS.get(dtype, 53), INTEGER_RANGE.get(dtype, (0, 1 << 53))[1])
    if not isinstance(largest, int) or largest > limit:
        return None
    if dtype not in INTEGER_RANGE and not all(known_le(0, e, op.scope) is True for e in row if isinstance(e, Expr)):
        return None
    return elements.to_element(op, result, dtype)


def _sum(op: OpCall, dtype: DType, row: Row) -> Element:
    whole = _integers(row)
    return None if whole is None else _to_element_in_any_order(op, dtype, whole, total(whole), total)


def _product(op: OpCall, dtype: DType, row: Row) -> Element:
    whole = _integers(row)
    if whole is None:
        return None
    result = product(whole)
    if result == 0 and dtype not in INTEGER_RANGE and not all(isinstance(e, int) and e >= 0 for e in whole):
        return None  # 0.0 or -0.0
    return _to_element_in_any_order(op, dtype, whole, result, product)


def _mean(op: OpCall, dtype: DType, row: Row) -> Element:
    summed = _sum(op, dtype, row) if row else None
    if summed is None:
        return None
    if dtype in INTEGER_RANGE:
        quotient = truncdiv(summed, len(row), op.scope) if isinstance(summed, (int, Expr)) else None
        return quotient
    is_power_of_two = len(row) & (len(row) - 1) == 0  # for other n runtimes may multiply by a rounded 1/n
    return elements.div(op, dtype, summed, float(len(row))) if is_power_of_two else None


def _sum_of_magnitudes(op: OpCall, dtype: DType, row: Row) -> Element:
    least = INTEGER_RANGE[dtype][0] if dtype in INTEGER_RANGE else None
    if any(isinstance(e, int) and e == least and e < 0 for e in row):
        return None  # the absolute value of the minimum overflows
    return _sum(op, dtype, [elements.absolute(op, dtype, e) for e in row])


def _sum_of_squares(op: OpCall, dtype: DType, row: Row) -> Element:
    whole = _integers(row)
    return None if whole is None else _sum(op, dtype, [e * e for e in whole])


def _max(op: OpCall, dtype: DType, row: Row) -> Element:
    return _extreme(op, dtype, row, elements.max_of) if row else _type_bound(dtype, 0)


def _min(op: OpCall, dtype: DType, row: Row) -> Element:
    return _extreme(op, dtype, row, elements.min_of) if row else _type_bound(dtype, 1)


def _extreme(op: OpCall, dtype: DType, row: Row, pick: BinaryElement) -> Element:
    """The minimum or maximum of `row`, folded with `pick`; None when `row` has a NaN, for which runtimes differ."""
    if any(map(elements.is_nan, row)):
        return None
    return reduce(lambda x, y: _of_bools(dtype, pick(op, dtype, x, y)), row)


def _of_bools(dtype: DType, element: Element) -> Element:
    return bool(element) if dtype is DType.BOOL and isinstance(element, int) else element


def _type_bound(dtype: DType, which: int) -> Element:
    """The extremum of an empty row: the smallest (`which` = 0) or largest (1) value of `dtype`, infinite for floats."""
    if dtype is DType.BOOL:
        return bool(which)
    return INTEGER_RANGE[dtype][which] if dtype in INTEGER_RANGE else (-math.inf, math.inf)[which]


# operator: (version from which `axes` is an input, function that reduces the elements of one row; None: not tracked)
# Spec: https://onnx.ai/onnx/operators/onnx__ReduceSum.html and so on
REDUCTIONS: dict[str, tuple[int, RowReduction | None]] = {
    "ReduceL1": (18, _sum_of_magnitudes),
    "ReduceL2": (18, None),
    "ReduceLogSum": (18, None),
    "ReduceLogSumExp": (18, None),
    "ReduceMax": (18, _max),
    "ReduceMean": (18, _mean),
    "ReduceMin": (18, _min),
    "ReduceProd": (18, _product),
    "ReduceSum": (13, _sum),
    "ReduceSumSquare": (18, _sum_of_squares),
}


def _by_attribute(op_type: str, row: RowReduction | None) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        return [_reduced(op, op.attr("axes", ()), row)]

    rule.__doc__ = f"https://onnx.ai/onnx/operators/onnx__{op_type}.html (`axes` is an attribute)"
    return rule


def _by_input(op_type: str, row: RowReduction | None) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        axes = op.optional_tensor(1)
        return [_reduced(op, () if axes is None else elements_of_vector(op, axes, "axes"), row)]

    rule.__doc__ = f"""https://onnx.ai/onnx/operators/onnx__{op_type}.html (`axes` is an optional input)

    Without axes all axes are reduced, or none if noop_with_empty_axes is set.
    """
    return rule


for _op_type, (_since, _row) in REDUCTIONS.items():
    rules.rule(_op_type)(_by_attribute(_op_type, _row))
    rules.rule(_op_type, since=_since, operands={1: "axes of data"})(_by_input(_op_type, _row))


def _reduced(op: OpCall, axes_given: Sequence[Dim | None] | None, row: RowReduction | None) -> SymbolicTensor:
    """Input 0 reduced along `axes_given`.

    axes_given   None for an unknown axis; `axes_given` is None when the number of axes is unknown. An empty sequence
                 means all axes, or no axis if attribute noop_with_empty_axes is set
    row          reduces the elements along the axes to one; None when result elements are not tracked
    """
    data = op.tensor(0)
    keepdims = _keepdims(op)
    if keepdims is None:
        return SymbolicTensor(data.dtype)
    if axes_given is not None and len(axes_given) == 0:
        if op.attr("noop_with_empty_axes", 0) != 0:
            return _reduced_along(op, data, (), keepdims, row)
        if data.shape is None:
            return SymbolicTensor(data.dtype, None if keepdims else ())
        return _reduced_along(op, data, tuple(range(len(data.shape))), keepdims, row)
    if data.shape is None:
        return SymbolicTensor(data.dtype)
    numbers = all_ints(axes_given)
    if numbers is None:
        return SymbolicTensor(data.dtype, _shape_by_unknown(op, data.shape, axes_given, keepdims))
    if not data.shape and all(axis in (0, -1) for axis in numbers):
        # A scalar has no axis, but exporters emit one and some runtimes accept it.
        return _reduced_along(op, data, (), keepdims, row)
    # A repeated axis is reduced once.
    axes = tuple(sorted({normalize_axis(axis, len(data.shape), "axes") for axis in numbers}))
    return _reduced_along(op, data, axes, keepdims, row)


def _keepdims(op: OpCall) -> bool | None:
    """Whether reduced axes stay, with size 1; None for a number other than 0 and 1.

    The page defines no others: onnxruntime reads 2 as 0, onnx's reference evaluator as 1.
    """
    keepdims = op.attr("keepdims", 1)
    return bool(keepdims) if keepdims in (0, 1) else None


def _shape_by_unknown(
    op: OpCall, shape: Shape, axes_given: Sequence[Dim | None] | None, keepdims: bool
) -> Shape | None:
    """The result shape when an element of `axes_given`, or `axes_given` itself, is unknown; None for an unknown rank.

    With `keepdims` a dim known to be 1 stays 1, and any other becomes a new symbol. Without `keepdims` the rank is
    known only when one axis is given.
    """
    reason = "the axes of the reduction are not known"
    if keepdims:
        return tuple(1 if known_eq(dim, 1, op.scope) is True else op.fresh(reason) for dim in shape)
    if axes_given is None or len(axes_given) != 1 or not shape:
        return None  # an axis may be repeated
    if all(dim == shape[0] for dim in shape):
        return shape[1:]
    return tuple(op.fresh(reason) for _ in shape[1:])


def _reduced_along(
    op: OpCall, data: SymbolicTensor, axes: tuple[int, ...], keepdims: bool, row: RowReduction | None
) -> SymbolicTensor:
    if data.shape is None:
        return SymbolicTensor(data.dtype)
    if data.dtype is DType.BOOL:
        others = [(dim, "==", 0) for axis, dim in enumerate(data.shape) if axis not in axes]
        for axis in axes:
            op.add_runtime_constraint((1, "<=", data.shape[axis]), *others)
    if keepdims:
        shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(data.shape))
    else:
        shape = tuple(dim for axis, dim in enumerate(data.shape) if axis not in axes)
    dtype = data.dtype
    if dtype is None or (data.values is None and dtype not in INTEGER_RANGE):
        return SymbolicTensor(dtype, shape)
    values = None
    if data.values is not None and row is not None:
        values = _reduce_values(op, dtype, data.values, axes, row)
        values = values.reshape([d for d in shape if isinstance(d, int)])
        if values.size and all(element is None for element in values.flat):
            values = None
    span = None
    if dtype in INTEGER_RANGE and needs_range(values):
        try:
            count = product([data.shape[axis] for axis in axes])
        except DimTooLarge:
            return tensor_of(dtype, shape, values, None)
        found = _reduced_range(op, value_ranges.range_of(data, op.scope), count)
        span = None if found is None else value_ranges.fit(op, found, dtype)
    return tensor_of(dtype, shape, values, span)


def _reduce_values(op: OpCall, dtype: DType, values: Values, axes: tuple[int, ...], row: RowReduction) -> Values:
    kept = [axis for axis in range(values.ndim) if axis not in axes]
    outer = [values.shape[axis] for axis in kept]
    inner = math.prod(values.shape[axis] for axis in axes)
    rows = values.transpose([*kept, *axes]).reshape([*outer, inner])
    out = np.empty(outer, dtype=object)
    for place in np.ndindex(*outer):
        try:
            out[place] = row(op, dtype, rows[place].tolist())
        except DimTooLarge:
            continue
    return out


def _reduced_range(op: OpCall, value_range: ValueRange, count: Dim) -> ValueRange | None:
    """Value range of the result of reducing `count` elements within `value_range`; None where no bound is inferred."""
    scope = op.scope
    match op.op_type:
        case "ReduceSum":
            return value_ranges.mul(value_range, ValueRange(count, count), scope)
        case "ReduceL1":
            return value_ranges.mul(value_ranges.absolute(value_range, scope), ValueRange(count, count), scope)
        case "ReduceSumSquare":
            size = value_ranges.absolute(value_range, scope)
            return value_ranges.mul(value_ranges.mul(size, size, scope), ValueRange(count, count), scope)
        case "ReduceMax":  # the maximum of an empty row is the smallest number of the type
            return value_range if known_le(1, count, scope) is True else ValueRange(None, value_range.hi)
        case "ReduceMin":
            return value_range if known_le(1, count, scope) is True else ValueRange(value_range.lo, None)
        case _:
            return None


def _arg_extremum(op_type: str) -> Rule:
    def rule(op: OpCall) -> list[SymbolicTensor]:
        data = op.tensor(0)
        keepdims = _keepdims(op)
        if data.shape is None or keepdims is None:
            return [SymbolicTensor(DType.INT64, None, None, ValueRange(0, None))]
        axis = normalize_axis(op.attr("axis", 0), len(data.shape))
        dim = data.shape[axis]
        others = (*data.shape[:axis], *data.shape[axis + 1 :])
        op.require(
            (1, "<=", dim),
            *((other, "==", 0) for other in others),
            otherwise=f"axis {axis} has length 0, nothing can be selected from it",
        )
        shape = (*data.shape[:axis], 1, *data.shape[axis + 1 :]) if keepdims else others
        values = None
        if data.values is not None and data.dtype is not None and data.dtype is not DType.BOOL:
            is_last = op.attr("select_last_index", 0) != 0
            values = _reduce_values(
                op, DType.INT64, data.values, (axis,), lambda op, _, row: _position(op, row, op_type, is_last)
            ).reshape([d for d in shape if isinstance(d, int)])
            if values.size and all(element is None for element in values.flat):
                values = None
        return [tensor_of(DType.INT64, shape, values, ValueRange(0, dim - 1))]

    rule.__doc__ = f"""https://onnx.ai/onnx/operators/onnx__{op_type}.html (from version 11 on axis may be negative)

    The axis must not be empty, unless the result is empty.
    """
    return rule


def _position(op: OpCall, row: Row, op_type: str, is_last: bool) -> Element:
    """Position of the maximum (`op_type` ArgMax) or minimum of `row`; None if the order is unknown or one is NaN.

    Of equal extrema the last counts if `is_last`, else the first.
    """
    if any(map(elements.is_nan, row)):
        return None
    best = 0
    for place in range(1, len(row)):
        old, new = (row[best], row[place]) if op_type == "ArgMax" else (row[place], row[best])
        better = elements.less(op, old, new)
        if is_last and better is False:
            worse = elements.less(op, new, old)
            better = None if worse is None else not worse
        if better is None:
            return None
        best = place if better else best
    return best


rules.rule("ArgMax")(_arg_extremum("ArgMax"))
rules.rule("ArgMin")(_arg_extremum("ArgMin"))


@rules.rule("CumSum", since=11, operands={1: "an axis of x"})
def cumulative_sum(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__CumSum.html

    x, axis -> element type and shape of x
    """
    x, axis = op.tensor(0), _axis_of(op)
    exclusive = op.attr("exclusive", 0) != 0
    values = _accumulated(op, x, axis, 0, elements.add)
    span = None
    if x.dtype in INTEGER_RANGE and needs_range(values) and x.shape is not None and axis is not None:
        count = x.shape[axis] - 1 if exclusive else x.shape[axis]
        found = value_ranges.repeated_sum(value_ranges.range_of(x, op.scope), count, op.scope, may_be_empty=exclusive)
        span = value_ranges.fit(op, found, x.dtype)
    return [tensor_of(x.dtype, x.shape, values, span)]


@rules.rule("CumProd", since=26, operands={1: "an axis of x"})
def cumulative_product(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__CumProd.html

    x, axis -> element type and shape of x
    """
    x, axis = op.tensor(0), _axis_of(op)
    return [tensor_of(x.dtype, x.shape, _accumulated(op, x, axis, 1, elements.mul), None)]


def _axis_of(op: OpCall) -> int | None:
    """The non-negative form of the axis in input 1; None when the axis or the rank r of input 0 is unknown.

    Raises SpecViolation when input 1 is not one int32 or int64 number, or the axis is outside [-r, r-1].
    """
    x, axis = op.tensor(0), op.tensor(1)
    if axis.dtype is not None and axis.dtype not in INDEX_TYPES:
        raise SpecViolation(f"axis must be int32 or int64, is {axis.dtype}", "GI211")
    require_scalar(op, axis, "axis")
    require_min_rank(x.shape, 1, "x")
    number = known_value(axis)
    if x.shape is None or not isinstance(number, int):
        return None
    return normalize_axis(number, len(x.shape))


def _accumulated(op: OpCall, x: SymbolicTensor, axis: int | None, start: int, combine: BinaryElement) -> Values | None:
    """Running results of `combine` over the integers of `x` along `axis`, beginning with `start`.

    Along the axis all results from the first unknown one on are None. Returns None instead of an array when `x` is not
    an integer tensor with tracked elements, `axis` is None, or no result is known. Attributes exclusive and reverse
    apply.
    """
    dtype = x.dtype
    if x.values is None or axis is None or dtype is None or dtype not in INTEGER_RANGE:
        return None
    exclusive = op.attr("exclusive", 0) != 0
    out = np.empty(x.values.shape, dtype=object)
    lanes, results = np.moveaxis(x.values, axis, -1), np.moveaxis(out, axis, -1)
    if op.attr("reverse", 0) != 0:
        lanes, results = lanes[..., ::-1], results[..., ::-1]
    for place in np.ndindex(lanes.shape[:-1]):
        running: Element = start
        for position, element in enumerate(lanes[place]):
            before = running
            try:
                running = combine(op, dtype, running, element)
            except DimTooLarge:
                running = None
            at = (*place, position)
            results[at] = before if exclusive else running
            if running is None:
                break
    return None if out.size and all(element is None for element in out.flat) else out
