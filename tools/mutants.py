"""Mutation testing: small changes of the source, drawn by a seed, each of which should make a test fail.

    python tools/mutants.py --places 100 --seed 1
    python tools/mutants.py --rooms gather_infer/equality --tests tests/equality --least 95

Works on copies in a temporary folder; the tree itself is only read. The whole suite runs once under coverage, which
tells what each test reaches (`--reach FILE` keeps that, and reads it back as long as the sources are the same). Each
change then is asked by the tests that reach the place, quick and specific ones first, until one fails: those of a
function in children of a process that has collected all tests, those of what runs at import in a process of their own.
A test that fails without any change takes no part. Exits with 1 when fewer than `--least` percent of the changes are
noticed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import os
import queue
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation import Place, places, sources, users

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("gather_infer/inference", "gather_infer/validate")
START = 30
"""Seconds that a run may take before its first test."""
SLOWER = 5
"""How many times the usual seconds a test may take before the change counts as noticed."""
MEMORY = 8 << 30
"""Bytes that a run may allocate: a changed loop may never end."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of the tests for one change; `test` is the first that failed, `ran` how many were run."""

    place: Place
    result: str
    ran: int
    seconds: float
    test: str = ""


def copied(to: Path) -> Path:
    """A copy of the tree, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def started(tree: Path, arguments: list[str], variables: dict[str, str], **options: Any) -> subprocess.Popen[str]:
    """A pytest in a tree."""
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tools'}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, *arguments, "-p", "reach", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--tb=line"],
        cwd=tree, env={**environment, **variables}, text=True, start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)), **options,
    )  # fmt: skip


def run_tests(tree: Path, arguments: list[str], variables: dict[str, str], seconds: float | None) -> tuple[int, str]:
    """The exit code and the output of pytest in a tree; -1 when the seconds are over."""
    process = started(tree, arguments, variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # with the processes that tests have started
        process.communicate()
        return -1, ""
    return process.returncode, output


class Server:
    """A pytest in a tree that has collected all tests and runs some of them in children, with a function changed."""

    def __init__(self, tree: Path, paths: list[str]) -> None:
        self.tree = tree
        asked, questions = os.pipe()
        answers, answered = os.pipe()
        output = tree / "output.txt"
        with output.open("w") as stream:
            variables = {"REACH_SERVE": f"{asked},{answered}"}
            arguments = ["-m", "pytest", f"--basetemp={tree / 'temporary'}", *paths]
            self.process = started(tree, arguments, variables, stdout=stream, stderr=stream, pass_fds=(asked, answered))
        os.close(asked)
        os.close(answered)
        self.questions, self.answers = os.fdopen(questions, "w"), os.fdopen(answers)
        if self.answers.readline() != "ready\n":
            sys.exit(f"the tests are not collected:\n{output.read_text()[-4000:]}")

    def ask(self, place: Place, tests: list[str], seconds: float) -> tuple[str, str]:
        """The result, and the test that failed, of what now is in the place's file."""
        question = {
            "file": str(self.tree / place.file), "function": place.function, "tests": tests, "seconds": seconds,
        }  # fmt: skip
        print(json.dumps(question), file=self.questions, flush=True)
        answer = json.loads(self.answers.readline())
        return answer["result"], answer["test"]

    def close(self) -> None:
        self.questions.close()
        self.process.wait()


def fingerprint(tree: Path) -> str:
    """Of all that decides which test reaches what."""
    found = sources(tree, ("gather_infer", "cli", "tests"))
    return hashlib.sha256(
        b"\0".join(part for name, text in found.items() for part in (name.encode(), text))
    ).hexdigest()


def reach(tree: Path, kept: Path | None, rooms: list[str], paths: list[str]) -> dict[str, dict[str, Any]]:
    """Per test its seconds and the lines it reaches; recorded when what is kept belongs to other sources."""
    stamp = " ".join([fingerprint(tree), *rooms, *paths])
    if kept is not None and kept.exists():
        found: dict[str, Any] = json.loads(kept.read_text())
        if found["stamp"] == stamp:
            return dict(found["tests"])
    record = tree / "reach.json"
    settings = tree / ".mutants-coveragerc"
    include = "".join(f"\n  {tree}/{room}/*" for room in rooms)
    settings.write_text(f"[run]\ndata_file = {tree}/.coverage\ninclude ={include}\n")
    arguments = ["-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", *paths]
    code, output = run_tests(tree, arguments, {"REACH_RECORD": str(record)}, None)
    if not record.exists():
        sys.exit(f"the tests do not run (exit code {code}):\n{output[-4000:]}")
    found = json.loads(record.read_text())
    for test in found["failed"]:
        print(f"left out, fails without a change: {test}")
    if kept is not None:
        kept.write_text(json.dumps({"stamp": stamp, "tests": found["tests"]}))
    return dict(found["tests"])


