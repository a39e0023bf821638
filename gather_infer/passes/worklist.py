"""The worklist of the driver, with dependency tracking."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

from gather_infer.passes.draft import Node


class Worklist:
    """A queue of nodes, first in, first out, each at most once.

    The dependencies of a node are the nodes and values (by name) that the rules examined when none of them matched. The
    node is enqueued again when one of them changes.
    """

    def __init__(self) -> None:
        self._nodes: deque[Node] = deque()
        self._waiting: set[Node] = set()
        self._marked: set[Node] = set()
        self._watched: dict[Hashable, dict[Node, None]] = {}

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: Node) -> None:
        """Enqueue a node, unless it is in the queue already or has been removed."""
        if node not in self._waiting and not node.is_gone:
            self._waiting.add(node)
            self._nodes.append(node)

    def take(self) -> Node:
        """The next node, which may have been removed by now. Raises IndexError when the queue is empty."""
        node = self._nodes.popleft()
        self._waiting.discard(node)
        return node

    def mark(self, node: Node) -> None:
        """Mark a node for inference: the facts about its inputs may have changed."""
        self._marked.add(node)

    def unmark(self, node: Node) -> bool:
        """Remove the mark of a node. Returns whether it was marked."""
        is_marked = node in self._marked
        self._marked.discard(node)
        return is_marked

    def watch(self, node: Node, seen: Iterable[Hashable]) -> None:
        """Record the dependencies of a node that no rule matched."""
        for each in seen:
            self._watched.setdefault(each, {})[node] = None

    def wake(self, changed: Hashable) -> None:
        """Enqueue a changed node, and all nodes that depend on it or on a value of this name."""
        if isinstance(changed, Node):
            self.add(changed)
        # The entry is dropped: a node records its dependencies again when no rule matches it.
        for node in self._watched.pop(changed, ()):
            self.add(node)
