"""`gather-infer check`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from gather_infer.diagnostic import Severity
from gather_infer.report.output_formats import CHECK, CHECKS, CheckReport, FileReport, OutputFormat

from .completers import codes
from .configuration import Configuration, find_configuration
from .console import Console
from .facts import Facts, facts_options, ranges_option
from .options import Command, FileName, common_options, model_argument, option
from .parallel import Arrivals, Parallel, parallel_options, require_used

if TYPE_CHECKING:
    from gather_infer.checks.result import CheckResult
    from gather_infer.user_code.user_code import UserCode

ConstraintTexts: TypeAlias = "tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]"
"""The constraints on dims, on inputs and on ranges, in this order, each as strings `NAME=...`."""


@click.command("check", cls=Command, example="gather-infer check fixtures/bert-torchscript.onnx --dim seq=1..64\n"
               "gather-infer check fixtures/bert-torchscript.onnx --format html > report.html")  # fmt: skip
@model_argument("models", nargs=-1, required=True)
@facts_options
@ranges_option
@option(
    "--select",
    section="Findings",
    multiple=True,
    metavar="CODE,...",
    shell_complete=codes,
    help="Report only these codes or prefixes: GI301, GI3.",
)
@option(
    "--ignore",
    section="Findings",
    multiple=True,
    metavar="CODE,...",
    shell_complete=codes,
    help="Do not report these codes.",
)
@option(
    "--fail-on",
    section="Findings",
    type=click.Choice([str(s) for s in Severity]),
    help="Exit with 1 on findings of this severity or higher.  [default: error]",
)
@option("--strict", section="Findings", is_flag=True, help="Exit with 1 on warnings, like --fail-on warning.")
@option(
    "--baseline", section="Findings", type=FileName(), metavar="FILE", help="Leave out the accepted findings in FILE."
)
@option("--write-baseline", section="Findings", is_flag=True, help="Write all findings to the baseline as accepted.")
@option("--exit-zero", section="Findings", is_flag=True, help="Exit with 0 despite findings.")
@option(
    "--statistics", section="Findings", is_flag=True, help="Print the number of findings by code instead of findings."
)
@option(
    "--trust-config",
    section="Run",
    is_flag=True,
    help="Load the rule files and extensions that pyproject.toml names; they are code.",
)
@parallel_options("Check")
@common_options(CHECKS, verbose="Also print notes, and the contract of each model.")
def command(
    models: tuple[str, ...],
    facts: Facts,
    ranges: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str | None,
    strict: bool,
    baseline: str | None,
    write_baseline: bool,
    exit_zero: bool,
    statistics: bool,
    trust_config: bool,
    parallel: Parallel,
    console: Console,
) -> int:  # fmt: skip
    """Check models for problems that would break deployment.

    MODELS are ONNX files (- is standard input), .xml files of OpenVINO IRs, or folders, in which all models are
    checked. Options default to those in [tool.gather-infer] of the nearest pyproject.toml that has this table.
    """
    if models.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    if statistics and console.output_format not in (OutputFormat.TEXT, OutputFormat.JSON):
        raise click.UsageError(
            f"--statistics needs the format text or json, found --format {console.output_format.value}"
        )

    from gather_infer.checks.selection import Selection, read_codes
    from gather_infer.pool.executors import in_order
    from gather_infer.pool.folders import expanded
    from gather_infer.report.layout import count

    models = expanded(models)
    project = find_configuration(Path.cwd())
    code = _code(facts, project, trust_config, console)
    selection = Selection(
        read_codes(select or project.texts("select"), "--select"),
        read_codes(ignore or project.texts("ignore"), "--ignore"),
    )
    if strict and fail_on not in (None, Severity.WARNING.value):
        raise click.UsageError(f"--strict is --fail-on warning, found --fail-on {fail_on} too")
    if strict:
        fail_on = Severity.WARNING.value
    threshold = Severity(fail_on or project.text("fail-on") or Severity.ERROR.value)
    file = baseline or _path(project, "baseline")
    if write_baseline and file is None:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    accepted = _BaselineFilter(None if write_baseline else file)

    results: list[CheckResult] = []
    folder = parallel.folder(not code.is_plain, console)
    names = dict.fromkeys("<stdin>" if model == "-" else model for model in models)
    with console.progress() as progress:
        is_illustrated = console.output_format is OutputFormat.HTML
        jobs = parallel.jobs or project.number("jobs")
        arrived = Arrivals(_results(models, facts, ranges, project, code, jobs, folder, is_illustrated))
        progress(lambda: f"checking, {arrived.number} of {count(len(models), 'file')} done")
        for result in in_order(names, arrived, lambda result: result.model):
            result = accepted.filtered(selection.of(result))
            results.append(result)
            if console.output_format in CHECK.formats and not statistics:
                lines = console.lines_of(CHECK, FileReport(result, len(models) == 1, threshold))
                with progress.aside():
                    console.print(lines)
    require_used(set(result.unused) for result in results if result.was_checked)

    exit_code = max(result.exit_code(threshold) for result in results)
    if exit_code == 1 and (exit_zero or project.is_set("exit-zero") or write_baseline):
        exit_code = 0
    report = CheckReport(results, threshold, exit_code, accepted.number, accepted.outdated(results), statistics)
    console.result(CHECKS, report)
    if write_baseline and file is not None:
        _write_baseline(file, results, threshold, console)
    return exit_code


class _BaselineFilter:
    """Removes the findings that a baseline file accepts; without such a file it removes none."""

    def __init__(self, file: str | None) -> None:
        from gather_infer.checks.baseline import Baseline

        self._baseline = None if file is None else Baseline.read(file)

    @property
    def number(self) -> int:
        return 0 if self._baseline is None else self._baseline.accepted

    def filtered(self, result: CheckResult) -> CheckResult:
        return result if self._baseline is None else self._baseline.without_accepted(result)

    def outdated(self, results: Iterable[CheckResult]) -> int:
        return 0 if self._baseline is None else self._baseline.unused(results)


def _code(facts: Facts, project: Configuration, is_trusted: bool, console: Console) -> UserCode:
    """The rule files and extensions of the command line, each else those of pyproject.toml, if `is_trusted`.

    If it is not trusted, a message names them: they are code, and pyproject.toml is looked up from the folder where the
    command runs.
    """
    from gather_infer.user_code.user_code import UserCode

    rules = () if facts.rule_files else project.paths("rules")
    extensions = () if facts.extensions else project.texts("extensions")
    if not is_trusted:
        for key, names in (("rules", rules), ("extensions", extensions)):
            if names:
                file, named = project.folder / "pyproject.toml", ", ".join(names)
                console.message(f"{key} of {file} are not loaded: --trust-config runs {named}")
        rules = extensions = ()
    return UserCode(facts.rule_files or rules, (), facts.extensions or extensions)


@dataclass(frozen=True, slots=True)
class _CheckTask:
    """The check of one file with options of the command.

    constraints   given on the command line
    defaults      given in the configuration
    is_alone      no other file is checked
    is_illustrated  the results have illustrations
    """

    constraints: ConstraintTexts
    defaults: ConstraintTexts
    code: UserCode
    constants: bool
    is_alone: bool
    is_illustrated: bool

    def __call__(self, path: str) -> CheckResult:
        from gather_infer.checks.check_model import check_file
        from gather_infer.inference.constraints.shared import SharedConstraints

        illustrate = None
        if self.is_illustrated:
            from gather_infer.pages.check_report import illustrations

            illustrate = illustrations
        return check_file(
            path,
            SharedConstraints(*self.constraints, tuple(self.code.rule_sets()), self.constants),
            SharedConstraints(*self.defaults),
            checks=self.code.check_sets(),
            opener=self.code.open_model,
            is_alone=self.is_alone,
            illustrate=illustrate,
        )

    @staticmethod
    def crashed(path: str, ending: str) -> CheckResult:
        from gather_infer.checks.check_many_models import CheckTask

        return CheckTask.crashed(path, ending)


def _results(
    models: Sequence[str],
    facts: Facts,
    ranges: tuple[str, ...],
    project: Configuration,
    code: UserCode,
    jobs: int | None,
    cache_folder: str | None,
    is_illustrated: bool,
) -> Iterator[CheckResult]:
    """Yield the check result of each model, in the order of completion; `is_illustrated` as for `_CheckTask`.

    A single model and standard input are checked in this process, several files in worker processes.
    """
    from gather_infer.checks.check_many_models import with_cache

    defaults = (
        () if facts.dims else project.texts("dim"),
        () if facts.inputs else project.texts("input"),
        () if ranges else project.texts("range"),
    )
    constants = facts.constants or project.is_set("initializers-as-constants")
    is_alone = len(models) == 1
    checked = _CheckTask((facts.dims, facts.inputs, ranges), defaults, code, constants, is_alone, is_illustrated)
    task = with_cache(checked, cache_folder)
    code.load()  # report its errors once, before the workers load it
    if is_alone:
        yield task(models[0])
        return
    if "-" in models:
        yield task("-")
    others = list(dict.fromkeys(model for model in models if model != "-"))
    if others:
        from gather_infer.pool.executors import run_task

        yield from run_task(task, others, jobs=jobs)


def _path(project: Configuration, key: str) -> str | None:
    text = project.text(key)
    return None if text is None else str(project.folder / text)


def _write_baseline(file: str, results: Sequence[CheckResult], threshold: Severity, console: Console) -> None:
    from gather_infer.checks.baseline import write_baseline

    number = write_baseline(file, results, Severity.NOTE if threshold is Severity.NOTE else Severity.WARNING)
    console.message(f"wrote {file}: {number} accepted")
