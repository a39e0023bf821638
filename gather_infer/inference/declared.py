"""What the model declares inside about its values, held against what was inferred."""

from __future__ import annotations

import onnx
from onnx import NodeProto

from gather_infer.inference.frame import Frame
from gather_infer.inference.join import contradiction
from gather_infer.inference.proto.types import DimReader, from_type
from gather_infer.inference.state import State
from gather_infer.places import MAIN
from gather_infer.tensor import UNKNOWN, SymbolicTensor, Value


def declared_fact(state: State, proto: onnx.TypeProto, frame: Frame, reason: str) -> Value | None:
    """The fact that a type inside the model states, None when it states nothing.

    In a body, a name that no input has is a symbol of that body; in a function every name is one, of that call.
    """
    if frame.reader is None:
        if frame.path == MAIN:
            frame.reader = state.reader
        else:
            known = state.reader.known if frame.parameters is None else frozenset[str]()
            bound = state.reader.bound if frame.parameters is None else {}
            frame.reader = DimReader(known, bound, lambda name: state.context.fresh(f"a body declares it as {name}"))
    return from_type(proto, frame.reader, lambda _: state.context.fresh(reason))


def compared(
    state: State, declared: onnx.ValueInfoProto, inferred: Value, node: NodeProto, index: int, frame: Frame
) -> Value:
    """The fact to go on with: the inferred one; what is declared stands in where nothing could be inferred."""
    if isinstance(inferred, SymbolicTensor) and _states(declared, inferred):
        return inferred
    stated = declared_fact(state, declared.type, frame, "value_info states no size")
    if stated is None:
        return inferred
    if inferred == UNKNOWN:
        _imply_sizes(state, stated)
        return stated
    if contradiction(stated, inferred, state.context.scope):
        state.report(
            "GI201",
            f"value_info of {declared.name} says {stated}, the inputs imply {inferred}",
            state.location(node, index, frame, f"output {declared.name}"),
        )
        return inferred
    if isinstance(inferred, SymbolicTensor) and isinstance(stated, SymbolicTensor):
        if inferred.dtype is None:
            inferred = inferred.with_(dtype=stated.dtype)
        if inferred.shape is None:
            _imply_sizes(state, stated)
            inferred = inferred.with_(shape=stated.shape)
    return inferred


def _imply_sizes(state: State, value: Value) -> None:
    """Learn that the dims of a declared tensor are sizes: `N - 5` is one only where N >= 5."""
    if isinstance(value, SymbolicTensor):
        for dim in value.shape or ():
            state.context.imply(dim)


def _states(declared: onnx.ValueInfoProto, inferred: SymbolicTensor) -> bool:
    """True when the declaration says just what was inferred: the frequent case, without building a fact."""
    tensor = declared.type.tensor_type
    if inferred.shape is None or inferred.dtype != tensor.elem_type or not tensor.HasField("shape"):
        return False
    dims = tensor.shape.dim
    if len(dims) != len(inferred.shape):
        return False
    for proto, dim in zip(dims, inferred.shape, strict=True):
        if isinstance(dim, int):
            if proto.dim_value != dim or not proto.HasField("dim_value"):
                return False
        elif not dim.is_symbol or proto.dim_param != dim.name:
            return False
    return True
