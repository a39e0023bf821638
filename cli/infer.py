"""`gather-infer infer`."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import Severity, has_faults
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.report.forms import INFERENCE, INFERENCES, INFERRED, Form, InferenceReport, InferencesReport

from .console import Console
from .facts import Facts, assume_option, facts_options
from .options import Command, common_options, option
from .saving import Target, output_options, strict_option, write_and_print

if TYPE_CHECKING:
    from gather_infer.checks.said import Said
    from gather_infer.model import ModelFile
    from gather_infer.progress import Progress
    from gather_infer.rules import RuleSet

    from .progress import Progress as Line


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked of each model."""

    assume: bool
    everything: bool
    constraints: bool
    floats: bool
    strict: bool
    exit_zero: bool
    console: Console

    def exit_code(self, report: InferenceReport) -> int:
        """1 when the model has errors, or warnings with --strict."""
        found = report.findings
        is_wrong = has_faults(found) if self.strict else any(d.severity is Severity.ERROR for d in found)
        return 1 if is_wrong and not self.exit_zero else 0


@click.command("infer", cls=Command, example="gather-infer infer fixtures/bert-torchscript.onnx --dim seq=1..512")
@click.argument("models", nargs=-1, required=True)
@facts_options
@assume_option
@output_options("Write the model with value_info for every tensor.")
@option("--all", "everything", section="Report", is_flag=True, help="Print all rows of every list.")
@option("--constraints", section="Report", is_flag=True, help="Print what validity implies about the symbols.")
@option("--floats", section="Report", is_flag=True, help="Elements of small float tensors too, in JSON.")
@strict_option("Exit with 1 when there are warnings, too.")
@option("--exit-zero", section="Report", is_flag=True, help="Exit with 0 whatever is found.")
@common_options(
    INFERENCE, INFERENCES, verbose="Print every tensor, every constraint, all rows, and why a verdict is what it is."
)
def command(
    models: tuple[str, ...],
    facts: Facts,
    no_assume: bool,
    target: Target | None,
    everything: bool,
    constraints: bool,
    floats: bool,
    strict: bool,
    exit_zero: bool,
    console: Console,
) -> int:
    """Print symbolic types and shapes, and what is wrong.

    MODELS are ONNX files, - is standard input; or the .xml of an OpenVINO IR. Of several each has a line. Exits with 1
    and writes nothing when there are errors.
    """
    wanted = _Wanted(not no_assume, everything, constraints, floats, strict, exit_zero, console)
    if len(models) > 1:
        return _infer_all(models, facts, wanted)
    (model,) = models

    from gather_infer.model import save
    from gather_infer.model.given import to_model_file, to_onnx_file

    with console.progress() as progress:
        rules = facts.rules()
        file = to_model_file(model) if target is None else to_onnx_file(model)
        if target is not None:
            file.require_data()
        report, annotated = _inferred(file, facts, rules, wanted, progress, annotate=target is not None)
        lines = console.lines_of(INFERENCE, report)
    code = wanted.exit_code(report)
    written = write_and_print(lines, functools.partial(save, file, annotated), target, console, refused=code != 0)
    if written is not None:
        console.wrote(written)
    return code


def _inferred(
    file: ModelFile,
    said: Facts | Said,
    rules: Sequence[RuleSet],
    wanted: _Wanted,
    progress: Progress,
    *,
    annotate: bool = False,
) -> tuple[InferenceReport, Any]:
    """What is found out about a model; the model with it written into, the model itself unless that is asked for."""
    from gather_infer.catalog.family import is_gather
    from gather_infer.inference import infer
    from gather_infer.inference.annotate import annotated
    from gather_infer.report import summarize

    inference = infer(file, dims=said.dims, inputs=said.inputs, rules=rules, assume=wanted.assume, progress=progress)
    model, interface = annotated(file, inference) if annotate else (file.proto, None)
    summary = summarize(file.proto, name=file.name, nbytes=file.size, is_gather=is_gather, form=file.foreign)
    more: dict[str, Any] = {}
    if inference.accesses:
        from gather_infer.validate import judged_findings, verdicts

        progress(lambda: "judging")
        more["verdicts"] = verdicts(inference, rules=rules)
        more["judged"] = tuple(judged_findings(more["verdicts"], inference.diagnostics))
    if has_faults(inference.diagnostics):
        from gather_infer.explanation import aftermath

        more["aftermath"] = aftermath(inference)
    if wanted.console.form is not Form.TEXT:
        from gather_infer.explanation import walked_nodes

        more["nodes"] = tuple(walked_nodes(inference))
    report = InferenceReport(
        inference, summary, wanted.everything, wanted.constraints, interface, floats=wanted.floats, **more
    )
    return report, model


def _infer_all(models: Sequence[str], facts: Facts, wanted: _Wanted) -> int:
    """Each of several models, told as soon as it is there; the exit code, the greatest of theirs."""
    if models.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    from gather_infer.checks.said import Said

    console = wanted.console
    said = Said(facts.dims, facts.inputs, (), tuple(facts.rules()))
    code = errors = warnings = read = 0
    objects: list[dict[str, Any]] = []
    unused: list[set[str]] = []
    with console.progress() as progress:
        for position, model in enumerate(models):
            at = f"file {position + 1} of {len(models)}: "
            try:
                report, names = _one_of_many(model, said, wanted, progress.of(at))
            except ModelReadError as error:
                with progress.aside():
                    console.error(error)
                code = max(code, error.exit_code)
                continue
            read += 1
            unused.append(names)
            code = max(code, wanted.exit_code(report))
            errors += sum(d.severity is Severity.ERROR for d in report.findings)
            warnings += sum(d.severity is Severity.WARNING for d in report.findings)
            _tell(report, console, progress, objects)
    for name in sorted(set.intersection(*unused)) if unused else ():
        raise UsageError(f"none of the models has an input, or a dim of an input, that is called {name!r}")
    console.result(INFERENCES, InferencesReport(errors, warnings, read, objects))
    return code


def _one_of_many(model: str, said: Said, wanted: _Wanted, progress: Progress) -> tuple[InferenceReport, set[str]]:
    """What is found out about one of several models, and the names in what is said that it does not have."""
    from gather_infer.checks.said import applicable
    from gather_infer.model.given import to_model_file

    progress(lambda: "reading")
    file = to_model_file(model)
    told, unused = applicable(file, said)
    report, _ = _inferred(file, told, told.rules, wanted, progress)
    return report, set(unused)


def _tell(report: InferenceReport, console: Console, progress: Line, objects: list[dict[str, Any]]) -> None:
    """Print what is said of one of several models, or keep it for the end."""
    if console.form in INFERRED.forms:
        lines = console.lines_of(INFERRED, report)
        with progress.aside():
            console.print(lines)
    else:
        objects += map(json.loads, INFERENCE.lines(console.form, report))
