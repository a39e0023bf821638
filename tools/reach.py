"""A plugin of pytest for `mutants.py`: notes which lines each test reaches, or runs some tests in a given order.

REACH_RECORD   a file to write: per test its seconds and the lines that it reaches, by file; coverage does the measuring
REACH_SELECT   a file with the tests to run, first things first
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

RECORD, SELECT = os.environ.get("REACH_RECORD"), os.environ.get("REACH_SELECT")
_seconds: dict[str, float] = {}
_failed: set[str] = set()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if RECORD is None:
        return (yield)
    from coverage import Coverage

    measuring = Coverage.current()
    assert measuring is not None, "the tests run under coverage"
    measuring.switch_context(item.nodeid)
    start = time.perf_counter()
    result = yield
    _seconds[item.nodeid] = time.perf_counter() - start
    measuring.switch_context("")
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if SELECT is None:
        return
    chosen = {nodeid: at for at, nodeid in enumerate(Path(SELECT).read_text().splitlines())}
    left_out = [item for item in items if item.nodeid not in chosen]
    config.hook.pytest_deselected(items=left_out)
    items[:] = sorted((item for item in items if item.nodeid in chosen), key=lambda item: chosen[item.nodeid])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if RECORD is None:
        return
    from coverage import Coverage

    measuring = Coverage.current()
    assert measuring is not None, "the tests run under coverage"
    measuring.stop()
    data = measuring.get_data()
    reached: dict[str, dict[str, list[int]]] = {}
    for file in data.measured_files():
        name = Path(file).relative_to(session.config.rootpath).as_posix()
        for line, tests in data.contexts_by_lineno(file).items():
            for test in tests:
                reached.setdefault(test, {}).setdefault(name, []).append(line)
    found = {
        test: {"seconds": seconds, "lines": reached.get(test, {})}
        for test, seconds in _seconds.items()
        if test not in _failed
    }
    Path(RECORD).write_text(json.dumps({"tests": found, "failed": sorted(_failed)}))
