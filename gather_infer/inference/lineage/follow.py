"""Table of transfer functions by operator, and the analyses that run after the shape rule of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto

from gather_infer.context import Context
from gather_infer.inference.lineage import arithmetic, choice, counts, extents, floats, growth, movement, positions
from gather_infer.inference.lineage.trace import Trace
from gather_infer.inference.lineage.visit import MAX_COLUMNS, MAX_PARTS, Visit, sharpen
from gather_infer.rules import Traits
from gather_infer.symbolic import DimTooLarge
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment


@dataclass(frozen=True, slots=True)
class Lineage:
    """Transfer functions of an operator; see `op_transfer_of`.

    op_type   key of its transfer function; empty where it has none
    moves     the input that output 0 takes elements from, some or all; None for other operators
    permuted  that input, where output 0 has each of its elements exactly once
    """

    own: str
    moves: int | None
    permuted: int | None


def lineage_of(domain: str, op_type: str, traits: Traits) -> Lineage | None:
    """The transfer of an operator: by its transfer function, or because its traits declare that it moves elements."""
    own = op_type if (domain, op_type) in _FOLLOWED else ""
    if domain == OPENVINO and f"{OPENVINO}.{op_type}" in _TRACES:
        own = f"{OPENVINO}.{op_type}"
    if not own and traits.moves is None:
        return None
    return Lineage(own, traits.moves, traits.moves if traits.permutes else None)


def follow(
    node: NodeProto,
    lineage: Lineage,
    inputs: Sequence[Value | None],
    outputs: Sequence[str],
    frame: Environment,
    context: Context,
    load: Callable[[str, Environment], np.ndarray[Any, Any] | None],
) -> None:
    """Record in `environment` the provenance and the relations of a node's outputs, where they are known."""
    scope = context.scope
    if lineage.own == "SplitToSequence":
        movement.split_to_sequence(node, inputs, frame, scope)
        return
    result = frame.values.get(outputs[0]) if outputs else None
    if not isinstance(result, SymbolicTensor) or result.dtype is None:
        return
    own, moves, permuted = lineage.own, lineage.moves, lineage.permuted
    if own in growth.STEPS:
        growth.follow_growth(node, inputs, result, frame, scope)
    if own in extents.STEPS:
        extents.follow_scalar(node, own, inputs, result, frame, context)
    if permuted is not None or own in counts.STEPS:
        counts.follow_count(node, own, permuted, inputs, result, frame)
    if result.dtype not in INTEGER_RANGE and result.dtype is not DType.BOOL:
        if moves is not None or own in floats.STEPS:
            floats.follow_float(node, own, moves, inputs, result, frame, scope)
        return
    values = result.values
    if values is not None and None not in values.flat:
        return  # all elements are known, provenance adds nothing
    if any(a.ref_attr_name for a in node.attribute):
        return
    if result.dtype is DType.BOOL:
        if own in choice.TESTING:
            choice.noted(Visit(node, inputs, frame, scope, result, load))
        return
    if own == "Cast" and (found_floats := frame.float_ranges.get(node.input[0])) is not None:
        source = inputs[0]
        assert isinstance(source, SymbolicTensor), "float ranges are those of tensors"
        span = floats.truncated(found_floats, source.dtype, result.dtype, context)
        if span is not None:
            sharpen(outputs[0], span, frame)
        return
    visit = Visit(node, inputs, frame, scope, result, load)
    if own == "Split":
        movement.split(visit, outputs)
        return
    trace_of = _TRACES.get(own)
    if trace_of is not None:
        try:
            found = trace_of(visit)
        except DimTooLarge:
            return
    elif moves is None:
        return
    else:
        found = movement.some(visit.trace(moves)) if permuted is None else movement.moved(visit, moves)
    if found is None or len(found.parts) > (MAX_PARTS if found.axis is None else MAX_COLUMNS):
        return
    frame.provenance[outputs[0]] = found
    if len(found.parts) == 1:
        sharpen(outputs[0], found.parts[0].span, frame)


OPENVINO: Final = "openvino"

_TRACES: Final[dict[str, Callable[[Visit], Trace | None]]] = {
    **dict.fromkeys(("Expand", "Tile"), movement.repeated),
    **dict.fromkeys(("Add", "Sub"), arithmetic.added),
    "Mul": arithmetic.scaled,
    "Neg": arithmetic.negated,
    "Div": arithmetic.divided,
    "BitShift": arithmetic.shifted_bits,
    **dict.fromkeys(("Clip", "Min", "Max"), arithmetic.limited),
    "Identity": movement.same,
    "Transpose": movement.transposed,
    "Gather": movement.picked,
    "openvino.Gather": movement.picked_by_input,
    "Slice": movement.sliced,
    "SequenceAt": movement.member,
    "Concat": movement.concat,
    "Cast": arithmetic.cast,
    "Range": positions.integers,
    "NonZero": positions.non_zero,
    "NonMaxSuppression": positions.boxes,
    "Where": choice.chosen,
}

_FOLLOWED: Final = frozenset(
    ("", op_type)
    for op_type in _TRACES.keys()
    | choice.TESTING
    | {"Split", "SplitToSequence"}
    | floats.STEPS
    | growth.STEPS
    | counts.STEPS
    | extents.STEPS
)
"""Operators with a transfer function. Any other tracked operator moves elements, and its traits declare that."""
