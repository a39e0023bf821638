"""Inference in process, side by side with the other tools in the same run: ratios, and how the time grows.

    python benchmarks/infer.py [--runs N] [--nodes N ...]

Always onnx's own C++ inference; onnxruntime's symbolic_shape_infer and the package onnx-shape-inference when they are
installed. The tools take turns, so that a machine that slows down slows all of them; each figure is a median.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from importlib.util import find_spec

import onnx
from models import transformer

import gather_infer

Tool = Callable[[onnx.ModelProto], object]


def tools() -> dict[str, Tool]:
    """The tools to compare, ours first; each takes a ModelProto and infers with data propagation."""
    found: dict[str, Tool] = {
        "gather-infer": gather_infer.infer,
        "onnx (C++)": lambda model: onnx.shape_inference.infer_shapes(model, data_prop=True),
    }
    if find_spec("onnxruntime") is not None and find_spec("sympy") is not None:
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        found["onnxruntime"] = lambda model: SymbolicShapeInference.infer_shapes(model, auto_merge=True)
    if find_spec("onnx_shape_inference") is not None:
        import onnx_ir
        import onnx_shape_inference

        found["onnx-shape-inf."] = lambda model: onnx_shape_inference.infer_symbolic_shapes(onnx_ir.from_proto(model))
    return found


def measure(model: onnx.ModelProto, runs: int) -> dict[str, float]:
    """The median seconds of each tool."""
    seconds: dict[str, list[float]] = {name: [] for name in tools()}
    for number in range(runs + 1):
        for name, tool in tools().items():
            start = time.perf_counter()
            tool(model)
            if number > 0:  # the first turn warms up
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def alone(nodes: int, runs: int) -> float:
    """The median seconds of this tool with no turns between: what others allocate makes collecting garbage dearer."""
    model = transformer(nodes)
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        gather_infer.infer(model)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2_000, 20_000])
    options = parser.parse_args()
    first, last = options.nodes[0], options.nodes[-1]
    if last > first:  # before the other tools fill the process with objects
        growth = alone(last, options.runs) / alone(first, options.runs)
        print(f"gather-infer by itself: {last} nodes take {growth:.1f} times as long as {first}")
    for nodes in options.nodes:
        model = transformer(nodes)
        count = len(model.graph.node)
        found = measure(model, options.runs if nodes < 10_000 else max(2, options.runs // 2))
        print(f"{count} nodes")
        for name, seconds in found.items():
            ratio = seconds / found["gather-infer"]
            print(f"  {name:16} {seconds:8.3f} s {1e6 * seconds / count:8.1f} us/node {ratio:8.2f} of gather-infer")


if __name__ == "__main__":
    main()
