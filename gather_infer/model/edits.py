"""What a pass wants to change, as data: addressed by graph path and position, with who, why and at what cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from onnx import ModelProto, NodeProto, TensorProto

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
    """New nodes, in order, right before the node at `before`; the number of nodes means the end."""

    nodes: tuple[NodeProto, ...]
    before: int


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
        """A line per edit of `model`, as `--dry-run` prints them."""
        return [_line(edit, model) for edit in self.edits]


def _line(edit: Edit, model: ModelProto) -> str:
    label = label_of(model, edit.path)
    where = f" in {label}" if label else ""
    cost = f" ({edit.cost:+d} bytes)" if edit.cost else ""
    return f"{edit.by}: {_what(edit, model)}{where}: {edit.reason}{cost}"


def _what(edit: Edit, model: ModelProto) -> str:
    match edit:
        case ReplaceUses():
            return f"read {edit.new} instead of {edit.old}"
        case AddInitializer():
            type_name = TensorProto.DataType.Name(edit.tensor.data_type).lower()
            return f"add {edit.tensor.name} {type_name}[{', '.join(map(str, edit.tensor.dims))}]"
        case InsertNodes():
            return f"insert {', '.join(f'{node.op_type} -> {_outputs(node)}' for node in edit.nodes)}"
        case RemoveNode():
            node = graph_at(model, edit.path).node[edit.node]
            return f"remove {node.op_type} {node.name or _outputs(node)}"
        case RemoveInitializer():
            return f"remove {edit.name}"
        case ImportOpset():
            return f"import opset {edit.version} of {edit.domain or 'ai.onnx'}"


def _outputs(node: NodeProto) -> str:
    return ", ".join(filter(None, node.output))
