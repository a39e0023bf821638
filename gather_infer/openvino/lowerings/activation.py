"""Activation functions: PRelu, Elu, Selu, Gelu, Softmax and others.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/activation/
"""

from __future__ import annotations

from math import ceil, floor, inf, pi, sqrt
from typing import Final

import numpy as np

from gather_infer.openvino.lowerings.carried import CHOSEN, EXTREMES, HALF, SINGLE, carried
from gather_infer.openvino.lowerings.fragment import Fragment, range_of
from gather_infer.openvino.lowerings.layer import Layer
from gather_infer.openvino.lowerings.operands import single
from gather_infer.openvino.lowerings.table import Lowerings
from gather_infer.tensor import DType

lowerings = Lowerings()
lowers = lowerings.lowers

_SAME: Final = {"SoftPlus": "Softplus", "SoftSign": "Softsign", "Mish": "Mish", "HSwish": "HardSwish"}
_KERNELS: Final = (DType.FLOAT32, DType.FLOAT16)
"""Types for which onnxruntime has a kernel of PRelu."""


@lowers(*_SAME, alike=True)
def same(op: Layer, g: Fragment) -> str:
    """softplus-4, softsign-9, mish-4, hswish-4: Softplus, Softsign, Mish, HardSwish."""
    return carried(g, op.dtype(0), lambda x: g.node(_SAME[op.type], (x,))[0], op.x(0), by=SINGLE)


@lowers("ReLU", alike=True)
def relu(op: Layer, g: Fragment) -> str:
    """relu-1: Relu; of signed integers Max with 0, of unsigned ones the input."""
    dtype, x = op.dtype(0), op.x(0)
    if dtype.is_float:
        return carried(g, dtype, g.Relu, x, by=HALF)
    if dtype in (DType.BOOL, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64):
        return x
    return carried(g, dtype, lambda a: g.Max(a, g.scalar(0, EXTREMES.get(dtype, dtype))), x, by=EXTREMES)


@lowers("HSigmoid", since=5, alike=True)
def hard_sigmoid_of_six(op: Layer, g: Fragment) -> str:
    """hsigmoid-5: min(max(x + 3, 0), 6) / 6, a HardSigmoid."""
    return carried(g, op.dtype(0), lambda x: g.HardSigmoid(x, alpha=1 / 6, beta=0.5), op.x(0), by=SINGLE)


@lowers("HardSigmoid", alike=True)
def hard_sigmoid(op: Layer, g: Fragment) -> str:
    """hard-sigmoid-1: max(0, min(1, alpha * x + beta)), by Mul, Add and Clip; alpha and beta are inputs."""

    def linear(x: str, alpha: str, beta: str) -> str:
        dtype = HALF.get(op.dtype(0), op.dtype(0))
        return g.Clip(g.Add(g.Mul(x, alpha), beta), g.scalar(0, dtype), g.scalar(1, dtype))

    return carried(g, op.dtype(0), linear, op.x(0), single(op, g, 1), single(op, g, 2), by=HALF)


@lowers("Clamp", alike=True)
def clamp(op: Layer, g: Fragment) -> str:
    """clamp-1: Clip; for integers `min` is rounded up and `max` down."""
    dtype, low, high = op.dtype(0), op.number("min"), op.number("max")
    wide = EXTREMES.get(dtype, dtype)
    if dtype.is_float:
        limits = [g.scalar(_within_half(bound) if wide is DType.FLOAT16 else bound, wide) for bound in (low, high)]
    else:
        least, most = range_of(dtype)
        ends = (least if low <= least else ceil(min(low, most)), most if high >= most else floor(max(high, least)))
        limits = [g.scalar(end, wide) for end in ends]
    return carried(g, dtype, lambda x: g.Clip(x, *limits), op.x(0), by=EXTREMES)


def _within_half(bound: float) -> float:
    """A bound as float16: infinite where it is out of range."""
    return bound if abs(bound) <= float(np.finfo(np.float16).max) else inf if bound > 0 else -inf


