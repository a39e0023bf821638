"""Runs that refute independence: other rows, the order of the rows or their number changes a row of an output.

A difference of runs is a real dependence, up to the noise of floats. Where the analysis knows no node that mixes rows,
only runs of equal sizes are compared, in which a runtime computes an unchanged row in the same way.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from gather_infer.inference import Inference
from gather_infer.model.tensors import fed_inputs
from gather_infer.provenance.result import Independence, IndependenceVerdict, OutputIndependence
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME
from gather_infer.symbolic import Expr, free_symbols
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import verdicts
from gather_infer.verification.element_sampling import (
    ElementDrawer,
    FloatPattern,
    NotDrawable,
    limits_of,
    why_not_drawable,
)
from gather_infer.verification.files import on_disk
from gather_infer.verification.output_comparison import difference
from gather_infer.verification.size_sampling import SizePattern, size_sampler_of
from gather_infer.verification.tolerance import Tolerance

Feeds = dict[str, Any]

TOLERANCE: Final = Tolerance(rtol=1e-2, noise=1e-3)
"""Much more than the noise of kernels that sum in another order."""
SIZE: Final = 3
"""Rows of a run of a dynamic batch."""
_ATTEMPTS: Final = 6
_SECONDS: Final = 60.0


def confirmed(inference: Inference, axes: Mapping[str, int], result: Independence) -> Independence:
    """The result with the verdict `refuted` for each open output whose rows depend on each other in a run."""
    constants = {tensor.name for tensor in inference.model.proto.graph.initializer}
    needed = [value.name for value in fed_inputs(inference.model.proto) if value.name not in constants]
    reason = next((why for name in needed if (why := why_not_drawable(inference[name]))), "")
    if reason:
        return replace(result, unconfirmed=reason)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "log").mkdir()
        with (
            on_disk(inference.model, inference.model.proto, folder / "model") as path,
            RuntimeProcess(ONNXRUNTIME, folder / "log", _SECONDS) as process,
        ):
            failure = process.load(path)
            if failure is not None:
                text = "onnxruntime is not installed" if failure.is_not_installed else f"it does not load: {failure}"
                return replace(result, unconfirmed=text)
            return _Runs(inference, axes, result, needed, process, folder / "feeds").refuted()


class _Runs:
    def __init__(
        self,
        inference: Inference,
        axes: Mapping[str, int],
        result: Independence,
        needed: Sequence[str],
        process: RuntimeProcess,
        path: Path,
    ) -> None:
        self.inference, self.axes, self.result = inference, axes, result
        self.needed, self.process, self.path = needed, process, path
        found = list(verdicts(inference))
        self.sizes, self.limits = size_sampler_of(inference, found), limits_of(found)

    def refuted(self) -> Independence:
        refutations: dict[str, str] = {}
        ran = False
        for attempt in range(_ATTEMPTS):
            feeds, others = self._drawn(attempt, 0), self._drawn(attempt, 1)
            if feeds is None or others is None:
                continue
            outputs = self._outputs(feeds)
            if outputs is None:
                continue
            ran = True
            for name, run in self._differences(feeds, others, outputs):
                refutations.setdefault(name, run)
            open_ = [o for o in self.result.outputs if o.verdict is IndependenceVerdict.OPEN and self._can_differ(o)]
            if all(output.name in refutations for output in open_):
                break
        outputs_ = tuple(
            replace(output, verdict=IndependenceVerdict.REFUTED, run=refutations[output.name])
            if output.name in refutations and output.verdict is IndependenceVerdict.OPEN
            else output
            for output in self.result.outputs
        )
        return replace(
            self.result, outputs=outputs_, unconfirmed="" if ran else "no inputs were found on which it runs"
        )

    def _can_differ(self, output: OutputIndependence) -> bool:
        return self._place(output.name) is not None

    def _place(self, name: str) -> int | None:
        """The axis of the rows of an output, -1 if it has none; None if that is not known."""
        fact = self.inference[name]
        shape = fact.shape if isinstance(fact, SymbolicTensor) else None
        if shape is None or any(self.inference.is_generated(dim) for dim in shape):
            return None
        rows = self.result.rows
        if not isinstance(rows, Expr):
            return 0 if shape[:1] == (rows,) else None
        if shape.count(rows) == 1 and sum(not rows.symbols.isdisjoint(free_symbols(dim)) for dim in shape) == 1:
            return shape.index(rows)
        return -1 if all(rows.symbols.isdisjoint(free_symbols(dim)) for dim in shape) else None

    def _differences(self, feeds: Feeds, others: Feeds, outputs: list[Any]) -> Iterator[tuple[str, str]]:
        """The outputs in which a row changes, each with the run."""
        size = next(feeds[name].shape[axis] for name, axis in self.axes.items() if name in feeds)
        changed, rolled, alone = dict(feeds), dict(feeds), dict(feeds)
        for name, axis in self.axes.items():
            mine, its = np.take(feeds[name], [0], axis), np.take(others[name], range(1, size), axis)
            changed[name] = np.concatenate([mine, its], axis)
            rolled[name] = np.roll(feeds[name], 1, axis)
            alone[name] = np.take(feeds[name], [1], axis)
        runs = [(changed, 0, 0, "other rows beside it change row 0")]
        if any(output.mixes for output in self.result.outputs):
            runs.append((rolled, 0, 1, "its position changes row 0"))
            if isinstance(self.result.rows, Expr):
                runs.append((alone, 1, 0, "row 1 alone is another"))
        for given, before, after, text in runs:
            found = self._outputs(given)
            if found is None:
                continue
            for at, output in enumerate(self.result.outputs):
                place = self._place(output.name)
                if place is None or not (output.mixes or given is changed):
                    continue
                was, now = outputs[at], found[at]
                if place >= 0:
                    was, now = np.take(was, before, place), np.take(now, after, place)
                if difference(was, now, TOLERANCE) is not None:
                    yield (
                        output.name,
                        f"at {self.result.rows}={size} {text}" if isinstance(self.result.rows, Expr) else text,
                    )

    def _drawn(self, attempt: int, turn: int) -> Feeds | None:
        """Random feeds: of the same sizes for each turn, with masks of random elements."""
        numbers = np.random.default_rng((attempt, 7))
        pattern = (SizePattern.PRIMES, SizePattern.EQUAL, SizePattern.MIXED)[attempt % 3]
        binding = self.sizes.draw(pattern, numbers, turn=attempt, trusting=attempt < _ATTEMPTS // 2)
        if binding is None:
            return None
        if isinstance(self.result.rows, Expr):
            binding = {**binding, self.result.rows.name: SIZE}
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
