"""Rules of Gather, GatherElements and GatherND.

All dialects share `gather`, `gather_elements` and `gather_nd`; the rules at the end of the file are for ai.onnx.
"""

from __future__ import annotations

import numpy as np

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.indices import (
    INDEX_TYPES,
    Array,
    check_bounds,
    describe,
    gather_result,
    known_numbers,
    known_table,
    look_up,
    may_be_outside,
    pick,
    picked_range,
    reachable_positions,
    require_type,
    value_shape,
)
from gather_infer.ops.semantics.preconditions import normalize_axis, require_min_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, known_le
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange

TYPES_1 = frozenset(DType(number) for number in range(DType.FLOAT32, DType.BFLOAT16))
TYPES_13 = TYPES_1 | {DType.BFLOAT16}

ONNX = Indexing()
GATHER_1 = Indexing(negative_note="which Gather defines from opset 11 on")


def gather(
    op: OpCall,
    data: SymbolicTensor,
    indices: SymbolicTensor,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    indexing: Indexing = ONNX,
) -> SymbolicTensor:
    """Slices of `data` along one axis, selected by `indices`.

    data     rank r >= 1, axis in [-r, r-1]
    indices  any rank q, 0 <= batch_dims <= min(q, axis); the first batch_dims dims equal the dims of data
    result   data.shape[:axis] + indices.shape[batch_dims:] + data.shape[axis+1:]

    Raises SpecViolation when `data` is a scalar, `axis` or `batch_dims` is out of range, or batch dims differ.
    Spec: https://onnx.ai/onnx/operators/onnx__Gather.html (batch_dims is OpenVINO's)
    """
    numbers = known_numbers(op, 1)
    if data.shape is None:
        return SymbolicTensor(data.dtype, None, None, _range_without_shape(op, data, indexing))
    require_min_rank(data.shape, 1, "data")
    axis = normalize_axis(axis, len(data.shape))
    size = data.shape[axis]
    if indices.shape is None:
        shape = None
    else:
        b = batch_dims
        most = min(axis, len(indices.shape))
        if not 0 <= b <= most:
            found = f"axis is {axis} and indices has rank {len(indices.shape)}"
            raise SpecViolation(f"batch_dims = {b} is outside [0, {most}], {found}", "GI306")
        batch = agreed_batch(op, data.shape, indices.shape, b)
        shape = (*batch, *data.shape[b:axis], *indices.shape[b:], *data.shape[axis + 1 :])
    check_bounds(op, indices, numbers, size, indexing, axis=axis, data=describe(data, "data"))

    table = known_table(op, data, numbers)
    if table is None or not isinstance(size, int):
        filled = may_be_outside(op, indices, numbers, size, indexing)
        return SymbolicTensor(data.dtype, shape, None, picked_range(op, data, (), filled=filled))
    values = None
    sizes = value_shape(shape, numbers)
    if sizes is not None and numbers is not None:
        at = list(np.indices(sizes))
        picked = pick(numbers, size, indexing)
        here = (*at[:batch_dims], *at[axis : axis + numbers.ndim - batch_dims])
        at[axis : axis + numbers.ndim - batch_dims] = [picked.positions[here]]
        fill = False if data.dtype is DType.BOOL and indexing.fill == 0 else indexing.fill
        values = look_up(table, at, sizes, picked.known[here], picked.outside[here], fill)

    def value_range() -> ValueRange | None:
        filled = may_be_outside(op, indices, numbers, size, indexing)
        return picked_range(
            op, data, [(axis, reachable_positions(op, indices, numbers, size, indexing))], filled=filled
        )

    return gather_result(data, shape, values, value_range)


