"""Rule of Slice, with bounds that may be negative, outside the axis, or symbolic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.operands import Values, all_ints, elements_of_vector, moved, unique_axes
from gather_infer.ops.semantics.preconditions import require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, Expr, ceildiv, known_le, known_lt, maximum, minimum
from gather_infer.tensor import SymbolicTensor

rules = RuleSet("")

INT_MAX = 2**31 - 1
"""An index of at least INT_MAX means the end of an axis; its page recommends INT_MAX for an unknown dim."""


@rules.rule("Slice", since=1, moves=0)
def onnx_slice_1(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Slice.html (version 1: starts, ends and axes are attributes)"""
    data, starts, ends = op.tensor(0), list(op.attr("starts", ())), list(op.attr("ends", ()))
    axes = op.attr("axes")
    return [slice_axes(op, data, starts, ends, range(len(starts)) if axes is None else axes, [1] * len(starts))]


@rules.rule("Slice", since=10, moves=0, operands={3: "different axes", 4: "no step of 0"}, dims=(4,))
def onnx_slice(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Slice.html (version 10: starts, ends, axes and steps are 1-D inputs)"""
    data = op.tensor(0)
    for index, name in enumerate(("starts", "ends", "axes", "steps"), 1):
        operand = op.optional_tensor(index)
        if operand is not None:
            require_rank(operand.shape, 1, name)
    starts, ends = elements_of_vector(op, op.tensor(1), "starts"), elements_of_vector(op, op.tensor(2), "ends")
    axes = elements_of_vector(op, op.tensor(3), "axes") if op.has(3) else None
    steps = elements_of_vector(op, op.tensor(4), "steps") if op.has(4) else None
    given = [op.tensor(i).shape for i in range(1, 5) if op.has(i)]
    lengths = [shape[0] if shape else 1 for shape in given if shape is not None]
    for length in lengths[1:]:
        message = f"starts, ends, axes and steps must have one length, have {' and '.join(map(str, lengths))}"
        op.require((lengths[0], "==", length), otherwise=message)
    if data.shape is not None and not op.has(3) and lengths:
        message = f"there must be {len(data.shape)} starts or less, one per axis, are {lengths[0]}"
        op.require((lengths[0], "<=", len(data.shape)), otherwise=message)
    count = next((len(e) for e in (starts, ends, axes, steps) if e is not None), None)
    if count is None:
        return [_unknown(op, data)]
    if axes is None and not op.has(3):
        axes = list(range(count))
    if steps is None:
        steps = [None if op.has(4) else 1] * count
    unknown: list[Dim | None] = [None] * count
    known_axes = all_ints(axes)
    if known_axes is None and data.shape is not None and len(data.shape) == count == 1:
        known_axes = [0]
    if known_axes is None:
        return [_unknown(op, data)]
    return [slice_axes(op, data, starts or unknown, ends or unknown, known_axes, steps)]


def _unknown(op: OpCall, data: SymbolicTensor) -> SymbolicTensor:
    """A slice of `data` along unknown axes: each dim is a new symbol, at most the dim of `data` on the same axis."""
    if data.shape is None:
        return moved(op, data, None)
    return moved(op, data, tuple(_size_up_to(op, dim, "axes are not known") for dim in data.shape))


def _size_up_to(op: OpCall, dim: Dim, reason: str) -> Dim:
    """A new symbol that is at most `dim`, with cause `reason`; 0 when `dim` is 0."""
    if isinstance(dim, int) and dim == 0:
        return 0
    size = op.fresh(reason)
    op.add_fact(dim - size)
    return size


def slice_axes(
    op: OpCall,
    data: SymbolicTensor,
    starts: Sequence[Dim | None],
    ends: Sequence[Dim | None],
    axes: Sequence[int],
    steps: Sequence[Dim | None],
) -> SymbolicTensor:
    """The elements of `data` at the positions start, start + step, ... before end along every axis in `axes`.

    data                 [d0, ..., dr-1]
    starts, ends, steps  one per element of `axes`; None for an unknown one
    result               [d0', ..., dr-1'], see `slice_length`

    Raises SpecViolation when the lists differ in length, an axis is outside [-r, r-1] or given twice, or a step is 0.
    """
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise SpecViolation(
            f"starts, ends, axes and steps must have one length, have {len(starts)}, {len(ends)}, {len(axes)} "
            f"and {len(steps)}"
        )
    for step in steps:
        if step is not None:
            op.require((1, "<=", step), (step, "<=", -1), otherwise="a step must not be 0")
    if data.shape is None:
        return moved(op, data, None)
    if not data.shape:
        op.add_unchecked("onnxruntime slices no scalar")
    shape = list(data.shape)
    values = data.values
    for axis, start, end, step in zip(unique_axes(axes, len(shape)), starts, ends, steps, strict=True):
        dim = shape[axis]
        shape[axis] = slice_length(op, dim, start, end, step)
        values = _taken(values, axis, dim, start, end, step)
    return moved(op, data, tuple(shape), values)


def slice_length(op: OpCall, dim: Dim, start: Dim | None, end: Dim | None, step: Dim | None) -> Dim:
    """The number of elements between `start` and `end` of an axis of length `dim`.

    A negative start or end counts from the end: `dim` is added. For a step > 0 both are then clamped to [0, dim]. For
    a step < 0 start is clamped to [0, dim - 1] and end to [-1, dim - 1]. The length is
    max(0, ceil((end - start) / step)).

    If `start`, `end` or `step` is unknown (None), the length is a new symbol with an upper bound.
    """
    if _is_disputed(end, step):
        return _size_up_to(op, dim, f"runtimes differ on the end {end} of a slice backward")
    match start, end, step:
        case int(), int(), int() if isinstance(dim, int):
            return len(_range(dim, start, end, step))
    if step is None or (isinstance(step, Expr) and known_le(1, step, op.scope) is not True):
        return _size_up_to(op, dim, "the step is not known")
    is_backward = isinstance(step, int) and step < 0
    if start is None or end is None:
        if start is None and end is not None and not is_backward:
            dim = slice_length(op, dim, 0, end, 1)
        elif end is None and start is not None and not is_backward:
            dim = slice_length(op, dim, start, INT_MAX, 1)
        return _size_up_to(
            op, ceildiv(dim, step if not is_backward else -step, op.scope), "a start or end is not known"
        )

    first, last = _from_start(op, dim, start), _from_start(op, dim, end)
    if isinstance(end, int) and end <= -INT_MAX and is_backward:
        last = -1
    if is_backward:  # equals a forward slice of the reversed axis
        first, last, step = dim - 1 - first, dim - 1 - last, -step
    # ceil(x / step) is monotone in x, so it commutes with min and max; outermost min and max are easier to read.
    length = _between(op, dim, first, last, step)
    if is_backward and not _is_from_start(op, start):
        # A start before the first element is clamped to 0, not to -1.
        shortest = ceildiv(minimum(dim, last, scope=op.scope) - dim + 1, step, op.scope)
        longest = ceildiv(dim, step, op.scope)
        length = minimum(longest, maximum(length, shortest, scope=op.scope), scope=op.scope)
    return length


def _is_disputed(end: Dim | None, step: Dim | None) -> bool:
    """Whether a slice with a step < 0 ends at the largest int32 or int64; onnxruntime then slices down to element 0."""
    return isinstance(step, int) and step < 0 and isinstance(end, int) and end in (INT_MAX, 2**63 - 1)


def _between(op: OpCall, dim: Dim, first: Dim, last: Dim, step: Dim) -> Dim:
    """The length of a forward slice, max(0, ceil((min(last, dim) - max(first, 0)) / step))"""
    differences = [upper - lower for upper in (dim, last) for lower in (0, first)]
    lengths = [ceildiv(difference, step, op.scope) for difference in differences]
    return maximum(0, minimum(*lengths, scope=op.scope), scope=op.scope)


def _from_start(op: OpCall, dim: Dim, index: Dim) -> Dim:
    """`index` counted from the first element, not clamped: index + dim when it is negative."""
    if isinstance(index, int):
        if abs(index) >= INT_MAX:
            return dim if index > 0 else 0
        return index if index >= 0 else dim + index
    if known_le(0, index, op.scope) is True:
        return index
    if known_lt(index, 0, op.scope) is True:
        return dim + index
    if known_le(index, 0, op.scope) is True and op.assume(-index, 1, "an index of -0 would count from the front"):
        return dim + index
    # adds dim exactly when index <= -1
    return index + dim * minimum(1, maximum(0, -index, scope=op.scope), scope=op.scope)


def _is_from_start(op: OpCall, index: Dim) -> bool:
    """Whether `index` is known to be >= -1, and so not before the first element unless the axis is empty."""
    if isinstance(index, int):
        return index >= -1
    return known_le(-1, index, op.scope) is True


def _range(dim: int, start: int, end: int, step: int) -> range:
    """The positions from 0 to dim - 1 that a slice selects from an axis of length `dim`."""
    start += dim if start < 0 else 0
    end += dim if end < 0 else 0
    if step > 0:
        return range(min(max(start, 0), dim), min(max(end, 0), dim), step)
    return range(min(max(start, 0), dim - 1), min(max(end, -1), dim - 1), step)


def _taken(
    values: Values | None, axis: int, dim: Dim, start: Dim | None, end: Dim | None, step: Dim | None
) -> Values | None:
    match dim, start, end, step:
        case int(), int(), int(), int() if values is not None and not _is_disputed(end, step):
            indices = np.asarray(_range(dim, start, end, step), dtype=np.intp)
            return np.take(values, indices, axis)
    return None
