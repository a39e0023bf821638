"""Apply the edits of a pass to a copy of the model, all at once, in time linear in the size of the model."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf.message import Message
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper

from gather_infer.domains import plain_domain
from gather_infer.model.edits import (
    AddInitializer,
    AddInput,
    AddOutput,
    AppendModel,
    DeclareType,
    Edit,
    ImportOpset,
    InsertNodes,
    Journal,
    RemoveAnnotation,
    RemoveFunction,
    RemoveImport,
    RemoveInitializer,
    RemoveInput,
    RemoveNode,
    RemoveOutput,
    RenameDim,
    RenameNode,
    RenameValue,
    SetMetadata,
)
from gather_infer.model.paths import GraphOrFunction, graph_at
from gather_infer.model.renaming import rename_dims, rename_values
from gather_infer.model.tensors import fed_inputs, initializers_of
from gather_infer.node_ids import MAIN, GraphPath, Root

_INITIALIZERS_NEED_NO_INPUT: Final = 4
"""The IR version from which an initializer need not be an input."""
_IR_VERSIONS: Final = {23: 11, 24: 12, 25: 13, 26: 13}
"""Opset of ai.onnx -> the lowest IR version that has its element types, for the opsets since 23."""


@dataclass(slots=True, eq=False)
class _Changes:
    """The edits of one graph.

    constants       tensors to add
    inserted        position -> nodes to insert before the node there
    removed         positions of the nodes to remove
    dropped         names of the initializers to remove
    inputs, outputs  those to add
    removed_inputs, removed_outputs  names of those to remove
    removed_annotations  values whose quantization annotation to remove
    types           value -> its type to declare
    removed_values  names whose definition is removed and not added again
    """

    constants: list[TensorProto] = field(default_factory=list)
    inserted: dict[int, list[NodeProto]] = field(default_factory=dict)
    removed: set[int] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    inputs: list[AddInput] = field(default_factory=list)
    outputs: list[ValueInfoProto] = field(default_factory=list)
    removed_inputs: set[str] = field(default_factory=set)
    removed_outputs: set[str] = field(default_factory=set)
    removed_annotations: set[str] = field(default_factory=set)
    types: dict[str, TypeProto] = field(default_factory=dict)
    removed_values: set[str] = field(default_factory=set)


def apply(journal: Journal, model: ModelProto) -> ModelProto:
    """A copy of `model` with the edits of `journal` applied; messages that no edit concerns are unchanged."""
    result = ModelProto()
    result.CopyFrom(model)
    plan: dict[GraphPath, list[Edit]] = {}
    for edit in journal.edits:
        if isinstance(edit, ImportOpset):
            _import_opset(result, edit)
        elif isinstance(edit, RemoveImport):
            _remove_import(result, edit)
        elif isinstance(edit, SetMetadata):
            _set_metadata(result, edit)
        elif not isinstance(edit, (AppendModel, RemoveFunction, RenameValue, RenameDim, RenameNode)):
            plan.setdefault(edit.path, []).append(edit)
    overridable = {value.name for value in fed_inputs(result)} if MAIN in plan else set()
    for path in sorted(plan, key=lambda p: -len(p.steps)):  # inner graphs first, while every path leads to its graph
        body = graph_at(result, path)
        _apply_to(body, plan[path], result.ir_version, overridable if path == MAIN else _inputs(body))
    uncalled = {edit.function for edit in journal.edits if isinstance(edit, RemoveFunction)}
    if uncalled:  # last, because paths count the functions
        _assign_repeated(result.functions, [f for i, f in enumerate(result.functions) if i not in uncalled])
    _rename(result, journal)
    for edit in journal.edits:
        if isinstance(edit, AppendModel):
            _append(result, edit.model)
    return result


def _append(model: ModelProto, other: ModelProto) -> None:
    """Append the parts of another model to those of `model`."""
    if model.ir_version < _INITIALIZERS_NEED_NO_INPUT <= other.ir_version:
        _remove_constant_inputs(model.graph)
    inputs = list(other.graph.input)
    if other.ir_version < _INITIALIZERS_NEED_NO_INPUT <= model.ir_version:
        held = initializers_of(other.graph)
        inputs = [value for value in inputs if value.name not in held]
    graph, new = model.graph, other.graph
    graph.input.extend(inputs)
    for name in ("node", "initializer", "sparse_initializer", "output", "value_info", "quantization_annotation"):
        getattr(graph, name).extend(getattr(new, name))
    for holder, entries in ((model, other.metadata_props), (graph, new.metadata_props)):
        known = {entry.key for entry in holder.metadata_props}
        holder.metadata_props.extend(entry for entry in entries if entry.key not in known)
    functions = {(plain_domain(f.domain), f.name, f.overload) for f in model.functions}
    model.functions.extend(f for f in other.functions if (plain_domain(f.domain), f.name, f.overload) not in functions)
    domains = {plain_domain(entry.domain) for entry in model.opset_import}
    model.opset_import.extend(entry for entry in other.opset_import if plain_domain(entry.domain) not in domains)
    model.ir_version = max(model.ir_version, other.ir_version)


def _remove_constant_inputs(graph: GraphProto) -> None:
    """Remove the inputs that have an initializer: from IR version 4 on, callers could override them."""
    held = initializers_of(graph)
    _assign_repeated(graph.input, [value for value in graph.input if value.name not in held])


def _rename(model: ModelProto, journal: Journal) -> None:
    """Apply the edits that change names, all at once: names may be exchanged. Other edits have the old names."""
    for edit in journal.edits:
        if isinstance(edit, RenameNode):
            graph_at(model, edit.path).node[edit.node].name = edit.new
    values = {edit.old: edit.new for edit in journal.edits if isinstance(edit, RenameValue)}
    if values:
        rename_values(model, values)
    dims: dict[str, str | int] = {edit.old: edit.new for edit in journal.edits if isinstance(edit, RenameDim)}
    if dims:
        rename_dims(model, dims)


def apply_to(body: GraphOrFunction, edits: Iterable[Edit], ir_version: int) -> None:
    """Apply `edits` to the subgraph `body` in place. No edit may concern a subgraph of it, or the opset imports."""
    _apply_to(body, edits, ir_version, _inputs(body))


def _apply_to(body: GraphOrFunction, edits: Iterable[Edit], ir_version: int, required_inputs: Set[str]) -> None:
    changes = _Changes()
    for edit in edits:
        _collect(changes, edit)
    _find_removed_values(changes, body, required_inputs)
    _rebuild(body, changes, ir_version)
    _declare(body, changes)


def _collect(changes: _Changes, edit: Edit) -> None:
    match edit:
        case AddInitializer():
            changes.constants.append(edit.tensor)
        case InsertNodes():
            changes.inserted.setdefault(edit.before, []).extend(edit.nodes)
        case RemoveNode():
            changes.removed.add(edit.node)
        case RemoveInitializer():
            changes.dropped.add(edit.name)
        case AddInput():
            changes.inputs.append(edit)
        case AddOutput():
            changes.outputs.append(edit.value)
        case RemoveInput():
            changes.removed_inputs.add(edit.name)
        case RemoveOutput():
            changes.removed_outputs.add(edit.name)
        case RemoveAnnotation():
            changes.removed_annotations.add(edit.name)
        case DeclareType():
            changes.types[edit.name] = edit.type


def _inputs(body: GraphOrFunction) -> set[str]:
    return set(body.input) if isinstance(body, FunctionProto) else {value.name for value in body.input}


def _find_removed_values(changes: _Changes, body: GraphOrFunction, required_inputs: Set[str]) -> None:
    """Fill `changes.removed_values`; no edit may remove an initializer whose name is in `required_inputs`."""
    assert all(0 <= position < len(body.node) for position in changes.removed), "a removed node is in its graph"
    assert all(0 <= before <= len(body.node) for before in changes.inserted), "new nodes have a position in the graph"
    gone = {name for position in changes.removed for name in body.node[position].output if name} | changes.dropped
    gone |= changes.removed_inputs
    made = _defined_names(changes)
    kept = {name for i, node in enumerate(body.node) if i not in changes.removed for name in node.output}
    if not isinstance(body, FunctionProto):
        needed = required_inputs - changes.removed_inputs
        assert not changes.dropped & needed, "an initializer that a caller may override stays"
        kept |= {tensor.name for tensor in body.initializer} - changes.dropped
        kept |= {value.name for value in body.input} - changes.dropped - changes.removed_inputs
    assert len(set(made)) == len(made) and not kept.intersection(made), "a new value has a new name"
    changes.removed_values = gone - set(made)


def _defined_names(changes: _Changes) -> list[str]:
    """Names of the constants, inputs and node outputs that `changes` adds."""
    nodes = [node for group in changes.inserted.values() for node in group]
    names = [tensor.name for tensor in changes.constants] + [edit.value.name for edit in changes.inputs]
    return names + [name for node in nodes for name in node.output if name]


def _rebuild(body: GraphOrFunction, changes: _Changes, ir_version: int) -> None:
    inserted = dict(changes.inserted)
    constants = changes.constants
    if not isinstance(body, FunctionProto):
        if changes.dropped:
            _assign_repeated(body.initializer, [t for t in body.initializer if t.name not in changes.dropped])
            _assign_repeated(
                body.sparse_initializer, [t for t in body.sparse_initializer if t.values.name not in changes.dropped]
            )
        lost = changes.dropped | changes.removed_inputs
        if lost:
            _assign_repeated(body.input, [value for value in body.input if value.name not in lost])
        if ir_version >= _INITIALIZERS_NEED_NO_INPUT:
            body.initializer.extend(constants)
            constants = []
        body.input.extend(edit.value for edit in changes.inputs)
        body.initializer.extend(edit.default for edit in changes.inputs if edit.default is not None)
        _rebuild_outputs(body, changes)
    if constants:
        nodes = [helper.make_node("Constant", [], [t.name], value=_unnamed(t)) for t in constants]
        inserted[0] = nodes + inserted.get(0, [])
    if inserted or changes.removed:
        kept: list[NodeProto] = []
        for position, node in enumerate(body.node):
            kept += inserted.get(position, [])
            if position not in changes.removed:
                kept.append(node)
        _assign_repeated(body.node, [*kept, *inserted.get(len(body.node), [])])
    _remove_declarations(body, changes)
    assert changes.removed_values.isdisjoint(_outputs(body)), "an output of the graph is still defined"


def _rebuild_outputs(graph: GraphProto, changes: _Changes) -> None:
    """Remove and add outputs; the declaration of a removed output stays if the value does."""
    if changes.removed_outputs:
        lost = [value for value in graph.output if value.name in changes.removed_outputs]
        _assign_repeated(graph.output, [v for v in graph.output if v.name not in changes.removed_outputs])
        declared = {value.name for value in (*graph.input, *graph.output, *changes.outputs, *graph.value_info)}
        graph.value_info.extend(v for v in lost if v.name not in declared | changes.removed_values)
    graph.output.extend(changes.outputs)


def _remove_declarations(body: GraphOrFunction, changes: _Changes) -> None:
    """Remove the `value_info` of values that are gone or are declared as new inputs or outputs; and annotations."""
    interface = {edit.value.name for edit in changes.inputs} | {value.name for value in changes.outputs}
    lost = changes.removed_values | interface
    if any(value.name in lost for value in body.value_info):
        _assign_repeated(body.value_info, [value for value in body.value_info if value.name not in lost])
    if isinstance(body, GraphProto) and changes.removed_annotations:
        kept = [each for each in body.quantization_annotation if each.tensor_name not in changes.removed_annotations]
        _assign_repeated(body.quantization_annotation, kept)


def _declare(body: GraphOrFunction, changes: _Changes) -> None:
    """Declare the types in `changes`, in a new `value_info` where the value has no declaration."""
    if not changes.types:
        return
    declared = set()
    interface = () if isinstance(body, FunctionProto) else (*body.input, *body.output)
    for value in (*interface, *body.value_info):
        if value.name in changes.types:
            value.type.CopyFrom(changes.types[value.name])
            declared.add(value.name)
    body.value_info.extend(ValueInfoProto(name=n, type=t) for n, t in changes.types.items() if n not in declared)


def _outputs(body: GraphOrFunction) -> list[str]:
    return list(body.output) if isinstance(body, FunctionProto) else [value.name for value in body.output]


def _assign_repeated(field: Any, messages: Iterable[Message]) -> None:
    """Set the repeated `field` to `messages` in one pass; removing entries one by one would take quadratic time."""
    copies = list(messages)
    del field[:]
    for message in copies:
        field.add().CopyFrom(message)  # works at any depth: `extend` would serialise and parse the message


def _unnamed(tensor: TensorProto) -> TensorProto:
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.name = ""
    return copy


def _import_opset(model: ModelProto, edit: ImportOpset) -> None:
    holder = model.functions[edit.path.position] if edit.path.root is Root.FUNCTION else model
    if not plain_domain(edit.domain):
        model.ir_version = max(model.ir_version, _IR_VERSIONS.get(edit.version, 0))
    for entry in holder.opset_import:
        if plain_domain(entry.domain) == plain_domain(edit.domain):
            entry.version = edit.version
            return
    holder.opset_import.add(domain=edit.domain, version=edit.version)


def _remove_import(model: ModelProto, edit: RemoveImport) -> None:
    holder = model.functions[edit.path.position] if edit.path.root is Root.FUNCTION else model
    kept = [entry for entry in holder.opset_import if plain_domain(entry.domain) != plain_domain(edit.domain)]
    _assign_repeated(holder.opset_import, kept)


def _set_metadata(model: ModelProto, edit: SetMetadata) -> None:
    """Set an entry in place, so that the others keep their order."""
    if edit.value is None:
        _assign_repeated(model.metadata_props, [entry for entry in model.metadata_props if entry.key != edit.key])
        return
    for entry in model.metadata_props:
        if entry.key == edit.key:
            entry.value = edit.value
            return
    model.metadata_props.add(key=edit.key, value=edit.value)
