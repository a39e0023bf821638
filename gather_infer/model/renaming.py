"""Renaming of values and dims wherever their names occur in a model, in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnx import FunctionProto, GraphProto, ModelProto, TypeProto

from gather_infer.model.paths import bodies, subgraphs
from gather_infer.model.tensors import initializers_of
from gather_infer.node_ids import Root


def rename_values(model: ModelProto, names: Mapping[str, str]) -> None:
    """Rename values of the main graph: old name -> new name.

    Subgraphs and training graphs refer to the new name where they read the value, unless they define the old name
    themselves. No new name may be defined there.
    """
    pending: list[tuple[GraphProto, Mapping[str, str]]] = [(model.graph, names)]
    for info in model.training_info:
        pending += [(graph, _visible(graph, names)) for graph in (info.initialization, info.algorithm)]
        for entry in (*info.initialization_binding, *info.update_binding):
            entry.key = names.get(entry.key, entry.key)
    while pending:  # without recursion: subgraphs may nest deeper than Python's call stack
        graph, visible = pending.pop()
        if not visible:
            continue
        _rename_in(graph, visible)
        for node in graph.node:
            if node.attribute:
                pending += [(inner, _visible(inner, visible)) for _, inner in subgraphs(node, 0)]


def _visible(graph: GraphProto, names: Mapping[str, str]) -> Mapping[str, str]:
    """The outer names that a graph does not define itself."""
    own = {value.name for value in graph.input} | initializers_of(graph)
    own.update(name for node in graph.node for name in node.output)
    return {old: new for old, new in names.items() if old not in own} if not own.isdisjoint(names) else names


def _rename_in(graph: GraphProto, names: Mapping[str, str]) -> None:
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.name in names:
            value.name = names[value.name]
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        if tensor.name in names:
            tensor.name = names[tensor.name]
    for annotation in graph.quantization_annotation:
        annotation.tensor_name = names.get(annotation.tensor_name, annotation.tensor_name)
        for entry in annotation.quant_parameter_tensor_names:
            entry.value = names.get(entry.value, entry.value)
    for node in graph.node:
        for field in (node.input, node.output):
            for position, name in enumerate(field):
                if name in names:
                    field[position] = names[name]


def rename_everywhere(model: ModelProto, names: Mapping[str, str]) -> None:
    """Rename values of all graphs but functions, wherever a name occurs and whatever it refers to.

    The new names are not in use, so that no reference changes its meaning.
    """
    for _, body in bodies(model):
        if isinstance(body, GraphProto):
            _rename_in(body, names)


def rename_dims(model: ModelProto, texts: Mapping[str, str | int], *, functions: bool = True) -> None:
    """Replace dim_params in all types: of inputs, outputs and `value_info` of every graph, and of attributes."""
    for dim in list(named_dims(model, functions=functions)):
        new = texts.get(dim.dim_param)
        if isinstance(new, int):
            dim.dim_value = new
        elif new is not None:
            dim.dim_param = new


def named_dims(model: ModelProto, *, functions: bool = True) -> Iterator[Any]:
    """The dims with a dim_param in all types of a model, those of attributes included; those of `functions` too."""
    for path, body in bodies(model):
        if path.root is Root.FUNCTION and not functions:
            continue
        values = body.value_info if isinstance(body, FunctionProto) else (*body.input, *body.output, *body.value_info)
        for value in values:
            yield from _named_dims(value.type)
        attributes = [attribute for node in body.node for attribute in node.attribute]
        if isinstance(body, FunctionProto):
            attributes += body.attribute_proto
        for attribute in attributes:
            if attribute.HasField("tp"):
                yield from _named_dims(attribute.tp)
            for held in attribute.type_protos:
                yield from _named_dims(held)


def _named_dims(proto: TypeProto) -> Iterator[Any]:
    held = proto
    while True:
        match held.WhichOneof("value"):
            case "tensor_type":
                yield from (dim for dim in held.tensor_type.shape.dim if dim.dim_param)
                return
            case "sparse_tensor_type":
                yield from (dim for dim in held.sparse_tensor_type.shape.dim if dim.dim_param)
                return
            case "sequence_type":
                held = held.sequence_type.elem_type
            case "optional_type":
                held = held.optional_type.elem_type
            case "map_type":
                held = held.map_type.value_type
            case _:
                return
