"""The inputs of a verification: what sizes and elements each of its runs has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from onnx import ModelProto

from gather_infer.inference import Inference
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import verdicts
from gather_infer.verification.data import (
    NO_MARKS,
    Drawer,
    NotDrawable,
    Numbers,
    known_numbers,
    limits_of,
    marks_of,
    why_not_drawable,
    written_numbers,
)
from gather_infer.verification.defined import defined_limits
from gather_infer.verification.result import Binding
from gather_infer.verification.sizes import Pattern, sizes_of
from gather_infer.verification.states import States, rows_of_states

_PLAN = (
    (Pattern.PRIMES, Numbers.FINITE),
    (Pattern.PRIMES, Numbers.SPECIAL),
    (Pattern.ZEROS, Numbers.FINITE),
    (Pattern.ONES, Numbers.TIES),
    (Pattern.OWN, Numbers.TIES),
    (Pattern.EQUAL, Numbers.TINY),
    (Pattern.ONES, Numbers.SPECIAL),
    (Pattern.ZEROS, Numbers.SPECIAL),
)
"""Of the runs in turn. A NaN hides what is wrong behind it, so finite numbers come first."""

_SCALES = (16, 32, 64, 128, 256, 512, 1024, 2048)

_FURTHER = (
    (Pattern.PRIMES, 1),
    (Pattern.EQUAL, 1),
    (Pattern.ONES, 1),
    (Pattern.ONES, 1),
    *((Pattern.MIXED, 1) for _ in range(8)),
    *((Pattern.GROWN, scale) for scale in _SCALES for _ in range(3)),
)
"""Sizes of further draws for a run, when the original fails on those of the plan."""

PLANNED: Final = 4
"""Draws as planned, before that; after the first one of them a size changes in a binding that ran."""

SAME: Final = 3
"""Of the further draws the first ones have sizes at which the model ran, where there are any."""

MAX_ATTEMPTS: Final = PLANNED + len(_FURTHER)
"""Draws for one run."""

MAX_EXACT: Final = 1 << 23
"""What OpenVINO's CPU plugin is asked to compute with: it holds int64 as int32, and computes some of it in float32."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Inputs of a run.

    binding     the sizes
    numbers     what the float inputs hold
    feeds       the inputs by name
    sizes       how the sizes were drawn, and how large
    may_be_empty   outputs without elements do
    """

    binding: Binding
    numbers: Numbers
    feeds: dict[str, Any]
    sizes: tuple[Pattern, int] = (Pattern.MIXED, 1)
    may_be_empty: bool = False


class Draws:
    """The inputs of an inferred model, as many as are wanted.

    fault   why there are none, empty when there are
    """

    def __init__(
        self, inference: Inference, rewritten: ModelProto, seed: int, states: States | None, converted: Inference | None
    ) -> None:
        self.inference = inference
        self.seed = seed
        self.worked: Draw | None = None
        self.states = states
        proto = inference.model.proto
        found = verdicts(inference)
        own = known_numbers(inference) | written_numbers(proto) | written_numbers(rewritten)
        self.sizes = sizes_of(inference, found, own, converted)
        # what a layer does to indices the operators tell that it became
        self.limits = limits_of(found if converted is None else [*found, *verdicts(converted)])
        self.marks = marks_of(inference, own)
        constants = {t.name for t in proto.graph.initializer} | {t.values.name for t in proto.graph.sparse_initializer}
        self.defaulted = [name for name in inference.inputs if name in constants]
        self.needed = [name for name in inference.inputs if name not in constants]
        reasons = {name: why_not_drawable(inference[name]) for name in inference.inputs}
        self.defaulted = [name for name in self.defaulted if not reasons[name]]
        if states is not None:
            for name, limits in [*rows_of_states(inference, states.begun), *defined_limits(inference)]:
                self.limits.setdefault(name, []).append(limits)
        self.fault = next((f"input {name}: {reasons[name]}" for name in self.needed if reasons[name]), "")

    @property
    def is_converted(self) -> bool:
        return self.states is not None

    def draw(self, run: int, attempt: int) -> Draw:
        """Inputs for a run, when `attempt` draws for it have failed. Raises NotDrawable."""
        numbers = np.random.default_rng((self.seed, run, attempt))
        pattern, kind = _PLAN[run % len(_PLAN)]
        may_be_empty = pattern is Pattern.ZEROS
        if self.is_converted:
            kind = Numbers.FINITE  # what other operators make of NaN and Inf is up to the runtimes
        scale, turn = 1, run
        binding: dict[str, int] | None = None
        if attempt >= PLANNED:
            at = attempt - PLANNED
            (pattern, scale), turn = _FURTHER[at], at
            kind = Numbers.FINITE
            if at < SAME and self.worked is not None:
                binding, (pattern, scale) = dict(self.worked.binding), self.worked.sizes
        elif attempt > 0 and self.worked is not None:
            size = {Pattern.ZEROS: 0, Pattern.ONES: 1}.get(pattern, int(numbers.integers(2, 8)))
            pattern, scale = self.worked.sizes
            binding = self.sizes.changed(
                dict(self.worked.binding), run // len(_PLAN) + attempt - 1, size, trusting=self.is_converted
            )
        # Whether the model runs with a size of 0 is not left to what we think that it demands.
        # OpenVINO runs with sizes that it defines nothing for.
        is_trusting = attempt > 0 or self.is_converted or pattern is not Pattern.ZEROS
        for trusting in (is_trusting, False):
            if binding is None:
                binding = self.sizes.draw(pattern, numbers, turn=turn, scale=scale, trusting=trusting)
        if binding is None:
            raise NotDrawable("no sizes were found that meet what is declared")
        given = [name for name in self.defaulted if attempt < PLANNED and (run + attempt) % 2]
        sizes = {} if self.states is None else self.states.first_sizes(binding)
        drawer = self.drawer({**binding, **sizes}, kind, numbers, (run, attempt))
        feeds = drawer.feeds(self.inference, [*self.needed, *given])
        if self.states is not None:
            feeds |= self.states.first(binding)
        return Draw(tuple(binding.items()), kind, feeds, (pattern, scale), may_be_empty)

    def drawer(
        self, sizes: Mapping[str, int], kind: Numbers, numbers: np.random.Generator, at: tuple[int, int]
    ) -> Drawer:
        """Draws elements at these sizes, in a run and an attempt."""
        run, attempt = at
        tameness = 0 if attempt < 2 else attempt % 5
        marks = self.marks if run % 2 and not attempt else NO_MARKS
        largest = MAX_EXACT if self.is_converted else None
        return Drawer(self.limits, sizes, kind, tameness, run, numbers, marks, largest)

    def given(self, feeds: Mapping[str, Any]) -> Draw:
        """Inputs that a caller has given."""
        binding: dict[str, int] = {}
        for name, array in feeds.items():
            fact = self.inference.get(name)
            if isinstance(fact, SymbolicTensor) and fact.shape is not None and len(fact.shape) == np.ndim(array):
                for dim, size in zip(fact.shape, np.shape(array), strict=True):
                    if not isinstance(dim, int) and dim.is_symbol:
                        binding.setdefault(str(dim), size)
        more = {} if self.states is None else self.states.first(binding)
        named = tuple((name, binding[name]) for name in self.sizes.names if name in binding)
        return Draw(named, Numbers.GIVEN, {**feeds, **more}, may_be_empty=True)

    def note(self, draw: Draw) -> None:
        """Remember inputs on which the original ran."""
        if draw.numbers is Numbers.GIVEN or 0 in dict(draw.binding).values():
            return
        if self.worked is None or draw.sizes[1] < self.worked.sizes[1]:
            self.worked = draw

    def later(self, draw: Draw, step: int, growing: str | None, results: Mapping[str, Any]) -> Draw:
        """Inputs of a further step after a draw, of its sizes, but for one that grows by itself at each step.

        results   of the converted model at the step before

        Raises NotDrawable.
        """
        assert self.states is not None, "models with state go on"
        binding = {name: size * (step + 1 if name == growing else 1) for name, size in draw.binding}
        numbers = np.random.default_rng((self.seed, step, 1 << 16))
        drawer = self.drawer({**binding, **self.states.sizes_after(results)}, Numbers.FINITE, numbers, (0, 0))
        feeds = drawer.feeds(self.inference, self.needed)
        return Draw(tuple(binding.items()), Numbers.FINITE, feeds, draw.sizes)


def is_always_empty(inference: Inference, name: str) -> bool:
    """Whether a value is known to have no elements, whatever the inputs are."""
    fact = inference.get(name)
    return isinstance(fact, SymbolicTensor) and fact.shape is not None and any(_is_zero(d) for d in fact.shape)


def _is_zero(dim: object) -> bool:
    return isinstance(dim, int) and dim == 0
