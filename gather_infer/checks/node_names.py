"""Nodes of one graph with the same name."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto

from gather_infer.checks.locations import NodeLocations
from gather_infer.diagnostic import Diagnostic, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference.declarations import is_constant
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root


def node_name_findings(model: ModelProto, locations: NodeLocations) -> Iterator[Diagnostic]:
    """A finding for each repeated node name in a graph that a runtime loads: main graph, subgraphs, called functions.

    onnxruntime refuses such a file: "two nodes with same node name". It converts each Constant to an initializer
    before this check.
    """
    called = _called(model)
    for path, body in bodies(model):
        if not (path.root is Root.GRAPH or (path.root is Root.FUNCTION and path.position in called)):
            continue
        positions: dict[str, list[int]] = {}
        for position, node in enumerate(body.node):
            if node.name and not is_constant(node):
                positions.setdefault(node.name, []).append(position)
        for name, (_, *others) in positions.items():
            if others:
                number = len(others) + 1
                yield diagnostic("GI117", f"{number} nodes are called {name}", locations.location(path, others[0]))


def _called(model: ModelProto) -> set[int]:
    """The positions in `model.functions` of the functions that calls reach from the graph."""
    keys = {(plain_domain(f.domain), f.name, f.overload): at for at, f in reversed(list(enumerate(model.functions)))}
    calls: dict[int | None, set[int]] = {}
    for path, body in bodies(model):
        if path.root in (Root.GRAPH, Root.FUNCTION):
            found = calls.setdefault(path.position if path.root is Root.FUNCTION else None, set())
            named = ((plain_domain(node.domain), node.op_type, node.overload) for node in body.node)
            found.update(keys[key] for key in named if key in keys)
    reached: set[int] = set()
    waiting: list[int | None] = [None]
    while waiting:
        new = calls.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
