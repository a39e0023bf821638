"""A rewrite as a value: the law that it follows, what takes the place of what, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from onnx import NodeProto

from gather_infer.passes.evaluate.constant import Constant
from gather_infer.symbolic import Dim
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.passes.draft import Graph, Node


class Cost(NamedTuple):
    """What a rewrite adds to a model; negative where it takes away.

    nodes           Constants not counted
    run_bytes       read and written by nodes in each run, constants of up to 64 elements not counted; None where that
                    is not known
    constant_bytes  of initializers and Constants
    """

    nodes: int = 0
    run_bytes: Dim | None = 0
    constant_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """Values in the place of others, that hold the same in every run in which the model does not fail.

    law        the equation behind it, in words
    values     output of the node -> the value that takes its place: one of the model, of `nodes` or of `constants`
    siblings   outputs of other nodes of the graph that `values` has as well; these are new values then
    merged     initializer that the node reads -> a constant that takes its place for all who read it
    body       graph of the node whose nodes take its place: `values` and `nodes` know what it defines by its own names
    bound      input of that graph -> the value that takes its place
    nodes      new ones, in order; they stand right before the node
    constants  new ones, by name
    """

    law: str
    values: Mapping[str, str] = field(default_factory=dict)
    siblings: frozenset[str] = frozenset()
    merged: Mapping[str, str] = field(default_factory=dict)
    body: Graph | None = None
    bound: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[NodeProto, ...] = ()
    constants: Mapping[str, Constant] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Nodes of a graph that read other values than they did, all at once: each alone would not be worth it.

    law        as that of a `Rewrite`
    name       of the first value that another one takes the place of
    cost       that of all of it
    nodes      new ones, in order, each with the node before which it stands and what is known of its outputs
    constants  new ones, by name
    inputs     a node, which of its inputs, and the value that it reads there
    renamed    a value of the model or a new one -> the output of the graph whose place and name it takes
    """

    law: str
    name: str
    cost: Cost
    nodes: tuple[tuple[NodeProto, Node, tuple[Value, ...]], ...]
    constants: Mapping[str, Constant]
    inputs: tuple[tuple[Node, int, str], ...]
    renamed: Mapping[str, str]
