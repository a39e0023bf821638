"""Integer divisions by 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gather_infer import ir
from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.inference import Inference
from gather_infer.ir import Node
from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import known_le
from gather_infer.tensor import SymbolicTensor, Value

DIVISIONS: Final = frozenset({"Div", "Mod"})


def divisor_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each integer Div and Mod whose divisor contains a 0.

    If the divisor is a constant, onnxruntime refuses the file even if no run reaches the node. For other divisors,
    every run with at least one element to divide fails.
    """
    for path, facts in inference.scopes.items():
        for position, node in enumerate(locations.nodes(path)):
            found = _zero_division(node, facts, inference, path, locations)
            if found is not None:
                message, severity = found
                yield diagnostic(
                    "GI210", message, locations.location(path, position, f"input {node.inputs[1]}"), severity=severity
                )


def _zero_division(
    node: Node, facts: Mapping[str, Value], inference: Inference, path: GraphPath, locations: NodeLocations
) -> tuple[str, Severity] | None:
    """The message and severity for `node` of the graph at `path`; None if it is not known to divide an integer by 0."""
    if node.op_type not in DIVISIONS or node.domain or len(node.inputs) != 2 or not node.outputs:
        return None
    body = locations.inferred_graph(path)
    divisor = None if body is None else body.fact(node.inputs[1])
    if not isinstance(divisor, SymbolicTensor) or divisor.values is None or divisor.dtype is None:
        return None
    if not divisor.dtype.is_integer or not any(isinstance(v, int) and v == 0 for v in divisor.values.flat):
        return None
    if _is_constant(node.graph.value(node.inputs[1])):
        return "an integer is divided by a constant 0", Severity.ERROR
    result = facts.get(node.outputs[0])
    shape = result.shape if isinstance(result, SymbolicTensor) else None
    has_elements = shape is not None and all(known_le(1, dim, inference.known) for dim in shape)
    around = (GraphPath(path.root, path.position, path.steps[: k + 1]) for k in range(len(path.steps)))
    if has_elements and not any(body in inference.conditions for body in around):
        return "an integer is divided by 0", Severity.ERROR
    return "an integer is divided by 0 in a run that has an element here", Severity.WARNING


def _is_constant(value: ir.Value | None) -> bool:
    """Whether a value is an initializer or the output of a Constant, in the graph of its reader or one around it."""
    if value is None:
        return False
    return value.initializer is not None or (value.producer is not None and value.producer.is_constant)
