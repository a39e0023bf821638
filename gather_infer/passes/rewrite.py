"""Rewrites as values: their law, the replaced values, and their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from onnx import NodeProto

from gather_infer.ir.constant import Constant
from gather_infer.symbolic import Dim, DimTooLarge
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.passes.mutable_model import Graph, Node


class Unavailable(Exception):
    """The opset version of the model lacks an operator, or a Constant of some type: the rewrite is not applied."""


REFUSALS: Final = (Unavailable, DimTooLarge)
"""Exceptions by which a rule or a graph-level pass does not apply."""


class RewriteCost(NamedTuple):
    """The numbers of nodes and bytes that a rewrite adds to a model; negative if it removes more than it adds.

    nodes           number of nodes, without Constants
    run_bytes       bytes that nodes read and write in each run, without constants of up to 64 elements; None if unknown
    constant_bytes  bytes of initializers and Constants
    """

    nodes: int = 0
    run_bytes: Dim | None = 0
    constant_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rewrite:
    """Values that replace others and hold the same elements, in every run in which the model does not fail.

    law        the equation that justifies the rewrite, in words
    values     output of the node -> its replacement: a value of the model, of `nodes` or of `constants`
    siblings   the keys of `values` that are outputs of other nodes of the graph; their replacements are new values
    merged     initializer that the node reads -> a constant that replaces all of its uses
    body       subgraph whose nodes replace the node that holds it (inlining); `values` and `nodes` use its names
    bound      input of `body` -> the value that replaces it
    nodes      new nodes, in order; they are inserted right before the node
    constants  new constants, by name
    """

    law: str
    values: Mapping[str, str] = field(default_factory=dict)
    siblings: frozenset[str] = frozenset()
    merged: Mapping[str, str] = field(default_factory=dict)
    body: Graph | None = None
    bound: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[NodeProto, ...] = ()
    constants: Mapping[str, Constant] = field(default_factory=dict)

    @property
    def new_values(self) -> set[str]:
        """The names of the outputs of `nodes` and of the `constants`."""
        return {name for proto in self.nodes for name in proto.output if name} | self.constants.keys()


class GraphRewrite(NamedTuple):
    """A graph-level rewrite: changes to the inputs of many nodes that are only profitable together.

    law        as for a `Rewrite`
    name       the first value that is replaced
    cost       of all changes together
    nodes      new nodes, in order, each with the node before which it is inserted and the facts about its outputs
    constants  new constants, by name
    inputs     a node, the index of an input, and the value that this input reads from now on
    renamed    value of the model, or a new one -> the graph output that it replaces and whose name it takes
    """

    law: str
    name: str
    cost: RewriteCost
    nodes: tuple[tuple[NodeProto, Node, tuple[Value, ...]], ...]
    constants: Mapping[str, Constant]
    inputs: tuple[tuple[Node, int, str], ...]
    renamed: Mapping[str, str]
