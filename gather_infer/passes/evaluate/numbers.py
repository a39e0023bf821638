"""Conversion between constants and arrays of numbers.

Integers, bool, float16, float32 and float64 are numpy types. Integers of 4 or 2 bits are held in 8 bits, floats of all
other formats in float32, which represents each of their values. The small float formats are those of ml_dtypes, a
dependency of onnx since 1.19; without it their elements are not converted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Bits, Constant, bits_dtype
from gather_infer.passes.evaluate.evaluators import Evaluation
from gather_infer.tensor import INTEGER_RANGE, DType

Numbers = npt.NDArray[Any]

MAX_ELEMENTS: Final = 1 << 24
"""Maximum number of elements of a result that may be larger than the inputs, such as the result of Range.

The default limit of constant folding is far lower.
"""

_FLOATS: Final = {DType.FLOAT16: "<f2", DType.FLOAT32: "<f4", DType.FLOAT64: "<f8"}
_BITS: Final = {DType.FLOAT4E2M1: 4, DType.FLOAT6E2M3: 6, DType.FLOAT6E3M2: 6}
"""Float type narrower than a byte -> its bits."""


def is_integer(data_type: int) -> bool:
    """Whether an element type is a signed or unsigned integer of any width; bool is not an integer."""
    return data_type in INTEGER_RANGE


def is_float(data_type: int) -> bool:
    """Whether an element type is a float of any format."""
    return data_type in set(DType) and DType(data_type).is_float


def is_number(data_type: int) -> bool:
    """Whether evaluators do arithmetic on a type: integers of 8 bits and more, float16, bfloat16, float32, float64."""
    if is_integer(data_type):
        return _integer_bits(data_type) >= 8
    return data_type in _FLOATS or data_type == DType.BFLOAT16


def integer_range(data_type: int) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    return INTEGER_RANGE[DType(data_type)]


def _integer_bits(data_type: int) -> int:
    low, high = integer_range(data_type)
    return (high - low).bit_length()


def _numpy_type(data_type: int) -> str:
    """The numpy type that holds the values of an integer type, such as "<i4"; it has at least 8 bits."""
    signed = "i" if integer_range(data_type)[0] < 0 else "u"
    return f"<{signed}{max(_integer_bits(data_type), 8) // 8}"


def to_numbers(constant: Constant) -> Numbers | None:
    """The elements as an array of numbers or booleans; None for strings, complex numbers, and bools not 0 or 1."""
    data_type, bits = constant.data_type, constant.bits
    if is_integer(data_type):
        return _to_integers(data_type, bits)
    if data_type == DType.BOOL:
        plain = bits.view("u1")
        return None if (plain > 1).any() else plain.astype(np.bool_)
    if data_type in _FLOATS:
        return bits.view(_FLOATS[DType(data_type)])
    if not is_float(data_type) or not DType(data_type).has_dtype:
        return None
    if data_type in _BITS:
        bits = bits.view("u1") & np.uint8((1 << _BITS[DType(data_type)]) - 1)
    with np.errstate(all="ignore"):
        return np.asarray(bits.view(DType(data_type).dtype)).astype(np.float32)


def _to_integers(data_type: int, bits: Bits) -> Numbers:
    width = _integer_bits(data_type)
    if width >= 8:
        return bits.view(_numpy_type(data_type))
    low = bits.view("u1") & np.uint8((1 << width) - 1)
    if integer_range(data_type)[0] == 0:
        return np.asarray(low)
    sign = np.uint8(1 << (width - 1))
    return np.asarray((low ^ sign).astype(np.int8) - np.int8(sign))


def from_numbers(data_type: int, numbers: Numbers) -> Constant | None:
    """A constant of type `data_type` with the elements `numbers`; None for strings, complex and unsupported types.

    Integers keep their low bits. Floats are rounded half to even, and overflow as their format defines.
    """
    held = bits_dtype(data_type)
    if held is None or held.hasobject:
        return None
    numbers = np.asarray(numbers)
    with np.errstate(all="ignore"):
        if is_integer(data_type):
            low = numbers.astype(_numpy_type(data_type)).view(held)
            width = _integer_bits(data_type)
            bits = low if width >= 8 else low & np.uint8((1 << width) - 1)
        elif data_type == DType.BOOL:
            bits = numbers.astype(np.bool_).view(held)
        elif is_float(data_type) and DType(data_type).has_dtype:
            bits = numbers.astype(DType(data_type).dtype).view(held)
        else:
            return None
    return Constant(int(data_type), np.asarray(bits))


def result(data_type: int, numbers: Numbers) -> list[Constant] | None:
    """The outputs of a node with one output, `numbers` as a constant of type `data_type`.

    None if an element is NaN, whose sign and payload differ between runtimes, and as `from_numbers`.
    """
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        return None
    found = from_numbers(data_type, numbers)
    return None if found is None else [found]


def has_two_zeros(*numbers: Numbers) -> bool:
    """Whether all arrays together contain both 0.0 and -0.0: runtimes differ in which of the two is larger."""
    signs = [np.signbit(n[n == 0]) for n in numbers]
    return any(s.any() for s in signs) and not all(s.all() for s in signs)


def broadcast_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The common shape that `shapes` broadcast to; None if it has more than MAX_ELEMENTS elements or 32 axes.

    Raises SpecViolation if the shapes do not broadcast.
    """
    rank = max(map(len, shapes), default=0)
    dims = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if -axis <= len(shape)} - {1}
        if len(sizes) > 1:
            raise SpecViolation(f"shapes do not broadcast: {', '.join(str(list(s)) for s in shapes)}", "GI212")
        dims.append(sizes.pop() if sizes else 1)
    return tuple(dims) if rank <= 32 and math.prod(dims) <= MAX_ELEMENTS else None


def operands(call: Evaluation, *, count: int | None = None) -> tuple[int, list[Numbers]] | None:
    """The common element type of the inputs, and the numbers of each input.

    count   the number of inputs; None for all inputs of the node, at least one

    None if the types differ or are neither numeric nor bool, or the inputs broadcast to a shape that is too large.
    Raises SpecViolation if inputs are missing, or their shapes do not broadcast.
    """
    given = [call.input(i) for i in range(max(len(call.inputs), 1) if count is None else count)]
    data_type = given[0].data_type
    if any(c.data_type != data_type for c in given) or broadcast_shape([c.bits.shape for c in given]) is None:
        return None
    found = [numbers for c in given if (numbers := to_numbers(c)) is not None]
    return (data_type, found) if len(found) == len(given) else None
