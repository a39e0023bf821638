"""Where the elements of integer tensors come from.

The facts of a tensor say what its elements are; they do not say that they are those of an input, or that component 1 of
an index tuple is in other bounds than component 0. A trace does, for the check of bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer import spans
from gather_infer.symbolic import Dim, Expr, Scope
from gather_infer.tensor import DType, Span, SymbolicTensor


@dataclass(frozen=True, slots=True)
class Limit:
    """`min(element, end)` where `is_upper`, else `max(element, end)`."""

    end: Dim
    is_upper: bool


@dataclass(frozen=True, slots=True)
class Part:
    """Some elements of a tensor: x + offset, then limited, x an element of a graph input.

    span     bounds of the elements
    input    the graph input; empty when they come from none
    source   its element type
    wrap     an x < 0 gets `wrap` added first; None when it does not
    limits   what they have been limited by, in this order
    exact    both ends of the span are elements, whenever there are any
    needs    of a tensor that is not empty, there are some exactly where all of these are >= 1; None when nobody knows
    column   they are those at this index of the last axis of the input; None for any of them
    whole    every element of the input is among them, or of the column
    direct   they stand where they stood in the input
    wraps    the type in which x + offset may have become another number; None where it has not
    """

    span: Span
    input: str = ""
    source: DType | None = None
    offset: Dim = 0
    wrap: Dim | None = None
    limits: tuple[Limit, ...] = ()
    exact: bool = False
    needs: tuple[Dim, ...] | None = ()
    column: int | None = None
    whole: bool = True
    direct: bool = False
    wraps: DType | None = None

    @property
    def is_certain(self) -> bool:
        """True when there are some whenever the tensor is not empty."""
        return self.needs == ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The parts of a tensor.

    axis    part j is what stands at index j of this axis; None when nothing is known of where the parts are
    """

    parts: tuple[Part, ...]
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """The bool is true exactly where `base < limit`; with `negated` exactly where `base >= limit`."""

    base: str
    limit: Dim
    negated: bool


def one_element(tensor: SymbolicTensor) -> Dim | None:
    """The element of an integer tensor that has just one, None when it is not known."""
    element = tensor.only_element
    is_integer = tensor.dtype is not None and tensor.dtype.is_integer  # floats have Dims for elements too
    return element if is_integer and isinstance(element, (int, Expr)) else None


def part_of(tensor: SymbolicTensor, scope: Scope) -> Part:
    """What the facts of a tensor say of all its elements."""
    values = tensor.values
    is_known = tensor.dtype is not None and tensor.dtype.is_integer and values is not None and None not in values.flat
    return Part(spans.span_of(tensor, scope), exact=is_known)


def of_input(name: str, tensor: SymbolicTensor, scope: Scope) -> Trace:
    """The trace of a graph input."""
    return Trace((Part(spans.span_of(tensor, scope), name, tensor.dtype, direct=True),))
