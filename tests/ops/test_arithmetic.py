"""Add ... Pow, bits, Min/Max/Sum, Clip against their pages: shapes, elements, bounds, violations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.arithmetic import rules
from gather_infer.ops.semantics import elements as element_rules
from gather_infer.rules import OpCall
from gather_infer.symbolic import Interval, Scope, evaluate, maximum, minimum
from gather_infer.tensor import DType, Ratio, SymbolicTensor, ValueRange
from tests.ops.call import UNRANKED, call
from tests.ops.facts import BF16, F16, F32, F64, I8, I32, I64, U8, U32, U64, A, B, M, N, elements, known, ratio, within

SHAPES: dict[str, Any] = {
    # id:                       (op,    version, inputs,                    attributes,                    shape)
    "scalar":                   ("Add", 13, [(), ()],                       {},                            ()),
    "both directions":          ("Mul", 13, [(3, 1), (1, 4)],               {},                            (3, 4)),
    "no rows":                  ("Add", 13, [(0, 4), (1,)],                 {},                            (0, 4)),
    "symbolic":                 ("Sub", 13, [(N, 4), (N, 1)],               {},                            (N, 4)),
    "unranked":                 ("Div", 13, [UNRANKED, (3,)],               {},                            None),
    "old, equal":               ("Add", 6,  [(2, 3), (2, 3)],               {},                            (2, 3)),
    "old, scalar":              ("Add", 6,  [(2, 3, 4, 5), ()],             {"broadcast": 1},          (2, 3, 4, 5)),
    "old, suffix":              ("Add", 6,  [(2, 3, 4, 5), (4, 5)],         {"broadcast": 1},          (2, 3, 4, 5)),
    "old, axis 1":              ("Add", 6,  [(2, 3, 4, 5), (3, 4)],         {"broadcast": 1, "axis": 1}, (2, 3, 4, 5)),
    "old, axis 0":              ("Add", 1,  [(2, 3, 4, 5), (2,)],           {"broadcast": 1, "axis": 0}, (2, 3, 4, 5)),
    "old, axis, symbolic":      ("Mul", 6,  [(N, 3, A, B), (3,)],           {"broadcast": 1, "axis": 1}, (N, 3, A, B)),
    "three inputs":             ("Max", 13, [(3, 1), (4,), (1, 1)],         {},                            (3, 4)),
    "one input":                ("Sum", 13, [(N,)],                         {},                            (N,)),
    "one shape for all":        ("Sum", 6,  [(N, 3), (N, 3)],               {},                            (N, 3)),
    "Mean":                     ("Mean", 13, [(N, 3), (1, 3)],              {},                            (N, 3)),
    "Mod of floats":            ("Mod", 28, [(N, 3), (3,)],                 {},                            (N, 3)),
    "Pow":                      ("Pow", 15, [(N, 3), known(2)],             {},                            (N, 3)),
    "Clip by attributes":       ("Clip", 6, [(N, 3)],                       {"min": 0.0},                  (N, 3)),
    "Clip by inputs":           ("Clip", 13, [(N, 3), None, known(6.0, F32)], {},                          (N, 3)),
    "Neg":                      ("Neg", 13, [(N,)],                         {},                            (N,)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str) -> None:
    op_type, version, inputs, attributes, shape = SHAPES[name]
    (result,) = call(rules, op_type, inputs, version=version, **attributes)
    assert result.shape == shape
    assert result.dtype is F32


INTEGERS: dict[str, Any] = {
    # id:                       (op,    inputs,                                             elements)
    "sizes":                    ("Add", [known([N, 3]), known(2)],                          [N + 2, 5]),
    "broadcast elements":       ("Mul", [known([N, 3]), known([2])],                        [2 * N, 6]),
    "unknown element":          ("Sub", [known([N, None]), known(N)],                       [0, None]),
    "division truncates":       ("Div", [known([-7, 7, 7]), known([2, -2, 2])],             [-3, -3, 3]),
    "division of a size":       ("Div", [known(N), known(2)],                               N // 2),
    "division by zero":         ("Div", [known([1, 4]), known([0, 2])],                     [None, 2]),
    "the least integer / -1":   ("Div", [known([-128, 4], I8), known(-1, I8)],              [None, -4]),
    "int8 wraps":               ("Add", [known([127, 1], I8), known(1, I8)],                [-128, 2]),
    "uint8 wraps":              ("Sub", [known([0, 1], U8), known(1, U8)],                  [255, 0]),
    "int32 wraps":              ("Mul", [known([65536, 2], I32), known(65536, I32)],        [0, 131072]),
    "a size in int8":           ("Add", [known([N, 1], I8), known(1, I8)],                  [None, 2]),
    "may be negative, uint64":  ("Sub", [known([N, 7], U64), known(5, U64)],                [None, 2]),
    "no limit and a size":      ("Add", [known([N, 1]), known(2**63 - 1)],                  [None, -(2**63)]),
    "Mod, sign of B":           ("Mod", [known([-7, 7]), known([3, -3])],                   [2, -2]),
    "Mod of a size":            ("Mod", [known(N), known(4)],                               N % 4),
    "Mod by zero":              ("Mod", [known([5, 5]), known([0, 3])],                     [None, 2]),
    "Pow":                      ("Pow", [known([N, 3, 0]), known(2)],                       [N * N, 9, 0]),
    "Pow, negative exponent":   ("Pow", [known([2, 1]), known([-1, 2])],                    [None, 1]),
    "Min":                      ("Min", [known([N, 9]), known(4)],                          [minimum(N, 4), 4]),
    "Max of three":             ("Max", [known([N, 9]), known(4), known([1])],              [maximum(N, 4), 9]),
    "Neg":                      ("Neg", [known([N, -3])],                                   [-N, 3]),
    "Neg wraps":                ("Neg", [known([-128, 1], I8)],                             [-128, -1]),
    "Abs":                      ("Abs", [known([N, -3])],                                   [N, 3]),
    "Abs, any sign":            ("Abs", [known([N - 3, 0])],                                [maximum(N - 3, 3 - N), 0]),
    "Sign":                     ("Sign", [known([N, -3, 0])],                               [minimum(N, 1), -1, 0]),
    "BitwiseNot":               ("BitwiseNot", [known([0, 5], U8)],                         [255, 250]),
    "BitwiseAnd":               ("BitwiseAnd", [known([6, -1]), known([3, 5])],             [2, 5]),
    "Clip":                     ("Clip", [known([N, -3, 9]), known(0), known(7)],           [minimum(N, 7), 0, 7]),
    "Clip, crossed limits":     ("Clip", [known([1, 9]), known(5), known(2)],               [2, 2]),
    "Clip, unknown limit":      ("Clip", [known([1, 9]), known([None])],                    None),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_elements(name: str) -> None:
    op_type, inputs, expected = INTEGERS[name]
    (result,) = call(rules, op_type, inputs, version=18)
    assert result.dtype is inputs[0].dtype
    assert elements(result) == expected


FLOATS: dict[str, Any] = {
    # id:                       (op,    type, inputs,                       elements)
    "sizes":                    ("Add", F32, [[N, 3.0], 2.0],               [N + 2, 5.0]),
    "float32 rounds":           ("Add", F32, [[0.1], 0.2],                  [0.30000001192092896]),
    "float64 does not":         ("Add", F64, [[0.1], 0.2],                  [0.30000000000000004]),
    "float16 rounds":           ("Mul", F16, [[2049.0], 3.0],               [6148.0]),
    "bfloat16 rounds":          ("Add", BF16, [[256.0], 1.0],               [256.0]),
    "doubled":                  ("Mul", F32, [[N], 2.0],                    [2 * N]),
    "halved":                   ("Mul", F32, [[N], 0.5],                    [Ratio(N, 2)]),
    "halved, even":             ("Div", F32, [[2 * N], 2.0],                [N]),
    "a third":                  ("Div", F32, [[N], 3.0],                    [Ratio(N, 3)]),
    "times 0.1":                ("Mul", F32, [[N], 0.1],                    [Ratio(N, 10)]),
    "times 1.7":                ("Mul", F64, [[N], 1.7],                    [ratio(17 * N, 10)]),
    "5 times 0.2":              ("Mul", F32, [[5 * N], 0.2],                [N]),
    "times 1.3, rounded down":  ("Mul", F32, [[N], 1.2999999523162842],     None),
    "times pi":                 ("Mul", F32, [[N], math.pi],                None),
    "half and one":             ("Add", F32, [[Ratio(N, 2)], 1.0],          [ratio(N + 2, 2)]),
    "a third and one":          ("Add", F32, [[Ratio(N, 3)], 1.0],          None),
    "half, doubled":            ("Mul", F32, [[Ratio(N, 2)], 2.0],          [N]),
    "a size in float16":        ("Add", F16, [[N], 1.0],                    None),
    "division by zero":         ("Div", F32, [[1.0, -1.0], 0.0],            [math.inf, -math.inf]),
    "negative zero":            ("Mul", F32, [[-1.0], 0.0],                 [-0.0]),
    "size times zero":          ("Mul", F32, [[N, N - 1], 0.0],             [0.0, None]),
    "NaN wins":                 ("Max", F32, [[1.0, 2.0], [math.nan, 1.0]], [math.nan, 2.0]),
    "below every size":         ("Max", F32, [[N, N], [-1.5, 0.5]],         [N, None]),
    "infinity":                 ("Min", F32, [[N], math.inf],               [N]),
    "fmod":                     ("Mod", F32, [[-7.5, 7.5], 2.0],            [-1.5, 1.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_float_elements(name: str) -> None:
    op_type, dtype, inputs, expected = FLOATS[name]
    attributes: dict[str, Any] = {"fmod": 1} if op_type == "Mod" else {}
    (result,) = call(rules, op_type, [known(x, dtype) for x in inputs], **attributes)
    assert repr(elements(result)) == repr(expected)  # NaN, -0.0


def test_exactness_is_a_listed_assumption() -> None:
    context = Context()
    call(rules, "Add", [known([N], F32), known(1.0, F32)], context=context)
    assert [str(a) for a in context.assumptions] == ["N <= 16777215 (node )"]


def test_nothing_is_assumed_when_that_is_forbidden() -> None:
    (result,) = call(rules, "Add", [known([N], F32), known(1.0, F32)], context=Context(may_assume=False))
    assert elements(result) is None


def test_declared_bounds_make_float16_exact() -> None:
    scope = Scope()
    scope.declare("N", Interval(0, 512))
    (result,) = call(rules, "Mul", [known([N], F16), known(0.5, F16)], context=Context(scope))
    assert elements(result) == [Ratio(N, 2)]


def test_a_divisor_is_not_zero_in_a_legal_run() -> None:
    context = Context()
    (result,) = call(rules, "Div", [known([12]), known([N])], context=context)
    assert context.scope.bounds(N).lo == 1
    assert elements(result) == [12 // N]


SPANS: dict[str, Any] = {
    # id:                   (op,    inputs,                                            span)
    "offset":               ("Add", [within(0, N - 1), known(2)],                      ValueRange(2, N + 1)),
    "two bounded":          ("Sub", [within(0, N), within(0, M)],                      ValueRange(-M, N)),
    "unbounded":            ("Add", [SymbolicTensor(I64, (N,)), known(1)],             None),
    "int8 may wrap":        ("Add", [within(0, 100, dtype=I8), known(100, I8)],        None),
    "scaled":               ("Mul", [within(0, N), known(3)],                          ValueRange(0, 3 * N)),
    "quotient":             ("Div", [within(0, N), known(4)],                          ValueRange(0, N // 4)),
    "remainder":            ("Mod", [SymbolicTensor(I64, (N,)), known(7)],             ValueRange(0, 6)),
    "least":                ("Min", [SymbolicTensor(I64, (N,)), known([M])],           ValueRange(None, M)),
    "clipped":              ("Clip", [SymbolicTensor(I64, (N,)), known(0), known(9)],  ValueRange(0, 9)),
    "clipped below":        ("Clip", [SymbolicTensor(I64, (N,)), known(0)],            ValueRange(0, None)),
    "sign":                 ("Sign", [within(0, N)],                                   ValueRange(0, 1)),
    "size":                 ("Abs", [within(-3, 2)],                                   ValueRange(0, 3)),
    "masked":               ("BitwiseAnd", [SymbolicTensor(I64, (N,)), known(15)],     ValueRange(0, 15)),
    "shifted":              ("BitShift", [within(0, 9, dtype=U32), within(0, 3, dtype=U32)], ValueRange(0, 9)),
}  # fmt: skip


@pytest.mark.parametrize("name", SPANS)
def test_span(name: str) -> None:
    op_type, inputs, expected = SPANS[name]
    attributes: dict[str, Any] = {"direction": "RIGHT"} if op_type == "BitShift" else {}
    (result,) = call(rules, op_type, inputs, version=18, **attributes)
    if op_type == "Sign":
        assert result.value_range.lo == 0
    else:
        assert result.value_range == expected


SHIFTS: dict[str, Any] = {
    # id:                       (version, direction, X,           Y,      type, elements)
    "left":                     (11, "LEFT",  [1, 200],           1,      U8,   [2, 144]),
    "right":                    (11, "RIGHT", [N, 9],             1,      U64,  [N // 2, 4]),
    "a size, left":             (11, "LEFT",  [N],                3,      U64,  [8 * N]),
    "by the width, undefined":  (11, "LEFT",  [1],                8,      U8,   None),
    "by the width, defined":    (28, "LEFT",  [1],                8,      U8,   [0]),
    "negative, right":          (28, "RIGHT", [-5, 5],            1,      I32,  [-3, 2]),
    "negative, by the width":   (28, "RIGHT", [-5, 5],            32,     I32,  [-1, 0]),
    "by a negative number":     (28, "LEFT",  [5],                -1,     I32,  [0]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHIFTS)
def test_shift(name: str) -> None:
    version, direction, x, y, dtype, expected = SHIFTS[name]
    (result,) = call(rules, "BitShift", [known(x, dtype), known(y, dtype)], version=version, direction=direction)
    assert elements(result) == expected


VIOLATIONS: dict[str, tuple[str, int, list[Any], dict[str, Any], str]] = {
    "types differ": ("Add", 13, [(3,), known([1, 2, 3])], {},
                     "A is float32 and B is int64, they must have the same element type"),
    "never broadcast": ("Mul", 13, [(3,), (4,)], {}, "do not broadcast"),
    "old, not broadcast": ("Add", 6, [(2, 3), (3,)], {}, "shapes must be equal, are [2, 3] and [3]"),
    "old, does not fit": ("Add", 6, [(2, 3), (3, 4)], {"broadcast": 1, "axis": 1}, "B [3, 4] does not fit in A [2, 3]"),
    "old, dim differs": ("Add", 6, [(2, 3), (4,)], {"broadcast": 1}, "dim 4 must be 1 or 3"),
    "old, axis": ("Add", 6, [(2, 3), (3,)], {"broadcast": 1, "axis": 2}, "axis = 2 is outside [-2, 1], A has rank 2"),
    "old Sum": ("Sum", 6, [(2, 3), (1, 3)], {}, "must be equal"),
    "Max of three": ("Max", 13, [(3,), (1,), known([1])], {}, "data_0 is float32 and data_2 is int64"),
    "Mod of floats": ("Mod", 13, [(3,), (3,)], {}, "fmod must be 1 for float32, is 0"),
    "BitShift direction": ("BitShift", 11, [known([1], U8), known([1], U8)], {"direction": "UP"},
                           'direction must be "LEFT" or "RIGHT", is "UP"'),
    "BitwiseAnd of floats": ("BitwiseAnd", 18, [(3,), (3,)], {}, "A must be an integer tensor, is float32"),
    "Clip limit": ("Clip", 13, [(3,), (3,)], {}, "min must be a scalar, has rank 1"),
    "Clip type": ("Clip", 13, [(3,), known(1)], {}, "input is float32 and min is int64"),
    "missing input": ("Add", 13, [(3,)], {}, "input 1 is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation(name: str) -> None:
    op_type, version, inputs, attributes, message = VIOLATIONS[name]
    with pytest.raises(SpecViolation) as raised:
        call(rules, op_type, inputs, version=version, **attributes)
    assert message in raised.value.message


@pytest.mark.parametrize(("value", "dtype", "wrapped"), [(200, I8, -56), (-1, U64, 2**64 - 1), (2**31, I32, -(2**31))])
def test_wrap(value: int, dtype: DType, wrapped: int) -> None:
    assert element_rules.wrap(value, dtype) == wrapped


@pytest.mark.parametrize("bits", [5, 8, 11])
def test_floor_of_a_rounded_quotient(bits: int) -> None:
    """The proof in ops/elements.py, for a significand of few bits: every quotient, rounded to nearest even."""
    limit = 1 << bits
    for b in range(1, 2 * limit if bits < 11 else 40):
        for a in range(limit + 1):
            quotient, rest = divmod(a, b)
            rounded = round_to_bits(a, b, bits)
            assert math.floor(rounded) == quotient
            assert math.ceil(rounded) == quotient + (rest > 0)


@pytest.mark.parametrize("seed", range(40))
def test_floor_of_a_product_with_a_rounded_constant(seed: int) -> None:
    """The proof in ops/elements.py: as float32 does it, up to the largest size for which it holds."""
    rng = np.random.default_rng(seed)
    s, t = int(rng.integers(1, 60)), int(rng.integers(2, 60))
    c, largest = np.float32(s / t), (2**23 - t) // s
    sizes = np.unique(np.concatenate([np.arange(2000), rng.integers(0, largest, 2000), largest - np.arange(2000)]))
    products = np.float64(c * sizes.astype(np.float32))
    context = Context()
    found = element_rules.scaled(OpCall("Mul", [], context=context), N, float(c), F32)
    if found is None:
        assert s % t == 0 or abs(float(c) / (s / t) - 1) >= 2**-25
        return
    assert context.assumptions
    assert not isinstance(found, float)
    num, den = (found.num, found.den) if isinstance(found, Ratio) else (found, 1)
    for size, product in zip(sizes.tolist(), products.tolist(), strict=True):
        exact = evaluate(num, {"N": size})
        assert (math.floor(product), math.ceil(product)) == (exact // den, -(-exact // den))


def round_to_bits(a: int, b: int, bits: int) -> float:
    """a / b rounded to nearest even with a significand of `bits` bits, by integers alone."""
    if a == 0:
        return 0.0
    exponent = bits - (a.bit_length() - b.bit_length()) + 1
    scaled, rest = divmod(a << exponent, b)
    while scaled >= 1 << bits:
        exponent -= 1
        scaled, rest = divmod(a << exponent, b) if exponent >= 0 else divmod(a, b << -exponent)
    divisor = b if exponent >= 0 else b << -exponent
    if 2 * rest > divisor or (2 * rest == divisor and scaled & 1):
        scaled += 1
    return math.ldexp(scaled, -exponent)
