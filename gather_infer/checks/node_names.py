"""Nodes of one graph with the same name."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.ir import Model
from gather_infer.node_ids import Root


def node_name_findings(locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each repeated node name in a graph that a runtime loads: main graph, subgraphs, called functions.

    onnxruntime refuses such a file: "two nodes with same node name". It converts each Constant to an initializer
    before this check.
    """
    called = _called(locations.graphs)
    for path, graph in locations.graphs.graphs.items():
        if not (path.root is Root.GRAPH or (path.root is Root.FUNCTION and path.position in called)):
            continue
        positions: dict[str, list[int]] = {}
        for position, node in enumerate(graph.file_nodes):
            name = node.proto.name
            if name and not node.is_constant:
                positions.setdefault(name, []).append(position)
        for name, (_, *others) in positions.items():
            if others:
                number = len(others) + 1
                yield diagnostic("GI117", f"{number} nodes are called {name}", locations.location(path, others[0]))


def _called(model: Model) -> set[int]:
    """The positions in `ModelProto.functions` of the functions that calls reach from the main graph."""
    reached: set[int] = set()
    waiting = [model.main] if model.functions else []
    while waiting:
        graph = waiting.pop()
        for node in graph.nodes:
            waiting += node.bodies
            called = model.called_function(node)
            if called is not None and called.path.position not in reached:
                reached.add(called.path.position)
                waiting.append(called)
    return reached
