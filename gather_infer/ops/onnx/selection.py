"""Rules of operators that select by value: TopK, NonZero, OneHot, Unique, NonMaxSuppression."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import elements
from gather_infer.ops.semantics.elements import Element
from gather_infer.ops.semantics.elementwise import Values, tensor_of
from gather_infer.ops.semantics.operands import element_dim, joint_range, replaced, tracked_values, values_or_unknown
from gather_infer.ops.semantics.preconditions import known_value, normalize_axis, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, DimTooLarge, Expr, known_le, maximum, product
from gather_infer.tensor import MAX_VALUES, DType, Ratio, Shape, SymbolicTensor, ValueRange, make_values
from gather_infer.value_ranges import explicit_range

rules = RuleSet("")

MAX_PROOFS: Final = 64
"""Largest number of elements of a tensor whose symbolic elements are compared; each comparison is a proof."""


@rules.rule("TopK", moves=0)
def top_k_by_attribute(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__TopK.html (version 1: `k` is an attribute)"""
    k = op.attr("k", 0)
    if k < 0:
        raise SpecViolation(f"k must be positive, is {k}")
    return _top_k(op, k)


@rules.rule("TopK", since=10, moves=0, operands={1: "at most as many as there are"}, dims=(1,))
def top_k(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__TopK.html (version 10: K is an input; 11 adds `largest` and `sorted`)

    K       [1], at most the length of the axis
    """
    k = op.tensor(1)
    if k.dtype is not None and k.dtype is not DType.INT64:
        raise SpecViolation(f"K must be int64, is {k.dtype}", "GI211")
    if k.shape is not None and len(k.shape) != 1:
        raise SpecViolation(f"K must be 1-D with one element, is {k}", "GI305")
    if k.shape is not None:
        op.require((k.shape[0], "==", 1), otherwise=f"K must be 1-D with one element, is {k}", code="GI305")
    return _top_k(op, element_dim(op, known_value(k), "K"))


def _top_k(op: OpCall, k: Dim) -> list[SymbolicTensor]:
    """The outputs of TopK: the `k` largest or smallest elements along attribute axis, and their positions as int64."""
    x = op.tensor(0)
    if x.shape is None:
        outputs = [
            SymbolicTensor(x.dtype, None, None, explicit_range(x, op.scope)),
            SymbolicTensor(DType.INT64, None, None, ValueRange(0)),
        ]
        return outputs[: len(op.outputs)]
    axis = normalize_axis(op.attr("axis", -1), len(x.shape))
    dim = x.shape[axis]
    if known_le(k, dim, op.scope) is None:
        op.add_constraint(k, "<=", dim)
    op.require((k, "<=", dim), otherwise=f"k = {k} is more than the length {dim} of axis {axis}")
    shape = replaced(x.shape, axis, k)
    values, indices = None, None
    if x.values is not None and isinstance(k, int) and op.attr("sorted", 1) != 0:
        values, indices = _sorted(op, x.values, axis, k, op.attr("largest", 1) != 0)
    outputs = [
        tensor_of(x.dtype, shape, values, explicit_range(x, op.scope)),
        tensor_of(DType.INT64, shape, indices, ValueRange(0, dim - 1)),
    ]
    return outputs[: len(op.outputs)]


def _sorted(op: OpCall, values: Values, axis: int, k: int, largest: bool) -> tuple[Values | None, Values | None]:
    """The first `k` elements of each lane of `values` along `axis`, in sorted order, and their positions in the lane.

    Returns (None, None) when the order of a lane is unknown. `largest` sorts in descending order.
    """
    if values.size > MAX_PROOFS and not all(elements.is_number(e) for e in values.flat):
        return None, None
    lanes = np.moveaxis(values, axis, -1)
    order = np.empty((*lanes.shape[:-1], k), dtype=object)
    picked = np.empty_like(order)
    for place in np.ndindex(*lanes.shape[:-1]):
        lane = lanes[place].tolist()
        ranks = _ranking(op, lane, largest)
        if ranks is None:
            return None, None
        for position, rank in enumerate(ranks[:k]):
            at = (*place, position)
            order[at], picked[at] = rank, lane[rank]
    return np.moveaxis(picked, -1, axis), np.moveaxis(order, -1, axis)


def _ranking(op: OpCall, lane: list[Element], largest: bool) -> list[int] | None:
    """The positions 0, 1, ... of `lane` sorted by element, descending if `largest`; equal elements stay in order.

    Returns None when the order is unknown or an element is NaN.
    """
    if any(map(elements.is_nan, lane)):
        return None
    numbers = [e for e in lane if isinstance(e, (int, float))]
    if len(numbers) == len(lane):
        # A sort with `reverse` is stable too.
        return sorted(range(len(lane)), key=numbers.__getitem__, reverse=largest)
    ranks: list[int] = []
    for new in range(len(lane)):
        place = len(ranks)
        for position, old in enumerate(ranks):
            before = elements.less(op, lane[old], lane[new]) if largest else elements.less(op, lane[new], lane[old])
            if before is None:
                return None
            if before:
                place = position
                break
        ranks.insert(place, new)
    return ranks


@rules.rule("NonZero", since=9)
def non_zero(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__NonZero.html

    X       [d0, ..., dr-1]
    result  [r, n], a column per nonzero element; for a scalar [0, n] in the specification, [1, n] in runtimes
    """
    x = op.tensor(0)
    reason = "the number of elements that are not 0 depends on the data"
    if x.shape is None:
        return [
            SymbolicTensor(
                DType.INT64, (op.fresh("the input has no known rank"), op.fresh(reason)), None, ValueRange(0)
            )
        ]
    if not x.shape:
        rows = op.fresh("the page and the runtimes differ in the result for a scalar")
        return [SymbolicTensor(DType.INT64, (rows, op.fresh(reason)), None, ValueRange(0, 0))]
    if x.values is not None:
        flags = [_is_zero(op, element) for element in x.values.flat]
        if all(flag is not None for flag in flags):
            places = np.argwhere(~np.array(flags, dtype=bool).reshape(x.values.shape)).T
            return [tensor_of(DType.INT64, places.shape, make_values(places), None)]
    try:
        count = product(x.shape) if _is_nowhere_zero(op, x) else op.fresh(reason)
        op.add_fact(product(x.shape) - count)
        last: Dim | None = maximum(*x.shape, scope=op.scope) - 1
    except DimTooLarge:
        count, last = op.fresh(reason), None
    return [SymbolicTensor(DType.INT64, (len(x.shape), count), None, ValueRange(0, last))]


def _is_nowhere_zero(op: OpCall, x: SymbolicTensor) -> bool:
    """Whether the value range of `x` excludes 0; False for floats."""
    span = value_ranges.range_of(x, op.scope)
    if x.dtype is None or not (x.dtype.is_integer or x.dtype is DType.BOOL):
        return False
    return (span.lo is not None and known_le(1, span.lo, op.scope) is True) or (
        span.hi is not None and known_le(span.hi, -1, op.scope) is True
    )


def _is_zero(op: OpCall, element: Element) -> bool | None:
    return elements.equal(op, element.num if isinstance(element, Ratio) else element, 0)


@rules.rule("OneHot", since=9, operands={1: "a depth >= 1"}, dims=(1,))
def one_hot(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__OneHot.html (version 11: negative indices count from the end)

    indices  [d0, ..., dr-1]; an index outside [-depth, depth - 1] gives a row of off_value
    depth    a scalar or [1]; positive
    values   [off_value, on_value]
    result   the dims of indices with depth inserted as dim `axis`, which is in [-r-1, r]
    """
    indices, depth, values = op.tensor(0), op.tensor(1), op.tensor(2)
    if depth.shape is not None and len(depth.shape) > 1:
        raise SpecViolation(f"depth must be a scalar or have one element, is {depth}", "GI305")
    for dim in depth.shape or ():
        op.require((dim, "==", 1), otherwise=f"depth must be a scalar or have one element, is {depth}", code="GI305")
    if values.shape is not None and len(values.shape) != 1:
        raise SpecViolation(f"values must be [off_value, on_value], is {values}", "GI305")
    for dim in values.shape or ():
        op.require((dim, "==", 2), otherwise=f"values must be [off_value, on_value], is {values}", code="GI305")
    size = _depth(op, depth)
    axis = op.attr("axis", -1)
    span = joint_range(op, [values])
    if indices.shape is None:
        return [SymbolicTensor(values.dtype, None, None, span)]
    rank = len(indices.shape)
    if rank == 0:
        op.add_unchecked("onnxruntime does not run OneHot for a scalar")
    if not -rank - 1 <= axis <= rank:
        raise SpecViolation(f"axis = {axis} is outside [{-rank - 1}, {rank}], indices has rank {rank}", "GI304")
    position = axis % (rank + 1)
    shape = (*indices.shape[:position], size, *indices.shape[position:])
    return [tensor_of(values.dtype, shape, _rows(op, indices, size, values, position), span)]


def _rows(op: OpCall, indices: SymbolicTensor, depth: Dim, values: SymbolicTensor, position: int) -> Values | None:
    """The elements of the result of OneHot with `depth` as dim `position`, None for an unknown element.

    Returns None instead of an array when `depth` or the elements of `values` are unknown, or the result is too large.
    """
    picked = values_or_unknown(indices)
    if picked is None or not isinstance(depth, int) or picked.size * depth > MAX_VALUES or values.values is None:
        return None
    if picked.size * depth > MAX_PROOFS and not all(elements.is_number(e) for e in picked.flat):
        return None
    off, on = values.values.flat
    rows = np.full((*picked.shape, depth), off, dtype=object)
    if not elements.is_same(off, on):
        for place in np.ndindex(*picked.shape):
            for column in range(depth):
                is_on = _is_on(op, picked[place], column, depth)
                if is_on is not False:
                    at = (*place, column)
                    rows[at] = on if is_on else None
    rows = np.moveaxis(rows, -1, position)
    return tracked_values(rows, rows.shape)


def _is_on(op: OpCall, index: Element, column: int, depth: int) -> bool | None:
    """Whether `index` selects `column` of `depth` columns; None when unknown or where runtimes deviate from the page.

    Runtimes treat a fraction as out of range; the page casts it to int64. Before version 11 runtimes count a negative
    index from the end; the page treats it as out of range.
    """
    if isinstance(index, bool) or not isinstance(index, (int, float, Expr)):
        return None
    if isinstance(index, float) and not index.is_integer():
        return None
    is_first, is_last = elements.equal(op, index, column), elements.equal(op, index, column - depth)
    if is_first is not False:
        return is_first
    return None if is_last and op.version < 11 else is_last


def _depth(op: OpCall, depth: SymbolicTensor) -> Dim:
    """The only element of `depth`, rounded toward zero, as a dim >= 1; a new symbol when it is unknown."""
    element: Element = depth.only_element
    number = elements.truncate(op, element) if not isinstance(element, bool) else None
    if number is None:
        return op.fresh("depth is not known")
    op.require((1, "<=", number), otherwise=f"depth must be positive, is {number}")
    return number


@rules.rule("Unique", since=11, moves=0)
def unique(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Unique.html

    Y                the unique elements, [n]; with `axis` the unique slices, n along that axis
    indices          [n], positions of the first occurrences in X
    inverse_indices  one position in Y for each element, or slice, of X
    counts           [n], numbers of occurrences in X
    """
    x = op.tensor(0)
    axis = op.attr("axis")
    if x.shape is not None and axis is not None:
        axis = normalize_axis(axis, len(x.shape))
        for dim in x.shape:
            op.add_runtime_constraint((1, "<=", dim))
    if axis is None and x.values is not None and all(_is_number(e) for e in x.values.flat):
        return _unique_numbers(op, x)
    count = op.fresh("the number of unique elements depends on the data")
    length: Dim | None = None
    if x.shape is not None:
        try:
            length = product(x.shape) if axis is None else x.shape[axis]
        except DimTooLarge:
            length = None
    if length is not None:
        op.add_fact(length - count)
        if known_le(1, length, op.scope) is True:
            op.add_fact(count - 1)
    shape: Shape | None = (count,)
    if axis is not None:
        shape = None if x.shape is None else replaced(x.shape, axis, count)
    last = None if length is None else length - 1
    total = length if length is not None else op.fresh("the input has no known shape")
    outputs = [
        SymbolicTensor(x.dtype, shape, None, explicit_range(x, op.scope)),
        SymbolicTensor(DType.INT64, (count,), None, ValueRange(0, last)),
        SymbolicTensor(DType.INT64, (total,), None, ValueRange(0, count - 1)),
        SymbolicTensor(DType.INT64, (count,), None, ValueRange(1, length)),
    ]
    return outputs[: len(op.outputs)]


def _is_number(element: object) -> bool:
    """Whether `element` is a constant other than NaN; runtimes differ on NaN."""
    return isinstance(element, (int, float)) and not math.isnan(element)


def _unique_numbers(op: OpCall, x: SymbolicTensor) -> list[SymbolicTensor]:
    """The outputs of Unique without attribute axis for an `x` whose elements are all constants.

    Float elements of Y stay unknown: 0.0 and -0.0 are equal, and either may be kept.
    """
    assert x.values is not None, "called for known elements only"
    flat = x.values.reshape(-1).tolist()
    first: dict[int | float, int] = {}
    for position, element in enumerate(flat):
        first.setdefault(element, position)
    chosen = sorted(first) if op.attr("sorted", 1) != 0 else list(first)
    place = {element: position for position, element in enumerate(chosen)}
    is_exact = all(isinstance(e, int) for e in flat)
    outputs = [tensor_of(x.dtype, (len(chosen),), make_values(chosen) if is_exact else None, None)]
    for numbers in ([first[e] for e in chosen], [place[e] for e in flat], [flat.count(e) for e in chosen]):
        outputs.append(tensor_of(DType.INT64, (len(numbers),), make_values(numbers), None))
    return outputs[: len(op.outputs)]


@rules.rule("NonMaxSuppression", since=10, operands={3: "a threshold in [0, 1]"})
def non_max_suppression(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html

    boxes   [batch, s, 4], s boxes
    scores  [batch, classes, s]
    result  [n, 3]: batch, class and box index of each selected box
    """
    boxes, scores = op.tensor(0), op.tensor(1)
    require_rank(boxes.shape, 3, "boxes")
    require_rank(scores.shape, 3, "scores")
    count = op.fresh("the number of selected boxes depends on the data")
    if boxes.shape is not None:
        op.require_equal(boxes.shape[2], 4, "the last dim of boxes and the length of a box")
    if boxes.shape is not None and scores.shape is not None:
        op.require_equal(boxes.shape[0], scores.shape[0], "the batch dims of boxes and scores")
        op.require_equal(boxes.shape[1], scores.shape[2], "the number of boxes and of scores")
    if scores.shape is None:
        return [SymbolicTensor(DType.INT64, (count, 3), None, ValueRange(0))]
    per_class = op.optional_tensor(2)
    most = 0 if per_class is None else known_value(per_class)
    batch, classes, number = scores.shape
    if isinstance(most, int):
        most = max(0, most)  # a negative limit selects no box
        op.add_fact(batch * classes * most - count)
    last = value_ranges.hull(*(ValueRange(0, d - 1) for d in (batch, classes, number)), scope=op.scope)
    return [SymbolicTensor(DType.INT64, (count, 3), None, last)]
