"""Dims, scopes and intervals: what they are, and what they refuse."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from gather_infer.symbolic import (
    Expr,
    Interval,
    Scope,
    ceildiv,
    evaluate,
    floordiv,
    free_symbols,
    known_eq,
    known_le,
    known_lt,
    maximum,
    minimum,
    mod,
    parse_dim,
    product,
    simplify,
    substitute,
    symbol,
    total,
    truncdiv,
)

N, M, K = symbol("N"), symbol("M"), symbol("K")


def test_equal_dims_are_the_same_object() -> None:
    assert symbol("N") is N
    assert (N + 1) * (N - 1) is N * N - 1
    assert N + M is M + N
    assert len({N + M, M + N, N}) == 2


def test_constants_are_ints() -> None:
    for dim in (N - N, N * 0, N + 1 - N, (2 * N + 1) // 2 - N, minimum(3, 4), maximum(0, -N), product(()), total(())):
        assert type(dim) is int


def test_truth_and_order_are_refused() -> None:
    with pytest.raises(TypeError, match=r"truth of the symbolic dim N is not known"):
        bool(N)
    with pytest.raises(TypeError, match=r"order of the symbolic dim N is not known"):
        _ = N < 3
    with pytest.raises(TypeError):
        _ = N + 1.5  # type: ignore[operator]  # it has to be refused at run time too
    assert N != 1
    assert N != "N"


def test_numpy_integers_are_taken_as_ints() -> None:
    assert N + np.int64(1) is N + 1
    assert N * np.int32(2) is 2 * N
    assert np.array([N, 1], dtype=object).sum() is N + 1


def test_a_symbol_has_a_name() -> None:
    assert (N.is_symbol, N.name, N.size, N.symbols) == (True, "N", 1, frozenset("N"))
    dim = N + 1
    assert isinstance(dim, Expr)
    assert not dim.is_symbol
    with pytest.raises(AttributeError, match=r"N \+ 1 is not a lone symbol"):
        _ = dim.name


def test_evaluate() -> None:
    dim = parse_dim("max(0, N - 1)//M + N % 3")
    assert evaluate(dim, {"N": 8, "M": 2}) == 5
    assert evaluate(7, {}) == 7
    with pytest.raises(KeyError):
        evaluate(dim, {"M": 2})
    with pytest.raises(ZeroDivisionError):
        evaluate(dim, {"N": 8, "M": 0})


def test_substitute() -> None:
    dim = parse_dim("max(0, N - 1)//M")
    assert substitute(dim, {"N": 5}) is parse_dim("4//M")
    assert substitute(dim, {"N": 5, "M": 2}) == 2
    assert substitute(dim, {"N": M, "M": N}) is parse_dim("max(0, M - 1)//N")
    assert substitute(dim, {"K": 5}) is dim
    with pytest.raises(ZeroDivisionError):
        substitute(dim, {"M": 0})


def test_products_and_sums_of_shapes() -> None:
    assert product((N, M, 768)) is 768 * N * M
    assert total((N, M, 1)) is N + M + 1
    assert free_symbols(N * M + 1) == {"N", "M"}
    assert free_symbols(1) == frozenset()


def test_both_parts_of_a_rolled_axis_are_the_axis() -> None:
    """min(a, b) + max(c, d) is a + c wherever that is b + d, times any number, beside other terms."""
    assert minimum(2, N) + maximum(0, N - 2) is N
    assert 3 * minimum(N, M) + 3 * maximum(N, M) is 3 * N + 3 * M
    assert minimum(2, 4 * N) + maximum(0, 4 * N - 2) + M is 4 * N + M
    assert (minimum(N, M) + K) + (maximum(N - K, M - K) - 1) is N + M - 1
    drawn = random.Random("rolled")
    args = (0, 1, 2, 3, N, M, N + M, N - 2, M - N, -N, N // 2, 3 * (N // 3))
    for _ in range(3000):
        a, b, whole = (drawn.choice(args) for _ in range(3))
        parts = drawn.choice((-1, 1, 2)) * minimum(a, b), drawn.choice((-1, 1, 2)) * maximum(whole - a, whole - b)
        for sizes in ({"N": n, "M": m} for n in (0, 1, 5) for m in (0, 2, 7)):
            values = [
                part if isinstance(part, int) else evaluate(part, sizes) for part in (*parts, parts[0] + parts[1])
            ]
            assert values[0] + values[1] == values[2], (a, b, whole, sizes)


def test_other_sums_of_extrema_stay() -> None:
    for dim in (minimum(N, M) + maximum(N, K), minimum(2, N) + 2 * maximum(0, N - 2), minimum(2, N) - maximum(2, N),
                minimum(N, M, K) + maximum(N, M, K)):  # fmt: skip
        assert "min" in str(dim) and "max" in str(dim)


@pytest.mark.parametrize(("a", "b"), list(itertools.product((-7, -1, 0, 1, 7, 8), (-3, -1, 1, 3))))
def test_division_of_numbers(a: int, b: int) -> None:
    assert floordiv(a, b) == a // b
    assert mod(a, b) == a % b
    assert ceildiv(a, b) == -(-a // b)
    assert truncdiv(a, b) == int(a / b)


def test_a_divisor_that_may_be_0_stays() -> None:
    assert str(N * M // M) == "M*N//M"
    assert known_eq(N * M // M, N) is True
    scope = Scope()
    scope.add_fact(M - 1)
    assert floordiv(N * M, M, scope) is N
    assert str(floordiv(0, N)) == "0//N"
    for divide in (floordiv, mod, ceildiv):
        with pytest.raises(ZeroDivisionError):
            divide(N, 0)


def test_a_dim_that_is_not_defined_in_scope_stays() -> None:
    scope = Scope()
    scope.add_fact(-M)
    assert simplify(N // M + 1, scope) is N // M + 1
    assert str(simplify(floordiv(6, M), scope)) == "6//M"


def test_truncating_division_needs_the_sign_of_the_divisor() -> None:
    quotient = truncdiv(N - 3, 2)
    assert quotient is not None
    assert [evaluate(quotient, {"N": n}) for n in range(7)] == [-1, -1, 0, 0, 0, 1, 1]
    assert truncdiv(N, 2) is N // 2
    assert truncdiv(-N, 2) is -(N // 2)
    assert truncdiv(N, -2) is -(N // 2)
    assert truncdiv(N, M - 2) is None


def test_a_child_scope_has_its_own_facts() -> None:
    scope = Scope()
    child = scope.child()
    child.add_fact(N - 2)
    assert (known_le(2, N, child), known_le(2, N, scope)) == (True, None)
    before = child.version
    scope.declare("M", Interval(1, 8))
    assert child.version != before
    assert child.bounds(M + N) == Interval(3, None)
    assert scope.bounds(M) == Interval(1, 8)


def test_version_changes_with_news_only() -> None:
    scope = Scope()
    scope.add_fact(N - 1)
    version = scope.version
    scope.add_fact(N - 1)
    scope.add_fact(N)
    scope.declare("N", Interval(0, None))
    scope.add_fact(3)
    assert scope.version == version
    scope.add_fact(512 - N - M)
    assert scope.version != version


def test_facts_learnt_later_count_for_earlier_ones() -> None:
    scope = Scope()
    scope.add_fact(N * M - N)
    assert known_le(1, M, scope) is None
    scope.add_fact(N - 1)
    assert known_le(1, M, scope) is True


def test_a_fact_about_a_sum_bounds_its_terms() -> None:
    scope = Scope()
    scope.add_fact(512 - N - M)
    scope.add_fact(M - 1)
    assert scope.bounds(N) == Interval(0, 511)
    assert known_lt(N, 512, scope) is True
    assert known_lt(N + M, 512, scope) is None
    assert known_le(513, N + M, scope) is False


def test_simplify_puts_in_what_is_known() -> None:
    scope = Scope()
    scope.declare("N", Interval(4, 4))
    assert simplify(N * M + N // 3, scope) is 4 * M + 1
    assert simplify(5, scope) == 5


def brute(interval: Interval) -> range:
    lo, hi = interval.lo, interval.hi
    return range(-6 if lo is None else lo, 7 if hi is None else hi + 1)


INTERVALS = [Interval(lo, hi) for lo in (None, -3, -1, 0, 2) for hi in (None, -1, 0, 1, 4) if (lo or -9) <= (hi or 9)]
INTERVALS = [interval for interval in INTERVALS if not interval.is_empty]


@pytest.mark.parametrize(("left", "right"), list(itertools.product(INTERVALS, repeat=2)), ids=str)
def test_interval_arithmetic_is_tight(left: Interval, right: Interval) -> None:
    pairs = list(itertools.product(brute(left), brute(right)))
    for result, values in (
        (left + right, [a + b for a, b in pairs]),
        (left - right, [a - b for a, b in pairs]),
        (left * right, [a * b for a, b in pairs]),
        (left // right, [a // b for a, b in pairs if b]),
        (Interval.minimum((left, right)), [min(a, b) for a, b in pairs]),
        (Interval.maximum((left, right)), [max(a, b) for a, b in pairs]),
    ):
        assert all(value in result for value in values)
        if None not in (left.lo, left.hi, right.lo, right.hi) and values:
            assert result == Interval(min(values), max(values))


def test_powers_of_intervals() -> None:
    assert Interval(-3, 2).power(2) == Interval(0, 9)
    assert Interval(-3, 2).power(3) == Interval(-27, 8)
    assert Interval(None, None).power(2) == Interval(0, None)
    assert str(Interval(0, None)) == "[0, inf)"
    assert str(Interval(None, 4)) == "(-inf, 4]"
