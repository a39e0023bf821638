"""Constants of element types that ONNX lacks, and Convert between all types.

Elements of u1, u2, u3, u6, nf4, f4e2m1 and f8e8m0 are held as codes, one uint8 each; `LayerView.element` returns the
name of the type.
Pages: https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/operation-specs/type/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.dialect import LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.openvino.lowerings.function_builder import FLOAT8, FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.ops.openvino.element_types import ELEMENT_TYPES, NON_ONNX_BITS
from gather_infer.tensor import DType

lowerings = LoweringTable()
lowers = lowerings.lowers

Bytes = npt.NDArray[np.uint8]

NF4: Final = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
"""The 16 numbers of nf4, from the paper that defines it: https://arxiv.org/abs/2305.14314, appendix E."""

F4E2M1: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""The 16 numbers of f4e2m1, by code: a sign bit, two exponent bits, one mantissa bit.

https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf, 5.3.3
"""

_NIBBLES: Final = frozenset((DType.INT4, DType.UINT4))
_WRAPPED: Final = frozenset(
    (DType.INT4, DType.UINT4, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.UINT32, DType.UINT64)
)
_E5M2_END: Final = 61440.0
"""Smallest number that rounds to infinity in f8e5m2."""


@lowers("Const")
def const(op: LayerView, g: FunctionBuilder) -> str:
    """Const of a type that ONNX lacks: a uint8 constant of one code per element, unpacked from input 0."""
    element, shape = op.text("element_type", choices=tuple(NON_ONNX_BITS)), op.integers("shape", [], lower=0)
    packed = op.call.array(0)
    if packed is None or packed.dtype != np.uint8:
        raise LoweringRefused("the bytes of the constant are not known")
    count = prod(shape)
    elements = unpacked(element, np.ascontiguousarray(packed, np.uint8).reshape(-1))
    if elements.size < count:
        raise SpecViolation(f"{count} elements of {element} do not fit into {packed.size} bytes", "GI204")
    return g.const(elements[:count].reshape(shape))


def unpacked(element: str, packed: Bytes) -> Bytes:
    """One code per element of type `element` in `packed`; unused bits of the last byte give codes as well.

    u1                first element in the highest bit
    u2, nf4, f4e2m1   first element in the lowest bits
    u3, u6            blocks of three bytes: two hold the low bits (2 for u3, 4 for u6) of all elements, the third their
                      high bits; first element in the highest bits
    f8e8m0            one element per byte
    """
    match element:
        case "u1":
            return np.unpackbits(packed)
        case "u2":
            return _parts(packed, (0, 2, 4, 6), 3)
        case "nf4" | "f4e2m1":
            return _parts(packed, (0, 4), 15)
        case "u3" | "u6":
            low, high = (2, 1) if element == "u3" else (4, 2)
            blocks = packed[: packed.size // 3 * 3].reshape(-1, 3)
            lower = _parts(blocks[:, :2].reshape(-1), range(8 - low, -1, -low), 2**low - 1)
            upper = _parts(np.ascontiguousarray(blocks[:, 2]), range(8 - high, -1, -high), 2**high - 1)
            return np.asarray(lower | upper << np.uint8(low), np.uint8)
        case _:
            return packed


def _parts(packed: Bytes, shifts: Any, mask: int) -> Bytes:
    return np.stack([packed >> np.uint8(shift) & np.uint8(mask) for shift in shifts], -1).reshape(-1)


@lowers("Convert", preserves_failures=True)
def convert(op: LayerView, g: FunctionBuilder) -> str:
    """type/convert-1: Cast to `destination_type`, with more nodes where ONNX's Cast differs. See `converted`."""
    return converted(op, g, op.text("destination_type").lower())


@lowers("ConvertLike", preserves_failures=True)
def convert_like(op: LayerView, g: FunctionBuilder) -> str:
    """type/convert-like-1: Cast to the element type of input 1, as for Convert."""
    return converted(op, g, op.element(1))


def converted(op: LayerView, g: FunctionBuilder, target: str) -> str:
    """Input 0 converted to `target`, OpenVINO's name of an element type.

    Conversion to integers truncates floats and wraps around modulo 2^bits; conversion to 4-bit and 8-bit floats rounds
    to the nearest number. Raises LoweringRefused for a conversion that OpenVINO or ONNX does not have.
    """
    source, name, dtype = op.element(0), op.x(0), op.dtype(0)
    if source == target:
        return name
    if source in NON_ONNX_BITS and dtype is DType.UINT8:
        name, dtype = decoded(g, source, name)
    elif source in NON_ONNX_BITS:  # an input of the model, in a type that ONNX has in later opsets
        name, dtype = g.cast(name, dtype, DType.FLOAT32), DType.FLOAT32
    new = ELEMENT_TYPES.get(target)
    for one in (dtype, new):
        if one in FLOAT8 or one in _NIBBLES:
            g.require_opset(19 if one in FLOAT8 else 21, f"a Convert of {source} to {target}")
    if DType.STRING in (dtype, new):
        raise LoweringRefused(f"there is no Convert of {source} to {target}")
    if new is not None:
        return cast(g, name, dtype, new)
    if target in _ROUNDED:
        return _ROUNDED[target](g, g.cast(name, dtype, DType.FLOAT32))
    if target not in ("u1", "u2", "u3", "u6"):
        raise LoweringRefused(f"a Convert to {target} at run time")
    return g.BitwiseAnd(cast(g, name, dtype, DType.UINT8), g.const(np.uint8(2 ** NON_ONNX_BITS[target] - 1)))


