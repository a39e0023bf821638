"""The nodes that rules are still to be asked about."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

from gather_infer.passes.draft import Node


class Worklist:
    """Nodes in the order in which they came, each once at a time.

    A node watches what rules have looked at when they were asked about it: other nodes, and values by name. It waits
    again when one of these has changed.
    """

    def __init__(self) -> None:
        self._nodes: deque[Node] = deque()
        self._waiting: set[Node] = set()
        self._marked: set[Node] = set()
        self._watched: dict[Hashable, dict[Node, None]] = {}

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

    def mark(self, node: Node) -> None:
        """Note of a node that other things may be known of what it reads."""
        self._marked.add(node)

    def unmark(self, node: Node) -> bool:
        """Whether that has been noted of a node since it was last asked."""
        is_marked = node in self._marked
        self._marked.discard(node)
        return is_marked

    def watch(self, node: Node, seen: Iterable[Hashable]) -> None:
        """What the rules have looked at for a node that stays as it is."""
        for each in seen:
            self._watched.setdefault(each, {})[node] = None

    def wake(self, changed: Hashable) -> None:
        """Have a node wait that has changed, and those that watch it, or a value by name."""
        if isinstance(changed, Node):
            self.add(changed)
        for node in self._watched.pop(changed, ()):
            self.add(node)
