"""Calls of rules; the results of the user's rules are checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.context import Context
from gather_infer.domains import qualified
from gather_infer.errors import SpecViolation, UsageError
from gather_infer.extensions import extension_error, guarded
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.rules import OpCall
from gather_infer.symbolic import DimTooLarge, Expr
from gather_infer.tensor import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
)


def rule_facts(op: ResolvedOp, call: OpCall) -> Sequence[Value | None]:
    """The facts that the rule of an operator returns for a node.

    Raises UsageError if a rule of the user does not return one fact per output, or raises anything but SpecViolation,
    DimTooLarge or an error about the model.
    """
    assert op.rule is not None, "the operator has a rule"
    if not op.is_user_rule:
        return op.rule(call)
    return guarded(op.rule, lambda call: _title(op, call.context), _fault, (SpecViolation, DimTooLarge))(call)


def rule_error(op: ResolvedOp, context: Context, fault: str) -> UsageError:
    """The error for a rule that breaks its contract at the current node; `fault` continues a sentence about it."""
    assert op.rule is not None, "only a rule breaks it"
    return extension_error(op.rule, _title(op, context), fault)


def _title(op: ResolvedOp, context: Context) -> str:
    return f"the rule of {qualified(op.domain, op.op_type)} at node {context.node}"


def _fault(facts: object, call: OpCall) -> str:
    if not isinstance(facts, (list, tuple)):
        return f"must return a list of facts, returns {type(facts).__name__}"
    if len(facts) != len(call.outputs):
        return f"must return {len(call.outputs)} facts, returns {len(facts)}"
    faults = ((position, _fault_of_fact(found)) for position, found in enumerate(facts))
    return next((f"returns as output {position} {text}" for position, text in faults if text), "")


def _fault_of_fact(found: object) -> str:
    if found is None or isinstance(found, (SequenceType, OptionalType, MapType, SparseTensor)):
        return ""
    if not isinstance(found, SymbolicTensor):
        return f"{type(found).__name__}, not a fact or None"
    dtype, shape, values, value_range = found.dtype, found.shape, found.values, found.value_range
    if dtype is not None and not isinstance(dtype, DType):
        return f"the dtype {dtype!r}, not a DType"
    if shape is not None and not isinstance(shape, tuple):
        return f"the shape {shape!r}, not a tuple"
    for dim in shape or ():
        if not (isinstance(dim, Expr) or (type(dim) is int and dim >= 0)):
            return f"the dim {dim!r}, not an int >= 0 or an Expr"
    if values is not None and not (isinstance(values, np.ndarray) and values.shape == shape):
        return f"the values {values!r}, not an array of the shape {shape}"
    if value_range is not None and not isinstance(value_range, ValueRange):
        return f"the value_range {value_range!r}, not a ValueRange"
    return ""
