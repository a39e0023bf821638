"""Short names for the facts that the tests of the integer operators are made of."""

from __future__ import annotations

from typing import Any

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import DType, Ratio, Shape, Span, SymbolicTensor, from_values, make_values

A, B, M, N, S = map(symbol, "ABMNS")
F32, F16, BF16, F64 = DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64
I8, U8, I32, U32, I64, U64, BOOL = (
    DType.INT8, DType.UINT8, DType.INT32, DType.UINT32, DType.INT64, DType.UINT64, DType.BOOL,
)  # fmt: skip


def known(elements: Any, dtype: DType = I64) -> SymbolicTensor:
    """A scalar or a vector with these elements."""
    return from_values(dtype, make_values(elements))


def within(lo: Any, hi: Any, shape: Shape | None = (N,), dtype: DType = I64) -> SymbolicTensor:
    """A tensor of which only the bounds are known."""
    return SymbolicTensor(dtype, shape, None, Span(lo, hi))


def elements(tensor: SymbolicTensor) -> Any:
    """The values as Python objects, None when none is known."""
    return None if tensor.values is None else tensor.values.tolist()


def ratio(num: Dim, den: int) -> Ratio:
    """A float that is a quotient of sizes."""
    assert isinstance(num, Expr), "a number is written as a float"
    return Ratio(num, den)
