"""Bounds of floats that integers become on their way to an index, as in `Cast(Floor(Cast(i) / 5))`.

Every step is monotone and rounds as IEEE 754 says, so that the ends of a range become the ends of the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import NodeProto

from gather_infer.ops.spans import span_of
from gather_infer.symbolic import Scope
from gather_infer.tensor import DType, Span, SymbolicTensor, Value

if TYPE_CHECKING:
    from .frame import Frame

FLOAT_TYPES: Final = {DType.FLOAT32: np.float32, DType.FLOAT64: np.float64}
_MOVES: Final = frozenset({"Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Expand", "Tile"})
_EXACT: Final = 1 << 24
"""Integers up to here are held exactly by float32 too."""

STEPS: Final = _MOVES | {"Cast", "Div", "Mul", "Floor", "Ceil"}


def follow_float(
    node: NodeProto, inputs: Sequence[Value | None], result: SymbolicTensor, frame: Frame, scope: Scope
) -> None:
    """Note in `frame` between which numbers the floats of a node's output are."""
    source = inputs[0] if inputs else None
    kind = None if result.dtype is None else FLOAT_TYPES.get(result.dtype)
    if kind is None or not isinstance(source, SymbolicTensor) or source.dtype is None:
        return
    ends: tuple[float, float] | None
    if node.op_type == "Cast" and source.dtype.is_integer:
        ends = _integers(span_of(source, scope), scope)
    else:
        ends = frame.floats.get(node.input[0]) if frame.floats else None
        if ends is None or source.dtype is not result.dtype:
            return
        if node.op_type in ("Floor", "Ceil"):
            step = math.floor if node.op_type == "Floor" else math.ceil
            ends = float(step(ends[0])), float(step(ends[1]))
        elif node.op_type in ("Div", "Mul"):
            factor = positive(inputs[1])
            if factor is None:
                return
            with np.errstate(all="ignore"):
                made = [kind(e) / kind(factor) if node.op_type == "Div" else kind(e) * kind(factor) for e in ends]
            ends = float(made[0]), float(made[1])
    if ends is not None and max(map(abs, ends)) <= _EXACT:
        frame.floats[node.output[0]] = ends


def truncated(ends: tuple[float, float]) -> Span:
    """The span of floats between these ends as integers."""
    return Span(math.trunc(ends[0]), math.trunc(ends[1]))


def _integers(span: Span, scope: Scope) -> tuple[float, float] | None:
    if span.lo is None or span.hi is None:
        return None
    lo, hi = scope.bounds(span.lo).lo, scope.bounds(span.hi).hi
    if lo is None or hi is None or lo < -_EXACT or hi > _EXACT or lo > hi:
        return None
    return float(lo), float(hi)


def positive(value: Value | None) -> float | None:
    """The one element of a tensor, when it is a number > 0."""
    if not isinstance(value, SymbolicTensor) or value.values is None or value.values.size != 1:
        return None
    number = value.values.flat[0]
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    return float(number) if 0 < number < math.inf else None
