"""The walk over a model; callers see `run.infer`, and `reasons.explain` which goes backwards."""

from __future__ import annotations

from .explanation import Explanation
from .reasons import explain
from .result import Coverage, GatherAccess, Inference
from .run import infer, to_model_file

__all__ = ["Coverage", "Explanation", "GatherAccess", "Inference", "explain", "infer", "to_model_file"]
