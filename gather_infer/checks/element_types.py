"""Declared tensor types without an element type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import GraphProto, TensorProto, TypeProto, ValueInfoProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.node_ids import GraphPath, Root


def element_type_findings(locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each declared value without an element type, in every graph that a runtime loads.

    onnxruntime refuses such a file: "Invalid tensor data type 0". It checks inputs, and those outputs and value_info
    that a node other than Constant produces; the declaration of an output takes precedence. A missing type is fine.
    """
    for path, graph in locations.graphs.graphs.items():
        body = graph.proto
        if path.root is not Root.GRAPH or not isinstance(body, GraphProto):
            continue
        made = {name: node.origin for name, (node, _) in graph.producers.items() if not node.is_constant}
        outputs = {value.name for value in body.output}
        kinds: tuple[tuple[str, Iterable[ValueInfoProto]], ...] = (
            ("input", body.input),
            ("output", [value for value in body.output if value.name in made]),
            ("value_info", [value for value in body.value_info if value.name in made.keys() - outputs]),
        )
        for kind, values in kinds:
            for value in values:
                if not _is_complete(value.type):
                    where = _location(path, value.name, made.get(value.name), locations)
                    yield diagnostic("GI205", f"{kind} {value.name} is declared without an element type", where)


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


def _location(path: GraphPath, name: str, producer: int | None, locations: NodeLocations) -> Location:
    if producer is None:
        return Location(value=name, graph=locations.graphs.graph_label(path))
    return locations.location(path, producer, f"output {name}")
