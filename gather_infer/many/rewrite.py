"""The jobs of `gather-infer fold` and `gather-infer optimize`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gather_infer.diagnostic import has_errors_or_warnings
from gather_infer.inference.constraints.shared import SharedConstraints
from gather_infer.many.job import Job, Outcome, Save
from gather_infer.model import ModelFile
from gather_infer.progress import Progress
from gather_infer.report.output_formats import REWRITING, RewriteReport

if TYPE_CHECKING:
    from gather_infer.verification.options import VerifyOptions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RewriteJob(Job):
    """Constant folding or optimization.

    by       the command
    passes, skip, fold_floats, max_growth   as for `gather_infer.optimize`; None is the default
    edits    whether the report lists the edits
    prove    whether to prove the new model equal to the original
    certificate   the file for the certificate of the proof, of a job with one model; None writes none
    verify   how to verify the new model; None does not
    strict   exit with 1 on errors or warnings
    """

    by: Literal["fold", "optimize"] = "optimize"
    passes: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    fold_floats: bool = False
    max_growth: int | None = None
    edits: bool = False
    prove: bool = False
    certificate: str | None = None
    verify: VerifyOptions | None = None
    strict: bool = False

    def outcome(self, model: ModelFile, given: SharedConstraints, progress: Progress) -> Outcome[RewriteReport]:
        from gather_infer.passes import DEFAULT_MAX_GROWTH, fold, optimize

        arguments: dict[str, Any] = {
            "max_growth": DEFAULT_MAX_GROWTH if self.max_growth is None else self.max_growth,
            "passes": self.passes,
            "skip": self.skip,
            "fold_floats": self.fold_floats,
            "dims": given.dims,
            "inputs": given.inputs,
            "rules": given.rules,
            "progress": progress,
        }
        if self.by == "fold":
            result = fold(model, **arguments)
        else:
            result = optimize(model, rewrites=self.code.rewrite_sets(), **arguments)
        proof = None
        save: Save = result.save
        if self.prove:
            from gather_infer.equality import diff
            from gather_infer.equality.certificate import certificate_file

            proof = diff(
                result.source,
                result.file,
                dims=given.dims,
                inputs=given.inputs,
                rules=given.rules,
                initializers_as_constants=self.constants,
                details=False,
                runs=0,
                progress=progress,
            )
            if self.certificate is not None:
                save = functools.partial(
                    result.save, companions=certificate_file(self.certificate, proof, result.source)
                )
        verification = None
        if self.verify is not None:
            folded = None if result.floats is None else result.floats.tolerance
            verification = self.verify.run(
                result.source, result.proto, result.inference, default=folded, progress=progress
            )
        progress(lambda: "comparing")
        is_wrong = (verification is not None and not verification.ok) or (proof is not None and not proof.is_proved)
        is_refused = is_wrong or (self.strict and has_errors_or_warnings(result.diagnostics))
        report = RewriteReport(result, self.edits, verification, proof, self.by)
        return Outcome(REWRITING, report, result.diagnostics, int(is_refused), save)
