"""Options and execution of commands that process several models in parallel."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import click

from gather_infer.diagnostic import Severity
from gather_infer.errors import UsageError
from gather_infer.report.output_formats import MODELS, OutputFormat

from .console import Console
from .options import Function, option, with_options
from .saving import Target, write_and_print

if TYPE_CHECKING:
    from gather_infer.many.job import Job
    from gather_infer.many.model_run import ModelRun

R = TypeVar("R")


class Parallel(NamedTuple):
    """The values of --jobs and --cache."""

    jobs: int | None
    cache: str | None

    def folder(self, is_code_used: bool, console: Console) -> str | None:
        """The folder of the cache; None if there is none, or code of the user may change results unnoticed."""
        if self.cache is not None and is_code_used:
            console.message("--cache is not used: the results depend on rules or extensions, which are code")
            return None
        return self.cache


def parallel_options(verb: str) -> Callable[[Function], Function]:
    """A decorator that adds --jobs and --cache to a command, which receives them as `parallel`.

    verb   what the command does to a file, for the help text: Check, Optimize
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def run(*args: Any, jobs: int | None, cache: str | None, **rest: Any) -> int:
            if cache == "":
                raise click.UsageError("--cache needs the name of a folder, found ''")
            return function(*args, parallel=Parallel(jobs, cache), **rest)

        return with_options(
            run,
            option("--jobs", section="Run", type=click.IntRange(min=1), metavar="N",
                   help=f"{verb} N files at a time; one per core by default."),
            option("--cache", section="Run", metavar="DIR",
                   help="Keep results in DIR, and reuse those of files, options and versions that are unchanged."),
        )  # fmt: skip

    return decorate


def run_many(
    job: Job,
    arguments: Sequence[str],
    target: Target | None,
    parallel: Parallel,
    console: Console,
    *,
    doing: str,
    suffix: str = "",
) -> int:
    """Run a job for several models, print the reports in the order of the models, and return the largest exit code.

    arguments   files and folders
    target      the folder to write; None writes nothing
    doing       participle for the progress line: optimizing
    suffix      suffix of the output for an OpenVINO IR, as for `output_paths`
    """
    from gather_infer.many.run import run_job
    from gather_infer.pool.executors import in_order
    from gather_infer.pool.folders import STDIN, expanded
    from gather_infer.report.layout import count

    if arguments.count(STDIN) > 1:
        raise click.UsageError("standard input can be read only once")
    models = tuple(dict.fromkeys(expanded(arguments)))
    items = _items(arguments, models, target, suffix)
    job.code.load()  # report its errors once, before other processes do
    folder = parallel.folder(not job.code.is_plain, console)
    total = _Totals(console)
    with console.progress() as progress:
        arrived = Arrivals(run_job(job, items, jobs=parallel.jobs, cache=folder))
        progress(lambda: f"{doing}, {arrived.number} of {count(len(models), 'file')} done")
        names = ["<stdin>" if model == STDIN else model for model in models]
        for run in in_order(names, arrived, lambda run: run.model):
            with progress.aside():
                total.add(run)
    return total.end()


def run_alone(
    job: Job, model: str, target: Target | None, parallel: Parallel, console: Console, *, timed: bool = False
) -> int:
    """Run a job for one model, write it if `target` is given and the exit code is 0, and return the exit code.

    timed   print the duration of the command after writing
    """
    require_no_cache(parallel)
    with console.progress() as progress:
        found = job.alone(model, progress)
        lines = console.lines_of(found.kind, found.report)
    assert found.save is not None, "the command writes a model"
    written = write_and_print(lines, found.save, target, console, refused=found.exit_code != 0)
    if written is not None:
        console.wrote(written, timed=timed)
    return found.exit_code


def require_no_cache(parallel: Parallel) -> None:
    """Raise click.UsageError for --cache, in a command with one model."""
    if parallel.cache is not None:
        raise click.UsageError("--cache is for several models, or a folder")


def _items(arguments: Sequence[str], models: Sequence[str], target: Target | None, suffix: str) -> list[Any]:
    from gather_infer.many.job import Item
    from gather_infer.pool.outputs import output_paths

    outputs: dict[str, str] = {}
    if target is not None and target.in_place:
        outputs = {model: model for model in models}
    elif target is not None:
        outputs = output_paths(arguments, models, target.path, data=target.external_data, suffix=suffix)
    return [Item(model, outputs.get(model)) for model in models]


class _Totals:
    """Prints the reports of several models, then the totals."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._objects: list[Any] = []
        self._unused: list[set[str]] = []
        self._code = self._errors = self._warnings = self._read = self._failed = 0

    def add(self, run: ModelRun) -> None:
        """Print the result for one model, or hold it if the format prints all models as one JSON value."""
        console = self._console
        self._code = max(self._code, run.exit_code)
        if run.error:
            self._failed += 1
            console.error(UsageError(run.error))
        else:
            self._read += 1
            self._unused.append(set(run.unused))
        self._errors += sum(d.severity is Severity.ERROR for d in run.diagnostics)
        self._warnings += sum(d.severity is Severity.WARNING for d in run.diagnostics)
        if console.output_format in (OutputFormat.JSON, OutputFormat.HTML):
            self._objects += map(json.loads, run.lines)
        else:
            console.print(run.lines)
        for path in run.paths:
            console.message(f"wrote {path}")
        if run.refused:
            console.message(f"{run.model}: nothing written")

    def end(self) -> int:
        """Print the totals and return the exit code. Raises UsageError for a name that no model has."""
        from gather_infer.report.totals import TotalsReport

        require_used(self._unused)
        report = TotalsReport(self._errors, self._warnings, self._read, self._failed, self._objects)
        self._console.result(MODELS, report)
        return self._code


def require_used(unused: Iterable[set[str]]) -> None:
    """Raise UsageError for a name in the options that none of the models has; `unused` has a set for each model."""
    found = list(unused)
    for name in sorted(set.intersection(*found)) if found else ():
        raise UsageError(f"no model has an input or an input dim with the name {name!r}")


class Arrivals(Generic[R]):
    """An iterator that counts its results, for the progress line."""

    def __init__(self, results: Iterator[R]) -> None:
        self._results = results
        self.number = 0

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        result = next(self._results)
        self.number += 1
        return result
