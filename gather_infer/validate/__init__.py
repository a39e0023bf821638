"""Bounds checks: verdicts on accesses by index, and the contract that keeps a model from failing."""

from gather_infer.validate.bounds import combined, verdict
from gather_infer.validate.condition import Condition, Elements
from gather_infer.validate.sizes import failing, failures, violations
from gather_infer.validate.supposed import verdicts
from gather_infer.validate.verdict import Kind, Outside, Verdict, judged_findings

__all__ = [
    "Condition", "Elements", "Kind", "Outside", "Verdict", "combined", "failing", "failures", "judged_findings",
    "verdict", "verdicts", "violations",
]  # fmt: skip
