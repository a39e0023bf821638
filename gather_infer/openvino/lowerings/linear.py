"""Linear algebra: MatMul, Einsum, Inverse, GroupedMatMul.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/matrix/
"""

from __future__ import annotations

from typing import Final

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import iota, vector
from gather_infer.openvino.lowerings.type_legalization import TypeLegalization, legalized
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_PRODUCTS: Final[TypeLegalization] = {
    DType.INT8: DType.INT32, DType.INT16: DType.INT32, DType.UINT8: DType.INT32, DType.UINT16: DType.INT32,
    DType.BFLOAT16: DType.FLOAT32,
}  # fmt: skip
_SUMS: Final[TypeLegalization] = {**_PRODUCTS, DType.UINT32: DType.INT64, DType.UINT64: DType.INT64}
"""Computation types for Einsum, which also lacks kernels for unsigned integers."""


@lowers("MatMul", preserves_failures=True)
def mat_mul(op: LayerView, g: FunctionBuilder) -> str:
    """matrix/matmul-1: MatMul; either input may be transposed, except a vector."""

    def product(a: str, b: str) -> str:
        return g.MatMul(_turned(op, g, a, 0, "transpose_a"), _turned(op, g, b, 1, "transpose_b"))

    return legalized(g, op.dtype(0), product, op.x(0), op.x(1), by=_PRODUCTS)


def _turned(op: LayerView, g: FunctionBuilder, x: str, index: int, name: str) -> str:
    if not op.flag(name, False) or op.rank(index) < 2:
        return x
    rank = op.rank(index)
    return g.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@lowers("Einsum", since=7, preserves_failures=True)
def einsum(op: LayerView, g: FunctionBuilder) -> str:
    """matrix/einsum-7: ONNX's Einsum with the same `equation`."""
    equation = op.text("equation")
    inputs = (op.x(i) for i in range(len(op.names)))
    return legalized(g, op.dtype(0), lambda *xs: g.Einsum(*xs, equation=equation), *inputs, by=_SUMS)


@lowers("Inverse", since=14)
def inverse(op: LayerView, g: FunctionBuilder) -> str:
    """matrix/inverse-14: Gauss-Jordan elimination with partial pivoting, in a Loop over the columns.

    data    [..., n, n]
    output  [..., n, n]; with `adjoint` the transpose of the inverse
    """
    dtype = op.dtype(0)
    wide = DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    adjoint = op.flag("adjoint", False)

    def solve(x: str) -> str:
        n = g.dim(x, -1)
        batch = g.as_vector(g.ReduceProd(g.dims(x, 0, -2), g.i64(0), keepdims=0)) if op.rank(0) > 2 else g.i64(1)
        matrices = g.Reshape(x, g.concat(batch, n, n), allowzero=1)
        rows = iota(g, n)
        unit = g.Cast(g.Equal(g.unsqueeze(rows, 1), rows), to=int(wide))
        augmented = g.Concat(matrices, g.Expand(unit, g.Shape(matrices)), axis=2)

        def eliminate(body: FunctionBuilder, names: tuple[str, ...]) -> list[tuple[str, DType]]:
            column, goes_on, state = names
            return [(goes_on, DType.BOOL), (_eliminated(body, column, state, rows, wide), wide)]

        inputs: list[tuple[DType, int | None]] = [(DType.INT64, 0), (DType.BOOL, 0), (wide, 3)]
        body = g.graph("eliminate", inputs, eliminate)
        (solved,) = g.node("Loop", (g.as_scalar(n), g.scalar(True, DType.BOOL), augmented), body=body)
        result = g.Slice(solved, n, g.Add(n, n), g.i64(2))
        result = g.transpose(result, [0, 2, 1]) if adjoint else result
        return g.Reshape(result, g.Shape(x), allowzero=1)

    return legalized(g, dtype, solve, op.x(0), by={dtype: wide})


def _eliminated(body: FunctionBuilder, column: str, state: str, rows: str, wide: DType) -> str:
    """`state` [b, n, 2n] after one elimination step, which makes column `column` a column of the identity matrix.

    column  int64 scalar
    rows    the vector 0, 1, ..., n - 1
    wide    element type of `state`
    """
    here = body.unsqueeze(column, 0)
    after = body.Add(here, body.i64(1))
    size = body.Abs(body.squeeze(body.Slice(state, here, after, body.i64(2)), 2))
    # rows above the current one have been pivots already
    size = body.Where(body.Less(rows, column), body.scalar(-1, wide), size)
    pivot = body.ArgMax(size, axis=1, keepdims=1)  # [b, 1]
    # exchange the pivot row with the current one
    others = body.Where(body.Equal(rows, pivot), column, rows)
    swapped = body.Where(body.Equal(rows, column), pivot, others)
    moved = body.GatherND(state, body.unsqueeze(swapped, 2), batch_dims=1)
    row = body.Slice(moved, here, after, body.i64(1))
    row = body.Div(row, body.Slice(row, here, after, body.i64(2)))
    is_row = body.unsqueeze(body.Equal(rows, column), 1)
    factors = body.Slice(moved, here, after, body.i64(2))
    return body.Where(is_row, row, body.Sub(moved, body.Mul(factors, row)))


@lowers("GroupedMatMul", since=17)
def grouped_mat_mul(op: LayerView, g: FunctionBuilder) -> str:
    """matrix/grouped-matmul-17: a MatMul of each group of rows with its own transposed matrix, in a Loop.

    mat_a    [rows, k], or [groups, m, k] without offsets
    mat_b    [groups, n, k]
    offsets  [groups], for each group the index after its last row
    output   [rows, n], or [groups, m, n]
    """
    dtype = op.dtype(0)
    if not op.has(2):
        return legalized(g, dtype, lambda a, b: g.MatMul(a, g.transpose(b, [0, 2, 1])), op.x(0), op.x(1), by=_PRODUCTS)
    wide = _PRODUCTS.get(dtype, dtype)
    ends = vector(op, g, 2)
    starts = g.Concat(g.i64(0), g.Slice(ends, g.i64(0), g.i64(-1), g.i64(0)), axis=0)

    def grouped(a: str, b: str) -> str:
        def multiply(body: FunctionBuilder, names: tuple[str, ...]) -> list[tuple[str, DType]]:
            group, goes_on, done = names
            here = body.unsqueeze(group, 0)
            start, end = body.Gather(starts, here, axis=0), body.Gather(ends, here, axis=0)
            weights = body.transpose(body.Gather(b, group, axis=0), [1, 0])
            product = body.MatMul(body.Slice(a, start, end, body.i64(0)), weights)
            return [(goes_on, DType.BOOL), (body.Concat(done, product, axis=0), wide)]

        inputs: list[tuple[DType, int | None]] = [(DType.INT64, 0), (DType.BOOL, 0), (wide, 2)]
        body = g.graph("multiply", inputs, multiply)
        nothing = g.Expand(g.scalar(0, wide), g.Concat(g.i64(0), g.dim(b, 1), axis=0))
        (made,) = g.node("Loop", (g.as_scalar(g.dim(b, 0)), g.scalar(True, DType.BOOL), nothing), body=body)
        return g.Reshape(made, g.Concat(g.dim(a, 0), g.dim(b, 1), axis=0), allowzero=1)

    return legalized(g, dtype, grouped, op.x(0), op.x(1), by=_PRODUCTS)
