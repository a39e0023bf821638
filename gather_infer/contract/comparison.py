"""Compare two contracts: is every input within one also within the other, and which line does not follow?

An input is within a contract if it satisfies every line, also those that are not necessary: for these the contract
promises that a run does not fail, but for its open points.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from itertools import product as combinations
from typing import Final

from gather_infer.contract.checking import RANGES, solvings, unsolved
from gather_infer.contract.contract import Contract
from gather_infer.contract.lines import DimsLine, ElementsLine, InputCondition, Relation
from gather_infer.symbolic import (
    Dim,
    DimTooLarge,
    Expr,
    Scope,
    evaluate,
    free_symbols,
    is_total,
    known_le,
    product,
    substitute,
    symbol,
)
from gather_infer.symbolic.normal_form import constant_term

_MAX_POINTS: Final = 4096
"""Points at which a witness is sought, for each line that does not follow."""

_FIRST_SIZES: Final = (1, 2, 3, 5, 0)
"""Sizes that are tried first; small sizes make small witnesses, and an empty tensor says least."""

_ROUNDS: Final = 2
"""Times that the conditions are read for facts."""


class ContractChange(enum.Enum):
    """Whether inputs within a first contract are within a second one.

    EQUAL     each input within one is within the other
    WIDER     each input within the first is within the second, and the first model fails for one that is within the
              second, or declares other sizes
    HOLDS     each input within the first is within the second; the reverse is not decided
    NARROWER  the second model fails for an input within the first contract, or declares other sizes
    UNKNOWN   not decided
    """

    EQUAL = "equal"
    WIDER = "wider"
    HOLDS = "holds"
    NARROWER = "narrower"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def of(cls, forward: bool | None, backward: bool | None) -> ContractChange:
        """The change, where the first contract implies the second (`forward`) and the reverse; None if undecided."""
        if forward is False:
            return cls.NARROWER
        if forward is None:
            return cls.UNKNOWN
        return {True: cls.EQUAL, False: cls.WIDER, None: cls.HOLDS}[backward]


@dataclass(frozen=True, slots=True)
class NewRequirement:
    """A condition of one contract that does not follow from the other.

    text     the line, or the open point
    nodes    labels of the nodes that impose it; empty if a declaration does
    witness  sizes by axis, as `input_ids.1`, and an element by input, that are within the other contract and with which
             this model fails; None if none was found, {} if it fails with every input of the other
    """

    text: str
    nodes: tuple[str, ...]
    witness: Mapping[str, int] | None = None

    @property
    def example(self) -> str:
        """The witness as text: `input_ids.1 = 49`."""
        return ", ".join(f"{name} = {number}" for name, number in (self.witness or {}).items())


def new_requirements(
    first: Contract, second: Contract, inputs: Mapping[str, str] | None = None
) -> tuple[NewRequirement, ...]:
    """The conditions of `second` that do not follow from `first`; empty if each input within it is within `second`.

    inputs   input of the first contract -> input of the second; equal names if None

    A witness satisfies every line of the first contract, which then has no open point, and violates a necessary line of
    the second. Witnesses name axes as the first contract does. Open points are the same if node and reason are.
    """
    pairs = {spec.name: spec.name for spec in first.inputs} if inputs is None else dict(inputs)
    try:
        return tuple(_Comparison(first, second, pairs).found())
    except DimTooLarge:
        return (NewRequirement("the sizes are too large to prove anything about", ()),)
    except ZeroDivisionError:
        return (NewRequirement("a size divides by 0 in every run", ()),)


def implication(found: Sequence[NewRequirement]) -> bool | None:
    """Whether a contract implies another one with these `new_requirements`: False with a witness, None if undecided."""
    if any(requirement.witness is not None for requirement in found):
        return False
    return None if found else True


@dataclass(frozen=True, slots=True)
class _Condition:
    """A disjunction of relations between sizes of axes.

    is_needed  every run that violates it fails, or a declaration says so
    is_known   every symbol is the size of an axis
    where      conditions on inputs; it applies only where they are met
    """

    text: str
    nodes: tuple[str, ...]
    relations: tuple[Relation, ...]
    is_needed: bool = True
    is_known: bool = True
    where: tuple[InputCondition, ...] = ()

    @property
    def is_fact(self) -> bool:
        """Whether it is about the sizes of every input within the contract."""
        return self.is_known and not self.where

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset().union(*(relation.symbols for relation in self.relations))

    def at(self, sizes: Mapping[str, Dim]) -> _Condition:
        """The condition with dims in place of sizes. Raises ZeroDivisionError where it divides by 0."""
        relations = tuple(
            Relation(substitute(each.left, sizes), each.relation, substitute(each.right, sizes))
            for each in self.relations
        )
        return replace(self, relations=relations)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether a relation holds at these sizes. Raises ZeroDivisionError where it divides by 0."""
        return any(relation.holds(sizes) for relation in self.relations)


