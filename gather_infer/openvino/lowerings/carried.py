"""Operators for element types that runtimes have no kernel of: computed in a type that they have.

The tables are those of onnxruntime's CPU kernels. Integers that come back wrap around, so that sums, differences and
products are those of the narrow type; where the order of elements counts, uint64 is taken for less than 2^63.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gather_infer.openvino.lowerings.fragment import Fragment
from gather_infer.tensor import DType

Carriers = Mapping[DType, DType]
"""What stands for an element type while something is computed; a type that is not in it is computed as it is."""

HALF: Final[Carriers] = {DType.BFLOAT16: DType.FLOAT32}
"""For operators of floats that have kernels of all but bfloat16."""

SINGLE: Final[Carriers] = {DType.BFLOAT16: DType.FLOAT32, DType.FLOAT64: DType.FLOAT32}
"""For operators of floats that have no kernel of double; OpenVINO computes doubles in float itself."""

WIDER: Final[Carriers] = {
    DType.INT8: DType.INT32, DType.INT16: DType.INT32, DType.UINT8: DType.UINT32, DType.UINT16: DType.UINT32,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""For arithmetic of 32 bits and more."""

SIGNED: Final[Carriers] = {
    DType.INT8: DType.INT32, DType.INT16: DType.INT32, DType.UINT8: DType.INT32, DType.UINT16: DType.INT32,
    DType.UINT32: DType.INT64, DType.UINT64: DType.INT64, DType.BOOL: DType.INT32, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""For operators of int32, int64 and floats alone: sums, powers."""

EXTREMES: Final[Carriers] = {
    DType.INT16: DType.INT32, DType.UINT16: DType.INT32, DType.BOOL: DType.INT32, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""For Max, Min, Clip, Pad."""

CHOSEN: Final[Carriers] = {
    DType.INT16: DType.INT32, DType.UINT16: DType.INT32, DType.UINT64: DType.INT64, DType.BOOL: DType.UINT8,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""For Where."""

ORDERED: Final[Carriers] = {
    DType.UINT16: DType.INT32, DType.UINT32: DType.INT64, DType.UINT64: DType.INT64, DType.BOOL: DType.INT32,
    DType.INT16: DType.INT32, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""For TopK, ReduceMax, ReduceMin, ArgMax."""

WIDE_FLOATS: Final[Carriers] = {DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32}
"""What OpenVINO computes in float32 and rounds once at the end."""

AS_FLOAT: Final[Carriers] = dict.fromkeys(
    (
        DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64, DType.INT8, DType.INT16, DType.INT32, DType.INT64,
        DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64,
    ),
    DType.FLOAT32,
)  # fmt: skip
"""For operators that have kernels of float32 alone."""


def carried(g: Fragment, dtype: DType, compute: Callable[..., str], *inputs: str, by: Carriers = WIDER) -> str:
    """What `compute` makes of the inputs, computed in the element type that `by` has for theirs."""
    wide = by.get(dtype, dtype)
    return g.cast(compute(*(g.cast(x, dtype, wide) for x in inputs)), wide, dtype)
