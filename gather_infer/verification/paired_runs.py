"""Paired runs of two models, and the comparison of their outputs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np

from gather_infer.progress import Progress, no_progress
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.verification.bisection import Bisection, described
from gather_infer.verification.body_coverage import BodyCoverage
from gather_infer.verification.element_sampling import FloatPattern, NotDrawable
from gather_infer.verification.input_draws import MAX_ATTEMPTS, SAME_SIZES, Draw, InputDraws
from gather_infer.verification.model_chain import ChainProcess
from gather_infer.verification.nondeterminism import NONDETERMINISTIC
from gather_infer.verification.output_comparison import difference, has_elements, largest_error, same_type
from gather_infer.verification.result import Mismatch, VerificationRun, shown_binding
from gather_infer.verification.result_builder import VerificationBuilder
from gather_infer.verification.tolerance import Tolerance

MAX_LATE: Final = 2
"""Number of timeouts in one run after which no further runs are tried, if the original has never run."""

REPEATS: Final = 4
"""Number of further runs of the original before a difference is reported: random outputs may be equal by chance."""
RANDOM_REPEATS: Final = 8
"""Number of further runs of a model with random numbers after a failure, which may be due to the numbers."""

DRAWING_SECONDS: Final = 30.0
"""Seconds of failing draws in one run after which sizes at which the original ran are reused."""

MIN_SECONDS: Final = 10.0
SLOWDOWN_FACTOR: Final = 5
"""Time limit of a draw: `MIN_SECONDS`, or this multiple of the time of the slowest draw that ran, if that is longer.

Until a draw has run, the time limit of the caller applies.
"""

MAX_MEMORY: Final = 4 << 30
"""Bytes that a draw may use besides the loaded original, where the system can limit them.

