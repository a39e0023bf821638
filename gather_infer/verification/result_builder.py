"""Builder of a Verification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gather_infer.verification.result import Mismatch, Verification, VerificationRun
from gather_infer.verification.tolerance import Tolerance


@dataclass(slots=True)
class VerificationBuilder:
    """A Verification under construction; the fields are those of `Verification`.

    is_empty   no output of the original has elements, for any inputs
    """

    requested_runs: int
    tolerance: Tolerance | None
    runs: list[VerificationRun] = field(default_factory=list)
    redraws: int = 0
    redraw_reason: str = ""
    compared_outputs: dict[str, None] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    failure: str = ""
    runtime: str = ""
    version: str = ""
    max_error: float = 0.0
    summation_error: float = 0.0
    first_difference: str = ""
    notes: dict[str, None] = field(default_factory=dict)
    is_empty: bool = False
    uncovered: list[str] = field(default_factory=list)
    differing_feeds: Mapping[str, Any] | None = None

    def note(self, text: str) -> None:
        self.notes[text] = None

    def result(self, failure: str = "") -> Verification:
        failure = failure or self.failure
        if not failure and self.runs and not self.mismatches:
            failure = self._why_not_compared()
        return Verification(
            requested_runs=self.requested_runs,
            runs=tuple(self.runs),
            redraws=self.redraws,
            redraw_reason=self.redraw_reason,
            compared_outputs=tuple(self.compared_outputs),
            skipped=tuple(self.skipped.items()),
            mismatches=tuple(self.mismatches),
            failure=failure,
            runtime=self.runtime,
            version=self.version,
            rtol=None if self.tolerance is None else self.tolerance.rtol,
            atol=None if self.tolerance is None else self.tolerance.atol,
            max_error=None if self.tolerance is None and not self.summation_error else self.max_error,
            summation_error=self.summation_error,
            first_difference=self.first_difference,
            notes=tuple(self.notes),
            uncovered=tuple(self.uncovered),
            differing_feeds=self.differing_feeds,
        )

    def _why_not_compared(self) -> str:
        """Why the runs compared no elements; empty if they compared some, or if the model has none to compare."""
        if not self.compared_outputs:
            return "" if self.skipped else "the model has no outputs to compare"
        if self.is_empty or any(run.has_elements for run in self.runs):
            return ""
        return "every output was empty in every run; choose other sizes with --dim or --feeds"
