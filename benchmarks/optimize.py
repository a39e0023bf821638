"""`gather-infer optimize` side by side with other optimisers in the same run: time, size of the result, is it the same.

    python benchmarks/optimize.py [--python PATH] [--fixtures NAME ... | --all-fixtures] [--nodes N ...]
                                  [--folder DIR ...] [--files LIST ...] [--most-megabytes N] [--seconds N] [--jobs N]
                                  [--megabytes N] [--sessions N] [--runs N] [--details] [--memo FILE] [--keep DIR]

onnxsim, onnxslim, onnxscript.optimizer, polygraphy (surgeon sanitize --fold-constants), onnxruntime (basic
optimisations, written to a file) and onnxoptimizer take part when the interpreter that `--python` names has them; those
that it lacks are named.

Whole processes: from the start to the exit, imports included (benchmarks/optimizers.py), tools in turns. Time is that
of the processor, user and system, of the process and its children. A unit is the time of a process that does only
`onnx.load` and `onnx.save` on the same file, in the same turn; units are medians over the turns.

The result: nodes over all graphs and functions, Gathers among them, and whether onnxruntime (its optimiser off) gives
the same bits as with the original wherever the original runs (benchmarks/outcomes.py): at every binding that
fixtures/feeds.py lists, sizes of 0 and 1 among them, and at three again with -0.0, NaN and infinities; "packing" where
they are the same with onnxruntime's packing of constant weights off. A generated model of `--nodes` nodes counts like a
fixture; tools in Python are left out above `--limit`.

`--folder` and `--files` add any other models (benchmarks/any_models.py), one of each graph structure. Their feeds are
drawn. What onnxruntime does not run, or not twice with the same bits, is not judged: it is listed, and left out of the
sums. A tool that takes more than `--seconds` fails. With `--jobs` several models are optimised at a time, and the times
mean little; sessions are timed afterwards, one at a time.

    best         the fewest nodes, and the fewest Gathers, of a result of another tool that is the same; the original
                 itself where none is
    start, run   with `--sessions`: milliseconds of the processor that onnxruntime takes to load a model and to run it,
                 all optimisations on, one thread; of a result that is not the same, those of the original

With `--memo` what the other tools have done is written to a file, and read from it where it is there: only our results
are made anew then, which is quick, but no longer a comparison in one run. `--keep` keeps the results in a folder.

`--megabytes`: a model with large weights in one file, seconds of the clock and peak memory, beside a copy of the file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from any_models import choose, file_name
from infer import make
from optimizers import OPTIMIZERS, UNIT

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"
WIDTH = 44
OURS = "gather-infer"
MOST_SECONDS = 1200.0
"""Limit of the time of a task of benchmarks/outcomes.py."""
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "gather-infer")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # an installed package has it
SOME_FIXTURES = ("bert-torchscript", "gpt2-kv-torchscript", "gpt2-kv-dynamo", "swin-torchscript", "vit-dynamo")


@dataclass(frozen=True)
class Turn:
    """One child process: seconds of the processor and of the clock, None when it failed or wrote nothing; peak MiB."""

    processor: float | None
    clock: float | None
    peak: float


@dataclass
class Result:
    """The result of a tool on a model.

    units    None when the tool failed
    verdict  "identical", "packing" (benchmarks/outcomes.py), or in which way it is not; of an original "not judged"
             where it does not run
    """

    path: Path
    units: float | None
    verdict: str = "fails"
    nodes: int = 0
    gathers: int = 0
    constants: int = 0
    runs: int = 0
    start: float | None = None
    run: float | None = None

    @property
    def is_same(self) -> bool:
        return self.verdict in ("identical", "packing")


@dataclass
class Row:
    """A model with its results.

    fixture    its name where it is one, else "-"
    original   the file itself
    is_large   whether tools in Python are left out
    """

    name: str
    fixture: str
    original: Result
    is_large: bool = False
    results: dict[str, Result] = field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        return self.original.is_same

    def best(self, quantity: str) -> tuple[int, str]:
        """The least of a quantity over the same results of other tools, and whose it is."""
        found = [(getattr(r, quantity), name) for name, r in self.results.items() if name != OURS and r.is_same]
        return min([*found, (getattr(self.original, quantity), "")])


def run(command: Sequence[str], out: Path | None, seconds: float = 3600) -> Turn:
    if out is not None:
        out.unlink(missing_ok=True)
    begin = time.perf_counter()
    where = HERE if out is None else out.parent  # some tools leave files behind
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=where, env=ENVIRONMENT)
    ending = threading.Timer(seconds, child.kill)
    ending.start()
    _, status, usage = os.wait4(child.pid, 0)
    ending.cancel()
    clock = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    done = child.returncode == 0 and (out is None or out.exists())
    return Turn(usage.ru_utime + usage.ru_stime if done else None, clock if done else None, usage.ru_maxrss / 1024)


def command(tool: str, path: Path, out: Path, python: str) -> list[str]:
    if tool == OURS:
        return [PROGRAM, "optimize", str(path), "-o", str(out)]
    interpreter = sys.executable if tool == UNIT else python
    return [interpreter, str(HERE / "optimizers.py"), tool, str(path), str(out)]


def file_of(name: str, tool: str, folder: Path) -> Path:
    """The file for the result of a tool on a model."""
    return folder / f"{file_name(name)}.{file_name(tool)}.onnx"


def measured(row: Row, tools: Sequence[str], options: argparse.Namespace, folder: Path) -> dict[str, Result]:
    """The results of the tools, with their time."""
    path, runs = row.original.path, options.runs
    outs = {tool: file_of(row.name, tool, folder) for tool in (UNIT, *tools)}
    found: dict[str, list[Turn]] = {tool: [] for tool in outs}
    for number in range(runs + 1):
        for tool, out in outs.items():
            turn = run(command(tool, path, out, options.python), out, options.seconds)
            if number > 0 or runs == 0:  # the first does not count: files come from the disk
                found[tool].append(turn)
    units = [turn.processor for turn in found[UNIT]]
    outs[UNIT].unlink(missing_ok=True)
    results = {}
    for tool in tools:
        pairs = [(t.processor, u) for t, u in zip(found[tool], units, strict=True)]
        ratios = [t / u for t, u in pairs if t is not None and u is not None]
        results[tool] = Result(outs[tool], statistics.median(ratios) if len(ratios) == len(pairs) else None)
    return results


def judge(row: Row) -> None:
    """Fill in sizes and verdicts; what brings onnxruntime down gets a process of its own."""
    pending = [r for r in row.results.values() if r.path.exists()]
    original = row.original
    original.verdict = "not judged"
    while True:
        lines = [json.loads(line) for line in outcomes("judge", row, [original, *pending]).splitlines()]
        for result, line in zip((original, *pending), lines, strict=False):
            for name, value in line.items():
                setattr(result, name, value)
        if not lines or len(lines) > len(pending):
            return
        pending[len(lines) - 1].verdict = "crashes"
        pending = pending[len(lines) :]


def outcomes(task: str, row: Row, results: Sequence[Result], *words: str) -> str:
    """The output of a task of benchmarks/outcomes.py."""
    paths = [str(r.path) for r in results]
    done = subprocess.Popen(
        [sys.executable, str(HERE / "outcomes.py"), task, row.fixture, *words, *paths],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE, env=ENVIRONMENT,
    )  # fmt: skip
    ending = threading.Timer(MOST_SECONDS, done.kill)
    ending.start()
    text = done.communicate()[0]
    ending.cancel()
    return text


def sessions(row: Row, rounds: int) -> None:
    """Fill in the times of onnxruntime's sessions."""
    results = [row.original, *(r for r in row.results.values() if r.is_same and r.path.exists())]
    text = outcomes("time", row, results, str(rounds))
    if text:
        times = json.loads(text)
        for at, result in enumerate(results):
            result.start, result.run = times["start"][at], times["run"][at]


