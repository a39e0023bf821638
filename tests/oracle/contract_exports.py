"""Contracts of exported models held against onnxruntime: `python -m tests.oracle.contract_exports DIR [--every 5]`.

Feeds drawn inside a contract have to run, and one step outside a tight line they have to fail. Each model has a process
of its own and a time limit: sizes that a contract allows may be large. A contract with open entries promises nothing of
runs inside it, so these are counted apart.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import onnxruntime

import gather_infer
from tests.validate.contract_runs import NoSizes, Runtime, judge

SIZES: Final = (1, 2, 3, 5, 7, 1, 2, 4, 8, 13, 16, 24, 31, 32, 48, 64, 97, 112, 128, 224, 256, 320, 512, 640, 0)
"""Sizes that are drawn: images have to be larger than what small graphs are fed."""


def one(path: Path, draws: int) -> str:
    """The outcome for a model, in a line."""
    try:
        runtime = Runtime(str(path))
    except Exception as error:  # noqa: BLE001 - each failure of the runtime has a class of its own
        return f"not loaded: {type(error).__name__}"
    result = gather_infer.contract_of(path)
    if any(str(d.severity) == "error" for d in result.diagnostics):
        return "not loaded: the contract has an error"
    contract = result.contract
    if contract.open:
        return f"open: {len(contract.open)} entries"
    try:
        inside, outside = judge(contract, runtime, draws=draws, pool=SIZES)
    except NoSizes:
        return "no sizes drawn"
    except AssertionError as error:
        return f"finding: {' '.join(str(error).split())[:400]}"
    return f"agree: {inside} inside, {outside} outside" if inside else "no elements"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--one", action="store_true")
    options = parser.parse_args()
    if options.one:
        print(one(options.paths[0], options.draws))
        return 0
    found = sorted({p for path in options.paths for p in ([path] if path.is_file() else path.rglob("*.onnx"))})
    small = [p for p in found if p.stat().st_size < options.megabytes * 1e6][:: options.every]
    totals: Counter[str] = Counter()
    for path in small:
        command = [
            sys.executable,
            "-m",
            "tests.oracle.contract_exports",
            str(path),
            "--one",
            "--draws",
            str(options.draws),
        ]
        try:
            made = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, check=False)
            line = made.stdout.strip() or f"ended: exit code {made.returncode} {made.stderr.strip()[-200:]}"
        except subprocess.TimeoutExpired:
            line = "late:"
        kind, _, rest = line.partition(":")
        totals[kind] += 1
        for count, what in (part.split() for part in rest.split(",") if kind == "agree"):
            totals[f"runs {what}"] += int(count)
        if kind in ("finding", "ended"):
            print(f"{path}: {line}", flush=True)
    print(f"onnxruntime {onnxruntime.__version__}, {len(small)} models")
    for kind, number in sorted(totals.items()):
        print(f"{number:7} {kind}")
    return 1 if totals["finding"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
