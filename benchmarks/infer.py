"""Time, memory and coverage of the inference, side by side with the other tools in the same run.

    python benchmarks/infer.py [--nodes N ...] [--fixtures NAME ... | --all-fixtures] [--megabytes N] [--runs N]

Always onnx's own C++ inference; onnxruntime's symbolic_shape_infer and the package onnx-shape-inference when they are
installed. Three parts, each can be left out with an empty option (`--nodes`, `--fixtures`, `--megabytes 0`):

Whole processes: a new process for each tool and model, from its start to its exit, imports included. Of this tool that
is the command `gather-infer infer`, of the others a script that loads the file and infers (benchmarks/tools.py). Tools
take turns; seconds are medians, ratios are medians over the turns. Memory is the peak resident size that the kernel
reports, pages of the file that were mapped and read included.
    ranked   outputs of nodes of the main graph whose element type and rank became known
    exact    of all dims that some tool knows to be there: those that are a number or an expression in the names that
             dims of the inputs have. The `value_info` of the file does not count (benchmarks/tools.py)

A large file: the same for a model of many MB of weights, with `inspect` and a mere `onnx.load` beside it.

In process: the processor time of the inference alone, of a model in memory, and how it grows with the model.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tools import FILE_COMMANDS, TOOLS

if TYPE_CHECKING:
    from onnx import ModelProto

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"
OURS = "gather-infer"
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "gather-infer")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # an installed package has it
SOME_FIXTURES = ("bert-torchscript", "detector-dynamo", "gpt2-kv-dynamo", "lstm-tagger-torchscript", "vit-dynamo")


@dataclass(frozen=True)
class Turn:
    """One child process: wall seconds and peak MiB; no seconds when it failed."""

    seconds: float | None
    peak: float


def run(command: Sequence[str]) -> Turn:
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=HERE, env=ENVIRONMENT)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    return Turn(elapsed if child.returncode == 0 else None, usage.ru_maxrss / 1024)


def script(tool: str, path: Path, *options: str) -> list[str]:
    return [sys.executable, str(HERE / "tools.py"), tool, str(path), *options]


def command(tool: str, path: Path) -> list[str]:
    return [PROGRAM, "infer", str(path)] if tool == OURS else script(tool, path)


def turns(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, list[Turn]]:
    """Each command `runs` times, in turns, after one that does not count."""
    found: dict[str, list[Turn]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, words in commands.items():
            turn = run(words)
            if number > 0:
                found[name].append(turn)
    return found


def coverage(path: Path, tools: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Per tool the shares of the values that are ranked and of the dims that are exact; a failing tool knows nothing.

    The dims of a value that a tool does not rank count as not exact, as many as another tool finds.
    """
    known: dict[str, dict[str, list[bool] | None]] = {}
    for tool in tools:
        done = subprocess.run(
            script(tool, path, "--types"), capture_output=True, text=True, cwd=HERE, env=ENVIRONMENT, check=False
        )
        known[tool] = json.loads(done.stdout) if done.returncode == 0 else {}
    names = {name for values in known.values() for name in values}
    ranks = {name: max(len(values.get(name) or ()) for values in known.values()) for name in names}
    return {
        tool: (
            sum(values.get(name) is not None for name in names) / max(1, len(names)),
            sum(sum(values.get(name) or ()) for name in names) / max(1, sum(ranks.values())),
        )
        for tool, values in known.items()
    }


def report(found: Mapping[str, Sequence[Turn]], shares: Mapping[str, tuple[float, float]]) -> None:
    """A line per command: seconds, seconds as a multiple of ours, peak memory, coverage."""
    print(f"  {'':20}{'seconds':>9}{'ratio':>8}{'MiB':>8}{'ranked':>9}{'exact':>8}")
    for name, rows in found.items():
        peak = max(turn.peak for turn in rows)
        share = "".join(f"{100 * part:8.1f}%" for part in shares[name]) if name in shares else ""
        seconds = [turn.seconds for turn in rows if turn.seconds is not None]
        ratio = paired(rows, found[OURS])
        if ratio is None:
            print(f"  {name:20}{'fails':>9}{'':8}{peak:8.0f}{share}")
        else:
            print(f"  {name:20}{statistics.median(seconds):9.2f}{ratio:8.2f}{peak:8.0f}{share}")


def paired(rows: Sequence[Turn], base: Sequence[Turn]) -> float | None:
    """The median of the ratios turn by turn; None when a process failed."""
    if any(turn.seconds is None for turn in (*rows, *base)):
        return None
    return statistics.median(a.seconds / b.seconds for a, b in zip(rows, base, strict=True))


def make(path: Path, call: str) -> Path:
    """A model of benchmarks/models.py; a child makes it, since what this process holds adds to its children's peak."""
    code = f"import onnx, models, pathlib; path = pathlib.Path({str(path)!r}); {call}"
    subprocess.run([sys.executable, "-c", code], cwd=HERE, env=ENVIRONMENT, check=True)
    return path


def whole_processes(nodes: Sequence[int], fixtures: Sequence[Path], runs: int, limit: int, folder: Path) -> None:
    paths = {path.stem: path for path in fixtures}
    sizes = dict.fromkeys(paths, 0)
    for size in nodes:
        name = f"transformer of {size} nodes"
        paths[name] = make(folder / f"{size}.onnx", f"onnx.save(models.transformer({size}), path)")
        sizes[name] = size
    least: dict[str, tuple[float, str]] = {}
    for name, path in paths.items():
        tools = tools_for(sizes[name], limit)
        found = turns({tool: command(tool, path) for tool in tools}, runs)
        print(f"\n{name}, whole processes")
        report(found, coverage(path, tools))
        for tool in tools:
            ratio = paired(found[tool], found[OURS])
            if ratio is not None and tool != OURS:
                least[tool] = min(least.get(tool, (ratio, name)), (ratio, name))
    for tool, (ratio, name) in least.items():
        print(f"{tool} takes at least {ratio:.2f} times as long as {OURS} ({name})")


