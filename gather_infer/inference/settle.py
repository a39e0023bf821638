"""Simplification of results: facts under everything the run has learned, with symbols expanded where possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gather_infer.context import Context
from gather_infer.inference.join import dims_of
from gather_infer.inference.result import Access
from gather_infer.record import Assumption, Cause, Constraint, Demand, PathCondition, Unchecked
from gather_infer.symbolic import Dim, DimTooLarge, Expr, free_symbols, simplify, substitute
from gather_infer.tensor import (
    OptionalType,
    Ratio,
    SequenceType,
    Span,
    SparseTensor,
    SymbolicTensor,
    Value,
    make_values,
)

MAX_WRITTEN = 40
"""Nodes of an expression that replaces a symbol; a larger one would be less readable than the symbol."""


class Settling:
    """Simplifies facts at the end of a run.

    A fact that a late node implies simplifies an early dim, and a symbol equal to an expression of the inputs
    (`Cause.equals`) is replaced by the expression. During the run it stays a symbol: proofs treat it as an atom, where
    the expression would split them into cases.
    """

    def __init__(self, context: Context) -> None:
        self.scope = context.scope
        self.causes = context.causes
        self.meanings = _meanings(context.causes)  # expressions of derived symbols, for printing
        self._dims = _Dims(self)
        self._values: dict[int, tuple[Value, Value]] = {}  # keyed by identity: many tensors share one fact

    def value(self, value: Value) -> Value:
        found = self._values.get(id(value))
        if found is None:
            found = self._values[id(value)] = value, self._value(value)
        return found[1]

    def _value(self, value: Value) -> Value:
        match value:
            case SymbolicTensor():
                return self._tensor(value)
            case SparseTensor(dtype=dtype, shape=shape) if shape is not None:
                return SparseTensor(dtype, tuple(map(self.dim, shape)))
            case SequenceType(element=element, length=length):
                return SequenceType(
                    None if element is None else self.value(element), None if length is None else self.dim(length)
                )
            case OptionalType(element=element, present=present) if element is not None:
                return OptionalType(self.value(element), present)
        return value

    def access(self, access: Access) -> Access:
        data, indices, result = map(self.value, (access.data_type, access.indices_type, access.result_type))
        return replace(access, data_type=data, indices_type=indices, result_type=result)

    def constraint(self, constraint: Constraint) -> Constraint:
        return replace(constraint, left=self.written(constraint.left), right=self.written(constraint.right))

    def demand(self, demand: Demand) -> Demand:
        return replace(demand, any_of=self._stated(demand.any_of))

    def unchecked(self, unchecked: Unchecked) -> Unchecked:
        return replace(unchecked, any_of=self._stated(unchecked.any_of))

    def _stated(self, any_of: Iterable[tuple[Dim, str, Dim]]) -> tuple[tuple[Dim, str, Dim], ...]:
        return tuple((self.written(left), relation, self.written(right)) for left, relation, right in any_of)

    def condition(self, condition: PathCondition) -> PathCondition:
        """The condition in the symbols of the inputs; without its dim where that has other symbols."""
        negative = None if condition.negative is None else self.written(condition.negative)
        if negative is not None and not free_symbols(negative).isdisjoint(self.causes):
            negative = None
        return replace(condition, negative=negative)

    def assumption(self, assumption: Assumption) -> Assumption:
        return replace(assumption, dim=self.written(assumption.dim))

    def _tensor(self, value: SymbolicTensor) -> SymbolicTensor:
        dims = self._dims
        shape, values, span = value.shape, value.values, value.span
        if shape is not None:
            shape = tuple([dims[dim] for dim in shape])
        if values is not None:
            flat = values.reshape(-1).tolist()
            if any(isinstance(element, (Expr, Ratio)) for element in flat):
                values = make_values(list(map(self._element, flat)), values.shape)
        if span is not None:
            span = Span(*[None if end is None else dims[end] for end in (span.lo, span.hi)])
        return SymbolicTensor(value.dtype, shape, values, span)

    def _element(self, element: object) -> object:
        if isinstance(element, Ratio):
            num = self.dim(element.num)
            return Ratio(num, element.den) if isinstance(num, Expr) else element
        return self._dims[element] if isinstance(element, Expr) else element

    def dim(self, dim: Dim) -> Dim:
        return self._dims[dim]

    def written(self, dim: Dim) -> Dim:
        """The dim with symbols replaced by their expressions, if it stays readable."""
        written = _written(dim, self.meanings)
        return dim if written is None else written


class _Dims(dict[Dim, Dim]):
    """Cache of simplified dims, filled on first use."""

    def __init__(self, settling: Settling) -> None:
        super().__init__()
        self._settling = settling

    def __missing__(self, dim: Dim) -> Dim:
        settled = dim
        if isinstance(dim, Expr):
            settled = self._settling.written(dim if dim.is_symbol else simplify(dim, self._settling.scope))
        self[dim] = settled
        return settled


def _meanings(causes: Mapping[str, Cause]) -> dict[str, Dim]:
    """Expressions of the symbols that equal one, in symbols that do not."""
    meanings: dict[str, Dim] = {}
    for name, cause in causes.items():  # in order of creation: expressions use earlier symbols only
        if cause.equals is not None and (written := _written(cause.equals, meanings)) is not None:
            meanings[name] = written
    return meanings


def _written(dim: Dim, meanings: Mapping[str, Dim]) -> Dim | None:
    """The dim with expanded symbols; None when that is impossible or too large to read."""
    try:
        written = substitute(dim, meanings)
    except (DimTooLarge, ZeroDivisionError):
        return None
    return written if isinstance(written, int) or written is dim or written.size <= MAX_WRITTEN else None


def causes_of(
    values: Iterable[Value],
    constraints: Iterable[Constraint],
    assumptions: Iterable[Assumption],
    dims: Iterable[Dim],
    causes: Mapping[str, Cause],
) -> dict[str, Cause]:
    """The causes of the generated symbols that occur in results, and of those on which such a symbol depends."""
    if not causes:
        return {}
    mentioned: set[object] = {*dims}
    for value in {id(value): value for value in values}.values():
        mentioned.update(dims_of(value))
    for constraint in constraints:
        mentioned |= {constraint.left, constraint.right}
    for assumption in assumptions:
        mentioned.add(assumption.dim)
    used = {name for dim in mentioned if isinstance(dim, Expr) for name in dim.symbols}
    pending = [name for name in used if name in causes]
    while pending:
        operands = causes[pending.pop()].operands - used
        used |= operands
        pending += [name for name in operands if name in causes]
    return {name: cause for name, cause in causes.items() if name in used}
