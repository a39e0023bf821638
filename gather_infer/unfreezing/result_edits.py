"""The edits of a walk: applied to the file, and listed as the differences of the result from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from onnx import ModelProto, NodeProto

from gather_infer.inference.topology import captured
from gather_infer.ir import Model
from gather_infer.ir.dead_code import eliminate_all_dead_code
from gather_infer.ir.write_back import to_proto
from gather_infer.model.apply import apply
from gather_infer.model.edits import AddInitializer, Edit, InsertNodes, Journal, RemoveInitializer, RemoveNode
from gather_infer.model.paths import bodies
from gather_infer.node_ids import Root
from gather_infer.unfreezing.declared_types import with_declared_types

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

NAME: Final = "unfreezing"


def edited_model(before: ModelProto, walk: UnfreezingWalk) -> tuple[ModelProto, dict[str, str]]:
    """The model with the edits of a walk, without code that they leave dead; and why nodes were edited, by output."""
    journal = Journal()
    reasons: dict[str, str] = {}
    used: set[str] = set()
    for placed in walk.placed:
        original = None if placed.is_new else before.graph.node[placed.before]
        node = placed.node if original is None else with_declared_types(placed.node, original)
        if original is not None and original.SerializeToString() == node.SerializeToString():
            continue
        used |= {*node.input, *captured(node)}
        reasons.update(dict.fromkeys(node.output, placed.reason))
        if original is not None:
            journal.add(RemoveNode(by=NAME, reason=placed.reason, node=placed.before))
        journal.add(InsertNodes(by=NAME, reason=placed.reason, nodes=(node,), before=placed.before))
    for name, tensor in walk.added.items():
        if name in used:
            journal.add(AddInitializer(by=NAME, reason="", tensor=tensor))
    return _without_dead_code(apply(journal, before), before), reasons


def edited_nodes(before: ModelProto, after: ModelProto) -> Iterator[NodeProto]:
    """The nodes of the main graph that `before` does not have, or has in another form."""
    known = {node.SerializeToString() for node in before.graph.node}
    return (node for node in after.graph.node if node.SerializeToString() not in known)


def edits_between(before: ModelProto, after: ModelProto, reasons: Mapping[str, str]) -> Iterator[Edit]:
    """The edits that turn the main graph of a model into that of another one.

    reasons   value -> why its node was edited, added or removed, or its constant added
    """
    producers = Model(before).main.producers
    texts = [node.SerializeToString() for node in before.graph.node]
    held = {tensor.name for tensor in before.graph.initializer}
    for tensor in after.graph.initializer:
        if tensor.name not in held:
            yield AddInitializer(by=NAME, reason=reasons.get(tensor.name, "a size or its rows"), tensor=tensor)
    made = (next((producers[name][0] for name in node.output if name in producers), None) for node in after.graph.node)
    places = [None if node is None else node.origin for node in made]
    stays: list[int | None] = []  # for each node the position of the one that it is
    last = -1
    for node, place in zip(after.graph.node, places, strict=True):
        is_same = place is not None and place > last and texts[place] == node.SerializeToString()
        stays.append(place if is_same else None)
        last = place if place is not None and is_same else last
    following = [len(texts)]  # for each node the position of the next one that stays
    for stay in reversed(stays):
        following.append(following[-1] if stay is None else stay)
    removed = set(range(len(texts))).difference(stay for stay in stays if stay is not None)
    for node, place, stay, at in zip(after.graph.node, places, stays, following[:0:-1], strict=True):
        if stay is not None:
            continue
        reason = next((reasons[name] for name in node.output if name in reasons), "moved after its inputs")
        origin = place if place is not None and before.graph.node[place].op_type == node.op_type else None
        if place is not None and place in removed:
            removed.discard(place)
            yield RemoveNode(by=NAME, reason=reason, node=place)
        yield InsertNodes(by=NAME, reason=reason, nodes=(node,), before=at, origin=origin)
    unread = "nothing reads it any more"
    for position in sorted(removed):
        names = before.graph.node[position].output
        yield RemoveNode(by=NAME, reason=next((reasons[n] for n in names if n in reasons), unread), node=position)
    kept = {tensor.name for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        if tensor.name not in kept:
            yield RemoveInitializer(by=NAME, reason=unread, name=tensor.name)


def _without_dead_code(proto: ModelProto, before: ModelProto) -> ModelProto:
    """The model without the nodes that nothing reads any more, of those that something read."""
    dead_before = _unread(before)
    model = Model(proto)
    eliminate_all_dead_code(
        model,
        lambda node: node.graph.path.root is Root.GRAPH and node.outputs[0] not in dead_before and not node.bodies,
    )
    return to_proto(model)


def drop_unread_initializers(after: ModelProto, before: ModelProto) -> None:
    """Remove the initializers of the main graph that nothing reads any more; those that nothing read before stay."""
    kept = _read(after) | {value.name for value in after.graph.input}
    kept |= {tensor.name for tensor in before.graph.initializer}.difference(_read(before))
    for annotation in after.graph.quantization_annotation:
        kept |= {annotation.tensor_name, *(entry.value for entry in annotation.quant_parameter_tensor_names)}
    for position in reversed(range(len(after.graph.initializer))):
        if after.graph.initializer[position].name not in kept:
            del after.graph.initializer[position]


def _unread(proto: ModelProto) -> set[str]:
    read = _read(proto)
    graphs = [body for path, body in bodies(proto) if path.root is Root.GRAPH]
    return {name for body in graphs for node in body.node for name in node.output if name not in read}


def _read(proto: ModelProto) -> set[str]:
    """The values that a node reads or a graph returns."""
    read = {name for _, body in bodies(proto) for node in body.node for name in node.input}
    return read | {v.name for _, body in bodies(proto) for v in getattr(body, "output", ()) if hasattr(v, "name")}
