"""Provenance of integer tensors: origins of their elements, and the steps from a graph input to them.

Facts bound the elements of a tensor. Provenance also records that they are those of an input, or that component 1 of an
index tuple has other bounds than component 0. The bounds check relies on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from gather_infer import value_ranges
from gather_infer.symbolic import Dim, Expr, Scope, substitute
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, ValueRange


@dataclass(frozen=True, slots=True)
class Limit:
    """`min(element, bound)` where `is_upper`, else `max(element, bound)`."""

    end: Dim
    is_upper: bool


@dataclass(frozen=True, slots=True)
class Scaled:
    """`factor * element + offset`.

    overflow_dtype  the type in which the result may overflow; None when it cannot
    bounds          bounds of the element; None when they are unknown
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
    """A bound of a range of consecutive values whose ends are computed from input elements (Range, sums).

    is_lower     it is the lower bound
    is_attained  the bound is an element itself; False where that is unknown
    """

    is_low: bool
    is_there: bool


Step: TypeAlias = Scaled | Quotient | Limit
"""A monotone step from an input element towards an index: it preserves or reverses the order of elements."""


def _dim_of(step: Step) -> Dim:
    """The dim of a step: its offset, divisor or bound."""
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
    """Origin of some elements of a tensor: x + offset, then clamped, where x is what the steps make of a graph input
    element.

    value_range      bounds of the elements
    input            the graph input; empty when they come from none
    source_dtype     its element type
    negative_offset  added to x first where x < 0; None when nothing is added
    clamps           minima and maxima that were applied to them, in this order
    exact            both bounds of the value range are attained, whenever there are any elements
    nonempty_if      of a nonempty tensor, there are such elements exactly where all of these are >= 1; None when
                     unknown
    column           they are those at this index of the last axis of the input; None for any index
    whole            every element of the input, or of the column, is among them
    direct           they have the positions that they had in the input
    overflow_dtype   the type in which x + offset may overflow; None when it cannot
    steps            steps applied to the input element first, in this order
    step_bounds      bounds of x after the steps; None when unknown, and where there are no steps
    end              these are one bound of a range that the other elements of the tensor are in
    is_definite      an element that is read is read through this origin; False where it may come from another one alone
    slice_symbol     the symbol of the iterations that together visit all the elements, a slice each; or empty
    """

    span: ValueRange
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
        """False when the elements are unmodified input elements."""
        is_moved = self.offset != 0 or bool(self.limits) or bool(self.steps)
        return is_moved or self.end is not None or self.wrap is not None or self.wraps is not None

    @property
    def is_bounded_only(self) -> bool:
        """True when no further step can be recorded: negative elements were offset, or an overflow may precede the
        clamps.
        """
        return self.wrap is not None or (self.wraps is not None and bool(self.limits))

    def stepped(self, step: Step, span: ValueRange, held: tuple[int, int] | None) -> Part:
        """The origin after one more step, which leaves its elements in `value_range` and x within `step_bounds`."""
        assert not self.is_bounded_only, "the caller checks this"
        steps: tuple[Step, ...] = self.steps
        if self.offset != 0 or self.wraps is not None:
            steps += (Scaled(1, self.offset, self.wraps, self.numbers),)
        steps += (*self.limits, step)
        return replace(self, span=span, steps=steps, held=held, offset=0, limits=(), wraps=None)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims of the offset, the clamps and the steps; not those of the value range."""
        found: list[Dim] = [self.offset, *(limit.end for limit in self.limits)]
        found += [] if self.wrap is None else [self.wrap]
        for step in self.steps:
            found.append(_dim_of(step))
        return tuple(found)

    def substituted(self, values: Mapping[str, Dim]) -> Part:
        """The origin with dims in place of symbols."""

        def put(dim: Dim) -> Dim:
            return substitute(dim, values)

        span = ValueRange(*(None if end is None else put(end) for end in (self.span.lo, self.span.hi)))
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
        """Whether `dim` is an offset and not a divisor or a clamp."""
        return self.offset == dim or any(isinstance(step, Scaled) and step.offset == dim for step in self.steps)

    def keeps_order_after(self, dim: Dim) -> bool:
        """Whether the index increases with the offset `dim`: an even number of later steps reverses the order."""
        if self.offset == dim:
            return True
        at = next(i for i, step in enumerate(self.steps) if isinstance(step, Scaled) and step.offset == dim)
        return sum(isinstance(step, Scaled) and step.factor < 0 for step in self.steps[at + 1 :]) % 2 == 0

    @property
    def numbers(self) -> tuple[int, int] | None:
        """Bounds of x, from the steps or from the element type."""
        if self.steps:
            return self.held
        return None if self.source is None else INTEGER_RANGE[self.source]

    @property
    def dropped(self) -> Part:
        """The origin of an unknown subset of the elements."""
        is_point = self.exact and self.span.lo == self.span.hi
        end = None if self.end is None else replace(self.end, is_there=False)
        return replace(self, whole=False, direct=False, exact=is_point, end=end, each="")

    @property
    def is_certain(self) -> bool:
        """True when there are such elements whenever the tensor is not empty."""
        return self.needs == ()


@dataclass(frozen=True, slots=True)
class Trace:
    """Provenance of a tensor: its origins.

    axis    origin j is that of index j on this axis; None when the positions are unknown
    """

    parts: tuple[Part, ...]
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """Branch predicate on elements: a bool that bounds another tensor's elements where it is true, and where false."""

    yes: ValueRange
    no: ValueRange

    @property
    def negated(self) -> Test:
        return Test(self.no, self.yes)


def one_element(tensor: SymbolicTensor) -> Dim | None:
    """The only element of an integer tensor; None when it is unknown, or there are more."""
    element = tensor.only_element
    is_integer = tensor.dtype is not None and tensor.dtype.is_integer  # floats have Dims for elements too
    return element if is_integer and isinstance(element, (int, Expr)) else None


def part_of(tensor: SymbolicTensor, scope: Scope) -> Part:
    """The origin that the facts of a tensor give for all its elements."""
    values = tensor.values
    is_known = tensor.dtype is not None and tensor.dtype.is_integer and values is not None and None not in values.flat
    return Part(value_ranges.range_of(tensor, scope), exact=is_known)


def of_input(name: str, tensor: SymbolicTensor, scope: Scope) -> Trace:
    """The provenance of a graph input."""
    return Trace((Part(value_ranges.range_of(tensor, scope), name, tensor.dtype, direct=True),))
