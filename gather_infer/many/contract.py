"""The job of `gather-infer contract`."""

from __future__ import annotations

from dataclasses import dataclass

from gather_infer.diagnostic import Severity
from gather_infer.inference.constraints.shared import SharedConstraints
from gather_infer.many.job import Job, Outcome
from gather_infer.model import ModelFile
from gather_infer.progress import Progress
from gather_infer.report.output_formats import CONTRACT, ContractReport


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContractJob(Job):
    """Derivation of a contract; the model is written with the contract in its metadata.

    require_proved   exit with 1 if the constraints do not prove every line
    with_interface   whether the report has the interface of the model
    """

    require_proved: bool = False
    with_interface: bool = False

    def outcome(self, model: ModelFile, given: SharedConstraints, progress: Progress) -> Outcome[ContractReport]:
        from gather_infer.validate.contract_builder import contract_of

        result = contract_of(
            model, dims=given.dims, inputs=given.inputs, ranges=given.ranges, rules=given.rules, progress=progress
        )
        findings = (*result.diagnostics, *(result.undischarged if self.require_proved else ()))
        is_refused = any(finding.severity is Severity.ERROR for finding in findings)
        report = ContractReport(
            result.contract, findings, result.source.name, result.interface if self.with_interface else None
        )
        return Outcome(CONTRACT, report, findings, int(is_refused), result.save)
