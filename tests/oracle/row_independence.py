"""Independence of rows against onnxruntime: `python -m tests.oracle.row_independence FOLDER`, with a manifest.json.

`proved` is judged by runs: each row of a run at 1, 2, 3 and 5 rows equals the row run alone, and permuting the rows of
the inputs permutes those of the outputs, within the noise of floats. `refuted` comes with a run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime

from gather_infer.inference import Inference, infer
from gather_infer.provenance.confirmation import confirmed
from gather_infer.provenance.result import Independence, IndependenceVerdict, OutputIndependence
from gather_infer.provenance.row_verdicts import default_axes, independence_of
from gather_infer.symbolic import Expr, evaluate
from gather_infer.verification.nondeterminism import nondeterministic_outputs

Array = np.ndarray[Any, Any]
Feeds = dict[str, Array]

SIZES: Final = (1, 2, 3, 5)


class Contradicted(Exception):
    """A run contradicts a verdict."""


def run_session(path: str | bytes) -> Callable[[Feeds], list[Array]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    return lambda feeds: session.run(None, {name: value for name, value in feeds.items() if name in names})


def row_of(output: OutputIndependence, value: Array, row: int, rows: int, binding: Mapping[str, int]) -> Array:
    """The part of an output that belongs to a row."""
    if output.axis is None:
        return value
    inner = evaluate(output.inner, binding)
    shape = value.shape
    split = (*shape[: output.axis], -1, rows, inner, *shape[output.axis + 1 :])
    return np.take(value.reshape(split), row, output.axis + 1)


def is_close(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    scale = float(np.max(np.abs(b[np.isfinite(b)]), initial=1e-3))
    return bool(np.allclose(a, b, rtol=1e-3, atol=2e-4 * scale, equal_nan=True))


def judge(
    result: Independence,
    axes: Mapping[str, int],
    run: Callable[[Feeds], list[Array]],
    draw: Callable[[Mapping[str, int], int], Feeds],
    binding: Mapping[str, int],
    sizes: tuple[int, ...] = SIZES,
) -> int:
    """The number of runs that confirm the proved outputs of a result. Raises Contradicted."""
    runs = 0
    for size in sizes:
        bound = {**binding, **({result.rows.name: size} if isinstance(result.rows, Expr) else {})}
        for seed in range(2):
            feeds = draw(bound, seed)
            try:
                together = run(feeds)
                alone = [
                    run({name: np.take(v, [row], axes[name]) if name in axes else v for name, v in feeds.items()})
                    for row in range(size)
                ]
                order = np.roll(np.arange(size), 1)
                permuted = run({n: np.take(v, order, axes[n]) if n in axes else v for n, v in feeds.items()})
            except Exception:  # noqa: BLE001 - each failure of the runtime has a class of its own
                continue
            runs += 1
            for at, output in enumerate(result.outputs):
                if str(output.verdict) != "proved":
                    continue
                for row in range(size):
                    mine = row_of(output, together[at], row, size, bound)
                    where = f"{output.name}, row {row} of {size}, seed {seed}"
                    if not is_close(row_of(output, alone[row][at], 0, 1, bound), mine):
                        raise Contradicted(f"alone: {where}")
                    if not is_close(
                        row_of(output, permuted[at], int(np.flatnonzero(order == row)[0]), size, bound), mine
                    ):
                        raise Contradicted(f"permuted: {where}")
    return runs


def draws_of(entry: Mapping[str, Any]) -> Callable[[Mapping[str, int], int], Feeds]:
    """A function that draws the inputs of a model of the manifest at sizes and a seed; masks are random."""

    def draw(binding: Mapping[str, int], seed: int) -> Feeds:
        numbers = np.random.default_rng(seed)
        feeds: Feeds = {}
        for name, given in entry["inputs"].items():
            shape = [dim if isinstance(dim, int) else eval(dim, {}, dict(binding)) for dim in given["dims"]]
            if given["draw"] == "integers":
                value = numbers.integers(given["low"], given["high"], shape)
                if given.get("fill") in ("mask", "padding") and value.ndim:
                    value[..., 0] = 1
                feeds[name] = value.astype(given["dtype"])
            else:
                feeds[name] = numbers.standard_normal(shape).astype(given["dtype"])
        return feeds

    return draw


def judged(path: Path, entry: Mapping[str, Any]) -> tuple[str, float, float]:
    """The outcome for a model in a word and a text, the time of the inference, and that of the analysis."""
    start = time.perf_counter()
    inference: Inference = infer(path)
    middle = time.perf_counter()
    axes = default_axes(inference)
    if not axes:
        return "no rows:", middle - start, 0.0
    static = independence_of(inference, axes)
    end = time.perf_counter()
    times = middle - start, end - middle
    if str(static.verdict) != "proved":
        result = confirmed(inference, axes, static)
        known = "a node mixes rows" if static.cause is not None and static.cause.mixes else "not understood"
        return f"{result.verdict}: {known}: {result.cause and result.cause.reason} {result.unconfirmed}", *times
    random = nondeterministic_outputs(inference)
    if random.keys() == set(inference.outputs):
        return "proved: not run, each output depends on random numbers", *times
    compared = (
        replace(output, verdict=IndependenceVerdict.OPEN) if output.name in random else output
        for output in static.outputs
    )
    static = replace(static, outputs=tuple(compared))
    binding = dict((entry["bindings"] or [{}])[0])
    try:
        run = run_session(str(path))
    except Exception:  # noqa: BLE001 - each failure of the runtime has a class of its own
        return "proved: not run, onnxruntime does not load it", *times
    try:
        runs = judge(static, axes, run, draws_of(entry), binding)
    except Contradicted as error:
        return f"contradicted: {error}", *times
    return (f"proved: confirmed by {runs} runs" if runs else "proved: not run"), *times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
    manifest = json.loads((options.folder / "manifest.json").read_text())
    totals: Counter[str] = Counter()
    seconds = [0.0, 0.0]
    for path in sorted(options.folder.glob(f"{options.only}.onnx")):
        entry = manifest.get(path.name)
        if entry is None or entry.get("error"):
            continue
        outcome, inferred, analysed = judged(path, entry)
        seconds[0] += inferred
        seconds[1] += analysed
        kind, _, rest = outcome.partition(":")
        totals[kind if kind != "proved" else "proved, not run" if "not run" in rest else kind] += 1
        if kind == "open" or kind == "refuted":
            totals[f"{kind}:{rest.split(':')[0]}"] += 1
        if kind != "proved" or "not run" in rest:
            print(f"{path.name}: {outcome}"[:260], flush=True)
    for kind, number in sorted(totals.items()):
        print(f"{number:6} {kind}")
    print(f"inference {seconds[0]:.1f} s, analysis {seconds[1]:.1f} s")
    return 1 if totals["contradicted"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
