"""Bindings that refute: they are in scope, and none is made where no binding is."""

from __future__ import annotations

import pytest

from gather_infer.symbolic import Dim, Expr, Interval, Scope, evaluate, known_eq, known_le, parse_dim
from gather_infer.symbolic.sampling import candidate_counterexample, has_different_signs, has_different_values


def scope_of(*facts: str, **bounds: tuple[int, int | None]) -> Scope:
    scope = Scope()
    for name, (lo, hi) in bounds.items():
        scope.declare(name, Interval(lo, hi))
    for fact in facts:
        scope.add_fact(parse_dim(fact))
    return scope


SCOPES = {
    "nothing known": scope_of(),
    "intervals": scope_of(n=(3, 7), m=(1, 1)),
    "one below another": scope_of("n - m - 1"),
    "a count": scope_of("n*m - k", "n - 1"),
    "a chain": scope_of("n - m - 1", "m - k - 1"),
    "a quotient": scope_of("n//20 - 3", "k - n//m", m=(1, None)),
}


@pytest.mark.parametrize("name", SCOPES)
def test_samples_satisfy_what_is_known(name: str) -> None:
    scope = SCOPES[name]
    found = [candidate_counterexample(sample, list(scope.facts)) for sample in scope.samples]
    assert any(sample is not None for sample in found)
    for sample in found:
        for fact in scope.facts if sample is not None else ():
            assert sample is not None
            assert evaluate(fact, sample) >= 0
        for symbol in ("n", "m", "k") if sample is not None else ():
            assert sample is not None
            assert sample[symbol] in scope.symbol_bounds(symbol)


REFUTED = {
    # id: (scope, what is not always >= 0)
    "one past the end": ("one below another", "n - m - 2"),
    "a count may be less": ("a count", "k - n*m"),
    "a clamp of many": ("nothing known", "min(64, n) - n"),
    "a rounded size": ("nothing known", "4*((n + 3)//4) - 1"),
    "an upper bound": ("intervals", "6 - n"),
}


@pytest.mark.parametrize("name", REFUTED)
def test_what_a_binding_refutes_is_left_open(name: str) -> None:
    where, text = REFUTED[name]
    scope, dim = SCOPES[where], parse_dim(text)
    assert known_le(0, dim, scope) is None


PROVED = {
    "by a fact": ("one below another", "n - m - 1"),
    "by two facts": ("a chain", "n - k - 2"),
    "by cases": ("nothing known", "n - min(64, n)"),
    "by intervals": ("intervals", "7 - n*m"),
    "by a quotient": ("a quotient", "n - 60"),
}


@pytest.mark.parametrize("name", PROVED)
def test_what_holds_is_proved_all_the_same(name: str) -> None:
    where, text = PROVED[name]
    scope, dim = SCOPES[where], parse_dim(text)
    assert known_le(0, dim, scope) is True
    assert isinstance(dim, Expr)
    shifted: Dim = dim + 1
    assert known_eq(shifted, 0, scope) is False


VARYING = {
    # dim: (scopes in which it is constant, scopes in which it has one sign)
    "n": ("", ""),
    "n - m": ("", "one below another, a chain"),
    "m - n": ("", "one below another, a chain"),
    "n*m - k": ("", "a count"),
    "n//20 - 3": ("", "a quotient"),
    "m - 1": ("intervals", "intervals"),
    "max(n, m) - n": ("one below another, a chain", "all"),
    "n//m*m - n": ("", "all"),
}


@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize("text", VARYING)
def test_bounds_contain_the_values_of_samples(text: str, name: str) -> None:
    """A dim that is seen to vary has no point as its bounds, one of both signs none on one side of 0."""
    scope, dim = SCOPES[name], parse_dim(text)
    assert isinstance(dim, Expr)
    facts = scope.relevant_facts(dim)
    interval = scope.bounds(dim)
    if has_different_values(dim, scope.samples, facts):
        assert not interval.is_point
    if has_different_signs(dim, scope.samples, facts):
        assert interval.lo is None or interval.lo < 0
        assert interval.hi is None or interval.hi > 0


@pytest.mark.parametrize("name", SCOPES)
@pytest.mark.parametrize("text", VARYING)
def test_claims_that_hold_are_not_refuted_by_samples(text: str, name: str) -> None:
    scope, dim = SCOPES[name], parse_dim(text)
    assert isinstance(dim, Expr)
    facts = scope.relevant_facts(dim)
    constant, one_sign = VARYING[text]
    assert not (name in constant and has_different_values(dim, scope.samples, facts))
    assert not ((name in one_sign or one_sign == "all") and has_different_signs(dim, scope.samples, facts))


def test_samples_show_that_a_dim_varies() -> None:
    scope = scope_of()
    n = parse_dim("n")
    assert isinstance(n, Expr)
    assert has_different_values(n, scope.samples, [])
    difference = parse_dim("n - m")
    assert isinstance(difference, Expr)
    assert has_different_values(difference, scope.samples, [])
