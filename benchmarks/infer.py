"""Inference in process, side by side with onnx's own C++ inference in the same run: ratios and how the time grows.

    python benchmarks/infer.py [--runs N]

The tools take turns, so that a machine that slows down slows both; each ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import onnx
from models import transformer

import gather_infer


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(nodes: int, runs: int) -> tuple[int, float, float]:
    """Nodes of the model and the median seconds of this tool and of onnx."""
    model = transformer(nodes)
    ours: list[float] = []
    theirs: list[float] = []
    gather_infer.infer(model)
    for _ in range(runs):
        ours.append(seconds(lambda: gather_infer.infer(model)))
        theirs.append(seconds(lambda: onnx.shape_inference.infer_shapes(model, data_prop=True)))
    return len(model.graph.node), statistics.median(ours), statistics.median(theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    print(f"{'nodes':>8} {'gather-infer':>14} {'onnx (C++)':>12} {'ratio':>7} {'us/node':>8}")
    rows = [measure(size, runs if size < 10_000 else max(3, runs // 2)) for size in (2_000, 20_000)]
    for nodes, ours, theirs in rows:
        print(f"{nodes:8} {ours:13.3f}s {theirs:11.3f}s {ours / theirs:7.2f} {1e6 * ours / nodes:8.1f}")
    print(f"20 000 nodes take {rows[1][1] / rows[0][1]:.1f} times as long as 2 000")


if __name__ == "__main__":
    main()
