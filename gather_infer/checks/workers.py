"""Processes of our own that work through files; one that dies costs the file that it had, and is replaced."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import Any, Final, TypeAlias

from gather_infer.checks.result import LOST, CheckResult
from gather_infer.checks.worker import READY
from gather_infer.diagnostic import diagnostic
from gather_infer.errors import GatherInferError, UsageError
from gather_infer.processes import LAST_BYTES, ending, last_words

Task: TypeAlias = Callable[[str], CheckResult]

ATTEMPTS: Final = 2
"""Processes that a file may end before it is given up: the first may have been ended for another's sake."""

_START = "import sys; sys.path[:] = {path!r}; from gather_infer.checks.worker import main; main()"
_ENDED = (EOFError, OSError, pickle.UnpicklingError)
"""What a pipe says whose other end is gone, perhaps in the middle of an answer."""


def results(task: Task, paths: Sequence[str], jobs: int) -> Iterator[CheckResult]:
    """The result of each file, in the order in which they arrive; the processes end with the iteration.

    Raises what the task raises for any of the files, if it is a GatherInferError, and UsageError when the task cannot
    be handed to another process.
    """
    try:
        order = pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(f"rules must be defined in a module, so that other processes find them: {error}") from error
    workers = [Worker(order) for _ in range(max(1, min(jobs, len(paths))))]
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def work(path: str) -> CheckResult:
        worker = idle.get()
        try:
            return worker.result(path)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(len(workers), "gather-infer-check")
    futures: set[Future[CheckResult]] = {pool.submit(work, path) for path in paths}
    try:
        yield from (future.result() for future in as_completed(futures))
    finally:
        for future in futures:
            future.cancel()
        for worker in workers:
            worker.close()
        pool.shutdown()


class Worker:
    """A process that has a task; it is started when it is needed, and anew when it has ended."""

    def __init__(self, order: bytes) -> None:
        self._order = order
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._is_closed = False

    def result(self, path: str) -> CheckResult:
        """The result of a file, or the finding that it ends every process that has it."""
        ending = ""
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            process = self._process or self._start()
            try:
                answer = _ask(process, path)
            except _ENDED:
                ending = self._end()
                continue
            if isinstance(answer, GatherInferError):
                raise answer
            assert isinstance(answer, CheckResult), "a task gives results"
            return answer
        return CheckResult(path, (diagnostic(LOST, f"its process ended {ending}"),))

    def close(self) -> None:
        """End the process; a file that it has is given up."""
        self._is_closed = True
        if self._process is not None:
            self._process.kill()
            self._end()
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        # What the process may import is what its parent may, wherever it runs.
        path = [os.path.abspath(entry) for entry in sys.path]
        self._log.seek(0)
        self._log.truncate()
        process = self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        assert process.stdin is not None, "it is a pipe"
        try:
            process.stdin.write(self._order)
            ready = _answer(process)
        except _ENDED as error:
            raise UsageError(f"a process for the checks did not start: it ended {self._end()}") from error
        assert ready == READY, "the first answer"
        return process

    def _end(self) -> str:
        """How the process ended, which is over now."""
        process, self._process = self._process, None
        if process is None:
            return ""
        for stream in (process.stdin, process.stdout):
            assert stream is not None, "both are pipes"
            with suppress(OSError):  # what nobody read
                stream.close()
        code = process.wait()
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - LAST_BYTES))
        return f"{ending(code)}{last_words(self._log.read())}"


def _ask(process: subprocess.Popen[bytes], path: str) -> Any:
    assert process.stdin is not None, "it is a pipe"
    pickle.dump(path, process.stdin)
    return _answer(process)


def _answer(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdin is not None and process.stdout is not None, "both are pipes"
    process.stdin.flush()
    return pickle.load(process.stdout)
