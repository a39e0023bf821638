"""Inputs that have an initializer: a caller may override these from IR version 4 on, so nothing may rest on them.

https://github.com/onnx/onnx/blob/main/docs/IR.md#graphs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from onnx import GraphProto, ModelProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.model.paths import graph_at
from gather_infer.model.tensors import initializers_of
from gather_infer.places import MAIN
from gather_infer.record import Cause
from gather_infer.tensor import SymbolicTensor, Value

ADVICE: Final = "--initializers-as-constants takes initializers for constants"
FEWEST: Final = 2
"""Initializers that are all inputs: of a single one it is meant."""


def overridable_finding(graph: GraphProto, inputs: Iterable[ValueInfoProto]) -> Iterator[Diagnostic]:
    """The warning that every initializer is an input that a caller feeds or leaves out."""
    names = initializers_of(graph)
    if len(names) >= FEWEST and names <= {value.name for value in inputs}:
        message = f"all {len(names)} initializers are inputs too, which callers may override: no shape can rest on them"
        yield diagnostic("GI119", message, detail=(ADVICE,))


def with_defaults_named(
    causes: Mapping[str, Cause], proto: ModelProto, inputs: Iterable[ValueInfoProto], values: Mapping[str, Value]
) -> dict[str, Cause]:
    """The causes, in which the input is named that would be a constant if no caller could override it.

    inputs   those that callers feed
    values   the facts of the main graph
    """
    defaults = initializers_of(proto.graph) & {value.name for value in inputs}
    if not defaults or not any(cause.data_dependent for cause in causes.values()):
        return dict(causes)
    behind = _behind(proto.graph, defaults, values)
    return {name: _named(cause, proto, behind) for name, cause in causes.items()}


def _behind(graph: GraphProto, defaults: set[str], values: Mapping[str, Value]) -> dict[str, str]:
    """The tensors whose elements would be known, each with the first input that keeps them from it."""
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
        return cause  # in the body of a function names mean something else
    node = graph_at(proto, path).node[cause.node.position]
    found = next((behind[name] for name in node.input if name in behind), None)
    return cause if found is None else replace(cause, reason=f"{cause.reason}: callers may override the input {found}")


__all__ = ["ADVICE", "overridable_finding", "with_defaults_named"]
