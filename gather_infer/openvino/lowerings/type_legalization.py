"""Type legalization: compute in a wider element type where onnxruntime's CPU has no kernel for a type.

Casting the result back wraps integers around, so sums, differences and products equal those of the narrow type. Where
elements are compared, uint64 elements are assumed to be less than 2^63.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.tensor import DType

TypeLegalization = Mapping[DType, DType]
"""Maps an element type to the type to compute in; a type that is not listed needs no cast."""

WITHOUT_BFLOAT16: Final[TypeLegalization] = {DType.BFLOAT16: DType.FLOAT32}
"""Computation types for operators with kernels for all floats but bfloat16."""

FLOAT32_AT_MOST: Final[TypeLegalization] = {DType.BFLOAT16: DType.FLOAT32, DType.FLOAT64: DType.FLOAT32}
"""Computation types for float operators without kernels for float64; OpenVINO computes float64 in float32 as well."""

WIDER: Final[TypeLegalization] = {
    DType.INT8: DType.INT32, DType.INT16: DType.INT32, DType.UINT8: DType.UINT32, DType.UINT16: DType.UINT32,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""Computation types for arithmetic operators with kernels only for types of 32 bits or more."""

SIGNED: Final[TypeLegalization] = {
    DType.INT8: DType.INT32, DType.INT16: DType.INT32, DType.UINT8: DType.INT32, DType.UINT16: DType.INT32,
    DType.UINT32: DType.INT64, DType.UINT64: DType.INT64, DType.BOOL: DType.INT32, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""Computation types for operators with kernels only for int32, int64 and floats: sums, powers."""

FOR_MIN_MAX: Final[TypeLegalization] = {
    DType.INT16: DType.INT32, DType.UINT16: DType.INT32, DType.BOOL: DType.INT32, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""Computation types for Max, Min, Clip and Pad."""

FOR_WHERE: Final[TypeLegalization] = {
    DType.INT16: DType.INT32, DType.UINT16: DType.INT32, DType.UINT64: DType.INT64, DType.BOOL: DType.UINT8,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""Computation types for Where."""

FOR_ORDER: Final[TypeLegalization] = {
    DType.UINT16: DType.INT32, DType.UINT32: DType.INT64, DType.UINT64: DType.INT64, DType.BOOL: DType.INT32,
    DType.INT16: DType.INT32, DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
"""Computation types for TopK, ReduceMax, ReduceMin and ArgMax."""

WIDE_FLOATS: Final[TypeLegalization] = {DType.FLOAT16: DType.FLOAT32, DType.BFLOAT16: DType.FLOAT32}
"""Computation types for operators that OpenVINO computes in float32 with one rounding at the end."""

AS_FLOAT: Final[TypeLegalization] = dict.fromkeys(
    (
        DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64, DType.INT8, DType.INT16, DType.INT32, DType.INT64,
        DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64,
    ),
    DType.FLOAT32,
)  # fmt: skip
"""Computation types for operators with kernels only for float32."""


def legalized(
    g: FunctionBuilder, dtype: DType, compute: Callable[..., str], *inputs: str, by: TypeLegalization = WIDER
) -> str:
    """Cast `inputs` of type `dtype` to its computation type in `by`, call `compute` on them, cast the result back."""
    wide = by.get(dtype, dtype)
    return g.cast(compute(*(g.cast(x, dtype, wide) for x in inputs)), wide, dtype)
