"""The inputs of a verification: what sizes and elements each of its runs has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from onnx import ModelProto

from gather_infer.inference import Inference
from gather_infer.places import GraphPath
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
from gather_infer.verification.goals import Goal, Goals, chosen
from gather_infer.verification.result import Binding
from gather_infer.verification.sizes import Pattern, sizes_of
from gather_infer.verification.states import States, rows_of_states
from gather_infer.verification.variations import Move, Variations
from gather_infer.verification.watching import Watch

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

_BRANCHED: Final = {3: Pattern.OWN, 5: Pattern.OWN, 7: Pattern.OWN}
"""Sizes of other runs where there are branches: a run shows nothing of those that it does not take."""

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
"""Draws whose floats are as planned."""

VARIED: Final = 8
"""Draws after the first one that change sizes of a binding that ran, where there is one; and half as many behind all
others, which are led nowhere."""

SAME: Final = 3
"""The last draws have sizes at which the model ran, where there are any."""

MAX_REPEATED: Final = 4
"""Bindings that are drawn for one that is new."""

LED: Final = 1 + VARIED + len(_FURTHER)
"""Draws that are led to a body to which no run has come."""

MAX_ATTEMPTS: Final = LED + VARIED // 2 + SAME
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
    move        symbols that have other sizes than in a binding that ran
    """

    binding: Binding
    numbers: Numbers
    feeds: dict[str, Any]
    sizes: tuple[Pattern, int] = (Pattern.MIXED, 1)
    may_be_empty: bool = False
    move: Move = frozenset()


