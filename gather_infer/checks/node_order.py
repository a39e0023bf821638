"""Graphs whose nodes are not in topological order."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.ir import Graph


def order_findings(locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each graph whose nodes are not sorted topologically, at the first node that breaks the order."""
    for path, graph in locations.graphs.graphs.items():
        violation = _read_before_produced(graph)
        if violation is None:
            continue
        position, name = violation
        where = locations.location(path, position, f"input {name}")
        yield diagnostic("GI114", f"the node that produces {name} comes later", where)


def _read_before_produced(graph: Graph) -> tuple[int, str] | None:
    """The first node that reads an output of a later node or of itself, and the name of that output."""
    for position, node in enumerate(graph.file_nodes):
        captured = (name for body in node.bodies for name in body.captures())
        for name in (*node.inputs, *captured):
            found = graph.producers.get(name)
            if found is not None and found[0].order_key >= node.order_key:
                return position, name
    return None
