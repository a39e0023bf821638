"""Cost of checking feeds against a contract, in units of numpy's own min and max over the same arrays.

    python benchmarks/contract.py [--batch N] [--length N] [--runs N]

The contract is that of the BERT fixture with a position table as long as the batch. Min and max are taken of the arrays
whose elements have a range, by `array.min()` and `array.max()`; the two take turns, in processor time, and the ratio is
the median over the turns. The guard is what `gather-infer contract --python` writes.
"""

from __future__ import annotations

import argparse
import statistics
import time
import timeit
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gather_infer
from gather_infer.contract import DimsLine, Relation
from gather_infer.report import guard_source

FIXTURE = Path(__file__).parent.parent / "fixtures" / "bert-torchscript.onnx"
REPEATS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--runs", type=int, default=51)
    options = parser.parse_args()
    found = gather_infer.contract_of(FIXTURE).contract
    longer = DimsLine((Relation(gather_infer.symbol("seq"), "<=", options.length),))
    contract = replace(found, lines=(*found.lines[:2], longer))
    names: dict[str, Any] = {}
    exec(compile(guard_source(contract), "guard.py", "exec"), names)
    numbers = np.random.default_rng(0)
    shape = (options.batch, options.length)
    feeds = {
        "input_ids": numbers.integers(0, 151, shape),
        "attention_mask": np.ones(shape, np.int64),
        "token_type_ids": numbers.integers(0, 2, shape),
    }
    assert contract.check(feeds) == names["check"](feeds) == [], "the feeds keep to the contract"
    ranged = [feeds["input_ids"], feeds["token_type_ids"]]

    def numpy_alone() -> None:
        for array in ranged:
            array.min()
            array.max()

    ways: dict[str, Callable[[], object]] = {
        "min and max": numpy_alone,
        "Contract.check": lambda: contract.check(feeds),
        "guard.check": lambda: names["check"](feeds),
    }
    turns = [
        {name: timeit.timeit(way, timer=time.process_time, number=REPEATS) / REPEATS for name, way in ways.items()}
        for _ in range(options.runs)
    ]
    print(f"BERT, {options.batch} x {options.length}, {options.runs} turns of {REPEATS}")
    for name in ways:
        seconds = statistics.median(turn[name] for turn in turns)
        ratio = statistics.median(turn[name] / turn["min and max"] for turn in turns)
        print(f"  {name:<15} {seconds * 1e6:7.1f} us   {ratio:5.2f}")


if __name__ == "__main__":
    main()
