"""Fallback to onnx's own inference for one node without a rule or function body.

The inferred element types and ranks are trusted. Static dims are trusted only when every input shape is static, because
onnx's treatment of symbols is unsound for some operators. Any other dim is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
from onnx import NodeProto, SparseTensorProto, TensorProto, TypeProto
from onnx.defs import OpSchema
from onnx.shape_inference import InferenceError, infer_node_outputs

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.proto.releases import INSTALLED_OPSET
from gather_infer.inference.proto.schema import Schema
from gather_infer.inference.proto.types import DimReader, from_type, to_type
from gather_infer.inference.runtime_quirks import refused_without_crash
from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, OptionalType, SequenceType, Shape, SymbolicTensor, Value

_SINCE_OMITTED_INPUTS: Final = 22
"""The opset of onnx 1.17, the first whose inference of one node skips the names of omitted inputs."""

REJECTIONS: Final = (InferenceError, onnx.checker.ValidationError)
"""Exceptions of onnx's inference for a model or node that it rejects."""


def onnx_inference(
    schema: Schema,
    node: NodeProto,
    names: Sequence[str],
    inputs: Sequence[Value | None],
    versions: Mapping[str, int],
    context: Context,
) -> list[Value | None]:
    """The facts of a node's outputs; None where onnx infers nothing. Raises SpecViolation when onnx rejects it."""
    if schema.raw is None:
        reason = f"there is no rule for {schema.op_type}, and onnx {onnx.__version__} does not know it"
        context.add_unchecked(f"{reason}: its requirements on sizes are unknown")
        context.report("GI105", f"{schema.op_type} cannot be inferred: {reason}", (), None)
        return [None] * len(node.output)
    static = all(isinstance(v, SymbolicTensor) and v.is_static for v in inputs if v is not None)
    if not static:
        context.add_unchecked(f"there is no rule for {schema.op_type}: its requirements on sizes are unknown")
    found = _outputs(schema, node, names, inputs, versions)
    if found is None:
        return [None] * len(node.output)
    reader = DimReader(new_symbol=lambda _: context.fresh(f"there is no rule for {schema.op_type}"))

    def unknown(_: int) -> Dim:
        return context.fresh(f"there is no rule for {schema.op_type}")

    results: list[Value | None] = []
    for name in node.output:
        proto = found.get(name)
        value = None if proto is None else from_type(proto, reader, unknown)
        results.append(value if static or value is None else _without_dims(value, context, schema))
    return results


def rejection(
    schema: Schema,
    node: NodeProto,
    names: Sequence[str],
    inputs: Sequence[Value | None],
    versions: Mapping[str, int],
) -> str | None:
    """The message with which onnx rejects a node with the facts `inputs`; None when onnx accepts it.

    None as well if the installed onnx does not know this version of the operator.
    """
    if schema.raw is None:
        return None
    try:
        _outputs(schema, node, names, inputs, versions)
    except SpecViolation as violation:
        return violation.message
    return None


def _outputs(
    schema: Schema,
    node: NodeProto,
    names: Sequence[str],
    inputs: Sequence[Value | None],
    versions: Mapping[str, int],
) -> Mapping[str, TypeProto] | None:
    """The output types by name; None unless every input has an element type.

    Raises SpecViolation when onnx rejects the node.
    """
    types: dict[str, TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for name, value in zip(names, inputs, strict=False):
        if value is None:
            continue
        proto = to_type(value)
        if proto is None:
            return None  # onnx's inference cannot go on
        types[name] = proto
        if isinstance(value, SymbolicTensor) and (tensor := _constant(value)) is not None:
            data[name] = tensor
    known = {domain: min(version, 2**31 - 1) for domain, version in versions.items() if version > 0}  # an int in C++
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in known.items()]
    try:
        found = node_outputs(schema.raw, node, types, data, opset_imports=imports)
    except REJECTIONS as error:
        raise SpecViolation(f"onnx rejects the node: {' '.join(str(error).split())}") from error
    return found


def node_outputs(
    raw: OpSchema,
    node: NodeProto,
    types: Mapping[str, TypeProto],
    data: Mapping[str, TensorProto] | None = None,
    sparse: Mapping[str, SparseTensorProto] | None = None,
    **options: Any,
) -> dict[str, TypeProto]:
    """The output types that onnx infers for a node, as `onnx.shape_inference.infer_node_outputs` returns them.

    Before 1.17, that function wants a type for the empty name of an omitted input.
    """
    omitted = {"": TypeProto()} if "" in node.input and INSTALLED_OPSET < _SINCE_OMITTED_INPUTS else {}
    found: dict[str, TypeProto] = infer_node_outputs(
        raw, refused_without_crash(node), {**omitted, **types}, dict(data or {}), dict(sparse or {}), **options
    )
    return found


def _constant(value: SymbolicTensor) -> TensorProto | None:
    if value.values is None or value.dtype not in (DType.INT64, DType.INT32):
        return None
    if not all(type(v) is int for v in value.values.flat):
        return None
    dtype = np.int64 if value.dtype is DType.INT64 else np.int32
    return onnx.numpy_helper.from_array(value.values.astype(dtype))


def _without_dims(value: Value, context: Context, schema: Schema) -> Value:
    match value:
        case SymbolicTensor(dtype=dtype, shape=shape):
            if shape is None:
                return SymbolicTensor(dtype)
            dims: Shape = tuple(context.fresh(f"there is no rule for {schema.op_type}") for _ in shape)
            return SymbolicTensor(dtype, dims)
        case SequenceType(element=element):
            return SequenceType(None if element is None else _without_dims(element, context, schema))
        case OptionalType(element=element):
            return OptionalType(None if element is None else _without_dims(element, context, schema))
    return value
