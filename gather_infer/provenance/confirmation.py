"""Runs that refute independence: other rows, the order of the rows or their number changes a row of an output.

Noise is no evidence: a runtime sums in another order for another number of rows. Where other rows do not change the
sizes inside the model, the kernels compute an unchanged row in the same way, and one run is enough. Other differences
have to show for two draws of the inputs, as noise may tip a rounding or a maximum, and to be larger than those that
inputs make which differ by noise. Random numbers are no evidence.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from onnx import ModelProto

from gather_infer.inference import Inference
from gather_infer.model.tensors import fed_inputs
from gather_infer.node_ids import MAIN
from gather_infer.provenance.axes import axis_provenance_of
from gather_infer.provenance.result import AxisFactor, Independence, IndependenceVerdict
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME
from gather_infer.symbolic import Dim, Expr, free_symbols
from gather_infer.tensor import Shape, SymbolicTensor
from gather_infer.validate import verdicts
from gather_infer.verification.element_sampling import (
    ElementDrawer,
    FloatPattern,
    NotDrawable,
    limits_of,
    why_not_drawable,
)
from gather_infer.verification.files import on_disk
from gather_infer.verification.nondeterminism import nondeterministic_outputs
from gather_infer.verification.output_comparison import difference
from gather_infer.verification.size_sampling import SizePattern, size_sampler_of
from gather_infer.verification.tolerance import Tolerance

Feeds = dict[str, Any]

TOLERANCE: Final = Tolerance(rtol=1e-2, noise=1e-3)
"""Much more than the noise of kernels that sum in another order."""
SIZES: Final = (3, 5)
"""Rows of the runs of a dynamic batch, in turn."""
_NUDGE: Final = 2.0**-21
"""The relative change of inputs that is as large as the noise of a sum."""
_ATTEMPTS: Final = 6
_ATTEMPTS_TO_REPEAT: Final = 12
"""Attempts until a difference that noise may explain shows again."""
_SECONDS: Final = 60.0


def confirmed(
    inference: Inference, axes: Mapping[str, int], result: Independence, edited: ModelProto | None = None
) -> Independence:
    """The result with the verdict `refuted` for each open output whose rows depend on each other in a run.

    edited   the model that runs, if it is not in the file of the inferred one
    """
    proto = inference.model.proto if edited is None else edited
    constants = {tensor.name for tensor in inference.model.proto.graph.initializer}
    needed = [value.name for value in fed_inputs(inference.model.proto) if value.name not in constants]
    reason = next((why for name in needed if (why := why_not_drawable(inference[name]))), "")
    places, why = _comparable(inference, axes, result)
    if reason or not places:
        return replace(result, unconfirmed=reason or why)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "log").mkdir()
        with (
            on_disk(inference.model, proto, folder / "model") as path,
            RuntimeProcess(ONNXRUNTIME, folder / "log", _SECONDS) as process,
        ):
            failure = process.load(path)
            if failure is not None:
                text = "onnxruntime is not installed" if failure.is_not_installed else f"it does not load: {failure}"
                return replace(result, unconfirmed=text)
            return _Runs(inference, axes, result, places, needed, process, folder / "feeds").refuted()


def _comparable(inference: Inference, axes: Mapping[str, int], result: Independence) -> tuple[dict[str, int], str]:
    """The axes of the rows of the open outputs, -1 for none, and why other outputs cannot be compared."""
    random = nondeterministic_outputs(inference)
    places: dict[str, int] = {}
    why = ""
    for output in result.outputs:
        if output.verdict is not IndependenceVerdict.OPEN:
            continue
        place = _place(inference, axes, result.rows, output.name)
        if output.name in random:
            why = f"output {output.name} depends on random numbers, of {random[output.name]}"
        elif place is None:
            why = f"no axis of output {output.name} has the size of the rows"
        else:
            places[output.name] = place
    return places, why


def _place(inference: Inference, axes: Mapping[str, int], rows: Dim, name: str) -> int | None:
    """The axis of the rows of an output, -1 if it has none; None if that is not known."""
    fact = inference.scopes[MAIN].get(name)
    shape = fact.shape if isinstance(fact, SymbolicTensor) else None
    if shape is None or any(inference.is_generated(dim) for dim in shape):
        return None
    if not isinstance(rows, Expr):
        return _place_of_number(inference, axes, rows, shape, name)
    if shape.count(rows) == 1 and sum(not rows.symbols.isdisjoint(free_symbols(dim)) for dim in shape) == 1:
        return shape.index(rows)
    return -1 if all(rows.symbols.isdisjoint(free_symbols(dim)) for dim in shape) else None


def _place_of_number(inference: Inference, axes: Mapping[str, int], rows: int, shape: Shape, name: str) -> int | None:
    """Axis 0 if it has a fixed number of rows, and no other axis can have them."""
    if shape[:1] != (rows,):
        return None
    if not any(isinstance(dim, int) and dim % rows == 0 for dim in shape[1:]):
        return 0
    (*_, factor) = axis_provenance_of(inference)[name][0].factors
    return 0 if factor == AxisFactor(rows, factor.input, axes.get(factor.input, -1)) else None


class _Change(NamedTuple):
    """Inputs with a row of other inputs.

    before, after   the numbers of that row
    is_in_place     whether the row has the same number, of as many rows
    text            what is changed, for a message
    """

    feeds: Feeds
    before: int
    after: int
    is_in_place: bool
    text: str


class _Runs:
    def __init__(
        self,
        inference: Inference,
        axes: Mapping[str, int],
        result: Independence,
        places: Mapping[str, int],
        needed: Sequence[str],
        process: RuntimeProcess,
        path: Path,
    ) -> None:
        self.inference, self.axes, self.result, self.places = inference, axes, result, places
        self.needed, self.process, self.path = needed, process, path
        found = list(verdicts(inference))
        self.sizes, self.limits = size_sampler_of(inference, found), limits_of(found)
        self.has_fixed_sizes = not any(cause.data_dependent for cause in inference.causes.values())

    def refuted(self) -> Independence:
        refutations: dict[str, str] = {}
        once: set[str] = set()  # outputs that noise perhaps changed, for one draw
        ran = False
        for attempt in range(_ATTEMPTS_TO_REPEAT):
            if attempt >= _ATTEMPTS and once <= refutations.keys():
                break
            feeds, others = self._drawn(attempt, 0), self._drawn(attempt, 1)
            if feeds is None or others is None:
                continue
            outputs = self._outputs(feeds)
            if outputs is None:
                continue
            ran = True
            noisy: dict[str, str] = {}
            for name, is_exact, run in self._differences(feeds, others, outputs):
                if is_exact or name in once:
                    refutations.setdefault(name, run)
                noisy.setdefault(name, run)
            once |= noisy.keys()
            if refutations.keys() >= self.places.keys():
                break
        found = tuple(
            replace(output, verdict=IndependenceVerdict.REFUTED, run=refutations[output.name])
            if output.name in refutations
            else output
            for output in self.result.outputs
        )
        return replace(self.result, outputs=found, unconfirmed="" if ran else "no inputs were found on which it runs")

    def _changes(self, feeds: Feeds, others: Feeds, size: int) -> Iterator[_Change]:
        """A row beside other rows, beside copies of itself, at another number, and alone."""

        def of_rows(rows: Sequence[tuple[Feeds, int]]) -> Feeds:
            found = dict(feeds)
            for name, axis in self.axes.items():
                found[name] = np.concatenate([np.take(source[name], [row], axis) for source, row in rows], axis)
            return found

        last = size - 1
        after = [(feeds, 0), *((others, row) for row in range(1, size))]
        yield _Change(of_rows(after), 0, 0, True, "other rows after row 0 change it")
        before = [*((others, row) for row in range(last)), (feeds, last)]
        yield _Change(of_rows(before), last, last, True, f"other rows before row {last} change it")
        yield _Change(of_rows([(feeds, last)] * size), last, last, True, f"copies of row {last} before it change it")
        if any(output.mixes for output in self.result.outputs):
            rolled = [(feeds, (row - 1) % size) for row in range(size)]
            yield _Change(of_rows(rolled), 0, 1, False, "row 0 is another one as row 1")
            if isinstance(self.result.rows, Expr):
                yield _Change(of_rows([(feeds, 1)]), 1, 0, False, "row 1 is another one alone")

    def _differences(self, feeds: Feeds, others: Feeds, outputs: list[Any]) -> Iterator[tuple[str, bool, str]]:
        """The outputs in which a row changes, each with whether noise is excluded, and the run."""
        size = next(feeds[name].shape[axis] for name, axis in self.axes.items())
        start = f"at {self.result.rows}={size} " if isinstance(self.result.rows, Expr) else ""
        unstable: set[str] | None = None
        for change in self._changes(feeds, others, size):
            found = self._outputs(change.feeds)
            if found is None:
                continue
            for output, was, now in zip(self.result.outputs, outputs, found, strict=True):
                place = self.places.get(output.name)
                if place is None or not (output.mixes or change.is_in_place):
                    continue
                differing = _difference(was, now, place, change)
                if not differing:
                    continue
                if unstable is None:
                    unstable = self._unstable_outputs(feeds, outputs)
                if output.name not in unstable:
                    is_exact = change.is_in_place and self.has_fixed_sizes
                    if not is_exact and output.name in self._sensitive_outputs(feeds, outputs):
                        continue
                    yield output.name, is_exact, f"{start}{change.text}: {differing}"

    def _unstable_outputs(self, feeds: Feeds, outputs: list[Any]) -> set[str]:
        """The outputs that another run on the same inputs changes."""
        again = self._outputs(feeds)
        names = [output.name for output in self.result.outputs]
        if again is None:
            return set(names)
        pairs = zip(names, outputs, again, strict=True)
        return {name for name, was, now in pairs if difference(was, now) is not None}

    def _sensitive_outputs(self, feeds: Feeds, outputs: list[Any]) -> set[str]:
        """The outputs that much smaller changes of the inputs change as much, as noise inside the model does."""
        nudged = {
            name: each * each.dtype.type(1 + _NUDGE) if each.dtype.kind == "f" else each for name, each in feeds.items()
        }
        found = self._outputs(nudged)
        names = [output.name for output in self.result.outputs]
        if found is None:
            return set()
        pairs = zip(names, outputs, found, strict=True)
        return {name for name, was, now in pairs if difference(was, now, TOLERANCE) is not None}

    def _drawn(self, attempt: int, turn: int) -> Feeds | None:
        """Random feeds: of the same sizes for each turn, with masks of random elements."""
        numbers = np.random.default_rng((attempt, 7))
        pattern = (SizePattern.PRIMES, SizePattern.EQUAL, SizePattern.MIXED)[attempt % 3]
        binding = self.sizes.draw(pattern, numbers, turn=attempt, trusting=attempt < _ATTEMPTS // 2)
        if binding is None:
            return None
        if isinstance(self.result.rows, Expr):
            binding = {**binding, self.result.rows.name: SIZES[attempt % len(SIZES)]}
            if not self.sizes.meets_constraints(binding):
                return None
        numbers = np.random.default_rng((attempt, turn))
        drawer = ElementDrawer(self.limits, binding, FloatPattern.FINITE, attempt, 2 * attempt + turn, numbers)
        try:
            return drawer.feeds_with_masks(self.inference, self.needed)
        except NotDrawable:
            return None

    def _outputs(self, feeds: Feeds) -> list[Any] | None:
        self.path.write_bytes(pickle.dumps(feeds))
        found = self.process.run(self.path)
        return None if isinstance(found, Failure) else found


def _difference(was: Any, now: Any, place: int, change: _Change) -> str:
    """The first difference of a row of an output, at the axis `place`, or of all of it; "" if there is none."""
    if place >= 0:
        was, now = np.take(was, [change.before], place), np.take(now, [change.after], place)
    found = difference(was, now, TOLERANCE)
    if found is None:
        return ""
    if found.index is None:
        return found.reason
    index = [change.before if axis == place else each for axis, each in enumerate(found.index)]
    return f"element {index} was {found.original}, is {found.rewritten}"
