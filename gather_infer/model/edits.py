"""Edits of a pass as data: each edit holds the path of its graph, the name of the pass, a reason and a cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TypeAlias

from onnx import ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from gather_infer.domains import qualified
from gather_infer.model.paths import graph_at, label_of
from gather_infer.node_ids import MAIN, GraphPath
from gather_infer.tensor import DType


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Edit:
    """An edit of the graph `path`. Node positions are those in the unedited model.

    by      name of the pass
    reason  shown after the edit by `--dry-run`
    cost    bytes by which the edit makes the model larger; negative if it makes the model smaller
    """

    by: str
    reason: str
    path: GraphPath = MAIN
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddInitializer(_Edit):
    """Add a constant under a new name, or the name of a value whose node or initializer the same journal removes.

    The constant becomes an initializer. It becomes a Constant node in a function, which has no initializers, and before
    IR version 4, where an initializer must also be an input of the model.
    """

    tensor: TensorProto


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InsertNodes(_Edit):
    """Insert nodes, in order, directly before the node at `before`; at the end if `before` is the number of nodes.

    origin   position of a removed node, if `nodes` is one changed or moved copy of that node; else None
    """

    nodes: tuple[NodeProto, ...]
    before: int
    origin: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveNode(_Edit):
    """Remove the node at position `node`. The journal must replace or redefine outputs that are still read."""

    node: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveInitializer(_Edit):
    """Remove an initializer, dense or sparse.

    Before IR version 4 every initializer of the main graph is also an input, which callers do not feed; that input is
    removed too. From version 4 on, and in subgraphs, an initializer that is also an input must not be removed: the
    input would become required.
    """

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportOpset(_Edit):
    """Import `version` of `domain`, replacing any other version, in the model or in the function of `path`."""

    domain: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveImport(_Edit):
    """Remove the import of `domain` from the model or from the function of `path`; no node is in this domain."""

    domain: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddInput(_Edit):
    """Append an input to the graph under a new name, or the name of a value whose node the same journal removes.

    default   an initializer of the same name, for callers that do not feed the input; None if they have to feed it
    """

    value: ValueInfoProto
    default: TensorProto | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveInput(_Edit):
    """Remove an input that no node reads."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddOutput(_Edit):
    """Append an output to the graph."""

    value: ValueInfoProto


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveOutput(_Edit):
    """Remove an output from the graph; its declaration moves to `value_info` if the graph still defines the value."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveAnnotation(_Edit):
    """Remove the quantization annotation of a value that the graph does not define any more."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoveFunction(_Edit):
    """Remove the function at position `function` of the model, which no node calls."""

    function: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetMetadata(_Edit):
    """Set the entry of the model's `metadata_props` with this key; None removes it."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AppendModel(_Edit):
    """Append the graph of another model, with its functions, imports and metadata, after all other edits.

    Names that it defines are new, and names that it reads may be those of the main graph. Its imports have the versions
    of the model. Functions and entries of the metadata that the model has already are left out.
    """

    model: ModelProto


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenameValue(_Edit):
    """Rename a value of the main graph, also where subgraphs and training graphs refer to it."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenameDim(_Edit):
    """Replace a dim_param, a name or an expression, wherever it occurs in a type; a number makes the dim static."""

    old: str
    new: str | int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenameNode(_Edit):
    """Give the node at position `node` the name `new`."""

    node: int
    new: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeclareType(_Edit):
    """Declare the type of a value: of an input or output in its declaration, of any other value in `value_info`."""

    name: str
    type: TypeProto


Edit: TypeAlias = (
    "AddInitializer | InsertNodes | RemoveNode | RemoveInitializer | ImportOpset | RemoveImport"
    " | AddInput | RemoveInput | AddOutput | RemoveOutput | RemoveFunction | RemoveAnnotation | SetMetadata"
    " | AppendModel | RenameValue | RenameDim | RenameNode | DeclareType"
)


@dataclass(slots=True, eq=False)
class Journal:
    """The edits of one pass, in the order in which the pass added them."""

    edits: list[Edit] = field(default_factory=list)

    def add(self, *edits: Edit) -> None:
        self.edits += edits

    def __len__(self) -> int:
        return len(self.edits)

    @property
    def cost(self) -> int:
        """Bytes by which all edits together make the model larger, as estimated by the passes."""
        return sum(edit.cost for edit in self.edits)

    def describe(self, model: ModelProto) -> list[str]:
        """Lines of text for `--dry-run`: one per edit, but one for a removed node together with its replacement."""
        lines: list[str] = []
        replacements = self._replacements(model)
        replacing = {id(node) for _, node in replacements.values()}
        for edit in self.edits:
            if isinstance(edit, InsertNodes) and edit.origin is None:
                edit = replace(edit, nodes=tuple(node for node in edit.nodes if id(node) not in replacing))
            if isinstance(edit, InsertNodes) and (not edit.nodes or edit.origin is not None):
                continue
            if isinstance(edit, RemoveNode) and (edit.path, edit.node) in replacements:
                insert, node = replacements[edit.path, edit.node]
                lines.append(_line(insert, _replacement_text(_removed_node(edit, model), node, insert), model))
            else:
                lines.append(_line(edit, _description(edit, model), model))
        return lines

    def _replacements(self, model: ModelProto) -> dict[tuple[GraphPath, int], tuple[InsertNodes, NodeProto]]:
        """(path, position) of each removed node -> the edit that inserts its replacement, and the inserted node.

        The replacement is the node of the edit whose `origin` is the removed node, else an inserted node that writes an
        output of the removed node. A removed node without a replacement has no entry.
        """
        inserted = [edit for edit in self.edits if isinstance(edit, InsertNodes)]
        found = {(edit.path, edit.origin): (edit, edit.nodes[0]) for edit in inserted if edit.origin is not None}
        writers = {
            (edit.path, name): (edit, node)
            for edit in inserted
            for node in (edit.nodes if edit.origin is None else ())
            for name in filter(None, node.output)
        }
        for edit in self.edits:
            if isinstance(edit, RemoveNode) and (edit.path, edit.node) not in found:
                names = [name for name in _removed_node(edit, model).output if (edit.path, name) in writers]
                if names:
                    found[edit.path, edit.node] = writers[edit.path, names[0]]
        return found