class Draws:
    """The inputs of an inferred model, as many as are wanted.

    fault    why there are none, empty when there are
    worked   the smallest inputs on which the original ran, by a body that they have led into, and of all by None
    """

    def __init__(
        self,
        inference: Inference,
        rewritten: ModelProto,
        seed: int,
        states: States | None,
        converted: Inference | None,
        watch: Watch,
    ) -> None:
        self.inference = inference
        self.seed = seed
        self.worked: dict[GraphPath | None, Draw] = {}
        self.goal: Goal | None = None
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
        self.variations = Variations(self.sizes)
        self.goals = Goals(inference, watch, self.sizes.names)
        self.fault = next((f"input {name}: {reasons[name]}" for name in self.needed if reasons[name]), "")

    @property
    def is_converted(self) -> bool:
        return self.states is not None

    def draw(self, run: int, attempt: int) -> Draw:
        """Inputs for a run, when `attempt` draws for it have failed. Raises NotDrawable.

        The sizes of the plan come first, then others near those at which the model ran, then any, and in the end those
        at which it ran. Each run is led into a body of the model, as far as that is known.
        """
        if attempt == 0:
            self.goal = self.goals.next()
        numbers = np.random.default_rng((self.seed, run, attempt))
        pattern, kind = _PLAN[run % len(_PLAN)]
        if self.goals.are_many:
            pattern = _BRANCHED.get(run % len(_PLAN), pattern)
        may_be_empty = pattern is Pattern.ZEROS
        is_same = attempt >= MAX_ATTEMPTS - SAME
        if self.is_converted or (attempt >= PLANNED and attempt not in (LED, MAX_ATTEMPTS - SAME)):
            kind = Numbers.FINITE  # what other operators make of NaN and Inf is up to the runtimes
        goal = self.goal
        if goal is not None and not self.goals.is_met(goal) and (attempt >= LED or (not self.worked and attempt % 2)):
            goal = None  # it may be out of reach
        worked = self._worked(goal)
        scale, turn, move = 1, run, frozenset[str]()
        found: tuple[dict[str, int], Move] | None = None
        if worked is not None and is_same:
            (pattern, scale), found = worked.sizes, (dict(worked.binding), move)
        elif worked is not None and (0 < attempt <= VARIED or attempt >= LED):
            scale = worked.sizes[1]
            found = self._varied(goal, worked, pattern if attempt < LED else Pattern.PRIMES, numbers)
        elif attempt >= PLANNED:
            turn = attempt - PLANNED
            pattern, scale = _FURTHER[turn % len(_FURTHER)]
        if found is None:
            drawn = self._drawn(goal, pattern, numbers, turn=turn, scale=scale, trusts=attempt > 0)
            found = None if drawn is None else (drawn, move)
            if worked is not None and drawn is not None and not self.variations.is_new(drawn, goal):
                found = self._varied(goal, worked, pattern, numbers) or found
        if found is None:
            raise NotDrawable("no sizes were found that meet what is declared")
        binding, move = found
        given = [name for name in self.defaulted if attempt < PLANNED and (run + attempt) % 2]
        sizes = {} if self.states is None else self.states.first_sizes(binding)
        drawer = self.drawer({**binding, **sizes}, kind, numbers, (run, attempt))
        decisive = () if goal is None else goal.inputs
        feeds = drawer.feeds(self.inference, dict.fromkeys([*self.needed, *given, *decisive]))
        if goal is not None:
            feeds |= {name: chosen(feeds[name], goal.of_input(name), numbers) for name in goal.inputs}
        if self.states is not None:
            feeds |= self.states.first(binding)
        return Draw(tuple(binding.items()), kind, feeds, (pattern, scale), may_be_empty, move)

    def _worked(self, goal: Goal | None) -> Draw | None:
        """Inputs on which the model ran, best some that have led to a body."""
        return self.worked.get(None if goal is None else goal.body, self.worked.get(None))

    def _varied(
        self, goal: Goal | None, worked: Draw, pattern: Pattern, numbers: np.random.Generator
    ) -> tuple[dict[str, int], Move] | None:
        """Sizes near those at which the model ran."""
        base = self._led(goal, dict(worked.binding), numbers)
        if self.variations.is_new(base):
            return base, frozenset()
        return self.variations.vary(base, pattern, numbers, trusting=self.is_converted)

    def _drawn(
        self, goal: Goal | None, pattern: Pattern, numbers: np.random.Generator, *, turn: int, scale: int, trusts: bool
    ) -> dict[str, int] | None:
        """Sizes of a pattern, new ones where there are."""
        # Whether the model runs with a size of 0 is not left to what we think that it demands.
        # OpenVINO runs with sizes that it defines nothing for.
        for trusting in (trusts or self.is_converted or pattern is not Pattern.ZEROS, False):
            binding = None
            for _ in range(MAX_REPEATED):
                binding = self.sizes.draw(pattern, numbers, turn=turn, scale=scale, trusting=trusting)
                if binding is None or self.variations.is_new(binding, goal):
                    break
            if binding is not None:
                return self._led(goal, binding, numbers)
        return None

    def _led(self, goal: Goal | None, binding: dict[str, int], numbers: np.random.Generator) -> dict[str, int]:
        """The binding, or one that leads a run to a body to which none has come."""
        if goal is None or self.goals.is_met(goal):
            return binding
        found = self.variations.leading_to(goal, binding, numbers)
        return binding if found is None else found

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

    def note(self, draw: Draw, entered: Sequence[GraphPath] = ()) -> None:
        """Remember inputs on which the original ran, and the bodies that it came to."""
        if draw.numbers is Numbers.GIVEN:
            return
        binding = dict(draw.binding)
        self.variations.note(binding, draw.move, self.goal, ran=True)
        if 0 in binding.values():
            return
        for body in (None, *entered):
            if body not in self.worked or draw.sizes[1] < self.worked[body].sizes[1]:
                self.worked[body] = draw

    def note_failed(self, draw: Draw, *, is_late: bool = False) -> None:
        """Remember that the original does not run on these inputs, or not in time."""
        if is_late:
            self.variations.note_late(dict(draw.binding))
        self.variations.note(dict(draw.binding), draw.move, self.goal, ran=False)

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
