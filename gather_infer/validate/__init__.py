"""Bounds checks: verdicts on accesses by index, and the contract that keeps a model from failing."""

from gather_infer.validate.bounds import combined, verdict
from gather_infer.validate.condition import Condition, Elements
from gather_infer.validate.failing_sizes import bounds_violations, failing_accesses, failures_at_sizes
from gather_infer.validate.guess_and_check import verdicts
from gather_infer.validate.verdict import Outside, Verdict, VerdictKind, verdict_diagnostics

__all__ = [
    "Condition",
    "Elements",
    "Outside",
    "Verdict",
    "VerdictKind",
    "bounds_violations",
    "combined",
    "failing_accesses",
    "failures_at_sizes",
    "verdict",
    "verdict_diagnostics",
    "verdicts",
]  # fmt: skip
