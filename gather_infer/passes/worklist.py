"""The nodes that rules are still to be asked about."""

from __future__ import annotations

from collections import deque

from gather_infer.passes.draft import Node


class Worklist:
    """Nodes in the order in which they came, each once at a time."""

    def __init__(self) -> None:
        self._nodes: deque[Node] = deque()
        self._waiting: set[Node] = set()

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: Node) -> None:
        """Have a node wait, unless it does already or is gone."""
        if node not in self._waiting and not node.is_gone:
            self._waiting.add(node)
            self._nodes.append(node)

    def take(self) -> Node:
        """The next node; it may be gone by now. Raises IndexError when none waits."""
        node = self._nodes.popleft()
        self._waiting.discard(node)
        return node
