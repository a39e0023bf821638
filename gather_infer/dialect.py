"""Operators that are inferred by walking a body, made for each node from what is known of its inputs.

A dialect is handed to the inference as rules are, so that the inference knows none by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from onnx import FunctionProto

    from gather_infer.rules import OpCall


class LoweringRefused(Exception):
    """A node that has no body; the message tells why, and what would have to be known."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a node computes, in operators of ONNX.

    function   reads the inputs of the node, in order, and gives its outputs
    is_alike   it fails where the operator fails, and nowhere else: what its nodes demand of sizes the operator demands.
               Else whatever they imply, constrain or report says nothing of the operator, only their facts do
    """

    function: FunctionProto
    is_alike: bool = False


Builder: TypeAlias = "Callable[[OpCall], Body]"
"""Makes the body of a node. Raises LoweringRefused, and SpecViolation for a node that breaks its specification."""


@dataclass(frozen=True, slots=True)
class Defined:
    """Which elements an input has to have: of others the operator defines nothing, and a runtime need not fail.

    least         none is smaller; None for any
    size          none is larger than the dim of an input at an axis, less `under`: the position of the input, and the
                  axis, or the attribute that has it; None for any
    is_ascending  none is smaller than the one before
    """

    least: int | None = None
    size: tuple[int, int | str] | None = None
    under: int = 0
    is_ascending: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """An operator of a dialect, from a version on.

    since      the first version of the domain for which it holds
    described  what makes the bodies; its docstring tells of the operator
    spec       a page that has the operator
    refused    why there is no body in any case, "" where there are
    defined    elements for which alone the operator defines a result, by position of an input
    """

    op_type: str
    since: int
    described: Callable[..., object]
    spec: str = ""
    refused: str = ""
    defined: Mapping[int, Defined] = field(default_factory=dict)


class Dialect(Protocol):
    """The operators of one domain."""

    @property
    def domain(self) -> str: ...

    def find(self, op_type: str, version: int) -> Builder | None:
        """What makes the bodies of an operator at `version` of its domain; None for one that is not known."""

    def known(self) -> Iterable[Known]:
        """Every operator, once for each version that changes it, in no order."""
