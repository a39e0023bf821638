"""Indexing semantics of the gather family: bounds checks of indices, reachable positions, lookup of known elements.

An axis of length s is addressed by indices in [0, s - 1] and, where the operator counts from the end, [-s, -1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from gather_infer.access import Addressing, Indexing
from gather_infer.diagnostic import Severity
from gather_infer.errors import SpecViolation, close_match
from gather_infer.ops.semantics.preconditions import alternatives
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, known_le, known_lt
from gather_infer.tensor import (
    INTEGER_RANGE,
    DType,
    Shape,
    SymbolicTensor,
    ValueRange,
    format_shape,
    from_values,
    holds_values,
    static_dims,
)
from gather_infer.value_ranges import hull, range_of, range_of_elements

Array: TypeAlias = npt.NDArray[Any]

INDEX_TYPES = frozenset({DType.INT32, DType.INT64})
TABLE_LIMIT = 65536
"""Largest constant, in elements, that is read for lookups of single elements."""


def check_call(op: OpCall, *, inputs: int, attributes: tuple[str, ...], noted: tuple[str, ...] = ()) -> None:
    """Check the number of inputs and the attribute names of an operator without a schema.

    noted   attributes that are not part of the operator but added by the file reader

    Raises SpecViolation when there are more than `inputs` inputs, or an attribute in neither `attributes` nor `noted`.
    """
    if len(op.inputs) > inputs:
        raise SpecViolation(f"{op.op_type} takes {inputs} input{'s' * (inputs != 1)}, has {len(op.inputs)}", "GI107")
    for name in op.attributes:
        if name not in attributes and name not in noted:
            known = f"known are {', '.join(attributes)}" if attributes else "it has none"
            raise SpecViolation(
                f"{name} is not an attribute of {op.op_type}, {known}{close_match(name, attributes)}", "GI106"
            )


def integer(op: OpCall, name: str, default: int) -> int:
    """The value of integer attribute `name` of an operator without a schema; `default` when it is absent.

    Raises SpecViolation when the value is not an integer.
    """
    value = op.attr(name, default)
    if not isinstance(value, int):
        raise SpecViolation(f"attribute {name} must be an integer, is {value!r}", "GI106")
    return value


def require_type(
    tensor: SymbolicTensor, allowed: Iterable[DType], name: str, *, code: str = "GI211", detail: tuple[str, ...] = ()
) -> None:
    """Raise SpecViolation when the element type of `tensor`, input `name`, is known and not in `allowed`.

    code, detail   the code of the diagnostic, and lines added to it
    """
    if tensor.dtype is None or tensor.dtype in allowed:
        return
    choice = alternatives(sorted(map(str, allowed)))
    raise SpecViolation(f"{name} must be {choice}, is {tensor.dtype}", code, detail=detail)


def is_nonempty(op: OpCall, shape: Shape | None) -> bool:
    """Whether a tensor of shape `shape` is known to have elements in every run; False for an unknown rank."""
    return shape is not None and all(d >= 1 if isinstance(d, int) else known_le(1, d, op.scope) is True for d in shape)


def known_numbers(op: OpCall, position: int) -> Array | None:
    """The elements of input `position`; None when they are unknown.

    An object array with None for unknown elements, or, for a constant that is too large to track, its integer payload.
    """
    tensor = op.tensor(position)
    return tensor.values if tensor.values is not None else op.array(position)


def known_table(op: OpCall, data: SymbolicTensor, numbers: Array | None) -> Array | None:
    """The elements of `data`, which is input 0; None when they are unknown.

    numbers   the elements of the indices; unless they are None, an untracked integer constant of at most TABLE_LIMIT
              elements is read from the file
    """
    if data.values is not None or numbers is None or data.shape is None or data.dtype not in INTEGER_RANGE:
        return data.values
    constant = op.array(0) if data.size is not None and data.size <= TABLE_LIMIT else None
    return None if constant is None else constant.astype(object)


def check_bounds(
    op: OpCall,
    indices: SymbolicTensor,
    numbers: Array | None,
    size: Dim,
    indexing: Indexing,
    *,
    axis: int | None,
    data: str,
    column: int | None = None,
    columns: int = 1,
    position: int = 1,
    may_skip: bool = False,
    rows: Shape = (),
) -> None:
    """Record which axis the indices address, report indices out of bounds, and add facts that legal runs satisfy.

    One such fact: an index i >= 0 implies size > i.

    numbers   the elements of `indices`, from `known_numbers`
    size      length of the addressed axis
    axis      position of the addressed axis in the data, non-negative; None when the indices address no data axis
    data      description of the data for messages, as "data float32[50257, 768]"
    column    the component of an index tuple that addresses this axis, one of `columns`; None when indices are numbers
    position  position of the index input
    may_skip  the operator may ignore some indices, so an index out of bounds is not reported
    rows      dims of the slice that one index selects. When the slice may be empty, no facts are added: a runtime may
              then skip the index
    """
    location = data if axis is None else f"{data}, axis {axis}"
    if numbers is not None and column is not None:
        numbers = numbers[..., column]
    distinct = _distinct(numbers)
    complete = numbers is not None and (numbers.dtype != object or all(e is not None for e in numbers.flat))
    op.address(Addressing(position, axis, size, indexing, column, columns, tuple(distinct), complete, may_skip))
    if may_skip or indexing.ignored is not None:
        return
    integers = [e for e in distinct if isinstance(e, int)]
    learns = indexing.strict and is_nonempty(op, rows)
    # an index that is in bounds needs an axis that is not empty
    if not integers and learns and isinstance(size, Expr) and is_nonempty(op, indices.shape):
        op.add_implied_fact(size - 1)
    if not distinct and indexing.strict and size == 0 and is_nonempty(op, indices.shape):
        op.report("GI301", "indices is not empty, the axis it addresses has length 0", location)
    if numbers is None or not distinct:
        return
    lower = indexing.lower_bound(size)
    bad = [e for e in distinct if _is_outside(op, e, size, lower)]
    if bad:
        _report_outside(op, numbers, size, indexing, location, column)
    if isinstance(size, Expr) and learns:
        for e in integers:
            if e not in bad:  # a contradiction must not become a fact
                op.add_implied_fact(size - e - 1 if e >= 0 else e - indexing.lower_bound(size))
    negative = [e for e in integers if e < 0 and e not in bad]
    if negative and indexing.negative_note:
        first = _find(numbers, set(negative))[0]
        op.report("GI303", f"index {_at(numbers, first)} is negative, {indexing.negative_note}", location,
                  _element(first, column))  # fmt: skip


COUNT = Indexing(from_end=False, inserts=True)
"""Indexing of an operand that is a number of elements, from 0 to all of them, in place of an index."""


def check_lengths(op: OpCall, position: int, size: Dim, *, axis: int, data: str) -> None:
    """As `check_bounds`, for input `position` that holds sequence lengths along `axis`, each in [0, size]."""
    lengths, numbers = op.tensor(position), known_numbers(op, position)
    check_bounds(op, lengths, numbers, size + 1, COUNT, axis=axis, data=data, position=position)


def address_no_axis(op: OpCall, position: int) -> None:
    """Record that the index input `position` addresses no axis: its elements are not read, or may be any number."""
    op.address(Addressing(position, None, 0, Indexing(), None, 1, (), is_complete=True))


def _distinct(numbers: Array | None) -> list[Dim]:
    """The elements that decide a bounds check: the smallest and the largest integer, and every symbolic element."""
    if numbers is None or numbers.size == 0:
        return []
    if numbers.dtype != object:
        return list(dict.fromkeys((int(numbers.min()), int(numbers.max()))))
    integers = [e for e in numbers.flat if isinstance(e, int)]
    ends: list[Dim] = [min(integers), max(integers)] if integers else []
    return list(dict.fromkeys([*ends, *(e for e in numbers.flat if isinstance(e, Expr))]))


def _report_outside(
    op: OpCall, numbers: Array, size: Dim, indexing: Indexing, location: str, column: int | None
) -> None:
    lower = indexing.lower_bound(size)
    elements = dict.fromkeys(numbers.reshape(-1).tolist())
    outside = {e for e in elements if isinstance(e, (int, Expr)) and _is_outside(op, e, size, lower)}
    positions = _find(numbers, outside)
    found = _at(numbers, positions[0])
    if size == 0:
        message = f"index {found} is out of bounds, the axis has length 0"
    else:
        message = f"index {found} is outside [{indexing.first_defined(size)}, {size - 1}]"
    detail = [location, _element(positions[0], column)]
    if len(positions) > 1:
        detail.append(f"{len(positions)} elements are out of bounds")
    if not indexing.strict:
        detail.append(f"the result there is {'not defined' if indexing.fill is None else indexing.fill}")
    op.report("GI301", message, *detail, severity=None if indexing.strict else Severity.WARNING)


def _is_outside(op: OpCall, index: Dim, size: Dim, lower: Dim) -> bool:
    return known_lt(index, size, op.scope) is False or known_le(lower, index, op.scope) is False


def _find(numbers: Array, sought: set[Dim]) -> list[tuple[int, ...]]:
    """Positions of the elements that are in `sought`, in row-major order."""
    flat = [i for i, e in enumerate(numbers.reshape(-1).tolist()) if e in sought]
    return [tuple(map(int, np.unravel_index(i, numbers.shape))) for i in flat]


def _at(numbers: Array, position: tuple[int, ...]) -> Dim:
    found: Dim = numbers[position] if numbers.dtype == object else int(numbers[position])
    return found


def _element(position: tuple[int, ...], column: int | None) -> str:
    full = position if column is None else (*position, column)
    return f"indices element [{', '.join(map(str, full))}]" if full else "indices is a scalar"


class Picked(NamedTuple):
    """Positions on an axis that the elements of an index tensor address; each array has the shape of the index tensor.

    positions  non-negative positions; 0 where `known` is False
    known      the position is known and in bounds
    outside    the index is known to be out of bounds
    """

    positions: npt.NDArray[np.intp]
    known: npt.NDArray[np.bool_]
    outside: npt.NDArray[np.bool_]


def pick(numbers: Array, size: int, indexing: Indexing) -> Picked:
    """The positions that the indices `numbers` address on an axis of length `size`."""
    least = indexing.lower_bound(size)
    assert isinstance(least, int), "the lowest index on an axis of static length is a number"
    first = -size if indexing.from_end else 0
    flat = [e if isinstance(e, int) else None for e in numbers.reshape(-1).tolist()]
    known = [e is not None and first <= e < size for e in flat]
    outside = [e is not None and not least <= e < size for e in flat]
    positions = [e % size if e is not None and is_known else 0 for e, is_known in zip(flat, known, strict=True)]
    return Picked(
        np.array(positions, dtype=np.intp).reshape(numbers.shape),
        np.array(known, dtype=bool).reshape(numbers.shape),
        np.array(outside, dtype=bool).reshape(numbers.shape),
    )


def look_up(
    values: Array,
    at: Sequence[npt.NDArray[np.intp]],
    shape: tuple[int, ...],
    known: npt.NDArray[np.bool_],
    outside: npt.NDArray[np.bool_],
    fill: object,
) -> npt.NDArray[np.object_]:
    """`values[at]` as an array of `shape`, with None where `known` is False and `fill` where `outside` is True.

    at   an array of positions for each axis of `values`
    """
    out = np.empty(shape, dtype=object)
    if values.size:  # an empty axis has nothing to read: every position is outside or unknown
        out[...] = values[tuple(at)]
        out[~known] = None
    out[outside] = fill
    return out


def reachable_positions(
    op: OpCall, indices: SymbolicTensor, numbers: Array | None, size: int, indexing: Indexing
) -> list[int]:
    """All positions, in ascending order, of an axis of length `size` that a legal run may read.

    numbers   the elements of `indices`, from `known_numbers`
    """
    found: set[int] = set()
    elements: Iterable[object] = ()
    if numbers is not None:
        elements = numbers.flat if numbers.dtype == object else np.unique(numbers).tolist()
    unknown = numbers is None
    for e in elements:
        if not isinstance(e, int):
            unknown = True
        elif -size <= e < size:
            found.add(e % size)
    if unknown and size:
        span = range_of(indices, op.scope)
        lo = None if span.lo is None else op.scope.bounds(span.lo).lo
        hi = None if span.hi is None else op.scope.bounds(span.hi).hi
        first = -size if indexing.from_end or not indexing.strict else 0
        first = first if lo is None else max(lo, first)
        last = size - 1 if hi is None else min(hi, size - 1)
        found.update(i % size for i in range(first, last + 1))
    return sorted(found)


def may_be_outside(op: OpCall, indices: SymbolicTensor, numbers: Array | None, size: Dim, indexing: Indexing) -> bool:
    """Whether, in a legal run, an index may be out of bounds, so that the operator fills in a value.

    False for strict indexing, under which no legal run has such an index.

    numbers   the elements of `indices`, from `known_numbers`
    """
    if indexing.strict:
        return False
    least = -size if indexing.from_end else 0
    ends: list[tuple[Dim | None, Dim | None]] = [(e, e) for e in _distinct(numbers)]
    if numbers is None or (numbers.dtype == object and any(e is None for e in numbers.flat)):
        span = range_of(indices, op.scope)
        ends.append((span.lo, span.hi))
    return not all(
        lo is not None
        and hi is not None
        and known_le(least, lo, op.scope) is True
        and known_lt(hi, size, op.scope) is True
        for lo, hi in ends
    )


def picked_range(
    op: OpCall, data: SymbolicTensor, reach: Sequence[tuple[int, list[int]]], *, filled: bool = False
) -> ValueRange | None:
    """Value range of elements selected from `data`; None when it is unknown.

    reach   pairs of an axis and the positions read on it; other axes are read completely
    filled  some elements of the result may be 0, the fill value for an index out of bounds
    """
    if data.dtype not in INTEGER_RANGE and data.dtype is not DType.BOOL:
        return None
    found: ValueRange | None = None
    if data.values is not None:
        values = data.values
        for axis, positions in reach:
            values = np.take(values, np.array(positions, dtype=np.intp), axis=axis)
        if values.size == 0:
            return ValueRange(0, 0) if filled and data.dtype is not DType.BOOL else None
        found = range_of_elements(values.flat, op.scope)
    if found is None:
        found = data.value_range
    if found is not None and filled:
        found = hull(found, ValueRange(0, 0), scope=op.scope)
    if data.dtype is DType.BOOL and found is not None and found.lo != found.hi:
        return None  # a range of bools is kept only when all are equal
    return found


def gather_result(
    data: SymbolicTensor,
    shape: Shape | None,
    values: npt.NDArray[np.object_] | None,
    value_range: Callable[[], ValueRange | None],
) -> SymbolicTensor:
    """A gathered tensor with the element type of `data`.

    values       the elements of the result, with None for unknown ones; None when no element is known
    value_range  computes the value range; called only when some elements are unknown
    """
    if values is None or data.dtype is None:
        return SymbolicTensor(data.dtype, shape, None, value_range())
    out = from_values(data.dtype, values)
    if out.values is None or any(e is None for e in out.values.flat):
        return out.with_(value_range=value_range())
    return out


def value_shape(shape: Shape | None, numbers: Array | None) -> tuple[int, ...] | None:
    """`shape`, the shape of a result, when its elements can be tracked; else None.

    This requires a static shape and known indices, `numbers`, both small enough to track.
    """
    sizes = static_dims(shape)
    if sizes is None or numbers is None or not holds_values(numbers.shape):
        return None
    return sizes if holds_values(sizes) else None


def describe(tensor: SymbolicTensor, name: str) -> str:
    """Description of a tensor for messages: `data float32[50257, 768]`."""
    return f"{name} {tensor.dtype or '?'}{format_shape(tensor.shape)}"
