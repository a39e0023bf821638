"""A node while the traces of its outputs are worked out, and what every law asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto

from gather_infer import spans
from gather_infer.inference.lineage.trace import Part, Trace, one_element, part_of
from gather_infer.symbolic import Dim, Scope, known_le, product
from gather_infer.tensor import INTEGER_RANGE, DType, Span, SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.frame import Frame

TABLE_LIMIT: Final = 65536
"""Elements of a constant that is looked at as a whole."""

MAX_PARTS: Final = 8
"""Parts of a trace; a tensor with more is not followed."""

MAX_COLUMNS: Final = 64
"""Parts of a trace that stand side by side, each at an index of one axis."""


@dataclass(slots=True)
class Visit:
    """One node while the traces of its outputs are worked out."""

    node: NodeProto
    inputs: Sequence[Value | None]
    frame: Frame
    scope: Scope
    result: SymbolicTensor
    load: Callable[[str, Frame], np.ndarray[Any, Any] | None]

    def tensor(self, index: int) -> SymbolicTensor:
        value = self.inputs[index] if index < len(self.inputs) else None
        return value if isinstance(value, SymbolicTensor) else SymbolicTensor()

    def trace(self, index: int) -> Trace | None:
        return self.frame.trace(self.node.input[index]) if index < len(self.node.input) else None

    def parts(self, index: int) -> tuple[Part, ...]:
        """The parts of an input, or the one that its facts make."""
        trace = self.trace(index)
        return trace.parts if trace is not None else (part_of(self.tensor(index), self.scope),)

    def number(self, index: int) -> Dim | None:
        """The one element of an integer input, None when it is not known."""
        return one_element(self.tensor(index))

    def numbers(self, index: int) -> np.ndarray[Any, Any] | None:
        """The elements of a constant, of up to `TABLE_LIMIT`."""
        tensor = self.tensor(index)
        size = None if tensor.shape is None else product(tensor.shape)
        if not isinstance(size, int) or size > TABLE_LIMIT:
            return None
        return self.load(self.node.input[index], self.frame)

    def shift(self, name: str, base: str) -> Dim | None:
        """The number d where the tensor `name` is `base` + d, element by element; None when it is not."""
        shifted = self.frame.shifts.get(name)
        return None if shifted is None or shifted[0] != base else shifted[1]

    def row(self, index: int) -> list[int] | None:
        """The elements of an integer constant whose axes but the last have length 1; None where they are too many."""
        shape, values = self.tensor(index).shape, self.tensor(index).values
        if not shape or any(dim != 1 for dim in shape[:-1]) or not isinstance(shape[-1], int):
            return None
        if not 1 < shape[-1] <= MAX_COLUMNS:
            return None
        numbers = values if values is not None else self.numbers(index)
        elements = [] if numbers is None else numbers.reshape(-1).tolist()
        is_known = all(isinstance(e, int) and -spans.HUGE <= e <= spans.HUGE for e in elements)
        return elements if elements and is_known else None

    def attribute(self, name: str, default: int) -> int:
        return next((int(a.i) for a in self.node.attribute if a.name == name), default)

    def axis(self, rank: int | None, default: int = 0) -> int | None:
        """The attribute axis, counted from the front."""
        axis = self.attribute("axis", default)
        return axis if axis >= 0 else None if rank is None else axis + rank


def sharpen(name: str, span: Span, frame: Frame) -> None:
    """Give a tensor the ends of a span where its own is open, or belongs to a larger tensor.

    An end that is the limit of the element type says nothing.
    """
    value = frame.values[name]
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "only tensors of a known type are followed"
    old, limits = value.span or Span(), spans.type_span(value.dtype)
    new = Span(
        old.lo if span.lo is None or span.lo == limits.lo else span.lo,
        old.hi if span.hi is None or span.hi == limits.hi else span.hi,
    )
    if new != old and value.values is None:
        ends = limits.lo if new.lo is None else new.lo, limits.hi if new.hi is None else new.hi
        frame.values[name] = value.with_(span=Span(*ends))


def fitting(visit: Visit, span: Span) -> Span:
    """The span of a sum; what may pass the end of the element type tells nothing."""
    if visit.result.dtype is DType.INT64:
        least, most = INTEGER_RANGE[DType.INT64]
        fits = all(not isinstance(end, int) or least <= end <= most for end in (span.lo, span.hi))
        return span if fits else spans.ANY
    limits = spans.type_span(visit.result.dtype)
    ends = ((limits.lo, span.lo), (span.lo, span.hi), (span.hi, limits.hi))
    fits = all(a is not None and b is not None and known_le(a, b, visit.scope) is True for a, b in ends)
    return span if fits else limits


def is_point(part: Part) -> bool:
    return part.exact and part.span.lo == part.span.hi


def astray(trace: Trace) -> tuple[Part, ...]:
    """The parts when their elements no longer stand where they stood in an input."""
    return tuple(replace(p, direct=False) for p in trace.parts)


def by_column(visit: Visit, index: int, axis: int | None) -> Trace | None:
    """The trace of an input of the node, with a part for each index of `axis` where that is the last one of a graph
    input that stands there as it is.
    """
    trace, shape = visit.trace(index), visit.tensor(index).shape
    if trace is None or trace.axis is not None or len(trace.parts) != 1 or not shape or axis != len(shape) - 1:
        return trace
    (part,), width = trace.parts, shape[-1]
    if not (part.input and part.direct and isinstance(width, int) and 0 < width <= MAX_COLUMNS):
        return trace
    columns = (replace(part, column=j, direct=False, exact=is_point(part)) for j in range(width))
    return Trace(tuple(columns), axis)


def ranked(visit: Visit, trace: Trace, source: SymbolicTensor) -> Trace:
    """The trace of a tensor of the rank of the result; a number of more axes than `source` adds some in front."""
    if source.rank is not None and source.rank == visit.result.rank:
        return trace
    return Trace(astray(trace))
