"""Transfer functions of data movement: the output holds all elements of an input, a subset, or several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.inference.provenance.iota import progression
from gather_infer.inference.provenance.origin import Origin, Provenance
from gather_infer.inference.provenance.transfer_context import (
    MAX_COLUMNS,
    MAX_ORIGINS,
    TransferContext,
    by_column,
    is_point,
    refine_range,
    relocated,
)
from gather_infer.symbolic import Scope, known_le
from gather_infer.tensor import SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment


SEQUENCE_AXIS: Final = -1
"""Pseudo axis of a provenance with one origin for each member of a sequence."""


def relocated_input(context: TransferContext, index: int = 0) -> Provenance | None:
    """The provenance of an output that holds all elements of input `index`, at other positions."""
    trace = context.provenance(index)
    return None if trace is None else Provenance(relocated(trace))


def repeated(context: TransferContext) -> Provenance | None:
    """Expand and Tile: every element of the input, any number of times; none if the result is empty."""
    trace, given, shape = relocated_input(context), context.fact(0).shape, context.result.shape
    if trace is None or (
        given is not None
        and shape is not None
        and all(dim in given or known_le(1, dim, context.scope) is True for dim in shape)
    ):
        return trace
    return Provenance(tuple(p._replace(whole=False, slice_symbol="") for p in trace.origins))


def same(context: TransferContext) -> Provenance | None:
    """Identity: the same elements at the same positions."""
    return context.provenance(0)


def transposed(context: TransferContext) -> Provenance | None:
    """Transpose: all elements; if the origins are by index of an axis, that axis is permuted too."""
    trace, rank = context.provenance(0), context.fact(0).rank
    if trace is None or trace.axis is None or rank is None:
        return relocated_input(context)
    order = context.integers("perm") or range(rank)[::-1]
    return Provenance(relocated(trace), order.index(trace.axis))


def any_elements(provenance: Provenance | None) -> Provenance | None:
    """The provenance of an unknown subset of the elements of a tensor with the given provenance."""
    if provenance is None:
        return None
    alone = len(provenance.origins) == 1
    return Provenance(tuple(p.subset._replace(nonempty_if=() if alone else None) for p in provenance.origins))


def gathered(context: TransferContext) -> Provenance | None:
    """Gather: the origins (columns) selected by constant indices, else an unknown subset of the elements."""
    source, index = context.fact(0), context.only_element(1)
    axis = context.axis(source.rank)
    trace = by_column(context, 0, axis)
    if trace is None:
        return None
    if trace.axis is not None and axis is not None:
        return _columns(context, trace) if axis == trace.axis else _rows(context, trace, axis)
    if isinstance(index, int) and axis is not None and axis + 1 == source.rank and 0 <= index < MAX_COLUMNS:
        part = trace.origins[0]
        if len(trace.origins) == 1 and part.input and part.direct:  # the number of columns is unknown
            return Provenance((part._replace(column=index, direct=False, exact=is_point(part)),))
    return any_elements(context.provenance(0))


def gathered_openvino(context: TransferContext) -> Provenance | None:
    """Gather of OpenVINO, whose axis is an input; None unless all indices are constants in bounds.

    For an index that is out of bounds the operator returns 0.
    """
    axis, rank = context.only_element(2), context.fact(0).rank
    if rank is None or not isinstance(axis, int) or context.integer("batch_dims") != 0:
        return None
    trace = by_column(context, 0, axis % rank)
    if trace is None or trace.axis != axis % rank:
        return None
    numbers = _known_indices(context)
    return _columns(context, trace) if numbers and all(0 <= n < len(trace.origins) for n in numbers) else None


def _known_indices(context: TransferContext) -> list[int]:
    """The elements of input 1 if all are known numbers, else an empty list."""
    values = context.fact(1).values
    numbers = [] if values is None else values.reshape(-1).tolist()
    return numbers if all(isinstance(n, int) for n in numbers) else []


def _columns(context: TransferContext, provenance: Provenance) -> Provenance | None:
    """Gather on the axis of the origins: one origin for a constant scalar index, several for an index vector."""
    numbers, rank, count = _known_indices(context), context.fact(1).rank, len(provenance.origins)
    if not numbers or rank not in (0, 1) or not all(-count <= n < count for n in numbers):
        return any_elements(context.provenance(0))
    return Provenance(tuple(provenance.origins[n] for n in numbers), provenance.axis if rank == 1 else None)


def _rows(context: TransferContext, provenance: Provenance, axis: int) -> Provenance | None:
    """Gather on another axis than that of the origins: a subset of the elements of each origin."""
    rank, columns = context.fact(1).rank, provenance.axis
    assert columns is not None, "the caller checks that there are columns"
    if rank is None:
        return any_elements(provenance)
    return Provenance(
        tuple(part.subset for part in provenance.origins), columns + rank - 1 if axis < columns else columns
    )


def sliced(context: TransferContext) -> Provenance | None:
    """Slice: contiguous origins (columns) if the bounds are constant, else an unknown subset of the elements."""
    trace = context.provenance(0)
    if context.fact(0).shape is not None and context.fact(0).shape == context.result.shape:
        return relocated_input(context)  # all elements, in any order
    if trace is None:
        return progression(context)
    start, end, axis = context.only_element(1), context.only_element(2), context.only_element(3)
    stride = context.only_element(4) if context.has(4) else 1
    rank = context.fact(0).rank
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(axis, int) and rank and stride == 1):
        return any_elements(trace)
    trace = by_column(context, 0, axis % rank)
    assert trace is not None, "it was found above, and may now be split into columns"
    if trace.axis is None:
        return any_elements(trace)
    if axis % rank != trace.axis:
        return trace._replace(origins=tuple(p.subset for p in trace.origins))
    parts = trace.origins[start:end]
    return Provenance(parts, trace.axis) if parts else None


def split(context: TransferContext, outputs: Sequence[str]) -> None:
    """Split: record for each output its origins (columns), else an unknown subset of the elements."""
    axis, at = context.axis(context.fact(0).rank), 0
    trace = by_column(context, 0, axis)
    if trace is None:
        return
    for name in outputs:
        value = context.environment.values.get(name) if name else None
        found = any_elements(context.provenance(0))
        if trace.axis is not None and trace.axis == axis:
            length = value.shape[axis] if isinstance(value, SymbolicTensor) and value.shape is not None else None
            if not isinstance(length, int):
                return
            found = Provenance(trace.origins[at : at + length], trace.axis)
            at += length
        if name and found is not None and found.origins:
            context.environment.provenance[name] = found
            if len(found.origins) == 1:
                refine_range(name, found.origins[0].value_range, context.environment)


def split_to_sequence(node: NodeProto, inputs: Sequence[Value | None], environment: Environment, scope: Scope) -> None:
    """SplitToSequence: record one origin for each member if every member is a single index of the split axis.

    Otherwise each member is an unknown subset of the elements.
    """
    source = inputs[0]
    if not isinstance(source, SymbolicTensor):
        return
    split = inputs[1] if len(inputs) > 1 else None
    is_by_row = split is None or (isinstance(split, SymbolicTensor) and split.rank == 0 and split.only_element == 1)
    visit = TransferContext(node, inputs, environment, scope, source, lambda name, environment: None)
    axis = visit.axis(source.rank)
    trace = by_column(visit, 0, axis)
    found = trace if trace is not None and trace.axis is not None and trace.axis == axis and is_by_row else None
    found = found or any_elements(visit.provenance(0))
    if found is not None:
        environment.provenance[node.output[0]] = (
            found if found.axis is None else Provenance(found.origins, SEQUENCE_AXIS)
        )


def member(context: TransferContext) -> Provenance | None:
    """SequenceAt: the origin of the member at a constant index, else an unknown subset of the elements."""
    trace, index = context.provenance(0), context.only_element(1)
    if trace is None or trace.axis != SEQUENCE_AXIS:
        return any_elements(trace)
    if isinstance(index, int) and -len(trace.origins) <= index < len(trace.origins):
        return Provenance((trace.origins[index],))
    return any_elements(Provenance(trace.origins))


def concat(context: TransferContext) -> Provenance | None:
    """Concat: the origins of all inputs; one for each index of the axis if every input has length 1 on it."""
    count = len(context.node.input)
    if count > MAX_ORIGINS:
        return None
    axis = context.axis(context.result.rank)
    stacked = axis is not None
    parts: list[Origin] = []
    for i in range(count):
        shape = context.fact(i).shape
        if shape is not None and 0 in shape:
            continue
        own = context.origins(i)
        open_dims = None if shape is None else tuple(d for d in shape if known_le(1, d, context.scope) is not True)
        # Stacked single rows are empty together; else one part may be empty where another is not.
        is_row = shape is not None and axis is not None and shape[axis] == 1
        stacked &= is_row
        if is_row and len(own) > 1:
            own = (_merged(own, context.scope),)
        for p in own:
            needs = None if p.nonempty_if is None or open_dims is None else (*p.nonempty_if, *open_dims)
            parts.append(p._replace(direct=False, nonempty_if=p.nonempty_if if is_row else needs))
    if len(parts) == 1:
        parts = [parts[0]._replace(nonempty_if=())]
    return Provenance(tuple(parts), axis if stacked else None) if parts else None


def _merged(origins: tuple[Origin, ...], scope: Scope) -> Origin:
    """One origin, without input and steps, whose bounds contain those of all `origins`."""
    return Origin(
        value_ranges.hull(*(part.value_range for part in origins), scope=scope),
        nonempty_if=() if any(part.is_nonempty for part in origins) else None,
    )
