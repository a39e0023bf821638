"""Judge and time optimised models in onnxruntime; one process each, since a model may crash it.

    python benchmarks/outcomes.py judge FIXTURE ORIGINAL RESULT ...      a line of JSON for each result
    python benchmarks/outcomes.py time FIXTURE ROUNDS ORIGINAL RESULT ...   one line of JSON for all

FIXTURE is the name of one of fixtures/, which says what its inputs take, or "-" for a model whose inputs are floats.
"""

from __future__ import annotations

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
from onnxruntime.capi import onnxruntime_pybind11_state as state

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from fixtures.feeds import Feeds, bindings, make_feeds  # noqa: E402 - the folder of the fixtures is no package of ours

SPECIAL = (-0.0, float("nan"), float("inf"), float("-inf"))
FAILURES = tuple(v for v in vars(state).values() if isinstance(v, type) and issubclass(v, Exception))
LEAST_RUNS = 3
RUNS = 20
FLOAT_BINDINGS = ((2, 5), (1, 1), (3, 7), (0, 4), (2, 0))


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
        if any(array.dtype.kind == "f" for array in feed.values()):
            yield {name: _with_specials(array, rng) for name, array in feed.items()}


def _drawn(fixture: str, path: str) -> Iterator[Feeds]:
    if fixture != "-":
        for number, sizes in enumerate(bindings(fixture)):
            yield make_feeds(fixture, sizes, seed=number)
        return
    rng = np.random.default_rng(0)
    for batch, seq in FLOAT_BINDINGS:
        yield {
            i.name: rng.standard_normal(
                [d.dim_value or {"batch": batch, "seq": seq}[d.dim_param] for d in i.type.tensor_type.shape.dim]
            ).astype(np.float32)
            for i in onnx.load(path).graph.input
        }


def _with_specials(array: Any, rng: np.random.Generator) -> Any:
    if array.dtype.kind != "f" or not array.size:
        return array
    array = array.copy()
    places = rng.integers(0, array.size, max(1, array.size // 50))
    array.flat[places] = rng.choice(SPECIAL, len(places))
    return array


class Runs:
    """The bits of a model's outputs at each feed, None where it fails; `found` is empty when it does not load."""

    def __init__(self, path: str, inputs: Sequence[Feeds], *, packs: bool = True) -> None:
        self.path, self.inputs, self.packs = path, inputs, packs

    @cached_property
    def found(self) -> list[list[Any] | None]:
        return self._run()

    @cached_property
    def stable(self) -> list[int]:
        """The outputs that another run gives again."""
        pairs = [(a, b) for a, b in zip(self.found, self._run(), strict=True) if a is not None and b is not None]
        return [at for at in range(len(pairs[0][0]) if pairs else 0) if all(a[at] == b[at] for a, b in pairs)]

    def _run(self) -> list[list[Any] | None]:
        try:
            loaded = session(self.path, optimized=False, packs=self.packs)
        except FAILURES:
            return []
        found: list[list[Any] | None] = []
        for feed in self.inputs:
            try:
                found.append([_bits(value) for value in loaded.run(None, feed)])
            except FAILURES:
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
    return array.dtype.str, array.shape, array.tolist() if array.dtype.hasobject else array.tobytes()


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
