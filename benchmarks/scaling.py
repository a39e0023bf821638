"""Time of the commands on models of n and of 2 n nodes: one line per family of models and command, with the ratio.

python benchmarks/scaling.py                                       optimize, all families, 5000 and 10 000 nodes
python benchmarks/scaling.py --nodes 10000 --commands optimize infer check --families "long chain of Slice"
python benchmarks/scaling.py --list                                the names of the families

A line with a ratio above `--limit` ends in "superlinear". Times are minima of processor seconds in one process, after a
small model of the family has run; each size has as many turns as fit into `--seconds`, at least one and at most three.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from typing import Final

from onnx import ModelProto
from scaling_families import FAMILIES

import gather_infer

COMMANDS: Final[dict[str, Callable[[ModelProto], object]]] = {
    "optimize": gather_infer.optimize,
    "fold": gather_infer.fold,
    "infer": lambda model: gather_infer.infer(model).annotated(),
    "check": gather_infer.check,
    "contract": gather_infer.contract_of,
    "cost": lambda model: gather_infer.infer(model).cost(),
    "diff": lambda model: gather_infer.diff(model, model, runs=0, details=False),
}


def _times(command: Callable[[ModelProto], object], model: ModelProto, seconds: float) -> float:
    """The minimum of the processor seconds of up to three runs; more than one only while they fit into `seconds`."""
    best, spent = float("inf"), 0.0
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        command(model)
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent + took > seconds:
            break
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000, help="n; 2 n nodes are the other size")
    parser.add_argument("--commands", nargs="+", default=["optimize"], choices=list(COMMANDS))
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--limit", type=float, default=2.2, help="the largest ratio that counts as linear")
    parser.add_argument("--seconds", type=float, default=20.0, help="for the turns of one size")
    parser.add_argument("--list", action="store_true", help="print the names of the families")
    given = parser.parse_args()
    if given.list:
        print("\n".join(FAMILIES))
        return
    n = given.nodes
    print(f"{'command':9}  {f'{n} nodes':>12}  {f'{2 * n} nodes':>12}  ratio  family", flush=True)
    worst = 0.0
    for name in given.families:
        for command in given.commands:
            run = COMMANDS[command]
            run(FAMILIES[name](60))
            small, large = (_times(run, FAMILIES[name](size), given.seconds) for size in (n, 2 * n))
            ratio = large / small
            worst = max(worst, ratio)
            remark = "  superlinear" if ratio > given.limit else ""
            print(f"{command:9}  {small:10.3f} s  {large:10.3f} s  {ratio:5.2f}  {name}{remark}", flush=True)
    sys.exit(worst > given.limit)


if __name__ == "__main__":
    main()
