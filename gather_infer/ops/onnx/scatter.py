"""Rules of ScatterND, ScatterElements and Scatter, which replace or combine elements of data with updates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import elements
from gather_infer.ops.semantics.elements import Element
from gather_infer.ops.semantics.elementwise import Values, same_dtype, tensor_of
from gather_infer.ops.semantics.indices import INDEX_TYPES, check_bounds, known_numbers, pick
from gather_infer.ops.semantics.operands import joint_range, static_shape, values_or_unknown
from gather_infer.ops.semantics.preconditions import normalize_axis, require_min_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import DimTooLarge, known_le
from gather_infer.tensor import DType, SymbolicTensor, ValueRange, format_shape

rules = RuleSet("")

Combine = Callable[[OpCall, DType, Element, Element], Element]

# reduction: function that combines an element and its update; None replaces the element. ScatterND and ScatterElements
# have add and mul from version 16 on, max and min from 18 on.
COMBINE: dict[str, Combine | None] = {
    "none": None,
    "add": elements.add,
    "mul": elements.mul,
    "max": elements.max_of,
    "min": elements.min_of,
}

_NO_NEGATIVE = "this version of the operator does not define it"


@rules.rule("ScatterND", since=11, addresses={1: 0})
def scatter_nd(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ScatterND.html

    data     [d0, ..., dr-1], r >= 1
    indices  [i0, ..., iq-2, k], q >= 1, k <= r, int64
    updates  indices.shape[:-1] + data.shape[k:]
    result   the shape of data
    """
    data, indices, updates = op.tensor(0), op.tensor(1), op.tensor(2)
    dtype = same_dtype(data, updates, ("data", "updates"))
    require_min_rank(data.shape, 1, "data")
    require_min_rank(indices.shape, 1, "indices")
    if indices.dtype is not None and indices.dtype is not DType.INT64:
        raise SpecViolation(f"indices must be int64, is {indices.dtype}", "GI308")
    span = _scattered_range(op, data, updates)
    if data.shape is None or indices.shape is None or not isinstance(k := indices.shape[-1], int):
        return [SymbolicTensor(dtype, data.shape, None, span)]
    rank = len(data.shape)
    if k > rank:
        raise SpecViolation(f"the index tuples have length {k}, allowed is at most the rank {rank} of data", "GI307")
    wanted = (*indices.shape[:-1], *data.shape[k:])
    if updates.shape is not None:
        if len(updates.shape) != len(wanted):
            raise SpecViolation(f"updates must be {format_shape(wanted)}, is {format_shape(updates.shape)}", "GI212")
        for axis, (dim, other) in enumerate(zip(updates.shape, wanted, strict=True)):
            op.require_equal(dim, other, f"dim {axis} of updates and of {format_shape(wanted)}")
    numbers = known_numbers(op, 1)
    for column in range(k):
        size = data.shape[column]
        check_bounds(
            op, indices, numbers, size, Indexing(), axis=column, data=f"data {data}", column=column, columns=k
        )  # fmt: skip
    values = _scattered_nd(op, data, updates, k) if indices.values is not None else None
    return [tensor_of(dtype, data.shape, values, span)]


def _scattered_nd(op: OpCall, data: SymbolicTensor, updates: SymbolicTensor, k: int) -> Values | None:
    numbers, old, new = op.tensor(1).values, values_or_unknown(data), values_or_unknown(updates)
    sizes = static_shape(data.shape)
    if numbers is None or old is None or new is None or sizes is None or data.dtype is None:
        return None
    if data.values is None and updates.values is None:
        return None
    picked = [pick(numbers[..., column], sizes[column], Indexing()) for column in range(k)]
    if not all(p.known.all() for p in picked):
        return None
    targets = np.arange(old.size).reshape(old.shape)
    at = tuple(p.positions for p in picked)
    positions = targets[at] if k else np.broadcast_to(targets, (*numbers.shape[:-1], *targets.shape))
    return _scatter(op, data.dtype, old, positions.reshape(-1).tolist(), new.reshape(-1).tolist())


