"""Requirements on inputs of unknown rank: whether a node restricts their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.rules import OpCall, Rule
from gather_infer.symbolic import Dim, DimTooLarge
from gather_infer.tensor import SymbolicTensor, Value
from gather_infer.trail import Constraint, ImpliedConstraint

_SAMPLE_SHAPES: Final[tuple[tuple[Dim, ...], ...]] = ((), (97,) * 9)
"""Sample shapes that every operator without restrictions accepts."""

UNRANKED_REASON: Final = "an input has unknown rank, so not all requirements on it are known"


def is_unranked(value: Value | None) -> bool:
    return isinstance(value, SymbolicTensor) and value.shape is None


def constrains_shape(rule: Rule, call: OpCall) -> bool:
    """Whether a rule fails or implies a constraint when an input of unknown rank is given a sample shape."""
    unranked = [position for position, value in enumerate(call.inputs) if is_unranked(value)]
    return any(_constrains(rule, call, position, shape) for position in unranked for shape in _SAMPLE_SHAPES)


def _constrains(rule: Rule, call: OpCall, position: int, shape: tuple[Dim, ...]) -> bool:
    context = Context(call.context.scope.child(), may_assume=False)
    inputs: Sequence[Value | None] = [
        SymbolicTensor(value.dtype, shape) if k == position and isinstance(value, SymbolicTensor) else value
        for k, value in enumerate(call.inputs)
    ]
    try:
        rule(replace(call, inputs=inputs, context=context))
    except (SpecViolation, DimTooLarge):
        return True
    stated = (*context.trail.all(Constraint), *context.trail.all(ImpliedConstraint))
    return bool(stated)


__all__ = ["UNRANKED_REASON", "constrains_shape", "is_unranked"]
