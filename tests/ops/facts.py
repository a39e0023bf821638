"""Short names for the facts that the tests of the rules are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import DType, Ratio, Shape, SymbolicTensor, ValueRange, from_values, make_values

A, B, M, N, S = map(symbol, "ABMNS")
F32, F16, BF16, F64 = DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64
I8, U8, I32, U32, I64, U64, BOOL = (
    DType.INT8, DType.UINT8, DType.INT32, DType.UINT32, DType.INT64, DType.UINT64, DType.BOOL,
)  # fmt: skip


def known(elements: Any, dtype: DType = I64) -> SymbolicTensor:
    """A tensor with these elements: nested lists, or one alone; None is unknown."""
    return from_values(dtype, make_values(np.array(elements, dtype=object)))


def ints(*elements: Dim | None) -> SymbolicTensor:
    """A vector of int64."""
    return known(list(elements))


def of(dtype: DType, *shape: Dim) -> SymbolicTensor:
    """A tensor of this type and shape."""
    return SymbolicTensor(dtype, shape)


def within(lo: Any, hi: Any, shape: Shape | None = (N,), dtype: DType = I64) -> SymbolicTensor:
    """A tensor of which only the bounds are known."""
    return SymbolicTensor(dtype, shape, None, ValueRange(lo, hi))


def elements(tensor: SymbolicTensor) -> Any:
    """The values as nested lists, None when there are none."""
    return None if tensor.values is None else tensor.values.tolist()


def ratio(num: Dim, den: int) -> Ratio:
    """A float that is a quotient of sizes."""
    assert isinstance(num, Expr), "a number is written as a float"
    return Ratio(num, den)
