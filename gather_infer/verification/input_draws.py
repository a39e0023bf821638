"""Random inputs of a verification: the sizes and elements of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from onnx import ModelProto

from gather_infer.inference import Inference
from gather_infer.node_ids import GraphPath
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import verdicts
from gather_infer.verification.body_coverage import BodyCoverage
from gather_infer.verification.element_sampling import (
    NO_BOUNDARY_VALUES,
    ElementDrawer,
    FloatPattern,
    NotDrawable,
    boundary_values_of,
    known_integers,
    limits_of,
    literal_integers,
    why_not_drawable,
)
from gather_infer.verification.goals import Goal, Goals, satisfying
from gather_infer.verification.input_preconditions import input_precondition_limits
from gather_infer.verification.result import Binding
from gather_infer.verification.size_sampling import SizePattern, size_sampler_of
from gather_infer.verification.state_io import StateIO, state_index_limits
from gather_infer.verification.variations import Move, Variations

_PLAN = (
    (SizePattern.PRIMES, FloatPattern.FINITE),
    (SizePattern.PRIMES, FloatPattern.SPECIAL),
    (SizePattern.ZEROS, FloatPattern.FINITE),
    (SizePattern.ONES, FloatPattern.TIES),
    (SizePattern.MODEL_NUMBERS, FloatPattern.TIES),
    (SizePattern.EQUAL, FloatPattern.TINY),
    (SizePattern.ONES, FloatPattern.SPECIAL),
    (SizePattern.ZEROS, FloatPattern.SPECIAL),
)
"""Size and float patterns of successive runs, repeated. A NaN hides errors downstream, so finite numbers come first."""

_BRANCH_PATTERNS: Final = {3: SizePattern.MODEL_NUMBERS, 5: SizePattern.MODEL_NUMBERS, 7: SizePattern.MODEL_NUMBERS}
"""Index in the plan -> another size pattern for a model with several coverage goals.

A run proves nothing about branches that it does not take.
"""

_SCALES = (16, 32, 64, 128, 256, 512, 1024, 2048)

_FURTHER = (
    (SizePattern.PRIMES, 1),
    (SizePattern.EQUAL, 1),
    (SizePattern.ONES, 1),
    (SizePattern.ONES, 1),
    *((SizePattern.MIXED, 1) for _ in range(8)),
    *((SizePattern.GROWN, scale) for scale in _SCALES for _ in range(3)),
)
"""(size pattern, scale) of further draws for a run, when the original fails on the sizes of the plan."""

PLANNED: Final = 4
"""Number of first draws of a run whose float patterns follow the plan."""

VARIATIONS: Final = 8
"""Number of draws after the first one that vary a binding on which the original ran, if there is one.

