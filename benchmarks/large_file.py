"""`inspect` and `infer` on a large single-file model as whole processes, against `onnx.load` of that file alone.

    python benchmarks/large_file.py [--megabytes N] [--runs N]

Processes take turns; times are medians, memory is the peak resident size that the kernel reports for the child. It
includes pages of the file that were mapped and read.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path


def run(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak MiB of a child process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=Path(__file__).parent)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} exited with {child.returncode}")
    return elapsed, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=800)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "large.onnx")
        # made by a child: a process that has held the weights would pass its peak on to the children it forks
        make = f"import models, pathlib; models.large_file(pathlib.Path({path!r}), megabytes={options.megabytes})"
        run([sys.executable, "-c", make])
        tool = [str(Path(sysconfig.get_path("scripts")) / "gather-infer")]
        commands = {
            "onnx.load": [sys.executable, "-c", f"import onnx; onnx.load({path!r})"],
            "inspect": [*tool, "inspect", path],
            "infer": [*tool, "infer", path],
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                found[name].append(run(command))
    base = statistics.median(t for t, _ in found["onnx.load"])
    print(f"{options.megabytes} MB in one file, {options.runs} runs each")
    print(f"{'':12} {'seconds':>8} {'of onnx.load':>13} {'peak MiB':>9}")
    for name, rows in found.items():
        wall, peak = statistics.median(t for t, _ in rows), max(m for _, m in rows)
        print(f"{name:12} {wall:8.2f} {wall / base:13.2f} {peak:9.0f}")


if __name__ == "__main__":
    main()
