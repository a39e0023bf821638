"""Result classes of an explanation. `explanation.search` builds the chain of steps, `report.explain` prints it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from gather_infer.contract import Line
from gather_infer.diagnostic import Diagnostic
from gather_infer.inference.result import TrustedAnnotation
from gather_infer.lazy import resolve
from gather_infer.node_ids import NodePath
from gather_infer.provenance.result import AxisOrigin, Independence
from gather_infer.symbolic import Dim, Interval
from gather_infer.tensor import Value
from gather_infer.trail import Assumption, Cause, Constraint


class Facet(str, enum.Enum):
    """The part of a tensor that a step explains: its shape or its elements."""

    SHAPE = "shape"
    VALUES = "values"


class Definition(str, enum.Enum):
    """How a tensor is defined.

    NODE        a node of its graph produces it
    INPUT       it is an input of the model
    CONSTANT    it is an initializer, or the output of a Constant node
    BODY_INPUT  it is a formal input of a subgraph or function body
    UNDEFINED   none of these
    """

    NODE = "node"
    INPUT = "input"
    CONSTANT = "constant"
    BODY_INPUT = "body input"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of a node.

    label     name of the formal input in the schema, as `data`; empty for a variadic input
    name      name of the value
    value     the type of the value
    expanded  whether a source of the step explains the input
    """

    label: str
    name: str
    value: Value
    expanded: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A step of the chain: a tensor, its producer, and the inputs from which its shape or values derive.

    relevant       the dims or elements of the tensor that the step explains; empty if it explains all
    scope          label of the graph that defines the tensor; "" is the main graph
    name           name of the tensor
    node           the producer; for a body input, the node that owns the body; else None
    operands       the inputs of the node to show: the first, those with a source, and those with known elements
    sources        the steps that explain the relevant inputs
    skipped_nodes  number of nodes left out between this step and the step that has it as a source; all of them forward
                   the same dims
    repeated       `sources` is empty because an earlier step of the chain has them
    truncated      `sources` is empty because the limit of depth or of steps is reached
    new_symbols    symbols that the inference generated at the node
    """

    facet: Facet
    relevant: tuple[Dim, ...]
    scope: str
    name: str
    value: Value
    origin: Definition
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

    scope                label of the graph that defines the tensor; "" is the main graph
    step                 the first step of the chain: the tensor itself
    unknowns             generated symbols in the tensor's shape or values
    suggestions          inputs and options that would make an unknown element type or rank known
    assumptions          assumptions about symbols of the tensor
    constraints          constraints on symbols of the tensor
    findings             diagnostics about nodes of the chain
    unknown_because      cause of an unknown element type or rank; None if both are known or the cause is not found
    trusted_annotations  declared types that the chain relies on
    model                name of the file
    axes                 the origin of each axis; empty outside the main graph, and for an unknown rank
    independence         of the rows of the model, for an output of the model; None for others, or without a batch

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
    axes: tuple[AxisOrigin, ...] = ()
    independence: Independence | None = None

    def __repr__(self) -> str:
        return f"<Explanation of {f'{self.scope}/' if self.scope else ''}{self.name}: {self.value}>"

    def __str__(self) -> str:
        return "\n".join(resolve("report.explain:tensor_text")(self))


@dataclass(frozen=True, slots=True)
class InterfaceDim:
    """A dim, at `axis`, of the model input or output `value`; `kind` is `input` or `output`."""

    kind: str
    value: str
    axis: int

    def __str__(self) -> str:
        return f"axis {self.axis} of the {self.kind} {self.value}"


@dataclass(frozen=True, slots=True)
class SymbolExplanation:
    """Definition, bounds and uses of a symbol.

    interface_dims    dims of inputs and outputs that the symbol denotes
    cause             why the inference generated the symbol; None if the model declares it
    equals            the dim that the symbol resolves to: a given size, or the expression of an output dim; else None
    bounds            bounds in every legal run
    declared          bounds that the caller or the file declares
    contract_lines    lines of the contract about the symbol; a run that breaks one fails
    assumptions       assumptions about the symbol
    shapes, elements  number of tensors that have the symbol in their dims, and in their elements
    examples          some of these tensors
    suggestions       inputs and options that would make a generated symbol known
    rename            the option that renames the symbol; empty if there is none
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
