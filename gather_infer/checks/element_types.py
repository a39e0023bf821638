"""Declared tensor types without an element type."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, TensorProto, TypeProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.ir import Graph
from gather_infer.node_ids import Root


def element_type_findings(locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each declared value without an element type, in every graph that a runtime loads.

    onnxruntime refuses such a file: "Invalid tensor data type 0". It checks inputs, and those outputs and value_info
    that a node other than Constant produces; the declaration of an output takes precedence. A missing type is fine.
    """
    for path, graph in locations.graphs.graphs.items():
        body = graph.proto
        if path.root is not Root.GRAPH or not isinstance(body, GraphProto):
            continue
        for kind, values in (("input", body.input), ("output", body.output), ("value_info", body.value_info)):
            for value in values:
                if not _is_complete(value.type) and (kind == "input" or _is_checked(graph, value.name, kind)):
                    where = locations.location_of_value(path, value.name)
                    yield diagnostic("GI205", f"{kind} {value.name} is declared without an element type", where)


def _is_checked(graph: Graph, name: str, kind: str) -> bool:
    """Whether onnxruntime checks the declaration, of the kind `output` or `value_info`, of a value of the graph."""
    producer = graph.producers.get(name)
    return producer is not None and not producer[0].is_constant and (kind == "output" or name not in graph.output_set)


def _is_complete(proto: TypeProto) -> bool:
    """Whether a tensor type, also inside a sequence or optional type, has an element type; True for all other types."""
    match proto.WhichOneof("value"):
        case "tensor_type":
            return bool(proto.tensor_type.elem_type != TensorProto.UNDEFINED)
        case "sequence_type":
            return _is_complete(proto.sequence_type.elem_type)
        case "optional_type":
            return _is_complete(proto.optional_type.elem_type)
    return True
