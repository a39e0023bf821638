"""What a pass wants to change, as data: addressed by graph path and position, with who, why and at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TypeAlias

from onnx import ModelProto, NodeProto, TensorProto

from gather_infer.domains import qualified
from gather_infer.model.paths import graph_at, label_of
from gather_infer.places import MAIN, GraphPath


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """`cost`: bytes that the model grows by, negative when it shrinks. Positions are those before any edit."""

    by: str
    reason: str
    path: GraphPath = MAIN
    cost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceUses(_Edit):
    """Whoever reads `old`, defined in the graph or seen by it, reads `new` instead; both always hold the same.

    Inserted nodes are not touched (they may compute `new` from `old`), unless `old` goes in the same journal.
    An output of the graph called `old` keeps its name: what the journal adds as `new` takes the name over, another
    value is passed on by an Identity once the node that wrote `old` is removed.
    """

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddInitializer(_Edit):
    """A new constant. Its name is new, or that of a value whose node or initializer goes in the same journal.

    It becomes a Constant node in a function, which has no initializers, and before IR version 4, where each
    initializer is an input as well: the interface of the model must not change.
    """

    tensor: TensorProto


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertNodes(_Edit):
    """New nodes, in order, right before the node at `before`; the number of nodes means the end.

    origin   the position of a removed node that the only new one is, with other inputs or outputs or elsewhere
    """

    nodes: tuple[NodeProto, ...]
    before: int
    origin: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode(_Edit):
    """The node at `node` goes. Outputs that are still read must be replaced or defined anew."""

    node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveInitializer(_Edit):
    """An initializer, dense or sparse, goes.

    Before IR version 4 each is an input of the main graph as well, which nobody feeds and which goes with it. From then
    on, and in subgraphs, one that is an input stays: the input would become required.
    """

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOpset(_Edit):
    """The model, or the function that `path` is in, imports `version` of `domain`."""

    domain: str
    version: int


Edit: TypeAlias = "ReplaceUses | AddInitializer | InsertNodes | RemoveNode | RemoveInitializer | ImportOpset"


@dataclass(slots=True)
class Journal:
    """The edits of one pass, in the order in which it asked for them."""

    edits: list[Edit] = field(default_factory=list)

    def add(self, *edits: Edit) -> None:
        self.edits += edits

    def __len__(self) -> int:
        return len(self.edits)

    @property
    def cost(self) -> int:
        """Bytes that the model grows by, as the passes say."""
        return sum(edit.cost for edit in self.edits)

    def describe(self, model: ModelProto) -> list[str]:
        """A line per edit of `model`, as `--dry-run` prints them; one for a node that takes the place of another."""
        lines: list[str] = []
        places = self._taken_places(model)
        told = {id(node) for _, node in places.values()}
        for edit in self.edits:
            if isinstance(edit, InsertNodes) and edit.origin is None:
                edit = replace(edit, nodes=tuple(node for node in edit.nodes if id(node) not in told))
            if isinstance(edit, InsertNodes) and (not edit.nodes or edit.origin is not None):
                continue
            if isinstance(edit, RemoveNode) and (edit.path, edit.node) in places:
                insert, node = places[edit.path, edit.node]
                lines.append(_line(insert, _replaced(_removed(edit, model), node, insert), model))
            else:
                lines.append(_line(edit, _what(edit, model), model))
        return lines

    def _taken_places(self, model: ModelProto) -> dict[tuple[GraphPath, int], tuple[InsertNodes, NodeProto]]:
        """By a removed node the one in its place: the same one changed, or one that writes what it has written."""
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
                names = [name for name in _removed(edit, model).output if (edit.path, name) in writers]
                if names:
                    found[edit.path, edit.node] = writers[edit.path, names[0]]
        return found


def _removed(edit: RemoveNode, model: ModelProto) -> NodeProto:
    node: NodeProto = graph_at(model, edit.path).node[edit.node]
    return node


def _line(edit: Edit, what: str, model: ModelProto) -> str:
    label = label_of(model, edit.path)
    where = f" in {label}" if label else ""
    cost = f" ({edit.cost:+d} bytes)" if edit.cost else ""
    return f"{edit.by}: {what}{where}: {edit.reason}{cost}"


def _what(edit: Edit, model: ModelProto) -> str:
    match edit:
        case ReplaceUses():
            return f"read {edit.new} instead of {edit.old}"
        case AddInitializer():
            type_name = TensorProto.DataType.Name(edit.tensor.data_type).lower()
            return f"add {edit.tensor.name} {type_name}[{', '.join(map(str, edit.tensor.dims))}]"
        case InsertNodes():
            return f"insert {', '.join(map(_made, edit.nodes))}"
        case RemoveNode():
            return f"remove {_called(_removed(edit, model))}"
        case RemoveInitializer():
            return f"remove {edit.name}"
        case ImportOpset():
            return f"import opset {edit.version} of {edit.domain or 'ai.onnx'}"


def _replaced(old: NodeProto, new: NodeProto, edit: InsertNodes) -> str:
    """What becomes of a node in whose place another one stands, or the same one as it is now."""
    is_alike = (old.domain, old.op_type, list(old.attribute)) == (new.domain, new.op_type, list(new.attribute))
    if edit.origin is not None or is_alike:
        return _changed(old, new)
    return f"replace {_called(old)} by {_made(new)}"


def _changed(old: NodeProto, new: NodeProto) -> str:
    """How a node differs from what it was."""
    reads = _renamed(old.input, new.input)
    writes = _renamed(old.output, new.output)
    if writes and not reads:
        return f"rename {' and '.join(f'{before} to {after}' for before, after in writes)}, of {_called(old)}"
    if reads or writes:
        parts = [f"read {after or 'nothing'} instead of {before or 'nothing'}" for before, after in reads]
        parts += [f"write {after or 'nothing'} instead of {before or 'nothing'}" for before, after in writes]
        return f"let {_called(old)} {' and '.join(parts)}"
    return f"{'move' if list(old.attribute) == list(new.attribute) else 'change'} {_called(old)}"


def _renamed(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, str]]:
    """The names of a list that are others now, each pair once."""
    return list(dict.fromkeys((a, b) for a, b in zip_longest(old, new, fillvalue="") if a != b))


def _called(node: NodeProto) -> str:
    return f"{qualified(node.domain, node.op_type)} {node.name or _outputs(node)}"


def _made(node: NodeProto) -> str:
    return f"{qualified(node.domain, node.op_type)} -> {_outputs(node)}"


def _outputs(node: NodeProto) -> str:
    return ", ".join(filter(None, node.output))
