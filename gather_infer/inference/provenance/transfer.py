"""Table of provenance transfer functions by operator, and the analyses that run after the shape rule of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from onnx import NodeProto

from gather_infer.context import Context
from gather_infer.inference.provenance import (
    arithmetic,
    cardinality,
    extents,
    float_ranges,
    iota,
    monotonicity,
    movement,
    select,
)
from gather_infer.inference.provenance.origin import Provenance
from gather_infer.inference.provenance.transfer_context import MAX_COLUMNS, MAX_ORIGINS, TransferContext, refine_range
from gather_infer.rules import Traits
from gather_infer.symbolic import DimTooLarge
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment


class OpTransfer(NamedTuple):
    """The analyses that apply to an operator; see `op_transfer_of`.

    op_type   key of its transfer function; empty when it has none
    moves     position of the input of which output 0 has some or all elements, unchanged; None for other operators
    permuted  equal to `moves` if output 0 has each element of that input exactly once; else None
    """

    op_type: str
    moves: int | None
    permuted: int | None


def op_transfer_of(domain: str, op_type: str, traits: Traits) -> OpTransfer | None:
    """The OpTransfer of an operator; None when it has no transfer function and its traits declare no moved input."""
    name = op_type if (domain, op_type) in _WITH_TRANSFER_FUNCTION else ""
    if domain == OPENVINO and f"{OPENVINO}.{op_type}" in _TRANSFER_FUNCTIONS:
        name = f"{OPENVINO}.{op_type}"
    if not name and traits.moves is None:
        return None
    return OpTransfer(name, traits.moves, traits.moves if traits.permutes else None)


def apply_transfer(
    node: NodeProto,
    op_transfer: OpTransfer,
    inputs: Sequence[Value | None],
    outputs: Sequence[str],
    environment: Environment,
    context: Context,
    load: Callable[[str, Environment], np.ndarray[Any, Any] | None],
) -> None:
    """Record in `environment` the provenance of a node's outputs and their relations to other tensors, if known.

    load   reads the elements of a constant by name; see `InterpreterState.load_constant`
    """
    scope = context.scope
    if op_transfer.op_type == "SplitToSequence":
        movement.split_to_sequence(node, inputs, environment, scope)
        return
    result = environment.values.get(outputs[0]) if outputs else None
    if not isinstance(result, SymbolicTensor) or result.dtype is None:
        return
    op_type, moves, permuted = op_transfer.op_type, op_transfer.moves, op_transfer.permuted
    if op_type in monotonicity.OPERATORS:
        monotonicity.transfer_monotone(node, inputs, result, environment, scope)
    if op_type in extents.OPERATORS:
        extents.transfer_scalars(node, op_type, inputs, result, environment, context)
    if permuted is not None or op_type in cardinality.OPERATORS:
        cardinality.transfer_cardinality(node, op_type, permuted, inputs, result, environment)
    if result.dtype not in INTEGER_RANGE and result.dtype is not DType.BOOL:
        if moves is not None or op_type in float_ranges.OPERATORS:
            float_ranges.transfer_floats(node, op_type, moves, inputs, result, environment, scope)
        return
    values = result.values
    if values is not None and None not in values.flat:
        return  # all elements are known, provenance adds nothing
    if any(a.ref_attr_name for a in node.attribute):
        return
    if result.dtype is DType.BOOL:
        if op_type in select.PREDICATES:
            select.record_predicates(TransferContext(node, inputs, environment, scope, result, load))
        return
    if op_type == "Cast" and (found_floats := environment.float_ranges.get(node.input[0])) is not None:
        source = inputs[0]
        assert isinstance(source, SymbolicTensor), "float ranges are those of tensors"
        span = float_ranges.truncated(found_floats, source.dtype, result.dtype, context)
        if span is not None:
            refine_range(outputs[0], span, environment)
        return
    transfer_context = TransferContext(node, inputs, environment, scope, result, load)
    if op_type == "Split":
        movement.split(transfer_context, outputs)
        return
    transfer_function = _TRANSFER_FUNCTIONS.get(op_type)
    if transfer_function is not None:
        try:
            found = transfer_function(transfer_context)
        except DimTooLarge:
            return
    elif moves is None:
        return
    else:
        found = (
            movement.any_elements(transfer_context.provenance(moves))
            if permuted is None
            else movement.relocated_input(transfer_context, moves)
        )
    if found is None or len(found.origins) > (MAX_ORIGINS if found.axis is None else MAX_COLUMNS):
        return
    environment.provenance[outputs[0]] = found
    if len(found.origins) == 1:
        refine_range(outputs[0], found.origins[0].value_range, environment)


OPENVINO: Final = "openvino"

_TRANSFER_FUNCTIONS: Final[dict[str, Callable[[TransferContext], Provenance | None]]] = {
    **dict.fromkeys(("Expand", "Tile"), movement.repeated),
    **dict.fromkeys(("Add", "Sub"), arithmetic.added),
    "Mul": arithmetic.scaled,
    "Neg": arithmetic.negated,
    "Div": arithmetic.divided,
    "BitShift": arithmetic.bit_shifted,
    **dict.fromkeys(("Clip", "Min", "Max"), arithmetic.clamped),
    "Identity": movement.same,
    "Transpose": movement.transposed,
    "Gather": movement.gathered,
    "openvino.Gather": movement.gathered_openvino,
    "Slice": movement.sliced,
    "SequenceAt": movement.member,
    "Concat": movement.concat,
    "Cast": arithmetic.cast,
    "Range": iota.arange,
    "NonZero": iota.non_zero,
    "NonMaxSuppression": iota.non_max_suppression,
    "Where": select.selected,
}

_WITH_TRANSFER_FUNCTION: Final = frozenset(
    ("", op_type)
    for op_type in _TRANSFER_FUNCTIONS.keys()
    | select.PREDICATES
    | {"Split", "SplitToSequence"}
    | float_ranges.OPERATORS
    | monotonicity.OPERATORS
    | cardinality.OPERATORS
    | extents.OPERATORS
)
"""Operators with a transfer function; for any other operator, provenance is tracked only if its traits give `moves`."""
