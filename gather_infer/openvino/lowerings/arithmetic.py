"""Elementwise operators of two and three inputs: arithmetic, comparison, logic, bits, Select.

Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder, range_of
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.openvino.lowerings.type_legalization import (
    FOR_MIN_MAX,
    FOR_WHERE,
    SIGNED,
    WITHOUT_BFLOAT16,
    TypeLegalization,
    legalized,
)
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

_ARITHMETIC: Final[Mapping[str, tuple[str, TypeLegalization]]] = {
    "Add": ("Add", WITHOUT_BFLOAT16), "Subtract": ("Sub", WITHOUT_BFLOAT16), "Multiply": ("Mul", WITHOUT_BFLOAT16),
    "Maximum": ("Max", FOR_MIN_MAX), "Minimum": ("Min", FOR_MIN_MAX), "Power": ("Pow", SIGNED),
}  # fmt: skip
_COMPARISONS: Final = {
    "Equal": "Equal", "Less": "Less", "LessEqual": "LessOrEqual", "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
}  # fmt: skip
_LOGICAL: Final = {"LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor", "Xor": "Xor"}
_BITWISE: Final = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}
_COMPARED: Final[TypeLegalization] = {DType.BOOL: DType.INT32, DType.BFLOAT16: DType.FLOAT32}


def aligned(op: LayerView, g: FunctionBuilder, onto: int, index: int) -> str:
    """Input `index`, reshaped so that ONNX broadcasts it to input `onto` as OpenVINO does.

    `auto_broadcast="pdpd"` aligns the first dim of input `index` with an axis of input `onto`, or for axis -1 the last
    dims of both. `none` and `numpy` need no Reshape.
    """
    x = op.x(index)
    if op.text("auto_broadcast", "numpy", choices=("numpy", "none", "explicit", "pdpd")) != "pdpd":
        return x
    target, rank = op.rank(onto), op.rank(index)
    axis = op.integer("auto_broadcast.auto_broadcast_axis", -1)
    behind = 0 if axis == -1 else target - axis - rank
    if behind < 0:
        raise SpecViolation(f"{rank} dims from axis {axis} on are beyond the {target} of the other input", "GI301")
    return g.unsqueeze(x, *range(rank, rank + behind))


@lowers(*_ARITHMETIC, preserves_failures=True)
def arithmetic(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/{add,subtract,multiply,maximum,minimum,power}-1: ONNX's Add, Sub, Mul, Max, Min, Pow."""
    kind, carriers = _ARITHMETIC[op.op_type]
    return legalized(g, op.dtype(0), lambda a, b: g.node(kind, (a, b))[0], op.x(0), aligned(op, g, 0, 1), by=carriers)


