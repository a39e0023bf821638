"""What nobody reads any more once a pass has taken reads away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from onnx import NodeProto, TensorProto

from gather_infer.model.edits import Edit, RemoveInitializer, RemoveNode
from gather_infer.model.index import Use
from gather_infer.passes.subject import Subject, is_constant
from gather_infer.places import GraphPath

UNREAD: Final = "nothing reads it any more"


@dataclass(slots=True)
class Dead:
    """Positions of nodes, each with the reason, and names of initializers that go, by graph."""

    nodes: dict[GraphPath, dict[int, str]] = field(default_factory=dict)
    initializers: dict[GraphPath, set[str]] = field(default_factory=dict)

    def edits(self, by: str) -> Iterator[Edit]:
        """Their removal."""
        for path, reasons in self.nodes.items():
            for position, reason in sorted(reasons.items()):
                yield RemoveNode(by=by, reason=reason, path=path, node=position)
        for path, names in self.initializers.items():
            for name in sorted(names):
                yield RemoveInitializer(by=by, reason=UNREAD, path=path, name=name)


def find_dead(
    subject: Subject, candidates: Iterable[tuple[GraphPath, str]], is_gone: Callable[[GraphPath, Use], bool]
) -> Dead:
    """The constants, and questions about shapes, that are read by nobody but reads that are gone.

    candidates   (graph that reads, name) of the values that may have lost their last reader
    is_gone      whether a pass takes a read of a graph away
    """
    dead = Dead()

    def is_read(path: GraphPath, name: str) -> bool:
        return subject.is_kept(path, name) or any(
            not is_gone(reader, use) and use.node not in dead.nodes.get(reader, ())
            for reader, use in subject.index.readers(path, name)
        )

    pending = list(candidates)
    while pending:
        path, name = pending.pop()
        home = subject.index.home(path, name) if name else None
        if home is None or home.path not in subject.graphs or is_read(home.path, name):
            continue
        position = home.producers.get(name)
        if position is None:
            if isinstance(subject.find(home.path, name), TensorProto):
                dead.initializers.setdefault(home.path, set()).add(name)
            continue
        node = subject.graphs[home.path].node[position]
        if position not in dead.nodes.get(home.path, ()) and _is_only_read(subject, node):
            dead.nodes.setdefault(home.path, {})[position] = UNREAD
            pending += [(home.path, needed) for needed in node.input]
    return dead


def _is_only_read(subject: Subject, node: NodeProto) -> bool:
    """Whether a node cannot fail and does nothing but to be read."""
    return is_constant(node) or subject.traits(node).tells_dims
