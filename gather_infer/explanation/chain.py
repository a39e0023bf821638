"""Why a tensor has the shape and values it has, as data: what `provenance` finds and the report prints."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gather_infer.contract import Line
from gather_infer.diagnostic import Diagnostic
from gather_infer.inference.result import Belief
from gather_infer.lazy import resolved
from gather_infer.places import NodePath
from gather_infer.record import Assumption, Cause, Constraint
from gather_infer.symbolic import Dim, Interval
from gather_infer.tensor import Value


class Facet(str, enum.Enum):
    """What of a tensor matters to the one that asks."""

    SHAPE = "shape"
    VALUES = "values"


class Origin(str, enum.Enum):
    """Where a tensor comes from: a node, the caller, the file, the node around its graph; `undefined` from nowhere."""

    NODE = "node"
    INPUT = "input"
    CONSTANT = "constant"
    BODY_INPUT = "body input"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a node.

    label     what the operator calls it, `data`; empty when it has no name for it
    followed  it is explained by a source of the step
    """

    label: str
    name: str
    value: Value
    followed: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A tensor, what made it, and the inputs that its shape or values come from.

    asked     the dims or elements that matter; empty when all do
    scope     path of the graph that defines it, "" is the main graph
    node      the node that makes it; of a body input the node around its graph; else None
    operands  the inputs of the node that matter
    sources   their steps
    passed    nodes left out between this tensor and the step above, all of which hand the same dims on
    repeated  it stands further above with its sources
    cut       it has sources, past the depth asked for
    made      symbols that the node made up
    """

    facet: Facet
    asked: tuple[Dim, ...]
    scope: str
    name: str
    value: Value
    origin: Origin
    node: NodePath | None = None
    op_type: str = ""
    domain: str = ""
    operands: tuple[Operand, ...] = ()
    sources: tuple[Link, ...] = ()
    passed: int = 0
    repeated: bool = False
    cut: bool = False
    made: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A symbol that the run made up, with its cause and what would make it known."""

    symbol: str
    cause: Cause
    remedies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a tensor has its shape and values.

    step      the chain that leads to it, beginning with the tensor itself
    unknowns  generated symbols in its shape or values
    remedies  what would make its element type or rank known, where they are not
    findings  diagnostics about nodes of the chain
    lost      why its element type or rank is not known, where the node at which it was lost is
    believed  what the chain takes from the file as it is declared
    model     what the file is called

    Its `str` is what `gather-infer explain` prints.
    """

    scope: str
    name: str
    value: Value
    step: Link
    unknowns: tuple[Unknown, ...]
    remedies: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    constraints: tuple[Constraint, ...]
    findings: tuple[Diagnostic, ...]
    lost: Cause | None = None
    believed: tuple[Belief, ...] = ()
    model: str = ""

    def __repr__(self) -> str:
        return f"<Explanation of {f'{self.scope}/' if self.scope else ''}{self.name}: {self.value}>"

    def __str__(self) -> str:
        return "\n".join(resolved("report.explain:tensor_text")(self))


@dataclass(frozen=True, slots=True)
class SymbolPlace:
    """A dim of an input or output of the model that is declared with a symbol; `kind` is `input` or `output`."""

    kind: str
    value: str
    axis: int

    def __str__(self) -> str:
        return f"axis {self.axis} of the {self.kind} {self.value}"


@dataclass(frozen=True, slots=True)
class SymbolExplanation:
    """Where a symbol comes from, what bounds it, and how much it is used.

    places     dims of the interface that it is the name of
    cause      why the run made it up; None for one that the model declares
    equals     what it is, where that is something else: a size that was given, the expression that an output stands for
    bounds     of the symbol in every legal run
    declared   bounds that the caller or the file states
    limits     lines of the contract that are about it: what the inputs have to be, or the model fails
    assumptions  those that are about it
    shapes, elements   how many tensors have it in their dims, and in their elements
    first      some of these tensors
    remedies   what would make one that the run made up known
    rename     the option that gives it another name; empty where there is none
    """

    model: str
    symbol: str
    places: tuple[SymbolPlace, ...]
    cause: Cause | None
    equals: Dim | None
    bounds: Interval
    declared: Interval
    limits: tuple[Line, ...]
    assumptions: tuple[Assumption, ...]
    shapes: int
    elements: int
    first: tuple[str, ...]
    remedies: tuple[str, ...]
    rename: str

    def __repr__(self) -> str:
        return f"<SymbolExplanation of {self.symbol} in {self.model}>"

    def __str__(self) -> str:
        return "\n".join(resolved("report.explain:symbol_text")(self))
