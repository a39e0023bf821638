"""Reductions and cumulative sums.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/reduction/
"""

from __future__ import annotations

from typing import Final

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import scalar, vector
from gather_infer.openvino.lowerings.type_legalization import FOR_ORDER, SIGNED, legalized
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_SUMS: Final = ("ReduceSum", "ReduceProd", "ReduceMean")
_NORMS: Final = ("ReduceL1", "ReduceL2")
_EXTREMES: Final = ("ReduceMax", "ReduceMin")


@lowers(*_SUMS, *_EXTREMES, preserves_failures=True)
def reduced(op: LayerView, g: FunctionBuilder) -> str:
    """reduce-{sum,prod,mean,max,min}-1: ReduceSum and so on; an empty list of axes means no reduction.

    An axis that is listed twice, which ONNX does not allow, is used once.
    """
    dtype = op.dtype(0)
    by = SIGNED if op.op_type in _SUMS else FOR_ORDER
    if op.op_type == "ReduceMean" and not dtype.is_float:
        by = {dtype: DType.FLOAT64 if dtype in (DType.INT64, DType.UINT64) else DType.FLOAT32}
    return legalized(g, dtype, lambda x: _over_axes(op, g, op.op_type, x), op.x(0), by=by)


@lowers(*_NORMS, since=4, preserves_failures=True)
def norm(op: LayerView, g: FunctionBuilder) -> str:
    """reduce-l1-4, reduce-l2-4: ReduceL1, ReduceL2; Abs where the list of axes is empty."""

    def of(x: str) -> str:
        return g.Abs(x) if op.ints(1) == [] else _over_axes(op, g, op.op_type, x)

    return legalized(g, op.dtype(0), of, op.x(0), by=SIGNED)


@lowers("ReduceLogicalAnd", "ReduceLogicalOr", preserves_failures=True)
def logical(op: LayerView, g: FunctionBuilder) -> str:
    """reduce-logical-and-1, reduce-logical-or-1: ReduceMin, ReduceMax of the booleans cast to bytes."""
    kind = "ReduceMin" if op.op_type == "ReduceLogicalAnd" else "ReduceMax"
    # onnxruntime has no ReduceMin of an empty tensor of booleans; for bytes its result is 255, which is true
    byte = g.cast(g.cast(op.x(0), op.dtype(0), DType.BOOL), DType.BOOL, DType.UINT8)
    return g.cast(_over_axes(op, g, kind, byte), DType.UINT8, DType.BOOL)


def _over_axes(op: LayerView, g: FunctionBuilder, kind: str, x: str) -> str:
    keeps = op.flag("keep_dims", False)
    listed = op.ints(1)
    if listed is None or not op.has_rank(0):
        axes = vector(op, g, 1)
    elif not op.rank(0) or not listed:
        return x
    else:
        axes = g.i64(*sorted(set(op.axes(1, op.rank(0)))))
    return g.node(kind, (x, axes), keepdims=keeps, noop_with_empty_axes=True)[0]


@lowers("CumSum", since=3)
def cum_sum(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/cumsum-3: CumSum, along the first axis by default."""
    axis = scalar(op, g, 1) if op.has(1) else g.scalar(0, DType.INT64)

    def running(x: str) -> str:
        return g.CumSum(x, axis, exclusive=op.flag("exclusive", False), reverse=op.flag("reverse", False))

    return legalized(g, op.dtype(0), running, op.x(0), by=SIGNED)