At most half of the memory of the machine is allowed.
"""

MAX_EMPTY: Final = 12
"""Number of draws of a run after which a draw with only empty outputs is accepted."""

STATE_STEPS: Final = 3
"""Number of steps in each run of a model with state."""


@dataclass(slots=True)
class PairedRuns:
    """Runs the original and the rewritten model on the same inputs and compares their outputs.

    names             outputs of the original and of the rewritten model
    rewritten_name    what messages call the rewritten model
    feeds             the file that passes inputs to the runtimes
    nondeterministic  outputs that depend on random numbers, each with the node that draws them
    unspecified       outputs that depend on scan outputs of a Loop: their sizes are unspecified without an iteration
    is_lenient        the runtime of the original accepts empty tensors that others reject
    tolerance         returns the allowed difference of floats in a run, from its sizes; None to compare bits
    coverage          bodies that runs entered
    progress          receives a function that returns the current activity
    bisection         finds the first layer of an IR that differs
    slowest           seconds of the slowest draw that ran
    differing_feeds   feeds of the first run that differs, or in which only the rewritten model fails
    growing           the symbol whose size grows with each step of a model with state, or None if no size does, as the
                      only entry; empty until it is found
    is_stepping       whether models with state are run for more than one step
    uncounted         number of runs that were discarded
    is_symmetric      the original may not fail where the rewritten model runs, either
    """

    draws: InputDraws
    original: RuntimeProcess
    rewritten: RuntimeProcess | ChainProcess
    names: tuple[list[str], list[str]]
    rewritten_name: str
    feeds: Path
    found: VerificationBuilder
    nondeterministic: Mapping[str, str]
    unspecified: Mapping[str, str]
    is_lenient: bool
    tolerance: Callable[[Mapping[str, int]], Tolerance | None]
    coverage: BodyCoverage
    progress: Progress = no_progress
    bisection: Bisection | None = None
    slowest: float = 0.0
    differing_feeds: bytes | None = None
    growing: list[str | None] = field(default_factory=list)
    is_stepping: bool = True
    uncounted: int = 0
    is_symmetric: bool = False

    def run(self, given: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Compare the models on the `given` (label, feeds) pairs, then on as many random inputs as requested."""
        for label, feeds in given:
            draw = self.draws.of_feeds(feeds)
            first = self._original(draw)
            if isinstance(first, Failure):
                self.found.failure = f"the original does not run on {label}: {first}"
                return
            self.draws.note(draw)
            if self._compare(draw, first) is False:
                return
        for number in range(self.found.requested_runs):
            self.progress(partial("verifying, run {} of {}".format, number + 1, self.found.requested_runs))
            if not self._run(number):
                break
        if not self.found.runs and not self.found.failure and not self.found.mismatches:
            self.found.failure = (
                f"the original ran on none of the random inputs, pass some with --feeds: {self.found.redraw_reason}"
            )

    def _run(self, number: int) -> bool:
        """Compare the models on random inputs, drawn until a run counts; False if further runs are pointless."""
        late, empty, attempt, begun = 0, None, 0, monotonic()
        while attempt < MAX_ATTEMPTS and (empty is None or attempt < MAX_EMPTY):
            try:
                draw = self.draws.draw(number, attempt)
            except NotDrawable as reason:
                self.found.redraw_reason = str(reason)
                attempt += 1
                continue
            first = self._original(draw)
            if not isinstance(first, Failure):
                if draw.may_be_empty or self.found.is_empty or self._has_elements(first):
                    self.draws.note(draw, self.coverage.last_entered)
                    outcome = self._compare(draw, first)
                    if not isinstance(outcome, Failure):
                        return outcome
                    first = outcome
                else:
                    empty = empty or (draw, first)
                    first = Failure("every output is empty there")
            if self.is_symmetric and not first.is_timeout and self._fails_alone(draw):
                return True
            self.draws.note_failed(draw, is_late=first.is_timeout)
            self.found.redraws += 1
            self.found.redraw_reason = str(first)
            late += first.is_timeout
            attempt += 1
            if self.draws.successful and (first.is_timeout or monotonic() - begun > DRAWING_SECONDS):
                attempt = max(attempt, MAX_ATTEMPTS - SAME_SIZES)
            elif late >= MAX_LATE:
                return False
        if empty is not None:
            self._original(empty[0])
            return self._compare(*empty) is not False
        return bool(self.found.runs)  # without any run so far, the model is assumed never to run

    def _fails_alone(self, draw: Draw) -> bool:
        """Whether only the original fails for a draw, which is then a difference."""
        again = self._despite_chance(self._repeat)
        if not isinstance(again, Failure) or again.is_timeout or isinstance(self._rewritten(), Failure):
            return False
        if self.differing_feeds is None:
            self.differing_feeds = self.feeds.read_bytes()
        self.found.runs.append(VerificationRun(draw.binding, draw.pattern.value, False))
        self.found.mismatches.append(Mismatch("", f"only {self.rewritten_name} runs: {again}", draw.binding))
        return True

    def _has_elements(self, outputs: Sequence[Any]) -> bool:
        names = self.names[0]
        return any(has_elements(v) for n, v in zip(names, outputs, strict=True) if n not in self.nondeterministic)

    def _write(self, feeds: Mapping[str, Any]) -> None:
        self.feeds.write_bytes(pickle.dumps(dict(feeds), protocol=pickle.HIGHEST_PROTOCOL))

    def _original(self, draw: Draw) -> list[Any] | Failure:
        """The outputs of the original for a draw, within the limits of time and memory; or the failure."""
        self._write(draw.feeds)
        if draw.pattern is FloatPattern.GIVEN:
            return self._repeat()
        seconds = max(MIN_SECONDS, SLOWDOWN_FACTOR * self.slowest) if self.slowest else None
        begun = monotonic()
        found = self.original.run(self.feeds, seconds=seconds, memory=MAX_MEMORY)
        if isinstance(found, Failure):
            return found
        self.slowest = max(self.slowest, monotonic() - begun)
        return self.coverage.outputs(found)

    def _repeat(self, *, goes_on: bool = False) -> list[Any] | Failure:
        """The outputs of the original for the inputs in the file `feeds`, or the failure; `goes_on` keeps its state."""
        found = self.original.run(self.feeds, goes_on=goes_on)
        return found if isinstance(found, Failure) else self.coverage.outputs(found)

    def _rewritten(self) -> list[Any] | Failure:
        """The outputs of the rewritten model for the inputs in the file `feeds`, or the failure."""
        return self._despite_chance(lambda: self.rewritten.run(self.feeds))

    def _despite_chance(self, run: Callable[[], list[Any] | Failure]) -> list[Any] | Failure:
        """The outputs by `run`; a model that draws random numbers runs again after a failure, which may be theirs."""
        found = run()
        for _ in range(RANDOM_REPEATS if self.nondeterministic else 0):
            if not isinstance(found, Failure) or found.is_timeout:
                break
            found = run()
        return found

    def _chance_reason(self) -> str:
        """Why the failure of the rewritten model proves nothing: the original fails too, with other random numbers."""
        for _ in range(RANDOM_REPEATS if self.nondeterministic else 0):
            if isinstance(again := self._repeat(), Failure):
                return f"the original fails for some of its random numbers: {again}"
        return ""

    def _compare(self, draw: Draw, first: list[Any]) -> bool | Failure:
        """Run the rewritten model, and compare it with `first`, the outputs of the original; False to stop all runs.

        Returns a Failure for a run that proves nothing, such as one with empty tensors, which the runtime of the
        original does not check.
        """
        before, after = self.names
        found = self.found
        unstable = self._unstable_outputs(first)
        second = self._rewritten()
        if isinstance(second, Failure):
            if not second.is_timeout and (reason := self._undefined_reason(draw) or self._chance_reason()):
                return self._discard(draw, reason, f"the new model fails: {second}")
            if self.differing_feeds is None:
                self.differing_feeds = self.feeds.read_bytes()
            found.runs.append(VerificationRun(draw.binding, draw.pattern.value, False))
            found.mismatches.append(Mismatch("", f"{self.rewritten_name} fails: {second}", draw.binding))
            return not second.is_timeout
        results = dict(zip(after, second, strict=True))
        error = found.max_error
        wrong = self._differences(draw, first, results, unstable)
        for _ in range(REPEATS if wrong else 0):
            unstable |= self._unstable_outputs(first)
        unstable -= self.nondeterministic.keys()
        wrong = [mismatch for mismatch in wrong if mismatch.output not in unstable]
        if wrong and (reason := self._undefined_reason(draw) or self._plugin_reason()):
            found.max_error = error
            return self._discard(draw, reason, str(wrong[0]))
        if wrong and self.differing_feeds is None:
            self.differing_feeds = self.feeds.read_bytes()
        steps = 1
        if not wrong and self.draws.state_io is not None and self.draws.state_io.is_linked and self.is_stepping:
            steps, wrong = self._steps(draw, results)
        compared = [v for n, v in zip(before, first, strict=True) if n in found.compared_outputs and n not in unstable]
        found.runs.append(VerificationRun(draw.binding, draw.pattern.value, any(map(has_elements, compared)), steps))
        self.coverage.count()
        found.mismatches += wrong
        reasons = dict.fromkeys(sorted(unstable, key=before.index), "two runs of the original differ")
        found.skipped |= reasons
        return True

    def _discard(self, draw: Draw, reason: str, what: str) -> Failure:
        """Record that a run is not counted; a note reports the first of these runs, and all on feeds of the caller.

        Returns the reason as a Failure.
        """
        if where := shown_binding(draw.binding):
            reason = f"at {where} {reason}"
        if draw.pattern is FloatPattern.GIVEN or not self.uncounted:
            self.found.note(f"not counted: {reason}; {what}")
        self.uncounted += 1
        return Failure(reason)

    def _undefined_reason(self, draw: Draw) -> str:
        """Why a run of `draw` proves nothing, because the specification rejects inputs that runtimes accept; else
        empty.
        """
        if draw.pattern is not FloatPattern.GIVEN and not self.draws.sizes.meets_constraints(dict(draw.binding)):
            return "the model requires other sizes"
        if not self.is_lenient:
            return ""
        inputs = [draw.feeds.get(name) for name in self.draws.inference.inputs]
        is_empty = any(isinstance(value, np.ndarray) and value.size == 0 for value in inputs)
        if is_empty or self.draws.sizes.budget.has_empty_value(dict(draw.binding)):
            return f"a tensor is empty, which {self.original.runtime} does not check"
        refusal = self.original.check(self.feeds)
        return "" if refusal is None or refusal.is_timeout else f"the layers reject these sizes: {refusal}"

    def _plugin_reason(self) -> str:
        """The reason, other than a wrong conversion, why outputs of an IR differ; empty if none is found.

        Known reasons are an overflow in OpenVINO, and a layer that decides by rounding. Any other first differing layer
        is recorded, and the search is not repeated.
        """
        if self.bisection is None or self.found.first_difference:
            return ""
        assert isinstance(self.rewritten, RuntimeProcess), "a converted IR is one model"
        paths = self.original.model, self.rewritten.model
        first, reason = self.bisection.first_difference(), ""
        if first is not None and self.bisection.is_past_int32(first[0]):
            reason = f"{first[0]} overflows int32, in which OpenVINO computes"
        elif first is not None and self.bisection.is_decided_by_rounding(first[0]):
            reason = f"{first[0]} decides by numbers that differ by rounding"
        for child, path in zip((self.original, self.rewritten), paths, strict=True):
            assert path is not None, "both models were loaded"
            child.load(path)
        if first is not None and not reason:
            self.found.first_difference = described(*first)
        return reason

    def _differences(
        self, draw: Draw, first: Sequence[Any], results: Mapping[str, Any], unstable: set[str]
    ) -> list[Mismatch]:
        """The differing outputs of one paired run, as mismatches."""
        found, wrong = self.found, []
        tolerance = self.tolerance(dict(draw.binding))
        for name, value in zip(self.names[0], first, strict=True):
            if name not in results:
                continue
            if name in self.nondeterministic:
                found.skipped[name] = (
                    f"{NONDETERMINISTIC}: {self.nondeterministic[name]}"
                    if self.nondeterministic[name]
                    else NONDETERMINISTIC
                )
                apart = same_type(value, results[name])
            elif name in unstable:
                continue
            else:
                found.compared_outputs[name] = None
                apart = difference(value, results[name], tolerance)
                if name in self.unspecified and apart is not None and _are_empty(value, results[name]):
                    apart = same_type(value, results[name])
                if tolerance is not None:
                    found.summation_error = max(found.summation_error, tolerance.noise)
                    found.max_error = max(found.max_error, largest_error(value, results[name]))
            if apart is not None:
                texts = apart.original, apart.rewritten
                wrong.append(Mismatch(name, apart.reason, draw.binding, apart.index, *texts))
        return wrong

    def _unstable_outputs(self, first: list[Any]) -> set[str]:
        """The names of the outputs that differ between `first` and another run of the original on the same inputs."""
        again = self._despite_chance(self._repeat)
        if isinstance(again, Failure):  # a model that fails intermittently is not compared
            return set(self.names[0])
        pairs = zip(self.names[0], first, again, strict=True)
        return {name for name, one, other in pairs if difference(one, other) is not None}

    def _steps(self, draw: Draw, results: Mapping[str, Any]) -> tuple[int, list[Mismatch]]:
        """Run further steps of both models, each on its own state, after the first step with the outputs `results`.

        A mask may need the length of all steps together. So if the sizes of the first step fail, each size in turn
        grows with the state.

        Returns the number of steps that were compared, the first one included, and their differences.
        """
        states = self.draws.state_io
        assert states is not None, "only models with state make steps"
        held = {size for present in states.links.values() for size in np.shape(results[present])}
        names = [name for name, size in draw.binding if size in held]
        reason = ""
        for growing in dict.fromkeys([*self.growing, None, *names]):
            steps, wrong, reason = self._steps_with(draw, results, growing)
            if steps > 1 or wrong:
                self.growing = [growing]
                return steps, wrong
        self.is_stepping = False
        self.found.note(
            f"only the first step was compared, the model rejects the random inputs of the next one: {reason}"
        )
        return 1, []

    def _steps_with(
        self, draw: Draw, results: Mapping[str, Any], growing: str | None
    ) -> tuple[int, list[Mismatch], str]:
        """As `_steps`, with the size of the symbol `growing` increased at each step, or no size if it is None.

        Returns also the reason why there were no more steps; empty if all were run.
        """
        states = self.draws.state_io
        assert states is not None, "only models with state make steps"
        begun = self._original(draw)
        if isinstance(begun, Failure):
            return 1, [], str(begun)
        for step in range(1, STATE_STEPS):
            try:
                later = self.draws.later(draw, step, growing, results)
            except NotDrawable as error:
                return step, [], str(error)
            self._write(later.feeds)
            first = self._repeat(goes_on=True)
            if isinstance(first, Failure):
                return step, [], str(first)
            self._write({**later.feeds, **states.next_feeds(results)})
            second = self._rewritten()
            binding = (*later.binding, ("step", step + 1))
            if isinstance(second, Failure):
                return step + 1, [Mismatch("", f"{self.rewritten_name} fails: {second}", binding)], ""
            results = dict(zip(self.names[1], second, strict=True))
            wrong = self._differences(replace(later, binding=binding), first, results, set())
            if wrong:
                return step + 1, wrong, ""
        return STATE_STEPS, [], ""


def _are_empty(*values: Any) -> bool:
    return all(isinstance(value, np.ndarray) and value.size == 0 for value in values)