class _AxisTerms:
    """A contract in terms of the sizes of axes: each symbol is the size of the first axis that has it.

    conditions  what it requires of sizes, declarations included
    elements    what it requires of elements: the common name of the input, the line, and whether it is needed
    """

    def __init__(self, contract: Contract, names: Mapping[str, str]) -> None:
        """names: input of the contract -> its name in both contracts."""
        self.contract = contract
        self.names = names
        self._sizes: dict[str, Dim] = {}
        self._axes: set[str] = set()
        self.conditions = [
            *self._declared_sizes(),
            *(
                self._condition(f"{spec.axis_name(axis)} == {dim}", Relation(symbol(spec.axis_name(axis)), "==", dim))
                for spec, axis, dim in unsolved(contract.inputs, contract.all_lines)
            ),
            *(
                self._condition(line.text, *line.relations, nodes=line.nodes, is_needed=is_needed, where=line.where)
                for line, is_needed in contract.enforced
                if isinstance(line, DimsLine)
            ),
        ]
        self.elements = [
            (names.get(line.input, line.input), line, is_needed)
            for line, is_needed in contract.enforced
            if isinstance(line, ElementsLine)
        ]

    def _declared_sizes(self) -> Iterator[_Condition]:
        """Name the sizes; yield what the shapes of the inputs require of them."""
        equal: list[tuple[str, Relation]] = []
        for spec in self.contract.inputs:
            for axis, dim in enumerate(spec.shape or ()):
                own = spec.axis_name(axis)
                size = symbol(f"{self.names.get(spec.name, spec.name)}.{axis}")
                self._axes.add(size.name)
                self._sizes[own] = size
                if isinstance(dim, int) or (dim.is_symbol and dim.name in self._sizes):
                    equal.append((f"{own} == {dim}", Relation(symbol(own), "==", dim)))
                elif dim.is_symbol:
                    self._sizes[dim.name] = size
        for solving in solvings(self.contract.inputs):
            if abs(solving.factor) == 1:
                self._sizes[solving.name] = self.renamed((symbol(solving.size) - solving.rest) * solving.factor)
                equal.append((f"{solving.size} == {solving.dim}", Relation(symbol(solving.name), ">=", 0)))
        return (self._condition(text, relation) for text, relation in equal)

    def renamed(self, dim: Dim) -> Dim:
        """A dim in sizes of axes."""
        return substitute(dim, self._sizes)

    def is_known(self, dim: Dim) -> bool:
        """Whether a renamed dim has no symbol but sizes of axes."""
        return free_symbols(dim) <= self._axes

    def _condition(
        self,
        text: str,
        *relations: Relation,
        nodes: tuple[str, ...] = (),
        is_needed: bool = True,
        where: tuple[InputCondition, ...] = (),
    ) -> _Condition:
        renamed = tuple(Relation(self.renamed(r.left), r.relation, self.renamed(r.right)) for r in relations)
        is_known = all(relation.symbols <= self._axes for relation in renamed)
        conditions = tuple(replace(each, input=self.names.get(each.input, each.input)) for each in where)
        return _Condition(text, nodes, renamed, is_needed, is_known, conditions)


