"""Runs of a job for several models, with a cache of the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Final

from gather_infer.diagnostic import Diagnostic, Location, Severity
from gather_infer.many.job import Item, Job
from gather_infer.many.model_run import ModelRun, WrittenFile
from gather_infer.model.file import STDIN
from gather_infer.node_ids import GraphPath, NodePath, Root, Step
from gather_infer.pool.cache import CachedTask, ResultCache
from gather_infer.pool.executors import run_task
from gather_infer.pool.workers import Task

CLASSES: Final = (Diagnostic, GraphPath, Location, ModelRun, NodePath, Root, Severity, Step, WrittenFile)
"""The classes of the objects in a ModelRun."""


def run_job(
    job: Job,
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    cache: str | None = None,
) -> Iterator[ModelRun]:
    """Yield the result of `job` for each item, in order of completion. Standard input is read in this process.

    jobs, executor   as for `run_task`
    cache            folder of the cache; None for none

    Raises UsageError and ModelWriteError, for a wrong number of processes and a folder that cannot be written, at once.
    """
    task = with_cache(job, cache)
    others = [item for item in items if item.path != STDIN]
    found = run_task(task, others, jobs=jobs, executor=executor)
    return found if len(others) == len(items) else _with_stdin(job, items, found if others else iter(()))


def with_cache(job: Job, folder: str | None) -> Task[Item, ModelRun]:
    """`job` with the cache in `folder`. Raises ModelWriteError if the folder cannot be written."""
    if folder is None:
        return job
    cache = ResultCache(folder, CLASSES)
    cache.create()
    return CachedTask(job, cache, path_of, is_reusable)


def path_of(item: Item) -> str:
    return item.path


def is_reusable(run: ModelRun) -> bool:
    """Whether a result may be stored and used again: it has no error, and the files that it has written are there."""
    return not run.error and run.is_current


def _with_stdin(job: Job, items: Sequence[Item], others: Iterator[ModelRun]) -> Iterator[ModelRun]:
    yield from (job(item) for item in items if item.path == STDIN)
    yield from others
