"""Two models on the same random inputs: what `--verify N` does."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.model import ModelFile
from gather_infer.model.given import GivenModel, to_model_file
from gather_infer.runtimes.process import Child, Failure
from gather_infer.runtimes.worker import ONNXRUNTIME, OPENVINO, REFERENCE
from gather_infer.validate import verdicts
from gather_infer.verification.compare import difference, interface_differences, largest_error
from gather_infer.verification.data import (
    NO_MARKS,
    Drawer,
    NotDrawable,
    Numbers,
    limits_of,
    marks_of,
    why_not_drawable,
)
from gather_infer.verification.defined import defined_limits
from gather_infer.verification.drawn import DRAWN, drawn_outputs
from gather_infer.verification.files import on_disk
from gather_infer.verification.halving import Halving
from gather_infer.verification.result import Binding, Mismatch, Run, Verification
from gather_infer.verification.sizes import Pattern, sizes_of
from gather_infer.verification.states import (
    added_inputs,
    assigned,
    first_sizes,
    first_state,
    rows_of_states,
    states_of,
)

DEFAULT_TIMEOUT: Final = 60.0
"""Seconds for loading a model, and for each run of it."""

MAX_LATE: Final = 2
"""Runs of the original that may pass the time limit."""

AGAIN: Final = 4
"""Further runs of the original before a difference is believed: a random output may be equal twice by chance."""

_PLAN = (
    (Pattern.PRIMES, Numbers.FINITE),
    (Pattern.PRIMES, Numbers.SPECIAL),
    (Pattern.ZEROS, Numbers.FINITE),
    (Pattern.ONES, Numbers.FINITE),
    (Pattern.LARGE, Numbers.ZEROS),
    (Pattern.EQUAL, Numbers.SPECIAL),
    (Pattern.ONES, Numbers.ZEROS),
    (Pattern.ZEROS, Numbers.SPECIAL),
)
"""Of the runs in turn. A NaN hides what is wrong behind it, so finite numbers come first."""

_SCALES = (16, 32, 64, 128, 256, 512, 1024, 2048)

_FURTHER = (
    (Pattern.PRIMES, 1),
    (Pattern.EQUAL, 1),
    (Pattern.MIXED, 1),
    *((Pattern.GROWN, scale) for scale in _SCALES for _ in range(3)),
)
"""Sizes of further draws for a run, when the original fails on those of the plan."""

PLANNED: Final = 4
"""Draws as planned, before that; after the first one of them a size changes in a binding that ran."""

MAX_ATTEMPTS: Final = PLANNED + len(_FURTHER)
"""Draws for one run."""


def verify(
    original: GivenModel,
    rewritten: GivenModel,
    runs: int,
    *,
    inference: Inference,
    seed: int = 0,
    tolerance: float | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> Verification:
    """Run both models on `runs` random inputs and compare their outputs.

    original    the model before, best as the ModelFile that it was read as
    rewritten   the model after. A ModelProto may have elided weights and external data as the original has
    inference   of the original, with what is known of its dims: sizes are drawn within that
    seed        the same seed draws the same inputs, >= 0
    tolerance   how far floats may be apart, relative to max(1, |original|); None compares every bit
    timeout     seconds for loading a model, and for each run of it

    Each model runs in a process of its own, in onnxruntime with its optimiser off; in onnx's reference evaluator where
    onnxruntime is not installed or does not load the original. An IR runs in OpenVINO, and where outputs differ the
    first layer is looked for that does. What goes wrong there is part of the result. Nothing is written but temporary
    files: in the directory of the original when its weights are in files beside it.

    Raises UsageError for numbers out of range, and of an IR where OpenVINO or onnxruntime is not installed,
    ModelReadError when a model or its weights cannot be read, ModelWriteError when there is no place for temporary
    files.
    """
    if runs < 1:
        raise UsageError(f"the number of runs must be >= 1, is {runs}")
    if seed < 0:
        raise UsageError(f"the seed must be >= 0, is {seed}")
    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise UsageError(f"the tolerance must be >= 0 and finite, is {tolerance}")
    if not timeout > 0:
        raise UsageError(f"the time limit must be > 0 s, is {timeout}")
    before = to_model_file(original)
    after = rewritten if isinstance(rewritten, ModelProto) else to_model_file(rewritten)
    proto = after if isinstance(after, ModelProto) else after.proto
    found = _Findings(runs, tolerance)
    is_onnx = not before.foreign
    faults = interface_differences(before.proto, proto, may_add=not is_onnx)
    found.mismatches += [Mismatch("", text) for text in faults]
    converted = None if is_onnx else ModelFile.from_proto(proto, before.base_dir)
    draws = _Draws(inference, before.proto, seed, converted)
    if draws.fault:
        return found.result(draws.fault)
    with tempfile.TemporaryDirectory(prefix="gather-infer-", ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        paths = [
            stack.enter_context(on_disk(before, before.proto, folder / "original")),
            stack.enter_context(
                on_disk(after if isinstance(after, ModelFile) else before, proto, folder / "rewritten")
            ),
        ]
        runtimes = (ONNXRUNTIME, REFERENCE) if is_onnx else (OPENVINO,)
        loaded = _load(paths[0], folder / "original", runtimes, stack, found, timeout)
        if loaded is None:
            return found.result()
        runtime = loaded.runtime if is_onnx else ONNXRUNTIME
        other = stack.enter_context(Child(runtime, folder / "rewritten", timeout))
        if (failure := other.load(paths[1])) is not None:
            if failure.is_absent and not is_onnx:
                raise UsageError("a conversion is run by onnxruntime, which is not installed: pip install onnxruntime")
            found.mismatches.append(Mismatch("", f"the rewritten model is not loaded: {failure}"))
            return found.result()
        names = [o.name for o in before.proto.graph.output], [o.name for o in proto.graph.output]
        if not is_onnx:  # OpenVINO gives what is assigned too
            names[0].extend(assigned(before.proto, proto))
        drawn = frozenset() if is_onnx else drawn_outputs(proto)
        comparing = _Comparing(draws, loaded, other, names, folder / "feeds.pickle", found, drawn)
        comparing.run()
        if not is_onnx and comparing.wrong is not None:
            comparing.feeds.write_bytes(comparing.wrong)
            halving = Halving(before, proto, loaded, other, comparing.feeds, folder, tolerance or 0.0)
            found.first = halving.first_difference()
    return found.result()


@dataclass(slots=True)
class _Findings:
    """A Verification in the making."""

    wanted: int
    tolerance: float | None
    runs: list[Run] = field(default_factory=list)
    redrawn: int = 0
    why_redrawn: str = ""
    compared: dict[str, None] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    fault: str = ""
    runtime: str = ""
    version: str = ""
    error: float = 0.0
    first: str = ""

    def result(self, fault: str = "") -> Verification:
        fault = fault or self.fault
        may_compare = any(reason != DRAWN for reason in self.skipped.values()) or not self.skipped
        if not fault and self.runs and not self.compared and not self.mismatches and may_compare:
            fault = "no output can be compared: " + (next(iter(self.skipped.values()), "the model has none"))
        return Verification(
            self.wanted,
            tuple(self.runs),
            self.redrawn,
            self.why_redrawn,
            tuple(self.compared),
            tuple(self.skipped.items()),
            tuple(self.mismatches),
            fault,
            self.runtime,
            self.version,
            self.tolerance,
            None if self.tolerance is None else self.error,
            self.first,
        )


@dataclass(frozen=True, slots=True)
class _Draw:
    binding: Binding
    numbers: Numbers
    feeds: dict[str, Any]
    sizes: tuple[Pattern, int]


class _Draws:
    """The inputs of an inferred model, as many as are wanted.

    fault   why there are none, empty when there are
    """

    def __init__(self, inference: Inference, proto: ModelProto, seed: int, converted: ModelFile | None = None) -> None:
        self.inference = inference
        self.seed = seed
        self.worked: _Draw | None = None
        self.is_converted = converted is not None
        found = verdicts(inference)
        self.sizes = sizes_of(inference, found)
        # what a layer does to indices the operators tell that it became
        self.limits = limits_of(found if converted is None else [*found, *verdicts(infer(converted))])
        self.marks = marks_of(inference)
        constants = {t.name for t in proto.graph.initializer} | {t.values.name for t in proto.graph.sparse_initializer}
        self.defaulted = [name for name in inference.inputs if name in constants]
        self.needed = [name for name in inference.inputs if name not in constants]
        reasons = {name: why_not_drawable(inference[name]) for name in inference.inputs}
        self.defaulted = [name for name in self.defaulted if not reasons[name]]
        self.added = [] if converted is None else added_inputs(proto, converted.proto)
        self.states = [] if converted is None else list(states_of(inference, proto))
        more = [] if converted is None else [*rows_of_states(inference, self.states), *defined_limits(inference)]
        for name, limits in more:
            self.limits.setdefault(name, []).append(limits)
        self.fault = next((f"input {name}: {reasons[name]}" for name in self.needed if reasons[name]), "")

    def draw(self, run: int, attempt: int) -> _Draw:
        """Inputs for a run, when `attempt` draws for it have failed. Raises NotDrawable."""
        numbers = np.random.default_rng((self.seed, run, attempt))
        pattern, kind = _PLAN[run % len(_PLAN)]
        if self.is_converted:
            kind = Numbers.FINITE  # what other operators make of NaN and Inf is up to the runtimes
        scale = 1
        binding: dict[str, int] | None = None
        if attempt >= PLANNED:
            at = attempt - PLANNED
            pattern, scale = self.worked.sizes if at == 0 and self.worked is not None else _FURTHER[at]
            kind = Numbers.FINITE
        elif attempt > 0 and self.worked is not None:
            size = {Pattern.ZEROS: 0, Pattern.ONES: 1}.get(pattern, int(numbers.integers(2, 8)))
            pattern, scale = self.worked.sizes
            binding = self.sizes.changed(dict(self.worked.binding), run // len(_PLAN) + attempt - 1, size)
        # Whether the model runs with a size of 0 is not left to what we think that it demands.
        # OpenVINO runs with sizes that it defines nothing for.
        is_trusting = attempt > 0 or self.is_converted or pattern is not Pattern.ZEROS
        for trusting in (is_trusting, False):
            if binding is None:
                binding = self.sizes.draw(pattern, numbers, turn=run, scale=scale, trusting=trusting)
        if binding is None:
            raise NotDrawable("no sizes were found that meet what is declared")
        given = [name for name in self.defaulted if attempt < PLANNED and (run + attempt) % 2]
        tameness = 0 if attempt < 2 else attempt % 5
        marks = self.marks if run % 2 and not attempt else NO_MARKS
        held, sizes = first_sizes(self.states, binding)
        drawer = Drawer(self.limits, {**binding, **sizes}, kind, tameness, run, numbers, marks)
        feeds = drawer.feeds(self.inference, [*self.needed, *given])
        feeds |= {value.name: first_state(value, binding, held.get(value.name)) for value in self.added}
        return _Draw(tuple(binding.items()), kind, feeds, (pattern, scale))

    def note(self, draw: _Draw) -> None:
        """Remember inputs on which the original ran."""
        if self.worked is None or draw.sizes[1] < self.worked.sizes[1]:
            self.worked = draw


@dataclass(slots=True)
class _Comparing:
    """The runs themselves."""

    draws: _Draws
    original: Child
    rewritten: Child
    names: tuple[list[str], list[str]]
    feeds: Path
    found: _Findings
    drawn: frozenset[str] = frozenset()  # outputs that depend on random numbers, others than the original's
    wrong: bytes | None = None  # the feeds of the first run that differs

    def run(self) -> None:
        late = 0
        for number in range(self.found.wanted):
            for attempt in range(MAX_ATTEMPTS):
                try:
                    draw = self.draws.draw(number, attempt)
                except NotDrawable as reason:
                    self.found.why_redrawn = str(reason)
                    continue
                self.feeds.write_bytes(pickle.dumps(draw.feeds, protocol=pickle.HIGHEST_PROTOCOL))
                first = self.original.run(self.feeds)
                if not isinstance(first, Failure):
                    self.draws.note(draw)
                    break
                self.found.redrawn += 1
                self.found.why_redrawn = str(first)
                late += first.is_late
                if late >= MAX_LATE:
                    break
            else:
                if not self.found.runs:
                    break  # it never runs, as far as we know
                continue
            if isinstance(first, Failure) or not self.compare(draw, first):
                break
        if not self.found.runs and not self.found.fault:
            self.found.fault = f"the original ran on none of the inputs drawn: {self.found.why_redrawn}"

    def compare(self, draw: _Draw, first: list[Any]) -> bool:
        """Hold a run of the rewritten model against one of the original; False when there is no point in going on."""
        before, after = self.names
        found = self.found
        unstable = self.differing(first)
        found.runs.append(Run(draw.binding, draw.numbers.value))
        second = self.rewritten.run(self.feeds)
        if isinstance(second, Failure):
            found.mismatches.append(Mismatch("", f"the rewritten model fails: {second}", draw.binding))
            return not second.is_late
        results = dict(zip(after, second, strict=True))
        wrong: list[Mismatch] = []
        for name, value in zip(before, first, strict=True):
            if name in self.drawn:
                found.skipped[name] = DRAWN
            if name in unstable or name in self.drawn or name not in results:
                continue
            found.compared[name] = None
            apart = difference(value, results[name], found.tolerance)
            if found.tolerance is not None:
                found.error = max(found.error, largest_error(value, results[name]))
            if apart is not None:
                texts = apart.original, apart.rewritten
                wrong.append(Mismatch(name, apart.reason, draw.binding, apart.index, *texts))
        for _ in range(AGAIN if wrong else 0):
            unstable |= self.differing(first)
        wrong = [mismatch for mismatch in wrong if mismatch.output not in unstable]
        if wrong and self.wrong is None:
            self.wrong = self.feeds.read_bytes()
        found.mismatches += wrong
        found.skipped |= dict.fromkeys(
            sorted(unstable - self.drawn, key=before.index), "two runs of the original differ"
        )
        return True

    def differing(self, first: list[Any]) -> set[str]:
        """The outputs that another run of the original on the same inputs gives otherwise."""
        again = self.original.run(self.feeds)
        if isinstance(again, Failure):  # what fails only now and then is not compared
            return set(self.names[0])
        pairs = zip(self.names[0], first, again, strict=True)
        return {name for name, one, other in pairs if difference(one, other) is not None}


def _load(
    path: Path, folder: Path, runtimes: Sequence[str], stack: ExitStack, found: _Findings, timeout: float
) -> Child | None:
    """The original in the first runtime that loads it; None, with the fault noted, when none does."""
    for runtime in runtimes:
        child = stack.enter_context(Child(runtime, folder, timeout))
        failure = child.load(path)
        if failure is None:
            found.runtime, found.version, found.fault = runtime, child.version, ""
            return child
        if failure.is_absent and runtime == OPENVINO:
            raise UsageError("the conversion is verified by OpenVINO, which is not installed: pip install openvino")
        if not failure.is_absent and not found.fault:
            found.fault = f"{runtime} does not load the original: {failure}"
    return None
