"""Distribution of the items of a task: to worker processes, or to an executor of the caller."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed

from gather_infer.errors import GatherInferError, UsageError
from gather_infer.pool.workers import I, R, Task, results


def run_task(
    task: Task[I, R], items: Sequence[I], *, jobs: int | None = None, executor: Executor | None = None
) -> Iterator[R]:
    """Yield the result of `task` for each item, in order of completion. Worker processes must be able to import `task`.

    jobs       number of worker processes, 1 or more; None for one per core
    executor   runs the task instead of worker processes; None uses worker processes only

    Raises UsageError, at once, for a wrong number of processes.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs must be 1 or more, is {jobs}")
    processes = jobs or _cores()
    if executor is None:
        return results(task, items, processes)
    return _by_executor(task, items, executor, processes)


def in_order(names: Iterable[str], found: Iterator[R], name_of: Callable[[R], str]) -> Iterator[R]:
    """Yield the results `found` in the order of `names`, each as soon as all earlier ones are complete.

    names     a distinct name for each result
    name_of   returns the name of a result
    """
    waiting: dict[str, R] = {}
    for name in names:
        while name not in waiting:
            result = next(found)
            waiting[name_of(result)] = result
        yield waiting.pop(name)


def _by_executor(task: Task[I, R], items: Sequence[I], executor: Executor, jobs: int) -> Iterator[R]:
    """Run `task` in the executor, and in `jobs` worker processes for the items that the executor does not finish.

    Executors report a dead worker by different exceptions. So only a GatherInferError of the task is raised; after any
    other exception the item counts as unfinished.
    """
    unfinished: list[I] = []
    pending: dict[Future[R], I] = {}
    for position, item in enumerate(items):
        try:
            pending[executor.submit(task, item)] = item
        except RuntimeError:  # the executor is broken or shut down
            unfinished += items[position:]
            break
    try:
        for future in as_completed(list(pending)):
            item = pending.pop(future)
            error = None if future.cancelled() else future.exception()
            if isinstance(error, GatherInferError):
                raise error
            if error is None and not future.cancelled():
                yield future.result()
            else:
                unfinished.append(item)
    finally:
        for future in pending:
            future.cancel()
    if unfinished:
        yield from results(task, unfinished, jobs)


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
