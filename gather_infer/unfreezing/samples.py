"""Numbers for symbols: the sizes at which a node of the edited model has to be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from gather_infer.symbolic import Dim, evaluate

SIZES = (1, 2, 3, 5, 7)
"""Numbers that each freed size is tried with."""
_PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197)

Relation = tuple[Dim, str, Dim]


class Bindings(dict[str, int]):
    """Numbers for the freed symbols, and a prime of its own for every other symbol."""

    def __init__(self, freed: Mapping[str, int], primes: dict[str, int]) -> None:
        super().__init__(freed)
        self._primes = primes

    def __missing__(self, name: str) -> int:
        return self._primes.setdefault(name, _PRIMES[len(self._primes) % len(_PRIMES)])


class SizeSamples:
    """The old sizes, and others to try: all freed symbols at once, so that equal sizes occur and different ones.

    rows   the symbols of rows; another one is a length, which constants may limit to the old size
    """

    def __init__(self, old: Mapping[str, int], rows: Set[str]) -> None:
        primes: dict[str, int] = {}
        self.old = Bindings(old, primes)
        self.others = [
            Bindings(
                {
                    name: _limited(SIZES[(at + shift * place) % len(SIZES)], None if name in rows else size)
                    for place, (name, size) in enumerate(old.items())
                },
                primes,
            )
            for shift in ((0,) if len(old) == 1 else (0, 1, 2))
            for at in range(len(SIZES))
        ]

    def broken(self, any_of: Iterable[Relation]) -> bool:
        """Whether no relation holds at some sample, although one holds at the old sizes."""
        relations = tuple(any_of)
        if not _holds(relations, self.old):
            return False
        return not all(_holds(relations, binding) for binding in self.others)


def _limited(size: int, most: int | None) -> int:
    return size if most is None else min(size, most)


def _holds(relations: Iterable[Relation], binding: Bindings) -> bool:
    return any(_values_hold(relation, binding) for relation in relations)


def _values_hold(relation: Relation, binding: Bindings) -> bool:
    left, operator, right = relation
    try:
        a, b = evaluate(left, binding), evaluate(right, binding)
    except ZeroDivisionError:
        return False
    return a == b if operator == "==" else a <= b


def values_of(dims: Iterable[Dim], binding: Bindings) -> Iterator[int | None]:
    """The numbers of dims; None where a divisor is 0."""
    for dim in dims:
        try:
            yield evaluate(dim, binding)
        except ZeroDivisionError:
            yield None
