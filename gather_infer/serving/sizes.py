"""The sizes that a contract leaves free, and what it requires of them.

Equations of the contract bind sizes: with `attention_mask.1 == past + seq` that axis is `past + seq`, and `past` and
`seq` are free. Conditions are lines about the free sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gather_infer.contract import Contract, DimsLine, ElementsLine, Line, ModelInterface, Relation
from gather_infer.contract.checking import RANGES, compound_axes, solvings
from gather_infer.errors import EmissionRefused
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Interval,
    Scope,
    divisors,
    free_symbols,
    is_total,
    product,
    substitute,
    symbol,
)

Box: TypeAlias = "Mapping[str, Interval]"
"""An interval for each free size. Its points are all combinations of sizes in the intervals."""


@dataclass(frozen=True, slots=True)
class SizeCondition:
    """A condition on sizes: at least one of the relations holds.

    text   the condition in the terms of the contract
    line   the line of the contract; None for what the shapes of the inputs require
    """

    text: str
    relations: tuple[Relation, ...]
    line: Line | None = None

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*(relation.symbols for relation in self.relations))

    @property
    def is_huge_limit(self) -> bool:
        """Whether the condition is an upper limit of 10^9 or more."""
        return isinstance(self.line, DimsLine) and self.line.is_huge_limit

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether the condition holds at `sizes`; it requires nothing where a divisor is 0."""
        try:
            return any(relation.holds(sizes) for relation in self.relations)
        except ZeroDivisionError:
            return True

    def at(self, sizes: Mapping[str, Dim]) -> SizeCondition | None:
        """The condition with dims in place of sizes; None if it then always holds or divides by 0."""
        try:
            relations = tuple(_with_sizes(relation, sizes) for relation in self.relations)
        except ZeroDivisionError:
            return None
        except DimTooLarge as error:
            raise EmissionRefused(f"too large to prove anything about: {self.text}") from error
        scope = Scope()
        if any(not relation.symbols and relation.known(scope) is True for relation in relations):
            return None
        return SizeCondition(self.text, relations, self.line)

    def is_proved(self, scope: Scope) -> bool:
        """Whether the condition holds for every binding in `scope`."""
        if any(relation.known(scope) is True for relation in self.relations):
            return True
        return len(self.relations) > 1 and any(
            relation.known(_where_others_fail(scope, self.relations, relation)) is True for relation in self.relations
        )


def _with_sizes(relation: Relation, sizes: Mapping[str, Dim]) -> Relation:
    return Relation(substitute(relation.left, sizes), relation.relation, substitute(relation.right, sizes))


