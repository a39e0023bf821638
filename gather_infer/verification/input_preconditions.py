"""Input preconditions of an IR: the input elements for which its layers define a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from onnx import NodeProto

from gather_infer.dialect import InputPrecondition
from gather_infer.domains import canonical_domain, version_in, versions_of
from gather_infer.inference import Inference
from gather_infer.ir import Graph
from gather_infer.model.attributes import integer_attribute
from gather_infer.symbolic import Dim
from gather_infer.tensor import SymbolicTensor
from gather_infer.verification.element_sampling import ElementLimits

_SAME: Final = {"Convert": 0, "Identity": 0, "Reshape": 0, "Squeeze": 0, "Unsqueeze": 0}
"""Operator that keeps the elements of an input in order -> the position of that input."""

_LIMIT: Final = {"Cast": 0, "Reshape": 0, "Min": 0, "Where": 2}
"""Operator that the IR reader inserts between an input and the limit of a Loop -> the position of the limit."""


def input_precondition_limits(inference: Inference) -> Iterator[tuple[str, ElementLimits]]:
    """Limits of the elements of inputs of an IR that layers of the main graph read unmodified, as (input, limits)."""
    model = inference.model
    graph, versions = model.proto.graph, versions_of(model.proto.opset_import)
    known = {dialect.domain: dialect.operators() for dialect in model.dialects}
    main = inference.ir.main
    inputs = set(inference.inputs)
    for node in graph.node:
        for name in node.input[:2] if node.op_type == "Loop" and not node.domain else ():
            # no iteration, by the limit or the first condition, and the plugin keeps stale outputs; with a negative
            # limit it does not end
            if (source := _source(name, main, _LIMIT)) in inputs:
                yield source, ElementLimits(None, 1, None)
        table = known.get(canonical_domain(node.domain))
        entry = None if table is None else table.lookup(node.op_type, version_in(versions, node.domain))
        for position, precondition in () if entry is None else entry.preconditions.items():
            source = _source(node.input[position], main, _SAME) if position < len(node.input) else ""
            if source in inputs:
                yield (
                    source,
                    ElementLimits(
                        None, precondition.lower, _upper_bound(precondition, node, inference), precondition.is_ascending
                    ),
                )


def _source(name: str, graph: Graph, through: Mapping[str, int]) -> str:
    """The value that a chain of nodes forwards to `name`.

    graph     the main graph
    through   operator -> the position of the input that it forwards
    """
    while (found := graph.producers.get(name)) is not None:
        node = found[0]
        if node.op_type not in through or len(node.inputs) <= through[node.op_type]:
            break
        name = node.inputs[through[node.op_type]]
    return name


def _upper_bound(precondition: InputPrecondition, node: NodeProto, inference: Inference) -> Dim | None:
    """The largest element that a precondition of a node allows; None if there is no limit, or it is not known."""
    if precondition.size is None:
        return None
    size = precondition.size
    if size.axis_input is not None or size.by_component:
        return None  # ONNX's operators check these bounds
    axis = integer_attribute(node, size.attribute, 1) if size.attribute else size.axis
    fact = inference.get(node.input[size.input]) if size.input < len(node.input) else None
    if not isinstance(fact, SymbolicTensor) or fact.shape is None or not -len(fact.shape) <= axis < len(fact.shape):
        return None
    return fact.shape[axis] - precondition.margin
