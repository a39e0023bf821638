"""Calls of the model's functions: inlined for the walk, which edits the nodes of one call and not those of another.

In the result a call whose nodes are all as before is a call again. One with an edited node stays inlined, so that other
calls of the function do not change. A function that nothing calls any more is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, defs, helper

from gather_infer.domains import plain_domain, qualified, versions_of
from gather_infer.inference.topology import captured, topological
from gather_infer.model import ModelFile
from gather_infer.model.edits import Edit, InsertNodes, RemoveFunction, RemoveNode
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies, subgraphs
from gather_infer.node_ids import Root

MAX_NODES: Final = 20_000
"""Of inlined calls. Calls beyond stay: functions that call functions may double the model at each level."""

_Key = tuple[str, str, str]


@dataclass(frozen=True)
class _InlinedCall:
    """A call and the nodes in its place."""

    call: NodeProto
    nodes: tuple[NodeProto, ...]


@dataclass
class InlinedCalls:
    """A model without calls of its functions, as far as they can be inlined.

    file       the model with the nodes of functions in place of calls; the source if nothing is inlined
    calls      the inlined calls, those inside other functions before these
    positions  position of a node of the main graph -> that of the node of the source that it is, or is in the place of
    """

    source: ModelFile
    file: ModelFile
    calls: list[_InlinedCall] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)

    def restored(self, proto: ModelProto) -> ModelProto:
        """A result with calls in place of their nodes, where these are as before, and without unused functions."""
        if not self.calls:
            return proto
        copy = ModelProto()
        copy.CopyFrom(proto)
        _restore_calls(copy.graph, self.calls[::-1])
        unused = _called(self.source.proto) - _called(copy)
        kept = [each for each in copy.functions if _name(each) not in unused]
        if len(kept) < len(copy.functions):
            _assign(copy.functions, kept)
        return copy

    def edits_of_source(self, edits: Sequence[Edit], proto: ModelProto, result: ModelProto, by: str) -> list[Edit]:
        """Edits of `file` as edits of the source.

        proto   the file with the edits
        result  that with its calls restored
        """
        if not self.calls:
            return list(edits)
        original = self.source.proto.graph.node
        functions = {_key(each.call) for each in self.calls}
        inlined = {at for at in self.positions if _key(original[at]) in functions}
        calls = {tuple(node.output) for node in result.graph.node if _key(node) in functions}
        kept = {at for at in inlined if tuple(original[at].output) in calls}
        found: list[Edit] = []
        inserted: set[str] = set()
        for edit in edits:
            if isinstance(edit, InsertNodes):
                inserted.update(name for node in edit.nodes for name in node.output)
                origin = None if edit.origin is None else self._source_position(edit.origin)
                origin = None if origin in inlined else origin
                found.append(replace(edit, before=self._source_position(edit.before), origin=origin))
            elif not isinstance(edit, RemoveNode):
                found.append(edit)
            elif self._source_position(edit.node) not in inlined:
                found.append(replace(edit, node=self._source_position(edit.node)))
        held = {name for node in proto.graph.node for name in node.output}
        made = held - inserted
        nodes = self.file.proto.graph.node
        for at in sorted(inlined - kept):
            rest = [nodes[place] for place, source in enumerate(self.positions) if source == at]
            stay = tuple(node for node in rest if any(name in made for name in node.output))
            why = f"{qualified(original[at].domain, original[at].op_type)} inlined, since nodes of it are edited"
            if held.isdisjoint(name for node in rest for name in node.output):
                why = "nothing reads it any more"
            found.append(RemoveNode(by=by, reason=why, node=at))
            if stay:
                found.append(InsertNodes(by=by, reason=why, nodes=stay, before=at))
        names = {_name(each) for each in result.functions}
        for position, function in enumerate(self.source.proto.functions):
            if _name(function) not in names:
                found.append(RemoveFunction(by=by, reason="nothing calls it any more", function=position))
        return found

    def _source_position(self, position: int) -> int:
        return self.positions[position] if position < len(self.positions) else len(self.source.proto.graph.node)


def with_inlined_calls(file: ModelFile) -> InlinedCalls:
    """The model with its calls inlined, where that keeps their meaning."""
    found = InlinedCalls(file, file)
    if file.proto.functions:
        proto = ModelProto()
        proto.CopyFrom(file.proto)
        inlining = _Inlining(proto, found.calls)
        nodes: list[NodeProto] = []
        for at, node in enumerate(proto.graph.node):
            made = inlining.nodes_of(node, ())
            nodes += made
            found.positions += [at] * len(made)
        _assign(proto.graph.node, nodes)
        if found.calls:
            found.file = replace(file, proto=proto)
    return found


class _Inlining:
    """Inlines the calls of a model, and appends them to `calls`."""

    def __init__(self, proto: ModelProto, calls: list[_InlinedCall]) -> None:
        self.functions: dict[_Key, FunctionProto] = {}
        for each in proto.functions:
            self.functions.setdefault(_name(each), each)
        self.versions = versions_of(proto.opset_import)
        self.names, self.calls = Names(proto), calls
        self.count = 0

    def nodes_of(self, node: NodeProto, around: tuple[_Key, ...]) -> list[NodeProto]:
        """The nodes in place of a node: those of the function that it calls, or itself with inlined calls inside.

        around   the functions whose nodes are being inlined
        """
        key = _key(node)
        function = self.functions.get(key)
        if function is None:
            for _, graph in subgraphs(node, 0):
                _assign(graph.node, [made for inner in graph.node for made in self.nodes_of(inner, around)])
            return [node]
        if key in around or not self._can_inline(function, node):
            return [node]
        self.count += len(function.node)
        call = NodeProto.FromString(node.SerializeToString())
        made = [each for inner in self._instance(function, call) for each in self.nodes_of(inner, (*around, key))]
        self.calls.append(_InlinedCall(call, tuple(NodeProto.FromString(each.SerializeToString()) for each in made)))
        return made

    def _can_inline(self, function: FunctionProto, call: NodeProto) -> bool:
        """Whether the function is not an operator, too, and has the opsets of the model."""
        if defs.has(function.name, plain_domain(function.domain)) or self.count + len(function.node) > MAX_NODES:
            return False
        if len(call.input) > len(function.input) or len(call.output) > len(function.output):
            return False
        if any(a.HasField("g") or a.graphs for a in (*call.attribute, *function.attribute_proto)):
            return False
        imports, own = versions_of(function.opset_import), {key[0] for key in self.functions}
        domains = {plain_domain(inner.domain) for inner in _all_nodes(function.node)}
        return all(domain in own or imports.get(domain) == self.versions.get(domain) for domain in domains)

    def _instance(self, function: FunctionProto, call: NodeProto) -> list[NodeProto]:
        """The nodes of a function with the names and attributes of a call."""
        prefix = call.name or next(filter(None, call.output), function.name)
        names = dict.fromkeys(function.input, "")
        names.update(zip(function.input, call.input, strict=False))
        defined = {name for inner in function.node for name in inner.output if name}
        copied: list[tuple[str, str]] = []
        for name, outer in zip(function.output, call.output, strict=False):
            if outer and name in defined and name not in names:
                names[name] = outer
            elif outer:  # an input, or an output for the second time
                copied.append((name, outer))
        attributes = {each.name: each for each in (*function.attribute_proto, *call.attribute)}
        made = [NodeProto.FromString(inner.SerializeToString()) for inner in function.node]
        for inner in made:
            self._rename(inner, names, attributes, prefix)
        for name, outer in copied:
            made.append(helper.make_node("Identity", [names.get(name, name)], [outer], self.names.fresh(prefix)))
        return made

    def _rename(
        self, node: NodeProto, names: dict[str, str], attributes: Mapping[str, AttributeProto], prefix: str
    ) -> None:
        """Give a node and its values names of the model, and its attributes the values that the call passes."""
        node.name = self.names.fresh(f"{prefix}/{node.name or node.op_type}")
        for name in filter(None, node.output):
            if name not in names:
                names[name] = self.names.fresh(f"{prefix}/{name}")
        for values in (node.input, node.output):
            for at, name in enumerate(values):
                values[at] = names.get(name, name)
        kept: list[AttributeProto] = []
        for attribute in node.attribute:
            source = attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
            if source is not None:
                copy = AttributeProto.FromString(source.SerializeToString())
                copy.name = attribute.name
                kept.append(copy)
        _assign(node.attribute, kept)
        for _, graph in subgraphs(node, 0):
            inner = dict(names)
            for name in {each.name for each in (*graph.input, *graph.initializer)}:
                inner[name] = self.names.fresh(f"{prefix}/{name}")
            for each in (*graph.input, *graph.initializer):
                each.name = inner[each.name]
            for below in graph.node:
                self._rename(below, inner, attributes, prefix)
            for value in (*graph.output, *graph.value_info):
                value.name = inner.get(value.name, value.name)


def _restore_calls(graph: GraphProto, calls: Sequence[_InlinedCall]) -> None:
    """Put calls in place of their nodes in a graph and its subgraphs, the outer ones first."""
    places = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    texts = {at: node.SerializeToString() for at, node in enumerate(graph.node)}
    readers: dict[str, set[int]] = {}
    for at, node in enumerate(graph.node):
        for name in (*node.input, *captured(node)):
            readers.setdefault(name, set()).add(at)
    returned = {value.name for value in graph.output}
    gone: set[int] = set()
    found: dict[int, NodeProto] = {}
    for each in calls:
        mine = [places.get(next(filter(None, node.output), ""), -1) for node in each.nodes]
        is_same = all(
            place >= 0 and texts[place] == node.SerializeToString()
            for place, node in zip(mine, each.nodes, strict=True)
        )
        if not mine or not is_same or not gone.isdisjoint(mine):
            continue
        inner = {name for node in each.nodes for name in node.output} - set(each.call.output)
        if inner & returned or any(not readers.get(name, set()) <= set(mine) for name in inner):
            continue
        gone.update(mine)
        found[min(mine)] = each.call
    nodes = [found.get(at, node) for at, node in enumerate(graph.node) if at not in gone or at in found]
    if found:
        order, _, cycle = topological(nodes)
        assert not cycle, "calls read what their nodes read"
        _assign(graph.node, [nodes[at] for at in order])
    for node in graph.node:
        for _, body in subgraphs(node, 0):
            _restore_calls(body, calls)


def _called(proto: ModelProto) -> set[_Key]:
    """The functions that the graphs of a model call, also from within functions."""
    functions = {_name(each): each for each in proto.functions}
    pending = [node for path, body in bodies(proto) if path.root is not Root.FUNCTION for node in body.node]
    found: set[_Key] = set()
    while pending:
        key = _key(pending.pop())
        if key in functions and key not in found:
            found.add(key)
            pending += _all_nodes(functions[key].node)
    return found


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        pending += [inner for _, graph in subgraphs(node, 0) for inner in graph.node]


def _assign(field: Any, messages: Iterable[NodeProto | FunctionProto | AttributeProto]) -> None:
    """Set a repeated field to copies of messages, some of which it may hold."""
    copies = [type(each).FromString(each.SerializeToString()) for each in messages]
    del field[:]
    field.extend(copies)


def _key(node: NodeProto) -> _Key:
    return plain_domain(node.domain), node.op_type, node.overload


def _name(function: FunctionProto) -> _Key:
    return plain_domain(function.domain), function.name, function.overload
