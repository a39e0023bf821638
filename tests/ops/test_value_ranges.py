"""Arithmetic of bounds: symbolic ends by example, numeric ends against brute force."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gather_infer import value_ranges
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Scope, evaluate, symbol
from gather_infer.tensor import DType, SymbolicTensor, ValueRange
from tests.ops.facts import BOOL, I8, I32, I64, U8, U64, A, B, N, known, within

SPAN_OF: dict[str, Any] = {
    # id:                   (tensor,                        span)
    "numbers":              (known([3, -1, 2]),             ValueRange(-1, 3)),
    "one size":             (known([N, N]),                 ValueRange(N, N)),
    "sizes and numbers":    (known([N, 0]),                 ValueRange(0, N)),
    "partly known":         (known([1, None], I32),         ValueRange(-(2**31), 2**31 - 1)),
    "no elements":          (known([]),                     ValueRange()),
    "span":                 (within(0, N - 1),              ValueRange(0, N - 1)),
    "uint8":                (SymbolicTensor(U8, (N,)),      ValueRange(0, 255)),
    "int64":                (SymbolicTensor(I64, (N,)),     ValueRange()),
    "uint64":               (SymbolicTensor(U64, None),     ValueRange(0, None)),
    "bool":                 (SymbolicTensor(BOOL, (2,)),    ValueRange(0, 1)),
    "unknown type":         (SymbolicTensor(),              ValueRange()),
}  # fmt: skip


@pytest.mark.parametrize("name", SPAN_OF)
def test_span_of(name: str) -> None:
    tensor, span = SPAN_OF[name]
    assert value_ranges.range_of(tensor, Scope()) == span


Range = ValueRange
ARITHMETIC: dict[str, Any] = {
    # id:                           (value range                                                   result)
    "sum":                          (value_ranges.add(Range(0, N - 1), Range(1, 1)),                Range(1, N)),
    "sum past the end may wrap":    (value_ranges.add(Range(0, None), Range(1, 1)),                 Range()),
    "sum away from the end":        (value_ranges.add(Range(0, None), Range(-5, -5)),               Range(-5, None)),
    "no limit and a size may wrap": (value_ranges.add(Range(0, 2**63 - 1), Range(N, N)),            Range()),
    "difference":                   (value_ranges.sub(Range(0, N - 1), Range(0, 1)),                Range(-1, N - 1)),
    "minus the least integer":      (value_ranges.neg(Range(None, 5)),                              Range()),
    "product of sizes":             (value_ranges.mul(Range(0, A), Range(0, B)),                    Range(0, A * B)),
    "product, any sign":            (value_ranges.mul(Range(-1, 1), Range(0, N)),                   Range(-N, N)),
    "times one":                    (value_ranges.mul(Range(None, N), Range(1, 1)),                 Range(None, N)),
    "halved":                       (value_ranges.trunc_div(Range(0, N), Range(2, 2)),              Range(0, N // 2)),
    "divided by a size":            (value_ranges.trunc_div(Range(0, N), Range(1, B + 1)),          Range(0, N)),
    "divided by what may be 0":     (value_ranges.trunc_div(Range(0, N), Range(0, B)),              Range()),
    "remainder":                    (value_ranges.mod(Range(), Range(N + 1, N + 1)),                Range(0, N)),
    "remainder of a small number":  (value_ranges.mod(Range(0, 3), Range(5, N + 5)),                Range(0, 3)),
    "C remainder":                  (value_ranges.fmod(Range(), Range(7, 7)),                       Range(-6, 6)),
    "clipped":                      (value_ranges.clip(Range(), Range(0, 0), Range(N, N)),          Range(0, N)),
    "clipped to numbers":           (value_ranges.clip(Range(), Range(0, 0), Range(9, 9)),          Range(0, 9)),
    "a running count":              (value_ranges.repeated_sum(Range(0, 1), N, may_be_empty=False), Range(0, N)),
}  # fmt: skip


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str) -> None:
    found, expected = ARITHMETIC[name]
    assert found == expected


FIT: dict[str, Any] = {
    # id:                       (span,              type,       kept, assumption)
    "fits":                     (ValueRange(0, 9),        I8,         True, None),
    "may wrap":                 (ValueRange(0, 200),      I8,         False, None),
    "a size in int64":          (ValueRange(0, N),        I64,        True, None),
    "a size in int32":          (ValueRange(0, N - 1),    I32,        True, "N <= 2147483648 (node )"),
    "a size in int8":           (ValueRange(0, N),        I8,         False, None),
    "negative in uint64":       (ValueRange(-N, N),       U64,        False, None),
    "says nothing":             (ValueRange(0, 255),      U8,         False, None),
    "float":                    (ValueRange(0, 1),        DType.FLOAT32, False, None),
}  # fmt: skip


@pytest.mark.parametrize("name", FIT)
def test_fit(name: str) -> None:
    span, dtype, kept, assumption = FIT[name]
    op = OpCall("Add", [])
    assert value_ranges.fit(op, span, dtype) == (span if kept else None)
    assert [str(a) for a in op.context.assumptions] == ([assumption] if assumption else [])


@st.composite
def numeric_span(draw: st.DrawFn) -> ValueRange:
    lo = draw(st.integers(-6, 6))
    return ValueRange(lo, draw(st.integers(lo, 6)))


def trunc(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Any] = {
    "add": (value_ranges.add, lambda a, b: a + b),
    "sub": (value_ranges.sub, lambda a, b: a - b),
    "mul": (value_ranges.mul, lambda a, b: a * b),
    "trunc_div": (value_ranges.trunc_div, trunc),
    "mod": (value_ranges.mod, lambda a, b: a % b),
    "fmod": (value_ranges.fmod, lambda a, b: a - b * trunc(a, b)),
    "least": (value_ranges.min_of, min),
    "most": (value_ranges.max_of, max),
}


def numbers_in(span: ValueRange) -> range:
    assert isinstance(span.lo, int) and isinstance(span.hi, int)
    return range(span.lo, span.hi + 1)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_against_brute_force(name: str, data: st.DataObject) -> None:
    function, exact = BINARY[name]
    a, b = data.draw(numeric_span()), data.draw(numeric_span())
    divides = name in ("trunc_div", "mod", "fmod")
    pairs = itertools.product(numbers_in(a), numbers_in(b))
    results = [exact(x, y) for x, y in pairs if y != 0 or not divides]
    span = function(a, b, Scope())
    assert all((span.lo is None or span.lo <= r) and (span.hi is None or r <= span.hi) for r in results)
    if not divides:
        assert (span.lo, span.hi) == (min(results), max(results))


@given(numeric_span())
def test_unary_against_brute_force(a: ValueRange) -> None:
    numbers = numbers_in(a)
    assert value_ranges.neg(a) == ValueRange(min(-x for x in numbers), max(-x for x in numbers))
    assert value_ranges.absolute(a) == ValueRange(min(map(abs, numbers)), max(map(abs, numbers))) or (
        numbers[0] < 0 < numbers[-1]
    )


K, V = symbol("K"), symbol("V")
DIVIDENDS: list[Dim | None] = [None, -7, -1, 0, 1, 5, K, K - 1, -K, K * V - 1, -K * V, N - 3, V]
DIVISORS: list[tuple[Dim, Dim | None]] = [(1, 1), (3, 3), (2, 4), (V, V), (1, V), (V, V + 2), (V, None), (-V, -V)]


def test_quotients_by_sizes() -> None:
    """A quotient by a size that is at least 1 is held against every pair of numbers between the ends."""
    scope = Scope()
    scope.add_fact(V - 1)
    told = 0
    for (lo, hi), (least, most) in itertools.product(itertools.product(DIVIDENDS, repeat=2), DIVISORS):
        found = value_ranges.trunc_div(ValueRange(lo, hi), ValueRange(least, most), scope)
        if found == ValueRange():
            continue
        for k, v, n in itertools.product((0, 1, 3), (1, 2, 3), (0, 2, 5)):
            sizes = {"K": k, "V": v, "N": n}

            def at(end: Dim | None, default: int, sizes: dict[str, int] = sizes) -> int:
                return default if end is None else evaluate(end, sizes)

            for a in range(at(lo, -9), at(hi, 9) + 1):
                for b in range(at(least, -9), at(most, 9) + 1):
                    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                    assert at(found.lo, -99) <= quotient <= at(found.hi, 99), (lo, hi, least, most, sizes, a, b)
                    told += 1
    assert told > 10000
    assert value_ranges.trunc_div(ValueRange(0, K * V - 1), ValueRange(V, V), scope) == ValueRange(0, K - 1)
