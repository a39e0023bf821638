"""Provenance of integer tensors: origins of their elements, and the steps from a graph input to them.

Facts bound the elements of a tensor. Provenance also records that the elements are those of a graph input, or that
component 1 of an index tuple has other bounds than component 0. The bounds check relies on provenance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from gather_infer import value_ranges
from gather_infer.symbolic import Dim, Scope, substitute
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, ValueRange


class Clamp(NamedTuple):
    """`min(element, bound)` where `is_upper`, else `max(element, bound)`."""

    bound: Dim
    is_upper: bool


class Affine(NamedTuple):
    """`factor * element + offset`.

    overflow_dtype  the type in which the result may overflow; None when it cannot overflow
    bounds          numeric bounds of the element before this step; None when unknown
    """

    factor: int
    offset: Dim
    overflow_dtype: DType | None = None
    bounds: tuple[int, int] | None = None


class Quotient(NamedTuple):
    """`element / divisor`, rounded toward 0, with a divisor >= 1."""

    divisor: Dim


class RangeEnd(NamedTuple):
    """A bound of a range of values that is computed from graph input elements (Range, sums).

    is_lower     whether it is the lower bound
    is_attained  whether the bound is known to be an element itself
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
            return step._replace(offset=dim)
        case Quotient():
            return Quotient(dim)
    return step._replace(bound=dim)


class Origin(NamedTuple):
    """Origin of some elements of a tensor, each computed from an element of a graph input.

    An element is x + offset, then clamped, where x is the result of `steps` for the input element. "The elements" below
    are the elements of the tensor that have this origin.

    value_range      bounds of the elements
    input            name of the graph input; empty when the elements come from no input
    source_dtype     element type of the graph input
    negative_offset  number added to x first if x < 0; None when nothing is added
    clamps           minima and maxima applied to x + offset, in this order
    exact            both bounds of `value_range` are attained whenever there are any elements
    nonempty_if      a nonempty tensor has elements of this origin exactly if all dims listed here are >= 1; None when
                     unknown
    column           the input elements are those at this index of the input's last axis; None for any index
    whole            every element of the input, or of the column, is among the elements
    direct           each element has the position of its input element
    overflow_dtype   the type in which x + offset may overflow; None when it cannot overflow
    steps            steps applied to the input element to compute x, in this order
    step_bounds      numeric bounds of x; None when unknown or without steps
    end              set if the elements of this origin are one bound of a range that contains the whole tensor
    is_definite      every read of the tensor reads an element of this origin; False if all may come from other origins
    slice_symbol     symbol of the iteration number if each iteration reads one slice and all together read every
                     element; else empty
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
        """Whether the elements may differ from the input elements."""
        is_moved = self.offset != 0 or bool(self.clamps) or bool(self.steps)
        return is_moved or self.end is not None or self.negative_offset is not None or self.overflow_dtype is not None

    @property
    def is_bounded_only(self) -> bool:
        """True when no further step can be recorded: negative elements were offset, or an overflow may precede the
        clamps.
        """
        return self.negative_offset is not None or (self.overflow_dtype is not None and bool(self.clamps))

    def with_step(self, step: ElementStep, value_range: ValueRange, step_bounds: tuple[int, int] | None) -> Origin:
        """The origin after one more step; `value_range` and `step_bounds` are the bounds after it."""
        assert not self.is_bounded_only, "the caller checks this"
        steps: tuple[ElementStep, ...] = self.steps
        if self.offset != 0 or self.overflow_dtype is not None:
            steps += (Affine(1, self.offset, self.overflow_dtype, self.bounds),)
        steps += (*self.clamps, step)
        return self._replace(
            value_range=value_range,
            steps=steps,
            step_bounds=step_bounds,
            offset=0,
            clamps=(),
            overflow_dtype=None,
        )

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims in the offsets, clamps and steps, without the bounds of `value_range`."""
        found: list[Dim] = [self.offset, *(limit.bound for limit in self.clamps)]
        found += [] if self.negative_offset is None else [self.negative_offset]
        for step in self.steps:
            found.append(_dim_of(step))
        return tuple(found)

    def substituted(self, values: Mapping[str, Dim]) -> Origin:
        """The origin with the symbols in all its dims replaced by `values`."""

        def put(dim: Dim) -> Dim:
            return substitute(dim, values)

        span = ValueRange(*(None if end is None else put(end) for end in (self.value_range.lo, self.value_range.hi)))
        return self._replace(
            value_range=span,
            offset=put(self.offset),
            negative_offset=None if self.negative_offset is None else put(self.negative_offset),
            clamps=tuple(limit._replace(bound=put(limit.bound)) for limit in self.clamps),
            steps=tuple(_with_dim(step, put(_dim_of(step))) for step in self.steps),
            nonempty_if=None if self.nonempty_if is None else tuple(map(put, self.nonempty_if)),
        )

    def is_offset(self, dim: Dim) -> bool:
        """Whether `dim` is the offset of this origin or of one of its steps, not a divisor or a clamp."""
        return self.offset == dim or any(isinstance(step, Affine) and step.offset == dim for step in self.steps)

    def is_increasing_in(self, dim: Dim) -> bool:
        """Whether the elements increase with the offset `dim`: an even number of later steps reverses the order."""
        if self.offset == dim:
            return True
        at = next(i for i, step in enumerate(self.steps) if isinstance(step, Affine) and step.offset == dim)
        return sum(isinstance(step, Affine) and step.factor < 0 for step in self.steps[at + 1 :]) % 2 == 0

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Numeric bounds of x, from the steps or, without steps, from the input's element type; None when unknown."""
        if self.steps:
            return self.step_bounds
        return None if self.source_dtype is None else INTEGER_RANGE[self.source_dtype]

    @property
    def subset(self) -> Origin:
        """The origin of an unknown subset of the elements of this origin."""
        is_point = self.exact and self.value_range.lo == self.value_range.hi
        end = None if self.end is None else self.end._replace(is_attained=False)
        return self._replace(whole=False, direct=False, exact=is_point, end=end, slice_symbol="")

    @property
    def is_nonempty(self) -> bool:
        """True when every nonempty tensor has elements of this origin."""
        return self.nonempty_if == ()


class Provenance(NamedTuple):
    """Provenance of a tensor: each of its elements has one of the `origins`.

    axis    axis on which the elements at index j have origin j; None when the positions are unknown
    """

    origins: tuple[Origin, ...]
    axis: int | None = None


class ElementPredicate(NamedTuple):
    """Bounds that the elements of a bool tensor imply for the elements of another tensor at the same positions.

    when_true   range of the other element if the bool is true
    when_false  range of the other element if the bool is false
    """

    when_true: ValueRange
    when_false: ValueRange

    @property
    def negated(self) -> ElementPredicate:
        return ElementPredicate(self.when_false, self.when_true)


def origin_of_facts(tensor: SymbolicTensor, scope: Scope) -> Origin:
    """An origin without a graph input, with the bounds that the facts of a tensor give for all its elements."""
    values = tensor.values
    is_known = tensor.dtype is not None and tensor.dtype.is_integer and values is not None and None not in values.flat
    return Origin(value_ranges.range_of(tensor, scope), exact=is_known)


def provenance_of_input(name: str, tensor: SymbolicTensor, scope: Scope) -> Provenance:
    """The provenance of the graph input `name`: its own elements at their positions."""
    return Provenance((Origin(value_ranges.range_of(tensor, scope), name, tensor.dtype, direct=True),))
