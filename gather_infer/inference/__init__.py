"""The walk over a model; callers see `run.infer`.

Names are resolved on first use: what knows the results need not load the walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.inference.result import Access, Belief, Coverage, Inference, TensorRow
    from gather_infer.inference.run import infer

_HOME = {
    "result": ("Access", "Belief", "Coverage", "Inference", "TensorRow"),
    "run": ("infer",),
}

__all__ = ["Access", "Belief", "Coverage", "Inference", "TensorRow", "infer"]

__getattr__ = lazy(__name__, _HOME)
