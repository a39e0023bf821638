"""Transfer functions of data movement: all elements of an input, a subset of them, or several inputs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.inference.lineage.positions import progression
from gather_infer.inference.lineage.trace import Part, Trace
from gather_infer.inference.lineage.visit import MAX_COLUMNS, MAX_PARTS, Visit, astray, by_column, is_point, sharpen
from gather_infer.symbolic import Scope, known_le
from gather_infer.tensor import SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment


MEMBERS: Final = -1
"""Pseudo axis of a provenance with one origin for each member of a sequence."""


def moved(visit: Visit, index: int = 0) -> Trace | None:
    """All elements of an input, at other positions."""
    trace = visit.trace(index)
    return None if trace is None else Trace(astray(trace))


def repeated(visit: Visit) -> Trace | None:
    """Expand and Tile: every element of the input, any number of times; none where only the result is empty."""
    trace, given, shape = moved(visit), visit.tensor(0).shape, visit.result.shape
    if trace is None or (
        given is not None
        and shape is not None
        and all(dim in given or known_le(1, dim, visit.scope) is True for dim in shape)
    ):
        return trace
    return Trace(tuple(replace(p, whole=False, each="") for p in trace.parts))


def same(visit: Visit) -> Trace | None:
    """Identity."""
    return visit.trace(0)


def transposed(visit: Visit) -> Trace | None:
    """Transpose: the axis of the origins moves too."""
    trace, rank = visit.trace(0), visit.tensor(0).rank
    if trace is None or trace.axis is None or rank is None:
        return moved(visit)
    order = next((list(a.ints) for a in visit.node.attribute if a.name == "perm"), list(range(rank))[::-1])
    return Trace(astray(trace), order.index(trace.axis))


def some(trace: Trace | None) -> Trace | None:
    """An unknown subset of the elements of a tensor."""
    if trace is None:
        return None
    alone = len(trace.parts) == 1
    return Trace(tuple(replace(p.dropped, needs=() if alone else None) for p in trace.parts))


def picked(visit: Visit) -> Trace | None:
    """Gather: columns by constant index, else an unknown subset."""
    source, index = visit.tensor(0), visit.number(1)
    axis = visit.axis(source.rank)
    trace = by_column(visit, 0, axis)
    if trace is None:
        return None
    if trace.axis is not None and axis is not None:
        return _columns(visit, trace) if axis == trace.axis else _rows(visit, trace, axis)
    if isinstance(index, int) and axis is not None and axis + 1 == source.rank and 0 <= index < MAX_COLUMNS:
        part = trace.parts[0]
        if len(trace.parts) == 1 and part.input and part.direct:  # the number of columns is unknown
            return Trace((replace(part, column=index, direct=False, exact=is_point(part)),))
    return some(visit.trace(0))


def picked_by_input(visit: Visit) -> Trace | None:
    """Gather of OpenVINO, whose axis is an input. It returns 0 for an index out of bounds, so the indices must be
    known.
    """
    axis, rank = visit.number(2), visit.tensor(0).rank
    if rank is None or not isinstance(axis, int) or visit.attribute("batch_dims", 0) != 0:
        return None
    trace = by_column(visit, 0, axis % rank)
    if trace is None or trace.axis != axis % rank:
        return None
    numbers = _known(visit)
    return _columns(visit, trace) if numbers and all(0 <= n < len(trace.parts) for n in numbers) else None


def _known(visit: Visit) -> list[int]:
    """The indices where all are known, else an empty list."""
    values = visit.tensor(1).values
    numbers = [] if values is None else values.reshape(-1).tolist()
    return numbers if all(isinstance(n, int) for n in numbers) else []


def _columns(visit: Visit, trace: Trace) -> Trace | None:
    """One column for a scalar index, several columns for an index vector."""
    numbers, rank, count = _known(visit), visit.tensor(1).rank, len(trace.parts)
    if not numbers or rank not in (0, 1) or not all(-count <= n < count for n in numbers):
        return some(visit.trace(0))
    return Trace(tuple(trace.parts[n] for n in numbers), trace.axis if rank == 1 else None)


def _rows(visit: Visit, trace: Trace, axis: int) -> Trace | None:
    """A subset of the rows, where the columns are along another axis."""
    rank, columns = visit.tensor(1).rank, trace.axis
    assert columns is not None, "the caller checks that there are columns"
    if rank is None:
        return some(trace)
    return Trace(tuple(part.dropped for part in trace.parts), columns + rank - 1 if axis < columns else columns)


def sliced(visit: Visit) -> Trace | None:
    """Slice: contiguous columns, else an unknown subset."""
    trace = visit.trace(0)
    if visit.tensor(0).shape is not None and visit.tensor(0).shape == visit.result.shape:
        return moved(visit)  # all elements, in any order
    if trace is None:
        return progression(visit)
    start, end, axis = visit.number(1), visit.number(2), visit.number(3)
    stride = visit.number(4) if len(visit.inputs) > 4 and visit.inputs[4] is not None else 1
    rank = visit.tensor(0).rank
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(axis, int) and rank and stride == 1):
        return some(trace)
    trace = by_column(visit, 0, axis % rank)
    assert trace is not None, "it was found above, and may now be split into columns"
    if trace.axis is None:
        return some(trace)
    if axis % rank != trace.axis:
        return replace(trace, parts=tuple(p.dropped for p in trace.parts))
    parts = trace.parts[start:end]
    return Trace(parts, trace.axis) if parts else None


def split(visit: Visit, outputs: Sequence[str]) -> None:
    """Split: record the columns of each output, else an unknown subset."""
    axis, at = visit.axis(visit.tensor(0).rank), 0
    trace = by_column(visit, 0, axis)
    if trace is None:
        return
    for name in outputs:
        value = visit.frame.values.get(name) if name else None
        found = some(visit.trace(0))
        if trace.axis is not None and trace.axis == axis:
            length = value.shape[axis] if isinstance(value, SymbolicTensor) and value.shape is not None else None
            if not isinstance(length, int):
                return
            found = Trace(trace.parts[at : at + length], trace.axis)
            at += length
        if name and found is not None and found.parts:
            visit.frame.provenance[name] = found
            if len(found.parts) == 1:
                sharpen(name, found.parts[0].span, visit.frame)


def split_to_sequence(node: NodeProto, inputs: Sequence[Value | None], frame: Environment, scope: Scope) -> None:
    """Record the provenance of a sequence's members: one origin for each member that is a single column."""
    source = inputs[0]
    if not isinstance(source, SymbolicTensor):
        return
    split = inputs[1] if len(inputs) > 1 else None
    is_by_row = split is None or (isinstance(split, SymbolicTensor) and split.rank == 0 and split.only_element == 1)
    visit = Visit(node, inputs, frame, scope, source, lambda name, frame: None)
    axis = visit.axis(source.rank)
    trace = by_column(visit, 0, axis)
    found = trace if trace is not None and trace.axis is not None and trace.axis == axis and is_by_row else None
    found = found or some(visit.trace(0))
    if found is not None:
        frame.provenance[node.output[0]] = found if found.axis is None else Trace(found.parts, MEMBERS)


