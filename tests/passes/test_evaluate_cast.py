"""Casts of constants, judged bit for bit by onnxruntime, by onnx's reference evaluator and by exact rounding."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from gather_infer.ir.constant import Constant, bits_dtype
from gather_infer.passes.evaluate.cast import cast
from gather_infer.passes.evaluate.numbers import from_numbers, to_numbers
from gather_infer.tensor import INTEGER_RANGE, DType
from tests.onnx_versions import has_type, require_type
from tests.passes.runtimes import SUB_BYTE, admitted, by_onnxruntime, by_reference, model_of, of, ours, raw, versions

HELD = [int(d) for d in DType if d not in (T.COMPLEX64, T.COMPLEX128) and bits_dtype(d) is not None]
FLOATS = [
    -0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 7.0, 7.5, 127.5, 128.0, 255.0, 256.0, -128.9, -129.0, 448.0, 464.0,
    465.0, 65504.0, 65519.0, 65520.0, 57344.0, 61440.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11,
    1 + 2**-11 + 2**-40, 1 + 2**-24, 1 + 2**-24 + 2**-50, 2.0**31, 2.0**31 - 1, -(2.0**31), 2.0**63,
    -(2.0**63), 2.0**64, 2.0**-9, 2.0**-10, 2.0**-25,
    2.0**-24, 3 * 2.0**-26, 2.0**-133, 2.0**-134, 3 * 2.0**-135, 2.0**-149, 2.0**-150, 3e38, 3.4e38, 1e39, 1e308,
    float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
TEXTS = [
    b"0", b"-0", b"1", b"+7", b"-5", b"007", b"127", b"128", b"-129", b"300", b"2147483648", b"9223372036854775807",
    b"18446744073709551615", b"18446744073709551616", b"1.5", b"5.", b".5", b"1e3", b"1E-5", b"1e400", b"1e-400",
    b"1e-40", b"0.1", b"16777217", b"16777217.0000000001", b"1.00000005960464478", b"INF", b"+inf", b"-Inf", b"nan",
    b"NaN", b"", b" 4", b"4 ", b"1_0", b"0x10", b"Hello", b"1e", b"--1", "١".encode(),
]  # fmt: skip


def samples(data_type: int) -> list[Any]:
    if data_type == T.STRING:
        return TEXTS
    if data_type == T.BOOL:
        return [False, True]
    if data_type in INTEGER_RANGE:
        low, high = INTEGER_RANGE[DType(data_type)]
        found = [0, 1, -1, 2, 3, 7, 8, 100, 127, 128, 200, 255, 256, 257, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**31]
        found += [2**53 + 1]
        found += [2**30 + 2**22 + 1, 2**40 + 2**32 + 1, 2**62 + 2**38, 2**62 + 2**38 + 1, low, low + 1, high - 1, high]
        return sorted({n for n in found if low <= n <= high})
    return FLOATS


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source", HELD, ids=lambda t: str(DType(t)))
def test_every_element_is_that_of_the_runtimes(source: int) -> None:
    require_type(DType(source))
    judges: Counter[int] = Counter()
    for version in versions("Cast", 6):
        if source not in admitted("Cast", version):
            continue
        numbers = [of(source, [x]) for x in samples(source)]
        for to in HELD:
            if to not in admitted("Cast", version):
                continue
            for saturate in (1, 0) if version >= 19 and DType(to).name.startswith("FLOAT8") else (1,):
                given: dict[str, Any] = {"to": to} | ({} if saturate else {"saturate": 0})
                found = [ours("Cast", [x], version, given) for x in numbers]
                keep = [i for i, f in enumerate(found) if f is not None]
                if not keep:
                    # a cast to its own type may round, saturate or keep the bits
                    is_own = to == source and source in (T.FLOAT8E5M2, DType.FLOAT8E8M0)
                    assert T.STRING in (to, source) or is_own, (DType(source), DType(to))
                    continue
                column = Constant(source, np.concatenate([numbers[i].bits for i in keep]))
                expected = Constant(to, np.concatenate([f[0].bits for f in found if f is not None]))
                together = ours("Cast", [column], version, given)
                assert together is None or raw(together[0]) == raw(expected)
                model = model_of("Cast", [column], version, given, [to])
                theirs = [r for r in (by_onnxruntime(model), by_reference(model)) if r is not None]
                if (source, to) == (DType.FLOAT8E8M0, T.BOOL):
                    theirs = theirs[-1:]  # onnxruntime 1.32 takes 2^-127, which is subnormal as a float32, for 0
                for result in theirs:
                    assert result == [raw(expected)], f"{DType(source)} to {DType(to)} at {version}, {saturate}"
                judges[len(theirs)] += 1
    assert judges[1] + judges[2] > 10


def test_like_another() -> None:
    data = of(T.FLOAT, [1.5, -2.5])
    for to in HELD:
        by_name, by_type = ours("CastLike", [data, of(to, [0] if to != T.STRING else [b""])], 19), cast(data, to)
        if by_type is None:
            assert by_name is None
        else:
            assert by_name is not None
            assert raw(by_name[0]) == raw(by_type)


UNKNOWN: dict[str, Any] = {
    "NaN to integer": (T.FLOAT, [np.nan], T.INT32),
    "infinity to integer": (T.FLOAT, [np.inf], T.INT64),
    "out of range": (T.FLOAT, [256.0], T.UINT8),
    "below the range": (T.FLOAT, [-1.0], T.UINT8),
    "2**63": (T.DOUBLE, [2.0**63], T.INT64),
    "2**31 as float": (T.FLOAT, [2.0**31], T.INT32),
    "float to string": (T.FLOAT, [1.0], T.STRING),
    "bool to string": (T.BOOL, [True], T.STRING),
    "NaN to another NaN": (T.FLOAT, [np.nan], T.DOUBLE),
    "rounded twice to float16": (T.DOUBLE, [1 + 2**-11 + 2**-40], T.FLOAT16),
    "rounded twice to bfloat16": (T.DOUBLE, [1 + 2**-8 + 2**-40], T.BFLOAT16),
    "integer rounded twice": (T.INT64, [2**40 + 2**32 + 1], T.BFLOAT16),
    "no text": (T.STRING, [b"\xff"], T.FLOAT),
    "a NUL": (T.STRING, [b"1\x00"], T.FLOAT),
    "no number": (T.STRING, [b"Hello"], T.FLOAT),
    "fraction to integer": (T.STRING, [b"1.5"], T.INT32),
    "text out of range": (T.STRING, [b"128"], T.INT8),
    "text past float32": (T.STRING, [b"1e39"], T.FLOAT),
    "text half way": (T.STRING, [b"16777217.0000000001"], T.FLOAT),
    "complex": (T.COMPLEX64, [1j], T.FLOAT),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_defined_is_not_known(case: str) -> None:
    source, values, to = UNKNOWN[case]
    assert cast(of(source, values), to) is None


def nearest(x: Fraction, digits: int, least: int, largest: Fraction) -> Fraction | None:
    """Half to even among `n * 2**e` of so many binary digits, e >= least; None for what is past the largest."""
    if x < 0:
        found = nearest(-x, digits, least, largest)
        return None if found is None else -found
    e = least
    while x >= 2 ** (digits + e) if digits + e >= 0 else x * 2 ** -(digits + e) >= 1:
        e += 1
    unit = Fraction(2) ** e
    rounded = round(x / unit) * unit  # Python rounds half to even
    return None if rounded > largest else rounded


FORMATS: dict[int, tuple[int, int, Fraction]] = {
    # type: binary digits, exponent of the least number, largest number
    T.FLOAT16: (11, -24, Fraction(65504)),
    T.BFLOAT16: (8, -133, Fraction(2) ** 127 * Fraction(255, 128)),
    T.FLOAT: (24, -149, Fraction(2) ** 127 * (2 - Fraction(1, 2**23))),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("to", FORMATS, ids=lambda t: str(DType(t)))
def test_rounding_is_exact(to: int) -> None:
    rng = np.random.default_rng(to)
    numbers = rng.standard_normal(3000) * 2.0 ** rng.integers(-30, 16, 3000)
    numbers[::3] = numbers[::3].astype(np.float32)
    known = 0
    for x in numbers:
        found = cast(of(T.DOUBLE, [x]), to)
        if found is None:
            continue
        known += 1
        result = to_numbers(found)
        assert result is not None
        exact = nearest(Fraction(float(x)), *FORMATS[to])
        assert exact is None or Fraction(float(result[0])) == exact
    assert known > 2900


@pytest.mark.parametrize("data_type", [t for t in HELD if t != T.STRING], ids=lambda t: str(DType(t)))
def test_there_and_back(data_type: int) -> None:
    """Every number of a small type, and many of a large one, comes back from its numbers with its bits."""
    dtype = bits_dtype(data_type)
    assert dtype is not None
    limit = 2 if data_type == T.BOOL else 1 << SUB_BYTE.get(data_type, 8 * dtype.itemsize)
    drawn = np.random.default_rng(limit & 0xFFFF).integers(0, limit - 1, 500, np.uint64, endpoint=True)
    bits = drawn.astype(dtype)
    numbers = to_numbers(Constant(data_type, bits))
    assert numbers is not None
    back = from_numbers(data_type, numbers)
    assert back is not None
    is_number = ~np.isnan(numbers.astype(np.float64))
    assert back.bits[is_number].tolist() == bits[is_number].tolist()


def test_shapes_stay() -> None:
    for shape in ((), (0,), (2, 0), (2, 3)):
        data = of(T.INT64, np.zeros(shape))
        for to in (T.FLOAT, T.STRING, T.BOOL, T.INT8, *([T.BFLOAT16] if has_type(DType.BFLOAT16) else [])):
            found = cast(data, to)
            assert found is not None
            assert found.bits.shape == shape
            model = model_of("Cast", [data], 13, {"to": to}, [to])
            for theirs in (by_onnxruntime(model), by_reference(model)):
                assert theirs is not None
                assert theirs[0][1] == shape
