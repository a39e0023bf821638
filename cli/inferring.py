"""Reports of `gather-infer infer`, of one model and of several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import Severity, has_errors_or_warnings
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.report.forms import INFERENCE, INFERENCES, INFERRED, Form, InferenceReport

from .console import Console

if TYPE_CHECKING:
    from gather_infer.inference.constraints.shared import SharedConstraints
    from gather_infer.model import ModelFile
    from gather_infer.progress import Progress
    from gather_infer.rules import RuleSet

    from .facts import Facts
    from .progress import Progress as Line


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of the report, which hold for each model."""

    assume: bool
    everything: bool
    constraints: bool
    floats: bool
    strict: bool
    exit_zero: bool
    console: Console

    def exit_code(self, report: InferenceReport) -> int:
        """1 if the model has errors, or warnings with --strict; else 0."""
        found = report.findings
        is_wrong = has_errors_or_warnings(found) if self.strict else any(d.severity is Severity.ERROR for d in found)
        return 1 if is_wrong and not self.exit_zero else 0


def inferred(
    file: ModelFile,
    said: Facts | SharedConstraints,
    rules: Sequence[RuleSet],
    wanted: Wanted,
    progress: Progress,
    *,
    annotate: bool = False,
    outputs: bool = False,
) -> tuple[InferenceReport, Any]:
    """The report of a model, and the proto: with the inferred types written into it if `annotate` is set."""
    from gather_infer.catalog.family import is_gather
    from gather_infer.inference import infer
    from gather_infer.inference.annotate import annotated
    from gather_infer.report import summarize

    inference = infer(file, dims=said.dims, inputs=said.inputs, rules=rules, assume=wanted.assume, progress=progress)
    model, interface = annotated(file, inference, outputs=outputs) if annotate else (file.proto, None)
    summary = summarize(file.proto, name=file.name, nbytes=file.size, is_gather=is_gather, form=file.foreign_format)
    more: dict[str, Any] = {}
    if inference.accesses:
        from gather_infer.validate import verdict_diagnostics, verdicts

        progress(lambda: "judging")
        more["verdicts"] = verdicts(inference, rules=rules)
        more["judged"] = tuple(verdict_diagnostics(more["verdicts"], inference))
    if has_errors_or_warnings(inference.diagnostics):
        from gather_infer.explanation import aftermath

        more["aftermath"] = aftermath(inference)
    if wanted.console.form is not Form.TEXT:
        from gather_infer.explanation import walked_nodes

        more["nodes"] = tuple(walked_nodes(inference))
    report = InferenceReport(
        inference, summary, wanted.everything, wanted.constraints, interface, floats=wanted.floats, **more
    )
    return report, model


def infer_all(models: Sequence[str], facts: Facts, wanted: Wanted) -> int:
    """Infer several models and print each report at once; the highest exit code."""
    if models.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    from gather_infer.inference.constraints.shared import SharedConstraints
    from gather_infer.report.totals import InferencesReport

    console = wanted.console
    said = SharedConstraints(facts.dims, facts.inputs, (), tuple(facts.rules()), facts.constants)
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
                    _tell_unreadable(model, error, console, objects)
                code = max(code, error.exit_code)
                continue
            read += 1
            unused.append(names)
            code = max(code, wanted.exit_code(report))
            errors += sum(d.severity is Severity.ERROR for d in report.findings)
            warnings += sum(d.severity is Severity.WARNING for d in report.findings)
            _tell(report, console, progress, objects)
    for name in sorted(set.intersection(*unused)) if unused else ():
        raise UsageError(f"no model has an input or an input dim with the name {name!r}")
    console.result(INFERENCES, InferencesReport(errors, warnings, read, len(models) - read, objects))
    return code


def _one_of_many(
    model: str, said: SharedConstraints, wanted: Wanted, progress: Progress
) -> tuple[InferenceReport, set[str]]:
    """The report of one of several models, and the names in the constraints that it does not have."""
    from gather_infer.inference.constraints.shared import applicable
    from gather_infer.model.model_loading import to_model_file, with_constants

    progress(lambda: "reading")
    file = to_model_file(model)
    if said.constants:
        file = with_constants(file)
    told, unused = applicable(file, said)
    report, _ = inferred(file, told, told.rules, wanted, progress)
    return report, set(unused)


def _tell_unreadable(model: str, error: ModelReadError, console: Console, objects: list[dict[str, Any]]) -> None:
    """Print or collect the JSON object of a model that cannot be read."""
    from gather_infer.report.json import unreadable_json
    from gather_infer.report.summary import Unreadable

    found = unreadable_json(Unreadable("<stdin>" if model == "-" else model, str(error)))
    if console.form is Form.JSONL:
        console.print([json.dumps(found)])
    elif console.form is Form.JSON:
        objects.append(found)


def _tell(report: InferenceReport, console: Console, progress: Line, objects: list[dict[str, Any]]) -> None:
    """Print the report of one of several models, or collect its JSON object."""
    if console.form in INFERRED.forms:
        lines = console.lines_of(INFERRED, report)
        with progress.aside():
            console.print(lines)
    else:
        objects += map(json.loads, INFERENCE.lines(console.form, report))