def member(visit: Visit) -> Trace | None:
    """SequenceAt."""
    trace, index = visit.trace(0), visit.number(1)
    if trace is None or trace.axis != MEMBERS:
        return some(trace)
    if isinstance(index, int) and -len(trace.parts) <= index < len(trace.parts):
        return Trace((trace.parts[index],))
    return some(Trace(trace.parts))


def concat(visit: Visit) -> Trace | None:
    """Concat: the origins of all inputs, by index where each input has length 1 on the axis."""
    count = len(visit.node.input)
    if count > MAX_PARTS:
        return None
    axis = visit.axis(visit.result.rank)
    stacked = axis is not None
    parts: list[Part] = []
    for i in range(count):
        shape = visit.tensor(i).shape
        if shape is not None and 0 in shape:
            continue
        own = visit.parts(i)
        open_dims = None if shape is None else tuple(d for d in shape if known_le(1, d, visit.scope) is not True)
        # Stacked single rows are empty together; else one part may be empty where another is not.
        is_row = shape is not None and axis is not None and shape[axis] == 1
        stacked &= is_row
        if is_row and len(own) > 1:
            own = (_merged(own, visit.scope),)
        for p in own:
            needs = None if p.needs is None or open_dims is None else (*p.needs, *open_dims)
            parts.append(replace(p, direct=False, needs=p.needs if is_row else needs))
    if len(parts) == 1:
        parts = [replace(parts[0], needs=())]
    return Trace(tuple(parts), axis if stacked else None) if parts else None


def _merged(parts: tuple[Part, ...], scope: Scope) -> Part:
    """One origin with the bounds of several."""
    return Part(
        value_ranges.hull(*(part.span for part in parts), scope=scope),
        needs=() if any(part.is_certain for part in parts) else None,
    )
