"""Scaled dot product attention: one Attention from opset 23 on, else MatMul and Softmax.

Page: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import WIDE_FLOATS
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_MASK, _SCALE, _SINK = 3, 4, 5
_ATTENTION: Final = 23
"""First ai.onnx opset with Attention."""


@lowers("ScaledDotProductAttention", since=13)
def scaled_dot_product_attention(op: LayerView, g: FunctionBuilder) -> str:
    """scaled-dot-product-attention-13: softmax(query * scale x key^T + mask) x value.

    query [N, ..., L, E], key [N, ..., S, E], value [N, ..., S, V]
    mask  [N, ..., L, S], optional: added, or boolean with false for masked elements; a scalar means no mask
    scale [], by default 1 / sqrt(E)
    sink  [N, ..., L, 1], optional: an extra term in the sum of each softmax

    A row in which all elements are masked is NaN; with ONNX's Attention it is 0.
    """
    wide = WIDE_FLOATS.get(op.dtype(0), op.dtype(0))
    query, key, value = (g.cast(op.x(i), op.dtype(i), wide) for i in range(3))
    if g.opset >= _ATTENTION and _is_attention(op):
        mask = op.x(_MASK) if _is_masked(op) else None
        if mask is not None and op.dtype(_MASK) is not DType.BOOL:
            mask = g.cast(mask, op.dtype(_MASK), wide)
        scale = op.known_number(_SCALE) if op.has(_SCALE) else None
        causal = int(op.flag("causal", False)) or None
        made = g.Attention(query, key, value, mask, scale=scale, is_causal=causal)
        return g.cast(made, wide, op.dtype(0))
    rank = op.rank(1)
    turned = g.transpose(key, [*range(rank - 2), rank - 1, rank - 2])
    scores = _masked(op, g, g.MatMul(_scaled(op, g, query, wide), turned), wide)
    if not op.has(_SINK):
        return g.cast(g.MatMul(g.Softmax(scores, axis=-1), value), wide, op.dtype(0))
    sink = g.cast(op.x(_SINK), op.dtype(_SINK), wide)
    column = g.Slice(scores, g.i64(0), g.i64(1), g.i64(-1))
    shared = g.Softmax(g.Concat(scores, g.Expand(sink, g.Shape(column)), axis=-1), axis=-1)
    return g.cast(g.MatMul(g.Slice(shared, g.i64(0), g.i64(-1), g.i64(-1)), value), wide, op.dtype(0))


def _is_masked(op: LayerView) -> bool:
    return op.has(_MASK) and op.rank(_MASK) > 0 and not op.flag("causal", False)


def _is_attention(op: LayerView) -> bool:
    """Whether ONNX's Attention computes this layer: rank 4, equal batch and head dims, no sink.

    False if a dim is known to be 0, which onnxruntime's Attention refuses.
    """
    if op.has(_SINK) or any(op.rank(i) != 4 for i in range(3)):
        return False
    if op.has(_SCALE) and op.array(_SCALE) is None:
        return False
    if not op.dtype(0).is_float or any(op.dtype(i) != op.dtype(0) for i in (1, 2)):
        return False
    query, key, value = (op.shape(i) for i in range(3))
    if query[:2] != key[:2] or key[:3] != value[:3] or 0 in (*query, *key, *value):
        return False
    if op.flag("causal", False):
        return query[2] == key[2]
    if not _is_masked(op):
        return True
    return op.rank(_MASK) >= 2 and op.shape(_MASK)[-2:] == (query[2], key[2])


def _scaled(op: LayerView, g: FunctionBuilder, query: str, wide: DType) -> str:
    if op.has(_SCALE):
        scale = g.cast(op.x(_SCALE), op.dtype(_SCALE), wide)
        return g.Mul(query, scale if op.has_rank(_SCALE) and op.rank(_SCALE) == 0 else g.as_scalar(scale))
    width = g.Cast(g.squeeze(g.dim(query, op.rank(0) - 1), 0), to=wide)
    return g.Div(query, g.Sqrt(width))


def _masked(op: LayerView, g: FunctionBuilder, scores: str, wide: DType) -> str:
    """`scores` [N, ..., L, S] with -inf at masked elements, or with a numeric mask added."""
    nothing = g.scalar(-np.inf, wide)
    if op.flag("causal", False):
        first, one = g.scalar(0, DType.INT64), g.scalar(1, DType.INT64)
        queries, keys = (g.squeeze(g.dim(scores, axis), 0) for axis in (-2, -1))
        rows = g.unsqueeze(g.Range(first, queries, one), 1)
        return g.Where(g.LessOrEqual(g.Range(first, keys, one), rows), scores, nothing)
    if not _is_masked(op):
        return scores
    if op.dtype(_MASK) is DType.BOOL:
        return g.Where(op.x(_MASK), scores, nothing)
    return g.Add(scores, g.cast(op.x(_MASK), op.dtype(_MASK), wide))
