"""Result classes of an explanation; `search` builds the chain and the report prints it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gather_infer.contract import Line
from gather_infer.diagnostic import Diagnostic
from gather_infer.inference.result import TrustedAnnotation
from gather_infer.lazy import resolve
from gather_infer.node_ids import NodePath
from gather_infer.symbolic import Dim, Interval
from gather_infer.tensor import Value
from gather_infer.trail import Assumption, Cause, Constraint


class Facet(str, enum.Enum):
    """The part of a tensor that a step explains."""

    SHAPE = "shape"
    VALUES = "values"


class Origin(str, enum.Enum):
    """Kind of definition of a tensor: a node, a model input, the file, the node that owns the graph, or none."""

    NODE = "node"
    INPUT = "input"
    CONSTANT = "constant"
    BODY_INPUT = "body input"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a node.

    label     name of the formal input, `data`; empty for a variadic input
    expanded  whether a source of the step explains it
    """

    label: str
    name: str
    value: Value
    expanded: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A step of the chain: a tensor, its producer, and the inputs from which its shape or values derive.

    relevant       the dims or elements that matter; empty if all do
    scope          path of the graph that defines the tensor; "" is the main graph
    node           the producer; for a body input the node that owns the body; else None
    operands       the relevant inputs of the node
    sources        the steps of these inputs
    skipped_nodes  number of nodes left out between this step and the one above, all of which forward the same dims
    repeated       an earlier step of the chain has the sources
    truncated      the sources are below the depth limit
    new_symbols    symbols that the inference generated at the node
    """

    facet: Facet
    relevant: tuple[Dim, ...]
    scope: str
    name: str
    value: Value
    origin: Origin
    node: NodePath | None = None
    op_type: str = ""
    domain: str = ""
    operands: tuple[Operand, ...] = ()
    sources: tuple[Link, ...] = ()
    skipped_nodes: int = 0
    repeated: bool = False
    truncated: bool = False
    new_symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A generated symbol, with its cause and suggestions that would make it known."""

    symbol: str
    cause: Cause
    suggestions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a tensor has its shape and values.

    step                 the chain of the tensor, starting with the tensor itself
    unknowns             generated symbols in its shape or values
    suggestions          what would make an unknown element type or rank known
    findings             diagnostics about nodes of the chain
    unknown_because      the cause of an unknown element type or rank, if a node is known to have lost it
    trusted_annotations  declared types that the chain relies on
    model                name of the file

    `str` returns the output of `gather-infer explain`.
    """

    scope: str
    name: str
    value: Value
    step: Link
    unknowns: tuple[Unknown, ...]
    suggestions: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    constraints: tuple[Constraint, ...]
    findings: tuple[Diagnostic, ...]
    unknown_because: Cause | None = None
    trusted_annotations: tuple[TrustedAnnotation, ...] = ()
    model: str = ""

    def __repr__(self) -> str:
        return f"<Explanation of {f'{self.scope}/' if self.scope else ''}{self.name}: {self.value}>"

    def __str__(self) -> str:
        return "\n".join(resolve("report.explain:tensor_text")(self))


@dataclass(frozen=True, slots=True)
class InterfaceDim:
    """A dim of a model input or output that is declared with a symbol; `kind` is `input` or `output`."""

    kind: str
    value: str
    axis: int

    def __str__(self) -> str:
        return f"axis {self.axis} of the {self.kind} {self.value}"


@dataclass(frozen=True, slots=True)
class SymbolExplanation:
    """Origin, bounds and uses of a symbol.

    interface_dims    dims of inputs and outputs that are declared with it
    cause             why the inference generated it; None if the model declares it
    equals            the dim it resolves to, if it is not itself: a given size, or the expression of an output dim
    bounds            bounds in every legal run
    declared          bounds that the caller or the file declares
    contract_lines    lines of the contract about it; a run that breaks one fails
    assumptions       assumptions about it
    shapes, elements  number of tensors that have it in their dims and in their elements
    examples          some of these tensors
    suggestions       what would make a generated symbol known
    rename            the option that renames it; empty if none does
    """

    model: str
    symbol: str
    interface_dims: tuple[InterfaceDim, ...]
    cause: Cause | None
    equals: Dim | None
    bounds: Interval
    declared: Interval
    contract_lines: tuple[Line, ...]
    assumptions: tuple[Assumption, ...]
    shapes: int
    elements: int
    examples: tuple[str, ...]
    suggestions: tuple[str, ...]
    rename: str

    def __repr__(self) -> str:
        return f"<SymbolExplanation of {self.symbol} in {self.model}>"

    def __str__(self) -> str:
        return "\n".join(resolve("report.explain:symbol_text")(self))
