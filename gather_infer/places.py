"""Where things stand in a model: graphs, nodes and values by position, never by text.

Names repeat, and a node may be called like another's path, so a name finds nothing. A label is derived from names for
people to read and is no part of an identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias


class Root(Enum):
    """What a path starts at."""

    GRAPH = "graph"
    FUNCTION = "function"
    INITIALIZATION = "initialization"
    ALGORITHM = "algorithm"


@dataclass(frozen=True, slots=True)
class Step:
    """From a graph into one below it: by the node at `node`.

    attribute  position of the attribute that holds the subgraph; None steps into the function that the node calls
    item       position in the attribute's `graphs`, None for its `g`
    """

    node: int
    attribute: int | None = None
    item: int | None = None


@dataclass(frozen=True, slots=True)
class GraphPath:
    """A graph of a model: the main graph, the `position`-th function or training graph, or what is below one.

    A path that steps into a call is one run of a function's body; the body itself has the root FUNCTION.
    """

    root: Root = Root.GRAPH
    position: int = 0
    steps: tuple[Step, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.root.value, self.position, self.steps)))

    def __hash__(self) -> int:
        return self._hash  # worked out once: a path is a key wherever its graph is asked for

    def __reduce__(self) -> tuple[object, ...]:
        return GraphPath, (self.root, self.position, self.steps)  # the hash of a text is another in another process

    def below(self, step: Step) -> GraphPath:
        return GraphPath(self.root, self.position, (*self.steps, step))

    @property
    def above(self) -> GraphPath:
        """The graph around this one."""
        return GraphPath(self.root, self.position, self.steps[:-1])

    def contains(self, other: GraphPath) -> bool:
        """Whether `other` is this graph or inside it."""
        depth = len(self.steps)
        return (self.root, self.position, self.steps) == (other.root, other.position, other.steps[:depth])


Source: TypeAlias = tuple[GraphPath, int]
"""A node of a file: its graph, and its position there."""

MAIN: Final = GraphPath()


@dataclass(frozen=True, slots=True)
class NodePath:
    """A node: the graph that it stands in, and its position there.

    label   `/encoder/Gather`, `If_3/then_branch/Gather_1`: what people call it, which `str` gives
    """

    graph: GraphPath
    position: int
    label: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.label