def print_row(row: Row, details: bool) -> None:
    ours, original = row.results[OURS], row.original
    nodes, by = row.best("nodes")
    gathers, by_gathers = row.best("gathers")
    mark = "" if ours.is_same and ours.nodes <= nodes and ours.gathers <= gathers else " <"
    if not row.is_judged:
        mark = " (not judged)"
    print(
        f"{row.name[-WIDTH + 1 :]:{WIDTH}}{original.nodes:6}{ours.nodes:6}{nodes:6}"
        f"{original.gathers:6}{ours.gathers:5}{gathers:5}"
        f"{_number(ours.units, 7, 2)}  {ours.verdict:11} {by or '-'}, {by_gathers or '-'}{mark}",
        flush=True,
    )
    if details:
        for tool, result in row.results.items():
            print(
                f"    {tool:22}{result.nodes:6}{'':12}{result.gathers:6}{'':10}{_number(result.units, 7, 2)}"
                f"  {result.verdict:13} {_number(result.start, 8, 2)} {_number(result.run, 8, 3)}"
            )


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'fails':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def print_sums(rows: Sequence[Row], tools: Sequence[str]) -> None:
    """Sums over the models; of a result that is not the same, sizes and times are those of the original."""
    print(f"\nsums over {len(rows)} models; where a tool fails or its result is not the same: the original's")
    print(f"  {'':20}{'nodes':>8}{'Gather':>8}{'units':>8}{'fails':>7}{'not same':>10}{'start':>9}{'run':>9}")
    entries: dict[str, list[Result]] = {"the original": [row.original for row in rows]}
    entries |= {tool: [row.results[tool] for row in rows if tool in row.results] for tool in tools}
    for name, results in entries.items():
        if len(results) < len(rows):
            continue
        used = [r if r.is_same else row.original for r, row in zip(results, rows, strict=True)]
        units = [r.units for r in results if r.units is not None]
        fails = sum(r.units is None for r in results) if name in tools else 0
        print(
            f"  {name:20}{sum(r.nodes for r in used):8}{sum(r.gathers for r in used):8}"
            f"{statistics.fmean(units) if units else 1:8.2f}{fails:7}"
            f"{sum(not r.is_same for r in results) - fails:10}"
            f"{sum(r.start or 0 for r in used):9.1f}{sum(r.run or 0 for r in used):9.2f}"
        )
    nodes, gathers = (sum(row.best(quantity)[0] for row in rows) for quantity in ("nodes", "gathers"))
    print(f"  {'best of the others':20}{nodes:8}{gathers:8}")
    behind = [r.name for r in rows if not r.results[OURS].is_same]
    print(f"not the same as the original, of {OURS}: {', '.join(behind) or 'none'}")
    for quantity in ("nodes", "gathers"):
        more = [r.name for r in rows if getattr(r.results[OURS], quantity) > r.best(quantity)[0]]
        print(f"more {quantity} than the best of the others: {', '.join(more) or 'none'}")
    for tool in tools:
        if tool != OURS and OPTIMIZERS[tool].is_in_python:
            slower = [r.name for r in rows if tool in r.results and _is_faster(r.results[tool], r.results[OURS])]
            print(f"slower than {tool}: {', '.join(slower) or 'none'}")
    for quantity in ("start", "run"):
        ratios = [(_ratio(row, quantity), row.name) for row in rows]
        found = [(ratio, name) for ratio, name in ratios if ratio is not None]
        if found:
            print(f"{quantity} against the original: at most {max(found)[0]:.2f} ({max(found)[1]})")


