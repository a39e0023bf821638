"""Builder of a Verification."""

from __future__ import annotations

from dataclasses import dataclass, field

from gather_infer.verification.result import Mismatch, Run, Verification
from gather_infer.verification.tolerance import Tolerance


@dataclass(slots=True)
class Findings:
    """A Verification under construction; the fields are those of `Verification`.

    is_empty   no output of the original has elements, for any inputs
    """

    wanted: int
    tolerance: Tolerance | None
    runs: list[Run] = field(default_factory=list)
    redrawn: int = 0
    why_redrawn: str = ""
    compared: dict[str, None] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    fault: str = ""
    runtime: str = ""
    version: str = ""
    error: float = 0.0
    noise: float = 0.0
    first: str = ""
    notes: dict[str, None] = field(default_factory=dict)
    is_empty: bool = False
    untaken: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes[text] = None

    def result(self, fault: str = "") -> Verification:
        fault = fault or self.fault
        if not fault and self.runs and not self.mismatches:
            fault = self._nothing_compared()
        return Verification(
            wanted=self.wanted,
            runs=tuple(self.runs),
            redrawn=self.redrawn,
            why_redrawn=self.why_redrawn,
            compared=tuple(self.compared),
            skipped=tuple(self.skipped.items()),
            mismatches=tuple(self.mismatches),
            fault=fault,
            runtime=self.runtime,
            version=self.version,
            rtol=None if self.tolerance is None else self.tolerance.rtol,
            atol=None if self.tolerance is None else self.tolerance.atol,
            error=None if self.tolerance is None and not self.noise else self.error,
            noise=self.noise,
            first=self.first,
            notes=tuple(self.notes),
            untaken=tuple(self.untaken),
        )

    def _nothing_compared(self) -> str:
        """Why the runs prove nothing; empty where they do, and where the model has nothing to compare."""
        if not self.compared:
            return "" if self.skipped else "the model has no outputs to compare"
        if self.is_empty or any(run.has_elements for run in self.runs):
            return ""
        return "every output was empty in every run; choose other sizes with --dim or --feeds"