Half as many follow near the end, without a goal.
"""

SAME_SIZES: Final = 3
"""Number of last draws, which reuse sizes on which the original ran, if there are any."""

MAX_REPEATED: Final = 4
"""Maximum number of attempts to draw a new binding."""

GUIDED: Final = 1 + VARIATIONS + len(_FURTHER)
"""Number of first draws of a run that are guided to a body that no run has entered."""

MAX_ATTEMPTS: Final = GUIDED + VARIATIONS // 2 + SAME_SIZES
"""Maximum number of draws for one run."""

MAX_EXACT: Final = 1 << 23
"""Largest integer for OpenVINO's CPU plugin, which stores int64 as int32 and computes some of it in float32."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The inputs of a run.

    binding        the sizes of the symbols
    pattern        the pattern of the float inputs
    feeds          the inputs by name
    sizes          the size pattern and its scale
    may_be_empty   the run counts even if every output is empty
    move           symbols whose sizes were changed, if the binding varies one on which the original ran
    """

    binding: Binding
    pattern: FloatPattern
    feeds: dict[str, Any]
    sizes: tuple[SizePattern, int] = (SizePattern.MIXED, 1)
    may_be_empty: bool = False
    move: Move = frozenset()


class InputDraws:
    """Generates the random inputs of an inferred model.

    failure     why no inputs can be drawn; empty if they can
    successful  body -> the draw of the smallest scale on which the original ran and entered the body; None -> the one
                of the smallest scale of all
    """

    def __init__(
        self,
        inference: Inference,
        rewritten: ModelProto,
        seed: int,
        state_io: StateIO | None,
        converted: Inference | None,
        coverage: BodyCoverage,
    ) -> None:
        self.inference = inference
        self.seed = seed
        self.successful: dict[GraphPath | None, Draw] = {}
        self.goal: Goal | None = None
        self.state_io = state_io
        proto = inference.model.proto
        found = verdicts(inference)
        own = known_integers(inference) | literal_integers(proto) | literal_integers(rewritten)
        self.sizes = size_sampler_of(inference, found, own, converted)
        # the operators of the conversion define how a layer treats indices
        self.limits = limits_of(found if converted is None else [*found, *verdicts(converted)])
        self.boundary_values = boundary_values_of(inference, own)
        constants = {t.name for t in proto.graph.initializer} | {t.values.name for t in proto.graph.sparse_initializer}
        self.defaulted = [name for name in inference.inputs if name in constants]
        self.needed = [name for name in inference.inputs if name not in constants]
        reasons = {name: why_not_drawable(inference[name]) for name in inference.inputs}
        self.defaulted = [name for name in self.defaulted if not reasons[name]]
        if state_io is not None:
            for name, limits in [
                *state_index_limits(inference, state_io.initial_values),
                *input_precondition_limits(inference),
            ]:
                self.limits.setdefault(name, []).append(limits)
        self.variations = Variations(self.sizes)
        self.goals = Goals(inference, coverage, self.sizes.names)
        self.failure = next((f"input {name}: {reasons[name]}" for name in self.needed if reasons[name]), "")

    @property
    def is_converted(self) -> bool:
        return self.state_io is not None

    def draw(self, run: int, attempt: int) -> Draw:
        """Inputs for a run after `attempt` failed draws. Raises NotDrawable when no sizes or elements are found.

        The sizes of the plan come first, then variations of successful ones, then arbitrary ones, and finally
        successful ones again. Each run is guided to a body of the model, if there is one with known conditions.
        """
        if attempt == 0:
            self.goal = self.goals.next()
        numbers = np.random.default_rng((self.seed, run, attempt))
        pattern, kind = _PLAN[run % len(_PLAN)]
        if self.goals.are_many:
            pattern = _BRANCH_PATTERNS.get(run % len(_PLAN), pattern)
        may_be_empty = pattern is SizePattern.ZEROS
        is_same = attempt >= MAX_ATTEMPTS - SAME_SIZES
        if self.is_converted or (attempt >= PLANNED and attempt not in (GUIDED, MAX_ATTEMPTS - SAME_SIZES)):
            kind = FloatPattern.FINITE  # the results of other operators for NaN and Inf are unspecified
        goal = self.goal
        if (
            goal is not None
            and not self.goals.is_met(goal)
            and (attempt >= GUIDED or (not self.successful and attempt % 2))
        ):
            goal = None  # it may be unreachable
        worked = self._successful(goal)
        scale, turn, move = 1, run, frozenset[str]()
        found: tuple[dict[str, int], Move] | None = None
        if worked is not None and is_same:
            (pattern, scale), found = worked.sizes, (dict(worked.binding), move)
        elif worked is not None and (0 < attempt <= VARIATIONS or attempt >= GUIDED):
            scale = worked.sizes[1]
            found = self._varied(goal, worked, pattern if attempt < GUIDED else SizePattern.PRIMES, numbers)
        elif attempt >= PLANNED:
            turn = attempt - PLANNED
            pattern, scale = _FURTHER[turn % len(_FURTHER)]
        if found is None:
            drawn = self._drawn(goal, pattern, numbers, turn=turn, scale=scale, trusts=attempt > 0)
            found = None if drawn is None else (drawn, move)
            if worked is not None and drawn is not None and not self.variations.is_new(drawn, goal):
                found = self._varied(goal, worked, pattern, numbers) or found
        if found is None:
            raise NotDrawable("no sizes were found that satisfy the declarations")
        binding, move = found
        given = [name for name in self.defaulted if attempt < PLANNED and (run + attempt) % 2]
        sizes = {} if self.state_io is None else self.state_io.initial_sizes(binding)
        drawer = self.drawer({**binding, **sizes}, kind, numbers, (run, attempt))
        decisive = () if goal is None else goal.inputs
        feeds = drawer.feeds(self.inference, dict.fromkeys([*self.needed, *given, *decisive]))
        if goal is not None:
            feeds |= {name: satisfying(feeds[name], goal.of_input(name), numbers) for name in goal.inputs}
        if self.state_io is not None:
            feeds |= self.state_io.initial_feeds(binding)
        return Draw(tuple(binding.items()), kind, feeds, (pattern, scale), may_be_empty, move)

    def _successful(self, goal: Goal | None) -> Draw | None:
        """A draw on which the original ran, preferably one that entered the body of the goal; None if there is none."""
        return self.successful.get(None if goal is None else goal.body, self.successful.get(None))

    def _varied(
        self, goal: Goal | None, worked: Draw, pattern: SizePattern, numbers: np.random.Generator
    ) -> tuple[dict[str, int], Move] | None:
        """A variation of the sizes of `worked`, and the changed symbols; None where there is no new one."""
        base = self._guided(goal, dict(worked.binding), numbers)
        if self.variations.is_new(base):
            return base, frozenset()
        return self.variations.vary(base, pattern, numbers, trusting=self.is_converted)

    def _drawn(
        self,
        goal: Goal | None,
        pattern: SizePattern,
        numbers: np.random.Generator,
        *,
        turn: int,
        scale: int,
        trusts: bool,
    ) -> dict[str, int] | None:
        """Sizes of a pattern, preferably not yet tried; None if none are found that satisfy the declarations.

        turn, scale   as for `SizeSampler.draw`
        trusts        require the implied constraints at first
        """
        # A size of 0 is tried even if the inferred constraints exclude it, since they may be too strong. Not for an IR:
        # OpenVINO also runs with sizes for which it defines no result.
        for trusting in (trusts or self.is_converted or pattern is not SizePattern.ZEROS, False):
            binding = None
            for _ in range(MAX_REPEATED):
                binding = self.sizes.draw(pattern, numbers, turn=turn, scale=scale, trusting=trusting)
                if binding is None or self.variations.is_new(binding, goal):
                    break
            if binding is not None:
                return self._guided(goal, binding, numbers)
        return None

    def _guided(self, goal: Goal | None, binding: dict[str, int], numbers: np.random.Generator) -> dict[str, int]:
        """The binding, or a nearby one at which a run may enter the body of the goal, if no run has entered it."""
        if goal is None or self.goals.is_met(goal):
            return binding
        found = self.variations.leading_to(goal, binding, numbers)
        return binding if found is None else found

    def drawer(
        self, sizes: Mapping[str, int], kind: FloatPattern, numbers: np.random.Generator, at: tuple[int, int]
    ) -> ElementDrawer:
        """The drawer of elements at `sizes`; `at` is the number of the run and of the attempt."""
        run, attempt = at
        tameness = 0 if attempt < 2 else attempt % 5
        marks = self.boundary_values if run % 2 and not attempt else NO_BOUNDARY_VALUES
        largest = MAX_EXACT if self.is_converted else None
        return ElementDrawer(self.limits, sizes, kind, tameness, run, numbers, marks, largest)

    def of_feeds(self, feeds: Mapping[str, Any]) -> Draw:
        """A draw with the feeds of the caller, whose shapes determine the sizes."""
        binding: dict[str, int] = {}
        for name, array in feeds.items():
            fact = self.inference.get(name)
            if isinstance(fact, SymbolicTensor) and fact.shape is not None and len(fact.shape) == np.ndim(array):
                for dim, size in zip(fact.shape, np.shape(array), strict=True):
                    if not isinstance(dim, int) and dim.is_symbol:
                        binding.setdefault(str(dim), size)
        more = {} if self.state_io is None else self.state_io.initial_feeds(binding)
        named = tuple((name, binding[name]) for name in self.sizes.names if name in binding)
        return Draw(named, FloatPattern.GIVEN, {**feeds, **more}, may_be_empty=True)

    def note(self, draw: Draw, entered: Sequence[GraphPath] = ()) -> None:
        """Record inputs on which the original ran, and the bodies that it entered."""
        if draw.pattern is FloatPattern.GIVEN:
            return
        binding = dict(draw.binding)
        self.variations.note(binding, draw.move, self.goal, ran=True)
        if 0 in binding.values():
            return
        for body in (None, *entered):
            if body not in self.successful or draw.sizes[1] < self.successful[body].sizes[1]:
                self.successful[body] = draw

    def note_failed(self, draw: Draw, *, is_late: bool = False) -> None:
        """Record that the original fails on these inputs, or exceeds the time limit."""
        if is_late:
            self.variations.note_late(dict(draw.binding))
        self.variations.note(dict(draw.binding), draw.move, self.goal, ran=False)

    def later(self, draw: Draw, step: int, growing: str | None, results: Mapping[str, Any]) -> Draw:
        """The inputs of a further step of a model with state, with the sizes of `draw`, the inputs of the first step.

        step      the number of steps before
        growing   the symbol whose size is multiplied by `step + 1`; None if there is none
        results   the outputs of the converted model at the previous step

        Raises NotDrawable if an input has no elements at these sizes.
        """
        assert self.state_io is not None, "only models with state make steps"
        binding = {name: size * (step + 1 if name == growing else 1) for name, size in draw.binding}
        numbers = np.random.default_rng((self.seed, step, 1 << 16))
        drawer = self.drawer({**binding, **self.state_io.sizes_after(results)}, FloatPattern.FINITE, numbers, (0, 0))
        feeds = drawer.feeds(self.inference, self.needed)
        return Draw(tuple(binding.items()), FloatPattern.FINITE, feeds, draw.sizes)


def is_always_empty(inference: Inference, name: str) -> bool:
    """Whether a value is known to be empty for all inputs."""
    fact = inference.get(name)
    return isinstance(fact, SymbolicTensor) and fact.shape is not None and any(_is_zero(d) for d in fact.shape)


def _is_zero(dim: object) -> bool:
    return isinstance(dim, int) and dim == 0
