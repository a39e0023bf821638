"""The walk over a model; callers see `run.infer`.

Names are resolved on first use: what knows the results need not load the walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.inference.result import Belief, Coverage, GatherAccess, Inference
    from gather_infer.inference.run import infer

_HOME = {
    "result": ("Belief", "Coverage", "GatherAccess", "Inference"),
    "run": ("infer",),
}

__all__ = ["Belief", "Coverage", "GatherAccess", "Inference", "infer"]

__getattr__ = lazy(__name__, _HOME)
