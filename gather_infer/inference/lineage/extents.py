"""Sizes that a scalar of data tells: as far as a Range counts, as often as a Loop runs, a dim of ConstantOfShape.

What was computed once and is used as a size twice gives two symbols, which are the same in every run. So the first one
is noted by the name of the scalar, through nodes that put it into a shape, and stands for the second one as well. Where
the scalar is an element of an input, a verdict in terms of the symbol becomes a condition on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer import spans
from gather_infer.context import Context
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import DType, SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.frame import Frame

MAX_ELEMENTS: Final = 8
"""Elements of a shape whose scalars are noted."""

STEPS: Final = frozenset({"Cast", "Concat", "ConstantOfShape", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators of ai.onnx that put a scalar into a shape, or make a tensor of one."""


def note_extent(name: str, start: Dim, size: Dim, frame: Frame) -> Dim:
    """How many numbers there are from `start` on before the element of a scalar: as noted before, else `size`."""
    same = frame.scalars_of(name)
    name = name if same is None else same[0] or name
    known = frame.extent(name, start)
    if known is not None or not isinstance(size, Expr) or not size.is_symbol:
        return size if known is None or isinstance(size, int) else known
    frame.extents[name, start] = size
    trace = frame.trace(name)
    part = trace.parts[0] if trace is not None and len(trace.parts) == 1 else None
    if part is not None and part.input and part.wrap is None and spans.is_near(part.offset - start):
        limits = tuple(replace(limit, end=limit.end - start) for limit in part.limits)
        frame.meanings[size.name] = replace(part, offset=part.offset - start, limits=limits)
    return size


def follow_scalar(
    node: NodeProto, own: str, inputs: Sequence[Value | None], result: SymbolicTensor, frame: Frame, context: Context
) -> None:
    """Note in `frame` which scalars the elements of a shape are, and give a dim that such a scalar tells its symbol.

    own   the operator, one of `STEPS`
    """
    out = node.output[0]
    if own == "ConstantOfShape":
        frame.values[out] = _with_known_dims(node, result, frame, context)
        return
    if result.dtype is not DType.INT64 or result.shape not in _SMALL:
        return
    if result.values is not None and None not in result.values.flat:
        return
    scalars: list[str] = []
    for name, value in zip(node.input, inputs if own == "Concat" else inputs[:1], strict=False):
        count = None if not isinstance(value, SymbolicTensor) else 1 if value.shape == () else _length(value)
        if not isinstance(value, SymbolicTensor) or value.dtype is not DType.INT64 or count is None:
            return
        known = frame.scalars_of(name)
        scalars += known if known is not None else (name,) if count == 1 else ("",) * count
    frame.scalars[out] = tuple(scalars)


_SMALL: Final = frozenset({(), *((count,) for count in range(1, MAX_ELEMENTS + 1))})


def _length(value: SymbolicTensor) -> int | None:
    length = value.shape[0] if value.shape is not None and len(value.shape) == 1 else None
    return length if isinstance(length, int) else None


def _with_known_dims(node: NodeProto, result: SymbolicTensor, frame: Frame, context: Context) -> SymbolicTensor:
    """The tensor with symbols for the dims that scalars tell: the node fails where one is negative."""
    scalars = frame.scalars_of(node.input[0])
    if scalars is None or result.shape is None or len(scalars) != len(result.shape):
        return result
    dims = list(result.shape)
    for axis, (name, dim) in enumerate(zip(scalars, dims, strict=True)):
        cause = context.causes.get(dim.name) if name and isinstance(dim, Expr) and dim.is_symbol else None
        if cause is not None and cause.node == context.node:  # else the element is known
            dims[axis] = note_extent(name, 0, dim, frame)
    return result.with_(shape=tuple(dims))
