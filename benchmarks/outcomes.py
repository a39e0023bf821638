"""Judge and time optimised models in onnxruntime; one process each, since a model may crash it.

    python benchmarks/outcomes.py judge FIXTURE ORIGINAL RESULT ...      a line of JSON for each result
    python benchmarks/outcomes.py time FIXTURE ROUNDS ORIGINAL RESULT ...   one line of JSON for all

FIXTURE is the name of one of fixtures/, which says what its inputs take, or "-" for any other model, whose feeds are
drawn (benchmarks/drawn_feeds.py): those of 16 runs of the original, at sizes of 0 and 1 too where its dims are
symbolic, with -0.0, NaN and infinities; fewer where the runs take longer than `SECONDS`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from drawn_feeds import PATTERNS, draws
from onnxruntime.capi import onnxruntime_pybind11_state as state

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import gather_infer  # noqa: E402 - the folder of the fixtures is no package of ours
from fixtures.feeds import Feeds, bindings, make_feeds  # noqa: E402
from gather_infer.verification.element_sampling import FloatPattern  # noqa: E402
from gather_infer.verification.size_sampling import SizePattern  # noqa: E402

SPECIAL = (-0.0, float("nan"), float("inf"), float("-inf"))
FAILURES: tuple[type[Exception], ...] = tuple(
    v for v in vars(state).values() if isinstance(v, type) and issubclass(v, Exception)
)
REFUSALS: tuple[type[Exception], ...] = (*FAILURES, RuntimeError, ValueError, TypeError)
"""The exceptions of onnxruntime for feeds; the last three are those of the binding."""

LEAST_RUNS = 3
RUNS = 20
DRAWN_RUNS = 16
SECONDS = 4.0
"""Limit of the time in which the feeds of a model are drawn and run; `LEAST_RUNS` are, whatever they take."""

SEEDS = (0, 1)
"""Of onnxruntime, for operators that draw random numbers without a seed of their own."""

SIZES = (*PATTERNS[:4], (SizePattern.ZEROS, 1), *PATTERNS[4:], (SizePattern.ZEROS, 1), (SizePattern.PRIMES, 1))
FLOATS = (
    FloatPattern.FINITE, FloatPattern.TIES, FloatPattern.FINITE, FloatPattern.SPECIAL, FloatPattern.FINITE,
    FloatPattern.TINY, FloatPattern.FINITE,
)  # fmt: skip
"""In turns: as many as no pattern of sizes meets the same one of floats each time."""


def session(path: str, *, optimized: bool, packs: bool = True) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "0" if packs else "1")
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def feeds(fixture: str, path: str) -> Iterator[Feeds]:
    """Feeds at every binding of a fixture, and at the first three again with -0.0, NaN and infinities in floats."""
    drawn = list(_drawn(fixture, path))
    yield from drawn
    rng = np.random.default_rng(0)
    for feed in drawn[:3]:
        if any(_is_float(value) for value in feed.values()):
            yield {name: _with_specials(value, rng) for name, value in feed.items()}


def _drawn(fixture: str, path: str) -> Iterator[Feeds]:
    if fixture != "-":
        for number, sizes in enumerate(bindings(fixture)):
            yield make_feeds(fixture, sizes, seed=number)
        return
    try:
        loaded = session(path, optimized=False)
        inference = gather_infer.infer(path)
    except (*REFUSALS, gather_infer.GatherInferError):
        return
    got, started = 0, time.monotonic()
    for draw in draws(inference, patterns=SIZES, floats=FLOATS):
        if got == DRAWN_RUNS or (got >= LEAST_RUNS and time.monotonic() - started > SECONDS):
            break
        if draw.feeds is None:
            continue
        try:
            loaded.run(None, draw.feeds)
        except REFUSALS:
            continue
        got += 1
        yield draw.feeds


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0


def _with_specials(array: Any, rng: np.random.Generator) -> Any:
    if not _is_float(array):
        return array
    array = array.copy()
    places = rng.integers(0, array.size, max(1, array.size // 50))
    array.flat[places] = rng.choice(SPECIAL, len(places))
    return array


onnxruntime.set_seed(SEEDS[0])


class Runs:
    """The bits of a model's outputs at each feed, None where it fails; `found` is empty when it does not load."""

    def __init__(self, path: str, inputs: Sequence[Feeds], *, packs: bool = True) -> None:
        self.path, self.inputs, self.packs = path, inputs, packs

    @cached_property
    def found(self) -> list[list[Any] | None]:
        return self._run()

    @cached_property
    def stable(self) -> list[int]:
        """The outputs that another run gives again, where operators that draw random numbers have another seed.

        Without a seed of its own such an operator is seeded by its number among the nodes: other nodes, other numbers.
        """
        onnxruntime.set_seed(SEEDS[1])
        again = self._run()
        onnxruntime.set_seed(SEEDS[0])
        pairs = [(a, b) for a, b in zip(self.found, again, strict=True) if a is not None and b is not None]
        return [at for at in range(len(pairs[0][0]) if pairs else 0) if all(a[at] == b[at] for a, b in pairs)]

    def _run(self) -> list[list[Any] | None]:
        try:
            loaded = session(self.path, optimized=False, packs=self.packs)
        except REFUSALS:
            return []
        found: list[list[Any] | None] = []
        for feed in self.inputs:
            try:
                found.append([_bits(value) for value in loaded.run(None, feed)])
            except REFUSALS:
                found.append(None)
        return found

    def compare(self, other: Runs) -> str:
        """The outcome of comparing a model with the one it should equal."""
        if sum(outputs is not None for outputs in self.found) < LEAST_RUNS or not self.stable:
            return "not judged"
        if not other.found:
            return "does not load"
        verdict = "identical"
        for was, now in zip(self.found, other.found, strict=True):
            if was is not None and now is None:
                verdict = "fails"
            elif was and now and (len(now) != len(was) or any(now[at] != was[at] for at in self.stable)):
                return "differs"
        return verdict


