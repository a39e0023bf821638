"""Constant evaluation: exact results of nodes with constant inputs. All tables of evaluators are listed here."""

from __future__ import annotations

from functools import cache

from gather_infer.passes.evaluate import (
    arithmetic,
    cast,
    gather,
    generation,
    movement,
    pad,
    reduction,
    reshape,
    scatter,
    shape,
    slice,
)
from gather_infer.passes.evaluate.evaluators import Evaluation, Evaluator, EvaluatorSet

TABLES: tuple[EvaluatorSet, ...] = (
    gather.evaluators,
    gather.ml,
    gather.microsoft,
    movement.evaluators,
    movement.microsoft,
    arithmetic.evaluators,
    cast.evaluators,
    generation.evaluators,
    pad.evaluators,
    reduction.evaluators,
    reshape.evaluators,
    scatter.evaluators,
    shape.evaluators,
    slice.evaluators,
)


@cache
def evaluator_of(domain: str, op_type: str, version: int) -> Evaluator | None:
    """The evaluator of an operator at opset `version` of `domain` ("" for ai.onnx); None if there is none."""
    found = (table.lookup(op_type, version) for table in TABLES if table.domain == domain)
    return next((entry.evaluator for entry in found if entry is not None), None)


__all__ = ["TABLES", "Evaluation", "Evaluator", "EvaluatorSet", "evaluator_of"]
