"""Sample bindings: a claim that fails for a sample needs no proof attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from zlib import crc32

from gather_infer.symbolic.evaluate import evaluate
from gather_infer.symbolic.interval import Interval
from gather_infer.symbolic.normal_form import Expr

__all__ = ["SAMPLES", "SampleBinding", "candidate_counterexample", "has_different_signs", "has_different_values"]

SAMPLES: Final[tuple[tuple[int, int, int], ...]] = ((0, 1, 1), (150, 1009, 64), (3, 11, 1), (0, 3, 1))
"""(first, count, step) of each sample. The value of a symbol is its lower bound plus `first` plus an offset below
`count`, a hash of its name, rounded up to a multiple of `step`. Multiples suit images that are cut into windows.
"""


class SampleBinding(dict[str, int]):
    """A binding of each symbol to a value in its declared interval, chosen on first access.

    number   index of the entry of `SAMPLES` that determines the values
    """

    def __init__(self, number: int, bounds: Callable[[str], Interval]) -> None:
        super().__init__()
        self._number = number
        self._bounds = bounds
        self.candidates: dict[tuple[Expr, ...], SampleBinding | None] = {}  # memo of `candidate_counterexample`

    def __missing__(self, name: str) -> int:
        first, count, step = SAMPLES[self._number]
        interval = self._bounds(name)
        value = (interval.lo or 0) + first + (crc32(name.encode()) % count if count > 1 else 0)
        value += -value % step
        self[name] = value = value if interval.hi is None else min(value, interval.hi)
        return value

    def copy(self) -> SampleBinding:
        other = SampleBinding(self._number, self._bounds)
        other.update(self)
        return other

    def lower_bound(self, name: str) -> int:
        """The lower bound of a symbol; 0 if it is unbounded below."""
        return self._bounds(name).lo or 0


def candidate_counterexample(sample: SampleBinding, facts: Sequence[Expr]) -> SampleBinding | None:
    """The sample, or a binding close to it, for which every fact is >= 0; None when no such binding is found."""
    key = tuple(facts)
    if key not in sample.candidates:
        sample.candidates[key] = _candidate_counterexample(sample, key)
    return sample.candidates[key]


def has_different_values(dim: Expr, samples: Iterable[SampleBinding], facts: Sequence[Expr]) -> bool:
    """Whether the dim has two values for bindings that satisfy the facts, the samples or close to them."""
    values = _values(dim, samples, facts)
    first = next(values, None)
    return any(value != first for value in values)


def has_different_signs(dim: Expr, samples: Iterable[SampleBinding], facts: Sequence[Expr]) -> bool:
    """Whether the dim is negative and positive for bindings that satisfy the facts, the samples or close to them."""
    signs = {value > 0 for value in _values(dim, samples, facts) if value}
    return len(signs) == 2


def _values(dim: Expr, samples: Iterable[SampleBinding], facts: Sequence[Expr]) -> Iterator[int]:
    """The values of the dim for the samples that satisfy the facts, where it is defined."""
    for sample in samples:
        found = candidate_counterexample(sample, facts)
        if found is not None:
            try:
                value = evaluate(dim, found)
            except ZeroDivisionError:
                continue
            yield value


def _candidate_counterexample(sample: SampleBinding, facts: tuple[Expr, ...]) -> SampleBinding | None:
    """Repair violated facts one at a time, setting the symbols with negative coefficients to their lower bounds."""
    wrong = _violated_fact(sample, facts)
    if wrong is None:
        return sample
    other = sample.copy()
    for _ in facts:
        for monomial, coefficient in wrong.terms:
            if coefficient < 0 and len(monomial) == 1 and monomial[0].is_symbol:
                other[monomial[0].name] = other.lower_bound(monomial[0].name)
        repaired = _violated_fact(other, facts)
        if repaired is None:
            return other
        if repaired is wrong:
            return None
        wrong = repaired
    return None


def _violated_fact(sample: SampleBinding, facts: Iterable[Expr]) -> Expr | None:
    """The first fact that is negative or undefined for the sample; None if all hold."""
    for fact in facts:
        try:
            if evaluate(fact, sample) < 0:
                return fact
        except ZeroDivisionError:
            return fact
    return None