def _bits(value: Any) -> Any:
    """A key that is equal for values that are bit-identical."""
    if isinstance(value, list):
        return [_bits(each) for each in value]
    array = np.asarray(value)
    content = array.tolist() if array.dtype.hasobject else hashlib.sha256(np.ascontiguousarray(array)).digest()
    return array.dtype.str, array.shape, content


def judge(fixture: str, original: str, results: Sequence[str]) -> Iterator[dict[str, Any]]:
    """For each result its size and "identical", or in which way it is not.

    Judged at the feeds at which the original runs, by the outputs on which two runs of the original agree. "packing"
    is identical as well: a MatMul of a constant that onnxruntime has packed sums in another order than one of a
    computed value, and with packing off there is no difference.
    """
    inputs = list(feeds(fixture, original))
    wanted, unpacked = Runs(original, inputs), Runs(original, inputs, packs=False)
    for path in (original, *results):
        verdict = wanted.compare(Runs(path, inputs))
        if verdict == "differs" and unpacked.compare(Runs(path, inputs, packs=False)) == "identical":
            verdict = "packing"
        yield {"verdict": verdict, "runs": sum(outputs is not None for outputs in wanted.found), **size(path)}


def size(path: str) -> dict[str, int]:
    """Nodes over all graphs and functions, and how many of them are Gathers and Constants."""
    model = onnx.load(path, load_external_data=False)
    operators: Counter[str] = Counter()
    pending: list[Any] = [model.graph, *model.functions]
    while pending:
        for node in pending.pop().node:
            operators[node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"] += 1
            for attribute in node.attribute:
                pending += [attribute.g] if attribute.type == attribute.GRAPH else attribute.graphs
    return {"nodes": operators.total(), "gathers": operators["Gather"], "constants": operators["Constant"]}


def timed(fixture: str, rounds: int, paths: Sequence[str]) -> dict[str, list[float]]:
    """Processor milliseconds of a session's start and of a run, the least of the rounds, for each path in turns."""
    inputs = next(feeds(fixture, paths[0]))
    starts: list[list[float]] = [[] for _ in paths]
    runs: list[list[float]] = [[] for _ in paths]
    for number in range(rounds + 1):
        for at, path in enumerate(paths):
            begin = time.process_time()
            loaded = session(path, optimized=True)
            started = time.process_time()
            loaded.run(None, inputs)  # the first run allocates
            again = time.process_time()
            for _ in range(RUNS):
                loaded.run(None, inputs)
            if number > 0:
                starts[at].append(started - begin)
                runs[at].append((time.process_time() - again) / RUNS)
    return {
        "start": [1e3 * min(times) for times in starts],
        "run": [1e3 * min(times) for times in runs],
    }


def main() -> None:
    task, fixture, *words = sys.argv[1:]
    if task == "judge":
        for line in judge(fixture, words[0], words[1:]):
            print(json.dumps(line), flush=True)
    else:
        print(json.dumps(timed(fixture, int(words[0]), words[1:])))


if __name__ == "__main__":
    main()
