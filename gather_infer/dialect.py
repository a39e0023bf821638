"""Operators that are inferred by lowering each node to a function body, built from the known facts of its inputs.

A dialect is passed to the inference like rules, so that the interpreter names none of its operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from gather_infer.versioned import VersionedTable

if TYPE_CHECKING:
    from onnx import FunctionProto

    from gather_infer.rules import OpCall


class LoweringRefused(Exception):
    """Raised when a node cannot be lowered to a body; the message gives the reason and the missing facts."""


class LoweredBody(NamedTuple):
    """The function body of a node, in ONNX operators.

    function            takes the inputs of the node in order and returns its outputs
    preserves_failures  the body fails exactly where the operator fails, so constraints of the body's nodes are
                        constraints of the operator. If False, no facts follow from them: they are sufficient
                        conditions for the operator, and its own preconditions are declared in the dialect
    """

    function: FunctionProto
    preserves_failures: bool = False


Builder: TypeAlias = "Callable[[OpCall], LoweredBody]"
"""Builds the body of a node.

Raises LoweringRefused when there is no safe body, SpecViolation when the node breaks its specification.
"""


class AxisSize(NamedTuple):
    """The size of an axis of an input of a node.

    input         position of the input
    axis          the axis
    attribute     name of the integer attribute that holds the axis, in place of `axis`; "" for none
    axis_input    position of the input that holds the axis, in place of `axis`; None for none
    by_component  component j of an index tuple is compared to axis j
    """

    input: int
    axis: int = 0
    attribute: str = ""
    axis_input: int | None = None
    by_component: bool = False


class InputPrecondition(NamedTuple):
    """Precondition on the elements of an input; if an element violates it, the operator fails or defines no result.

    lower         smallest allowed element; None for no bound
    size          the largest allowed element is this size, less `margin`; None for no bound
    from_end      negative elements count from the end of the axis `size`: the smallest allowed element is -size
    is_ascending  no element is smaller than the element before it
    is_enforced   the operator fails; if False, its result may be undefined instead
    may_skip      the operator does not read every element
    ignored       element that the precondition exempts; None for no such element
    clause        a further requirement as text; the contract lists it as open
    """

    lower: int | None = None
    size: AxisSize | None = None
    margin: int = 0
    from_end: bool = False
    is_ascending: bool = False
    is_enforced: bool = True
    may_skip: bool = False
    ignored: int | None = None
    clause: str = ""


@dataclass(frozen=True, slots=True)
class DialectOp:
    """An operator of a dialect, from one version of its domain on.

    since           first version of the domain that the entry describes
    implementation  function that builds the bodies; its docstring documents the operator
    spec            URL of the operator's specification
    refusal         why the operator is never lowered; "" if it can be
    preconditions   preconditions on input elements, by input position
    """

    op_type: str
    since: int
    implementation: Callable[..., object]
    spec: str = ""
    refusal: str = ""
    preconditions: Mapping[int, InputPrecondition] = field(default_factory=dict)


class Dialect(Protocol):
    """The operators of one domain."""

    @property
    def domain(self) -> str: ...

    def find(self, op_type: str, version: int) -> Builder | None:
        """The builder of an operator at `version` of its domain; None for an unknown operator."""

    def addresses(self, op_type: str, version: int) -> Mapping[int, int]:
        """Inputs of an operator whose elements are compared to sizes -> the inputs of these sizes; see `Traits`."""

    def operators(self) -> VersionedTable[DialectOp]:
        """Every operator, once for each version that changes it."""