class _Comparison:
    """The conditions of a second contract under the facts of a first one.

    first, second   both in the sizes of the same axes
    bound           sizes that the first contract equates with others
    facts           what it requires of the remaining sizes
    """

    def __init__(self, first: Contract, second: Contract, pairs: Mapping[str, str]) -> None:
        self.pairs = pairs
        self.first = _AxisTerms(first, {name: name for name in pairs})
        self.second = _AxisTerms(second, {other: name for name, other in pairs.items()})
        self.bound: dict[str, Dim] = {}
        for condition in self.first.conditions:
            if condition.is_fact and len(condition.relations) == 1:
                self._bind(condition.relations[0])
        self.required = [condition.at(self.bound) for condition in self.first.conditions]
        self.facts = Scope()
        for size in self.bound.values():
            self.facts.add_fact(size)
        for _ in range(_ROUNDS):  # a fact may refute relations of other conditions
            for condition in self.required:
                possible = [relation for relation in condition.relations if relation.known(self.facts) is not False]
                if condition.is_fact and len(possible) == 1 and _is_total(possible[0]):
                    possible[0].add_to(self.facts)

    def _bind(self, relation: Relation) -> None:
        """Use an equation `size == dim`, unless it cannot be solved for a size."""
        for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
            if relation.relation != "==" or not isinstance(side, Expr) or not side.is_symbol or not is_total(other):
                continue
            dim = substitute(other, self.bound)
            if side.name not in self.bound and side.name not in free_symbols(dim):
                self.bound = {name: substitute(rest, {side.name: dim}) for name, rest in self.bound.items()}
                self.bound[side.name] = dim
                return

    def found(self) -> Iterator[NewRequirement]:
        """Yield the conditions of the second contract that do not follow."""
        other_inputs = [*self._interface()]
        yield from other_inputs
        if other_inputs or self.facts.is_contradictory:
            return
        known = {(frozenset(c.relations), c.where) for c in self.required}
        distinct = {(each.text, each.nodes, each.relations, each.where): each for each in self.second.conditions}
        for original in distinct.values():  # an assumption may repeat a line
            try:
                condition = original.at(self.bound)
            except ZeroDivisionError:
                yield NewRequirement(original.text, original.nodes)
                continue
            if (frozenset(condition.relations), condition.where) in known or self._follows(condition):
                continue
            yield NewRequirement(original.text, original.nodes, self._refuted(original, condition))
        for name, line, is_needed in self.second.elements:
            if not self._elements_follow(name, line):
                witness = self._refuted_elements(name, line) if is_needed and line.reads_all else None
                yield NewRequirement(line.text, line.nodes, witness)
        for each in self.second.contract.open:
            if each not in self.first.contract.open:
                yield NewRequirement(str(each), (each.node,))

    def _interface(self) -> Iterator[NewRequirement]:
        """Inputs that the second contract needs, or has of another type or rank."""
        mine = {spec.name: spec for spec in self.first.contract.inputs}
        for spec in self.second.contract.inputs:
            one = mine.get(self.second.names.get(spec.name, ""))
            if one is None or (one.optional and not spec.optional):
                if not spec.optional:
                    yield NewRequirement(f"input {spec.name} must be given", (), {})
            elif None not in (one.dtype, spec.dtype) and one.dtype != spec.dtype:
                yield NewRequirement(f"input {spec.name} is {spec.dtype}, not {one.dtype}", (), {})
            elif one.shape is not None and spec.shape is not None and len(one.shape) != len(spec.shape):
                yield NewRequirement(f"input {spec.name} has rank {len(spec.shape)}, not {len(one.shape)}", (), {})

    # proofs

    def _follows(self, condition: _Condition) -> bool:
        """Whether a condition holds for all sizes that the first contract accepts."""
        if not condition.is_known:
            return False
        if any(relation.known(self.facts) is True for relation in condition.relations):
            return True
        for relation in condition.relations if len(condition.relations) > 1 else ():
            others = self.facts.child()
            for other in condition.relations:
                if other is not relation and other.relation != "==" and _is_total(other):
                    gap = other.left - other.right
                    others.add_fact((gap if other.relation == "<=" else -gap) - 1)
            if relation.known(others) is True:
                return True
        return False

    def _ends(self, name: str, line: ElementsLine) -> tuple[list[Dim], list[Dim]]:
        """The lower and upper bounds that the first contract sets to the elements of a line of the second."""
        spec = next((spec for spec in self.first.contract.inputs if spec.name == name), None)
        least, most = RANGES.get(spec.dtype or "", (None, None)) if spec is not None else (None, None)
        if line.is_bool:
            least, most = 0, 1
        lows: list[Dim] = [] if least is None else [least]
        highs: list[Dim] = [] if most is None else [most]
        for other, own, _ in self.first.elements:
            if other == name and own.column in (None, line.column):
                lows += [] if own.lower is None else [self._size(self.first, own.lower)]
                highs += [] if own.upper is None else [self._size(self.first, own.upper)]
        return lows, highs

    def _size(self, side: _AxisTerms, dim: Dim) -> Dim:
        return substitute(side.renamed(dim), self.bound)

    def _elements_follow(self, name: str, line: ElementsLine) -> bool:
        """Whether the first contract keeps the elements of an input within the bounds of a line."""
        if not all(self.second.is_known(self.second.renamed(e)) for e in (line.lower, line.upper) if e is not None):
            return False
        lows, highs = self._ends(name, line)
        lower = None if line.lower is None else self._size(self.second, line.lower)
        upper = None if line.upper is None else self._size(self.second, line.upper)
        return (lower is None or any(known_le(lower, low, self.facts) is True for low in lows)) and (
            upper is None or any(known_le(high, upper, self.facts) is True for high in highs)
        )

    # witnesses

    def _refuted(self, original: _Condition, condition: _Condition) -> dict[str, int] | None:
        """Sizes that the first contract accepts and that violate a necessary condition; None if none is found."""
        if not (condition.is_fact and condition.is_needed):
            return None
        for sizes in self._accepted([condition]):
            empty = {self.bound.get(each, symbol(each)) for each in self._zeros(sizes)}
            if empty and (empty != set(map(symbol, condition.symbols)) or len(empty) > 1):
                continue  # a model may run if a tensor is empty, unless the condition is about this very size
            try:
                if not condition.holds(sizes):
                    return {name: self._value(name, sizes) for name in sorted(original.symbols)}
            except ZeroDivisionError:
                continue
        return None

    def _refuted_elements(self, name: str, line: ElementsLine) -> dict[str, int] | None:
        """Sizes and an element that the first contract accepts and a necessary line of the second does not."""
        lows, highs = self._ends(name, line)
        lower = None if line.lower is None else self._size(self.second, line.lower)
        upper = None if line.upper is None else self._size(self.second, line.upper)
        shape = next((spec.shape for spec in self.first.contract.inputs if spec.name == name), None)
        bounds = [self.second.renamed(end) for end in (line.lower, line.upper) if end is not None]
        if shape is None or not all(self.second.is_known(end) for end in bounds):
            return None
        if line.column is None and any(
            other == name and own.column is not None for other, own, _ in self.first.elements
        ):
            return None  # whether the element may be anywhere depends on the column
        elements = self._size(self.first, product(shape))
        ends = [end for end in (lower, upper, *lows, *highs, elements) if end is not None]
        for sizes in self._accepted([], ends):
            try:
                if evaluate(elements, sizes) < 1 or self._zeros(sizes):
                    continue
                low = max((evaluate(end, sizes) for end in lows), default=None)
                high = min((evaluate(end, sizes) for end in highs), default=None)
                above = None if upper is None else evaluate(upper, sizes) + 1
                below = None if lower is None else evaluate(lower, sizes) - 1
            except ZeroDivisionError:
                continue
            for element in (above, below):
                if element is not None and (low is None or low <= element) and (high is None or element <= high):
                    names = sorted(frozenset().union(*map(free_symbols, ends)))
                    return {**{axis: sizes[axis] for axis in names if axis in sizes}, line.elements: element}
        return None

    def _zeros(self, sizes: Mapping[str, int]) -> list[str]:
        """The axes of size 0."""
        return [name for name in (*sizes, *self.bound) if not self._value(name, sizes)]

    def _value(self, name: str, sizes: Mapping[str, int]) -> int:
        return evaluate(self.bound[name], sizes) if name in self.bound else sizes[name]

    def _names(self, relations: Iterable[Relation], ends: Iterable[Dim]) -> frozenset[str]:
        """The sizes to choose: those in conditions and bounds, and those that others are equated with."""
        names = [relation.symbols for relation in relations]
        return frozenset().union(*names, *map(free_symbols, ends), *map(free_symbols, self.bound.values()))

    def _accepted(self, conditions: Sequence[_Condition], ends: Sequence[Dim] = ()) -> Iterator[dict[str, int]]:
        """Yield sizes with which the first contract accepts some input; none if it has open points."""
        if self.first.contract.open or not all(condition.is_known for condition in self.required):
            return
        relations = [r for c in (*self.required, *conditions) for r in c.relations]
        wanted = frozenset().union(*(c.symbols for c in conditions), *map(free_symbols, ends))
        names = sorted(self._names(relations, ends), key=lambda name: (name in wanted, name))
        numbers = {constant_term(r.left - r.right) for r in relations} | {end for end in ends if isinstance(end, int)}
        near = {abs(number) + step for number in numbers for step in (1, 0, -1)}
        sizes_of = (*_FIRST_SIZES[:-1], *sorted(near - {-1, *_FIRST_SIZES}), _FIRST_SIZES[-1])
        for point in islice(combinations(sizes_of, repeat=len(names)), _MAX_POINTS):
            sizes = dict(zip(names, point, strict=True))
            try:
                if all(condition.holds(sizes) for condition in self.required) and self._has_elements(sizes):
                    yield sizes
            except ZeroDivisionError:
                continue

    def _has_elements(self, sizes: Mapping[str, int]) -> bool:
        """Whether all sizes are legal, and each input has legal elements."""
        if any(evaluate(size, sizes) < 0 for size in self.bound.values()):
            return False
        for _, line, _ in self.first.elements:
            ends = [None if end is None else self._size(self.first, end) for end in (line.lower, line.upper)]
            if any(end is not None and not free_symbols(end) <= sizes.keys() for end in ends):
                return False
            low, high = (None if end is None else evaluate(end, sizes) for end in ends)
            if low is not None and high is not None and low > high:
                return False
        return True


def _is_total(relation: Relation) -> bool:
    return is_total(relation.left) and is_total(relation.right)
