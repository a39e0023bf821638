"""Inputs with an initializer: a caller may override them from IR version 4 on, so no fact may depend on their elements.

https://github.com/onnx/onnx/blob/main/docs/IR.md#graphs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from onnx import GraphProto, ModelProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.model.paths import graph_at
from gather_infer.model.tensors import initializers_of
from gather_infer.node_ids import MAIN
from gather_infer.tensor import SymbolicTensor, Value
from gather_infer.trail import Cause

ADVICE: Final = "--initializers-as-constants treats initializers as constants"
MIN_OVERRIDABLE: Final = 2
"""Minimal number of initializers for the warning that all of them are inputs: a single one is probably intended."""


def overridable_finding(graph: GraphProto, inputs: Iterable[ValueInfoProto]) -> Iterator[Diagnostic]:
    """The warning that every initializer is also an input; none when some are not.

    inputs   inputs that callers feed
    """
    names = initializers_of(graph)
    if len(names) >= MIN_OVERRIDABLE and names <= {value.name for value in inputs}:
        message = f"all {len(names)} initializers are inputs that callers may override: no shape can depend on them"
        yield diagnostic("GI119", message, detail=(ADVICE,))


def with_defaults_named(
    causes: Mapping[str, Cause], proto: ModelProto, inputs: Iterable[ValueInfoProto], values: Mapping[str, Value]
) -> dict[str, Cause]:
    """The causes, where the reason also names an overridable input if its initializer would make the size known.

    inputs   inputs that callers feed
    values   the facts of the main graph
    """
    defaults = initializers_of(proto.graph) & {value.name for value in inputs}
    if not defaults or not any(cause.data_dependent for cause in causes.values()):
        return dict(causes)
    behind = _hidden_by(proto.graph, defaults, values)
    return {name: _named(cause, proto, behind) for name, cause in causes.items()}


def _hidden_by(graph: GraphProto, defaults: set[str], values: Mapping[str, Value]) -> dict[str, str]:
    """Tensors with known elements if initializers were constants, each with the first overridable input behind it."""
    found = {name: name for name in defaults}
    constants = initializers_of(graph) - defaults
    for node in graph.node:
        names = [name for name in node.input if name]
        first = next((found[name] for name in names if name in found), None)
        others = (name for name in names if name not in found and name not in constants)
        if first is not None and all(_is_known(values.get(name)) for name in others):
            found.update((output, first) for output in node.output if output)
    return found


def _is_known(value: Value | None) -> bool:
    return isinstance(value, SymbolicTensor) and value.values is not None


def _named(cause: Cause, proto: ModelProto, behind: Mapping[str, str]) -> Cause:
    path = cause.node.graph
    if not cause.data_dependent or path.root is not MAIN.root or any(step.attribute is None for step in path.steps):
        return cause  # names in a function body are not those of the main graph
    node = graph_at(proto, path).node[cause.node.position]
    found = next((behind[name] for name in node.input if name in behind), None)
    return cause if found is None else cause._replace(reason=f"{cause.reason}: callers may override the input {found}")


__all__ = ["ADVICE", "overridable_finding", "with_defaults_named"]
