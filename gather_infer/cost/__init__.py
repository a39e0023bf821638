"""Cost of a model as formulas in its dim symbols: multiply-adds, bytes moved, peak memory of activations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.lazy import lazy

if TYPE_CHECKING:
    from gather_infer.cost.counter import cost_of
    from gather_infer.cost.curve import CostCurve
    from gather_infer.cost.pareto import ProgramPoint
    from gather_infer.cost.result import Cost, NodeCost, OperatorCost, UnknownContribution
    from gather_infer.cost.work import CostUnknown, Work

__all__ = [
    "Cost",
    "CostCurve",
    "CostUnknown",
    "NodeCost",
    "OperatorCost",
    "ProgramPoint",
    "UnknownContribution",
    "Work",
    "cost_of",
]

__getattr__ = lazy(
    __name__,
    {
        "pareto": ("ProgramPoint",),
        "result": ("Cost", "UnknownContribution", "NodeCost", "OperatorCost"),
        "counter": ("cost_of",),
        "curve": ("CostCurve",),
        "work": ("CostUnknown", "Work"),
    },
)
