"""Dead code elimination for passes that edit the file directly, without a mutable model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from onnx import TensorProto

from gather_infer import ir
from gather_infer.ir import Graph, Node, Use
from gather_infer.model.edits import Edit, RemoveInitializer, RemoveNode
from gather_infer.node_ids import GraphPath, Root
from gather_infer.passes.mutable_model import MutableModel
from gather_infer.passes.pass_input import PassInput

DEAD_CODE_REASON: Final = "nothing reads it any more"


@dataclass(slots=True)
class DeadCode:
    """The dead nodes and initializers of a model.

    nodes         path of a graph -> position of a dead node -> why it is removed
    initializers  path of a graph -> names of its dead initializers
    """

    nodes: dict[GraphPath, dict[int, str]] = field(default_factory=dict)
    initializers: dict[GraphPath, set[str]] = field(default_factory=dict)

    def edits(self, by: str) -> Iterator[Edit]:
        """The edits that remove the dead nodes and initializers."""
        for path, reasons in self.nodes.items():
            for position, reason in sorted(reasons.items()):
                yield RemoveNode(by=by, reason=reason, path=path, node=position)
        for path, names in self.initializers.items():
            for name in sorted(names):
                yield RemoveInitializer(by=by, reason=DEAD_CODE_REASON, path=path, name=name)


def find_dead_code(
    model: MutableModel, candidates: Iterable[tuple[Graph, str]], is_gone: Callable[[Use], bool]
) -> DeadCode:
    """The initializers, Constant, Shape and Size nodes that are dead once a pass has removed some uses of values.

    model        without edits
    candidates   (reading graph, name) of the values that may have lost their last use; the search goes from these
                 backwards
    is_gone      whether the pass removes the given use
    """
    dead = DeadCode()
    removed: set[Node] = set()

    def is_read(value: ir.Value) -> bool:
        graph, name = value.graph, value.name
        is_given = name in graph.input_set and name not in graph.constants
        return (
            is_given
            or graph.is_fixed(name)
            or value.is_output
            or any(use.node not in removed and not is_gone(use) for use in value.uses())
        )

    pending = list(candidates)
    while pending:
        graph, name = pending.pop()
        value = graph.value(name)
        if value is None or value.graph.path.root is not Root.GRAPH or is_read(value):
            continue
        home, node = value.graph, value.producer
        if node is None:
            if isinstance(home.constants.get(name), TensorProto):
                dead.initializers.setdefault(home.path, set()).add(name)
            continue
        if node not in removed and _has_no_effect(model.pass_input, node):
            assert node.origin is not None, "the model has no edits"
            removed.add(node)
            dead.nodes.setdefault(home.path, {})[node.origin] = DEAD_CODE_REASON
            pending += [(home, needed) for needed in node.inputs]
    return dead


def _has_no_effect(pass_input: PassInput, node: Node) -> bool:
    """Whether a node is known to have no side effect and never to fail: a Constant, Shape or Size."""
    return node.is_constant or pass_input.traits(node.proto).outputs_dims
