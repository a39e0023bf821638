"""Bytes of the constants of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from gather_infer.cost.graph_instance import is_constant
from gather_infer.cost.result import UnknownContribution
from gather_infer.errors import ModelReadError
from gather_infer.model import ModelFile
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root
from gather_infer.tensor import DType

_A = AttributeProto


def parameters(model: ModelFile) -> tuple[Mapping[DType, int], list[UnknownContribution]]:
    """Bytes of initializers and Constant nodes by element type, largest first, and the malformed tensors left out.

    Equal tensors count each time. Only payloads of strings are read.
    """
    found: dict[DType, int] = {}
    unknown: list[UnknownContribution] = []
    for path, body in bodies(model.proto):
        if path.root not in (Root.GRAPH, Root.FUNCTION):
            continue
        tensors = [tensor for node in body.node if is_constant(node) for tensor in _constant_tensors(node)]
        if isinstance(body, GraphProto):
            tensors += body.initializer
            tensors += [part for sparse in body.sparse_initializer for part in (sparse.values, sparse.indices)]
        for tensor in tensors:
            try:
                nbytes = model.nbytes(tensor)
            except ModelReadError as error:
                unknown.append(UnknownContribution(None, tensor.name, "parameters", str(error)))
                continue
            dtype = DType(tensor.data_type)
            found[dtype] = found.get(dtype, 0) + nbytes
    return dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))), unknown


def _constant_tensors(node: NodeProto) -> Iterator[TensorProto]:
    """Yield the payload of a Constant node as tensors; numbers in attributes yield a shape and type without data."""
    for attribute in node.attribute:
        match attribute.type:
            case _A.TENSOR:
                yield attribute.t
            case _A.SPARSE_TENSOR:
                yield attribute.sparse_tensor.values
                yield attribute.sparse_tensor.indices
            case _A.FLOAT | _A.FLOATS if attribute.name in ("value_float", "value_floats"):
                yield TensorProto(data_type=TensorProto.FLOAT, dims=_dims(attribute, len(attribute.floats)))
            case _A.INT | _A.INTS if attribute.name in ("value_int", "value_ints"):
                yield TensorProto(data_type=TensorProto.INT64, dims=_dims(attribute, len(attribute.ints)))
            case _A.STRING | _A.STRINGS if attribute.name in ("value_string", "value_strings"):
                texts = attribute.strings or [attribute.s]
                yield TensorProto(data_type=TensorProto.STRING, dims=[len(texts)], string_data=texts)


def _dims(attribute: AttributeProto, count: int) -> list[int]:
    return [count] if attribute.type in (_A.FLOATS, _A.INTS) else []
