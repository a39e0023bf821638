"""Operators for element types that runtimes have no kernel of: computed in a type that they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gather_infer.openvino.lowerings.fragment import Fragment
from gather_infer.tensor import DType

WIDER: Final[Mapping[DType, DType]] = {
    DType.INT8: DType.INT32, DType.INT16: DType.INT32, DType.UINT8: DType.UINT32, DType.UINT16: DType.UINT32,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""What onnxruntime has arithmetic of, for what it has none of: the same after the way back, modulo 2^n of integers."""

WIDE_FLOATS: Final[Mapping[DType, DType]] = {DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32}
"""What OpenVINO computes in float32 and rounds once at the end."""

SINGLE: Final[Mapping[DType, DType]] = {
    dtype: DType.FLOAT32
    for dtype in (
        DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64, DType.INT8, DType.INT16, DType.INT32, DType.INT64,
        DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64,
    )
}  # fmt: skip
"""For operators that onnxruntime has of float32 alone."""


def carried(
    g: Fragment, dtype: DType, compute: Callable[..., str], *inputs: str, by: Mapping[DType, DType] = WIDER
) -> str:
    """What `compute` makes of the inputs, computed in the element type that `by` has for theirs."""
    wide = by.get(dtype, dtype)
    return g.cast(compute(*(g.cast(x, dtype, wide) for x in inputs)), wide, dtype)
