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
from gather_infer.runtimes.process import Child, Failure
from gather_infer.verification.compare import difference, has_elements, largest_error, same_type
from gather_infer.verification.data import NotDrawable, Numbers
from gather_infer.verification.drawn import DRAWN
from gather_infer.verification.draws import MAX_ATTEMPTS, SAME, Draw, Draws
from gather_infer.verification.findings import Findings
from gather_infer.verification.halving import Halving, described
from gather_infer.verification.result import Mismatch, Run, shown_binding
from gather_infer.verification.tolerance import Tolerance
from gather_infer.verification.watching import Watch

MAX_LATE: Final = 2
"""Timeouts of the original before its runs are given up."""

AGAIN: Final = 4
"""Further runs of the original before a difference is reported: a random output may be equal twice by chance."""

DRAWING_SECONDS: Final = 30.0
"""Time for failing draws of one run, before sizes at which the model ran are reused."""

LEAST_SECONDS: Final = 10.0
SLOWER: Final = 5
"""Time limit of a draw: `MIN_SECONDS`, or this multiple of the slowest draw that ran. The first one may take the full
time limit.
"""

MAX_MEMORY: Final = 4 << 30
"""Bytes that a draw may take besides the loaded original, where the system can limit that; at most half of the
machine's memory.
"""

MAX_EMPTY: Final = 12
"""Draws that are repeated because every output is empty."""

STEPS: Final = 3
"""Steps of a model with state."""