class Selection:
    """Which tests reach a place."""

    def __init__(self, tests: dict[str, dict[str, Any]], trees: dict[str, ast.Module], seconds: float) -> None:
        self.tests, self.trees, self.seconds = tests, trees, seconds
        self.by_line: dict[tuple[str, int], set[str]] = {}
        for test, found in tests.items():
            for file, lines in found["lines"].items():
                for line in lines:
                    self.by_line.setdefault((file, line), set()).add(test)

    def of(self, place: Place) -> list[str]:
        """The tests that reach a place, quick and specific ones first, as many as the seconds are enough for."""
        levels = [{(place.file, line) for line in place.lines}]
        names, known = place.names, place.names
        if names:
            levels.clear()
        while names:
            used, more = users(names, self.trees)
            levels.append(used)
            names, known = more - known, known | more
        found: dict[str, None] = {}  # those of who uses a name first, then those of who uses that
        for lines in levels:
            tests = set().union(*(self.by_line.get(line, set()) for line in lines))
            found |= dict.fromkeys(sorted(tests, key=self.weight))
        chosen: list[str] = []
        total = 0.0
        for test in found:
            total += self.tests[test]["seconds"]
            if chosen and total > self.seconds:
                break
            chosen.append(test)
        return chosen

    def weight(self, test: str) -> tuple[float, str]:
        found = self.tests[test]
        return found["seconds"] * sum(map(len, found["lines"].values())), test


def judged(place: Place, source: bytes, server: Server, selection: Selection) -> Outcome:
    """The outcome of one change, made in a copy and taken back there."""
    chosen = selection.of(place)
    if not chosen:
        return Outcome(place, "not reached", 0, 0)
    seconds = START + SLOWER * sum(selection.tests[test]["seconds"] for test in chosen)
    start = time.perf_counter()
    (server.tree / place.file).write_bytes(place.applied(source))
    try:
        result, test = server.ask(place, chosen, seconds) if place.function else ("unfit", "")
        if result == "unfit":
            result, test = anew(server.tree, chosen, seconds)
    finally:
        (server.tree / place.file).write_bytes(source)
    return Outcome(place, result, len(chosen), time.perf_counter() - start, test)


def anew(tree: Path, chosen: list[str], seconds: float) -> tuple[str, str]:
    """The result of some tests in a process of their own, and the one that failed."""
    (tree / "select.txt").write_text("\n".join(chosen))
    files = list(dict.fromkeys(test.partition("::")[0] for test in chosen))
    variables = {"REACH_SELECT": str(tree / "select.txt")}
    code, output = run_tests(tree, ["-m", "pytest", "-x", *files], variables, seconds)
    result = {0: "survived", -1: "timed out"}.get(code, "killed")
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return result, failed[0] if failed else f"exit code {code}"


def show(number: int, outcome: Outcome, source: bytes, *, is_long: bool) -> None:
    place = outcome.place
    where = f"{place.file} {place.within or 'module'}"
    print(f"{number:3} {outcome.result:11} {outcome.seconds:6.1f} s  {where}: {place.kind}", flush=True)
    if is_long or outcome.result not in ("killed", "timed out"):
        print("\n".join(f"      {line}" for line in place.diff(source).splitlines()))
        asked = f"{outcome.ran} tests" if outcome.result == "survived" else outcome.test[:150]
        print(f"      {asked}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=int, default=100, help="how many changes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: %(default)s)")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only places whose file or function has this in its name"
    )
    parser.add_argument("--rooms", nargs="+", default=[*ROOMS], help="folders to change (default: %(default)s)")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="the tests to ask (default: all)")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=2, help="runs at a time (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=120, help="of tests per change (default: %(default)s)")
    parser.add_argument("--least", type=float, default=90, help="percent to notice (default: %(default)s)")
    parser.add_argument("--reach", type=Path, metavar="FILE", help="where to keep which test reaches what")
    parser.add_argument("--list", action="store_true", help="show the places and run nothing")
    options = parser.parse_args()

    texts = sources(ROOT, tuple(options.rooms))
    every = [p for file, text in texts.items() for p in places(file, text)]
    every = [p for p in every if options.only in f"{p.file} {p.within}"]
    random.Random(options.seed).shuffle(every)
    drawn = list(itertools.islice((p for p in every if p.is_valid(texts[p.file])), options.places))
    print(f"{len(drawn)} of {len(every)} places in {len(texts)} files, seed {options.seed}", flush=True)
    if options.list:
        for number, place in enumerate(drawn, 1):
            show(number, Outcome(place, "drawn", 0, 0), texts[place.file], is_long=True)
        return 0

    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        servers: queue.Queue[Server] = queue.Queue()
        copies = [copied(Path(folder) / str(number)) for number in range(options.workers)]
        tests = reach(copies[0], options.reach, options.rooms, options.tests)
        selection = Selection(tests, {file: ast.parse(text) for file, text in texts.items()}, options.seconds)
        for copy in copies:
            servers.put(Server(copy, options.tests))

        def work(place: Place) -> Outcome:
            server = servers.get()
            try:
                return judged(place, texts[place.file], server, selection)
            finally:
                servers.put(server)

        outcomes = []
        with ThreadPoolExecutor(options.workers) as pool:
            for number, outcome in enumerate(pool.map(work, drawn), 1):
                show(number, outcome, texts[outcome.place.file], is_long=False)
                outcomes.append(outcome)
        while not servers.empty():
            servers.get().close()
    noticed = sum(outcome.result in ("killed", "timed out") for outcome in outcomes)
    counts = {result: sum(o.result == result for o in outcomes) for result in sorted({o.result for o in outcomes})}
    score = 100 * noticed / max(1, len(outcomes))
    print(f"{', '.join(f'{count} {result}' for result, count in counts.items())}: {score:.0f} of 100 noticed")
    return 0 if score >= options.least else 1


if __name__ == "__main__":
    sys.exit(main())
