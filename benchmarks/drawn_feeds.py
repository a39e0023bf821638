"""Feeds for any model: sizes and elements are drawn within what its verdicts require."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import gather_infer
from gather_infer.verification.element_sampling import (
    ElementDrawer,
    FloatPattern,
    NotDrawable,
    limits_of,
    why_not_drawable,
)
from gather_infer.verification.size_sampling import SizePattern, size_sampler_of

PATTERNS: Final = (
    (SizePattern.PRIMES, 1),
    (SizePattern.EQUAL, 1),
    (SizePattern.ONES, 1),
    (SizePattern.MIXED, 1),
    (SizePattern.GROWN, 16),
    (SizePattern.GROWN, 32),
    (SizePattern.GROWN, 64),
    (SizePattern.GROWN, 128),
    (SizePattern.GROWN, 256),
)
ATTEMPTS: Final = 3
FINITE: Final = (FloatPattern.FINITE,)


@dataclass(frozen=True)
class Draw:
    """Inputs of one run: the sizes of the symbols, and the feeds; `feeds` is None where none are found for `why`."""

    sizes: dict[str, int]
    feeds: dict[str, Any] | None
    why: str = ""


def draws(
    inference: gather_infer.Inference,
    *,
    patterns: Sequence[tuple[SizePattern, int]] = PATTERNS,
    attempts: int = ATTEMPTS,
    floats: Sequence[FloatPattern] = FINITE,
) -> Iterator[Draw]:
    """Draws for an inferred model, by each pattern of sizes in each attempt; later attempts draw tamer elements.

    floats   patterns of float inputs, in turns
    """
    constants = {t.name: tuple(t.dims) for t in inference.model.proto.graph.initializer}
    given = dict(sizes_of_defaults(inference, constants))
    needed = [name for name in inference.inputs if name not in constants]
    if reason := next((why for name in needed if (why := why_not_drawable(inference[name]))), ""):
        yield Draw({}, None, reason)
        return
    verdicts = list(gather_infer.verdicts(inference))
    sizes, limits = size_sampler_of(inference, verdicts), limits_of(verdicts)
    for number, (attempt, (pattern, scale)) in enumerate(itertools.product(range(attempts), patterns)):
        numbers = np.random.default_rng((0, number))
        binding = sizes.draw(pattern, numbers, turn=number, scale=scale, trusting=attempt < attempts - 1)
        if binding is None:
            yield Draw({}, None, "no sizes were found that meet what is declared")
            continue
        binding |= given
        pattern_of_floats = floats[number % len(floats)]
        drawer = ElementDrawer(limits, binding, pattern_of_floats, attempt + (number > 4), number, numbers)
        try:
            yield Draw(binding, drawer.feeds(inference, needed))
        except NotDrawable as reason:
            yield Draw(binding, None, str(reason))


def sizes_of_defaults(
    inference: gather_infer.Inference, constants: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, int]]:
    """Sizes of the symbols when inputs have their defaults, `constants` by name and shape."""
    for name in inference.inputs:
        fact = inference[name]
        if name in constants and isinstance(fact, gather_infer.SymbolicTensor) and fact.shape is not None:
            yield from ((str(dim), n) for dim, n in zip(fact.shape, constants[name], strict=True) if is_symbol(dim))


def is_symbol(dim: gather_infer.Dim) -> bool:
    return isinstance(dim, gather_infer.Expr) and dim.symbols == {str(dim)}
