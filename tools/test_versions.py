"""Runs the tests with the lowest and the newest versions of the dependencies, each in a fresh environment.

    python tools/test_versions.py --python python3.10 --python python3.13
    python tools/test_versions.py --python python3.11 --versions lowest -n 4 tests/inference tests/ops
    python tools/test_versions.py --python python3.11 --versions lowest --pin onnx==1.16.0

It builds the wheel once and installs it, with the extra `test`, into a new environment for each Python and each set of
versions: `lowest` has the lower bounds of pyproject.toml that hold for this Python, `newest` what pip picks. The tests
run on a copy without the sources, against the installed wheel. The table at the end has a line per environment; below
it are the reasons of skipped tests. The exit code is 1 if a test fails or an environment cannot be made.

The environment that runs this script needs `build` and `packaging`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.version import Version

REPO = Path(__file__).resolve().parents[1]
TREE = (
    # what the tests read; the sources stay behind
    "tests", "fixtures", "benchmarks", "docs", "tools", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile",
    "pyproject.toml", "action.yml", ".pre-commit-hooks.yaml", ".github", "recipe", "CITATION.cff", "SECURITY.md",
    "Containerfile", "LICENSE",
)  # fmt: skip
SHOWN = ("onnx", "numpy", "click", "onnx-graphsurgeon", "onnxruntime")
"""The packages whose versions are columns of the table."""


@dataclass
class Outcome:
    """The result of one environment."""

    python: str
    versions: str
    packages: dict[str, str] = field(default_factory=dict)
    passed: int = 0
    failed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    error: str = ""

    def row(self) -> list[str]:
        """The cells of the table."""
        tests = [str(self.passed), str(self.failed), str(self.skipped.total()), f"{self.seconds:.0f} s"]
        shown = [self.packages.get(name, "") for name in SHOWN]
        return [self.python, self.versions, *shown, *(tests if not self.error else [self.error, "", "", ""])]


HEAD = ["Python", "versions", *SHOWN, "passed", "failed", "skipped", "time"]


def run(
    command: Sequence[str | Path], log: Path, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> int:
    """Run `command` with its output appended to `log`; returns the exit code."""
    with log.open("a") as file:
        done = subprocess.run(list(map(str, command)), stdout=file, stderr=subprocess.STDOUT, cwd=cwd, env=environment)
    return done.returncode


def built_wheel(work: Path) -> Path:
    """Build the wheel of the repository. Exits if that fails."""
    log = work / "build.log"
    if run([sys.executable, "-m", "build", "--wheel", "--outdir", work / "dist", REPO], log):
        sys.exit(log.read_text())
    return next((work / "dist").glob("*.whl"))


def requirements(wheel: Path, environment: Mapping[str, str], versions: str, pins: Mapping[str, str]) -> list[str]:
    """The requirements of the wheel with its extra `test`, for the Python of `environment`.

    If `versions` is `lowest`, run-time dependencies are pinned to their `pins`, else to their lower bounds.
    """
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    found: dict[str, str] = {}
    bounds: dict[str, Version] = {}
    for line in lines:
        if not line.startswith("Requires-Dist: "):
            continue
        one = Requirement(line.removeprefix("Requires-Dist: "))
        is_runtime = one.marker is None or one.marker.evaluate({**environment, "extra": ""})
        if not is_runtime and (one.marker is None or not one.marker.evaluate({**environment, "extra": "test"})):
            continue
        bound = pins.get(one.name) or next((s.version for s in one.specifier if s.operator == ">="), "")
        if one.name in bounds and Version(bound or "0") <= bounds[one.name]:
            continue  # another line for this Python has a higher bound
        bounds[one.name] = Version(bound or "0")
        is_pinned = versions == "lowest" and is_runtime and bound
        found[one.name] = f"{one.name}=={bound}" if is_pinned else f"{one.name}{one.specifier}"
    return [*found.values()]


def environment_of(python: str) -> dict[str, str]:
    """The values of environment markers for an interpreter."""
    code = "import sys; v = sys.version_info; print(f'{v[0]}.{v[1]}', f'{v[0]}.{v[1]}.{v[2]}')"
    short, full = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return {"python_version": short, "python_full_version": full}


def tested(
    python: str, versions: str, wheel: Path, work: Path, arguments: Sequence[str], pins: Mapping[str, str]
) -> Outcome:
    """Make an environment with the `versions`, and run the tests in it."""
    markers = environment_of(python)
    outcome = Outcome(markers["python_full_version"], versions)
    home = work / f"{markers['python_version']}-{versions}"
    home.mkdir()
    log, report = home / "log.txt", home / "report.xml"
    venv = home / "venv"
    pip = [venv / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    needed = requirements(wheel, markers, versions, pins)
    makes = [
        [python, "-m", "venv", venv],
        [*pip, "install", "--upgrade", *needed],
        [*pip, "install", "--no-deps", wheel],
    ]
    if any(run(command, log) for command in makes):
        outcome.error = f"cannot be installed, see {log}"
        return outcome
    listed = subprocess.run([str(part) for part in [*pip, "list", "--format=json"]], capture_output=True, text=True)
    outcome.packages = {entry["name"].replace("_", "-"): entry["version"] for entry in json.loads(listed.stdout)}
    tree = home / "tree"
    tree.mkdir()
    for name in TREE:
        source = REPO / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tree / name)
    started = time.monotonic()
    path = os.pathsep.join([str(venv / "bin"), os.environ["PATH"]])
    pytest = [venv / "bin" / "python", "-m", "pytest", f"--junit-xml={report}", *arguments]
    run(pytest, log, tree, {**os.environ, "PATH": path})
    outcome.seconds = time.monotonic() - started
    if not report.exists():
        outcome.error = f"no report, see {log}"
        return outcome
    for case in ET.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
        elif (skip := case.find("skipped")) is not None:
            outcome.skipped[skip.get("message", "")] += 1
        else:
            outcome.passed += 1
    if not outcome.passed:
        outcome.error = f"no test passed, see {log}"
    return outcome


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows as lines of a table in Markdown, the first row as its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        if number == 0:
            yield "|" + "|".join("-" * (width + 2) for width in widths) + "|"


def main() -> int:
    """Parse the command line, run all environments, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter, repeatable; the running one by default")
    parser.add_argument("--versions", choices=["lowest", "newest", "both"], default="both")
    parser.add_argument("--work", type=Path, help="an empty folder for environments and logs, which is kept")
    parser.add_argument("-n", dest="workers", default="auto", help="number of processes of pytest")
    parser.add_argument("tests", nargs="*", help="files or folders of tests; all by default")
    parser.add_argument("--pin", action="append", default=[], metavar="NAME==VERSION", help="instead of a lower bound")
    options = parser.parse_args()
    pins = dict(pin.split("==") for pin in options.pin)
    wanted = ["lowest", "newest"] if options.versions == "both" else [options.versions]
    with tempfile.TemporaryDirectory(prefix="versions-") as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        wheel = built_wheel(work)
        arguments = ["-n", options.workers, *options.tests]
        outcomes = []
        for python in options.python or [sys.executable]:
            for versions in wanted:
                outcomes.append(tested(python, versions, wheel, work, arguments, pins))
                print(" ".join(outcomes[-1].row()), file=sys.stderr, flush=True)
    print("\n".join(table([HEAD, *(outcome.row() for outcome in outcomes)])))
    for outcome in outcomes:
        for reason, count in outcome.skipped.most_common():
            print(f"skipped with {outcome.python} {outcome.versions}: {count} × {reason}")
    return int(any(outcome.failed or outcome.error for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
