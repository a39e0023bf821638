"""Commands for many models: a job for each command, run in worker processes or in an executor of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.many.api import contract_many, convert_many, cost_many, infer_many, optimize_many
    from gather_infer.many.model_run import ModelRun

_HOME = {
    "api": ("contract_many", "convert_many", "cost_many", "infer_many", "optimize_many"),
    "model_run": ("ModelRun",),
}

__all__ = ["ModelRun", "contract_many", "convert_many", "cost_many", "infer_many", "optimize_many"]

__getattr__ = lazy(__name__, _HOME)
