"""Cast and CastLike by the table of the specification; results that are undefined, or differ in runtimes, are unknown.

Floats are rounded half to even, once. The result is unknown if a runtime that rounds to float32 first could return
another number. It is also unknown if an element is NaN, unless the target type has only one NaN.
https://onnx.ai/onnx/operators/onnx__Cast.html
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gather_infer.ir.constant import Constant, bits_dtype, strings
from gather_infer.passes.evaluate.evaluators import Evaluation, EvaluatorSet
from gather_infer.passes.evaluate.numbers import (
    Numbers,
    from_numbers,
    integer_range,
    is_float,
    is_integer,
    to_numbers,
)
from gather_infer.tensor import DType

evaluators = EvaluatorSet("")

_LARGEST: Final = {
    # floats of at most a byte that saturate: their largest number
    DType.FLOAT8E4M3FN: 448.0, DType.FLOAT8E4M3FNUZ: 240.0, DType.FLOAT8E5M2: 57344.0, DType.FLOAT8E5M2FNUZ: 57344.0,
    DType.FLOAT4E2M1: 6.0, DType.FLOAT6E2M3: 7.5, DType.FLOAT6E3M2: 28.0,
}  # fmt: skip
_FNUZ: Final = (DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2FNUZ)
"""Types with one NaN and one zero."""
_SATURATE: Final = (DType.FLOAT8E4M3FN, DType.FLOAT8E5M2)
"""Types with NaNs of both signs; the attribute `saturate` applies to them, as to those in `_FNUZ`."""
_NOT_PRESERVED: Final = (DType.FLOAT8E5M2, DType.FLOAT8E8M0)
"""Types of which a Cast to the same type changes elements in some runtimes: infinity saturates, 2**-127 is lost."""

_WHOLE: Final = re.compile(rb"[+-]?[0-9]{1,20}")
_DECIMAL: Final = re.compile(rb"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?")
_INFINITY: Final = {b"inf": np.inf, b"+inf": np.inf, b"-inf": -np.inf}


@evaluators.evaluates("Cast", since=6)
def _cast(call: Evaluation) -> list[Constant] | None:
    to = call.integer("to", DType.FLOAT32 - 1)
    return _one(cast(call.input(0), to, saturate=_saturates(call)))


@evaluators.evaluates("CastLike", since=15)
def _cast_like(call: Evaluation) -> list[Constant] | None:
    return _one(cast(call.input(0), call.input(1).data_type, saturate=_saturates(call)))


def _one(found: Constant | None) -> list[Constant] | None:
    return None if found is None else [found]


def _saturates(call: Evaluation) -> bool:
    return call.version < 19 or bool(call.integer("saturate", 1))


def cast(data: Constant, to: int, *, saturate: bool = True) -> Constant | None:
    """`data` with its elements converted to the type `to`.

    saturate   for targets of 8-bit floats: numbers out of range become the largest number, not NaN or infinity

    Returns None if the result is undefined or runtimes differ, and for types whose constants are not supported.
    """
    if data.data_type == to:
        return None if to in _NOT_PRESERVED else data
    if to not in set(DType) or bits_dtype(to) is None:
        return None
    if data.data_type == DType.STRING:
        return _parsed(data, to)
    numbers = to_numbers(data)
    if numbers is None:
        return None
    if to == DType.STRING:
        # Runtimes write floats and booleans differently.
        is_whole = is_integer(data.data_type)
        return strings([str(n).encode() for n in numbers.ravel().tolist()], numbers.shape) if is_whole else None
    if to == DType.BOOL:
        # Some runtimes cast a -0.0 of 8 bits or fewer to true.
        is_odd = data.data_type in _LARGEST and ((numbers == 0) & np.signbit(numbers)).any()
        return None if is_odd else from_numbers(to, numbers != 0)
    if is_integer(to):
        return _to_integers(numbers, to)
    return _to_floats(numbers, to, saturate=saturate) if is_float(to) else None


def _to_integers(numbers: Numbers, to: int) -> Constant | None:
    """`numbers` as a constant of the integer type `to`: integers lose their high bits, floats their fraction.

    None if a float is out of range, or has a fraction and `to` has 4 or 2 bits, for which some runtimes round.
    """
    if numbers.dtype.kind == "f":
        low, high = integer_range(to)
        with np.errstate(all="ignore"):
            whole = np.trunc(numbers.astype(np.float64))
            # Both bounds are powers of two: exact as floats, unlike the largest integer.
            if not ((whole >= low) & (whole < high + 1)).all():
                return None
        if high < 16 and (whole != numbers).any():
            return None  # some runtimes round to the nearest integer of 4 and 2 bits
        numbers = whole.astype(np.uint64 if low == 0 else np.int64)
    return from_numbers(to, numbers)


def _to_floats(numbers: Numbers, to: int, *, saturate: bool) -> Constant | None:
    if to in (DType.FLOAT32, DType.FLOAT64):
        return None if _has_nan(numbers) else from_numbers(to, numbers)
    if to == DType.FLOAT8E8M0:
        return _to_powers_of_two(numbers)
    single = _through_float32(numbers)
    if single is None:
        return None
    if to in _LARGEST:
        return _to_small(single, to, saturate=saturate)
    if _has_nan(single[0]):
        return None
    once, twice = (from_numbers(to, n) for n in single)
    return once if once is not None and twice is not None and np.array_equal(once.bits, twice.bits) else None


def _has_nan(numbers: Numbers) -> bool:
    return numbers.dtype.kind == "f" and bool(np.isnan(numbers).any())


def _through_float32(numbers: Numbers) -> tuple[Numbers, Numbers] | None:
    """`numbers` as float32 twice: rounded to odd, so that rounding again equals rounding once, and rounded to nearest.

    None if an integer exceeds 2**53 in magnitude.
    """
    with np.errstate(all="ignore"):
        plain = numbers.astype(np.float32)
        if numbers.dtype.kind != "f":
            if numbers.size and max(abs(int(numbers.max())), abs(int(numbers.min()))) > 1 << 53:
                return None
            numbers = numbers.astype(np.float64)
        if numbers.dtype != np.float64:
            return plain, plain
        # Rounding to odd: the last bit is set if the rest that is cut off is not 0.
        is_off = np.isfinite(plain) & (plain.astype(np.float64) != numbers)
        is_past = is_off & (np.abs(plain.astype(np.float64)) > np.abs(numbers))
        cut = np.where(is_past, np.nextafter(plain, np.float32(0)), plain)
        odd = (cut.view("<u4") | is_off.astype("<u4")).view("<f4")
        return np.asarray(odd), plain


def _to_small(single: tuple[Numbers, Numbers], to: int, *, saturate: bool) -> Constant | None:
    """A constant of a float type of 8, 6 or 4 bits.

    single   the numbers as `_through_float32` returns them

    None if rounding once and rounding twice differ. For FNUZ types also if an infinity has to saturate; for all others,
    if an element is NaN, or out of range without saturating.
    """
    largest = np.float32(_LARGEST[DType(to)])
    is_nan = np.isnan(single[0])
    clipped = [np.where(is_nan, np.float32(0), np.clip(numbers, -largest, largest)) for numbers in single]
    once, twice = (from_numbers(to, numbers) for numbers in clipped)
    if once is None or twice is None or not np.array_equal(once.bits, twice.bits):
        return None
    is_past = _rounds_past(single[0], largest, to)
    if to not in _FNUZ:
        return None if is_nan.any() or (is_past.any() and not (saturate and to in _SATURATE)) else once
    if saturate and np.isinf(single[0]).any():
        return None  # NaN until version 24, then the largest number
    is_no_number = is_nan if saturate else is_nan | is_past
    return Constant(to, np.where(is_no_number, once.bits.dtype.type(0x80), once.bits))


def _rounds_past(numbers: Numbers, largest: np.float32, to: int) -> Numbers:
    """For each number, whether it exceeds `largest` in magnitude when rounded to the precision of the type `to`."""
    with np.errstate(all="ignore"):
        last = np.spacing(largest) * np.float32(1 << (23 - _DIGITS[DType(to)]))
        middle = largest + last / 2
        # The last digit of the largest number decides to which side the middle is rounded.
        is_even = int(largest / last) % 2 == 0
        past = np.abs(numbers) > middle if is_even else np.abs(numbers) >= middle
    return np.asarray(past)


_DIGITS: Final = {
    # binary digits after the point
    DType.FLOAT8E4M3FN: 3, DType.FLOAT8E4M3FNUZ: 3, DType.FLOAT8E5M2: 2, DType.FLOAT8E5M2FNUZ: 2,
    DType.FLOAT4E2M1: 1, DType.FLOAT6E2M3: 3, DType.FLOAT6E3M2: 2,
}  # fmt: skip


def _to_powers_of_two(numbers: Numbers) -> Constant | None:
    """`numbers` as FLOAT8E8M0; None unless all are powers of two in [2**-126, 2**127], which rounding never changes."""
    with np.errstate(all="ignore"):
        wide = numbers.astype(np.float64)
        fraction, exponent = np.frexp(wide)
        # 2**-127 is left out: it is denormal, and runtimes that flush these change it.
        if not (fraction == 0.5).all() or ((exponent <= -126) | (exponent > 128)).any():
            return None
        if numbers.dtype.kind != "f" and not (wide < 1 << 53).all():
            return None
    held = bits_dtype(DType.FLOAT8E8M0)
    return None if held is None else Constant(DType.FLOAT8E8M0, np.asarray((exponent + 126).astype(held)))


def _parsed(data: Constant, to: int) -> Constant | None:
    """The numbers that the strings in `data` denote, as a constant of the integer, float32 or float64 type `to`.

    None for other types, and unless each string is a plain decimal number, or an infinity, that the type represents.
    """
    texts = list(data.bits.flat)
    if is_integer(to):
        low, high = integer_range(to)
        whole = [int(text) for text in texts if _WHOLE.fullmatch(text)]
        if len(whole) != len(texts) or any(not low <= n <= high for n in whole):
            return None
        return from_numbers(to, np.array(whole, dtype=np.uint64 if low == 0 else np.int64).reshape(data.bits.shape))
    if to not in (DType.FLOAT32, DType.FLOAT64):
        return None
    numbers = []
    for text in texts:
        number = _INFINITY.get(text.lower())
        if number is None:
            number = _decimal(text, to)
        if number is None:
            return None
        numbers.append(number)
    return from_numbers(to, np.array(numbers, dtype=np.float64).reshape(data.bits.shape))


def _decimal(text: bytes, to: int) -> float | None:
    """The number that a decimal text denotes; None if the text is malformed or the number outside the normal range of
    `to`. None too if rounding the number twice may give another result than rounding it once.
    """
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    size = abs(number)
    normal = np.finfo(np.float32 if to == DType.FLOAT32 else np.float64)
    if size == 0:
        mantissa = re.split(b"[eE]", text)[0]
        return None if mantissa.strip(b"+-.0") else number
    if not float(normal.tiny) <= size <= float(normal.max):
        return None
    if to == DType.FLOAT32 and int(np.float64(number).view(np.int64)) & 0x1FFFFFFF == 0x10000000:
        return None  # half way between two float32
    return number
