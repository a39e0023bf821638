"""Calls of rules; the results of the user's rules are checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gather_infer.domains import qualified
from gather_infer.errors import SpecViolation, UsageError
from gather_infer.extensions import call_extension, extension_error
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.node_ids import NodePath
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
    return call_extension(
        op.rule,
        lambda: _title(op, call.context.node),
        lambda facts: _fault(facts, len(call.outputs)),
        (SpecViolation, DimTooLarge),
        call,
    )


def rule_error(op: ResolvedOp, node: NodePath | None, fault: str) -> UsageError:
    """The error for a rule that breaks its contract at a node; `fault` continues a sentence about the rule."""
    return extension_error(op.rule, _title(op, node), fault)


def _title(op: ResolvedOp, node: NodePath | None) -> str:
    return f"the rule of {qualified(op.domain, op.op_type)} at node {node}"


def _fault(facts: object, outputs: int) -> str:
    """The fault in the result of a user's rule for a node with so many outputs; "" if there is none."""
    if not isinstance(facts, (list, tuple)):
        return f"must return a list of facts, returns {type(facts).__name__}"
    if len(facts) != outputs:
        return f"must return {outputs} facts, returns {len(facts)}"
    for position, found in enumerate(facts):
        if text := _fault_of_fact(found):
            return f"returns as output {position} {text}"
    return ""


def _fault_of_fact(found: object) -> str:
    if found is None or isinstance(found, (SequenceType, OptionalType, MapType, SparseTensor)):
        return ""
    if not isinstance(found, SymbolicTensor):
        return f"{type(found).__name__}, not a fact or None"
    if found.dtype is not None and not isinstance(found.dtype, DType):
        return f"the dtype {found.dtype!r}, not a DType"
    if found.shape is not None and not isinstance(found.shape, tuple):
        return f"the shape {found.shape!r}, not a tuple"
    for dim in found.shape or ():
        if not (isinstance(dim, Expr) or (type(dim) is int and dim >= 0)):
            return f"the dim {dim!r}, not an int >= 0 or an Expr"
    values = found.values
    if values is not None and not (isinstance(values, np.ndarray) and values.shape == found.shape):
        return f"the values {values!r}, not an array of the shape {found.shape}"
    if found.value_range is not None and not isinstance(found.value_range, ValueRange):
        return f"the value_range {found.value_range!r}, not a ValueRange"
    return ""