def decoded(g: FunctionBuilder, element: str, codes: str) -> tuple[str, DType]:
    """The numbers that `codes` of type `element` represent, and the element type of these numbers.

    By a Gather from a table for a float type; the code of an integer is the integer.
    """
    match element:
        case "nf4":
            table = np.array(NF4, np.float32)
        case "f4e2m1":
            table = np.array(F4E2M1, np.float32)
        case "f8e8m0":  # powers of two, the last code is NaN
            table = np.append(np.ldexp(np.float32(1), np.arange(-127, 128)), np.nan).astype(np.float32)
        case _:
            return codes, DType.UINT8
    return g.Gather(g.const(table), g.cast(codes, DType.UINT8, DType.INT32), axis=0), DType.FLOAT32


def _to_f4e2m1(g: FunctionBuilder, x: str) -> str:
    """The f4e2m1 codes of the numbers nearest to `x`, float32; ties round to even codes.

    NaN gets the code of 6, the largest number; larger magnitudes become 6 or -6.
    """
    middles = [(low + high) / 2 for low, high in pairwise(F4E2M1[:8])]
    magnitude = _code(g, g.Abs(x), middles)
    code = g.Where(g.IsNaN(x), g.scalar(7, DType.INT32), magnitude)
    is_negative = g.Cast(g.Less(x, g.scalar(0, DType.FLOAT32)), to=int(DType.INT32))
    return g.cast(g.Add(code, g.Mul(is_negative, g.scalar(8, DType.INT32))), DType.INT32, DType.UINT8)


def _to_f8e8m0(g: FunctionBuilder, x: str) -> str:
    """The f8e8m0 codes of the powers of two nearest to `x`, float32; ties round to even codes.

    Numbers of 0 and below get code 0, the smallest power; NaN gets code 255.
    """
    code = _code(g, x, [1.5 * 2.0**exponent for exponent in range(-127, 127)])
    return g.cast(g.Where(g.IsNaN(x), g.scalar(255, DType.INT32), code), DType.INT32, DType.UINT8)


_ROUNDED: Final[Mapping[str, Callable[[FunctionBuilder, str], str]]] = {"f4e2m1": _to_f4e2m1, "f8e8m0": _to_f8e8m0}


def _code(g: FunctionBuilder, x: str, middles: Sequence[float]) -> str:
    """For each element of `x`, the number of `middles` (ascending) that it exceeds, as int32, by binary search.

    An element equal to the second, fourth, ... of `middles` counts as exceeding it, so that ties round to even codes.
    """
    steps = len(middles).bit_length()
    bounds = np.full(2**steps - 1, np.nan, np.float32)  # no element passes NaN, which fills the table to a power of two
    bounds[: len(middles)] = middles
    bounds[::2] = np.nextafter(bounds[::2], np.float32(np.inf))
    table, code = g.const(bounds), g.scalar(0, DType.INT32)
    for step in range(steps - 1, -1, -1):
        bound = g.Gather(table, g.Add(code, g.scalar(2**step - 1, DType.INT32)), axis=0)
        passed = g.Cast(g.GreaterOrEqual(x, bound), to=int(DType.INT32))
        code = g.Add(code, g.Mul(passed, g.scalar(2**step, DType.INT32)))
    return code


def cast(g: FunctionBuilder, x: str, old: DType, new: DType) -> str:
    """`x` cast from `old` to `new` with OpenVINO's results, by extra nodes where onnxruntime's Cast differs.

    A float out of the range of an integer type wraps around, through int64. A float past the largest f8e5m2 becomes
    infinite.
    """
    if old.is_float and new in _WRAPPED:
        return g.cast(g.cast(x, old, DType.INT64), DType.INT64, new)
    if new is not DType.FLOAT8E5M2 or old in FLOAT8:
        return g.cast(x, old, new)
    x = g.cast(x, old, DType.FLOAT32)
    far = g.Mul(x, g.scalar(np.inf, DType.FLOAT32))
    held = g.Where(g.Less(g.Abs(x), g.scalar(_E5M2_END, DType.FLOAT32)), x, far)
    return g.cast(held, DType.FLOAT32, new)