@dataclass(slots=True)
class Comparing:
    """The paired runs.

    names             outputs of the original and of the rewritten model
    feeds             the file that passes inputs to the runtimes
    nondeterministic  outputs that depend on random numbers, each with the node that draws them
    unspecified       outputs that depend on scan outputs of a Loop: their sizes are unspecified without an iteration
    is_lenient        the runtime of the original accepts empty tensors that others reject
    tolerance         allowed difference of floats in a run with these sizes; None compares bits
    coverage          bodies that runs entered
    progress          receives a function that returns the current activity
    bisection         finds the first layer of an IR that differs
    slowest           seconds of the slowest draw that ran
    differing_feeds   feeds of the first run that differs
    growing           the size that grows from step to step, as far as it was found
    """

    draws: Draws
    original: Child
    rewritten: Child
    names: tuple[list[str], list[str]]
    feeds: Path
    found: Findings
    drawn: Mapping[str, str]
    unsaid: Mapping[str, str]
    is_lenient: bool
    tolerance: Callable[[Mapping[str, int]], Tolerance | None]
    watch: Watch
    progress: Progress = no_progress
    halving: Halving | None = None
    slowest: float = 0.0
    wrong: bytes | None = None
    growing: list[str | None] = field(default_factory=list)
    is_stepping: bool = True
    passed_over: int = 0

    def run(self, given: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Compare on the given inputs, with their labels, and then on as many random ones as requested."""
        for label, feeds in given:
            draw = self.draws.given(feeds)
            first = self._original(draw)
            if isinstance(first, Failure):
                self.found.fault = f"the original does not run on {label}: {first}"
                return
            self.draws.note(draw)
            if self._compare(draw, first) is False:
                return
        for number in range(self.found.wanted):
            self.progress(partial("verifying, run {} of {}".format, number + 1, self.found.wanted))
            if not self._run(number):
                break
        if not self.found.runs and not self.found.fault and not self.found.mismatches:
            self.found.fault = (
                f"the original ran on none of the random inputs, pass some with --feeds: {self.found.why_redrawn}"
            )

    def _run(self, number: int) -> bool:
        """Compare on random inputs of one run; False when further runs are pointless."""
        late, empty, attempt, begun = 0, None, 0, monotonic()
        while attempt < MAX_ATTEMPTS and (empty is None or attempt < MAX_EMPTY):
            try:
                draw = self.draws.draw(number, attempt)
            except NotDrawable as reason:
                self.found.why_redrawn = str(reason)
                attempt += 1
                continue
            first = self._original(draw)
            if not isinstance(first, Failure):
                if draw.may_be_empty or self.found.is_empty or self._has_elements(first):
                    self.draws.note(draw, self.watch.last)
                    outcome = self._compare(draw, first)
                    if not isinstance(outcome, Failure):
                        return outcome
                    first = outcome
                else:
                    empty = empty or (draw, first)
                    first = Failure("every output is empty there")
            self.draws.note_failed(draw, is_late=first.is_late)
            self.found.redrawn += 1
            self.found.why_redrawn = str(first)
            late += first.is_late
            attempt += 1
            if self.draws.worked and (first.is_late or monotonic() - begun > DRAWING_SECONDS):
                attempt = max(attempt, MAX_ATTEMPTS - SAME)
            elif late >= MAX_LATE:
                return False
        if empty is not None:
            self._original(empty[0])
            return self._compare(*empty) is not False
        return bool(self.found.runs)  # without any run so far, the model is assumed never to run

    def _has_elements(self, outputs: Sequence[Any]) -> bool:
        names = self.names[0]
        return any(has_elements(v) for n, v in zip(names, outputs, strict=True) if n not in self.drawn)

    def _write(self, feeds: Mapping[str, Any]) -> None:
        self.feeds.write_bytes(pickle.dumps(dict(feeds), protocol=pickle.HIGHEST_PROTOCOL))

    def _original(self, draw: Draw) -> list[Any] | Failure:
        """Outputs of the original for a draw, within the limits of a draw."""
        self._write(draw.feeds)
        if draw.numbers is Numbers.GIVEN:
            return self._again()
        seconds = max(LEAST_SECONDS, SLOWER * self.slowest) if self.slowest else None
        begun = monotonic()
        found = self.original.run(self.feeds, seconds=seconds, memory=MAX_MEMORY)
        if isinstance(found, Failure):
            return found
        self.slowest = max(self.slowest, monotonic() - begun)
        return self.watch.outputs(found)

    def _again(self, *, goes_on: bool = False) -> list[Any] | Failure:
        """Outputs of the original for the inputs in the file."""
        found = self.original.run(self.feeds, goes_on=goes_on)
        return found if isinstance(found, Failure) else self.watch.outputs(found)

    def _compare(self, draw: Draw, first: list[Any]) -> bool | Failure:
        """Compare a run of the rewritten model with one of the original; False when further runs are pointless.

        Returns a Failure for a run that proves nothing, such as one with empty tensors, which the original's runtime
        does not check.
        """
        before, after = self.names
        found = self.found
        unstable = self._differing(first)
        second = self.rewritten.run(self.feeds)
        if isinstance(second, Failure):
            if not second.is_late and (reason := self._why_undefined(draw)):
                return self._pass_over(draw, reason, f"the new model fails: {second}")
            found.runs.append(Run(draw.binding, draw.numbers.value, False))
            found.mismatches.append(Mismatch("", f"the rewritten model fails: {second}", draw.binding))
            return not second.is_late
        results = dict(zip(after, second, strict=True))
        error = found.error
        wrong = self._differences(draw, first, results, unstable)
        for _ in range(AGAIN if wrong else 0):
            unstable |= self._differing(first)
        unstable -= self.drawn.keys()
        wrong = [mismatch for mismatch in wrong if mismatch.output not in unstable]
        if wrong and (reason := self._why_undefined(draw) or self._why_of_the_plugin()):
            found.error = error
            return self._pass_over(draw, reason, str(wrong[0]))
        if wrong and self.wrong is None:
            self.wrong = self.feeds.read_bytes()
        steps = 1
        if not wrong and self.draws.states is not None and self.draws.states.goes_on and self.is_stepping:
            steps, wrong = self._steps(draw, results)
        compared = [v for n, v in zip(before, first, strict=True) if n in found.compared and n not in unstable]
        found.runs.append(Run(draw.binding, draw.numbers.value, any(map(has_elements, compared)), steps))
        self.watch.count()
        found.mismatches += wrong
        reasons = dict.fromkeys(sorted(unstable, key=before.index), "two runs of the original differ")
        found.skipped |= reasons
        return True

    def _pass_over(self, draw: Draw, reason: str, what: str) -> Failure:
        """Record, once, that a run is not counted."""
        if where := shown_binding(draw.binding):
            reason = f"at {where} {reason}"
        if draw.numbers is Numbers.GIVEN or not self.passed_over:
            self.found.note(f"not counted: {reason}; {what}")
        self.passed_over += 1
        return Failure(reason)

    def _why_undefined(self, draw: Draw) -> str:
        """Why a run with these sizes proves nothing, since runtimes check less than the specification; else empty."""
        if draw.numbers is not Numbers.GIVEN and not self.draws.sizes.meets_all(dict(draw.binding)):
            return "the model requires other sizes"
        if not self.is_lenient:
            return ""
        inputs = [draw.feeds.get(name) for name in self.draws.inference.inputs]
        is_empty = any(isinstance(value, np.ndarray) and value.size == 0 for value in inputs)
        if is_empty or self.draws.sizes.budget.meets_empty(dict(draw.binding)):
            return f"a tensor is empty, which {self.original.runtime} does not check"
        refusal = self.original.check(self.feeds)
        return "" if refusal is None or refusal.is_late else f"the layers reject these sizes: {refusal}"

    def _why_of_the_plugin(self) -> str:
        """Why outputs of an IR differ although its layers are computed alike; empty where they are not.

        Any other first differing layer is recorded, and the search is not repeated.
        """
        if self.halving is None or self.found.first:
            return ""
        paths = self.original.model, self.rewritten.model
        first, reason = self.halving.first_difference(), ""
        if first is not None and self.halving.is_past_int32(first[0]):
            reason = f"{first[0]} overflows int32, in which OpenVINO computes"
        elif first is not None and self.halving.is_decided_by_rounding(first[0]):
            reason = f"{first[0]} decides by numbers that differ by rounding"
        for child, path in zip((self.original, self.rewritten), paths, strict=True):
            assert path is not None, "both models were loaded"
            child.load(path)
        if first is not None and not reason:
            self.found.first = described(*first)
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
            if name in self.drawn:
                found.skipped[name] = f"{DRAWN}: {self.drawn[name]}" if self.drawn[name] else DRAWN
                apart = same_type(value, results[name])
            elif name in unstable:
                continue
            else:
                found.compared[name] = None
                apart = difference(value, results[name], tolerance)
                if name in self.unsaid and apart is not None and _are_empty(value, results[name]):
                    apart = same_type(value, results[name])
                if tolerance is not None:
                    found.noise = max(found.noise, tolerance.noise)
                    found.error = max(found.error, largest_error(value, results[name]))
            if apart is not None:
                texts = apart.original, apart.rewritten
                wrong.append(Mismatch(name, apart.reason, draw.binding, apart.index, *texts))
        return wrong

    def _differing(self, first: list[Any]) -> set[str]:
        """The outputs for which another run of the original on the same inputs differs."""
        again = self._again()
        if isinstance(again, Failure):  # a model that fails intermittently is not compared
            return set(self.names[0])
        pairs = zip(self.names[0], first, again, strict=True)
        return {name for name, one, other in pairs if difference(one, other) is not None}

    def _steps(self, draw: Draw, results: Mapping[str, Any]) -> tuple[int, list[Mismatch]]:
        """The number of further steps of both models, each on its own state, and their differences.

        A mask may need the length of all steps together: where the sizes of the first step fail, each size in turn is
        tried with the growth of the state.
        """
        states = self.draws.states
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
        """As `_steps`, where one size grows, or none; and why there were no more steps."""
        states = self.draws.states
        assert states is not None, "only models with state make steps"
        begun = self._original(draw)
        if isinstance(begun, Failure):
            return 1, [], str(begun)
        for step in range(1, STEPS):
            try:
                later = self.draws.later(draw, step, growing, results)
            except NotDrawable as error:
                return step, [], str(error)
            self._write(later.feeds)
            first = self._again(goes_on=True)
            if isinstance(first, Failure):
                return step, [], str(first)
            self._write({**later.feeds, **states.next(results)})
            second = self.rewritten.run(self.feeds)
            binding = (*later.binding, ("step", step + 1))
            if isinstance(second, Failure):
                return step + 1, [Mismatch("", f"the rewritten model fails: {second}", binding)], ""
            results = dict(zip(self.names[1], second, strict=True))
            wrong = self._differences(replace(later, binding=binding), first, results, set())
            if wrong:
                return step + 1, wrong, ""
        return STEPS, [], ""


def _are_empty(*values: Any) -> bool:
    return all(isinstance(value, np.ndarray) and value.size == 0 for value in values)
