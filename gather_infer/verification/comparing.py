"""The runs of two models, held against each other."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np

from gather_infer.progress import Progress, unseen
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
"""Runs of the original that may pass the time limit."""

AGAIN: Final = 4
"""Further runs of the original before a difference is believed: a random output may be equal twice by chance."""

DRAWING_SECONDS: Final = 30.0
"""For the draws of a run that fail, before it takes sizes at which the model ran."""

LEAST_SECONDS: Final = 10.0
SLOWER: Final = 5
"""A draw may take so many seconds, and so many times as long as the slowest one that ran; the first one as long as any
run may."""

MAX_MEMORY: Final = 4 << 30
"""Bytes that a draw may take beside what the loaded original has, where the system limits that; half of what the
machine has, where that is less."""

MAX_EMPTY: Final = 12
"""Draws for a run that are made again because no output has an element."""

STEPS: Final = 3
"""Of a model with state."""


@dataclass(slots=True)
class Comparing:
    """The runs themselves.

    names       the outputs of the original and of the rewritten model
    feeds       the file that inputs go through
    drawn       outputs that depend on random numbers, each with the node that draws them
    unsaid      outputs that rest on what a Loop gives of each step: without one, nothing says their sizes
    is_lenient  the runtime of the original computes of tensors without elements what others refuse
    tolerance   how far floats may be apart in a run with these sizes; None compares bits
    watch       the bodies that runs enter
    progress    is given a function that tells what is being done
    halving     finds the first layer of an IR that differs
    slowest     seconds of a draw that ran
    wrong       the feeds of the first run that differs
    growing     the size that grows from step to step, as far as that was found out
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
    progress: Progress = unseen
    halving: Halving | None = None
    slowest: float = 0.0
    wrong: bytes | None = None
    growing: list[str | None] = field(default_factory=list)
    is_stepping: bool = True
    passed_over: int = 0

    def run(self, given: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Compare on the inputs that are given, by what they are called, and then on as many as are wanted."""
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
            self.found.fault = f"the original ran on none of the inputs drawn, give it some: {self.found.why_redrawn}"

    def _run(self, number: int) -> bool:
        """Compare on inputs that are drawn for a run; False when there is no point in going on."""
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
                    first = Failure("no output has an element there")
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
        return bool(self.found.runs)  # else it never runs, as far as we know

    def _has_elements(self, outputs: Sequence[Any]) -> bool:
        names = self.names[0]
        return any(has_elements(v) for n, v in zip(names, outputs, strict=True) if n not in self.drawn)

    def _write(self, feeds: Mapping[str, Any]) -> None:
        self.feeds.write_bytes(pickle.dumps(dict(feeds), protocol=pickle.HIGHEST_PROTOCOL))

    def _original(self, draw: Draw) -> list[Any] | Failure:
        """What the original gives of a draw, within what one may take."""
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
        """What the original gives of the inputs that are written."""
        found = self.original.run(self.feeds, goes_on=goes_on)
        return found if isinstance(found, Failure) else self.watch.outputs(found)

    def _compare(self, draw: Draw, first: list[Any]) -> bool | Failure:
        """Hold a run of the rewritten model against one of the original; False when there is no point in going on.

        A failure is one that shows nothing: of tensors without elements the runtime of the original checks nothing.
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
        """Note, once, that a run is not counted."""
        if where := shown_binding(draw.binding):
            reason = f"at {where} {reason}"
        if draw.numbers is Numbers.GIVEN or not self.passed_over:
            self.found.note(f"not counted: {reason}; {what}")
        self.passed_over += 1
        return Failure(reason)

    def _why_undefined(self, draw: Draw) -> str:
        """Why a run with these sizes shows nothing: runtimes check less than the specification; else empty."""
        if draw.numbers is not Numbers.GIVEN and not self.draws.sizes.meets_all(dict(draw.binding)):
            return "the model demands other sizes"
        if not self.is_lenient:
            return ""
        inputs = [draw.feeds.get(name) for name in self.draws.inference.inputs]
        is_empty = any(isinstance(value, np.ndarray) and value.size == 0 for value in inputs)
        if is_empty or self.draws.sizes.budget.meets_empty(dict(draw.binding)):
            return f"a tensor has no elements, of which {self.original.runtime} checks nothing"
        refusal = self.original.check(self.feeds)
        return "" if refusal is None or refusal.is_late else f"the layers do not take these sizes: {refusal}"

    def _why_of_the_plugin(self) -> str:
        """Why outputs of an IR differ though its layers are computed alike; empty where they are not.

        The first layer that differs otherwise is noted; then there is nothing more to look for.
        """
        if self.halving is None or self.found.first:
            return ""
        paths = self.original.model, self.rewritten.model
        first, reason = self.halving.first_difference(), ""
        if first is not None and self.halving.is_past_int32(first[0]):
            reason = f"{first[0]} passes the ends of int32, in which OpenVINO computes"
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
        """The outputs that another run of the original on the same inputs gives otherwise."""
        again = self._again()
        if isinstance(again, Failure):  # what fails only now and then is not compared
            return set(self.names[0])
        pairs = zip(self.names[0], first, again, strict=True)
        return {name for name, one, other in pairs if difference(one, other) is not None}

    def _steps(self, draw: Draw, results: Mapping[str, Any]) -> tuple[int, list[Mismatch]]:
        """How many steps both models made from here on, each on its own state, and how they differ then.

        A mask may have to be as long as all steps together: where the sizes of the first step do not do, each size in
        turn is tried with what the state has grown by.
        """
        states = self.draws.states
        assert states is not None, "asked before"
        held = {size for present in states.links.values() for size in np.shape(results[present])}
        names = [name for name, size in draw.binding if size in held]
        reason = ""
        for growing in dict.fromkeys([*self.growing, None, *names]):
            steps, wrong, reason = self._steps_with(draw, results, growing)
            if steps > 1 or wrong:
                self.growing = [growing]
                return steps, wrong
        self.is_stepping = False
        self.found.note(f"only the first step was compared, the model does not go on with what was drawn: {reason}")
        return 1, []

    def _steps_with(
        self, draw: Draw, results: Mapping[str, Any], growing: str | None
    ) -> tuple[int, list[Mismatch], str]:
        """The same where one size grows, or none; and why there were no more steps."""
        states = self.draws.states
        assert states is not None, "asked before"
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
