"""Summaries of model files, from the graph only: without inference, without reading weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gather_infer.domains import plain_domain, versions_of
from gather_infer.tensor import DType

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

_BITS = {
    **dict.fromkeys((DType.UINT2, DType.INT2), 2),
    **dict.fromkeys((DType.UINT4, DType.INT4, DType.FLOAT4E2M1), 4),
    **dict.fromkeys((DType.FLOAT16, DType.BFLOAT16, DType.UINT16, DType.INT16), 16),
    **dict.fromkeys((DType.FLOAT32, DType.UINT32, DType.INT32), 32),
    **dict.fromkeys((DType.FLOAT64, DType.UINT64, DType.INT64, DType.COMPLEX64), 64),
    DType.COMPLEX128: 128,
}


@dataclass(frozen=True, slots=True)
class ExternalFile:
    """A file of external data that the model names.

    nbytes    size of the file, None if it does not exist or is outside the model's directory
    tensors   number of tensors that refer to it
    """

    location: str
    nbytes: int | None
    tensors: int


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The summary of a model file.

    operators     (domain, op_type) -> number of nodes, over the main graph, subgraphs and function bodies
    gathers       the entries of `operators` in the gather family
    weight_bytes  bytes of all initializers and constants as raw data, inside the file or external
    initializer_texts   name and type of each initializer of the main graph
    file_format   `OpenVINO IR v11`, whose nodes are layers; empty for ONNX
    """

    name: str
    nbytes: int
    ir_version: int
    producer: str
    opsets: Mapping[str, int]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    nodes: int
    subgraphs: int
    subgraph_nodes: int
    functions: int
    function_nodes: int
    operators: Mapping[tuple[str, str], int]
    gathers: Mapping[tuple[str, str], int]
    initializers: int
    weight_bytes: int
    external: tuple[ExternalFile, ...]
    metadata: tuple[tuple[str, str], ...]
    initializer_texts: tuple[str, ...]
    file_format: str = ""

    @property
    def opset(self) -> int | None:
        """The version of the ai.onnx domain, None if it is not imported."""
        return self.opsets.get("")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The entry of a file that cannot be read as a model.

    name    name of the file in the report
    error   the reason, in one line
    """

    name: str
    error: str


@dataclass(slots=True)
class _Count:
    operators: Counter[tuple[str, str]]
    nodes: int = 0
    subgraphs: int = 0
    subgraph_nodes: int = 0
    initializers: int = 0
    weight_bytes: int = 0


def summarize(
    proto: ModelProto,
    *,
    name: str,
    nbytes: int,
    is_gather: Callable[[str, str], bool],
    external: tuple[ExternalFile, ...] = (),
    file_format: str = "",
) -> ModelSummary:
    """The summary of `proto`.

    name       name of the model in the report
    nbytes     size of its file in bytes, 0 if it is unknown
    is_gather  whether the operator with this domain and name is in the gather family
    """
    main = _Count(Counter())
    _count_graph(proto.graph, main, depth=0)
    functions = _Count(Counter())
    for function in proto.functions:
        _count_nodes(function.node, functions, depth=0)
    operators = dict(main.operators + functions.operators)
    producer = " ".join(filter(None, (proto.producer_name, proto.producer_version)))
    return ModelSummary(
        name=name,
        nbytes=nbytes,
        ir_version=proto.ir_version,
        file_format=file_format,
        producer=producer,
        opsets={d: version for d, version in versions_of(proto.opset_import).items() if d or not file_format},
        inputs=tuple((v.name, type_text(v.type)) for v in proto.graph.input),
        outputs=tuple((v.name, type_text(v.type)) for v in proto.graph.output),
        nodes=main.nodes,
        subgraphs=main.subgraphs + functions.subgraphs,
        subgraph_nodes=main.subgraph_nodes,
        functions=len(proto.functions),
        function_nodes=functions.nodes + functions.subgraph_nodes,
        operators=operators,
        gathers={key: number for key, number in operators.items() if is_gather(*key)},
        initializers=main.initializers + functions.initializers,
        weight_bytes=main.weight_bytes + functions.weight_bytes,
        external=external,
        metadata=tuple((entry.key, entry.value) for entry in proto.metadata_props),
        initializer_texts=(
            *(f"{t.name} {_stored_text(t.data_type, t.dims)}" for t in proto.graph.initializer),
            *(
                f"{t.values.name} sparse {_stored_text(t.values.data_type, t.dims)}"
                for t in proto.graph.sparse_initializer
            ),
        ),
    )


def _graphs_of(attribute: AttributeProto) -> list[GraphProto]:
    return ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)


def _count_graph(graph: GraphProto, total: _Count, depth: int) -> None:
    for tensor in graph.initializer:
        total.initializers += 1
        total.weight_bytes += tensor_bytes(tensor)
    for sparse in graph.sparse_initializer:
        total.initializers += 1
        total.weight_bytes += tensor_bytes(sparse.values) + tensor_bytes(sparse.indices)
    _count_nodes(graph.node, total, depth)


def _count_nodes(nodes: Iterable[NodeProto], total: _Count, depth: int) -> None:
    for node in nodes:
        total.operators[plain_domain(node.domain), node.op_type] += 1
        if depth == 0:
            total.nodes += 1
        else:
            total.subgraph_nodes += 1
        for attribute in node.attribute:
            if attribute.HasField("t"):
                total.weight_bytes += tensor_bytes(attribute.t)
            for graph in _graphs_of(attribute):
                total.subgraphs += 1
                _count_graph(graph, total, depth + 1)


def tensor_bytes(tensor: TensorProto) -> int:
    """Bytes of the elements as raw data, computed from dims and element type; 0 for an unknown type."""
    if tensor.data_type == DType.STRING:
        return sum(map(len, tensor.string_data))
    elements = 1
    for dim in tensor.dims:
        elements *= max(dim, 0)
    bits = _BITS.get(DType(tensor.data_type), 8) if tensor.data_type in _DTYPES else 0
    return (elements * bits + 7) // 8


_DTYPES = frozenset(DType)


def dtype_text(number: int) -> str:
    """The name of an element type by its number in TensorProto: `float32`, `?` for 0, `type 99` if unknown."""
    return str(DType(number)) if number in _DTYPES else f"type {number}" if number else "?"


def _stored_text(data_type: int, dims: Iterable[int]) -> str:
    return f"{dtype_text(data_type)}[{', '.join(map(str, dims))}]"


def type_text(type_: TypeProto) -> str:
    """A declared type as text: `float32[batch, ?, 64]`, `seq(...)`, `[...]` for an unknown rank."""
    match type_.WhichOneof("value"):
        case "tensor_type":
            return _tensor_text(type_.tensor_type)
        case "sparse_tensor_type":
            return "sparse " + _tensor_text(type_.sparse_tensor_type)
        case "sequence_type":
            return f"seq({type_text(type_.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({type_text(type_.optional_type.elem_type)})"
        case "map_type":
            return f"map({dtype_text(type_.map_type.key_type)}, {type_text(type_.map_type.value_type)})"
    return "?"


def _tensor_text(tensor: TypeProto.Tensor | TypeProto.SparseTensor) -> str:
    dtype = dtype_text(tensor.elem_type)
    if not tensor.HasField("shape"):
        return f"{dtype}[...]"
    dims = []
    for dim in tensor.shape.dim:
        kind = dim.WhichOneof("value")
        dims.append(str(dim.dim_value) if kind == "dim_value" else dim.dim_param if kind == "dim_param" else "?")
    return f"{dtype}[{', '.join(d or '?' for d in dims)}]"
