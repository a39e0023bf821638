"""Summation error of onnx's reference evaluator: a bound on the difference of results of equal sums.

The evaluator computes with numpy, whose summation order depends on the memory layout of an array. A sum of K products
has an error of about sqrt(K) roundings, relative to its largest terms (Higham and Mary, 2019, 10.1137/18M1226312).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isqrt, prod, sqrt
from typing import Final

from gather_infer.inference import Inference
from gather_infer.model.paths import bodies
from gather_infer.symbolic import evaluate, free_symbols
from gather_infer.tensor import DType, SymbolicTensor, Value
from gather_infer.verification.tolerance import EPSILON

FACTOR: Final = 2.0
"""Safety factor on the error: layers amplify it."""

UNKNOWN: Final = 256
"""Number of terms that is assumed for a sum of unknown length."""

_CONTRACTING: Final = frozenset({
    "Attention", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "DFT", "Einsum", "Gemm", "GRU", "LSTM", "MatMul",
    "MatMulInteger", "QLinearConv", "QLinearMatMul", "RNN", "STFT", "TfIdfVectorizer",
})  # fmt: skip
_ADDING: Final = frozenset({
    "AveragePool", "BatchNormalization", "CumSum", "GlobalAveragePool", "GlobalLpPool", "GroupNormalization",
    "InstanceNormalization", "LayerNormalization", "LogSoftmax", "LpNormalization", "LpPool", "LRN", "Mean",
    "MeanVarianceNormalization", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "RMSNormalization", "RoiAlign", "Resize", "ScatterElements", "ScatterND", "Softmax",
    "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "Sum", "Upsample", "GridSample",
})  # fmt: skip
_ROUNDED: Final = frozenset({
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Gelu", "HardSwish",
    "Log", "Mish", "Pow", "Reciprocal", "Selu", "Sigmoid", "Sin", "Sinh", "Softplus", "Swish", "Tan", "Tanh",
})  # fmt: skip
"""Functions whose vectorized numpy results differ from the scalar ones."""


def noise_of(inference: Inference, binding: Mapping[str, int]) -> float:
    """The summation error of a model at the sizes of `binding`, relative to the largest element; 0 without sums."""
    lengths, kinds = 0, set[DType]()
    for path, body in bodies(inference.model.proto):
        facts = inference.scopes.get(path, {})
        for node in body.node:
            contracts, adds = node.op_type in _CONTRACTING, node.op_type in _ADDING
            if not contracts and not adds and node.op_type not in _ROUNDED:
                continue
            given = [facts.get(name) for name in node.input if name]
            kinds.update(fact.dtype for fact in given if isinstance(fact, SymbolicTensor) and fact.dtype in EPSILON)
            made = facts.get(node.output[0]) if node.output else None
            lengths += _length(given, made, binding) if contracts or adds else 1
    if not lengths:
        return 0.0
    return FACTOR * max((EPSILON[kind] for kind in kinds), default=EPSILON[DType.FLOAT32]) * sqrt(lengths)


def _length(given: list[Value | None], made: Value | None, binding: Mapping[str, int]) -> int:
    """An upper bound on the number of terms in the sums of a node: sqrt(A * B / C) for a product C of A and B.

    given, made   the facts about the inputs and the output; A, B and C are their numbers of elements
    """
    sizes = list(_sizes([*given[:2], made], binding))
    if len(sizes) < 2:
        return UNKNOWN
    *operands, result = sizes
    return max(1, isqrt(prod(operands) // max(result, 1)) if len(operands) == 2 else operands[0])


def _sizes(values: list[Value | None], binding: Mapping[str, int]) -> Iterator[int]:
    for value in values:
        if not isinstance(value, SymbolicTensor) or value.shape is None:
            return
        if not all(free_symbols(dim) <= binding.keys() for dim in value.shape):
            return
        yield prod(evaluate(dim, binding) for dim in value.shape)
