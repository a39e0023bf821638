"""The walk over a model; `run.infer` is what callers see."""

from __future__ import annotations

from .result import Coverage, GatherAccess, Inference
from .run import infer, to_model_file

__all__ = ["Coverage", "GatherAccess", "Inference", "infer", "to_model_file"]
