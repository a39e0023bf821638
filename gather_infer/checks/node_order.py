"""Graphs whose nodes are not in topological order."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.inference.topology import captured
from gather_infer.model.paths import GraphOrFunction, bodies


def order_findings(model: ModelProto, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each graph whose nodes are not sorted topologically, at the first node that breaks the order."""
    for path, body in bodies(model):
        violation = _read_before_produced(body)
        if violation is None:
            continue
        position, name = violation
        where = locations.location(path, position, f"input {name}")
        yield diagnostic("GI114", f"the node that produces {name} comes later", where)


def _read_before_produced(body: GraphOrFunction) -> tuple[int, str] | None:
    """The position of the first node that reads an output of a later node or of itself, and the name of that output.

    None if the nodes are sorted topologically.
    """
    producers: dict[str, int] = {}
    for position, node in enumerate(body.node):
        for name in node.output:
            if name:
                producers.setdefault(name, position)
    for position, node in enumerate(body.node):
        read = [*node.input, *(captured(node) if node.attribute else ())]
        for name in read:
            if name and producers.get(name, -1) >= position:
                return position, name
    return None
