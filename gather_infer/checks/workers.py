"""A pool of worker processes for files; a worker that crashes is replaced, and only its current file is lost."""

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

from gather_infer.checks.result import CRASHED, CheckResult
from gather_infer.checks.worker import READY
from gather_infer.diagnostic import diagnostic
from gather_infer.errors import GatherInferError, UsageError
from gather_infer.processes import LOG_TAIL_BYTES, exit_description, last_log_line

Task: TypeAlias = Callable[[str], CheckResult]

ATTEMPTS: Final = 2
"""Number of processes that a file may crash before it gets GI002. A single crash may have another cause: low memory."""

_START = "import sys; sys.path[:] = {path!r}; from gather_infer.checks.worker import main; main()"
_ENDED = (EOFError, OSError, pickle.UnpicklingError)
"""Exceptions of a pipe whose other end has closed, perhaps in the middle of a reply."""


def results(task: Task, paths: Sequence[str], jobs: int) -> Iterator[CheckResult]:
    """Yield the result of `task` for each file, in order of completion, from `jobs` processes.

    The processes end when the iteration ends. Raises the first GatherInferError that the task raises, and UsageError
    if the task cannot be pickled.
    """
    try:
        pickled_task = pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(f"rules must be defined in a module, so that other processes find them: {error}") from error
    workers = [Worker(pickled_task) for _ in range(max(1, min(jobs, len(paths))))]
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
    """A process that runs a pickled task, started at the first request and restarted after a crash."""

    def __init__(self, pickled_task: bytes) -> None:
        self._pickled_task = pickled_task
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._is_closed = False

    def result(self, path: str) -> CheckResult:
        """The result of the task for the file `path`; a result with GI002 if the file crashes ATTEMPTS processes."""
        ending = ""
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            process = self._process or self._start()
            try:
                answer = _request(process, path)
            except _ENDED:
                ending = self._end()
                continue
            if isinstance(answer, GatherInferError):
                raise answer
            assert isinstance(answer, CheckResult), "a task gives results"
            return answer
        return CheckResult(path, (diagnostic(CRASHED, f"its process ended {ending}"),))

    def close(self) -> None:
        """End the process and abandon its current file."""
        self._is_closed = True
        if self._process is not None:
            self._process.kill()
            self._end()
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        # The child imports from the same directories as its parent, whatever its working directory.
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
            process.stdin.write(self._pickled_task)
            ready = _reply(process)
        except _ENDED as error:
            raise UsageError(f"a process for the checks did not start: it ended {self._end()}") from error
        assert ready == READY, "the first answer"
        return process

    def _end(self) -> str:
        """Wait for the process to end; return a text about how it ended, with the last line of its log."""
        process, self._process = self._process, None
        if process is None:
            return ""
        for stream in (process.stdin, process.stdout):
            assert stream is not None, "both are pipes"
            with suppress(OSError):  # unread data in the pipe
                stream.close()
        code = process.wait()
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - LOG_TAIL_BYTES))
        return f"{exit_description(code)}{last_log_line(self._log.read())}"


def _request(process: subprocess.Popen[bytes], path: str) -> Any:
    assert process.stdin is not None, "it is a pipe"
    pickle.dump(path, process.stdin)
    return _reply(process)


def _reply(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdin is not None and process.stdout is not None, "both are pipes"
    process.stdin.flush()
    return pickle.load(process.stdout)