def gather_elements(
    op: OpCall,
    data: SymbolicTensor,
    indices: SymbolicTensor,
    *,
    axis: int = 0,
    indexing: Indexing = ONNX,
    same_dims: bool = False,
) -> SymbolicTensor:
    """One element of `data` per element i of `indices`: the element at the same position, but with i along `axis`.

    data     [d0, ..., dr-1], r >= 1, axis in [-r, r-1]
    indices  [i0, ..., ir-1]; off the axis ij <= dj, or ij == dj with `same_dims`
    result   the shape of indices

    Raises SpecViolation when the ranks differ or are 0, `axis` is out of range, or a dim of indices is too large.
    Spec: https://onnx.ai/onnx/operators/onnx__GatherElements.html
    """
    if data.shape is not None and indices.shape is not None and len(data.shape) != len(indices.shape):
        ranks = f"{len(data.shape)} and {len(indices.shape)}"
        raise SpecViolation(f"data and indices must have the same rank, have ranks {ranks}", "GI305")
    require_min_rank(data.shape, 1, "data")
    require_min_rank(indices.shape, 1, "indices")
    numbers = known_numbers(op, 1)
    if data.shape is None:
        if indices.shape is not None:
            normalize_axis(axis, len(indices.shape), of="indices")
        return SymbolicTensor(data.dtype, indices.shape, None, _range_without_shape(op, data, indexing))
    axis = normalize_axis(axis, len(data.shape))
    shape = _elements_shape(op, data, indices, axis, same_dims)
    size = data.shape[axis]
    check_bounds(op, indices, numbers, size, indexing, axis=axis, data=describe(data, "data"))

    table = known_table(op, data, numbers)
    if table is None or not isinstance(size, int):
        return SymbolicTensor(data.dtype, shape, None, picked_range(op, data, ()))
    values = None
    sizes = value_shape(shape, numbers)
    if sizes is not None and numbers is not None:
        at = list(np.indices(sizes))
        picked = pick(numbers, size, indexing)
        at[axis] = picked.positions
        values = look_up(table, at, sizes, picked.known, picked.outside, indexing.fill)

    def value_range() -> ValueRange | None:
        reach = [(axis, reachable_positions(op, indices, numbers, size, indexing))]
        for j, length in enumerate(shape):
            if j != axis and isinstance(length, int):
                reach.append((j, list(range(min(length, table.shape[j])))))
        return picked_range(op, data, reach)

    return gather_result(data, shape, values, value_range)


def gather_nd(
    op: OpCall,
    data: SymbolicTensor,
    indices: SymbolicTensor,
    *,
    batch_dims: int = 0,
    indexing: Indexing = ONNX,
) -> SymbolicTensor:
    """Elements or slices of `data` addressed by the last axis of `indices`.

    data     [d0, ..., dr-1], r >= 1
    indices  [i0, ..., iq-2, k], q >= 1, 1 <= k <= r - batch_dims, 0 <= batch_dims < min(q, r); the first batch_dims
             dims equal the dims of data
    result   indices.shape[:-1] + data.shape[batch_dims + k:]; of unknown rank when k is unknown

    Raises SpecViolation when an input is a scalar, `batch_dims` or k is out of range, or batch dims differ.
    Spec: https://onnx.ai/onnx/operators/onnx__GatherND.html (version 12 adds batch_dims)
    """
    require_min_rank(data.shape, 1, "data")
    require_min_rank(indices.shape, 1, "indices")
    b = batch_dims
    ranks = {name: len(t.shape) for name, t in (("data", data), ("indices", indices)) if t.shape is not None}
    if b < 0 or any(b >= rank for rank in ranks.values()):
        allowed = f"[0, {min(ranks.values()) - 1}]" if ranks else "[0, ...]"
        found = " and ".join(f"{name} has rank {rank}" for name, rank in ranks.items())
        raise SpecViolation(f"batch_dims = {b} is outside {allowed}" + (f", {found}" if found else ""), "GI306")
    if indices.shape is None:
        return SymbolicTensor(data.dtype, None, None, _range_without_shape(op, data, indexing))
    k = _tuple_length(op, indices.shape[-1], data.shape, b)
    if data.shape is None:
        return SymbolicTensor(data.dtype, None, None, _range_without_shape(op, data, indexing))
    with op.unenforced():  # onnxruntime accepts any multiple of the batch of data
        batch = agreed_batch(op, data.shape, indices.shape, b)
    if k is None:
        return SymbolicTensor(data.dtype, None, None, _range_without_shape(op, data, indexing))
    shape = (*batch, *indices.shape[b:-1], *data.shape[b + k :])
    numbers = known_numbers(op, 1)
    columns = range(k)
    for j in columns:
        size, shown = data.shape[b + j], describe(data, "data")
        check_bounds(
            op, indices, numbers, size, indexing, axis=b + j, data=shown, column=j, columns=k, rows=data.shape[b + k :]
        )

    table = known_table(op, data, numbers)
    if table is None:
        return SymbolicTensor(data.dtype, shape, None, picked_range(op, data, ()))
    values = None
    sizes = value_shape(shape, numbers)
    if sizes is not None and numbers is not None:
        values = _nd_values(table, numbers, sizes, b, indexing)

    def value_range() -> ValueRange | None:
        by_column: list[Array | None] = [None if numbers is None else numbers[..., j] for j in columns]
        reach = [(b + j, reachable_positions(op, indices, by_column[j], table.shape[b + j], indexing)) for j in columns]
        return picked_range(op, data, reach)

    return gather_result(data, shape, values, value_range)


