"""Elementwise operators of one input.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import (
    FLOAT32_AT_MOST,
    WIDE_FLOATS,
    WITHOUT_BFLOAT16,
    TypeLegalization,
    legalized,
)
from gather_infer.tensor import INTEGER_RANGE, DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_FUNCTIONS: Final[Mapping[str, tuple[str, TypeLegalization]]] = {
    "Cos": ("Cos", WITHOUT_BFLOAT16),
    "Exp": ("Exp", WITHOUT_BFLOAT16),
    "Log": ("Log", WITHOUT_BFLOAT16),
    "Sigmoid": ("Sigmoid", WITHOUT_BFLOAT16),
    "Sin": ("Sin", WITHOUT_BFLOAT16),
    "Sqrt": ("Sqrt", WITHOUT_BFLOAT16),
    "Tanh": ("Tanh", WITHOUT_BFLOAT16),
    "Acos": ("Acos", FLOAT32_AT_MOST),
    "Acosh": ("Acosh", FLOAT32_AT_MOST),
    "Asin": ("Asin", FLOAT32_AT_MOST),
    "Asinh": ("Asinh", FLOAT32_AT_MOST),
    "Atan": ("Atan", FLOAT32_AT_MOST),
    "Atanh": ("Atanh", FLOAT32_AT_MOST),
    "Cosh": ("Cosh", FLOAT32_AT_MOST),
    "Erf": ("Erf", FLOAT32_AT_MOST),
    "Sinh": ("Sinh", FLOAT32_AT_MOST),
    "Tan": ("Tan", FLOAT32_AT_MOST),
}
_WIDE: Final = (DType.INT32, DType.INT64, DType.UINT32, DType.UINT64)
_NARROW: Final = (DType.INT8, DType.UINT8)
_LOW: Final = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_HIGH: Final = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


@lowers(*_FUNCTIONS, preserves_failures=True)
def function(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/cos-1 and the like: ONNX's operator of the same name.

    Integers are computed as floats, and the results rounded to the nearest integer.
    """
    kind, carriers = _FUNCTIONS[op.op_type]
    dtype, x = op.dtype(0), op.x(0)
    if dtype.is_float:
        return legalized(g, dtype, lambda a: g.node(kind, (a,))[0], x, by=carriers)
    wide = DType.FLOAT64 if dtype in _WIDE and carriers is WITHOUT_BFLOAT16 else DType.FLOAT32
    (result,) = g.node(kind, (g.cast(x, dtype, wide),))
    nearest = g.Round(result)
    if dtype in _NARROW:  # saturate, where a Cast would wrap around
        nearest = g.Clip(nearest, *(g.scalar(end, wide) for end in INTEGER_RANGE[dtype]))
    return g.cast(nearest, wide, dtype)


