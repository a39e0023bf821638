"""Integer divisions by 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from onnx import NodeProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference import Inference
from gather_infer.inference.declarations import is_constant
from gather_infer.model.paths import bodies
from gather_infer.node_ids import GraphPath
from gather_infer.symbolic import known_le
from gather_infer.tensor import SymbolicTensor, Value

DIVISIONS: Final = frozenset({"Div", "Mod"})


def divisor_findings(inference: Inference, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each integer Div and Mod whose divisor contains a 0.

    If the divisor is a constant, onnxruntime refuses the file even if no run reaches the node. For other divisors,
    every run with at least one element to divide fails.
    """
    initializers = {
        tensor.name for _, body in bodies(inference.model.proto) for tensor in getattr(body, "initializer", ())
    }
    for path, facts in inference.scopes.items():
        nodes = locations.nodes(path)
        constants = {name for node in nodes if is_constant(node) for name in node.output} | initializers
        for position, node in enumerate(nodes):
            found = _zero_division(node, facts, inference, path, constants)
            if found is not None:
                message, severity = found
                yield diagnostic(
                    "GI210", message, locations.location(path, position, f"input {node.input[1]}"), severity=severity
                )


def _zero_division(
    node: NodeProto, facts: Mapping[str, Value], inference: Inference, path: GraphPath, constants: set[str]
) -> tuple[str, Severity] | None:
    """The message and severity for `node`; None if it is not known to divide an integer by 0.

    constants   names of initializers, and of outputs of Constant nodes in the graph `path`
    """
    if node.op_type not in DIVISIONS or plain_domain(node.domain) or len(node.input) != 2 or not node.output:
        return None
    divisor = _fact(node.input[1], path, inference)
    if not isinstance(divisor, SymbolicTensor) or divisor.values is None or divisor.dtype is None:
        return None
    if not divisor.dtype.is_integer or not any(isinstance(v, int) and v == 0 for v in divisor.values.flat):
        return None
    if node.input[1] in constants:
        return "an integer is divided by a constant 0", Severity.ERROR
    result = facts.get(node.output[0])
    shape = result.shape if isinstance(result, SymbolicTensor) else None
    has_elements = shape is not None and all(known_le(1, dim, inference.known) for dim in shape)
    around = (GraphPath(path.root, path.position, path.steps[: k + 1]) for k in range(len(path.steps)))
    if has_elements and not any(body in inference.conditions for body in around):
        return "an integer is divided by 0", Severity.ERROR
    return "an integer is divided by 0 in a run that has an element here", Severity.WARNING


def _fact(name: str, path: GraphPath, inference: Inference) -> Value | None:
    """The inferred type of `name` in the graph `path` or the nearest enclosing graph that has it; None if unknown."""
    while True:
        found = inference.scopes.get(path, {}).get(name)
        if found is not None or not path.steps or path.steps[-1].attribute is None:
            return found
        path = path.above
