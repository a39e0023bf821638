"""The walk over a model; callers see `run.infer`, and `reasons.explain` which goes backwards.

Names are resolved on first use: to infer takes nothing of what explains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from .explanation import Explanation
    from .reasons import explain
    from .result import Coverage, GatherAccess, Inference
    from .run import infer, to_model_file

_HOME = {
    "explanation": ("Explanation",),
    "reasons": ("explain",),
    "result": ("Coverage", "GatherAccess", "Inference"),
    "run": ("infer", "to_model_file"),
}

__all__ = ["Coverage", "Explanation", "GatherAccess", "Inference", "explain", "infer", "to_model_file"]

__getattr__ = lazy(__name__, _HOME)
