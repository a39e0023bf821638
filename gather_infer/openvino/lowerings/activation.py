"""Activation functions: PRelu, Elu, Selu, Gelu, Softmax and others.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/activation/
"""

from __future__ import annotations

from math import ceil, floor, inf, pi, sqrt
from typing import Final

import numpy as np

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, range_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.operands import single
from gather_infer.openvino.lowerings.type_legalization import (
    FLOAT32_AT_MOST,
    FOR_MIN_MAX,
    FOR_WHERE,
    WITHOUT_BFLOAT16,
    legalized,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_SAME: Final = {"SoftPlus": "Softplus", "SoftSign": "Softsign", "Mish": "Mish", "HSwish": "HardSwish"}
_KERNELS: Final = (DType.FLOAT32, DType.FLOAT16)
"""Element types for which onnxruntime has a PRelu kernel."""


@lowers(*_SAME, preserves_failures=True)
def same_in_onnx(op: LayerView, g: FunctionBuilder) -> str:
    """softplus-4, softsign-9, mish-4, hswish-4: ONNX's Softplus, Softsign, Mish, HardSwish."""
    return legalized(g, op.dtype(0), lambda x: g.node(_SAME[op.op_type], (x,))[0], op.x(0), by=FLOAT32_AT_MOST)


@lowers("ReLU", preserves_failures=True)
def relu(op: LayerView, g: FunctionBuilder) -> str:
    """relu-1: Relu for floats, Max with 0 for signed integers; unsigned integers and booleans are unchanged."""
    dtype, x = op.dtype(0), op.x(0)
    if dtype.is_float:
        return legalized(g, dtype, g.Relu, x, by=WITHOUT_BFLOAT16)
    if dtype in (DType.BOOL, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64):
        return x
    return legalized(g, dtype, lambda a: g.Max(a, g.scalar(0, FOR_MIN_MAX.get(dtype, dtype))), x, by=FOR_MIN_MAX)


@lowers("HSigmoid", since=5, preserves_failures=True)
def hard_sigmoid_of_six(op: LayerView, g: FunctionBuilder) -> str:
    """hsigmoid-5: min(max(x + 3, 0), 6) / 6, by ONNX's HardSigmoid."""
    return legalized(g, op.dtype(0), lambda x: g.HardSigmoid(x, alpha=1 / 6, beta=0.5), op.x(0), by=FLOAT32_AT_MOST)


@lowers("HardSigmoid", preserves_failures=True)
def hard_sigmoid(op: LayerView, g: FunctionBuilder) -> str:
    """hard-sigmoid-1: max(0, min(1, alpha * x + beta)), by Mul, Add and Clip; alpha and beta are inputs."""

    def linear(x: str, alpha: str, beta: str) -> str:
        dtype = WITHOUT_BFLOAT16.get(op.dtype(0), op.dtype(0))
        return g.Clip(g.Add(g.Mul(x, alpha), beta), g.scalar(0, dtype), g.scalar(1, dtype))

    return legalized(g, op.dtype(0), linear, op.x(0), single(op, g, 1), single(op, g, 2), by=WITHOUT_BFLOAT16)


@lowers("Clamp", preserves_failures=True)
def clamp(op: LayerView, g: FunctionBuilder) -> str:
    """clamp-1: Clip; for integers the attribute `min` is rounded up and `max` down."""
    dtype, low, high = op.dtype(0), op.number("min"), op.number("max")
    wide = FOR_MIN_MAX.get(dtype, dtype)
    if dtype.is_float:
        limits = [g.scalar(_within_half(bound) if wide is DType.FLOAT16 else bound, wide) for bound in (low, high)]
    else:
        least, most = range_of(dtype)
        ends = (least if low <= least else ceil(min(low, most)), most if high >= most else floor(max(high, least)))
        limits = [g.scalar(end, wide) for end in ends]
    return legalized(g, dtype, lambda x: g.Clip(x, *limits), op.x(0), by=FOR_MIN_MAX)


def _within_half(bound: float) -> float:
    """`bound`, or an infinity of the same sign where it is out of the range of float16."""
    return bound if abs(bound) <= float(np.finfo(np.float16).max) else inf if bound > 0 else -inf


@lowers("Elu", preserves_failures=True)
def elu(op: LayerView, g: FunctionBuilder) -> str:
    """elu-1: ONNX's Elu with the same `alpha`."""
    return legalized(g, op.dtype(0), lambda x: g.Elu(x, alpha=op.number("alpha")), op.x(0), by=FLOAT32_AT_MOST)


@lowers("Selu", preserves_failures=True)
def selu(op: LayerView, g: FunctionBuilder) -> str:
    """selu-1: lambda * x, or lambda * alpha * (e^x - 1) where x <= 0; alpha and lambda are inputs.

    By ONNX's Selu where alpha and lambda are constants, else by Exp and Where.
    """

    def scaled(x: str, alpha: str, gamma: str) -> str:
        dtype = WITHOUT_BFLOAT16.get(op.dtype(0), op.dtype(0))
        zero = g.scalar(0, dtype)
        curve = g.Mul(alpha, g.Sub(g.Exp(g.Min(x, zero)), g.scalar(1, dtype)))
        return g.Mul(gamma, g.Where(g.Greater(x, zero), x, curve))

    dtype, alpha, gamma = op.dtype(0), op.array(1), op.array(2)
    if alpha is not None and gamma is not None and alpha.size == gamma.size == 1:
        numbers = {"alpha": float(alpha.ravel()[0]), "gamma": float(gamma.ravel()[0])}
        return legalized(g, dtype, lambda x: g.Selu(x, **numbers), op.x(0), by=FLOAT32_AT_MOST)
    return legalized(g, dtype, scaled, op.x(0), single(op, g, 1), single(op, g, 2), by=WITHOUT_BFLOAT16)


@lowers("PReLU")
def prelu(op: LayerView, g: FunctionBuilder) -> str:
    """prelu-1: x, or slope * x where x < 0; PRelu, or Where for types without a kernel.

    data    [d0, ..., dr-1]
    slope   broadcasts to data as in numpy, except that for r >= 3 a vector of d1 elements belongs to axis 1
    """
    dtype, x, slope = op.dtype(0), op.x(0), _slope(op, g)
    if dtype in _KERNELS:
        return g.PRelu(x, slope)

    def steep(a: str, b: str) -> str:
        zero = g.scalar(0, FOR_WHERE.get(dtype, dtype))
        return g.Where(g.Less(a, zero), g.Mul(a, b), a)

    return legalized(g, dtype, steep, x, slope, by=FOR_WHERE)


def _slope(op: LayerView, g: FunctionBuilder) -> str:
    slope = op.x(1)
    if op.rank(1) != 1 or op.rank(0) < 3:
        return slope
    channels, length, behind = op.size(0, 1), op.size(1, 0), op.rank(0) - 2
    of_channels = g.unsqueeze(slope, *range(1, 1 + behind))
    if op.shape(0)[1] == op.shape(1)[0]:
        return of_channels
    if length == 1 or (channels is not None and length is not None):
        return slope
    ones = g.i64(*[1] * behind)
    count = g.Shape(slope)
    meets = g.Equal(count, g.dim(op.x(0), 1))
    target = g.Where(meets, g.concat(count, ones), g.concat(ones, count))
    return g.Reshape(slope, target, allowzero=1)


@lowers("Gelu", since=2, preserves_failures=True)
def gelu(op: LayerView, g: FunctionBuilder) -> str:
    """gelu-2, gelu-7: Gelu from ai.onnx opset 20 on, else its formula with Erf or Tanh.

    Version 7 adds `approximation_mode`, erf (default) or tanh.
    """
    by_tanh = op.version >= 7 and op.text("approximation_mode", "erf", choices=("erf", "tanh")) == "tanh"

    def curve(x: str) -> str:
        if g.opset >= 20:
            return g.Gelu(x, approximate="tanh" if by_tanh else "none")
        half, one = g.scalar(0.5, DType.FLOAT32), g.scalar(1, DType.FLOAT32)
        if by_tanh:
            cube = g.Mul(g.Mul(g.Mul(x, x), x), g.scalar(0.044715, DType.FLOAT32))
            share = g.Tanh(g.Mul(g.Add(x, cube), g.scalar(sqrt(2 / pi), DType.FLOAT32)))
        else:
            share = g.Erf(g.Mul(x, g.scalar(sqrt(0.5), DType.FLOAT32)))
        return g.Mul(g.Mul(x, half), g.Add(share, one))

    return legalized(g, op.dtype(0), curve, op.x(0), by=FLOAT32_AT_MOST)


@lowers("Swish", since=4, preserves_failures=True)
def swish(op: LayerView, g: FunctionBuilder) -> str:
    """swish-4: x * sigmoid(beta * x), by Sigmoid and Mul; beta is an input of one element, 1 by default."""
    if not op.has(1):
        return legalized(g, op.dtype(0), lambda x: g.Mul(x, g.Sigmoid(x)), op.x(0), by=WITHOUT_BFLOAT16)
    return legalized(
        g,
        op.dtype(0),
        lambda x, beta: g.Mul(x, g.Sigmoid(g.Mul(x, beta))),
        op.x(0),
        single(op, g, 1),
        by=WITHOUT_BFLOAT16,
    )


@lowers("SoftMax", preserves_failures=True)
def softmax(op: LayerView, g: FunctionBuilder) -> str:
    """softmax-1, softmax-8: Softmax along one axis; from version 8 on the axis may be negative."""
    return legalized(g, op.dtype(0), lambda x: g.Softmax(x, axis=op.integer("axis", 1)), op.x(0), by=WITHOUT_BFLOAT16)


@lowers("LogSoftmax", since=5, preserves_failures=True)
def log_softmax(op: LayerView, g: FunctionBuilder) -> str:
    """log-soft-max-5: ONNX's LogSoftmax along one axis."""
    return legalized(
        g, op.dtype(0), lambda x: g.LogSoftmax(x, axis=op.integer("axis", 1)), op.x(0), by=WITHOUT_BFLOAT16
    )
