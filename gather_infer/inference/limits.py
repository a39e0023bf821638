"""How large a fact may grow: expressions that are too long are given up, so that the work stays linear in the model."""

from __future__ import annotations

from typing import Final

from gather_infer.errors import SpecViolation
from gather_infer.inference.options import MAX_SIZE
from gather_infer.rules import Context
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import Span, SymbolicTensor, Value, make_values

MAX_DIM_SIZE: Final = 160
"""Nodes of a dim's expression; past it the dim becomes a symbol."""


def limited(value: Value, context: Context) -> Value:
    """`value` with a symbol for every dim that is too long, and without such elements and ends of the span.

    Raises SpecViolation for a size that no tensor can have.
    """
    if not isinstance(value, SymbolicTensor):
        return value
    shape, values, span = value.shape, value.values, value.span
    if shape is not None:
        too_large = next((d for d in shape if isinstance(d, int) and d > MAX_SIZE), None)
        if too_large is not None:
            raise SpecViolation(f"a size must be <= 2^63 - 1, is {too_large}")
        if any(map(_is_long, shape)):
            value = value.with_(shape=tuple(_capped(d, context) for d in shape))
    if values is not None and any(map(_is_long, values.flat)):
        value = value.with_(values=make_values([None if _is_long(e) else e for e in values.flat], values.shape))
    if span is not None and (_is_long(span.lo) or _is_long(span.hi)):
        value = value.with_(span=Span(*(None if _is_long(end) else end for end in (span.lo, span.hi))))
    return value


def _is_long(element: object) -> bool:
    return isinstance(element, Expr) and element.size > MAX_DIM_SIZE


def _capped(dim: Dim, context: Context) -> Dim:
    """The dim, or the one symbol that stands for it when its expression is too long."""
    return context.derived("dim", dim, reason="its expression grew past the size limit") if _is_long(dim) else dim