def _is_faster(one: Result, other: Result) -> bool:
    return one.units is not None and other.units is not None and one.units < other.units


def _ratio(row: Row, quantity: str) -> float | None:
    ours, original = getattr(row.results[OURS], quantity), getattr(row.original, quantity)
    return ours / original if ours and original else None


def large_file(megabytes: int, tools: Sequence[str], python: str, runs: int, folder: Path) -> None:
    path = make(folder / "large.onnx", f"models.large_file(path, megabytes={megabytes})")
    out = folder / "large.out.onnx"
    commands = {"copy of the file": ["cp", str(path), str(out)]}
    commands |= {tool: command(tool, path, out, python) for tool in (UNIT, *tools)}
    print(f"\n{megabytes} MB of weights in one file, whole processes, seconds of the clock")
    print(f"  {'':20}{'seconds':>9}{'copies':>8}{'MiB':>8}")
    found: dict[str, list[Turn]] = {name: [] for name in commands}
    for _ in range(max(1, runs)):
        for name, words in commands.items():
            found[name].append(run(words, out))
    copies = [turn.clock or 0 for turn in found["copy of the file"]]
    for name, turns in found.items():
        clocks = [turn.clock for turn in turns if turn.clock is not None]
        peak = max(turn.peak for turn in turns)
        if len(clocks) < len(turns):
            print(f"  {name:20}{'fails':>9}{'':8}{peak:8.0f}")
        else:
            ratio = statistics.median(a / b for a, b in zip(clocks, copies, strict=True))
            print(f"  {name:20}{statistics.median(clocks):9.2f}{ratio:8.2f}{peak:8.0f}")


def installed(python: str) -> list[str]:
    """The other tools that an interpreter has; the rest is named."""
    done = subprocess.run(
        [python, str(HERE / "optimizers.py")], capture_output=True, text=True, cwd=HERE, env=ENVIRONMENT, check=True
    )
    names = [name for name in done.stdout.splitlines() if name != UNIT]
    for name in OPTIMIZERS:
        if name not in (UNIT, *names):
            print(f"left out, not installed: {name}")
    return names


