"""An architecture to be exported, and specs of its inputs that have fewer symbols."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from torch import nn

from fixtures.feeds import Bindings, Input, Size, Spec, evaluate


@dataclass(frozen=True, slots=True)
class Architecture:
    """How to build it, its inputs, and whether it is called with their names.

    The first of the spec's bindings are the sizes of the example that the exporters trace.
    """

    build: Callable[[], nn.Module]
    spec: Spec
    by_name: bool = False


def grid(names: str, *rows: tuple[int, ...]) -> tuple[Bindings, ...]:
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


def restricted(spec: Spec, symbols: Collection[str]) -> Spec:
    """The spec with these symbols alone: all others have the value of the first bindings."""
    sizes = spec.bindings[0]
    fixed = {symbol: value for symbol, value in sizes.items() if symbol not in symbols}
    bindings: list[Bindings] = []
    for row in spec.bindings:
        left = {symbol: value for symbol, value in row.items() if symbol in symbols}
        if left not in bindings:
            bindings.append(left)
    kept = tuple(text for text in spec.constraints if not fixed.keys() & set(text.split()))
    return Spec({name: _fixed(described, fixed) for name, described in spec.inputs.items()}, kept, tuple(bindings))


def with_batch(spec: Spec, batch: int) -> Spec:
    """The spec whose example has this batch."""
    first, *others = spec.bindings
    return Spec(spec.inputs, spec.constraints, ({**first, "batch": batch}, *others))


def _fixed(described: Input, sizes: Mapping[str, int]) -> Input:
    low, high = described.legal or (0, 0)
    legal = (_value(low, sizes), _value(high, sizes)) if described.legal else None
    return Input(described.dtype, tuple(_value(size, sizes) for size in described.shape), legal, described.fill)


def _value(size: Size, sizes: Mapping[str, int]) -> Size:
    """A sum with the fixed symbols replaced by their values; numbers are joined."""
    terms = str(size).split(" + ")
    symbols = [term for term in terms if not term.isdigit() and term not in sizes]
    number = evaluate(" + ".join(term for term in terms if term not in symbols) or "0", sizes)
    if not symbols:
        return number
    return " + ".join([*symbols, *([str(number)] if number else [])])
