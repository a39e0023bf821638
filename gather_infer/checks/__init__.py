"""Checks of one model, or of many, for problems that would break deployment.

Names are resolved on first use, so that a process that only distributes files does not import the inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.checks.baseline import Baseline
    from gather_infer.checks.check_many_models import check_many
    from gather_infer.checks.check_model import check
    from gather_infer.checks.check_set import CheckSet, Problem
    from gather_infer.checks.result import CheckResult
    from gather_infer.checks.selection import Selection

_HOME = {
    "baseline": ("Baseline",),
    "check_many_models": ("check_many",),
    "result": ("CheckResult",),
    "check_model": ("check",),
    "check_set": ("CheckSet", "Problem"),
    "selection": ("Selection",),
}

__all__ = ["Baseline", "CheckResult", "CheckSet", "Problem", "Selection", "check", "check_many"]

__getattr__ = lazy(__name__, _HOME)
