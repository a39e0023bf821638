"""Declared types that contradict the inferred ones and that the inference itself does not report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from onnx import GraphProto, ValueInfoProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.inference import Inference
from gather_infer.inference.constraints.given import shaped_dims
from gather_infer.inference.join import contradiction
from gather_infer.inference.proto.types import DimReader, from_type, shown
from gather_infer.node_ids import MAIN, GraphPath, Root
from gather_infer.symbolic import Dim, Expr, known_eq, symbol
from gather_infer.tensor import SymbolicTensor, Value


def declared_type_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """Findings for declared dims below 0, and for each value_info that contradicts the inferred type.

    A value_info also gets a finding if it holds for some input sizes only, or if no node produces its value.
    """
    for path, graph in locations.graphs.graphs.items():
        body = graph.proto
        if not isinstance(body, GraphProto) or path.root is not Root.GRAPH:
            continue
        yield from _negative_dims(path, body, locations)
        facts = inference.scopes.get(path)
        if facts is None:
            continue
        specialized = set(_static_declarations(body.output, facts)) if path == MAIN else set()
        for value in body.value_info:
            is_produced = value.name in graph.producers
            found = _mismatch(value, facts.get(value.name), is_produced, specialized, inference, path)
            if found is not None:
                message, severity = found
                where = locations.location_of_value(path, value.name)
                yield diagnostic("GI201", message, where, severity=severity)


def _negative_dims(path: GraphPath, body: GraphProto, locations: NodeLocations) -> Iterator[Diagnostic]:
    for kind, values in (("input", body.input), ("output", body.output), ("value_info", body.value_info)):
        for value in values:
            below = [a for a, d in enumerate(shaped_dims(value)) if d.HasField("dim_value") and d.dim_value < 0]
            if path == MAIN and kind == "input":  # the inference reports dims below -1
                below = [a for a in below if shaped_dims(value)[a].dim_value == -1]
            if below:
                axes = ", ".join(map(str, below))
                message = (
                    f"{kind} {value.name} declares {'a dim' if len(below) == 1 else 'dims'} below 0 (axis {axes}); "
                    "an unknown dim has a name or no value"
                )
                where = Location(value=value.name, graph=locations.graphs.graph_label(path))
                yield diagnostic("GI109", message, where)


def _mismatch(
    value: ValueInfoProto,
    fact: Value | None,
    is_produced: bool,
    specialized: Set[tuple[Dim, int]],
    inference: Inference,
    path: GraphPath,
) -> tuple[str, Severity] | None:
    """The message and severity for a value_info that contradicts the inferred type `fact`; None if it agrees.

    specialized   symbolic dims that graph outputs declare static, each with the declared size. A value_info that fixes
                  only such dims gets a note: the exporter specialized the whole file for these sizes
    """
    if fact is None:
        return f"value_info declares {value.name}, which no node produces", Severity.NOTE
    if not is_produced:  # the inference reports contradictions at outputs of nodes
        declared = from_type(value.type, DimReader(), lambda axis: symbol(f"?{axis}"))
        if declared is not None and contradiction(declared, fact, inference.known):
            return f"value_info of {value.name} declares {declared}, the inferred type is {fact}", Severity.WARNING
    if path != MAIN:
        return None  # facts about sizes inside a branch hold in that branch only
    wrong = {
        pair
        for pair in _static_declarations([value], {value.name: fact})
        if not inference.is_generated(pair[0]) and known_eq(*pair, inference.known) is None
    }
    if not wrong or not isinstance(fact, SymbolicTensor):
        return None
    implied = SymbolicTensor(fact.dtype, fact.shape)
    message = f"value_info of {value.name} declares {shown(value.type)}, the inputs imply {implied}"
    return message, Severity.NOTE if wrong <= specialized else Severity.WARNING


def _static_declarations(values: Iterable[ValueInfoProto], facts: Mapping[str, Value]) -> Iterator[tuple[Dim, int]]:
    """Each dim that is symbolic in `facts` and a number in the declarations `values`, with this number."""
    for value in values:
        fact = facts.get(value.name)
        dims = shaped_dims(value)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None or len(dims) != len(fact.shape):
            continue
        for proto, dim in zip(dims, fact.shape, strict=True):
            if isinstance(dim, Expr) and proto.HasField("dim_value") and proto.dim_value >= 0:
                yield dim, proto.dim_value
