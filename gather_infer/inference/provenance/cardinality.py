"""Cardinality analysis: the number of true elements of a bool tensor.

It is a dim of the output of NonZero, and the result of ReduceSum over the same bools. Exporters use both for
`x[mask] = value`: the number of values is `ReduceSum(Cast(mask))`, and `NonZero(mask)` gives their positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onnx import NodeProto

from gather_infer.tensor import DType, SymbolicTensor, Value, make_values

if TYPE_CHECKING:
    from gather_infer.inference.environment import Environment

OPERATORS: Final = frozenset({"Cast", "NonZero", "ReduceSum"})
"""Operators of ai.onnx that preserve or reveal a cardinality, besides those that permute elements."""


def transfer_cardinality(
    node: NodeProto,
    op_type: str,
    permuted: int | None,
    inputs: Sequence[Value | None],
    result: SymbolicTensor,
    environment: Environment,
) -> None:
    """Record cardinalities and `bool_sources`, and set the result of a full ReduceSum to the recorded cardinality.

    op_type    the operator, if it is one of `OPERATORS`; else empty
    permuted   position of the input of which output 0 has each element exactly once; None for other operators
    """
    at = permuted or 0
    source = inputs[at] if at < len(inputs) else None
    if not isinstance(source, SymbolicTensor) or not source.shape:
        return
    name, out = node.input[at], node.output[0]
    bools = name if source.dtype is DType.BOOL else environment.bool_sources.get(name)
    if bools is None:
        return
    bools = environment.bool_sources.get(bools, bools)
    if permuted is not None or (op_type == "Cast" and result.dtype is DType.INT64):
        environment.bool_sources[out] = bools
    elif op_type == "NonZero" and result.shape is not None:
        environment.true_counts.setdefault(bools, result.shape[1])
    elif op_type == "ReduceSum" and result.shape in ((), (1,)) and result.values is None:  # one element: a sum of all
        count = environment.true_counts.get(bools)
        if count is not None:
            environment.values[out] = result.with_(values=make_values([count], result.shape))
