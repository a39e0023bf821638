"""Options of a verification, which all commands that write a model share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gather_infer.progress import Progress, no_progress

if TYPE_CHECKING:
    from onnx import ModelProto

    from gather_infer.inference import Inference
    from gather_infer.model import ModelFile
    from gather_infer.verification.model_chain import ModelChain
    from gather_infer.verification.result import Verification


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """The values of --verify, --feeds, --rtol and --atol."""

    runs: int
    feeds: tuple[Mapping[str, Any], ...] = ()
    rtol: float | None = None
    atol: float | None = None

    def run(
        self,
        source: ModelFile,
        proto: ModelProto | ModelChain,
        inference: Inference,
        *,
        default: float | None = None,
        rewritten_name: str = "the rewritten model",
        progress: Progress = no_progress,
    ) -> Verification:
        """Compare runs of the original model `source` and the rewritten `proto`, or of the two parts of a chain.

        inference  inferred types of `source`
        default    rtol and atol if neither option is given; None compares bits
        rewritten_name   what messages call it
        progress   called with a function that describes the current step

        Raises the errors of `gather_infer.verification.verify`.
        """
        from gather_infer.verification import verify

        rtol, atol = self.rtol, self.atol
        if rtol is None and atol is None:
            rtol = atol = default
        progress(lambda: "verifying")
        return verify(
            source,
            proto,
            self.runs,
            inference=inference,
            feeds=self.feeds,
            rtol=rtol,
            atol=atol,
            rewritten_name=rewritten_name,
            progress=progress,
        )