def _removed_node(edit: RemoveNode, model: ModelProto) -> NodeProto:
    node: NodeProto = graph_at(model, edit.path).node[edit.node]
    return node


def _line(edit: Edit, description: str, model: ModelProto) -> str:
    label = label_of(model, edit.path)
    where = f" in {label}" if label else ""
    cost = f" ({edit.cost:+d} bytes)" if edit.cost else ""
    return f"{edit.by}: {description}{where}: {edit.reason}{cost}"


def _description(edit: Edit, model: ModelProto) -> str:
    match edit:
        case AddInitializer():
            type_name = DType(edit.tensor.data_type).onnx_name
            return f"add {edit.tensor.name} {type_name}[{', '.join(map(str, edit.tensor.dims))}]"
        case InsertNodes():
            return f"insert {', '.join(map(_node_signature, edit.nodes))}"
        case RemoveNode():
            return f"remove {_node_label(_removed_node(edit, model))}"
        case RemoveInitializer():
            return f"remove {edit.name}"
        case ImportOpset():
            return f"import opset {edit.version} of {edit.domain or 'ai.onnx'}"
        case RemoveImport():
            return f"remove the import of {edit.domain or 'ai.onnx'}"
        case AddInput():
            return f"add input {edit.value.name}"
        case RemoveInput():
            return f"remove input {edit.name}"
        case AddOutput():
            return f"add output {edit.value.name}"
        case RemoveOutput():
            return f"remove output {edit.name}"
        case RemoveAnnotation():
            return f"remove the quantization annotation of {edit.name}"
        case RemoveFunction():
            function = model.functions[edit.function]
            return f"remove function {qualified(function.domain, function.name)}"
        case SetMetadata():
            return f"{'remove' if edit.value is None else 'set'} metadata {edit.key}"
        case AppendModel():
            return f"append {len(edit.model.graph.node)} nodes of {edit.model.graph.name or 'a graph'}"
        case RenameValue():
            return f"rename {edit.old} to {edit.new}"
        case RenameDim():
            return f"rename dim {edit.old} to {edit.new}"
        case RenameNode():
            return f"rename node {graph_at(model, edit.path).node[edit.node].name} to {edit.new}"
        case DeclareType():
            return f"declare the type of {edit.name}"


def _replacement_text(old: NodeProto, new: NodeProto, edit: InsertNodes) -> str:
    """Text for the replacement of node `old` by `new`, a changed form of `old` or another node."""
    is_alike = (old.domain, old.op_type, list(old.attribute)) == (new.domain, new.op_type, list(new.attribute))
    if edit.origin is not None or is_alike:
        return _change_text(old, new)
    return f"replace {_node_label(old)} by {_node_signature(new)}"


def _change_text(old: NodeProto, new: NodeProto) -> str:
    """Text for the change of a node from `old` to `new`."""
    reads = _renamed_pairs(old.input, new.input)
    writes = _renamed_pairs(old.output, new.output)
    if writes and not reads:
        return f"rename {' and '.join(f'{before} to {after}' for before, after in writes)}, of {_node_label(old)}"
    if reads or writes:
        parts = [f"read {after or 'nothing'} instead of {before or 'nothing'}" for before, after in reads]
        parts += [f"write {after or 'nothing'} instead of {before or 'nothing'}" for before, after in writes]
        return f"let {_node_label(old)} {' and '.join(parts)}"
    return f"{'move' if list(old.attribute) == list(new.attribute) else 'change'} {_node_label(old)}"


def _renamed_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """Distinct pairs of an old and a new name at the same position that differ; "" fills up the shorter list."""
    return list(dict.fromkeys((a, b) for a, b in zip_longest(old, new, fillvalue="") if a != b))


def _node_label(node: NodeProto) -> str:
    return f"{qualified(node.domain, node.op_type)} {node.name or _outputs(node)}"


def _node_signature(node: NodeProto) -> str:
    return f"{qualified(node.domain, node.op_type)} -> {_outputs(node)}"


def _outputs(node: NodeProto) -> str:
    return ", ".join(filter(None, node.output))
