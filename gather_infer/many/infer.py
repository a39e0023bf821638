"""The job of `gather-infer infer`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from gather_infer.diagnostic import Severity, has_errors_or_warnings
from gather_infer.inference.constraints.shared import SharedConstraints
from gather_infer.many.job import Job, Outcome
from gather_infer.model import ModelFile
from gather_infer.progress import Progress
from gather_infer.report.output_formats import INFERENCE, InferenceReport, OutputFormat


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InferJob(Job):
    """Inference of types and shapes.

    assume        as for `gather_infer.infer`
    annotate      whether the model is written, with a value_info for every tensor
    outputs       with `annotate`, also declare the known sizes of the outputs
    everything, constraints, floats   as in `InferenceReport`
    strict        exit with 1 on warnings, too
    exit_zero     exit with 0 despite errors
    """

    assume: bool = True
    annotate: bool = False
    outputs: bool = False
    everything: bool = False
    constraints: bool = False
    floats: bool = False
    strict: bool = False
    exit_zero: bool = False

    def outcome(self, model: ModelFile, given: SharedConstraints, progress: Progress) -> Outcome[InferenceReport]:
        from gather_infer.inference import infer
        from gather_infer.inference.annotate import annotated
        from gather_infer.inference.dim_dialects import save_translated
        from gather_infer.model.model_loading import to_onnx_file

        if self.annotate:
            to_onnx_file(model).require_data()
        inference = infer(
            model, dims=given.dims, inputs=given.inputs, rules=given.rules, assume=self.assume, progress=progress
        )
        proto, interface = annotated(model, inference, outputs=self.outputs) if self.annotate else (model.proto, None)
        report = InferenceReport(
            inference,
            _summary(model),
            self.everything,
            self.constraints,
            interface,
            floats=self.floats,
            **self._members(inference, given, progress),
        )
        found = report.findings
        is_wrong = has_errors_or_warnings(found) if self.strict else any(d.severity is Severity.ERROR for d in found)
        code = 1 if is_wrong and not self.exit_zero else 0
        return Outcome(
            INFERENCE, report, found, code, functools.partial(save_translated, model, proto, generated=inference.causes)
        )

    def _members(self, inference: Any, given: SharedConstraints, progress: Progress) -> dict[str, Any]:
        """The members of the report that need more analyses, computed if the report shows them."""
        more: dict[str, Any] = {}
        if inference.accesses:
            from gather_infer.validate import verdict_diagnostics, verdicts

            progress(lambda: "judging")
            more["verdicts"] = verdicts(inference, rules=given.rules)
            more["verdict_findings"] = tuple(verdict_diagnostics(more["verdicts"], inference))
        if has_errors_or_warnings(inference.diagnostics):
            from gather_infer.explanation import root_causes

            more["root_causes"] = root_causes(inference)
        if self.output_format is not OutputFormat.TEXT:
            from gather_infer.explanation import inferred_nodes, inferred_producers

            more["nodes"] = tuple(inferred_nodes(inference))
            more["producers"] = inferred_producers(inference)
        return more


def _summary(model: ModelFile) -> Any:
    from gather_infer.catalog.family import is_gather
    from gather_infer.report import summarize

    return summarize(
        model.proto, name=model.name, nbytes=model.size, is_gather=is_gather, file_format=model.foreign_format
    )
