"""Numbers for symbols: the sizes at which a node of the edited model has to be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from gather_infer.symbolic import Dim, evaluate

SIZES = (1, 2, 3, 5, 7)
"""Numbers that each freed size is tried with."""
STEP = 20160
"""A multiple of 1 to 10, and of 16, 32 and 64."""
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

    rows    the symbols of rows; another one is a length
    others  samples at which rows vary; lengths are small, at most the old ones
    other   the sizes of a second model; the old ones if there is none
    of_lengths  the old sizes of rows, and other lengths
    larger  samples with lengths that differ from the old ones by multiples of what strides and windows usually are
    """

    def __init__(self, old: Mapping[str, int], rows: Set[str], other: Mapping[str, int] | None = None) -> None:
        primes: dict[str, int] = {}
        self.old = Bindings(old, primes)
        self.other = Bindings(old if other is None else other, primes)
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
        self.of_lengths = Bindings(
            {name: size if name in rows else size + STEP * (at + 1) for at, (name, size) in enumerate(old.items())},
            primes,
        )
        self._of_rows = [Bindings({n: each[n] if n in rows else old[n] for n in old}, primes) for each in self.others]
        self.larger = [
            Bindings(
                {
                    name: SIZES[(at + place) % len(SIZES)] if name in rows else size + STEP * SIZES[(at + place) % 3]
                    for place, (name, size) in enumerate(old.items())
                },
                primes,
            )
            for at in range(len(SIZES) if any(name not in rows for name in old) else 0)
        ]

    def add_length(self, name: str, size: int) -> None:
        """Add a length with an old size; elsewhere it is a prime."""
        for binding in (self.old, self.other, *self._of_rows):
            binding[name] = size

    def leaves_out(self, any_of: Iterable[Relation]) -> bool:
        """Whether sizes have to be equal that are not at some sample."""
        relations = tuple(any_of)
        is_equation = any(operator == "==" for _, operator, _ in relations)
        return is_equation and not all(_holds(relations, binding) for binding in self.others)

    def broken(self, any_of: Iterable[Relation], *, is_weight: bool = False) -> bool:
        """Whether no relation holds at some sample, although one holds at the old sizes.

        A length may have a smallest and a largest size, and has to be a multiple of another size where an axis is cut:
        the contract of the result states these. A smallest size that is the old one says something about this size,
        unless it is that of a weight, or 1: that something is left. Sizes that have to be equal are so at large ones,
        too: behind strides all small sizes are 1.
        """
        relations = tuple(any_of)
        if not _holds(relations, self.old):
            return False
        if not all(_holds(relations, binding) for binding in self._of_rows):
            return True
        if not any(operator != "==" for _, operator, _ in relations):
            return not all(_holds(relations, binding) for binding in self.larger)
        if all(_holds(relations, binding) for binding in self.others):
            return False
        return not any(r[1] != "==" and (is_weight or r[0] == 1 or not _is_tight(r, self.old)) for r in relations)


def _limited(size: int, most: int | None) -> int:
    return size if most is None else min(size, most)


def _holds(relations: Iterable[Relation], binding: Bindings) -> bool:
    return any(_values_hold(relation, binding) for relation in relations)


def _is_tight(relation: Relation, binding: Bindings) -> bool:
    left, _, right = relation
    return _values_hold((left, "==", right), binding)


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
