"""Time, memory and coverage of the inference, side by side with the other tools in the same run.

    python benchmarks/infer.py [--nodes N ...] [--fixtures NAME ... | --all-fixtures] [--megabytes N] [--runs N]

Always onnx's own C++ inference; onnxruntime's symbolic_shape_infer and the package onnx-shape-inference when they are
installed. Three parts, each can be left out with an empty option (`--nodes`, `--fixtures`, `--megabytes 0`):

Whole processes: a new process for each tool and model, from its start to its exit, imports included. Of this tool that
is the command `gather-infer infer`, of the others a script that loads the file and infers (benchmarks/tools.py). Tools
take turns; seconds are the processor's, medians, and ratios are medians over the turns. Memory is the peak resident
size that the kernel reports, pages of the file that were mapped and read included.
    ranked   outputs of nodes of the main graph whose element type and rank became known
    exact    of all dims that some tool knows to be there: those that are a number or an expression in the names that
             dims of the inputs have. The `value_info` of the file does not count (benchmarks/tools.py)

A large file: the same for a model of many MB of weights, with `inspect` and a mere `onnx.load` beside it.

First inference: the processor time of the inference of a fixture in a process in which the tool has inferred nothing
but another small model, so that imports are paid for and nothing else is; then that of the second inference of the same
model.

In process: the same of generated models, once warm, and how it grows with the model. `--json` keeps the figures of the
fixtures for docs/make_figures.py.
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
from importlib.metadata import PackageNotFoundError, version
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
    """One child process: processor seconds and peak MiB; no seconds when it failed."""

    seconds: float | None
    peak: float


def run(command: Sequence[str]) -> Turn:
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=HERE, env=ENVIRONMENT)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = usage.ru_utime + usage.ru_stime
    child.returncode = os.waitstatus_to_exitcode(status)
    return Turn(elapsed if child.returncode == 0 else None, usage.ru_maxrss / 1024)


def script(tool: str, path: Path, *options: str) -> list[str]:
    return [sys.executable, str(HERE / "tools.py"), tool, str(path), *options]


def command(tool: str, path: Path) -> list[str]:
    return [PROGRAM, "infer", str(path)] if tool == OURS else script(tool, path)


def turns(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, list[Turn]]:
    """Each command `runs` times, in turns."""
    found: dict[str, list[Turn]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, words in commands.items():
            found[name].append(run(words))
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


def whole_processes(
    nodes: Sequence[int], fixtures: Sequence[Path], runs: int, limit: int, folder: Path
) -> dict[str, dict[str, float | list[str]]]:
    """Per tool what the fixtures come to."""
    paths = {path.stem: path for path in fixtures}
    sizes = dict.fromkeys(paths, 0)
    for size in nodes:
        name = f"transformer of {size} nodes"
        paths[name] = make(folder / f"{size}.onnx", f"onnx.save(models.transformer({size}), path)")
        sizes[name] = size
    least: dict[str, tuple[float, str]] = {}
    ratios: dict[str, list[float]] = {}
    peaks: dict[str, list[float]] = {}
    exact: dict[str, list[float]] = {}
    fails: dict[str, list[str]] = {}
    for name, path in paths.items():
        tools = tools_for(sizes[name], limit)
        found = turns({tool: command(tool, path) for tool in tools}, runs)
        print(f"\n{name}, whole processes")
        shares = coverage(path, tools)
        report(found, shares)
        for tool in tools:
            ratio = paired(found[tool], found[OURS])
            if ratio is not None and tool != OURS:
                least[tool] = min(least.get(tool, (ratio, name)), (ratio, name))
            if sizes[name] == 0:
                peaks.setdefault(tool, []).extend(turn.peak for turn in found[tool])
                if ratio is None:
                    fails.setdefault(tool, []).append(name)
                else:
                    ratios.setdefault(tool, []).append(ratio)
                    exact.setdefault(tool, []).append(100 * shares[tool][1])
    for tool, (ratio, name) in least.items():
        print(f"{tool} takes at least {ratio:.2f} times as long as {OURS} ({name})")
    return {
        tool: {
            "ratio_least": min(found_ratios),
            "ratio_most": max(found_ratios),
            "peak_least": min(peaks[tool]),
            "peak_most": max(peaks[tool]),
            "exact": statistics.mean(exact[tool]),
            "exact_least": min(exact[tool]),
            "fails": fails.get(tool, []),
        }
        for tool, found_ratios in ratios.items()
    }


def record(path: Path, figures: Mapping[str, object]) -> None:
    """Keep figures, with what they were measured of, where docs/make_figures.py reads them."""
    import onnx

    versions = {name: version(name) for name in ("onnx", "onnxruntime", "onnx-shape-inference") if is_there(name)}
    python = ".".join(map(str, sys.version_info[:2]))
    stated = {
        "python": python,
        **versions,
        "fixtures": len(list(FIXTURES.glob("*.onnx"))),
        "nodes": {path.stem: len(onnx.load(path).graph.node) for path in sorted(FIXTURES.glob("*.onnx"))},
    }
    path.write_text(json.dumps({"measured": stated, **figures}, indent=1) + "\n")


def is_there(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


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


def first_inferences(fixtures: Sequence[Path], runs: int) -> dict[str, dict[str, list[float] | None]]:
    """Per fixture and tool the processor seconds of the first inference in a fresh process, and of the second.

    Tools take turns; of several turns it is the median. The tool has inferred another small model before.
    """
    tools = tools_for(0, 0)
    turns: list[dict[str, dict[str, list[float] | None]]] = []
    for _ in range(runs):
        turns.append({})
        for tool in tools:
            words = [sys.executable, str(HERE / "tools.py"), tool, "--first", *map(str, fixtures)]
            done = subprocess.run(words, capture_output=True, text=True, cwd=HERE, env=ENVIRONMENT, check=True)
            turns[-1][tool] = json.loads(done.stdout)
    found: dict[str, dict[str, list[float] | None]] = {}
    for path in fixtures:
        found[path.stem] = {}
        for tool in tools:
            times = [turn[tool][str(path)] for turn in turns]
            known = [pair for pair in times if pair is not None]
            found[path.stem][tool] = [statistics.median(pair[k] for pair in known) for k in (0, 1)] if known else None
    return found


def report_first(found: Mapping[str, Mapping[str, list[float] | None]]) -> None:
    """A line per fixture, of the first inference, as a multiple of ours."""
    others = [tool for tool in tools_for(0, 0) if tool != OURS]
    print(f"\nfirst inference in a fresh process\n  {'':32}{'seconds':>9}" + "".join(f"{t:>17}" for t in others))
    for name, times in found.items():
        ours = times[OURS]
        assert ours is not None, "it fails on no fixture"
        ratios = [None if (theirs := times[tool]) is None else theirs[0] / ours[0] for tool in others]
        texts = ["fails" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        print(f"  {name:32}{ours[0]:9.4f}" + "".join(f"{text:>17}" for text in texts))


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
    parser.add_argument("--json", type=Path, help="keep the figures of the fixtures in this file")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=10_000, help="nodes above which no tool in Python is run")
    options = parser.parse_args()
    fixtures = [FIXTURES / f"{name}.onnx" for name in options.fixtures]
    if options.all_fixtures:
        fixtures = sorted(FIXTURES.glob("*.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        whole = whole_processes(options.nodes, fixtures, options.runs, options.limit, Path(folder))
        if options.megabytes:
            large_file(options.megabytes, options.runs, Path(folder))
    first = first_inferences(fixtures, options.runs)
    report_first(first)
    if options.json:
        record(options.json, {"first": first, "whole": whole})
    in_process(sorted(options.nodes), options.runs, options.limit)  # last: it fills this process


if __name__ == "__main__":
    main()
