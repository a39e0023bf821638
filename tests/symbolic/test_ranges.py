"""Ranges are remembered across scopes: one that differs in anything that a range follows from gets its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from gather_infer.symbolic import Interval, Scope, parse_dim
from gather_infer.symbolic import scope as scopes

Asked = tuple[str, Mapping[str, tuple[int, int]], Sequence[str]]

TENS: Mapping[str, tuple[int, int]] = {"M": (10, 20), "N": (10, 20)}
WIDE: Mapping[str, tuple[int, int]] = {"M": (0, 50), "N": (20, 100)}

PAIRS: dict[str, tuple[Asked, tuple[int, int], Asked, tuple[int, int]]] = {
    # what differs:                   (dim, intervals, facts >= 0), its range, the other one, its range
    "the dim":                        (("N - M", TENS, ["N - M"]), (0, 10), ("3*N - 3*M", TENS, ["N - M"]), (0, 30)),
    "the facts":                      (("N - M", TENS, ["N - M"]), (0, 10), ("N - M", TENS, ["M - N"]), (-10, 0)),
    "an interval":                    (("N - M", TENS, ["N - M"]), (0, 10),
                                       ("N - M", {"M": (10, 20), "N": (10, 30)}, ["N - M"]), (0, 20)),
    "which symbol is in an interval": (("N - M", {"M": (10, 20), "N": (10, 30)}, ["N - M"]), (0, 20),
                                       ("N - M", {"M": (10, 30), "N": (10, 20)}, ["N - M"]), (0, 10)),
    "a symbol of a fact alone":       (("N - M", {**WIDE, "K": (3, 9)}, ["N - M - K"]), (3, 100),
                                       ("N - M", {**WIDE, "K": (5, 9)}, ["N - M - K"]), (5, 100)),
}  # fmt: skip


def asked(question: Asked) -> Interval:
    """The range, asked in a scope of its own."""
    dim, intervals, facts = question
    scope = Scope()
    for name, (lo, hi) in intervals.items():
        scope.declare(name, Interval(lo, hi))
    for fact in facts:
        scope.add_fact(parse_dim(fact))
    return scope.bounds(parse_dim(dim))


@pytest.mark.parametrize("name", PAIRS)
def test_another_question_is_answered_for_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, expected, other, other_expected = PAIRS[name]
    for first, second in ((one, other), (other, one)):
        monkeypatch.setattr(scopes, "_RANGES", {})
        found = {id(question): asked(question) for question in (first, second)}
        assert found[id(one)] == Interval(*expected)
        assert found[id(other)] == Interval(*other_expected)


def test_the_same_question_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "_RANGES", {})
    question: Asked = ("N - M", TENS, ["N - M"])
    first = asked(question)
    count = len(scopes._RANGES)
    assert count > 0
    monkeypatch.setattr(scopes, "range_by_relations", lambda *_: pytest.fail("asked again"))
    assert asked(question) == first
    assert len(scopes._RANGES) == count


def test_no_more_is_remembered_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "_RANGES", {})
    monkeypatch.setattr(scopes, "_RANGES_CAPACITY", 3)
    for number in range(5, 20):
        scope = Scope()
        scope.add_fact(parse_dim(f"N - M - {number}"))
        assert scope.bounds(parse_dim("N - M")).lo == number
        assert len(scopes._RANGES) <= 3