@lowers("Elu", alike=True)
def elu(op: Layer, g: Fragment) -> str:
    """elu-1: Elu."""
    return carried(g, op.dtype(0), lambda x: g.Elu(x, alpha=op.number("alpha")), op.x(0), by=SINGLE)


@lowers("Selu", alike=True)
def selu(op: Layer, g: Fragment) -> str:
    """selu-1: lambda * x, or lambda * alpha * (e^x - 1) where x <= 0; alpha and lambda are inputs.

    Selu where both are constants; else by Exp and Where.
    """

    def scaled(x: str, alpha: str, gamma: str) -> str:
        dtype = HALF.get(op.dtype(0), op.dtype(0))
        zero = g.scalar(0, dtype)
        curve = g.Mul(alpha, g.Sub(g.Exp(g.Min(x, zero)), g.scalar(1, dtype)))
        return g.Mul(gamma, g.Where(g.Greater(x, zero), x, curve))

    dtype, alpha, gamma = op.dtype(0), op.value(1), op.value(2)
    if alpha is not None and gamma is not None and alpha.size == gamma.size == 1:
        numbers = {"alpha": float(alpha.ravel()[0]), "gamma": float(gamma.ravel()[0])}
        return carried(g, dtype, lambda x: g.Selu(x, **numbers), op.x(0), by=SINGLE)
    return carried(g, dtype, scaled, op.x(0), single(op, g, 1), single(op, g, 2), by=HALF)


@lowers("PReLU")
def prelu(op: Layer, g: Fragment) -> str:
    """prelu-1: x, or slope * x where x < 0; PRelu, or Where for types without a kernel.

    data    [d0, ..., dr-1]
    slope   broadcast as in numpy, except that a vector of d1 elements belongs to axis 1
    """
    dtype, x, slope = op.dtype(0), op.x(0), _slope(op, g)
    if dtype in _KERNELS:
        return g.PRelu(x, slope)

    def steep(a: str, b: str) -> str:
        zero = g.scalar(0, CHOSEN.get(dtype, dtype))
        return g.Where(g.Less(a, zero), g.Mul(a, b), a)

    return carried(g, dtype, steep, x, slope, by=CHOSEN)


def _slope(op: Layer, g: Fragment) -> str:
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


@lowers("Gelu", since=2, alike=True)
def gelu(op: Layer, g: Fragment) -> str:
    """gelu-2, and gelu-7 with `approximation_mode`: Gelu from opset 20 on, else its formula with Erf or Tanh."""
    by_tanh = op.opset >= 7 and op.text("approximation_mode", "erf", among=("erf", "tanh")) == "tanh"

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

    return carried(g, op.dtype(0), curve, op.x(0), by=SINGLE)


@lowers("Swish", since=4, alike=True)
def swish(op: Layer, g: Fragment) -> str:
    """swish-4: x * sigmoid(beta * x), by Sigmoid and Mul; beta is an input of one element, 1 by default."""
    if not op.has(1):
        return carried(g, op.dtype(0), lambda x: g.Mul(x, g.Sigmoid(x)), op.x(0), by=HALF)
    return carried(
        g, op.dtype(0), lambda x, beta: g.Mul(x, g.Sigmoid(g.Mul(x, beta))), op.x(0), single(op, g, 1), by=HALF
    )  # fmt: skip


@lowers("SoftMax", alike=True)
def softmax(op: Layer, g: Fragment) -> str:
    """softmax-1, and softmax-8, which allows a negative axis: Softmax along one axis."""
    return carried(g, op.dtype(0), lambda x: g.Softmax(x, axis=op.integer("axis", 1)), op.x(0), by=HALF)


@lowers("LogSoftmax", since=5, alike=True)
def log_softmax(op: Layer, g: Fragment) -> str:
    """log-soft-max-5: LogSoftmax."""
    return carried(g, op.dtype(0), lambda x: g.LogSoftmax(x, axis=op.integer("axis", 1)), op.x(0), by=HALF)
