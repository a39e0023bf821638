"""Checks of many models, in worker processes or in an executor of the caller."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from functools import partial

from gather_infer.checks.result import CheckResult
from gather_infer.checks.workers import Task, results
from gather_infer.errors import GatherInferError, UsageError
from gather_infer.rules import RuleSet


def check_many(
    paths: Iterable[str | os.PathLike[str]],
    *,
    dims: Iterable[str] = (),
    inputs: Iterable[str] = (),
    ranges: Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
    initializers_as_constants: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> Iterator[CheckResult]:
    """Yield the check result of each file as soon as it is complete.

    dims, inputs, ranges   as for `check`, as strings; each model uses those that name one of its inputs or input dims
    rules      rule sets that worker processes can import, because a module defines them
    initializers_as_constants   as for `infer`
    jobs       number of worker processes, None for one per core; a file that crashes its process twice gets GI002
    executor   runs the checks instead of worker processes, for example a process pool or Dask's
               `client.get_executor()`. If it breaks, worker processes check the remaining files

    A file that cannot be read as a model gets GI001. No file is read before the first result is requested.

        >>> for result in gather_infer.check_many(["fixtures/bert-torchscript.onnx"], jobs=1):
        ...     print(result.model, len(result.errors), dict(result.accesses))
        fixtures/bert-torchscript.onnx 0 {'proved': 16, 'conditional': 2}
    """
    for name, texts in (("dims", dims), ("inputs", inputs), ("ranges", ranges)):
        if isinstance(texts, str):
            raise UsageError(f"{name} must be a list of strings, is the string {texts!r}")
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs must be 1 or more, is {jobs}")
    task = partial(
        _check_one,
        dims=tuple(dims),
        inputs=tuple(inputs),
        ranges=tuple(ranges),
        rules=tuple(rules),
        constants=initializers_as_constants,
    )
    return run_task(task, [os.fspath(path) for path in paths], jobs=jobs, executor=executor)


def run_task(
    task: Task, paths: Sequence[str], *, jobs: int | None = None, executor: Executor | None = None
) -> Iterator[CheckResult]:
    """Yield the result of `task` for each path, in order of completion. Worker processes must be able to import `task`.

    jobs       number of worker processes; None for one per core
    executor   runs the task instead of worker processes; None uses worker processes only
    """
    processes = jobs or _cores()
    if executor is None:
        return results(task, paths, processes)
    return _by_executor(task, paths, executor, processes)


def _by_executor(task: Task, paths: Sequence[str], executor: Executor, jobs: int) -> Iterator[CheckResult]:
    """Run `task` in the executor, and in `jobs` worker processes for the files that the executor does not finish.

    Executors report a dead worker by different exceptions. So only a GatherInferError of the task is raised; after any
    other exception the file counts as unfinished.
    """
    unfinished: list[str] = []
    pending: dict[Future[CheckResult], str] = {}
    for position, path in enumerate(paths):
        try:
            pending[executor.submit(task, path)] = path
        except RuntimeError:  # the executor is broken or shut down
            unfinished += paths[position:]
            break
    try:
        for future in as_completed(list(pending)):
            path = pending.pop(future)
            error = None if future.cancelled() else future.exception()
            if isinstance(error, GatherInferError):
                raise error
            if error is None and not future.cancelled():
                yield future.result()
            else:
                unfinished.append(path)
    finally:
        for future in pending:
            future.cancel()
    if unfinished:
        yield from results(task, unfinished, jobs)


def _check_one(
    path: str,
    *,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    ranges: tuple[str, ...],
    rules: tuple[RuleSet, ...],
    constants: bool,
) -> CheckResult:
    from gather_infer.checks.check_model import check_file
    from gather_infer.inference.constraints.shared import SharedConstraints

    return check_file(path, SharedConstraints(dims, inputs, ranges, rules, constants))


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