def _nd_values(table: Array, numbers: Array, sizes: tuple[int, ...], b: int, indexing: Indexing) -> Array:
    lead, k = numbers.shape[:-1], numbers.shape[-1]
    picked = [pick(numbers[..., j], table.shape[b + j], indexing) for j in range(k)]
    at = [*np.indices(lead)[:b], *(p.positions for p in picked)]
    known = np.logical_and.reduce([p.known for p in picked])
    outside = np.logical_or.reduce([p.outside for p in picked])
    # numpy indexing appends the trailing axes of data, which are read completely.
    return look_up(table, at, sizes, np.asarray(known), np.asarray(outside), indexing.fill)


def agreed_batch(op: OpCall, data: Shape, indices: Shape, batch_dims: int) -> list[Dim]:
    """The first `batch_dims` dims of shapes `data` and `indices`, which must be equal.

    Raises SpecViolation (GI306) when two of them can never be equal.
    """
    return [
        op.require_equal(data[j], indices[j], f"batch dim {j} of data and indices", code="GI306")
        for j in range(batch_dims)
    ]


def _elements_shape(op: OpCall, data: SymbolicTensor, indices: SymbolicTensor, axis: int, same_dims: bool) -> Shape:
    assert data.shape is not None, "the rank is taken from data"
    if indices.shape is None:
        return tuple(
            most if same_dims and j != axis else op.fresh(f"dim {j} of indices is not known")
            for j, most in enumerate(data.shape)
        )
    out: list[Dim] = []
    for j, (most, length) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if same_dims and j != axis:
            out.append(op.require_equal(most, length, f"dim {j} of data and indices"))
            continue
        out.append(length)
        if j == axis:
            continue
        fits = known_le(length, most, op.scope)
        # Empty indices read nothing, so a larger dim is allowed.
        if fits is False and 0 not in indices.shape:
            place = f"{describe(data, 'data')}, axis {axis}"
            raise SpecViolation(f"dim {j} of indices is {length}, outside [0, {most}]", "GI212", detail=(place,))
        if fits is None:
            op.add_constraint(length, "<=", most)
    return tuple(out)


