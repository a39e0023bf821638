"""Context of a transfer function: a node and its operands, and operations that transfer functions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import NodeProto

from gather_infer import value_ranges
from gather_infer.inference.provenance.origin import Origin, Provenance, origin_of_facts
from gather_infer.model.attributes import attribute_of
from gather_infer.node_facts import NodeFacts
from gather_infer.symbolic import Dim, Scope, known_le
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, Value, ValueRange

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment

TABLE_LIMIT: Final = 65536
"""Maximal number of elements of a constant that a transfer function reads."""

MAX_ORIGINS: Final = 8
"""Maximal number of origins of a provenance without an axis; a tensor with more is not tracked."""

MAX_COLUMNS: Final = 64
"""Maximal number of origins of a provenance with an axis, which has one origin for each index of the axis."""


@dataclass(slots=True, eq=False)
class TransferContext(NodeFacts):
    """Arguments of a transfer function: one node and the state in which it is interpreted.

    result   fact of output 0
    load     reads the elements of a constant by name
    """

    node: NodeProto
    inputs: Sequence[Value | None]
    environment: Environment
    scope: Scope
    result: SymbolicTensor
    load: Callable[[str, Environment], np.ndarray[Any, Any] | None]

    def attr(self, name: str, default: Any = None) -> Any:
        return attribute_of(self.node, name, default)

    def value(self, index: int) -> Value | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def provenance(self, index: int) -> Provenance | None:
        """The provenance of an input; None when it is not tracked."""
        return self.environment.provenance_of(self.node.input[index]) if index < len(self.node.input) else None

    def origins(self, index: int) -> tuple[Origin, ...]:
        """The origins of an input, or, if its provenance is not tracked, one origin with the bounds of its facts."""
        trace = self.provenance(index)
        return trace.origins if trace is not None else (origin_of_facts(self.fact(index), self.scope),)

    def array(self, index: int) -> np.ndarray[Any, Any] | None:
        """The elements of a constant input; None when it is not constant or larger than `TABLE_LIMIT`."""
        size = self.fact(index).size
        if size is None or size > TABLE_LIMIT:
            return None
        return self.load(self.node.input[index], self.environment)

    def offset_from(self, name: str, base: str) -> Dim | None:
        """The number d for which the tensor `name` is recorded as `base` + d, element by element; None otherwise."""
        shifted = self.environment.offsets.get(name)
        return None if shifted is None or shifted[0] != base else shifted[1]

    def constant_row(self, index: int) -> list[int] | None:
        """The elements of an integer constant in which only the last axis is longer than 1; None for any other input.

        Also None when there are more than MAX_COLUMNS elements or one of them is too large.
        """
        shape, values = self.fact(index).shape, self.fact(index).values
        if not shape or any(dim != 1 for dim in shape[:-1]) or not isinstance(shape[-1], int):
            return None
        if not 1 < shape[-1] <= MAX_COLUMNS:
            return None
        numbers = values if values is not None else self.array(index)
        elements = [] if numbers is None else numbers.reshape(-1).tolist()
        is_known = all(isinstance(e, int) and -value_ranges.HUGE <= e <= value_ranges.HUGE for e in elements)
        return elements if elements and is_known else None


def refine_range(name: str, value_range: ValueRange, environment: Environment) -> None:
    """Replace the bounds of the tensor `name` by those of `value_range`, without comparing them.
    A bound that is None or the limit of the element type carries no information and replaces nothing.
    """
    value = environment.values[name]
    assert isinstance(value, SymbolicTensor) and value.dtype is not None, "only tensors of a known type are tracked"
    old, limits = value.value_range or ValueRange(), value_ranges.type_range(value.dtype)
    new = ValueRange(
        old.lo if value_range.lo is None or value_range.lo == limits.lo else value_range.lo,
        old.hi if value_range.hi is None or value_range.hi == limits.hi else value_range.hi,
    )
    if new != old and value.values is None:
        ends = limits.lo if new.lo is None else new.lo, limits.hi if new.hi is None else new.hi
        environment.values[name] = value.with_(value_range=ValueRange(*ends))


def without_overflow(context: TransferContext, value_range: ValueRange) -> ValueRange:
    """`value_range`, or the range of the result's element type if a result in `value_range` may overflow it."""
    if context.result.dtype is DType.INT64:
        least, most = INTEGER_RANGE[DType.INT64]
        fits = all(not isinstance(end, int) or least <= end <= most for end in (value_range.lo, value_range.hi))
        return value_range if fits else value_ranges.ANY
    limits = value_ranges.type_range(context.result.dtype)
    ends = ((limits.lo, value_range.lo), (value_range.lo, value_range.hi), (value_range.hi, limits.hi))
    fits = all(a is not None and b is not None and known_le(a, b, context.scope) is True for a, b in ends)
    return value_range if fits else limits


def is_point(origin: Origin) -> bool:
    """Whether all elements of an origin are equal to one known value."""
    return origin.exact and origin.value_range.lo == origin.value_range.hi


def relocated(provenance: Provenance) -> tuple[Origin, ...]:
    """The origins with `direct` cleared, since the elements may have other positions than in the graph input."""
    return tuple(p._replace(direct=False) for p in provenance.origins)


def by_column(context: TransferContext, index: int, axis: int | None) -> Provenance | None:
    """The provenance of an input of the node, split into one origin for each index of `axis`.

    Only elements at their positions in a graph input can be split, and only if `axis` is the last axis and its length
    is known. Otherwise the provenance is returned unchanged.
    """
    trace, shape = context.provenance(index), context.fact(index).shape
    if trace is None or trace.axis is not None or len(trace.origins) != 1 or not shape or axis != len(shape) - 1:
        return trace
    (part,), width = trace.origins, shape[-1]
    if not (part.input and part.direct and isinstance(width, int) and 0 < width <= MAX_COLUMNS):
        return trace
    columns = (part._replace(column=j, direct=False, exact=is_point(part)) for j in range(width))
    return Provenance(tuple(columns), axis)


def at_result_rank(context: TransferContext, provenance: Provenance, source: SymbolicTensor) -> Provenance:
    """`provenance` of an operand `source`, for the result; relocated if broadcasting gives the result a higher rank."""
    if source.rank is not None and source.rank == context.result.rank:
        return provenance
    return Provenance(relocated(provenance))
