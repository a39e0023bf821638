"""Faults planted in the source of a package, one at a time: its tests have to fail with each of them.

A module with a table of faults, such as `tests.oracle.prover_faults`, runs them. Each fault is planted in a copy of
`gather_infer` in a temporary folder. The tests that are quick, and those of the module with the fault, run first; the
first failure ends them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import gather_infer

REPO: Final = Path(__file__).parents[2]
PACKAGE: Final = Path(gather_infer.__file__).parent
"""The package, which may be an installed one."""
LINKED: Final = ("tests", "fixtures", "cli", "docs", "pyproject.toml")
"""Beside the copy of the package; nothing is written there."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in a module.

    module    its path in the folder of the table, without `.py`
    old, new  the text, which occurs there once, and the one in its place
    wrong     the error that it is
    """

    module: str
    old: str
    new: str
    wrong: str

    def planted(self, text: str) -> str:
        """The text of the module with the fault. Raises ValueError unless `old` occurs once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.module}: {text.count(self.old)} occurrences of {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Result:
    """The run of the tests with a fault.

    test     the test that failed; "" if none did
    seconds  the time that it took
    """

    test: str
    seconds: float


@dataclass(frozen=True, slots=True)
class FaultTable:
    """The faults of a package and the tests that have to find them.

    folder  of the package, such as gather_infer/equality
    tests   files of tests, the quick ones first
    first   module -> the tests that are most likely to fail with a fault in it
    """

    folder: Path
    faults: Sequence[Fault]
    tests: Sequence[str]
    first: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def path(self, fault: Fault) -> Path:
        """The module with the fault, relative to the folder that contains `gather_infer`."""
        return self.folder / f"{fault.module}.py"

    def tests_for(self, fault: Fault) -> list[str]:
        """The files of tests, in the order in which they are run for a fault."""
        files = dict.fromkeys((*self.first.get(fault.module, ()), *self.tests))
        return [file for file in files if (REPO / file).exists()]

    def results(self, faults: Sequence[Fault]) -> Iterator[Result]:
        """The results of the faults, each planted in a copy of the package in a temporary folder."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copytree(PACKAGE, folder / "gather_infer")
            for each in LINKED:
                (folder / each).symlink_to(REPO / each)
            for fault in faults:
                file = folder / self.path(fault)
                text = file.read_text(encoding="utf-8")
                _write(file, fault.planted(text))
                try:
                    yield _run_tests(folder, self.tests_for(fault))
                finally:
                    _write(file, text)

    def main(self, where: str) -> int:
        """Run the faults that the command line selects and print a line for each; 1 if a fault lived.

        where  the name of the package in the help
        """
        parser = argparse.ArgumentParser(description=f"Plant faults in {where}, and run its tests.")
        parser.add_argument(
            "--only", type=int, nargs="+", default=None, metavar="N", help="the faults with these numbers"
        )
        parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first fault")
        parser.add_argument("--count", type=int, default=len(self.faults), metavar="N", help="how many faults")
        options = parser.parse_args()
        numbers = options.only or range(len(self.faults))[options.first : options.first + options.count]
        lived = []
        for number, found in zip(numbers, self.results([self.faults[number] for number in numbers]), strict=True):
            fault = self.faults[number]
            verdict = f"caught by {found.test}" if found.test else "LIVED"
            print(f"{number:4} {fault.module}: {fault.wrong}: {verdict} ({found.seconds:.0f} s)", flush=True)
            if not found.test:
                lived.append(number)
        print(f"{len(numbers) - len(lived)} of {len(numbers)} caught; lived: {lived or 'none'}")
        return 1 if lived else 0


def _run_tests(folder: Path, tests: Iterable[str]) -> Result:
    """Run tests on the copy of the package in a folder, until one fails; all cases of those that are sampled."""
    begin = time.monotonic()
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", "-m", "not oracle or sampled"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    failed = re.search(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode and failed is None:
        raise RuntimeError(done.stdout + done.stderr)
    return Result(failed[1] if done.returncode and failed else "", time.monotonic() - begin)


def _write(file: Path, text: str) -> None:
    """Write a module; a compiled one of the same second and size would be taken for its own."""
    file.write_text(text, encoding="utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()