@lowers("SquaredDifference", preserves_failures=True)
def squared_difference(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/squared-difference-1: Sub, then Mul of the difference with itself."""

    def square(a: str, b: str) -> str:
        difference = g.Sub(a, b)
        return g.Mul(difference, difference)

    return legalized(g, op.dtype(0), square, op.x(0), aligned(op, g, 0, 1), by=WITHOUT_BFLOAT16)


@lowers("Divide", preserves_failures=True)
def divide(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/divide-1: Div; integer quotients round down with `m_pythondiv`, else towards 0 as in ONNX.

    Rounding down is (a - Mod(a, b)) / b: Mod has the sign of the divisor. A Div is enough if no element is negative.
    """
    dtype = op.dtype(0)
    is_plain = dtype.is_float or not op.flag("m_pythondiv", True) or all(map(op.is_non_negative, (0, 1)))

    def floor(a: str, b: str) -> str:
        return g.Div(g.Sub(a, g.Mod(a, b)), b)

    return legalized(g, dtype, g.Div if is_plain else floor, op.x(0), aligned(op, g, 0, 1), by=WITHOUT_BFLOAT16)


@lowers("FloorMod", preserves_failures=True)
def floor_mod(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/floormod-1: the remainder with the sign of the divisor.

    Mod for integers; a - floor(a / b) * b for floats, where ONNX's Mod has the sign of the dividend.
    """

    def remainder(a: str, b: str) -> str:
        return g.Sub(a, g.Mul(g.Floor(g.Div(a, b)), b))

    dtype = op.dtype(0)
    return legalized(
        g, dtype, remainder if dtype.is_float else g.Mod, op.x(0), aligned(op, g, 0, 1), by=WITHOUT_BFLOAT16
    )


@lowers("Mod", preserves_failures=True)
def mod(op: LayerView, g: FunctionBuilder) -> str:
    """arithmetic/mod-1: the remainder with the sign of the dividend, Mod with fmod=1."""
    return legalized(
        g, op.dtype(0), lambda a, b: g.Mod(a, b, fmod=1), op.x(0), aligned(op, g, 0, 1), by=WITHOUT_BFLOAT16
    )


@lowers(*_COMPARISONS, preserves_failures=True)
def comparison(op: LayerView, g: FunctionBuilder) -> str:
    """comparison/{equal,less,less-equal,greater,greater-equal}-1: Equal, Less, LessOrEqual, Greater, GreaterOrEqual."""
    return _compared(op, g, _COMPARISONS[op.op_type])


@lowers("NotEqual", preserves_failures=True)
def not_equal(op: LayerView, g: FunctionBuilder) -> str:
    """comparison/not-equal-1: Not of Equal."""
    return g.Not(_compared(op, g, "Equal"))


def _compared(op: LayerView, g: FunctionBuilder, kind: str) -> str:
    dtype = op.dtype(0)
    wide = WITHOUT_BFLOAT16.get(dtype, dtype) if kind == "Equal" else _COMPARED.get(dtype, dtype)
    return g.node(kind, [g.cast(x, dtype, wide) for x in (op.x(0), aligned(op, g, 0, 1))])[0]


@lowers(*_LOGICAL, preserves_failures=True)
def logical(op: LayerView, g: FunctionBuilder) -> str:
    """logical/{logical-and,logical-or,logical-xor}-1: And, Or, Xor of the inputs cast to booleans."""
    return g.node(_LOGICAL[op.op_type], [_truth(op, g, op.x(0), 0), _truth(op, g, aligned(op, g, 0, 1), 1)])[0]


@lowers("LogicalNot", preserves_failures=True)
def logical_not(op: LayerView, g: FunctionBuilder) -> str:
    """logical/logical-not-1: ONNX's Not of the input cast to booleans."""
    return g.Not(_truth(op, g, op.x(0), 0))


def _truth(op: LayerView, g: FunctionBuilder, x: str, index: int) -> str:
    return g.cast(x, op.dtype(index), DType.BOOL)


@lowers(*_BITWISE, since=13, preserves_failures=True)
def bitwise(op: LayerView, g: FunctionBuilder) -> str:
    """bitwise/{bitwise-and,bitwise-or,bitwise-xor}-13: BitwiseAnd, BitwiseOr, BitwiseXor; And, Or, Xor for booleans."""
    kind = _BITWISE[op.op_type]
    kind = kind if op.dtype(0) is DType.BOOL else f"Bitwise{kind}"
    return g.node(kind, (op.x(0), aligned(op, g, 0, 1)))[0]


@lowers("BitwiseNot", since=13, preserves_failures=True)
def bitwise_not(op: LayerView, g: FunctionBuilder) -> str:
    """bitwise/bitwise-not-13: BitwiseNot; Not for booleans."""
    return g.Not(op.x(0)) if op.dtype(0) is DType.BOOL else g.BitwiseNot(op.x(0))


@lowers("BitwiseLeftShift", "BitwiseRightShift", since=15, preserves_failures=True)
def shift(op: LayerView, g: FunctionBuilder) -> str:
    """bitwise/{bitwise-left-shift,bitwise-right-shift}-15: BitShift, which only takes unsigned integers.

    A left shift produces the same bits for signed and unsigned integers. For an arithmetic right shift, BitwiseXor with
    -1 complements negative elements before and after the BitShift.
    """
    dtype, a = op.dtype(0), op.x(0)
    signed = dtype in (DType.INT8, DType.INT16, DType.INT32, DType.INT64)
    wide = DType.UINT64 if dtype in (DType.INT64, DType.UINT64) else DType.UINT32
    amount = g.cast(aligned(op, g, 0, 1), dtype, wide)
    low, high = range_of(dtype)
    bits, held = (high - low).bit_length(), 64 if wide is DType.UINT64 else 32
    known = op.ints(1)
    if known is None or not all(0 <= shift < bits for shift in known):
        # for other amounts OpenVINO shifts as the processor does, modulo its register size; ONNX's result is 0
        amount = g.BitwiseAnd(amount, g.scalar(held - 1, wide))
    if op.op_type == "BitwiseLeftShift":
        return g.cast(g.BitShift(g.cast(a, dtype, wide), amount, direction="LEFT"), wide, dtype)
    if not signed:
        return g.cast(g.BitShift(g.cast(a, dtype, wide), amount, direction="RIGHT"), wide, dtype)
    sign = _minus_where_negative(g, a, dtype)
    kept = g.cast(g.BitwiseXor(a, sign), dtype, wide)
    return g.BitwiseXor(g.cast(g.BitShift(kept, amount, direction="RIGHT"), wide, dtype), sign)


def _minus_where_negative(g: FunctionBuilder, x: str, dtype: DType) -> str:
    """A tensor of type `dtype` with -1 for each negative element of `x`, and 0 elsewhere."""
    return g.Neg(g.Cast(g.Less(x, g.scalar(0, dtype)), to=int(dtype)))


@lowers("Select")
def select(op: LayerView, g: FunctionBuilder) -> str:
    """condition/select-1: Where; with `auto_broadcast="pdpd"`, inputs 0 (the condition) and 2 broadcast to input 1."""
    condition = aligned(op, g, 1, 0)
    return legalized(
        g, op.dtype(1), lambda a, b: g.Where(condition, a, b), op.x(1), aligned(op, g, 1, 2), by=FOR_WHERE
    )  # fmt: skip
