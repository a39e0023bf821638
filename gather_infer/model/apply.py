"""Apply the edits of a pass to a copy of the model, all at once, in time linear in the size of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, helper

from gather_infer.domains import plain_domain
from gather_infer.errors import ModelStructureError
from gather_infer.model.edits import (
    AddInitializer,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveInitializer,
    RemoveNode,
    ReplaceUses,
)
from gather_infer.model.names import Names
from gather_infer.model.paths import GraphOrFunction, graph_at, subgraphs
from gather_infer.model.tensors import fed_inputs
from gather_infer.node_ids import MAIN, GraphPath, Root

_INITIALIZERS_NEED_NO_INPUT = 4  # the IR version from which an initializer need not be an input


@dataclass(slots=True)
class _Changes:
    """The edits of one graph.

    constants       tensors to add
    inserted        position -> nodes to insert before the node there
    removed         positions of the nodes to remove
    dropped         names of the initializers to remove
    replaced        old name -> new name, for the reads of nodes that are not removed
    takeovers       name of a value that the edits add -> graph output whose name this value takes
    displaced       graph output in `takeovers` -> new name of the value that its node writes, if that node stays
    removed_values  names whose definition is removed and not added again
    """

    constants: list[TensorProto] = field(default_factory=list)
    inserted: dict[int, list[NodeProto]] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    replaced: dict[str, str] = field(default_factory=dict)
    takeovers: dict[str, str] = field(default_factory=dict)
    displaced: dict[str, str] = field(default_factory=dict)
    removed_values: set[str] = field(default_factory=set)


def apply(journal: Journal, model: ModelProto) -> ModelProto:
    """A copy of `model` with the edits of `journal` applied; messages that no edit concerns are unchanged.

    Raises ModelStructureError when a subgraph that reads a replaced value defines another value with the new name.
    """
    result = ModelProto()
    result.CopyFrom(model)
    if not journal.edits:
        return result
    plan: dict[GraphPath, _Changes] = {}
    for edit in journal.edits:
        if isinstance(edit, ImportOpset):
            _import_opset(result, edit)
        else:
            _collect(plan.setdefault(edit.path, _Changes()), edit)
    names: Names | None = None
    given = {value.name for value in fed_inputs(result)}
    for path, changes in plan.items():
        changes.replaced = _resolved(changes.replaced)
        body = graph_at(result, path)
        _find_removed_values(changes, body, given if path == MAIN else _inputs(body))
        outputs = [o for o in _outputs(body) if o in changes.replaced]
        if outputs:
            names = names or Names(result)
            _preserve_outputs(changes, body, outputs, names)
    # Redirect reads first, while every path still leads to its graph; then rebuild the lists, inner graphs first.
    for path, changes in plan.items():
        if changes.replaced:
            _redirect(graph_at(result, path), changes.replaced)
    for path in sorted(plan, key=lambda p: -len(p.steps)):
        renames = _renames_of_inserted(plan, path)
        _rebuild(graph_at(result, path), plan[path], renames, result.ir_version)
    return result


def apply_to(body: GraphOrFunction, edits: Iterable[Edit], ir_version: int) -> None:
    """Apply `edits` to the graph `body` in place. No edit may be a ReplaceUses or concern a subgraph."""
    changes = _Changes()
    for edit in edits:
        _collect(changes, edit)
    assert not changes.replaced, "no use is replaced"
    _find_removed_values(changes, body, _inputs(body))
    _rebuild(body, changes, {}, ir_version)


def _collect(changes: _Changes, edit: Edit) -> None:
    match edit:
        case ReplaceUses():
            assert edit.old not in changes.replaced, f"{edit.old} is replaced twice"
            changes.replaced[edit.old] = edit.new
        case AddInitializer():
            changes.constants.append(edit.tensor)
        case InsertNodes():
            changes.inserted.setdefault(edit.before, []).extend(edit.nodes)
        case RemoveNode():
            changes.removed.add(edit.node)
        case RemoveInitializer():
            changes.dropped.add(edit.name)


def _resolved(replaced: Mapping[str, str]) -> dict[str, str]:
    """The mapping `replaced` with chains followed: a -> b, b -> c becomes a -> c, b -> c."""
    result = {}
    for old in replaced:
        new = old
        for _ in replaced:
            if new not in replaced:
                break
            new = replaced[new]
        assert new not in replaced, f"the replacements of {old} form a cycle"
        result[old] = new
    return result


def _inputs(body: GraphOrFunction) -> set[str]:
    return set(body.input) if isinstance(body, FunctionProto) else {value.name for value in body.input}


def _find_removed_values(changes: _Changes, body: GraphOrFunction, required_inputs: Set[str]) -> None:
    """Fill `changes.removed_values`; no edit may remove an initializer whose name is in `required_inputs`."""
    assert all(0 <= position < len(body.node) for position in changes.removed), "a removed node is in its graph"
    assert all(0 <= before <= len(body.node) for before in changes.inserted), "new nodes have a position in the graph"
    gone = {name for position in changes.removed for name in body.node[position].output if name} | changes.dropped
    made = _defined_names(changes)
    kept = {name for i, node in enumerate(body.node) if i not in changes.removed for name in node.output}
    if not isinstance(body, FunctionProto):
        assert not changes.dropped & required_inputs, "an initializer that a caller may override stays"
        kept |= {tensor.name for tensor in body.initializer} - changes.dropped
        kept |= {value.name for value in body.input} - changes.dropped
    assert len(set(made)) == len(made) and not kept.intersection(made), "a new value has a new name"
    changes.removed_values = gone - set(made)


def _defined_names(changes: _Changes) -> list[str]:
    """Names of the constants and of the node outputs that `changes` adds."""
    nodes = [node for group in changes.inserted.values() for node in group]
    return [tensor.name for tensor in changes.constants] + [name for node in nodes for name in node.output if name]


def _preserve_outputs(changes: _Changes, body: GraphOrFunction, outputs: Sequence[str], names: Names) -> None:
    """Keep the names of `outputs`, graph outputs whose values are replaced: rename the new value or add an Identity."""
    made = set(_defined_names(changes)) - set(_outputs(body))
    writers = {name: i for i, node in enumerate(body.node) if i not in changes.removed for name in node.output if name}
    for output in outputs:
        new = changes.replaced[output]
        if output not in changes.removed_values and output not in writers:
            continue  # an input or initializer: the output keeps referring to it
        # A value that the journal adds takes over the name of the output.
        if new in made and new not in changes.takeovers:
            changes.takeovers[new] = output
            for old, target in list(changes.replaced.items()):
                if target == new:
                    changes.replaced[old] = output
            del changes.replaced[output]
            changes.removed_values.discard(output)
            if output in writers:
                changes.displaced[output] = names.fresh(f"{output}_unused")
                _rename_output(body.node[writers[output]], output, changes.displaced[output])
        elif output in changes.removed_values:
            # An Identity copies any other value to the output.
            source = changes.takeovers.get(new, new)
            node = helper.make_node("Identity", [source], [output], name=names.fresh(f"{output}_identity"))
            changes.inserted.setdefault(len(body.node), []).append(node)
            changes.removed_values.discard(output)


def _rename_output(node: NodeProto, old: str, new: str) -> None:
    for position, name in enumerate(node.output):
        if name == old:
            node.output[position] = new


def _outputs(body: GraphOrFunction) -> list[str]:
    return list(body.output) if isinstance(body, FunctionProto) else [value.name for value in body.output]


def _redirect(body: GraphOrFunction, replaced: Mapping[str, str]) -> None:
    """Rename reads in `body` and its subgraphs by `replaced`, old name -> new name.

    A subgraph that defines an old name itself keeps its reads of that name.
    """
    pending: list[tuple[GraphOrFunction, Mapping[str, str]]] = [(body, replaced)]
    while pending:
        body, renames = pending.pop()
        for position, node in enumerate(body.node):
            _rename_inputs(node, renames)
            for _, graph in subgraphs(node, position):
                inner = _visible_below(graph, renames)
                if inner:
                    pending.append((graph, inner))
                    for output in graph.output:
                        output.name = inner.get(output.name, output.name)


def _rename_inputs(node: NodeProto, renames: Mapping[str, str]) -> None:
    for position, name in enumerate(node.input):
        if name in renames:
            node.input[position] = renames[name]


def _visible_below(graph: GraphOrFunction, renames: Mapping[str, str]) -> Mapping[str, str]:
    """The entries of `renames`, old name -> new name, whose old name the subgraph `graph` does not define.

    Raises ModelStructureError when `graph` defines the new name of such an entry.
    """
    assert not isinstance(graph, FunctionProto), "a function is not a subgraph"
    own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    own |= {tensor.values.name for tensor in graph.sparse_initializer}
    own |= {name for node in graph.node for name in node.output}
    if own.isdisjoint(renames) and own.isdisjoint(renames.values()):
        return renames
    inner = {old: new for old, new in renames.items() if old not in own}
    hidden = sorted(own.intersection(inner.values()))
    if hidden:
        raise ModelStructureError(f"{hidden[0]} means one value in a subgraph and another outside of it")
    return inner


def _renames_of_inserted(plan: Mapping[GraphPath, _Changes], path: GraphPath) -> dict[str, str]:
    """Old name -> new name, for the inputs of nodes inserted into graph `path`.

    Contains the values that `plan` removes or renames in that graph or a graph around it.
    """
    renames: dict[str, str] = {}
    for outer, changes in plan.items():
        if outer.contains(path):
            renames |= {old: new for old, new in changes.replaced.items() if old in changes.removed_values}
            renames |= changes.takeovers | changes.displaced
    return renames


def _rebuild(body: GraphOrFunction, changes: _Changes, renames: Mapping[str, str], ir_version: int) -> None:
    taken = changes.takeovers
    inserted = {at: [_renamed(node, renames, taken) for node in group] for at, group in changes.inserted.items()}
    constants = [_named(tensor, taken.get(tensor.name, tensor.name)) for tensor in changes.constants]
    if not isinstance(body, FunctionProto):
        if changes.dropped:
            _assign_repeated(body.initializer, [t for t in body.initializer if t.name not in changes.dropped])
            _assign_repeated(
                body.sparse_initializer, [t for t in body.sparse_initializer if t.values.name not in changes.dropped]
            )
            _assign_repeated(body.input, [value for value in body.input if value.name not in changes.dropped])
        if ir_version >= _INITIALIZERS_NEED_NO_INPUT:
            body.initializer.extend(constants)
            constants = []
    if constants:
        nodes = [helper.make_node("Constant", [], [t.name], value=_named(t, "")) for t in constants]
        inserted[0] = nodes + inserted.get(0, [])
    if inserted or changes.removed:
        kept: list[NodeProto] = []
        for position, node in enumerate(body.node):
            kept += inserted.get(position, [])
            if position not in changes.removed:
                kept.append(node)
        _assign_repeated(body.node, [*kept, *inserted.get(len(body.node), [])])
    if any(value.name in changes.removed_values for value in body.value_info):
        _assign_repeated(
            body.value_info, [value for value in body.value_info if value.name not in changes.removed_values]
        )
    assert changes.removed_values.isdisjoint(_outputs(body)), "an output of the graph is still defined"


def _assign_repeated(field: Any, messages: Iterable[Message]) -> None:
    """Set the repeated `field` to `messages` in one pass; removing entries one by one would take quadratic time."""
    copies = list(messages)
    del field[:]
    for message in copies:
        field.add().CopyFrom(message)  # works at any depth: `extend` would serialise and parse the message


def _renamed(node: NodeProto, reads: Mapping[str, str], writes: Mapping[str, str]) -> NodeProto:
    """A copy of `node` with inputs renamed by `reads`, also in its subgraphs, and outputs renamed by `writes`."""
    holder = FunctionProto()
    copy: NodeProto = holder.node.add()
    copy.CopyFrom(node)
    if reads:
        _redirect(holder, reads)
    for position, name in enumerate(copy.output):
        copy.output[position] = writes.get(name, name)
    return copy


def _named(tensor: TensorProto, name: str) -> TensorProto:
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.name = name
    return copy


def _import_opset(model: ModelProto, edit: ImportOpset) -> None:
    holder = model.functions[edit.path.position] if edit.path.root is Root.FUNCTION else model
    for entry in holder.opset_import:
        if plain_domain(entry.domain) == plain_domain(edit.domain):
            entry.version = edit.version
            return
    holder.opset_import.add(domain=edit.domain, version=edit.version)
