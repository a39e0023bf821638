"""Evaluators of operators along axes: sums and products of integers, extrema and their positions, and NonZero."""

from __future__ import annotations

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.ops.semantics.preconditions import normalize_axis
from gather_infer.passes.evaluate.evaluators import Evaluation, Evaluator, EvaluatorSet
from gather_infer.passes.evaluate.numbers import (
    Numbers,
    from_numbers,
    has_two_zeros,
    integer_range,
    is_integer,
    is_number,
    result,
    to_numbers,
)
from gather_infer.tensor import DType

evaluators = EvaluatorSet("")


def _data(call: Evaluation) -> Numbers | None:
    """The elements of input 0 as numbers; None if the type is neither numeric nor bool, or an element is NaN."""
    data = call.input(0)
    x = to_numbers(data) if is_number(data.data_type) or data.data_type == DType.BOOL else None
    return None if x is None or np.isnan(x).any() else x


def _axes(call: Evaluation, x: Numbers, *, input_since: int) -> tuple[int, ...] | None:
    """The reduced axes of `x`, the data, all >= 0; None where runtimes differ.

    input_since   the first version in which the axes are an input, not an attribute

    Raises SpecViolation if an axis is out of range.
    """
    rank = x.ndim
    if call.version < input_since:
        axes = call.integers("axes")
        if axes is None:
            return tuple(range(rank))
        if not axes:
            return None
    else:
        given = call.constant(1)
        numbers = None if given is None else given.to_indices()
        if given is not None and (numbers is None or numbers.ndim != 1):
            return None
        axes = () if numbers is None else tuple(map(int, numbers))
        if not axes:
            return () if call.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    if not rank or (min(axes) < 0 and not _may_be_negative(call, x)):
        return None
    found = tuple(normalize_axis(axis, rank) for axis in axes)
    return found if len(set(found)) == len(found) else None


def _may_be_negative(call: Evaluation, x: Numbers) -> bool:
    """Whether an axis may be negative: from version 11 on, unless `x` is empty, which onnxruntime 1.31 mishandles."""
    return call.version >= 11 and x.size > 0


def _is_within(x: Numbers, axes: tuple[int, ...], data_type: int, *, product: bool) -> bool:
    """Whether each partial sum or product along `axes`, in any order, is in the range of the type and exact in float64.

    Runtimes compute in either. A single element has to be exact too: onnxruntime returns 2**53 for the sum of 2**53 + 1
    alone.
    """
    size = np.abs(x.astype(np.float64))
    with np.errstate(all="ignore"):
        largest = np.prod(np.maximum(size, 1), axis=axes) if product else np.sum(size, axis=axes)
    return not largest.size or float(largest.max()) <= min(integer_range(data_type)[1], (1 << 53) - 1)


def _total(*, product: bool, input_since: int) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        data = call.input(0)
        x = _data(call)
        axes = None if x is None else _axes(call, x, input_since=input_since)
        if x is None or axes is None or not is_integer(data.data_type):
            return None
        if not _is_within(x, axes, data.data_type, product=product):
            return None
        reduce = np.prod if product else np.sum
        keepdims = bool(call.integer("keepdims", 1))
        return result(data.data_type, np.asarray(reduce(x, axis=axes, keepdims=keepdims, dtype=x.dtype)))

    return evaluate


evaluators.evaluates("ReduceSum")(_total(product=False, input_since=13))
evaluators.evaluates("ReduceProd")(_total(product=True, input_since=18))


def _extreme(*, largest: bool) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        data = call.input(0)
        x = _data(call)
        axes = None if x is None else _axes(call, x, input_since=18)
        if x is None or axes is None:
            return None
        if not axes:
            return [data]
        if any(x.shape[axis] == 0 for axis in axes):
            return None
        if x.dtype.kind == "f" and has_two_zeros(x):
            return None
        reduce = np.max if largest else np.min
        return result(data.data_type, np.asarray(reduce(x, axis=axes, keepdims=bool(call.integer("keepdims", 1)))))

    return evaluate


evaluators.evaluates("ReduceMax")(_extreme(largest=True))
evaluators.evaluates("ReduceMin")(_extreme(largest=False))


def _position(*, largest: bool) -> Evaluator:
    def evaluate(call: Evaluation) -> list[Constant] | None:
        x = _data(call)
        axis = call.integer("axis", 0)
        if x is None or x.dtype.kind == "b" or not x.ndim or (axis < 0 and not _may_be_negative(call, x)):
            return None
        at = normalize_axis(axis, x.ndim)
        if not x.shape[at]:
            return None
        find = np.argmax if largest else np.argmin
        if call.version >= 12 and call.integer("select_last_index", 0):
            found = x.shape[at] - 1 - find(np.flip(x, at), axis=at)
        else:
            found = find(x, axis=at)
        return result(DType.INT64, np.expand_dims(found, at) if call.integer("keepdims", 1) else np.asarray(found))

    return evaluate


evaluators.evaluates("ArgMax")(_position(largest=True))
evaluators.evaluates("ArgMin")(_position(largest=False))


@evaluators.evaluates("TopK")
def _top_k(call: Evaluation) -> list[Constant] | None:
    data, x = call.input(0), _data(call)
    count = _count(call)
    axis = call.integer("axis", -1)
    if x is None or count is None or x.dtype.kind == "b" or not x.ndim or (call.version < 11 and axis < -1):
        return None
    if call.version >= 11 and not call.integer("sorted", 1):
        return None
    at = normalize_axis(axis, x.ndim)
    size = x.shape[at]
    if not 0 <= count <= size:
        raise SpecViolation(f"k = {count} is outside [0, {size}]", "GI210")
    if call.version >= 11 and not call.integer("largest", 1):
        order = np.argsort(x, axis=at, kind="stable")
    else:  # equal elements are in the order of their indices here as well
        order = size - 1 - np.flip(np.argsort(np.flip(x, at), axis=at, kind="stable"), at)
    order = np.take(order, np.arange(count), axis=at)
    positions = from_numbers(DType.INT64, order)
    assert positions is not None, "constants of int64 are supported"
    return [Constant(data.data_type, np.take_along_axis(data.bits, order, axis=at)), positions]


def _count(call: Evaluation) -> int | None:
    """The `k` of a TopK, an attribute before version 10; None unless it is a single number."""
    if call.version < 10:
        return call.typed_attr("k", int)
    given = call.input(1).to_indices()
    return int(given[0]) if given is not None and given.shape == (1,) else None


@evaluators.evaluates("CumSum", since=11)
def _cum_sum(call: Evaluation) -> list[Constant] | None:
    data, axis = call.input(0), call.input(1).to_indices()
    x = _data(call)
    if x is None or axis is None or axis.ndim or not is_integer(data.data_type) or not x.ndim:
        return None
    at = normalize_axis(int(axis), x.ndim)
    if not x.size:
        return [data]
    is_reversed = bool(call.integer("reverse", 0))
    run = np.flip(x, at) if is_reversed else x
    total = np.cumsum(run, axis=at, dtype=x.dtype)
    if call.integer("exclusive", 0):
        total = np.asarray(total - run)
    return result(data.data_type, np.flip(total, at) if is_reversed else total)


@evaluators.evaluates("NonZero", since=9)
def _non_zero(call: Evaluation) -> list[Constant] | None:
    x = to_numbers(call.input(0))
    if x is None or not x.ndim:  # runtimes differ on scalars
        return None
    found = np.array(np.nonzero(x), dtype=np.int64)
    return result(DType.INT64, found.reshape(x.ndim, found.size // x.ndim))