@rules.rule("Scatter", since=9, addresses={1: 0})
@rules.rule("ScatterElements", since=11, addresses={1: 0})
def scatter_elements(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__ScatterElements.html (version 9 is called Scatter; 11 adds negative indices)

    data     [d0, ..., dr-1], r >= 1
    indices  rank r, int32 or int64; each dim is at most the dim of data, except at attribute axis
    updates  the shape of indices
    result   the shape of data
    """
    data, indices, updates = op.tensor(0), op.tensor(1), op.tensor(2)
    dtype = same_dtype(data, updates, ("data", "updates"))
    for tensor, name in ((data, "data"), (indices, "indices"), (updates, "updates")):
        require_min_rank(tensor.shape, 1, name)
    if indices.dtype is not None and indices.dtype not in INDEX_TYPES:
        raise SpecViolation(f"indices must be int32 or int64, is {indices.dtype}", "GI308")
    if indices.shape is not None and updates.shape is not None:
        if len(indices.shape) != len(updates.shape):
            found = f"{format_shape(indices.shape)} and {format_shape(updates.shape)}"
            raise SpecViolation(f"indices and updates must have equal shapes, are {found}", "GI212")
        for axis, (dim, other) in enumerate(zip(indices.shape, updates.shape, strict=True)):
            op.require_equal(dim, other, f"dim {axis} of indices and of updates")
    span = _scattered_range(op, data, updates)
    if data.shape is None:
        known = indices.shape if indices.shape is not None else updates.shape
        shape = None if known is None else tuple(op.fresh("the dims of data are not known") for _ in known)
        return [SymbolicTensor(dtype, shape, None, span)]
    axis = normalize_axis(op.attr("axis", 0), len(data.shape))
    if indices.shape is not None:
        if len(indices.shape) != len(data.shape):
            raise SpecViolation(
                f"data and indices must have equal ranks, have {len(data.shape)} and {len(indices.shape)}", "GI305"
            )
        for other, (dim, size) in enumerate(zip(indices.shape, data.shape, strict=True)):
            fits = True if other == axis else known_le(dim, size, op.scope)
            if fits is False:
                raise SpecViolation(f"dim {other} of indices is {dim}, more than {size}, that of data", "GI212")
            if fits is None:
                op.add_constraint(dim, "<=", size)
    indexing = Indexing(negative_note="" if op.version >= 11 else _NO_NEGATIVE, from_end=op.version >= 11)
    check_bounds(op, indices, known_numbers(op, 1), data.shape[axis], indexing, axis=axis, data=f"data {data}")
    values = _scattered_elements(op, data, updates, axis) if indices.values is not None else None
    return [tensor_of(dtype, data.shape, values, span)]


def _scattered_elements(op: OpCall, data: SymbolicTensor, updates: SymbolicTensor, axis: int) -> Values | None:
    numbers, old, new = op.tensor(1).values, values_or_unknown(data), values_or_unknown(updates)
    sizes = static_shape(data.shape)
    if numbers is None or old is None or new is None or sizes is None or data.dtype is None:
        return None
    if (data.values is None and updates.values is None) or new.shape != numbers.shape:
        return None
    if any(dim > size for i, (dim, size) in enumerate(zip(numbers.shape, sizes, strict=True)) if i != axis):
        return None
    picked = pick(numbers, sizes[axis], Indexing())
    if not picked.known.all():
        return None
    at: list[npt.NDArray[np.intp]] = list(np.indices(numbers.shape))
    at[axis] = picked.positions
    positions = np.arange(old.size).reshape(old.shape)[tuple(at)]
    return _scatter(op, data.dtype, old, positions.reshape(-1).tolist(), new.reshape(-1).tolist())


def _scatter(op: OpCall, dtype: DType, old: Values, positions: list[int], new: list[Element]) -> Values | None:
    """A copy of `old` in which each `new[i]` replaces, or is combined with, the element at flat `positions[i]`.

    Without a reduction the order of writes is undefined, so a position that is written twice with different elements
    becomes unknown (None). The minimum or maximum of NaN and a number is unknown too, since runtimes differ.

    Returns None when no element is known, or when a float reduction combines several updates at one position: the
    result then depends on their order.
    """
    reduction = op.attr("reduction", "none")
    combine = COMBINE.get(reduction)
    if reduction not in COMBINE or (combine is not None and dtype.is_float and len(set(positions)) < len(positions)):
        return None
    out = old.copy()
    flat = out.reshape(-1)
    written: set[int] = set()
    for position, element in zip(positions, new, strict=True):
        if combine is None:
            again = position in written
            flat[position] = element if not again or elements.is_same(flat[position], element) else None
        else:
            is_unordered = reduction in ("max", "min") and (elements.is_nan(element) or elements.is_nan(flat[position]))
            try:
                flat[position] = None if is_unordered else combine(op, dtype, flat[position], element)
            except DimTooLarge:
                flat[position] = None
        written.add(position)
    return None if out.size and all(element is None for element in out.flat) else out


def _scattered_range(op: OpCall, data: SymbolicTensor, updates: SymbolicTensor) -> ValueRange | None:
    """Value range of the result; None when unbounded, and for add and mul, which may apply to an element repeatedly.

    Raises SpecViolation when attribute reduction has an unknown value.
    """
    reduction = op.attr("reduction", "none")
    if reduction not in COMBINE:
        names = ", ".join(COMBINE)
        raise SpecViolation(f'reduction = "{reduction}" must be one of {names}', "GI106")
    return None if reduction in ("add", "mul") else joint_range(op, [data, updates])
