"""The job of `gather-infer convert`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, Literal

from gather_infer.diagnostic import has_errors_or_warnings
from gather_infer.inference.constraints.shared import SharedConstraints
from gather_infer.many.job import Job, Outcome
from gather_infer.model import ModelFile
from gather_infer.progress import Progress
from gather_infer.report.output_formats import CONVERSION, ConversionReport
from gather_infer.verification.options import VerifyOptions

TOLERANCE: Final = 1e-4
"""Default of --rtol and --atol for an IR."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConvertJob(Job):
    """Conversion to plain ONNX.

    gather_oob, weights, beam_idx, random, opset, keep_unsupported   as for `gather_infer.convert`
    in_place_weights   as for `ConversionResult.save`
    edits              whether the report lists the edits
    verify             how to verify the new model; None does not
    strict             exit with 1 if other errors or warnings remain
    """

    gather_oob: Literal["guard", "assume-valid", "refuse"] = "guard"
    weights: Literal["dequantize", "contrib", "float"] = "dequantize"
    beam_idx: Literal["keep", "drop"] = "keep"
    random: Literal["refuse", "onnx"] = "refuse"
    opset: int | None = None
    keep_unsupported: bool = False
    in_place_weights: bool = False
    edits: bool = False
    verify: VerifyOptions | None = None
    strict: bool = False

    def outcome(self, model: ModelFile, given: SharedConstraints, progress: Progress) -> Outcome[ConversionReport]:
        from gather_infer.openvino import convert
        from gather_infer.report import remaining_diagnostics

        progress(lambda: "converting")
        result = convert(
            model,
            gather_oob=self.gather_oob,
            weights=self.weights,
            beam_idx=self.beam_idx,
            random=self.random,
            opset=self.opset,
            keep_unsupported=self.keep_unsupported,
            dims=given.dims,
            inputs=given.inputs,
            rules=given.rules,
        )
        verification = None
        if self.verify is not None:
            default = TOLERANCE if result.source.foreign_format else None
            verification = self.verify.run(
                result.source, result.proto, result.inference, default=default, progress=progress
            )
        remaining = remaining_diagnostics(result)
        is_wrong = verification is not None and not verification.ok
        is_refused = is_wrong or (self.strict and has_errors_or_warnings(remaining))
        save = functools.partial(result.save, in_place_weights=True) if self.in_place_weights else result.save
        report = ConversionReport(result, self.edits, verification)
        return Outcome(CONVERSION, report, remaining, int(is_refused), save)