@lowers("Abs", preserves_failures=True)
def absolute(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/abs-1: ONNX's Abs."""
    return legalized(g, op.dtype(0), g.Abs, op.x(0), by=WITHOUT_BFLOAT16)


@lowers("Sign", preserves_failures=True)
def sign(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/sign-1: ONNX's Sign."""
    return legalized(g, op.dtype(0), g.Sign, op.x(0), by=WITHOUT_BFLOAT16)


@lowers("Negative", preserves_failures=True)
def negative(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/negative-1: Neg; 0 - x for unsigned integers."""
    dtype = op.dtype(0)
    if dtype in (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64):
        return g.Sub(g.scalar(0, dtype), op.x(0))
    return legalized(g, dtype, g.Neg, op.x(0), by=WITHOUT_BFLOAT16)


@lowers("Ceiling", "Floor", preserves_failures=True)
def rounded_away(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/{ceiling,floor}-1: Ceil, Floor; integers are unchanged."""
    if not op.dtype(0).is_float:
        return op.x(0)
    return legalized(g, op.dtype(0), g.Ceil if op.op_type == "Ceiling" else g.Floor, op.x(0), by=WITHOUT_BFLOAT16)


@lowers("Round", since=5, preserves_failures=True)
def rounded(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/round-5: Round for `half_to_even`; Floor, Abs and Sign for `half_away_from_zero`.

    Integers are unchanged.
    """
    dtype = op.dtype(0)
    if not dtype.is_float:
        return op.x(0)
    if op.text("mode", "half_to_even", choices=("half_to_even", "half_away_from_zero")) == "half_to_even":
        return legalized(g, dtype, g.Round, op.x(0), by=WITHOUT_BFLOAT16)

    def away(x: str) -> str:
        # not floor(|x| + 0.5): for numbers just below a half, that sum rounds up to 1
        magnitude = g.Abs(x)
        below = g.Floor(magnitude)
        half = g.scalar(0.5, WITHOUT_BFLOAT16.get(dtype, dtype))
        up = g.CastLike(g.GreaterOrEqual(g.Sub(magnitude, below), half), x)
        return g.Mul(g.Sign(x), g.Add(below, up))

    return legalized(g, dtype, away, op.x(0), by=WITHOUT_BFLOAT16)


@lowers("IsNaN", since=10, preserves_failures=True)
def is_nan(op: LayerView, g: FunctionBuilder) -> str:
    """comparison/isnan-10: ONNX's IsNaN."""
    return g.IsNaN(op.x(0))


@lowers("IsInf", since=10, preserves_failures=True)
def is_inf(op: LayerView, g: FunctionBuilder) -> str:
    """comparison/isinf-10: ONNX's IsInf, with `detect_negative` and `detect_positive`."""
    dtype = op.dtype(0)
    x = g.cast(op.x(0), dtype, WIDE_FLOATS.get(dtype, dtype))
    return g.IsInf(
        x, detect_negative=op.flag("detect_negative", True), detect_positive=op.flag("detect_positive", True)
    )


@lowers("IsFinite", since=10, preserves_failures=True)
def is_finite(op: LayerView, g: FunctionBuilder) -> str:
    """comparison/isfinite-10: Not of IsNaN or IsInf."""
    dtype = op.dtype(0)
    x = g.cast(op.x(0), dtype, WIDE_FLOATS.get(dtype, dtype))
    return g.Not(g.Or(g.IsNaN(x), g.IsInf(x)))


@lowers("Identity", since=16, preserves_failures=True)
def identity(op: LayerView, g: FunctionBuilder) -> str:
    """util/identity-16: the input, unchanged."""
    return op.x(0)


@lowers("ErfInv", since=17, preserves_failures=True)
def erf_inv(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/erfinv-17: a polynomial approximation; infinite at -1 and 1, NaN outside [-1, 1].

    M. Giles, Approximating the erfinv function (2010), defines the polynomials in w = -log((1 - x) (1 + x)): one for
    w < 5 and one for w >= 5.
    """

    def inverse(x: str) -> str:
        one = g.scalar(1, DType.FLOAT32)
        w = g.Neg(g.Log(g.Mul(g.Sub(one, x), g.Add(one, x))))
        low = _polynomial(g, g.Sub(w, g.scalar(2.5, DType.FLOAT32)), _LOW)
        root = g.Sqrt(g.Max(w, g.scalar(0, DType.FLOAT32)))
        high = _polynomial(g, g.Sub(root, g.scalar(3, DType.FLOAT32)), _HIGH)
        inner = g.Mul(g.Where(g.Less(w, g.scalar(5, DType.FLOAT32)), low, high), x)
        at_end = g.Mul(x, g.scalar(float("inf"), DType.FLOAT32))
        return g.Where(g.Equal(g.Abs(x), one), at_end, inner)

    dtype = op.dtype(0)
    return legalized(g, dtype, inverse, op.x(0), by={dtype: DType.FLOAT32})


def _polynomial(g: FunctionBuilder, x: str, coefficients: tuple[float, ...]) -> str:
    """A polynomial in `x`, float32, by Horner's rule; the coefficient of the highest power comes first."""
    value = g.scalar(coefficients[0], DType.FLOAT32)
    for coefficient in coefficients[1:]:
        value = g.Add(g.Mul(value, x), g.scalar(coefficient, DType.FLOAT32))
    return value
