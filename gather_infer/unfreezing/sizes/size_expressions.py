"""Sizes that are one number in a model, and another one in its counterpart at other sizes.

The simplest expression that is both numbers is the size. Of expressions that are equally simple, and differ at a third
size, none is taken: the two files do not tell which one the network computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gather_infer.symbolic import Dim, evaluate, product, symbol
from gather_infer.unfreezing.factors.samples import values_of

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_MAX_SYMBOLS = 3


def dim_of_numbers(walk: UnfreezingWalk, mine: int, other: int) -> Dim | None:
    """The simplest size that is one number at the old sizes, and another one at those of the counterpart."""
    if mine == other:
        return mine
    for kind in _kinds(walk, mine, other):
        fitting = list(distinct(walk, (dim for dim in kind if is_both(walk, dim, mine, other))))
        if fitting:
            return fitting[0] if len(fitting) == 1 else None
    return None


def is_both(walk: UnfreezingWalk, dim: Dim, mine: int, other: int) -> bool:
    """Whether a dim is one number at the old sizes, and another one at those of the counterpart."""
    return [*values_of([dim], walk.samples.old), *values_of([dim], walk.samples.other)] == [mine, other]


def distinct(walk: UnfreezingWalk, dims: Iterable[Dim]) -> Iterator[Dim]:
    """Dims that differ from each other at some other size, of those at which a run does not fail."""
    samples = [
        sample
        for sample in (walk.samples.of_lengths, *walk.samples.others, *walk.samples.larger)
        if all((next(values_of([whole], sample)) or 0) % number == 0 for whole, number in walk.divided)
    ]
    seen: set[tuple[int | None, ...]] = set()
    for dim in dims:
        numbers = tuple(number for sample in samples for number in values_of([dim], sample))
        if numbers not in seen:
            seen.add(numbers)
            yield dim


def _kinds(walk: UnfreezingWalk, mine: int, other: int) -> Iterator[Iterable[Dim]]:
    """Expressions, the simplest kind first.

    Symbols, and sizes of values such as `height//8`; then multiples of these, and of the number of positions of an
    image; then, of lengths that are no sizes of an image, a multiple with a number added.
    """
    assert walk.counterpart is not None, "two models are compared"
    names = list(walk.counterpart.sizes)[:_MAX_SYMBOLS]
    products = [
        product([symbol(name) for at, name in enumerate(names) if mask >> at & 1]) for mask in range(1, 1 << len(names))
    ]
    yield map(symbol, names)
    yield walk.sizes.held()
    yield _multiples(walk, [*products, *walk.sizes.held(), *walk.sizes.positions()], mine)
    if not walk.image_symbols.isdisjoint(names):
        return
    yield _linear(walk, products, mine, other)


def _multiples(walk: UnfreezingWalk, dims: Iterable[Dim], mine: int) -> Iterator[Dim]:
    for dim in dims:
        old = next(values_of([dim], walk.samples.old))
        if old and mine % old == 0 and mine:
            yield mine // old * dim


def _linear(walk: UnfreezingWalk, dims: Iterable[Dim], mine: int, other: int) -> Iterator[Dim]:
    for dim in dims:
        old, new = evaluate(dim, walk.samples.old), evaluate(dim, walk.samples.other)
        slope, rest = divmod(other - mine, new - old) if new != old else (0, 1)
        if not rest:
            yield slope * dim + (mine - slope * old)
