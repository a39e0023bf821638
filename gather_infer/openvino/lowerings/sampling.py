"""Random numbers by ONNX's generators: from the same distributions as OpenVINO's, but different numbers.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/generation/
"""

from __future__ import annotations

from typing import Final

from gather_infer.dialect import LoweringRefused
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import scalar, single, vector
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

RANDOM: Final = ("RandomUniform", "Multinomial")
REASON: Final = "its random numbers come from OpenVINO's own generator; --random onnx draws others, from ONNX's"

NEWEST: Final = 21
"""Newest usable ai.onnx opset: onnxruntime 1.32 has no kernel for version 22 of RandomUniform, RandomUniformLike and
Multinomial.
"""
_BELOW_ONE: Final = 1 - 2**-23
"""The largest number below 1 that OpenVINO draws; its numbers have 23 random bits."""
_BITS: Final = {DType.FLOAT16: 10, DType.BFLOAT16: 7}
"""Number of random bits for a narrow float type, so that no number is rounded up to `maxval`."""
_SEEDS: Final = 2**24
"""Exclusive bound of seeds: integers below it are exact in float32, the type of a seed in ONNX."""
_SPREAD: Final = 1000003


@lowers("RandomUniform", since=8)
def random_uniform(op: LayerView, g: FunctionBuilder) -> str:
    """random-uniform-8: RandomUniformLike of the shape in the first input, scaled to [minval, maxval)."""
    _check_allowed(op, g)
    to = op.type_of("output_type")
    wide = DType.FLOAT32 if to in (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32) else DType.FLOAT64
    low, high = (g.cast(single(op, g, i), op.dtype(i), wide) for i in (1, 2))
    part = _uniform(op, g, vector(op, g, 0), wide)
    if to in _BITS:
        steps = g.scalar(2 ** _BITS[to], wide)
        part = g.Div(g.Floor(g.Mul(part, steps)), steps)
    drawn = g.Add(g.Mul(part, g.Sub(high, low)), low)
    if to.is_float:
        return g.cast(drawn, wide, to)
    last = g.Sub(high, g.scalar(1, wide))  # rounding of the product may reach `maxval`
    return g.cast(g.Min(g.Floor(drawn), last), wide, to)


@lowers("Multinomial", since=13)
def multinomial(op: LayerView, g: FunctionBuilder) -> str:
    """multinomial-13: class indices drawn for each row of probabilities, by Multinomial, or by TopK or ArgMax.

    probs        [n, c]: the probability of each class up to a factor, or with `log_probs` its logarithm
    num_samples  number of draws from each row
    output       [n, num_samples]

    ONNX's Multinomial draws with replacement, a constant number of times. Otherwise the Gumbel-max trick is used: TopK
    (without replacement) or ArgMax (with replacement) of the log probabilities plus Gumbel noise.
    """
    _check_allowed(op, g)
    to, probabilities = op.type_of("convert_type"), g.cast(op.x(0), op.dtype(0), DType.FLOAT32)
    logits = probabilities if op.flag("log_probs") else g.Log(probabilities)
    samples, again = op.ints(1, count=1, lower=0), op.flag("with_replacement")
    if again and samples is not None and samples[0] > 0:
        drawn = g.Multinomial(logits, sample_size=samples[0], dtype=int(DType.INT64), seed=_seed(op))
        return g.cast(drawn, DType.INT64, to)
    count = g.Reshape(scalar(op, g, 1), g.i64(1))
    if not again:
        noisy = g.Add(logits, _gumbel(op, g, g.Shape(logits)))
        return g.cast(g.node("TopK", (noisy, count), 2, axis=1)[1], DType.INT64, to)
    dims = g.concat(g.dim(logits, 0), count, g.dim(logits, 1))
    noisy = g.Add(g.unsqueeze(logits, 1), _gumbel(op, g, dims))
    return g.cast(g.ArgMax(noisy, axis=2, keepdims=0), DType.INT64, to)


def _check_allowed(op: LayerView, g: FunctionBuilder) -> None:
    """Raise LoweringRefused unless `op.allow_random` is set and onnxruntime can draw numbers at the opset of `g`."""
    if not op.allow_random:
        raise LoweringRefused(REASON)
    if g.opset > NEWEST:
        raise LoweringRefused(f"onnxruntime draws random numbers up to opset {NEWEST}, the result has {g.opset}")


def _uniform(op: LayerView, g: FunctionBuilder, dims: str, dtype: DType, lower: float = 0.0) -> str:
    """Uniform random numbers in [lower, 1) of type `dtype`; `dims` names an int64 vector with their shape."""
    shape = g.ConstantOfShape(dims)
    return g.RandomUniformLike(shape, dtype=int(dtype), low=lower, high=_BELOW_ONE, seed=_seed(op))


def _gumbel(op: LayerView, g: FunctionBuilder, dims: str) -> str:
    """Gumbel noise, float32, of the shape in the int64 vector `dims`: -log(-log(u)) for uniform u in (0, 1)."""
    return g.Neg(g.Log(g.Neg(g.Log(_uniform(op, g, dims, DType.FLOAT32, 1e-30)))))


def _seed(op: LayerView) -> float | None:
    """ONNX's seed from `global_seed` and `op_seed`; None if both are 0, for a different sequence in each run."""
    first, second = op.integer("global_seed", 0), op.integer("op_seed", 0)
    return float((first * _SPREAD + second) % _SEEDS) if first or second else None
