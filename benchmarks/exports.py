"""Exports of many small PyTorch networks with random weights, by both of torch's exporters.

    python benchmarks/exports.py OUT [--only NAME ...] [--exporter dynamo|torchscript] [--jobs N]
    python benchmarks/exports.py OUT --static --batch 4

OUT gets NAME-EXPORTER.onnx and manifest.json, which has for each file the inputs (element type, dims, how their values
are drawn), outputs, opset, seed, versions, and how far onnxruntime is from torch at several sizes. An architecture is
exported with all its sizes dynamic, or, where an exporter refuses that or gives something else than torch, with its
batch alone; `symbols` lists those that are dynamic. With `--static` all sizes are numbers, the batch is that of
`--batch`, and the file is called NAME-EXPORTER-bN.onnx.

Each file is made by a process with a time limit. Where none results, `error` of the manifest has the reason. A run
continues an earlier one: what the manifest has is kept, unless `--again` is given.

Needs what fixtures/requirements.txt lists. The networks are those of benchmarks/networks and benchmarks/exported,
without the architectures of the fixtures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECONDS = 300
EXPORTERS = ("dynamo", "torchscript")
DEFAULT_BATCH = 2


@dataclass(frozen=True, slots=True)
class Task:
    """A file to be made; `batch` is the example's, None for that of the architecture."""

    architecture: str
    exporter: str
    batch: int | None
    is_static: bool

    @property
    def file(self) -> str:
        suffix = f"-b{self.batch}" if self.is_static else ""
        return f"{self.architecture}-{self.exporter}{suffix}.onnx"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of the exports")
    parser.add_argument("--only", nargs="*", default=["*"], metavar="NAME", help="patterns of architectures' names")
    parser.add_argument("--exporter", choices=EXPORTERS, action="append", help="both by default")
    parser.add_argument("--static", action="store_true", help="fix all sizes")
    parser.add_argument("--batch", type=int, metavar="N", help=f"the example's batch; {DEFAULT_BATCH} with --static")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--again", action="store_true", help="repeat what the manifest has")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    options = parser.parse_args()
    # The order of sets reaches the exports.
    if os.environ.get("PYTHONHASHSEED") != "0" or find_spec("fixtures") is None:
        return subprocess.call([sys.executable, *sys.argv], env=environment())
    from exported.table import ARCHITECTURES

    chosen = [[name for name in ARCHITECTURES if fnmatch(name, pattern)] for pattern in options.only]
    names = list(dict.fromkeys(name for each in chosen for name in each))  # in the order of the patterns
    if options.list:
        print("\n".join(names))
        return 0
    for pattern in options.only:
        if not any(fnmatch(name, pattern) for name in names):
            parser.error(f"no architecture is called {pattern}; --list prints the names")
    batch = DEFAULT_BATCH if options.static and options.batch is None else options.batch
    exporters = options.exporter or EXPORTERS
    tasks = [Task(name, exporter, batch, options.static) for name in names for exporter in exporters]
    options.out.mkdir(parents=True, exist_ok=True)
    entries = make_all(tasks, options.out.resolve(), options.jobs, options.again)
    summary(entries)
    return 0


def environment() -> dict[str, str]:
    """The repository and this folder are importable, threads are few, the order of sets is fixed."""
    paths = [str(HERE.parent), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return os.environ | threads | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}


def make_all(tasks: list[Task], folder: Path, jobs: int, again: bool) -> dict[str, dict[str, Any]]:
    """The manifest's entries after all tasks. It is written after each."""
    path = folder / "manifest.json"
    entries = read(path)
    missing = [task for task in tasks if again or not is_made(task, folder, entries)]
    print(f"{len(tasks)} files, {len(missing)} to be made", flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(run, task, folder): task for task in missing}
        for future in as_completed(futures):
            task, found = futures[future], future.result()
            if found["error"] is not None:
                (folder / task.file).unlink(missing_ok=True)  # of an earlier run
            entry = {
                "architecture": task.architecture,
                "exporter": task.exporter,
                "static": task.is_static,
                "batch": task.batch,
                **found,
            }
            entries = read(path) | {task.file: entry}  # another run may have written meanwhile
            write(path, dict(sorted(entries.items())))
            print(line(task.file, entries[task.file]), flush=True)
    return {task.file: entries[task.file] for task in tasks}


def is_made(task: Task, folder: Path, entries: dict[str, dict[str, Any]]) -> bool:
    entry = entries.get(task.file)
    return entry is not None and (entry["error"] is not None or (folder / task.file).exists())


def read(path: Path) -> dict[str, dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return entries


def write(path: Path, entries: dict[str, dict[str, Any]]) -> None:
    """One line for each file; replaced as a whole, so that others can read it meanwhile."""
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items())
    part = path.with_suffix(".part")
    part.write_text(f"{{\n{lines}\n}}\n")
    part.replace(path)


def run(task: Task, folder: Path) -> dict[str, Any]:
    """The entry that a child process returns, or why there is none."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["exported.warm"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sender, task, folder))
    process.start()
    sender.close()
    try:
        if receiver.poll(SECONDS):
            found: dict[str, Any] = receiver.recv()
            process.join(10)
        else:
            found = {"error": f"took longer than {SECONDS} s"}
    except EOFError:
        process.join()
        found = {"error": f"the process ended with {process.exitcode}"}
    process.kill()
    process.join()
    receiver.close()
    return found


def child(sender: Connection, task: Task, folder: Path) -> None:
    from exported.worker import export, first_line

    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)  # both exporters print graphs that they cannot export
    os.dup2(silence, 2)
    try:
        found = export(task.architecture, task.exporter, task.batch, task.is_static, folder / task.file)
    except Exception as error:  # noqa: BLE001 (whatever an exporter raises is recorded)
        found = {"error": first_line(error)}
    sender.send(found)


def line(file: str, entry: dict[str, Any]) -> str:
    if entry["error"] is not None:
        return f"{file}: {entry['error']}"
    failures = [run["failure"] for run in entry["verified"] if run["failure"] is not None]
    verdict = failures[0] if failures else f"verified {len(entry['verified'])} times"
    symbols = ", ".join(entry["symbols"]) or "static"
    return f"{file}: {entry['bytes']} bytes, {entry['nodes']} nodes, {symbols}; {verdict}"


def summary(entries: dict[str, dict[str, Any]]) -> None:
    exported = [entry for entry in entries.values() if entry["error"] is None]
    verified = sum(entry["verifies"] for entry in exported)
    architectures = len({entry["architecture"] for entry in exported})
    print(f"{len(exported)} of {len(entries)} files, of {architectures} architectures; {verified} verified")
    for reason, count in Counter(entry["error"] for entry in entries.values() if entry["error"]).most_common():
        print(f"{count:4}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
