"""Sizes for the symbols of a model's inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from typing import Final

import numpy as np

from gather_infer.inference import Inference
from gather_infer.symbolic import Dim, Scope, evaluate, free_symbols
from gather_infer.tensor import OptionalType, SequenceType, SymbolicTensor, Value
from gather_infer.validate import Condition, Elements, Verdict

MAX_TRIALS: Final = 300
"""Bindings that are tried for one that all that is known allows."""

MAX_ELEMENTS: Final = 1 << 24
"""Of an input with sizes that are drawn, and of other values where nothing demands them to be larger."""

MAX_TOTAL: Final = 1 << 26
"""Elements of all values of a run, of draws that nothing demands to be larger."""

MAX_MACS: Final = 1 << 31
"""Multiply-adds of such a run."""

MIN_OWN: Final = 16
"""Smaller numbers of the model are not tried as sizes: sizes are about as large anyway."""

MAX_OWN: Final = 64
"""Numbers of the model that are tried as sizes."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


class Pattern(Enum):
    """How the sizes of a run belong together."""

    PRIMES = "small primes, all different"
    ZEROS = "some are 0"
    ONES = "some are 1"
    EQUAL = "all the same"
    OWN = "larger than numbers of the model, as far as they fit; else one is larger than the others"
    MIXED = "any"
    GROWN = "most are large, multiples of a power of 2 often: images, sound"


@dataclass(frozen=True, slots=True)
class Budget:
    """How much memory and time a run may take. A size that only a run tells counts as the largest that is drawn.

    names    the symbols of the inputs
    unknown  those of the other sizes
    shapes   of the values, each with how many have it
    macs     multiply-adds
    """

    names: frozenset[str]
    unknown: frozenset[str]
    shapes: tuple[tuple[Sequence[Dim], int], ...]
    macs: Dim

    @staticmethod
    def of(inference: Inference, names: frozenset[str]) -> Budget:
        """Of an inferred model whose inputs have the symbols."""
        facts = [value for scope in inference.scopes.values() for value in scope.values()]
        shapes = Counter(fact.shape for fact in facts if isinstance(fact, SymbolicTensor) and fact.shape)
        macs = inference.cost().macs
        symbols = {name for shape in (*shapes, (macs,)) for dim in shape for name in free_symbols(dim)}
        return Budget(names, frozenset(symbols - names), tuple(shapes.items()), macs)

    def allows(self, binding: Mapping[str, int]) -> bool:
        """Whether a run with these sizes keeps to it; what cannot be told at these sizes counts nothing."""
        sizes = {**dict.fromkeys(self.unknown, max(binding.values(), default=1)), **binding}
        try:
            counts = [(prod(evaluate(dim, sizes) for dim in shape), number) for shape, number in self.shapes]
            if max((count for count, _ in counts), default=0) > MAX_ELEMENTS:
                return False
            elements = sum(count * number for count, number in counts)
            return elements <= MAX_TOTAL and evaluate(self.macs, sizes) <= MAX_MACS
        except ZeroDivisionError:
            return True

    def meets_empty(self, binding: Mapping[str, int]) -> bool:
        """Whether a value has no elements with these sizes that has some with others."""
        try:
            return any(
                evaluate(dim, binding) <= 0
                for shape, _ in self.shapes
                for dim in shape
                if not isinstance(dim, int) and free_symbols(dim) <= self.names
            )
        except ZeroDivisionError:
            return False


@dataclass(frozen=True, slots=True)
class Sizes:
    """What sizes the inputs of a model may have.

    names     the symbols, in the order in which they stand in the inputs
    declared  what the caller says of them
    dims      those of the inputs, which are at least 0
    implied   conditions that the model seems to demand: (left, relation, right)
    budget    how much a run may take
    own       numbers of the model that may be sizes, the largest first
    few       small ones, which some other size may have to be
    """

    names: tuple[str, ...]
    declared: Scope
    dims: tuple[Dim, ...]
    implied: tuple[tuple[Dim, str, Dim], ...]
    budget: Budget
    own: tuple[int, ...] = ()
    few: tuple[int, ...] = ()

    def draw(
        self, pattern: Pattern, numbers: np.random.Generator, *, turn: int = 0, scale: int = 1, trusting: bool = True
    ) -> dict[str, int] | None:
        """A binding, None when none was found.

        turn       of ZEROS and ONES an even one means every second symbol, an odd one the others
        scale      how large the sizes of GROWN are
        trusting   keeps to what the model seems to demand; False leaves it to a run whether it does
        """
        dear: dict[str, int] | None = None
        for trial in range(MAX_TRIALS):
            if trial < MAX_TRIALS // 4:
                raw = _raw(pattern, len(self.names), turn, scale, numbers, self.few)
            else:  # relations are met by few sizes: from few numbers, and then from many
                least = 0 if pattern is Pattern.ZEROS or trial >= MAX_TRIALS // 2 else 1
                most = (3, 9, 65)[trial % 3]
                raw = [int(n) for n in numbers.integers(least, most, len(self.names))]
            found = {name: self._within(name, size) for name, size in zip(self.names, raw, strict=True)}
            if self._is_allowed(found) and (not trusting or self.meets_all(found)):
                if self.budget.allows(found):
                    return self._grown(found, turn, numbers) if pattern is Pattern.OWN else found
                dear = dear or found
        return dear

    def _grown(self, binding: dict[str, int], turn: int, numbers: np.random.Generator) -> dict[str, int]:
        """The binding with sizes one past the model's own numbers, of as many symbols as may be; else a larger one."""
        found = binding
        for step in range(len(self.names)):
            name = self.names[(turn + step) % len(self.names)]
            for number in self.own:
                larger = {**found, name: number + 1}
                if number < binding[name]:
                    break
                if self._within(name, number + 1) == number + 1 and self.is_legal(larger):
                    found = larger
                    break
        if found == binding and self.names:
            larger = {**found, self.names[int(numbers.integers(len(self.names)))]: int(numbers.integers(17, 68))}
            larger = {name: self._within(name, size) for name, size in larger.items()}
            found = larger if self.is_legal(larger) else found
        return found

    def is_legal(self, binding: Mapping[str, int], *, trusting: bool = True) -> bool:
        """Whether a run may have these sizes, and the time and the memory for it.

        trusting   they are what the model seems to demand
        """
        if any(self._within(name, size) != size for name, size in binding.items()):
            return False
        return self._is_allowed(binding) and (not trusting or self.meets_all(binding)) and self.budget.allows(binding)

    def _within(self, name: str, size: int) -> int:
        """The size, or one within the declared bounds that stands for it."""
        bounds = self.declared.symbol_bounds(name)
        low = max(0, bounds.lo or 0)
        if size < low:
            size = low + size if size > 1 else low
        return size if bounds.hi is None or size <= bounds.hi else low + size % (bounds.hi - low + 1)

    def _is_allowed(self, binding: Mapping[str, int]) -> bool:
        facts = [fact for fact in self.declared.facts if fact.symbols <= binding.keys()]
        try:
            return all(evaluate(dim, binding) >= 0 for dim in (*self.dims, *facts))
        except ZeroDivisionError:
            return False

    def meets_all(self, binding: Mapping[str, int]) -> bool:
        """Whether a binding is what the model seems to demand."""
        return all(_holds(left, relation, right, binding) for left, relation, right in self.implied)


