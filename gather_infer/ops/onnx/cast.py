"""Rules of operators that change the element type: Cast, CastLike, BitCast."""

from __future__ import annotations

from gather_infer import value_ranges
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics import elements
from gather_infer.ops.semantics.elements import EXACT_BITS, Element
from gather_infer.ops.semantics.elementwise import apply, tensor_of
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Expr
from gather_infer.tensor import INTEGER_RANGE, DType, Ratio, SymbolicTensor, ValueRange
from gather_infer.value_ranges import needs_range

rules = RuleSet("")

BITS: dict[DType, int] = {
    DType.FLOAT32: 32, DType.FLOAT64: 64, DType.FLOAT16: 16, DType.BFLOAT16: 16, DType.COMPLEX64: 64,
    DType.COMPLEX128: 128, DType.BOOL: 8, DType.FLOAT8E4M3FN: 8, DType.FLOAT8E4M3FNUZ: 8, DType.FLOAT8E5M2: 8,
    DType.FLOAT8E5M2FNUZ: 8, DType.FLOAT8E8M0: 8, DType.FLOAT4E2M1: 4,
    **{dtype: (most - least).bit_length() for dtype, (least, most) in INTEGER_RANGE.items()},
}  # fmt: skip
"""Bits per element; strings have no fixed width."""

_NAMES = {"FLOAT": DType.FLOAT32, "DOUBLE": DType.FLOAT64, **{str(d).upper(): d for d in DType}}


def dtype_of(number: int, name: str) -> DType:
    """The element type with `number` in TensorProto.DataType; `name` is the attribute that holds the number.

    Raises SpecViolation (GI106) when no element type has the number.
    """
    try:
        return DType(number)
    except ValueError:
        known = f"[1, {max(DType).value}]"
        raise SpecViolation(f"{name} = {number} is no element type, they are numbered {known}", "GI106") from None


@rules.rule("Cast")
def cast_by_name(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Cast.html (version 1: `to` is the name of an element type)"""
    to = op.attr("to")
    dtype = _NAMES.get(str(to).upper())
    if dtype is None:
        raise SpecViolation(f'to = "{to}" is no element type', "GI106")
    return [cast(op, op.tensor(0), dtype)]


@rules.rule("Cast", since=6)
def cast_by_number(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__Cast.html (version 6: `to` is a number of TensorProto.DataType)

    Attributes `saturate` (version 19) and `round_mode` (24) concern the float8 types, whose elements are not tracked.
    """
    return [cast(op, op.tensor(0), dtype_of(op.attr("to", 0), "to"))]


@rules.rule("CastLike", since=15)
def cast_like(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__CastLike.html

    input, target_type -> input with the element type of target_type
    """
    x, target = op.tensor(0), op.tensor(1)
    return [SymbolicTensor(None, x.shape) if target.dtype is None else cast(op, x, target.dtype)]


@rules.rule("BitCast", since=26)
def bit_cast(op: OpCall) -> list[SymbolicTensor]:
    """https://onnx.ai/onnx/operators/onnx__BitCast.html: the bits of X as elements of another type of equal width"""
    x = op.tensor(0)
    dtype = dtype_of(op.attr("to", 0), "to")
    if x.dtype is dtype:
        return [x]
    if x.dtype is not None and BITS.get(x.dtype) != BITS.get(dtype):
        raise SpecViolation(f"{x.dtype} and {dtype} must have elements of the same width", "GI211")
    values = None
    if x.values is not None and x.dtype in INTEGER_RANGE and dtype in INTEGER_RANGE:
        values = apply(lambda e: elements.wrap(e, dtype) if isinstance(e, int) else None, x.values)
    return [tensor_of(dtype, x.shape, values, None)]


def cast(op: OpCall, x: SymbolicTensor, dtype: DType) -> SymbolicTensor:
    """`x` with its elements converted to `dtype`."""
    if x.dtype is dtype:
        return x
    values = None
    if x.values is not None and x.dtype is not None:
        source = x.dtype
        values = apply(lambda e: convert(op, e, source, dtype), x.values)
    span = None
    if x.dtype is not None and _is_discrete(x.dtype) and _is_discrete(dtype) and needs_range(values):
        span = _converted_range(op, value_ranges.range_of(x, op.scope), x.dtype, dtype)
    return tensor_of(dtype, x.shape, values, span)


def _is_discrete(dtype: DType) -> bool:
    return dtype in INTEGER_RANGE or dtype is DType.BOOL


def _converted_range(op: OpCall, value_range: ValueRange, source: DType, dtype: DType) -> ValueRange | None:
    if dtype is not DType.BOOL:
        least, most = INTEGER_RANGE.get(source, (0, 1))
        lowest, highest = INTEGER_RANGE[dtype]
        lo = least if value_range.lo is None and least < lowest else value_range.lo
        hi = most if value_range.hi is None and most > highest else value_range.hi
        return value_ranges.fit(op, ValueRange(lo, hi), dtype)
    if value_range.lo == 0 and value_range.hi == 0:
        return value_range
    positive = value_range.lo is not None and value_ranges.is_non_negative(
        value_ranges.add(value_range, ValueRange(-1, -1), op.scope), op.scope
    )
    return ValueRange(1, 1) if positive else None


def convert(op: OpCall, element: Element, source: DType, dtype: DType) -> Element:
    """Convert one element of type `source` to `dtype`; None when the result is unknown.

    integer -> integer   keeps the low bits; unknown for a symbol that may not fit, and for a number that does not fit a
                         type below 8 bits
    float -> integer     truncates; unknown when out of range, infinite, NaN, or a fraction cast to below 8 bits
    any -> bool          whether the element differs from 0; True for NaN
    any -> float         rounds a constant to nearest; unknown for a symbol that may be inexact in `dtype`
    strings              unknown, as source and as result
    """
    if element is None or DType.STRING in (source, dtype):
        return None
    if dtype is DType.BOOL:
        zero = elements.equal(op, element if not isinstance(element, Ratio) else element.num, 0)
        return None if zero is None else not zero
    if isinstance(element, bool):
        element = int(element)
    if dtype in INTEGER_RANGE:
        return _to_integer(op, element, source, dtype)
    if isinstance(element, Expr):
        return element if elements.is_representable(op, element, dtype) else None
    if isinstance(element, Ratio):
        # Double rounding of a quotient, to float64 and then to float32, equals a single rounding.
        wide = dtype in EXACT_BITS and EXACT_BITS[dtype] >= EXACT_BITS[DType.FLOAT32]
        return element if wide and elements.is_representable(op, element.num, dtype) else None
    return elements.round_float(element, dtype)


def _to_integer(op: OpCall, element: Element, source: DType, dtype: DType) -> Element:
    whole = elements.truncate(op, element)
    if whole is None or (BITS[dtype] < 8 and whole != element):
        return None  # below 8 bits onnxruntime rounds to the nearest integer
    if isinstance(whole, int):
        wrapped = elements.wrap(whole, dtype)
        # Types below 8 bits are packed, and runtimes differ on numbers that do not fit.
        defined = source in INTEGER_RANGE and BITS[dtype] >= 8
        return wrapped if defined or wrapped == whole else None
    least, most = INTEGER_RANGE[dtype]
    if source in EXACT_BITS and 2 ** EXACT_BITS[source] <= most:  # every integer that is exact in the float type fits
        held = least < 0 or value_ranges.is_non_negative(ValueRange(whole, whole), op.scope)
        return whole if held else None
    return elements.to_element(op, whole, dtype)
