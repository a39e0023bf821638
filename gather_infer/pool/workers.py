"""A pool of worker processes for files; a worker that crashes is replaced, and only its current file is lost."""

from __future__ import annotations

import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, Final, Protocol, TypeVar

from gather_infer.errors import GatherInferError, UsageError
from gather_infer.pool.worker import READY
from gather_infer.processes import ENDING_SECONDS, ChildProcess

I = TypeVar("I")  # noqa: E741
R = TypeVar("R")
I_contra = TypeVar("I_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Task(Protocol[I_contra, R_co]):
    """Work on one item, such as the path of a file. Tasks, items and results are pickled."""

    def __call__(self, item: I_contra, /) -> R_co: ...

    @property
    def crashed(self) -> Callable[[I_contra, str], R_co]:
        """Function of an item and a text that returns the result of an item whose processes crashed."""


ATTEMPTS: Final = 2
"""Number of processes that an item may crash before it counts as crashed. A single crash may have another cause: low
memory."""

_ENDED = (EOFError, OSError, pickle.UnpicklingError)
"""Exceptions of a pipe whose other end has closed, perhaps in the middle of a reply."""


def results(task: Task[I, R], items: Sequence[I], jobs: int) -> Iterator[R]:
    """Yield the result of `task` for each item, in order of completion, from `jobs` processes.

    The processes end when the iteration ends. Raises the first GatherInferError that the task raises, and UsageError
    if the task cannot be pickled.
    """
    try:
        pickled_task = pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(f"rules must be defined in a module, so that other processes find them: {error}") from error
    workers = [Worker(pickled_task) for _ in range(max(1, min(jobs, len(items))))]
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def work(item: I) -> R:
        worker = idle.get()
        try:
            reply = worker.result(item)
        finally:
            idle.put(worker)
        if isinstance(reply, Crash):
            return task.crashed(item, reply.ending)
        found: R = reply
        return found

    pool = ThreadPoolExecutor(len(workers), "gather-infer-worker")
    futures: set[Future[R]] = {pool.submit(work, item) for item in items}
    try:
        yield from (future.result() for future in as_completed(futures))
    finally:
        for future in futures:
            future.cancel()
        for worker in workers:
            worker.close()
        pool.shutdown()


class Crash:
    """The end of the last process that an item crashed, such as `by SIGKILL`."""

    def __init__(self, ending: str) -> None:
        self.ending = ending


class Worker:
    """A process that runs a pickled task, started at the first request and restarted after a crash."""

    def __init__(self, pickled_task: bytes) -> None:
        self._pickled_task = pickled_task
        self._child = ChildProcess("gather_infer.pool.worker:main")
        self._is_closed = False

    def result(self, item: object) -> Any:
        """The result of the task for `item`; a Crash if the item crashes ATTEMPTS processes."""
        ending = ""
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            if not self._child.is_running:
                self._start()
            try:
                reply = self._request(pickle.dumps(item))
            except _ENDED:
                ending = self._child.end(ENDING_SECONDS)
                continue
            if isinstance(reply, GatherInferError):
                raise reply
            return reply
        return Crash(ending)

    def close(self) -> None:
        """End the process and abandon its current item."""
        self._is_closed = True
        self._child.close()

    def _start(self) -> None:
        self._child.start()
        try:
            ready = self._request(self._pickled_task)
        except _ENDED as error:
            ending = self._child.end(ENDING_SECONDS)
            raise UsageError(f"a worker process did not start: it ended {ending}") from error
        assert ready == READY, "the first reply"

    def _request(self, pickled: bytes) -> Any:
        self._child.send(pickled)
        return pickle.load(self._child.replies)
