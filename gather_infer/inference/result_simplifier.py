"""Simplification of results: facts under everything the run has learned, with symbols expanded where possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gather_infer.context import Context
from gather_infer.inference.join import dims_of
from gather_infer.inference.result import Access
from gather_infer.symbolic import Dim, DimTooLarge, Expr, free_symbols, simplify, substitute
from gather_infer.tensor import (
    OptionalType,
    Ratio,
    SequenceType,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    make_values,
)
from gather_infer.trail import Assumption, Cause, Constraint, ImpliedConstraint, PathCondition, Unchecked

MAX_EXPANDED_SIZE = 40
"""Maximal number of nodes in an expression that replaces a symbol; a larger one is less readable than the symbol."""


class ResultSimplifier:
    """Simplifies facts at the end of a run.

    A fact that a late node implies simplifies an early dim, and a symbol equal to an expression of the inputs
    (`Cause.equals`) is replaced by the expression. During the run the symbol stays, since proofs treat it as an atom
    instead of splitting cases over the expression.
    """

    def __init__(self, context: Context) -> None:
        self.scope = context.scope
        self.causes = context.causes
        self.expansions = _expansions(context.causes)  # expressions of derived symbols, for printing
        self._dims = _SimplifiedDims(self)
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
        return replace(constraint, left=self.expanded(constraint.left), right=self.expanded(constraint.right))

    def implied_constraint(self, constraint: ImpliedConstraint) -> ImpliedConstraint:
        return replace(constraint, any_of=self._relations(constraint.any_of))

    def unchecked(self, unchecked: Unchecked) -> Unchecked:
        return replace(unchecked, any_of=self._relations(unchecked.any_of))

    def _relations(self, any_of: Iterable[tuple[Dim, str, Dim]]) -> tuple[tuple[Dim, str, Dim], ...]:
        return tuple((self.expanded(left), relation, self.expanded(right)) for left, relation, right in any_of)

    def condition(self, condition: PathCondition) -> PathCondition:
        """The condition in the symbols of the inputs. A `sign_predicate` that needs other symbols becomes None."""
        negative = None if condition.sign_predicate is None else self.expanded(condition.sign_predicate)
        if negative is not None and not free_symbols(negative).isdisjoint(self.causes):
            negative = None
        return condition._replace(sign_predicate=negative)

    def assumption(self, assumption: Assumption) -> Assumption:
        return assumption._replace(dim=self.expanded(assumption.dim))

    def _tensor(self, value: SymbolicTensor) -> SymbolicTensor:
        dims = self._dims
        shape, values, span = value.shape, value.values, value.value_range
        if shape is not None:
            shape = tuple([dims[dim] for dim in shape])
        if values is not None:
            flat = values.reshape(-1).tolist()
            if any(isinstance(element, (Expr, Ratio)) for element in flat):
                values = make_values(list(map(self._element, flat)), values.shape)
        if span is not None:
            span = ValueRange(*[None if end is None else dims[end] for end in (span.lo, span.hi)])
        return SymbolicTensor(value.dtype, shape, values, span)

    def _element(self, element: object) -> object:
        if isinstance(element, Ratio):
            num = self.dim(element.num)
            return Ratio(num, element.den) if isinstance(num, Expr) else element
        return self._dims[element] if isinstance(element, Expr) else element

    def dim(self, dim: Dim) -> Dim:
        return self._dims[dim]

    def expanded(self, dim: Dim) -> Dim:
        """The dim with symbols replaced by their expressions, if it stays readable."""
        expanded = _expanded(dim, self.expansions)
        return dim if expanded is None else expanded


class _SimplifiedDims(dict[Dim, Dim]):
    """Cache of simplified dims, filled on first use."""

    def __init__(self, simplifier: ResultSimplifier) -> None:
        super().__init__()
        self._simplifier = simplifier

    def __missing__(self, dim: Dim) -> Dim:
        simplified = dim
        if isinstance(dim, Expr):
            simplified = self._simplifier.expanded(dim if dim.is_symbol else simplify(dim, self._simplifier.scope))
        self[dim] = simplified
        return simplified


def _expansions(causes: Mapping[str, Cause]) -> dict[str, Dim]:
    """For each symbol with `Cause.equals`, that expression, in which such symbols are expanded too."""
    expansions: dict[str, Dim] = {}
    for name, cause in causes.items():  # in order of creation: expressions use earlier symbols only
        if cause.equals is not None and (expanded := _expanded(cause.equals, expansions)) is not None:
            expansions[name] = expanded
    return expansions


def _expanded(dim: Dim, expansions: Mapping[str, Dim]) -> Dim | None:
    """The dim with expanded symbols; None when that is impossible or too large to read."""
    try:
        expanded = substitute(dim, expansions)
    except (DimTooLarge, ZeroDivisionError):
        return None
    return expanded if isinstance(expanded, int) or expanded is dim or expanded.size <= MAX_EXPANDED_SIZE else None


def causes_of(
    values: Iterable[Value],
    constraints: Iterable[Constraint],
    assumptions: Iterable[Assumption],
    dims: Iterable[Dim],
    causes: Mapping[str, Cause],
) -> dict[str, Cause]:
    """The causes of the generated symbols in the given results, and of the symbols on which they depend."""
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
