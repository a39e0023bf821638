"""Calls of user rules: their exceptions, and validation of their results."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.errors import SpecViolation, UsageError, file_of, user_code
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.rules import OpCall
from gather_infer.symbolic import DimTooLarge, Expr
from gather_infer.tensor import DType, MapType, OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value


def user_rule_facts(op: ResolvedOp, call: OpCall) -> Sequence[Value | None]:
    """The facts that a user rule returns for a node.

    Raises UsageError when the rule does not return one fact per output, or raises anything but SpecViolation,
    DimTooLarge or an error about the model.
    """
    assert op.rule is not None, "a user rule is present"
    file = file_of(op.rule)
    what = f"the rule of {op.domain or 'ai.onnx'}.{op.op_type} at node {call.context.node}"
    with user_code(file, what, SpecViolation, DimTooLarge):
        results = op.rule(call)
    require_facts(f"{file}: {what}" if file else what, results, len(call.outputs))
    return results


def require_facts(name: str, results: object, outputs: int) -> None:
    """Raise UsageError unless `results` of a user rule has a valid fact or None for each output.

    name   description of the rule for the message
    """

    def fault(found: object) -> str | None:
        if found is None or isinstance(found, (SequenceType, OptionalType, MapType, SparseTensor)):
            return None
        if not isinstance(found, SymbolicTensor):
            return f"must be a fact or None, is {type(found).__name__}"
        if found.dtype is not None and not isinstance(found.dtype, DType):
            return f"has the dtype {found.dtype!r}, not a DType"
        if found.shape is not None and not isinstance(found.shape, tuple):
            return f"has the shape {found.shape!r}, not a tuple"
        for dim in found.shape or ():
            if not (isinstance(dim, Expr) or (type(dim) is int and dim >= 0)):
                return f"has the dim {dim!r}, not an int >= 0 or an Expr"
        return None

    if not isinstance(results, (list, tuple)):
        raise UsageError(f"{name} must return a list of facts, returns {type(results).__name__}")
    if len(results) != outputs:
        raise UsageError(f"{name} must return {outputs} facts, returns {len(results)}")
    for position, found in enumerate(results):
        if (text := fault(found)) is not None:
            raise UsageError(f"{name}: output {position} {text}")
