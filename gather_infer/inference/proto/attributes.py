"""Decodes the attributes of a node for its rule."""

from __future__ import annotations

from typing import Final

from onnx import AttributeProto, NodeProto, TensorProto

from gather_infer.diagnostic import Location
from gather_infer.errors import SpecViolation, close_match
from gather_infer.inference.declarations import declared_fact
from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.inference.proto.schema import attribute_type_name
from gather_infer.inference.proto.tensors import from_tensor, payload_fault, sparse_fault
from gather_infer.inference.proto.types import dtype_of
from gather_infer.model.attributes import decoded
from gather_infer.rules import Attribute
from gather_infer.tensor import SparseTensor, SymbolicTensor

_A = AttributeProto
_FACTS: Final = frozenset((_A.TENSOR, _A.TENSORS, _A.TYPE_PROTO, _A.SPARSE_TENSOR))


def read_attributes(
    state: InterpreterState, node: NodeProto, op: ResolvedOp, environment: Environment
) -> dict[str, Attribute]:
    """The decoded attributes of a node, with references to attributes of the enclosing function resolved.

    Raises SpecViolation for a repeated or malformed attribute, a wrong type, or a reference that cannot be resolved.
    """
    found: dict[str, Attribute] = {}
    schema = op.schema
    for proto in node.attribute:
        name = proto.name
        if proto.ref_attr_name:
            if environment.parameters is None or proto.ref_attr_name not in environment.parameters:
                problem = (
                    "there is no function around it" if environment.parameters is None else "the function has none"
                )
                raise SpecViolation(
                    f"attribute {name} refers to a function's attribute {proto.ref_attr_name}, {problem}", "GI106"
                )
            bound = environment.attributes.get(proto.ref_attr_name)
            if bound is None:
                continue  # the call omits it, so the operator's default holds
            proto = bound
        kind = proto.type
        if schema is not None:
            expected = schema.attributes.get(name)
            if expected is None:
                hint = close_match(name, schema.attributes)
                message = f"attribute {name} is unknown to {op.op_type}-{schema.since}{hint}"
                state.context.report("GI106", message, (), None)
                continue
            kind = kind or expected  # files of IR version 1 omit the type
            if kind != expected:
                raise SpecViolation(
                    f"attribute {name} must be {attribute_type_name(expected)}, is {attribute_type_name(kind)}",
                    "GI106",
                )
        if name in found:
            raise SpecViolation(f"attribute {name} is given twice", "GI106")
        found[name] = _fact(state, proto, kind, environment) if kind in _FACTS else decoded(proto, kind)
    return found


def _fact(state: InterpreterState, proto: AttributeProto, kind: int, environment: Environment) -> Attribute:
    """The fact about an attribute that holds tensors or a type. Raises SpecViolation for a malformed tensor."""
    if kind == _A.TENSOR:
        return _tensor(state, proto.name, proto.t)
    if kind == _A.TENSORS:
        return tuple(_tensor(state, proto.name, t) for t in proto.tensors)
    if kind == _A.TYPE_PROTO:
        return declared_fact(state, proto.tp, environment, "the type attribute declares no size")
    fault = sparse_fault(proto.sparse_tensor)
    if fault is not None:
        raise SpecViolation(f"attribute {proto.name}: {fault}", "GI204")
    return SparseTensor(dtype_of(proto.sparse_tensor.values.data_type), tuple(proto.sparse_tensor.dims))


def _tensor(state: InterpreterState, name: str, tensor: TensorProto) -> SymbolicTensor:
    fault = payload_fault(tensor, state.model)
    if fault is not None:
        raise SpecViolation(f"attribute {name}: {fault}", "GI204")
    if state.is_missing(tensor, Location(state.context.node, state.context.op_type, value=f"attribute {name}")):
        return SymbolicTensor(dtype_of(tensor.data_type), tuple(tensor.dims))
    return from_tensor(tensor, state.model)
