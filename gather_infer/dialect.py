"""Operators that are inferred by lowering each node to a function body, built from the known facts of its inputs.

A dialect is passed to the inference like rules, so that the interpreter names none of its operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from onnx import FunctionProto

    from gather_infer.rules import OpCall


class LoweringRefused(Exception):
    """Raised for a node that has no body; the message gives the reason and the facts that are missing."""


@dataclass(frozen=True, slots=True)
class LoweredBody:
    """The function body of a node, in ONNX operators.

    function            takes the inputs of the node in order and returns its outputs
    preserves_failures  the body fails exactly where the operator fails, so constraints of its nodes are constraints of
                        the operator. Otherwise only its output facts hold, and implied constraints and diagnostics are
                        dropped
    """

    function: FunctionProto
    preserves_failures: bool = False


Builder: TypeAlias = "Callable[[OpCall], LoweredBody]"
"""Builds the body of a node. Raises LoweringRefused, and SpecViolation for a node that breaks its specification."""


@dataclass(frozen=True, slots=True)
class InputPrecondition:
    """Precondition on the elements of an input: for others the operator's result is undefined, and a runtime need not
    fail.

    lower         smallest defined element; None for no bound
    size          elements are at most the dim of an input at an axis, less `margin`: the position of the input, and the
                  axis or the attribute that holds it; None for no bound
    is_ascending  no element is smaller than the previous one
    """

    lower: int | None = None
    size: tuple[int, int | str] | None = None
    margin: int = 0
    is_ascending: bool = False


@dataclass(frozen=True, slots=True)
class DialectOp:
    """An operator of a dialect, from a version on.

    since           first version of the domain for which it holds
    implementation  builds the bodies; its docstring documents the operator
    spec            page of the operator's specification
    refusal         why there is never a body; "" where there is one
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

    def operators(self) -> Iterable[DialectOp]:
        """Every operator, once for each version that changes it, in no particular order."""
