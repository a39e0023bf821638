"""How many elements of a tensor are not 0: NonZero tells it by a dim, ReduceSum of the same bools by its element.

Exporters write `x[mask] = value` so: as many values as `ReduceSum(Cast(mask))` says go where `NonZero(mask)` points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.tensor import DType, SymbolicTensor, Value, make_values

if TYPE_CHECKING:
    from gather_infer.inference.frame import Frame

STEPS: Final = frozenset({"Cast", "NonZero", "ReduceSum"})
"""Operators of ai.onnx that keep or tell a count, beside those that permute elements."""


def follow_count(
    node: NodeProto,
    own: str,
    permuted: int | None,
    inputs: Sequence[Value | None],
    result: SymbolicTensor,
    frame: Frame,
) -> None:
    """Note in `frame` which tensors hold the elements of some bools, and give a sum of all the count that is known.

    own        the operator, if it is one of `STEPS`
    permuted   the input whose elements output 0 has, each once
    """
    at = permuted or 0
    source = inputs[at] if at < len(inputs) else None
    if not isinstance(source, SymbolicTensor) or not source.shape:
        return
    name, out = node.input[at], node.output[0]
    bools = name if source.dtype is DType.BOOL else frame.bools.get(name)
    if bools is None:
        return
    bools = frame.bools.get(bools, bools)
    if permuted is not None or (own == "Cast" and result.dtype is DType.INT64):
        frame.bools[out] = bools
    elif own == "NonZero" and result.shape is not None:
        frame.counts.setdefault(bools, result.shape[1])
    elif own == "ReduceSum" and result.shape in ((), (1,)) and result.values is None:  # one element: a sum of all
        count = frame.counts.get(bools)
        if count is not None:
            frame.values[out] = result.with_(values=make_values([count], result.shape))