def _tuple_length(op: OpCall, k: Dim, data: Shape | None, batch_dims: int) -> int | None:
    """The dim `k`, the length of the index tuples, as a number when only one value is possible; else None.

    Possible values are in [1, r - batch_dims] for `data` of rank r. Raises SpecViolation (GI307) when there is none.
    """
    most = None if data is None else len(data) - batch_dims
    bounds = op.scope.bounds(k)
    low = 1 if bounds.lo is None else max(1, bounds.lo)
    ends = [end for end in (most, bounds.hi) if end is not None]
    high = min(ends) if ends else None
    if high is not None and low > high:
        allowed = f"[1, {'...' if most is None else most}]"
        found = "" if data is None else f", data has rank {len(data)} and batch_dims is {batch_dims}"
        raise SpecViolation(f"index tuples have length {k}, outside {allowed}{found}", "GI307")
    op.add_implied_fact(k - 1)
    if most is not None:
        op.add_implied_fact(most - k)
    return low if low == high else None


def _range_without_shape(op: OpCall, data: SymbolicTensor, indexing: Indexing) -> ValueRange | None:
    return picked_range(op, data, (), filled=not indexing.strict)


rules = RuleSet("")


@rules.rule("Gather", since=1, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Gather.html

    The page does not define negative indices.
    """
    return [_onnx_gather(op, TYPES_1, GATHER_1)]


@rules.rule("Gather", since=11, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_11(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Gather.html

    Indices are in [-s, s-1] for an axis of length s.
    """
    return [_onnx_gather(op, TYPES_1, ONNX)]


@rules.rule("Gather", since=13, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_13(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Gather.html

    This version adds bfloat16.
    """
    return [_onnx_gather(op, TYPES_13, ONNX)]


def _onnx_gather(op: OpCall, types: frozenset[DType], indexing: Indexing) -> SymbolicTensor:
    if op.has(2):
        raise SpecViolation("Gather takes 2 inputs, has 3: an axis as input is OpenVINO's", "GI309")
    data, indices = _inputs(op, types, INDEX_TYPES)
    return gather(op, data, indices, axis=op.attr("axis", 0), indexing=indexing)


@rules.rule("GatherElements", since=11, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_elements_11(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GatherElements.html

    data, indices -> element type of data, shape of indices
    """
    data, indices = _inputs(op, TYPES_1, INDEX_TYPES)
    return [gather_elements(op, data, indices, axis=op.attr("axis", 0))]


@rules.rule("GatherElements", since=13, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_elements_13(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GatherElements.html

    This version adds bfloat16.
    """
    data, indices = _inputs(op, TYPES_13, INDEX_TYPES)
    return [gather_elements(op, data, indices, axis=op.attr("axis", 0))]


@rules.rule("GatherND", since=11, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_nd_11(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GatherND.html

    data, indices [i0, ..., iq-2, k] -> [i0, ..., iq-2] + data.shape[k:]
    """
    if "batch_dims" in op.attributes:
        raise SpecViolation("batch_dims is an attribute of GatherND from opset 12 on", "GI106")
    data, indices = _inputs(op, TYPES_1, frozenset({DType.INT64}))
    return [gather_nd(op, data, indices)]


@rules.rule("GatherND", since=12, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_nd_12(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GatherND.html

    This version adds batch_dims.
    """
    data, indices = _inputs(op, TYPES_1, frozenset({DType.INT64}))
    return [gather_nd(op, data, indices, batch_dims=op.attr("batch_dims", 0))]


@rules.rule("GatherND", since=13, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_nd_13(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__GatherND.html

    This version adds bfloat16.
    """
    data, indices = _inputs(op, TYPES_13, frozenset({DType.INT64}))
    return [gather_nd(op, data, indices, batch_dims=op.attr("batch_dims", 0))]


def _inputs(
    op: OpCall, types: frozenset[DType], index_types: frozenset[DType]
) -> tuple[SymbolicTensor, SymbolicTensor]:
    if len(op.inputs) > 2:
        raise SpecViolation(f"{op.op_type} takes 2 inputs, has {len(op.inputs)}", "GI107")
    data, indices = op.tensor(0), op.tensor(1)
    late = data.dtype is DType.BFLOAT16 and types == TYPES_1
    require_type(data, types, "data", detail=("bfloat16 is allowed from opset 13 on",) if late else ())
    require_type(indices, index_types, "indices", code="GI308")
    return data, indices
