"""The model with what was inferred written into its `value_info`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnx import GraphProto, ModelProto, ValueInfoProto

from gather_infer.tensor import SymbolicTensor, Value

from .frame import label_of, repeated_labels
from .types import to_type

if TYPE_CHECKING:
    from .result import Inference


def annotate(inference: Inference, *, weights: bool = False) -> ModelProto:
    """See Inference.annotated."""
    source = inference.model
    if weights:
        model = source.with_weights()
    else:
        model = ModelProto()
        model.CopyFrom(source.proto)
    _annotate_graph(model.graph, "", inference.scopes)
    return model


def _annotate_graph(graph: GraphProto, path: str, scopes: Mapping[str, Mapping[str, Value]]) -> None:
    values = scopes.get(path)
    if values is None:
        return
    interface = {v.name for v in (*graph.input, *graph.output)} | {t.name for t in graph.initializer}
    interface |= {t.values.name for t in graph.sparse_initializer}
    declared = {v.name: v for v in graph.value_info}
    entries: list[ValueInfoProto] = []
    repeated = repeated_labels(graph.node)
    for index, node in enumerate(graph.node):
        for name in node.output:
            if not name or name in interface:
                continue
            interface.add(name)
            entry = declared.pop(name, None)
            stated = to_type(values[name]) if name in values else None
            if stated is not None:
                kept = ValueInfoProto()
                if entry is not None:
                    kept.CopyFrom(entry)  # doc string and metadata stay
                kept.name = name
                kept.type.CopyFrom(stated)
                entry = kept
            if entry is not None:
                entries.append(entry)
        for attribute in node.attribute:
            label = f"{label_of(node, index, repeated)}/{attribute.name}"
            below = f"{path}/{label}" if path else label
            if attribute.HasField("g"):
                _annotate_graph(attribute.g, below, scopes)
    entries += [v for v in graph.value_info if v.name in declared]  # of inputs, initializers, or of nothing
    rebuilt = [ValueInfoProto.FromString(v.SerializeToString()) for v in entries]
    del graph.value_info[:]
    graph.value_info.extend(rebuilt)
    for output in graph.output:
        value = values.get(output.name)
        if not isinstance(value, SymbolicTensor) or value.shape is None:
            continue
        if output.type.WhichOneof("value") is None:
            stated = to_type(value)
            if stated is not None:
                output.type.CopyFrom(stated)
        elif output.type.HasField("tensor_type") and not output.type.tensor_type.HasField("shape"):
            stated = to_type(value)
            if stated is not None and stated.tensor_type.elem_type == output.type.tensor_type.elem_type:
                output.type.tensor_type.shape.CopyFrom(stated.tensor_type.shape)