def sizes_of(
    inference: Inference, found: Iterable[Verdict], own: Iterable[int] = (), converted: Inference | None = None
) -> Sizes:
    """The sizes of an inferred model; `found` are the verdicts on its accesses, `own` integers that it holds.

    converted   what was made of an IR, which demands what OpenVINO leaves to those who run it
    """
    dims = tuple(dim for name in inference.inputs for dim in input_dims(inference[name]))
    given = [dim for dim in dims if not inference.is_generated(dim)]
    names = tuple(dict.fromkeys(name for dim in given for name in sorted(free_symbols(dim))))
    more = () if converted is None else converted.constraints
    stated = [(c.left, c.relation, c.right) for c in (*inference.constraints, *more)]
    stated += [(c.left, c.relation, c.right) for c in conditions_of(found) if not isinstance(c.left, Elements)]
    implied = tuple(c for c in stated if free_symbols(c[0]) | free_symbols(c[2]) <= set(names))
    large = sorted({number for number in own if MIN_OWN <= number <= MAX_TOTAL}, reverse=True)
    budget = Budget.of(inference, frozenset(names))
    fixed = {dim for shape, _ in budget.shapes for dim in shape if isinstance(dim, int)} | set(own)
    few = tuple(sorted(size for size in fixed if 1 < size <= MIN_OWN))
    return Sizes(names, inference.declared, tuple(given), implied, budget, tuple(large[:MAX_OWN]), few)


def conditions_of(found: Iterable[Verdict]) -> Iterator[Condition]:
    """The conditions of all verdicts."""
    for verdict in found:
        yield from verdict.conditions


def input_dims(value: Value) -> Sequence[Dim]:
    """The dims of an input, or of the members of one."""
    while isinstance(value, (SequenceType, OptionalType)) and value.element is not None:
        value = value.element
    return value.shape or () if isinstance(value, SymbolicTensor) else ()


def _raw(
    pattern: Pattern, count: int, turn: int, scale: int, numbers: np.random.Generator, few: Sequence[int]
) -> list[int]:
    primes = list(_PRIMES[: max(4, count)])
    sizes = [int(p) for p in numbers.permutation(primes)[:count]]
    sizes += [int(n) for n in numbers.integers(2, 30, count - len(sizes))]
    if not count:
        return sizes
    picked = [count == 1 or (position + turn) % 2 == 0 for position in range(count)]
    match pattern:
        case Pattern.PRIMES:
            return sizes
        case Pattern.ZEROS:
            return [0 if p else s for p, s in zip(picked, sizes, strict=True)]
        case Pattern.ONES:
            return [1 if p else s for p, s in zip(picked, sizes, strict=True)]
        case Pattern.EQUAL:
            return [int(numbers.choice(_PRIMES[2 : 8 if count < 3 else 5]))] * count
        case Pattern.OWN:
            return sizes  # and more of some, where that is allowed
        case Pattern.MIXED:
            return [int(n) for n in numbers.choice((1, 2, 3, 5, 8, 16, *few), count)]
        case Pattern.GROWN:
            large = numbers.choice((scale, scale, 2 * scale, scale + int(numbers.integers(1, scale + 1))), count)
            return [int(n) if numbers.random() < 0.7 else s % 4 or 1 for n, s in zip(large, sizes, strict=True)]


def _holds(left: Dim, relation: str, right: Dim, binding: Mapping[str, int]) -> bool:
    try:
        a, b = evaluate(left, binding), evaluate(right, binding)
    except ZeroDivisionError:
        return True  # says nothing at these sizes
    match relation:
        case "==":
            return a == b
        case "<=":
            return a <= b
        case "<":
            return a < b
        case _:
            assert relation == ">=", "a relation is ==, <=, < or >="
            return a >= b