def measure(rows: Sequence[Row], options: argparse.Namespace, others: Sequence[str], folder: Path) -> None:
    """Fill in the results of the rows, and print them."""
    print(f"{'':{WIDTH}}{'nodes':^18}{'Gathers':^16}{'units':>7}")
    print(
        f"{'':{WIDTH}}{'file':>6}{'ours':>6}{'best':>6}{'file':>6}{'ours':>5}{'best':>5}{'ours':>7}  {'result':11} best"
    )
    memo = json.loads(options.memo.read_text()) if options.memo and options.memo.exists() else {}

    def one(row: Row) -> Row:
        tools = [OURS, *(t for t in others if not (row.is_large and OPTIMIZERS[t].is_in_python))]
        known = {
            tool: Result(file_of(row.name, tool, folder), **fields)
            for tool, fields in memo.get(row.name, {}).items()
            if tool in tools
        }
        row.results = measured(row, [t for t in tools if t not in known], options, folder)
        judge(row)
        row.results |= known
        return row

    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(one, rows):
            if options.jobs == 1 and options.sessions and row.is_judged:
                sessions(row, options.sessions)
            print_row(row, options.details)
            if options.memo:
                memo[row.name] = {tool: _remembered(result) for tool, result in row.results.items() if tool != OURS}
                options.memo.write_text(json.dumps(memo))
    if options.jobs > 1 and options.sessions:
        for row in rows:
            if row.is_judged:
                sessions(row, options.sessions)


def _remembered(result: Result) -> dict[str, Any]:
    fields = asdict(result)
    del fields["path"]
    return fields


ALL_FIXTURES = sorted(json.loads((FIXTURES / "manifest.json").read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the other tools")
    parser.add_argument("--fixtures", nargs="*", default=SOME_FIXTURES, help="names without the suffix")
    parser.add_argument("--all-fixtures", action="store_true")
    parser.add_argument("--nodes", type=int, nargs="*", default=[], help="of generated models: 4000 40000")
    parser.add_argument("--folder", type=Path, nargs="*", default=[], help="folders with other models")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="lists of other models, one path a line")
    parser.add_argument("--most-megabytes", type=float, default=30, help="of the file of another model")
    parser.add_argument("--seconds", type=float, default=120, help="after which a tool fails")
    parser.add_argument("--jobs", type=int, default=1, help="models that are optimised at a time")
    parser.add_argument("--limit", type=int, default=10_000, help="nodes above which no other tool in Python is run")
    parser.add_argument("--megabytes", type=int, default=0, help="of the file with large weights")
    parser.add_argument("--sessions", type=int, default=0, help="rounds of onnxruntime's start and run")
    parser.add_argument(
        "--runs", type=int, default=3, help="turns that count, after one that does not; 0 for one in all"
    )
    parser.add_argument("--memo", type=Path, help="what the other tools have done, written and read")
    parser.add_argument("--keep", type=Path, help="a folder for the results")
    parser.add_argument("--details", action="store_true", help="a line for each tool")
    parser.add_argument("--skip", nargs="*", default=[], help="other tools to leave out")
    options = parser.parse_args()
    others = [name for name in installed(options.python) if name not in options.skip]
    with tempfile.TemporaryDirectory() as directory:
        folder = (options.keep or Path(directory)).absolute()
        folder.mkdir(exist_ok=True)
        names = ALL_FIXTURES if options.all_fixtures else options.fixtures
        rows = [Row(name, name, Result(FIXTURES / f"{name}.onnx", None)) for name in names]
        for size in options.nodes:
            path = make(Path(directory) / f"{size}.onnx", f"onnx.save(models.transformer({size}), path)")
            rows.append(Row(f"transformer, {size} nodes", "-", Result(path, None), is_large=size > options.limit))
        chosen = choose(options.folder, options.files, options.most_megabytes)
        for path, why in chosen.left_out:
            print(f"left out: {path}: {why}")
        rows += [Row(name, "-", Result(path.absolute(), None)) for name, path in chosen.models.items()]
        if rows:
            measure(rows, options, others, folder)
            print_sums([row for row in rows if row.is_judged], [OURS, *others])
            print(f"not judged: {', '.join(row.name for row in rows if not row.is_judged) or 'none'}")
        if options.megabytes:
            large_file(options.megabytes, [OURS, *others], options.python, options.runs, folder)


if __name__ == "__main__":
    main()