def large_file(megabytes: int, runs: int, folder: Path) -> None:
    path = make(folder / "large.onnx", f"models.large_file(path, megabytes={megabytes})")
    commands = {tool: command(tool, path) for tool in tools_for(0, 0)}
    commands |= {name: script(name, path) for name in FILE_COMMANDS}
    commands["gather-infer inspect"] = [PROGRAM, "inspect", str(path)]
    commands["onnx.load alone"] = [sys.executable, "-c", f"import onnx; onnx.load({str(path)!r})"]
    print(f"\n{megabytes} MB of weights in one file, whole processes")
    report(turns(commands, runs), {})


def in_process(nodes: Sequence[int], runs: int, limit: int) -> None:
    from models import transformer

    alone: dict[int, float] = {}
    for size in nodes:  # before the other tools fill the process with objects
        model = transformer(size)
        seconds(OURS, model)
        alone[size] = statistics.median(seconds(OURS, model) for _ in range(runs))
    for size in nodes:
        model = transformer(size)
        count = len(model.graph.node)
        names = tools_for(size, limit)
        found: dict[str, list[float]] = {name: [] for name in names}
        for number in range(runs + 1):
            for name in names:
                elapsed = seconds(name, model)
                if number > 0 or len(names) == 1:  # the first turn warms up
                    found[name].append(elapsed)
        print(f"\n{count} nodes, in process")
        print(f"  {'':20}{'seconds':>9}{'us/node':>9}{'ratio':>8}")
        for name, times in found.items():
            ratio = statistics.median(a / b for a, b in zip(times, found[OURS], strict=True))
            median = statistics.median(times)
            print(f"  {name:20}{median:9.3f}{1e6 * median / count:9.1f}{ratio:8.2f}")
    print(f"\n{OURS} by itself, in process")
    for small, large in pairwise(nodes):
        print(f"  {large} nodes take {alone[large] / alone[small]:.1f} times as long as {small}")


def fixtures_in_process(fixtures: Sequence[Path], runs: int) -> None:
    """Per fixture the least processor time of each tool, which take turns; nodes are those of the main graph."""
    import onnx

    tools = tools_for(0, 0)
    rows: list[tuple[str, int, dict[str, float | None]]] = []
    for path in fixtures:
        model = onnx.load(path)
        found: dict[str, float | None] = {tool: fastest(tool, model, runs) for tool in tools}
        rows.append((path.stem, len(model.graph.node), found))
    others = [tool for tool in tools if tool != OURS]
    print(f"\nfixtures, in process\n  {'':32}{'nodes':>6}{'us/node':>9}" + "".join(f"{tool:>17}" for tool in others))
    ratios: dict[str, list[float]] = {tool: [] for tool in others}
    for name, nodes, found in rows:
        ours = found[OURS]
        assert ours is not None
        texts = []
        for tool in others:
            theirs = found[tool]
            texts.append("fails" if theirs is None else f"{theirs / ours:.2f}")
            if theirs is not None:
                ratios[tool].append(theirs / ours)
        print(f"  {name:32}{nodes:6}{1e6 * ours / nodes:9.1f}" + "".join(f"{text:>17}" for text in texts))
    for tool, all_of in ratios.items():
        print(
            f"{tool} takes {statistics.median(all_of):.2f} times as long in the median, {min(all_of):.2f} at least; "
            f"longer on {sum(ratio > 1 for ratio in all_of)} of {len(all_of)}"
        )


def fastest(tool: str, model: ModelProto, runs: int) -> float | None:
    """The least of `runs` times after one that does not count; None where the tool fails."""
    try:
        return min([seconds(tool, model) for _ in range(runs + 1)][1:])
    except Exception as error:
        if tool == OURS:
            raise
        print(f"{tool}: {type(error).__name__}", file=sys.stderr)
        return None


def seconds(tool: str, model: ModelProto) -> float:
    gc.collect()  # what the tool before has left behind
    start = time.process_time()
    TOOLS[tool].infer(model)
    return time.process_time() - start


def tools_for(nodes: int, limit: int) -> list[str]:
    """The tools that are installed; those in Python are left out above `limit` nodes."""
    return [name for name, tool in TOOLS.items() if tool.is_installed and (nodes <= limit or not tool.is_python)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="*", default=[1_000, 2_000, 10_000, 100_000])
    parser.add_argument("--fixtures", nargs="*", default=SOME_FIXTURES, help="names without the suffix")
    parser.add_argument("--all-fixtures", action="store_true")
    parser.add_argument("--megabytes", type=int, default=200, help="of the large file")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=10_000, help="nodes above which no tool in Python is run")
    options = parser.parse_args()
    fixtures = [FIXTURES / f"{name}.onnx" for name in options.fixtures]
    if options.all_fixtures:
        fixtures = sorted(FIXTURES.glob("*.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        whole_processes(options.nodes, fixtures, options.runs, options.limit, Path(folder))
        if options.megabytes:
            large_file(options.megabytes, options.runs, Path(folder))
    fixtures_in_process(fixtures, options.runs)
    in_process(sorted(options.nodes), options.runs, options.limit)  # last: it fills this process


if __name__ == "__main__":
    main()
