"""The worklist of the driver, with dependency tracking."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

from gather_infer.passes.mutable_model import Node


class Worklist:
    """A queue of nodes, first in, first out, each at most once.

    The dependencies of a node are the nodes and values (by name) that the rules examined when none of them matched. The
    node is enqueued again when one of them changes.
    """

    def __init__(self) -> None:
        self._nodes: deque[Node] = deque()
        self._queued: set[Node] = set()
        self._to_infer: set[Node] = set()
        self._dependents: dict[Hashable, dict[Node, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: Node) -> None:
        """Enqueue a node, unless it is in the queue already or has been removed."""
        if node not in self._queued and not node.is_removed:
            self._queued.add(node)
            self._nodes.append(node)

    def add_all(self, nodes: Iterable[Node]) -> bool:
        """As `add`, for several nodes. Returns whether the queue holds any node now."""
        for node in nodes:
            self.add(node)
        return bool(self._nodes)

    def pop(self) -> Node:
        """Dequeue the first node, which may have been removed from the model. Raises IndexError when the queue is
        empty.
        """
        node = self._nodes.popleft()
        self._queued.discard(node)
        return node

    def mark_for_inference(self, node: Node) -> None:
        """Mark a node for inference: the facts about its inputs may have changed."""
        self._to_infer.add(node)

    def unmark_for_inference(self, node: Node) -> bool:
        """Remove the mark of a node. Returns whether it was marked."""
        is_marked = node in self._to_infer
        self._to_infer.discard(node)
        return is_marked

    def record_dependencies(self, node: Node, dependencies: Iterable[Hashable]) -> None:
        """Record the dependencies of a node that no rule matched."""
        for each in dependencies:
            self._dependents.setdefault(each, {})[node] = None

    def enqueue_dependents(self, changed: Hashable) -> None:
        """Enqueue a changed node, and all nodes that depend on it or on a value of this name."""
        if isinstance(changed, Node):
            self.add(changed)
        # The entry is dropped: a node records its dependencies again when no rule matches it.
        for node in self._dependents.pop(changed, ()):
            self.add(node)
