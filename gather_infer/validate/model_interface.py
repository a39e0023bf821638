"""The inputs and outputs of a model as its file declares them and onnxruntime reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import onnx
from onnx import ModelProto, ValueInfoProto

from gather_infer.contract import DeclaredTensor, ModelInterface
from gather_infer.inference import Inference
from gather_infer.symbolic import Dim
from gather_infer.tensor import DType, SymbolicTensor

_MAX_PAYLOAD: Final = 4096
"""Bytes of the largest initializers whose elements may determine shapes."""


def model_interface(inference: Inference) -> ModelInterface:
    """The inputs that callers send and the outputs of a model.

    Where the file leaves a size of an output open that onnx's shape inference finds, the size takes the place of the
    name, as in onnxruntime.
    """
    graph = inference.model.proto.graph
    outputs = tuple(map(_declared, graph.output))
    facts = {value.name: inference[value.name] for value in graph.output}
    shapes = {name: fact.shape if isinstance(fact, SymbolicTensor) else None for name, fact in facts.items()}
    if any(_is_open(output, shapes) for output in outputs):
        found = _shapes_of_onnx(inference.model.proto)
        outputs = tuple(_with_sizes(output, found.get(output.name)) for output in outputs)
    inputs = tuple(_declared(value) for value in graph.input if value.name in inference.inputs)
    return ModelInterface(inputs, outputs, shapes)


def _is_open(output: DeclaredTensor, shapes: Mapping[str, tuple[Dim, ...] | None]) -> bool:
    """Whether the file leaves a size of an output open that is a number."""
    pairs = zip(output.dims or (), shapes[output.name] or (), strict=False)
    return any(isinstance(dim, str) and isinstance(derived, int) for dim, derived in pairs)


def _with_sizes(output: DeclaredTensor, found: DeclaredTensor | None) -> DeclaredTensor:
    """The output with the sizes in `found` in place of names."""
    if found is None or output.dims is None or found.dims is None or len(output.dims) != len(found.dims):
        return output
    pairs = zip(output.dims, found.dims, strict=True)
    dims = (new if isinstance(new, int) and isinstance(old, str) else old for old, new in pairs)
    return replace(output, dims=tuple(dims))


def _shapes_of_onnx(model: ModelProto) -> dict[str, DeclaredTensor]:
    """The outputs as onnx's own shape inference finds them without their declared shapes; {} if it fails."""
    bare = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = model.graph
    bare.graph.CopyFrom(
        onnx.GraphProto(name=graph.name, node=graph.node, input=graph.input, output=graph.output)
    )  # without weights, which may exceed the limit of a message
    bare.graph.value_info.extend(graph.value_info)
    for tensor in graph.initializer:
        if tensor.ByteSize() <= _MAX_PAYLOAD:
            bare.graph.initializer.add().CopyFrom(tensor)
        else:
            bare.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    for value in bare.graph.output:
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.ClearField("shape")
    try:
        found = onnx.shape_inference.infer_shapes(bare)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):  # onnxruntime may load it nevertheless
        return {}
    return {value.name: _declared(value) for value in found.graph.output}


def _declared(value: ValueInfoProto) -> DeclaredTensor:
    tensor = value.type.tensor_type if value.type.WhichOneof("value") == "tensor_type" else None
    if tensor is None:
        return DeclaredTensor(value.name, None, None)
    dims = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim)
    return DeclaredTensor(
        value.name,
        str(DType(tensor.elem_type)) if tensor.elem_type else None,
        dims if tensor.HasField("shape") else None,
    )
