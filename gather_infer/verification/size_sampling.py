"""Size sampling: random sizes for the symbols of a model's inputs."""

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
"""Maximum number of bindings that are tried to find one that satisfies all constraints."""

MAX_ELEMENTS: Final = 1 << 24
"""Maximum number of elements of a drawn input, and of any other value unless no smaller binding is found."""

MAX_TOTAL: Final = 1 << 26
"""Maximum number of elements of all values of a run, unless no smaller binding is found."""

MAX_MACS: Final = 1 << 31
"""Maximum number of multiply-adds of a run, unless no smaller binding is found."""

MIN_MODEL_NUMBER: Final = 16
"""Smallest number of the model that is tried as a size: smaller sizes are drawn anyway."""

MAX_MODEL_NUMBERS: Final = 64
"""Maximum number of numbers of the model that are tried as sizes."""

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)


class SizePattern(Enum):
    """Relation of the sizes of a run to each other."""

    PRIMES = "small primes, all different"
    ZEROS = "some are 0"
    ONES = "some are 1"
    EQUAL = "all the same"
    MODEL_NUMBERS = "larger than numbers of the model, as far as they fit; else one is larger than the others"
    MIXED = "any"
    GROWN = "most are large, multiples of a power of 2 often: images, sound"


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Memory and time limits of a run. A size that only a run determines counts as the largest drawn size.

    names    the symbols in the shapes of the inputs
    unknown  the other symbols
    shapes   the shapes of all values, each with its number of occurrences
    macs     the multiply-adds of a run
    """

    names: frozenset[str]
    unknown: frozenset[str]
    shapes: tuple[tuple[Sequence[Dim], int], ...]
    macs: Dim

    @staticmethod
    def of(inference: Inference, names: frozenset[str]) -> RunBudget:
        """The budget of an inferred model; `names` are the symbols of its inputs."""
        facts = [value for scope in inference.scopes.values() for value in scope.values()]
        shapes = Counter(fact.shape for fact in facts if isinstance(fact, SymbolicTensor) and fact.shape)
        macs = inference.cost().macs
        symbols = {name for shape in (*shapes, (macs,)) for dim in shape for name in free_symbols(dim)}
        return RunBudget(names, frozenset(symbols - names), tuple(shapes.items()), macs)

    def allows(self, binding: Mapping[str, int]) -> bool:
        """Whether a run at the sizes of `binding` stays within the budget; True where a size is undefined."""
        sizes = {**dict.fromkeys(self.unknown, max(binding.values(), default=1)), **binding}
        try:
            counts = [(prod(evaluate(dim, sizes) for dim in shape), number) for shape, number in self.shapes]
            if max((count for count, _ in counts), default=0) > MAX_ELEMENTS:
                return False
            elements = sum(count * number for count, number in counts)
            return elements <= MAX_TOTAL and evaluate(self.macs, sizes) <= MAX_MACS
        except ZeroDivisionError:
            return True

    def has_empty_value(self, binding: Mapping[str, int]) -> bool:
        """Whether some value with symbolic dims is empty at the sizes of `binding`."""
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
class SizeSampler:
    """Constraints on the sizes of a model's inputs, and a sampler for them.

    names          the symbols, in the order of the inputs
    declared       declarations of the caller
    dims           dims of the inputs, which are at least 0
    implied        constraints that the model seems to imply: (left, relation, right)
    budget         memory and time limits of a run
    model_numbers  numbers of the model that are tried as sizes, the largest first
    small_numbers  small numbers of the model, which a size may have to equal
    """

    names: tuple[str, ...]
    declared: Scope
    dims: tuple[Dim, ...]
    implied: tuple[tuple[Dim, str, Dim], ...]
    budget: RunBudget
    model_numbers: tuple[int, ...] = ()
    small_numbers: tuple[int, ...] = ()

    def draw(
        self,
        pattern: SizePattern,
        numbers: np.random.Generator,
        *,
        turn: int = 0,
        scale: int = 1,
        trusting: bool = True,
    ) -> dict[str, int] | None:
        """A binding, from symbols to sizes, that satisfies the declarations; None if none is found.

        turn       for ZEROS and ONES an even turn selects every second symbol, an odd turn the others
        scale      scale of the sizes of GROWN
        trusting   require the implied constraints too

        A binding that exceeds the budget of a run is returned only if no other is found.
        """
        dear: dict[str, int] | None = None
        for trial in range(MAX_TRIALS):
            if trial < MAX_TRIALS // 4:
                raw = _pattern_sizes(pattern, len(self.names), turn, scale, numbers, self.small_numbers)
            else:  # few sizes satisfy a relation: small ranges first, then larger ones
                least = 0 if pattern is SizePattern.ZEROS or trial >= MAX_TRIALS // 2 else 1
                most = (3, 9, 65)[trial % 3]
                raw = [int(n) for n in numbers.integers(least, most, len(self.names))]
            found = {name: self._within(name, size) for name, size in zip(self.names, raw, strict=True)}
            if self._is_allowed(found) and (not trusting or self.meets_constraints(found)):
                if self.budget.allows(found):
                    return self._grown(found, turn, numbers) if pattern is SizePattern.MODEL_NUMBERS else found
                dear = dear or found
        return dear

    def _grown(self, binding: dict[str, int], turn: int, numbers: np.random.Generator) -> dict[str, int]:
        """The binding with sizes one past the model's numbers, for as many symbols as possible; else with one larger
        size.
        """
        found = binding
        for step in range(len(self.names)):
            name = self.names[(turn + step) % len(self.names)]
            for number in self.model_numbers:
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
        """Whether a binding satisfies the declarations and stays within the budget of a run.

        trusting   require the implied constraints too
        """
        if any(self._within(name, size) != size for name, size in binding.items()):
            return False
        return (
            self._is_allowed(binding)
            and (not trusting or self.meets_constraints(binding))
            and self.budget.allows(binding)
        )

    def _within(self, name: str, size: int) -> int:
        """The size if it is within the declared bounds of the symbol, else a size within them."""
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

    def meets_constraints(self, binding: Mapping[str, int]) -> bool:
        """Whether a binding satisfies the implied constraints."""
        return all(_holds(left, relation, right, binding) for left, relation, right in self.implied)


def size_sampler_of(
    inference: Inference,
    found: Iterable[Verdict],
    model_numbers: Iterable[int] = (),
    converted: Inference | None = None,
) -> SizeSampler:
    """The size sampler of an inferred model; `found` are the verdicts on its accesses, `model_numbers` integers in it.

    converted   the conversion of an IR: it implies constraints that OpenVINO leaves to its callers
    """
    dims = tuple(dim for name in inference.inputs for dim in input_dims(inference[name]))
    given = [dim for dim in dims if not inference.is_generated(dim)]
    names = tuple(dict.fromkeys(name for dim in given for name in sorted(free_symbols(dim))))
    more = () if converted is None else converted.constraints
    stated = [(c.left, c.relation, c.right) for c in (*inference.constraints, *more)]
    stated += [(c.left, c.relation, c.right) for c in conditions_of(found) if not isinstance(c.left, Elements)]
    implied = tuple(c for c in stated if free_symbols(c[0]) | free_symbols(c[2]) <= set(names))
    large = sorted({number for number in model_numbers if MIN_MODEL_NUMBER <= number <= MAX_TOTAL}, reverse=True)
    budget = RunBudget.of(inference, frozenset(names))
    fixed = {dim for shape, _ in budget.shapes for dim in shape if isinstance(dim, int)} | set(model_numbers)
    few = tuple(sorted(size for size in fixed if 1 < size <= MIN_MODEL_NUMBER))
    return SizeSampler(names, inference.declared, tuple(given), implied, budget, tuple(large[:MAX_MODEL_NUMBERS]), few)


def conditions_of(found: Iterable[Verdict]) -> Iterator[Condition]:
    """The conditions of all verdicts in `found`."""
    for verdict in found:
        yield from verdict.conditions


def input_dims(value: Value) -> Sequence[Dim]:
    """The dims of an input, or of the members of a sequence or optional; empty if they are unknown."""
    while isinstance(value, (SequenceType, OptionalType)) and value.element is not None:
        value = value.element
    return value.shape or () if isinstance(value, SymbolicTensor) else ()


def _pattern_sizes(
    pattern: SizePattern, count: int, turn: int, scale: int, numbers: np.random.Generator, small_numbers: Sequence[int]
) -> list[int]:
    """`count` sizes of a pattern, before declared bounds apply; for the parameters see `SizeSampler.draw`."""
    primes = list(_PRIMES[: max(4, count)])
    sizes = [int(p) for p in numbers.permutation(primes)[:count]]
    sizes += [int(n) for n in numbers.integers(2, 30, count - len(sizes))]
    if not count:
        return sizes
    picked = [count == 1 or (position + turn) % 2 == 0 for position in range(count)]
    match pattern:
        case SizePattern.PRIMES:
            return sizes
        case SizePattern.ZEROS:
            return [0 if p else s for p, s in zip(picked, sizes, strict=True)]
        case SizePattern.ONES:
            return [1 if p else s for p, s in zip(picked, sizes, strict=True)]
        case SizePattern.EQUAL:
            return [int(numbers.choice(_PRIMES[2 : 8 if count < 3 else 5]))] * count
        case SizePattern.MODEL_NUMBERS:
            return sizes  # `_grown` enlarges some of them
        case SizePattern.MIXED:
            return [int(n) for n in numbers.choice((1, 2, 3, 5, 8, 16, *small_numbers), count)]
        case SizePattern.GROWN:
            large = numbers.choice((scale, scale, 2 * scale, scale + int(numbers.integers(1, scale + 1))), count)
            return [int(n) if numbers.random() < 0.7 else s % 4 or 1 for n, s in zip(large, sizes, strict=True)]


def _holds(left: Dim, relation: str, right: Dim, binding: Mapping[str, int]) -> bool:
    try:
        a, b = evaluate(left, binding), evaluate(right, binding)
    except ZeroDivisionError:
        return True  # undefined at these sizes
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
