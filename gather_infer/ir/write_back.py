"""Write-back: the edits of the IR as a journal, and the model with its edits as a message.

A node without edits is written as the message of the file, with fields that this version of onnx does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby

from onnx import ModelProto, NodeProto, TensorProto

from gather_infer.ir.graph import Graph, Node
from gather_infer.ir.model import Model
from gather_infer.ir.toposort import toposort
from gather_infer.model.apply import apply, apply_to
from gather_infer.model.edits import (
    AddInitializer,
    AddInput,
    AddOutput,
    DeclareType,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveImport,
    RemoveInitializer,
    RemoveInput,
    RemoveNode,
    RemoveOutput,
)
from gather_infer.model.paths import subgraph_at

_MOVED = "moved after its inputs"


def to_proto(model: Model) -> ModelProto:
    """The model with its edits as a message; a message without edits is equal to that of the file."""
    return apply(journal_of(model, "ir"), model.proto)


def journal_of(model: Model, by: str) -> Journal:
    """The edits that turn the file into this model; `by` is the name of the pass that has made them."""
    journal = Journal()
    changed = {around for graph in model.graphs.values() if _is_changed(model, graph) for around in graph.scope_chain()}
    within: set[Graph] = set()  # graphs of inserted nodes, which are written out with them
    for graph in model.graphs.values():  # outer ones first
        if graph.outer in within or graph in within:
            within.add(graph)
        elif graph in changed:
            journal.add(*_edits(model, graph, by, within))
    for path, imports in model.imports.items():
        for domain, version in imports.items():
            if version is None:
                journal.add(RemoveImport(by=by, reason="no node is in this domain", path=path, domain=domain))
            else:
                journal.add(ImportOpset(by=by, reason="for the new nodes", path=path, domain=domain, version=version))
    return journal


def message_of(model: Model, node: Node) -> NodeProto:
    """The current node with its subgraphs; the message of the file itself if nothing has changed."""
    return _to_message(model, node, node.name, "ir")


def _is_changed(model: Model, graph: Graph) -> bool:
    """Whether a graph differs from that of the file, apart from its subgraphs."""
    return bool(
        graph.added
        or graph.dropped
        or graph.new_inputs
        or graph.removed_inputs
        or graph.new_outputs
        or graph.removed_outputs
        or graph.types
        or graph.path in model.removed
        or any(node.is_edited for node in graph.nodes)
    )


def _edits(model: Model, graph: Graph, by: str, within: set[Graph] | None) -> Iterator[Edit]:
    """The edits of one graph.

    within   receives the subgraphs of inserted nodes, which are written out with them. None for such a subgraph,
             where all nodes with subgraphs are inserted anew
    """
    path, body = graph.path, graph.proto
    for name, (constant, why) in graph.added.items():
        if isinstance(constant, TensorProto):
            yield AddInitializer(by=by, reason=why, path=path, tensor=constant)
        else:
            tensor = constant.to_tensor(name)
            yield AddInitializer(by=by, reason=why, path=path, cost=constant.nbytes, tensor=tensor)
    for name, why in graph.dropped.items():
        yield RemoveInitializer(by=by, reason=why, path=path, name=name)
    for value, default, why in graph.new_inputs:
        yield AddInput(by=by, reason=why, path=path, value=value, default=default)
    for name, why in graph.removed_inputs.items():
        yield RemoveInput(by=by, reason=why, path=path, name=name)
    for name, why in graph.removed_outputs.items():
        yield RemoveOutput(by=by, reason=why, path=path, name=name)
    for value, why in graph.new_outputs:
        yield AddOutput(by=by, reason=why, path=path, value=value)
    sequence = toposort(graph)
    # A changed node is removed and inserted again, as is one that now comes after a later node of the file.
    stays: dict[int, Node] = {}
    for node in sequence:
        is_as_it_was = node.origin is not None and not node.is_edited and not (node.bodies and within is None)
        if is_as_it_was and node.origin is not None and node.origin > next(reversed(stays), -1):
            stays[node.origin] = node
    reasons = {node.origin: node.why or _MOVED for node in sequence if node.origin is not None}
    reasons |= model.removed.get(path, {})
    for position in range(len(body.node)):
        if position not in stays:
            yield RemoveNode(by=by, reason=reasons[position], path=path, node=position)
    group: list[Node] = []
    names = {node: node.name for node in sequence} if model.may_repeat_names else _node_names(sequence)
    for node in sequence:
        if node.origin is None or stays.get(node.origin) is not node:
            group.append(node)
            if within is not None:
                within.update(node.bodies)
        elif group:
            yield from _inserted(model, graph, group, names, node.origin, by)
            group = []
    if group:
        yield from _inserted(model, graph, group, names, len(body.node), by)
    for name, (declared, why) in graph.types.items():
        yield DeclareType(by=by, reason=why, path=path, name=name, type=declared)


def _inserted(
    model: Model, graph: Graph, group: Sequence[Node], names: Mapping[Node, str], before: int, by: str
) -> Iterator[Edit]:
    """The edits that insert the nodes of `group`, in order: one for new nodes with the same reason."""

    for (why, origin), nodes in groupby(group, lambda node: (node.why or _MOVED, node.origin)):
        messages = tuple(_to_message(model, node, names[node], by) for node in nodes)
        yield InsertNodes(by=by, reason=why, path=graph.path, nodes=messages, before=before, origin=origin)


def _to_message(model: Model, node: Node, name: str, by: str) -> NodeProto:
    """The current node with its subgraphs; the message of the file itself if nothing has changed."""
    if not node.why and not node.bodies and name == node.proto.name:
        return node.proto
    copy = NodeProto()
    copy.CopyFrom(node.proto)
    if name:
        copy.name = name
    _set_values(copy, node)
    for body in node.bodies:
        apply_to(subgraph_at(copy, body.path.steps[-1]), _edits(model, body, by, None), model.proto.ir_version)
    return copy


def _set_values(copy: NodeProto, node: Node) -> None:
    del copy.input[:]
    del copy.output[:]
    copy.input.extend(node.inputs)
    copy.output.extend(node.outputs)


def _node_names(nodes: Sequence[Node]) -> dict[Node, str]:
    """Node -> its name, unique within the graph: runtimes reject duplicates. Subgraphs may use the same names."""
    found = {node: node.name for node in nodes if node.origin is not None}
    taken = set(found.values()) - {""}
    for node in nodes:
        if node not in found:
            name = node.name
            numbers = count(1)
            while name in taken:
                name = f"{node.name}_{next(numbers)}"
            taken |= {name} - {""}
            found[node] = name
    return found