def _where_others_fail(scope: Scope, relations: tuple[Relation, ...], but: Relation) -> Scope:
    """A child scope in which no relation holds except `but`; equations and partial dims add no facts."""
    where = scope.child()
    for relation in relations:
        if relation is not but and relation.relation != "==" and is_total(relation.left) and is_total(relation.right):
            low, high = relation.left, relation.right
            where.add_fact((low - high if relation.relation == "<=" else high - low) - 1)
    return where


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of an input with a size that is not a number.

    declared   the dim in the contract: `seq`, `past + seq`
    size       the dim in free sizes; a number if the contract fixes it
    """

    input: str
    number: int
    declared: Expr
    size: Dim

    @property
    def name(self) -> str:
        """The name of the axis, as `mask.1`."""
        return f"{self.input}.{self.number}"


class SizeSystem:
    """The free sizes of a contract and the conditions on them.

    free         the names of the free sizes, in the order of the inputs
    axes         the axes whose sizes are not numbers
    followers    those among the axes whose sizes follow from other sizes, by an equation
    conditions   what the contract requires of the free sizes
    """

    def __init__(self, contract: Contract, interface: ModelInterface | None = None) -> None:
        """Compile the contract of a model.

        interface   the inputs as the file declares them. Axes of one size with different names there are not equal for
                    a program that reads the file, so all but the first follow from it

        Raises EmissionRefused if the conditions are too large for proofs.
        """
        self._bound: dict[str, Dim] = {}
        try:
            conditions = [*self._bind_axes(contract), *self._bind_lines(contract), *self._lines(contract)]
            resolved = (condition.at(self._bound) for condition in conditions)
            self.conditions = tuple(condition for condition in resolved if condition is not None)
            self.axes = tuple(
                Axis(spec.name, number, dim, self.resolved(self._size_of(spec.axis_name(number), dim)))
                for spec in contract.inputs
                for number, dim in enumerate(spec.shape or ())
                if isinstance(dim, Expr)
            )
        except DimTooLarge as error:
            raise EmissionRefused("the sizes of the contract are too large to prove anything about") from error
        except ZeroDivisionError as error:
            raise EmissionRefused("a size of an input divides by 0") from error
        names = dict.fromkeys(name for axis in self.axes for name in _ordered(axis.size))
        names |= dict.fromkeys(name for condition in self.conditions for name in sorted(condition.symbols))
        self.free = tuple(names)
        groups = _groups(self.axes, contract, interface)
        self.followers = tuple(
            axis
            for axis in self.axes
            if isinstance(axis.size, Expr) and not (self._is_free(axis) and groups[axis] == 0)
        )

    def resolved(self, dim: Dim) -> Dim:
        """A dim in free sizes."""
        return substitute(dim, self._bound)

    def _is_free(self, axis: Axis) -> bool:
        """Whether the axis has a free size of its own, or that of all axes with the same declared dim."""
        return (axis.declared.is_symbol and axis.size == axis.declared) or (
            axis.declared in self._solved and isinstance(axis.size, Expr) and axis.size.is_symbol
        )

    def _size_of(self, axis_name: str, dim: Expr) -> Dim:
        """The dim that stands for the size of an axis: its symbol, or for a compound dim that of the axis."""
        return dim if dim.is_symbol else symbol(axis_name)

    def _bind(self, name: str, dim: Dim) -> bool:
        """Add the equation `name == dim`; False if it cannot be solved for `name` or the name has another equation."""
        dim = self.resolved(dim)
        if name in self._bound or name in free_symbols(dim):
            return False
        self._bound = {other: substitute(rest, {name: dim}) for other, rest in self._bound.items()}
        self._bound[name] = dim
        return True

    def _bind_axes(self, contract: Contract) -> Iterator[SizeCondition]:
        """Bind the axes with compound dims; yield what makes their sizes exist.

        A symbol that occurs in one compound dim only, as in `k + n`, follows from the axis, not the axis from it.
        """
        solved = {s.size: s for s in solvings(contract.inputs) if abs(s.factor) == 1}
        self._solved: set[Dim] = set()
        for spec, number, dim in compound_axes(contract.inputs):
            size, solving = spec.axis_name(number), solved.get(spec.axis_name(number))
            if solving is not None and self._bind(solving.name, (symbol(size) - solving.rest) * solving.factor):
                self._solved.add(dim)
                low: Dim = self._bound[solving.name]
            else:
                self._bind(size, dim)
                low = self.resolved(dim)
            yield from (
                SizeCondition(f"{size} == {dim}", (Relation(each, ">=", least),))
                for each, least in ((low, 0), *((divisor, 1) for divisor in divisors([self.resolved(dim)])))
                if not isinstance(each, int)
            )

    def _bind_lines(self, contract: Contract) -> Iterator[SizeCondition]:
        """Bind the symbols that lines equate with other dims; yield what makes their sizes exist."""
        for line in contract.all_lines:
            relation = line.single_relation if isinstance(line, DimsLine) else None
            if relation is None or relation.relation != "==":
                continue
            for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
                is_name = isinstance(side, Expr) and side.is_symbol and is_total(other)
                if isinstance(side, Expr) and is_name and self._bind(side.name, other):
                    yield SizeCondition(line.text, (Relation(self._bound[side.name], ">=", 0),), line)
                    break

    def _lines(self, contract: Contract) -> Iterator[SizeCondition]:
        """The conditions of the lines; that of a conditional line is required of all feeds."""
        for line in contract.all_lines:
            if isinstance(line, DimsLine):
                yield SizeCondition(line.text, line.relations, line)
        yield from self._legal_elements(contract)

    def _legal_elements(self, contract: Contract) -> Iterator[SizeCondition]:
        """Conditions without which an input that is not empty has no legal elements: `ids < n` needs n >= 1."""
        lines = [line for line in contract.all_lines if isinstance(line, ElementsLine)]
        for spec in contract.inputs:
            of_input = [line for line in lines if line.input == spec.name]
            least, most = RANGES.get(spec.dtype or "", (0, 1))
            empty = Relation(product(spec.shape or ()), "==", 0)
            lows = [*((line, line.lower) for line in of_input if line.lower is not None), (None, least)]
            highs = [*((line, line.upper) for line in of_input if line.upper is not None), (None, most)]
            for (one, low), (other, high) in ((low, high) for low in lows for high in highs):
                line = one or other
                columns = {each.column for each in (one, other) if each is not None and each.column is not None}
                if line is not None and len(columns) <= 1:
                    yield SizeCondition(line.text, (Relation(low, "<=", high), empty), line)


def _groups(axes: tuple[Axis, ...], contract: Contract, interface: ModelInterface | None) -> dict[Axis, int]:
    """For each axis the position of its name in the file among the names of axes with the same size."""
    if interface is None:
        return dict.fromkeys(axes, 0)
    ranks = {spec.name: len(spec.shape or ()) for spec in contract.inputs}
    names: dict[Dim, list[object]] = {}
    found: dict[Axis, int] = {}
    for axis in axes:
        name: object = interface.input_dims(axis.input, ranks[axis.input])[axis.number] or axis  # nameless: its own
        of_size = names.setdefault(axis.size, [])
        if name not in of_size:
            of_size.append(name)
        found[axis] = of_size.index(name)
    return found


def _ordered(dim: Dim) -> list[str]:
    return sorted(free_symbols(dim))


__all__ = ["Axis", "Box", "SizeCondition", "SizeSystem"]
