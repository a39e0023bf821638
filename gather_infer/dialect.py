"""Operators that are inferred by lowering each node to a function body, built from the known facts of its inputs.

A dialect is passed to the inference like rules, so that the interpreter names none of its operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from gather_infer.versioned import VersionedTable

if TYPE_CHECKING:
    from onnx import FunctionProto

    from gather_infer.rules import OpCall


class LoweringRefused(Exception):
    """Raised when a node cannot be lowered to a body; the message gives the reason and the missing facts."""


@dataclass(frozen=True, slots=True)
class LoweredBody:
    """The function body of a node, in ONNX operators.

    function            takes the inputs of the node in order and returns its outputs
    preserves_failures  the body fails exactly where the operator fails, so constraints of the body's nodes are
                        constraints of the operator. If False, only the output facts are used; constraints and
                        diagnostics of the body are dropped
    """

    function: FunctionProto
    preserves_failures: bool = False


Builder: TypeAlias = "Callable[[OpCall], LoweredBody]"
"""Builds the body of a node.

Raises LoweringRefused when there is no safe body, SpecViolation when the node breaks its specification.
"""


@dataclass(frozen=True, slots=True)
class InputPrecondition:
    """Precondition on the elements of an input; if an element violates it, a runtime may return an undefined result.

    lower         smallest allowed element; None for no bound
    size          (input, axis): the largest allowed element is the dim of that input at that axis, less `margin`. The
                  axis is a number or the name of the attribute that holds it; None for no bound
    is_ascending  no element is smaller than the element before it
    """

    lower: int | None = None
    size: tuple[int, int | str] | None = None
    margin: int = 0
    is_ascending: bool = False


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

    def operators(self) -> VersionedTable[DialectOp]:
        """Every operator, once for each version that changes it."""
