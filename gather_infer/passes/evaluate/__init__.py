"""Constant evaluation: exact results of nodes with constant inputs. All modules with evaluators are listed here.

They are imported once a node has only constant inputs: few models have such a node.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from gather_infer.passes.evaluate.evaluators import Evaluation, Evaluator, EvaluatorSet

_MODULES: Final = (
    "gather", "movement", "arithmetic", "cast", "generation", "pad", "reduction", "reshape", "scatter", "shape",
    "slice",
)  # fmt: skip


@cache
def tables() -> tuple[EvaluatorSet, ...]:
    """All tables of evaluators."""
    modules = [import_module(f"{__name__}.{name}") for name in _MODULES]
    return tuple(found for module in modules for found in vars(module).values() if isinstance(found, EvaluatorSet))


@cache
def evaluator_of(domain: str, op_type: str, version: int) -> Evaluator | None:
    """The evaluator of an operator at opset `version` of `domain` ("" for ai.onnx); None if there is none."""
    found = (table.lookup(op_type, version) for table in tables() if table.domain == domain)
    return next((entry.evaluator for entry in found if entry is not None), None)


__all__ = ["Evaluation", "Evaluator", "EvaluatorSet", "evaluator_of", "tables"]
