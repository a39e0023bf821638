"""The walk over a model; callers see `run.infer`, and `reasons.explain` which goes backwards.

Names are resolved on first use: to infer takes nothing of what explains.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explanation import Explanation
    from .reasons import explain
    from .result import Coverage, GatherAccess, Inference
    from .run import infer, to_model_file

_MODULE = {
    "Coverage": "result",
    "Explanation": "explanation",
    "GatherAccess": "result",
    "Inference": "result",
    "explain": "reasons",
    "infer": "run",
    "to_model_file": "run",
}

__all__ = ["Coverage", "Explanation", "GatherAccess", "Inference", "explain", "infer", "to_model_file"]


def __getattr__(name: str) -> object:
    module = _MODULE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
