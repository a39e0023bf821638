"""Identities of graphs and nodes in a model: by position, never by name.

Names repeat, and the name of one node may equal the printed path of another, so names cannot identify nodes. Labels are
derived from names for printing and are not part of the identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias


class Root(Enum):
    """The kind of graph that a path starts at."""

    GRAPH = "graph"
    FUNCTION = "function"
    INITIALIZATION = "initialization"
    ALGORITHM = "algorithm"


@dataclass(frozen=True, slots=True)
class Step:
    """One step from a graph into a graph below it, through the node at position `node`.

    attribute  position of the attribute that holds the subgraph; None steps into the function that the node calls
    item       position in the attribute's `graphs`; None for its `g`
    """

    node: int
    attribute: int | None = None
    item: int | None = None


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Path of a graph, from a root graph through `steps` to nested graphs.

    position   position of the function or training graph for these roots; 0 for the main graph

    A path whose steps include a call identifies the function body in that call; the definition of the body has the root
    FUNCTION.
    """

    root: Root = Root.GRAPH
    position: int = 0
    steps: tuple[Step, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.root.value, self.position, self.steps)))

    def __hash__(self) -> int:
        return self._hash  # computed once: paths are dictionary keys everywhere

    def __reduce__(self) -> tuple[object, ...]:
        return GraphPath, (self.root, self.position, self.steps)  # string hashes differ between processes

    def below(self, step: Step) -> GraphPath:
        return GraphPath(self.root, self.position, (*self.steps, step))

    @property
    def above(self) -> GraphPath:
        """The path of the enclosing graph: this path without its last step."""
        return GraphPath(self.root, self.position, self.steps[:-1])

    def contains(self, other: GraphPath) -> bool:
        """Whether the graph `other` is this graph or nested in it."""
        depth = len(self.steps)
        return (self.root, self.position, self.steps) == (other.root, other.position, other.steps[:depth])


NodeId: TypeAlias = tuple[GraphPath, int]
"""A node of a file: its graph and its position in the graph."""

MAIN: Final = GraphPath()


@dataclass(frozen=True, slots=True)
class NodePath:
    """A node: its graph, and its position in the graph.

    label   printed name, returned by `str`: `/encoder/Gather`, `If_3/then_branch/Gather_1`
    """

    graph: GraphPath
    position: int
    label: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.label
