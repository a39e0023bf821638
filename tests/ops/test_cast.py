"""Cast, CastLike, BitCast and the quantising operators against their pages."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

import math
from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import cast, quantize
from gather_infer.symbolic import Interval, Scope, maximum
from gather_infer.tensor import DType, Ratio, SymbolicTensor, ValueRange
from tests.ops.call import UNRANKED, call
from tests.ops.facts import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, U32, U64, N, elements, known, ratio, within

ELEMENTS: dict[str, Any] = {
    # id:                               (elements,                      from, to,   elements)
    "integer keeps the low bits":       ([300, -1, 2**40],              I64,  U8,   [44, 255, 0]),
    "a size to int32":                  ([N, 3],                        I64,  I32,  [N, 3]),
    "a size to int8":                   ([N, 3],                        I64,  I8,   [None, 3]),
    "a difference to uint32":           ([N - 3, 3],                    I64,  U32,  [None, 3]),
    "int4 does not wrap":               ([7, 8],                        I64,  DType.INT4, [7, None]),
    "int4 of a fraction":               ([3.0, 0.5, -1.5],              F32,  DType.INT4, [3, None, None]),
    "float truncates":                  ([1.9, -1.9, 0.0],              F32,  I64,  [1, -1, 0]),
    "out of range is undefined":        ([3e9, 300.0],                  F32,  I32,  [None, 300]),
    "NaN and infinity":                 ([math.nan, math.inf, 1.0],     F32,  I64,  [None, None, 1]),
    "a size to float32":                ([N],                           I64,  F32,  [N]),
    "a size to float64":                ([N],                           I64,  F64,  [N]),
    "a size to float16":                ([N, 5],                        I64,  F16,  [None, 5.0]),
    "a size back":                      ([N],                           F32,  I64,  [N]),
    "half a size":                      ([Ratio(N, 2)],                 F32,  I64,  [N // 2]),
    "minus half a size":                ([ratio(1 - N, 2), 1.0],        F32,  I64,  [-(maximum(0, N - 1) // 2), 1]),
    "float32 rounds":                   ([2**24 + 1, 0],                I64,  F32,  [16777216.0, 0.0]),
    "large uint64 to float32":          ([2**64 - 1],                   U64,  F32,  [18446744073709551616.0]),
    "float16 rounds":                   ([0.1, 70000.0],                F32,  F16,  [0.0999755859375, math.inf]),
    "bfloat16 rounds":                  ([257.0, 3.0],                  F32,  BF16, [256.0, 3.0]),
    "float8 is not tracked":            ([1.0],                         F32,  DType.FLOAT8E4M3FN, None),
    "to bool":                          ([0, 3, N, N + 1],              I64,  BOOL, [False, True, None, True]),
    "float to bool":                    ([0.0, -0.0, 0.3, math.nan],    F32,  BOOL, [False, False, True, True]),
    "half a size to bool":              ([ratio(N + 1, 2), Ratio(N, 2)], F32, BOOL, [True, None]),
    "bool to integer":                  ([True, None, False],           BOOL, I64,  [1, None, 0]),
    "bool to float":                    ([True, False],                 BOOL, F32,  [1.0, 0.0]),
    "to string":                        ([1, 2],                        I64,  DType.STRING, None),
    "unchanged":                        ([N, 3],                        I64,  I64,  [N, 3]),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name: str) -> None:
    given, source, target, expected = ELEMENTS[name]
    (result,) = call(cast.rules, "Cast", [known(given, source)], to=int(target))
    assert result.dtype is target
    assert result.shape == (len(given),)
    assert elements(result) == expected


LIMITS: dict[str, Any] = {
    # id:                   (to,    may assume, kept, listed)
    "float32":              (F32,   True,       True,  ["N <= 16777216 (node )"]),
    "float32, no assuming": (F32,   False,      False, []),
    "float64":              (F64,   False,      True,  []),
    "int32":                (I32,   True,       True,  ["N <= 2147483647 (node )"]),
    "int32, no assuming":   (I32,   False,      False, []),
    "bfloat16":             (BF16,  True,       False, []),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_what_a_size_has_to_fit_in(name: str) -> None:
    target, may_assume, kept, listed = LIMITS[name]
    context = Context(may_assume=may_assume)
    (result,) = call(cast.rules, "Cast", [known([N])], to=int(target), context=context)
    assert elements(result) == ([N] if kept else None)
    assert [str(a) for a in context.assumptions] == listed


def test_declared_bounds_need_no_assumption() -> None:
    scope = Scope()
    scope.declare("N", Interval(1, 256))
    context = Context(scope, may_assume=False)
    for target in (F32, F16, BF16, I32, DType.INT16):
        (result,) = call(cast.rules, "Cast", [known([N])], to=int(target), context=context)
        assert elements(result) == [N], target


SPANS: dict[str, Any] = {
    # id:                   (tensor,                                            to,   span)
    "narrower, fits":       (within(0, 9),                                      I8,   ValueRange(0, 9)),
    "narrower, may wrap":   (within(0, 900),                                    I8,   None),
    "to int32":             (within(0, N - 1),                                  I32,  ValueRange(0, N - 1)),
    "to uint64":            (within(-1, 5),                                     U64,  None),
    "uint8 to int64":       (SymbolicTensor(U8, (N,)),                          I64,  ValueRange(0, 255)),
    "open end, narrower":   (within(51, None, dtype=U32),                       I32,  None),
    "bool to int64":        (SymbolicTensor(BOOL, (N,)),                        I64,  ValueRange(0, 1)),
    "never zero":           (within(1, N),                                      BOOL, ValueRange(1, 1)),
    "unknown int64":        (SymbolicTensor(I64, (N,)),                         I32,  None),
    "float":                (SymbolicTensor(F32, (N,)),                         I64,  None),
}  # fmt: skip


@pytest.mark.parametrize("name", SPANS)
def test_span(name: str) -> None:
    tensor, target, expected = SPANS[name]
    (result,) = call(cast.rules, "Cast", [tensor], to=int(target))
    assert (result.dtype, result.shape, result.value_range) == (target, (N,), expected)


def test_cast_by_name() -> None:
    (result,) = call(cast.rules, "Cast", [(N, 2)], to="DOUBLE", version=1)
    assert (result.dtype, result.shape) == (F64, (N, 2))


def test_cast_like() -> None:
    (result,) = call(cast.rules, "CastLike", [known([1.5], F32), known(0)], version=15)
    assert (result.dtype, elements(result)) == (I64, [1])
    (unknown,) = call(cast.rules, "CastLike", [known([1.5], F32), SymbolicTensor()], version=15)
    assert (unknown.dtype, unknown.shape) == (None, (1,))


def test_bit_cast() -> None:
    (result,) = call(cast.rules, "BitCast", [known([-1, 5], I8)], to=int(U8), version=26)
    assert (result.dtype, elements(result)) == (U8, [255, 5])
    (result,) = call(cast.rules, "BitCast", [(N,)], to=int(I32), version=26)
    assert (result.dtype, result.shape, result.values) == (I32, (N,), None)


QUANTIZED: dict[str, Any] = {
    # id:                   (op,                version, inputs,                                attributes, dtype, shape)
    "no zero point":        ("QuantizeLinear",  13, [(N, 3), ()],                               {},               U8, (N, 3)),
    "zero point":           ("QuantizeLinear",  13, [(N, 3), (), known(0, I8)],                 {},               I8, (N, 3)),
    "output_dtype":         ("QuantizeLinear",  21, [(N, 3), ()],                               {"output_dtype": 22}, DType.INT4, (N, 3)),
    "per axis":             ("QuantizeLinear",  13, [(2, 3), (3,)],                             {"axis": -1},     U8, (2, 3)),
    "blocked":              ("QuantizeLinear",  21, [(2, 7), (2, 3)],                           {"axis": 1, "block_size": 3}, U8, (2, 7)),
    "a vector, no axis":    ("QuantizeLinear",  13, [(5,), (5,)],                               {},               U8, (5,)),
    "unranked":             ("QuantizeLinear",  13, [UNRANKED, (3,)],                           {},               U8, None),
    "to float32":           ("DequantizeLinear", 13, [within(0, 9, dtype=U8), ()],              {},               F32, (N,)),
    "to the scale's type":  ("DequantizeLinear", 19, [within(0, 9, dtype=U8), SymbolicTensor(F16, ())], {},       F16, (N,)),
    "to output_dtype":      ("DequantizeLinear", 23, [within(0, 9, dtype=U8), ()],              {"output_dtype": 10}, F16, (N,)),
}  # fmt: skip


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized(name: str) -> None:
    op_type, version, inputs, attributes, dtype, shape = QUANTIZED[name]
    (result,) = call(quantize.rules, op_type, inputs, version=version, **attributes)
    assert (result.dtype, result.shape) == (dtype, shape)


def test_dynamic_quantize_linear() -> None:
    found = call(quantize.rules, "DynamicQuantizeLinear", [(N, 3)], outputs=3)
    assert [(t.dtype, t.shape) for t in found] == [(U8, (N, 3)), (F32, ()), (U8, ())]


VIOLATIONS: dict[str, tuple[Any, str, int, list[Any], dict[str, Any], str]] = {
    "unknown type": (cast, "Cast", 13, [(3,)], {"to": 99}, "to = 99 is no element type"),
    "unknown name": (cast, "Cast", 1, [(3,)], {"to": "HALF"}, 'to = "HALF" is no element type'),
    "widths": (cast, "BitCast", 26, [(3,)], {"to": 7}, "float32 and int64 must have elements of the same width"),
    "zero point and output_dtype": (quantize, "QuantizeLinear", 21, [(3,), (), known(0, I8)], {"output_dtype": 2},
                                    "output_dtype is uint8 and y_zero_point is int8"),
    "scale length": (quantize, "QuantizeLinear", 13, [(2, 3), (2,)], {}, "must be equal, are 2 and 3"),
    "scale rank": (quantize, "QuantizeLinear", 13, [(2, 3), (2, 3)], {}, "y_scale must be a scalar or 1-D"),
    "axis": (quantize, "QuantizeLinear", 13, [(2, 3), (2,)], {"axis": 2}, "axis = 2 is outside [-2, 1]"),
    "blocks": (quantize, "DequantizeLinear", 21, [SymbolicTensor(U8, (2, 7)), (2, 2)], {"block_size": 3},
               "must be equal, are 2 and 3"),
    "zero point type": (quantize, "DequantizeLinear", 13, [SymbolicTensor(U8, (2,)), (), known(0, I8)], {},
                        "x is uint8 and x_zero_point is int8"),
}  # fmt: skip


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation(name: str) -> None:
    module, op_type, version, inputs, attributes, message = VIOLATIONS[name]
    with pytest.raises(SpecViolation) as raised:
        call(module.rules, op_type, inputs, version=version, **attributes)
    assert message in raised.value.message
