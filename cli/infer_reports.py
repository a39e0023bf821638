"""Reports of `gather-infer infer`, of one model and of several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import Severity, has_errors_or_warnings
from gather_infer.errors import ModelReadError, UsageError
from gather_infer.report.output_formats import INFERENCE, INFERENCES, INFERRED, InferenceReport, OutputFormat

from .console import Console

if TYPE_CHECKING:
    from gather_infer.inference.constraints.shared import SharedConstraints
    from gather_infer.model import ModelFile
    from gather_infer.progress import Progress
    from gather_infer.rules import RuleSet

    from .facts import Facts
    from .progress import Progress as Line


@dataclass(frozen=True, slots=True)
class InferRequest:
    """The options of `gather-infer infer` that apply to each of its models."""

    assume: bool
    everything: bool
    constraints: bool
    floats: bool
    strict: bool
    exit_zero: bool
    console: Console

    def exit_code(self, report: InferenceReport) -> int:
        """1 if the model has errors, or warnings with --strict; else, and always with --exit-zero, 0."""
        found = report.findings
        is_wrong = has_errors_or_warnings(found) if self.strict else any(d.severity is Severity.ERROR for d in found)
        return 1 if is_wrong and not self.exit_zero else 0


def inference_report(
    file: ModelFile,
    constraints: Facts | SharedConstraints,
    rules: Sequence[RuleSet],
    request: InferRequest,
    progress: Progress,
    *,
    annotate: bool = False,
    outputs: bool = False,
) -> tuple[InferenceReport, Any]:
    """The report of a model, and its ModelProto.

    annotate   return a proto with the inferred types written into it, instead of the one of the file
    outputs    with `annotate`, also declare the known sizes of the outputs
    """
    from gather_infer.catalog.family import is_gather
    from gather_infer.inference import infer
    from gather_infer.inference.annotate import annotated
    from gather_infer.report import summarize

    inference = infer(
        file, dims=constraints.dims, inputs=constraints.inputs, rules=rules, assume=request.assume, progress=progress
    )
    model, interface = annotated(file, inference, outputs=outputs) if annotate else (file.proto, None)
    summary = summarize(
        file.proto, name=file.name, nbytes=file.size, is_gather=is_gather, file_format=file.foreign_format
    )
    more: dict[str, Any] = {}
    if inference.accesses:
        from gather_infer.validate import verdict_diagnostics, verdicts

        progress(lambda: "judging")
        more["verdicts"] = verdicts(inference, rules=rules)
        more["verdict_findings"] = tuple(verdict_diagnostics(more["verdicts"], inference))
    if has_errors_or_warnings(inference.diagnostics):
        from gather_infer.explanation import root_causes

        more["root_causes"] = root_causes(inference)
    if request.console.output_format is not OutputFormat.TEXT:
        from gather_infer.explanation import inferred_nodes, inferred_producers

        more["nodes"] = tuple(inferred_nodes(inference))
        more["producers"] = inferred_producers(inference)
    report = InferenceReport(
        inference, summary, request.everything, request.constraints, interface, floats=request.floats, **more
    )
    return report, model


def infer_all(models: Sequence[str], facts: Facts, request: InferRequest) -> int:
    """Infer several models, print each report as soon as it is complete, and return the highest exit code."""
    if models.count("-") > 1:
        raise click.UsageError("standard input can be read only once")
    from gather_infer.inference.constraints.shared import SharedConstraints
    from gather_infer.report.totals import InferencesReport

    console = request.console
    constraints = SharedConstraints(facts.dims, facts.inputs, (), tuple(facts.rules()), facts.constants)
    code = errors = warnings = read = 0
    objects: list[dict[str, Any]] = []
    unused: list[set[str]] = []
    with console.progress() as progress:
        for position, model in enumerate(models):
            at = f"file {position + 1} of {len(models)}: "
            try:
                report, names = _report_one(model, constraints, request, progress.of(at))
            except ModelReadError as error:
                with progress.aside():
                    console.error(error)
                    _print_unreadable(model, error, console, objects)
                code = max(code, error.exit_code)
                continue
            read += 1
            unused.append(names)
            code = max(code, request.exit_code(report))
            errors += sum(d.severity is Severity.ERROR for d in report.findings)
            warnings += sum(d.severity is Severity.WARNING for d in report.findings)
            _print_report(report, console, progress, objects)
    for name in sorted(set.intersection(*unused)) if unused else ():
        raise UsageError(f"no model has an input or an input dim with the name {name!r}")
    console.result(INFERENCES, InferencesReport(errors, warnings, read, len(models) - read, objects))
    return code


def _report_one(
    model: str, constraints: SharedConstraints, request: InferRequest, progress: Progress
) -> tuple[InferenceReport, set[str]]:
    """The report of `model`, and the names in `constraints` that are neither inputs nor input dims of the model."""
    from gather_infer.inference.constraints.shared import applicable
    from gather_infer.model.model_loading import to_model_file, with_constants

    progress(lambda: "reading")
    file = to_model_file(model)
    if constraints.constants:
        file = with_constants(file)
    applied, unused = applicable(file, constraints)
    report, _ = inference_report(file, applied, applied.rules, request, progress)
    return report, set(unused)


def _print_unreadable(model: str, error: ModelReadError, console: Console, objects: list[dict[str, Any]]) -> None:
    """Print the JSON object for an unreadable model (jsonl), append it to `objects` (json), or do nothing (text)."""
    from gather_infer.report.json import unreadable_json
    from gather_infer.report.summary import Unreadable

    found = unreadable_json(Unreadable("<stdin>" if model == "-" else model, str(error)))
    if console.output_format is OutputFormat.JSONL:
        console.print([json.dumps(found)])
    elif console.output_format is OutputFormat.JSON:
        objects.append(found)


def _print_report(report: InferenceReport, console: Console, progress: Line, objects: list[dict[str, Any]]) -> None:
    """Print `report`, or append it to `objects` if the format prints all models as one JSON value."""
    if console.output_format in INFERRED.formats:
        lines = console.lines_of(INFERRED, report)
        with progress.aside():
            console.print(lines)
    else:
        objects += map(json.loads, INFERENCE.lines(console.output_format, report))
