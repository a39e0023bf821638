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
class Clamp:
    """`min(element, bound)` where `is_upper`, else `max(element, bound)`."""

    bound: Dim
    is_upper: bool


@dataclass(frozen=True, slots=True)
class Affine:
    """`factor * element + offset`.

    overflow_dtype  the type in which the result may overflow; None when it cannot
    bounds          bounds of the element; None when they are unknown
    """

    factor: int
    offset: Dim
    overflow_dtype: DType | None = None
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Quotient:
    """`element / divisor`, rounded toward 0, with a divisor >= 1."""

    divisor: Dim


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """A bound of a range of consecutive values whose ends are computed from input elements (Range, sums).

    is_lower     it is the lower bound
    is_attained  the bound is an element itself; False where that is unknown
    """

    is_lower: bool
    is_attained: bool


ElementStep: TypeAlias = Affine | Quotient | Clamp
"""A monotone step from an input element towards an index: it preserves or reverses the order of elements."""


def _dim_of(step: ElementStep) -> Dim:
    """The dim of a step: its offset, divisor or bound."""
    match step:
        case Affine():
            return step.offset
        case Quotient():
            return step.divisor
    return step.bound


def _with_dim(step: ElementStep, dim: Dim) -> ElementStep:
    match step:
        case Affine():
            return replace(step, offset=dim)
        case Quotient():
            return Quotient(dim)
    return replace(step, bound=dim)


@dataclass(frozen=True, slots=True)
class Origin:
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

    value_range: ValueRange
    input: str = ""
    source_dtype: DType | None = None
    offset: Dim = 0
    negative_offset: Dim | None = None
    clamps: tuple[Clamp, ...] = ()
    exact: bool = False
    nonempty_if: tuple[Dim, ...] | None = ()
    column: int | None = None
    whole: bool = True
    direct: bool = False
    overflow_dtype: DType | None = None
    steps: tuple[ElementStep, ...] = ()
    step_bounds: tuple[int, int] | None = None
    end: RangeEnd | None = None
    is_definite: bool = True
    slice_symbol: str = ""

    @property
    def is_changed(self) -> bool:
        """False when the elements are unmodified input elements."""
        is_moved = self.offset != 0 or bool(self.clamps) or bool(self.steps)
        return is_moved or self.end is not None or self.negative_offset is not None or self.overflow_dtype is not None

    @property
    def is_bounded_only(self) -> bool:
        """True when no further step can be recorded: negative elements were offset, or an overflow may precede the
        clamps.
        """
        return self.negative_offset is not None or (self.overflow_dtype is not None and bool(self.clamps))

    def with_step(self, step: ElementStep, value_range: ValueRange, step_bounds: tuple[int, int] | None) -> Origin:
        """The origin after one more step, which leaves its elements in `value_range` and x within `step_bounds`."""
        assert not self.is_bounded_only, "the caller checks this"
        steps: tuple[ElementStep, ...] = self.steps
        if self.offset != 0 or self.overflow_dtype is not None:
            steps += (Affine(1, self.offset, self.overflow_dtype, self.bounds),)
        steps += (*self.clamps, step)
        return replace(
            self,
            value_range=value_range,
            steps=steps,
            step_bounds=step_bounds,
            offset=0,
            clamps=(),
            overflow_dtype=None,
        )

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims of the offset, the clamps and the steps; not those of the value range."""
        found: list[Dim] = [self.offset, *(limit.bound for limit in self.clamps)]
        found += [] if self.negative_offset is None else [self.negative_offset]
        for step in self.steps:
            found.append(_dim_of(step))
        return tuple(found)

    def substituted(self, values: Mapping[str, Dim]) -> Origin:
        """The origin with dims in place of symbols."""

        def put(dim: Dim) -> Dim:
            return substitute(dim, values)

        span = ValueRange(*(None if end is None else put(end) for end in (self.value_range.lo, self.value_range.hi)))
        return replace(
            self,
            value_range=span,
            offset=put(self.offset),
            negative_offset=None if self.negative_offset is None else put(self.negative_offset),
            clamps=tuple(replace(limit, bound=put(limit.bound)) for limit in self.clamps),
            steps=tuple(_with_dim(step, put(_dim_of(step))) for step in self.steps),
            nonempty_if=None if self.nonempty_if is None else tuple(map(put, self.nonempty_if)),
        )

    def is_offset(self, dim: Dim) -> bool:
        """Whether `dim` is an offset and not a divisor or a clamp."""
        return self.offset == dim or any(isinstance(step, Affine) and step.offset == dim for step in self.steps)

    def is_increasing_in(self, dim: Dim) -> bool:
        """Whether the index increases with the offset `dim`: an even number of later steps reverses the order."""
        if self.offset == dim:
            return True
        at = next(i for i, step in enumerate(self.steps) if isinstance(step, Affine) and step.offset == dim)
        return sum(isinstance(step, Affine) and step.factor < 0 for step in self.steps[at + 1 :]) % 2 == 0

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Bounds of x, from the steps or from the element type."""
        if self.steps:
            return self.step_bounds
        return None if self.source_dtype is None else INTEGER_RANGE[self.source_dtype]

    @property
    def subset(self) -> Origin:
        """The origin of an unknown subset of the elements."""
        is_point = self.exact and self.value_range.lo == self.value_range.hi
        end = None if self.end is None else replace(self.end, is_attained=False)
        return replace(self, whole=False, direct=False, exact=is_point, end=end, slice_symbol="")

    @property
    def is_nonempty(self) -> bool:
        """True when there are such elements whenever the tensor is not empty."""
        return self.nonempty_if == ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """Provenance of a tensor: its origins.

    axis    origin j is that of index j on this axis; None when the positions are unknown
    """

    origins: tuple[Origin, ...]
    axis: int | None = None


@dataclass(frozen=True, slots=True)
class ElementPredicate:
    """Branch predicate on elements: a bool that bounds another tensor's elements where it is true, and where false."""

    when_true: ValueRange
    when_false: ValueRange

    @property
    def negated(self) -> ElementPredicate:
        return ElementPredicate(self.when_false, self.when_true)


def one_element(tensor: SymbolicTensor) -> Dim | None:
    """The only element of an integer tensor; None when it is unknown, or there are more."""
    element = tensor.only_element
    is_integer = tensor.dtype is not None and tensor.dtype.is_integer  # floats have Dims for elements too
    return element if is_integer and isinstance(element, (int, Expr)) else None


def origin_of_facts(tensor: SymbolicTensor, scope: Scope) -> Origin:
    """The origin that the facts of a tensor give for all its elements."""
    values = tensor.values
    is_known = tensor.dtype is not None and tensor.dtype.is_integer and values is not None and None not in values.flat
    return Origin(value_ranges.range_of(tensor, scope), exact=is_known)


def provenance_of_input(name: str, tensor: SymbolicTensor, scope: Scope) -> Provenance:
    """The provenance of a graph input."""
    return Provenance((Origin(value_ranges.range_of(tensor, scope), name, tensor.dtype, direct=True),))
