"""Dead code elimination for passes that edit the file directly, without a mutable model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from onnx import NodeProto, TensorProto

from gather_infer.model.edits import Edit, RemoveInitializer, RemoveNode
from gather_infer.model.index import Use
from gather_infer.node_ids import GraphPath
from gather_infer.passes.pass_input import PassInput, is_constant

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
    pass_input: PassInput, candidates: Iterable[tuple[GraphPath, str]], is_gone: Callable[[GraphPath, Use], bool]
) -> DeadCode:
    """The initializers, Constant, Shape and Size nodes that are dead once a pass has removed some uses of values.

    candidates   (path of the reading graph, name) of the values that may have lost their last use; the search goes
                 from these backwards
    is_gone      whether the pass removes the given use in the graph with the given path
    """
    dead = DeadCode()

    def is_read(path: GraphPath, name: str) -> bool:
        return pass_input.is_required(path, name) or any(
            not is_gone(reader, use) and use.node not in dead.nodes.get(reader, ())
            for reader, use in pass_input.index.readers(path, name)
        )

    pending = list(candidates)
    while pending:
        path, name = pending.pop()
        home = pass_input.index.defining_scope(path, name) if name else None
        if home is None or home.path not in pass_input.graphs or is_read(home.path, name):
            continue
        position = home.producers.get(name)
        if position is None:
            if isinstance(pass_input.find(home.path, name), TensorProto):
                dead.initializers.setdefault(home.path, set()).add(name)
            continue
        node = pass_input.graphs[home.path].node[position]
        if position not in dead.nodes.get(home.path, ()) and _has_no_effect(pass_input, node):
            dead.nodes.setdefault(home.path, {})[position] = DEAD_CODE_REASON
            pending += [(home.path, needed) for needed in node.input]
    return dead


def _has_no_effect(pass_input: PassInput, node: NodeProto) -> bool:
    """Whether a node is known to have no side effect and never to fail: a Constant, Shape or Size."""
    return is_constant(node) or pass_input.traits(node).outputs_dims
