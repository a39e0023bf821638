"""Checks of many models, in worker processes or in an executor of the caller, with a cache of the results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gather_infer.checks.result import CRASHED, CheckResult
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.errors import UsageError
from gather_infer.node_ids import GraphPath, NodePath, Root, Step
from gather_infer.pool.cache import CachedTask, ResultCache
from gather_infer.pool.executors import run_task
from gather_infer.rules import RuleSet

if TYPE_CHECKING:
    from gather_infer.pool.workers import Task

CLASSES: Final = (CheckResult, Diagnostic, GraphPath, Location, NodePath, Root, Severity, Step)
"""The classes of the objects in a CheckResult."""


@dataclass(frozen=True, slots=True)
class CheckTask:
    """The check of one file, with the arguments of `check_many`."""

    dims: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    rules: tuple[RuleSet, ...] = ()
    constants: bool = False

    def __call__(self, path: str) -> CheckResult:
        from gather_infer.checks.check_model import check_file
        from gather_infer.inference.constraints.shared import SharedConstraints

        return check_file(path, SharedConstraints(self.dims, self.inputs, self.ranges, self.rules, self.constants))

    @staticmethod
    def crashed(path: str, ending: str) -> CheckResult:
        """The result of a file whose processes crashed."""
        return CheckResult(path, (diagnostic(CRASHED, f"its process ended {ending}"),))


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
    cache: str | os.PathLike[str] | None = None,
) -> Iterator[CheckResult]:
    """Yield the check result of each file as soon as it is complete.

    dims, inputs, ranges   as for `check`, as strings; each model uses those that name one of its inputs or input dims
    rules      rule sets that worker processes can import, because a module defines them
    initializers_as_constants   as for `infer`
    jobs       number of worker processes, None for one per core; a file that crashes its process twice gets GI002
    executor   runs the checks instead of worker processes, for example a process pool or Dask's
               `client.get_executor()`. If it breaks, worker processes check the remaining files
    cache      a folder with results of earlier calls. A result is reused only if the bytes of the model and of its
               external data, its name, all arguments and all versions are equal; with `rules` none is

    A file that cannot be read as a model gets GI001. No file is read before the first result is requested. Raises
    ModelWriteError if `cache` cannot be written.

        >>> for result in gather_infer.check_many(["fixtures/bert-torchscript.onnx"], jobs=1):
        ...     print(result.model, len(result.errors), dict(result.accesses))
        fixtures/bert-torchscript.onnx 0 {'proved': 16, 'conditional': 2}
    """
    for name, texts in (("dims", dims), ("inputs", inputs), ("ranges", ranges)):
        if isinstance(texts, str):
            raise UsageError(f"{name} must be a list of strings, is the string {texts!r}")
    task = CheckTask(tuple(dims), tuple(inputs), tuple(ranges), tuple(rules), initializers_as_constants)
    folder = None if cache is None or rules else os.fspath(cache)
    return run_task(with_cache(task, folder), [os.fspath(path) for path in paths], jobs=jobs, executor=executor)


def with_cache(task: Task[str, CheckResult], folder: str | None) -> Task[str, CheckResult]:
    """`task`, which checks the file at a path, with the cache in `folder`; None means no cache.

    Raises ModelWriteError if the folder cannot be written.
    """
    if folder is None:
        return task
    cache = ResultCache(folder, CLASSES)
    cache.create()
    return CachedTask(task, cache, str)
