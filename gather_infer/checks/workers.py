"""A pool of worker processes for files; a worker that crashes is replaced, and only its current file is lost."""

from __future__ import annotations

import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Final, TypeAlias

from gather_infer.checks.result import CRASHED, CheckResult
from gather_infer.checks.worker import READY
from gather_infer.diagnostic import diagnostic
from gather_infer.errors import GatherInferError, UsageError
from gather_infer.processes import ENDING_SECONDS, ChildProcess

Task: TypeAlias = Callable[[str], CheckResult]

ATTEMPTS: Final = 2
"""Number of processes that a file may crash before it gets GI002. A single crash may have another cause: low memory."""

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
        self._child = ChildProcess("gather_infer.checks.worker:main")
        self._is_closed = False

    def result(self, path: str) -> CheckResult:
        """The result of the task for the file `path`; a result with GI002 if the file crashes ATTEMPTS processes."""
        ending = ""
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            if not self._child.is_running:
                self._start()
            try:
                reply = self._request(pickle.dumps(path))
            except _ENDED:
                ending = self._child.end(ENDING_SECONDS)
                continue
            if isinstance(reply, GatherInferError):
                raise reply
            assert isinstance(reply, CheckResult), "a task gives results"
            return reply
        return CheckResult(path, (diagnostic(CRASHED, f"its process ended {ending}"),))

    def close(self) -> None:
        """End the process and abandon its current file."""
        self._is_closed = True
        self._child.close()

    def _start(self) -> None:
        self._child.start()
        try:
            ready = self._request(self._pickled_task)
        except _ENDED as error:
            ending = self._child.end(ENDING_SECONDS)
            raise UsageError(f"a process for the checks did not start: it ended {ending}") from error
        assert ready == READY, "the first reply"

    def _request(self, pickled: bytes) -> Any:
        self._child.send(pickled)
        return pickle.load(self._child.replies)
