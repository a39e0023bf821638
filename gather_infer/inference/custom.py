"""What a rule of the caller must return."""

from __future__ import annotations

from gather_infer.errors import UsageError
from gather_infer.inference.dispatch import Entry
from gather_infer.symbolic import Expr
from gather_infer.tensor import DType, MapType, OptionalType, SequenceType, SparseTensor, SymbolicTensor


def require_facts(entry: Entry, results: object, outputs: int) -> None:
    """Raise UsageError when a caller's rule does not return one fact per output."""

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

    name = f"the rule of {entry.domain or 'ai.onnx'}.{entry.op_type}"
    if not isinstance(results, (list, tuple)):
        raise UsageError(f"{name} must return a list of facts, returns {type(results).__name__}")
    if len(results) != outputs:
        raise UsageError(f"{name} must return {outputs} facts, returns {len(results)}")
    for position, found in enumerate(results):
        if (text := fault(found)) is not None:
            raise UsageError(f"{name}: output {position} {text}")
