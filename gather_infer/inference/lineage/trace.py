"""Where the elements of integer tensors come from.

The facts of a tensor say what its elements are; they do not say that they are those of an input, or that component 1 of
an index tuple is in other bounds than component 0. A trace does, for the check of bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from gather_infer import spans
from gather_infer.symbolic import Dim, Expr, Scope, substitute
from gather_infer.tensor import INTEGER_RANGE, DType, Span, SymbolicTensor


@dataclass(frozen=True, slots=True)
class Limit:
    """`min(element, end)` where `is_upper`, else `max(element, end)`."""

    end: Dim
    is_upper: bool


@dataclass(frozen=True, slots=True)
class Scaled:
    """`factor * element + offset`.

    wraps   the type in which it may have become another number; None where it has not
    given   between which numbers the element is; None where that is not known
    """

    factor: int
    offset: Dim
    wraps: DType | None = None
    given: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Quotient:
    """`element / divisor`, rounded toward 0, with a divisor >= 1."""

    divisor: Dim


@dataclass(frozen=True, slots=True)
class End:
    """An end of numbers that stand in a row, from one that an input has to another one.

    is_low    it is the lower one
    is_there  it is among the elements itself; False where that is not known
    """

    is_low: bool
    is_there: bool


Step: TypeAlias = Scaled | Quotient | Limit
"""What happens to an element: each step keeps the order of elements, or turns it round."""


def _dim_of(step: Step) -> Dim:
    match step:
        case Scaled():
            return step.offset
        case Quotient():
            return step.divisor
    return step.end


def _with_dim(step: Step, dim: Dim) -> Step:
    match step:
        case Scaled():
            return replace(step, offset=dim)
        case Quotient():
            return Quotient(dim)
    return replace(step, end=dim)


@dataclass(frozen=True, slots=True)
class Part:
    """Some elements of a tensor: x + offset, then limited, x what the steps make of an element of a graph input.

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
    steps    what happens to the element of the input first, in this order
    held     between which numbers the steps leave it; None where that is not known, and where there are none
    end      the other elements of the trace are on one side of it
    is_sure  an element that is read, as a part says, is read as this one; False where it may be another part's alone
    each     the symbol of the iterations in which all elements that are meant come by, a slice at a time; or empty
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
    steps: tuple[Step, ...] = ()
    held: tuple[int, int] | None = None
    end: End | None = None
    is_sure: bool = True
    each: str = ""

    @property
    def is_changed(self) -> bool:
        """False when the elements are those of the input as they are."""
        is_moved = self.offset != 0 or bool(self.limits) or bool(self.steps)
        return is_moved or self.end is not None or self.wrap is not None or self.wraps is not None

    @property
    def is_bounded_only(self) -> bool:
        """True when no further step can be told: negative elements had something added, or limits may be passed."""
        return self.wrap is not None or (self.wraps is not None and bool(self.limits))

    def stepped(self, step: Step, span: Span, held: tuple[int, int] | None) -> Part:
        """The part after one more step, which leaves its elements in `span` and between the numbers `held`."""
        assert not self.is_bounded_only, "asked before"
        steps: tuple[Step, ...] = self.steps
        if self.offset != 0 or self.wraps is not None:
            steps += (Scaled(1, self.offset, self.wraps, self.numbers),)
        steps += (*self.limits, step)
        return replace(self, span=span, steps=steps, held=held, offset=0, limits=(), wraps=None)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims that say what happens to x, beside those of the span."""
        found: list[Dim] = [self.offset, *(limit.end for limit in self.limits)]
        found += [] if self.wrap is None else [self.wrap]
        for step in self.steps:
            found.append(_dim_of(step))
        return tuple(found)

    def substituted(self, values: Mapping[str, Dim]) -> Part:
        """The part with dims in place of symbols."""

        def put(dim: Dim) -> Dim:
            return substitute(dim, values)

        span = Span(*(None if end is None else put(end) for end in (self.span.lo, self.span.hi)))
        return replace(
            self,
            span=span,
            offset=put(self.offset),
            wrap=None if self.wrap is None else put(self.wrap),
            limits=tuple(replace(limit, end=put(limit.end)) for limit in self.limits),
            steps=tuple(_with_dim(step, put(_dim_of(step))) for step in self.steps),
            needs=None if self.needs is None else tuple(map(put, self.needs)),
        )

    def moves_by_offset(self, dim: Dim) -> bool:
        """Whether it is a number that is added where `dim` stands among the dims, and nothing else."""
        return self.offset == dim or any(isinstance(step, Scaled) and step.offset == dim for step in self.steps)

    def keeps_order_after(self, dim: Dim) -> bool:
        """Whether the index is the greater the greater the number `dim` is that is added."""
        if self.offset == dim:
            return True
        at = next(i for i, step in enumerate(self.steps) if isinstance(step, Scaled) and step.offset == dim)
        return sum(isinstance(step, Scaled) and step.factor < 0 for step in self.steps[at + 1 :]) % 2 == 0

    @property
    def numbers(self) -> tuple[int, int] | None:
        """Between which numbers x is, as far as its type or the steps say."""
        if self.steps:
            return self.held
        return None if self.source is None else INTEGER_RANGE[self.source]

    @property
    def dropped(self) -> Part:
        """The part when some of its elements may have been left out, nobody knows which."""
        is_point = self.exact and self.span.lo == self.span.hi
        end = None if self.end is None else replace(self.end, is_there=False)
        return replace(self, whole=False, direct=False, exact=is_point, end=end, each="")

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
    """What a bool says of an element of another tensor: it is in `yes` where the bool is true, else in `no`."""

    yes: Span
    no: Span

    @property
    def negated(self) -> Test:
        return Test(self.no, self.yes)


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
