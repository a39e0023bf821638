"""Iteration over every TensorProto of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


def iter_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """The initializers and attribute tensors of all graphs: main graph, subgraphs, functions and training graphs.

    For a sparse tensor, its values and its indices are two tensors.
    """
    training = [graph for info in model.training_info for graph in (info.initialization, info.algorithm)]
    yield from _of_graphs([model.graph, *training], model, sparse=True)


def externalizable_tensors(model: ModelProto) -> Iterator[TensorProto]:
    """The tensors that loaders accept as external: all but sparse tensors and the tensors of training graphs."""
    yield from _of_graphs([model.graph], model, sparse=False)


def _of_graphs(graphs: list[GraphProto], model: ModelProto, *, sparse: bool) -> Iterator[TensorProto]:
    for function in model.functions:
        yield from _of_attributes(function.attribute_proto, graphs, sparse)
        yield from _of_nodes(function.node, graphs, sparse)
    while graphs:
        graph = graphs.pop()
        yield from graph.initializer
        if sparse:
            for tensor in graph.sparse_initializer:
                yield from (tensor.values, tensor.indices)
        yield from _of_nodes(graph.node, graphs, sparse)


def _of_nodes(nodes: Iterable[NodeProto], graphs: list[GraphProto], sparse: bool) -> Iterator[TensorProto]:
    for node in nodes:
        if node.attribute:
            yield from _of_attributes(node.attribute, graphs, sparse)


def _of_attributes(
    attributes: Iterable[AttributeProto], graphs: list[GraphProto], sparse: bool
) -> Iterator[TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if sparse:
            held = list(attribute.sparse_tensors)
            if attribute.HasField("sparse_tensor"):
                held.append(attribute.sparse_tensor)
            for tensor in held:
                yield from (tensor.values, tensor.indices)
        if attribute.HasField("g"):
            graphs.append(attribute.g)
        graphs.extend(attribute.graphs)


def initializers_of(graph: GraphProto) -> set[str]:
    """Names of the initializers of a graph, dense and sparse."""
    return {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}


def fed_inputs(model: ModelProto) -> list[ValueInfoProto]:
    """The graph inputs that a caller can feed.

    Before IR version 4 every initializer is also an input. onnxruntime and OpenVINO treat such an initializer as a
    constant and do not accept a feed for it.
    """
    constants = initializers_of(model.graph) if model.ir_version < 4 else set()
    return [value for value in model.graph.input if value.name not in constants]
