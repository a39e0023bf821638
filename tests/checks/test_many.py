"""Many files, in our own processes, in a pool, on a cluster: what a file does to its worker costs that file alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gather_infer import CheckResult, UsageError, check_many
from gather_infer.rules import RuleSet
from tests.checks.killing import rules
from tests.checks.small_models import called, folder_of

DEADLY = [rules]


@pytest.fixture
def mixed(tmp_path: Path) -> list[str]:
    """20 models, one of which is none and one of which kills who reads it."""
    paths = folder_of(tmp_path, 20)
    Path(paths[3]).write_bytes(b"\x08\x08no model")
    Path(paths[7]).write_bytes(called("Killer").SerializeToString())
    return paths


def judged(results: Iterator[CheckResult]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for result in results:
        assert result.model not in found, "each file once"
        found[result.model] = [d.code for d in result.errors]
    return found


def expected(paths: list[str]) -> dict[str, list[str]]:
    codes: dict[str, list[str]] = {path: [] for path in paths}
    return codes | {paths[3]: ["GI001"], paths[7]: ["GI002"]}


def test_own_processes_survive(mixed: list[str]) -> None:
    results = list(check_many(mixed, rules=DEADLY, jobs=2))
    assert judged(iter(results)) == expected(mixed)
    (lost,) = (d for r in results for d in r.diagnostics if d.code == "GI002")
    assert lost.message == "its process ended by SIGKILL"


def test_an_error_in_a_rule_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "fault.onnx"
    path.write_bytes(called("Fault").SerializeToString())
    (result,) = check_many([path], rules=DEADLY)
    (told,) = (d.message for d in result.errors)
    assert "killing.py:" in told and told.endswith(" node: ZeroDivisionError: a rule with a mistake"), told
    assert result.exit_code() == 2


def test_a_pool_that_breaks(mixed: list[str]) -> None:
    with ProcessPoolExecutor(2) as pool:
        assert judged(check_many(mixed, rules=DEADLY, executor=pool, jobs=2)) == expected(mixed)


def test_a_pool_that_is_broken_already(mixed: list[str]) -> None:
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(os._exit, 1).exception() is not None
        assert judged(check_many(mixed[:3], executor=pool, jobs=1)) == {path: [] for path in mixed[:3]}


def test_threads_are_an_executor(tmp_path: Path) -> None:
    paths = folder_of(tmp_path, 8)
    with ThreadPoolExecutor(2) as threads:
        assert judged(check_many(paths, executor=threads)) == {path: [] for path in paths}


class Dropping(Executor):
    """Cancels every second task, as a scheduler does that is gone."""

    def __init__(self) -> None:
        self.number = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.number += 1
        if self.number % 2:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_what_is_cancelled_is_done_here(tmp_path: Path) -> None:
    paths = folder_of(tmp_path, 4)
    assert judged(check_many(paths, executor=Dropping(), jobs=1)) == {path: [] for path in paths}


def test_a_dask_cluster(mixed: list[str]) -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # else four workers die of it, one by one
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = judged(check_many(mixed, rules=DEADLY, executor=client.get_executor(), jobs=2))
    assert found == expected(mixed)


class Late(Executor):
    """Does the first of what it is handed when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if not self.waiting:
            self.waiting.append(lambda: future.set_result(fn(*args, **kwargs)))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_results_come_as_they_are_done(tmp_path: Path) -> None:
    """All others are there before the first is done."""
    paths, executor = folder_of(tmp_path, 30), Late()
    results = check_many(paths, executor=executor, jobs=2)
    others = [next(results).model for _ in paths[1:]]
    executor.waiting[0]()
    assert sorted(others) == sorted(map(str, paths[1:]))
    assert [result.model for result in results] == [str(paths[0])]


def test_an_iteration_that_is_left_ends_its_processes(tmp_path: Path) -> None:
    results = check_many(folder_of(tmp_path, 30), jobs=2)
    next(results)
    before = children()
    assert before
    assert isinstance(results, Generator)
    results.close()
    deadline = time.monotonic() + 30
    while before & children() and time.monotonic() < deadline:
        time.sleep(0.05)  # they have been told to end
    assert not before & children()


def children() -> set[int]:
    me = str(os.getpid())
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[1] == me and fields[0] != "Z" and b"pool.worker" in entry.with_name("cmdline").read_bytes():
            found.add(int(entry.parent.name))
    return found


def test_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jobs must be 1 or more, is 0"):
        check_many([], jobs=0)
    with pytest.raises(UsageError, match="dims must be a list of strings"):
        check_many([], dims="seq=1")
    local = RuleSet("com.example")
    local.rule("Local")(lambda op: [op.tensor(0)])
    with pytest.raises(UsageError, match="rules must be defined in a module"):
        next(check_many([tmp_path / "any.onnx"], rules=[local]))


def test_a_thousand_files(tmp_path: Path) -> None:
    """As a command, so that its memory and that of its processes can be told: less than 500 MB together."""
    paths = folder_of(tmp_path, 1000)
    Path(paths[500]).write_bytes(b"\x08\x08no model")
    code = (
        "import re, resource, sys; from gather_infer_cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally:\n"
        # ru_maxrss of a process begins with the memory of the one that started it: here of the whole test run
        "    own = int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "    print('memory', own + 2 * others, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, "check", "--jobs", "2", *paths]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    started = time.monotonic()
    arrivals = [(time.monotonic() - started, line) for line in process.stdout]
    _, errors = process.communicate()
    assert process.returncode == 3, errors
    told = Counter("clean" if ": clean" in line else "hurt" if ": 1 error" in line else "" for _, line in arrivals)
    assert (told["clean"], told["hurt"]) == (989, 10)
    assert any("GI001" in line for _, line in arrivals)
    assert arrivals[-1][0] - arrivals[0][0] > 0.5, "results stream"
    kibibytes = int(errors.split("memory ")[1])
    assert 10_000 < kibibytes < 500 * 1000, f"{kibibytes} KiB"
