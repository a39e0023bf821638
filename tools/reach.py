"""A plugin of pytest for `mutants.py`: notes which lines each test reaches, or runs some tests in a given order.

REACH_RECORD   a file to write: per test its seconds and the lines that it reaches, by file; coverage does the measuring
REACH_SELECT   a file with the tests to run, first things first
REACH_SERVE    two file descriptors, `in,out`: collects once, then answers questions, a line of JSON each, in children
               that see a function changed: `forked`
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import signal
import time
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType

import pytest

RECORD, SELECT, SERVE = (os.environ.get(f"REACH_{name}") for name in ("RECORD", "SELECT", "SERVE"))
UNFIT = 3
"""The exit code of a child that has asked no test."""
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    if SERVE is None:
        return None
    asked, answers = (os.fdopen(int(number), mode) for number, mode in zip(SERVE.split(","), "rw", strict=True))
    items = {item.nodeid: item for item in session.items}
    functions: dict[tuple[str, str], list[FunctionType]] = {}
    caches = []
    for found in gc.get_objects():
        if isinstance(found, FunctionType):
            functions.setdefault((found.__code__.co_filename, found.__qualname__), []).append(found)
        elif isinstance(found, functools._lru_cache_wrapper) and found.__module__.startswith("gather_infer"):
            caches.append(found)
    gc.freeze()  # so that children share it
    print("ready", file=answers, flush=True)
    for line in asked:
        question = json.loads(line)
        for cache in caches:
            cache.cache_clear()
        chosen = [items[test] for test in question["tests"] if test in items]
        print(json.dumps(forked(question, chosen, functions)), file=answers, flush=True)
    return True


def forked(
    question: dict[str, str], items: list[pytest.Item], functions: dict[tuple[str, str], list[FunctionType]]
) -> dict[str, str]:
    """The result of some tests in a child process where one function has the code that its file has now.

    "unfit" when it cannot be given that code: a closure with other variables, say.

    question   `file`, the qualified name of the `function`, and for how many `seconds` the child may run
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = UNFIT
        try:
            os.setsid()
            _exchange(question["file"], question["function"], functions)
            code = 1
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if _failed:
                    os.write(writing, item.nodeid.encode())
                    break
            else:
                code = 0
        finally:
            os._exit(code)  # whatever ends the child otherwise has noticed the change
    os.close(writing)
    last = time.monotonic() + float(question["seconds"])
    ended = status = 0
    while not ended and time.monotonic() < last:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0 if ended else 0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # with the processes that tests have started
    if not ended:
        os.waitpid(child, 0)
    with os.fdopen(reading) as stream:
        test = stream.read()
    exit_code = os.waitstatus_to_exitcode(status)
    result = "timed out" if not ended else {0: "survived", UNFIT: "unfit"}.get(exit_code, "killed")
    return {"result": result, "test": test or f"exit code {exit_code}"}


def _exchange(file: str, name: str, functions: dict[tuple[str, str], list[FunctionType]]) -> None:
    """Give the functions of that name, and those inside them, the code of the file as it is now.

    A file that was not imported yet needs no exchange.
    """
    changed: dict[str, list[CodeType]] = {}
    pending = [("", compile(Path(file).read_bytes(), file, "exec"))]
    while pending:
        prefix, code = pending.pop()
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                qualname = f"{prefix}{inner.co_name}"
                changed.setdefault(qualname, []).append(inner)
                pending.append((f"{qualname}.<locals>." if inner.co_flags & CO_OPTIMIZED else f"{qualname}.", inner))
    for (of, qualname), found in functions.items():
        if of == file and (qualname == name or qualname.startswith(f"{name}.<locals>")):
            places = sorted({function.__code__.co_firstlineno for function in found})
            codes = sorted(changed[qualname], key=lambda code: code.co_firstlineno)
            for function in found:
                function.__code__ = codes[places.index(function.__code__.co_firstlineno)]
