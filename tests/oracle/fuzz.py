"""Random graphs against onnxruntime for as long as one likes: `python -m tests.oracle.fuzz --seconds 600 --seed 0`.

The graphs run in a child process: some operators of the runtime abort the process or never end on sizes of 0.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from multiprocessing.connection import Connection

from tests.oracle.generated_graphs import check, generate, text_of
from tests.oracle.shrink import shrunk

MEMORY = 6 << 30
PATIENCE = 10.0
"""Seconds for one graph; then it counts as one that the runtime does not survive."""

Found = tuple[Counter[str], Counter[str], list[str]]

Examine = Callable[[int, int, bool], Found]
"""Of a seed, a number of runs, and whether to shrink what is found."""


def examine(seed: int, runs: int, shrink: bool) -> Found:
    """Counts, causes of lost dims and mismatches of one graph."""
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    mismatch = check(generate(seed), runs, counts, lost)
    if mismatch is None:
        return counts, lost, []
    return counts, lost, [text_of(shrunk(mismatch) if shrink else mismatch)]


def _serve(connection: Connection, runs: int, by: Examine) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        request = connection.recv()
        if request is None:
            return
        seed, shrink = request
        try:
            found = by(seed, runs, shrink)
        except Exception:  # noqa: BLE001  whatever the inference raises is a finding
            found = Counter(), Counter(), [f"seed {seed}:\n{traceback.format_exc()}"]
        connection.send(found)


class Child:
    """A process that examines graphs, replaced when it dies."""

    def __init__(self, runs: int, *, shrink: bool = True, by: Examine = examine, patience: float = PATIENCE) -> None:
        self.runs, self.shrink, self.by, self.patience = runs, shrink, by, patience
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.runs, self.by), daemon=True)
        self.process.start()
        other.close()

    def examine(self, seed: int) -> Found:
        found = self._ask(seed, shrink=False, patience=self.patience)
        if found is None:
            return Counter({"graphs that the runtime does not survive": 1}), Counter(), []
        if found[2] and self.shrink:
            smaller = self._ask(seed, shrink=True, patience=8 * self.patience)
            return found if smaller is None else smaller
        return found

    def _ask(self, seed: int, *, shrink: bool, patience: float) -> Found | None:
        """None when the process does not answer; there is a new one then."""
        self.connection.send((seed, shrink))
        try:
            if self.connection.poll(patience):
                found: Found = self.connection.recv()
                return found
        except (EOFError, ConnectionResetError):
            pass
        self.process.kill()
        self.process.join()
        self._start()
        return None

    def close(self) -> None:
        self.connection.send(None)
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()


def examined(
    seeds: Iterable[int], runs: int, *, shrink: bool = True, by: Examine = examine, patience: float = PATIENCE
) -> Iterator[tuple[int, Found]]:
    """Each seed with what was found, from one child process."""
    child = Child(runs, shrink=shrink, by=by, patience=patience)
    try:
        for seed in seeds:
            yield seed, child.examine(seed)
    finally:
        child.close()


def _until(start: int, seconds: float) -> Iterator[int]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield start
        start += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--graphs", type=int, help="so many graphs, however long that takes")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--runs", type=int, default=12, help="bindings of a graph")
    parser.add_argument("--optimize", action="store_true", help="compare the graphs with what `optimize` makes of them")
    parser.add_argument("--no-shrink", action="store_true", help="print the whole graph of a mismatch")
    arguments = parser.parse_args()
    by = import_module("tests.oracle.optimized_graphs").examine if arguments.optimize else examine
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    examples: dict[str, int] = {}
    last = arguments.seed
    seeds: Iterable[int] = _until(arguments.seed, arguments.seconds)
    if arguments.graphs is not None:
        seeds = range(arguments.seed, arguments.seed + arguments.graphs)
    for seed, (more, causes, texts) in examined(seeds, arguments.runs, shrink=not arguments.no_shrink, by=by):
        counts += more
        lost += causes
        last = seed
        for cause in causes:
            examples.setdefault(cause, seed)
        for text in texts:
            counts["mismatches"] += 1
            print(text, flush=True)
    print(f"seeds {arguments.seed} to {last}")
    for what, number in sorted(counts.items()):
        print(f"{number:9} {what}")
    print("dims that are expressions but were not found:")
    for cause, number in lost.most_common(40):
        print(f"{number:9} {cause}, as in seed {examples[cause]}")


if __name__ == "__main__":
    main()
