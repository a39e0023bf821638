"""Cost of a model as formulas in its dim symbols: multiply-adds, bytes moved, peak memory of activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.cost.front import Moment
    from gather_infer.cost.result import Cost, Gap, NodeCost, OperatorCost
    from gather_infer.cost.run import cost_of
    from gather_infer.cost.work import Untold, Work

__all__ = ["Cost", "Gap", "Moment", "NodeCost", "OperatorCost", "Untold", "Work", "cost_of"]

__getattr__ = lazy(
    __name__,
    {
        "front": ("Moment",),
        "result": ("Cost", "Gap", "NodeCost", "OperatorCost"),
        "run": ("cost_of",),
        "work": ("Untold", "Work"),
    },
)
