"""Versions of operators that compute the same.

Most versions of an operator only add element types, or attributes whose default is what the operator did before. So two
models of different opsets may be equal. The versions are those of https://github.com/onnx/onnx/blob/main/docs/Changelog.md
up to opset 28; the tests run the node models of onnx at the first and the newest version of each meaning.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

_MEANINGS: Final[dict[tuple[int, ...], str]] = {
    # versions at which an operator got another meaning: operators
    (1,): "Conv ConvTranspose Gather GlobalAveragePool GlobalMaxPool If LRN Loop LpNormalization MatMul"
    " MaxPool Shape Size Softplus Softsign Transpose",
    (1, 4): "Concat",
    (1, 5): "Reshape",
    (1, 6): "Abs Ceil Elu Exp Floor HardSigmoid InstanceNormalization LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid"
    " Sqrt Tanh Tile",
    (1, 6, 7): "Add Div Gemm Mul PRelu Sub",
    (1, 6, 8): "Max Mean Min Sum",
    (1, 6, 7, 9): "BatchNormalization",
    (1, 6, 11): "Clip",
    (1, 7): "Equal Greater Less LSTM Pow RNN",
    (1, 3, 7): "GRU",
    (1, 10): "Slice",
    (1, 10, 24): "TopK",
    (1, 13): "Hardmax LogSoftmax Softmax Squeeze Unsqueeze",
    (1, 2, 11): "Pad",
    (1, 2, 13, 18): "Split",
    (1, 19): "AveragePool",
    (1, 28): "DepthToSpace SpaceToDepth",
    (7,): "Acos Asin Atan Cos Sin Tan",
    (8,): "Expand",
    (8, 9): "Scan",
    (9,): "Acosh Asinh Atanh Cosh Erf EyeLike IsNaN MaxUnpool MeanVarianceNormalization NonZero Sign Sinh"
    " Where",
    (9, 28): "Compress OneHot",
    (10,): "IsInf NonMaxSuppression QLinearMatMul ThresholdedRelu",
    (10, 11, 18, 19): "Resize",
    (10, 28): "DequantizeLinear Mod QuantizeLinear",
    (11,): "CumSum Det GatherElements GatherND Round ScatterElements ScatterND",
    (12,): "GreaterOrEqual LessOrEqual NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
    (14,): "HardSwish",
    (18,): "Mish",
    (19,): "DeformConv",
}  # fmt: skip

FIRST_VERSIONS: Final[Mapping[str, tuple[int, ...]]] = {
    name: versions for versions, names in _MEANINGS.items() for name in names.split()
}
"""Operator of ai.onnx -> the first version of each of its meanings."""

_CEILED: Final = frozenset(("AveragePool", "MaxPool"))
"""Operators whose windows beyond the padding changed with versions: with `ceil_mode`, no two versions are the same."""


def meaning_since(op_type: str, since: int, attributes: Mapping[str, Any]) -> int:
    """The first version that computes what version `since` of an operator of ai.onnx computes with these attributes."""
    if op_type in _CEILED and attributes.get("ceil_mode"):
        return since
    starts = FIRST_VERSIONS.get(op_type, ())
    at = bisect_right(starts, since)
    return starts[at - 1] if at else since
