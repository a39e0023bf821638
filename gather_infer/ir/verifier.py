"""Structural errors of a model, compare MLIR's verifier: repeated definitions, cycles, undefined names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnx import FunctionProto

from gather_infer.diagnostic import Diagnostic, Location, diagnostic
from gather_infer.errors import ModelStructureError
from gather_infer.ir.graph import Graph, interface_of
from gather_infer.ir.model import Model
from gather_infer.ir.toposort import cycle
from gather_infer.node_ids import NodePath

_MAX_NAMED = 6
"""Nodes of a cycle that a message names."""


def structural_findings(model: Model) -> Iterator[Diagnostic]:
    """A finding for each undefined name (GI103), repeated definition (GI101) and cycle (GI102), by graph.

    model   without edits
    """
    for graph in model.graphs.values():
        yield from _undefined_names(model, graph)
        if model.has_duplicates:
            yield from _duplicates(model, graph)
        if graph.cyclic:
            yield _cycle(model, graph)


def require_well_formed(model: Model, file: str) -> None:
    """Raise ModelStructureError when a graph defines a name twice or its nodes form a cycle: no edit is safe then.

    model   without edits
    file    the name of its file, for the message
    """
    if model.has_duplicates or any(graph.cyclic for graph in model.graphs.values()):
        for finding in structural_findings(model):
            if finding.code in ("GI101", "GI102"):
                raise ModelStructureError(f"{file}: {finding.message}")


def _undefined_names(model: Model, graph: Graph) -> Iterator[Diagnostic]:
    if model.dangling:
        for node in graph.file_nodes:
            if node in model.dangling:
                where = Location(model.label(node), node.op_type, node.proto.domain)
                for name in node.inputs:
                    if name and graph.defining_graph(name) is None:
                        yield diagnostic("GI103", f"input {name} is not defined", _at(where, name))
    for name in graph.outputs:
        if graph.defining_graph(name) is None:
            where = Location(value=name, graph=model.graph_label(graph.path))
            yield diagnostic("GI103", f"graph output {name} is not defined", where)


def _at(where: Location, name: str) -> Location:
    return Location(where.node, where.op_type, where.domain, value=name)


def _duplicates(model: Model, graph: Graph) -> Iterator[Diagnostic]:
    inputs, _ = interface_of(graph.proto)
    # an initializer of an input's name is its default
    sparse = [] if isinstance(graph.proto, FunctionProto) else [t.values.name for t in graph.proto.sparse_initializer]
    given = (*graph.initializers, *dict.fromkeys(sparse))
    counts = Counter([*inputs, *(name for name in given if name not in graph.input_set)])
    counts.update(name for node in graph.file_nodes for name in node.outputs if name)
    if not isinstance(graph.proto, FunctionProto):
        repeated = Counter(tensor.name for tensor in graph.proto.initializer)
        counts.update({name: count - 1 for name, count in repeated.items() if count > 1})
    for name, count in counts.items():
        if count > 1:
            where = Location(value=name, graph=model.graph_label(graph.path))
            yield diagnostic("GI101", f"{name} is defined {count} times", where)


def _cycle(model: Model, graph: Graph) -> Diagnostic:
    names = [model.label(node).label for node in cycle(graph)]
    text = f"{' -> '.join([*names[:_MAX_NAMED], *(['...'] if len(names) > _MAX_NAMED else []), names[0]])} is a cycle"
    first = min(graph.cyclic, key=lambda node: node.order_key)
    assert first.origin is not None, "the model has no edits"
    where = NodePath(graph.path, first.origin, model.label(first).label)
    return diagnostic("GI102", text, Location(where, first.op_type))
