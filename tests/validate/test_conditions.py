"""Conditions on sizes, held against the dims that they are made of at every small binding that the scope allows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from gather_infer.symbolic import Dim, Expr, Interval, Scope, evaluate, floordiv, free_symbols, maximum, minimum, symbol
from gather_infer.validate.condition import (
    NEVER,
    Condition,
    Elements,
    counterexample,
    difference,
    follows,
    joined,
    minimal,
    nonnegative_conditions,
)

A, B, C = (symbol(name) for name in "ABC")
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 13)

DIMS: dict[str, tuple[Dim, dict[str, tuple[int, int | None]], str]] = {
    # id: (a dim, bounds of its symbols, the condition that it is not negative)
    "a limit": (5 - A, {}, "A <= 5"),
    "a least": (A - 3, {}, "A >= 3"),
    "twice": (7 - 2 * A, {}, "A <= 3"),
    "twice from": (2 * A - 7, {}, "A >= 4"),
    "three terms": (9 - 2 * A - 4 * B, {}, "A + 2*B <= 4"),
    "both sides": (4 * B - 2 * A - 1, {}, "A <= 2*B - 1"),
    "sum at least": (A + B - 4, {}, "A + B >= 4"),
    "always": (A + B, {}, ""),
    "always, declared": (A - 3, {"A": (3, None)}, ""),
    "at the end of what is declared": (A - 3, {"A": (2, None)}, "A >= 3"),
    "never": (-A - 1, {}, "0 >= 1"),
    "never, declared": (A - 3, {"A": (0, 2)}, "0 >= 1"),
    "zero": (0 * A, {}, ""),
    "only 0": (-A, {}, "A <= 0"),
    "a square": (30 - A * A, {}, "A <= 5"),
    "a square from": (A * A - 30, {}, "A >= 6"),
    "a square, exactly": (36 - A * A, {}, "A <= 6"),
    "a square, at the first": (-A * A, {}, "A <= 0"),
    "a square, from the first": (A * A - 1, {}, "A >= 1"),
    "a square from the least declared": (A * A - 10, {"A": (3, None)}, "A >= 4"),
    "a square to the most declared": (A * A - 10, {"A": (0, 4)}, "A >= 4"),
    "a square at a high end": (90 - A * A, {"A": (2, 10)}, "A <= 9"),
    "a quotient": (3 - floordiv(A, 4), {}, "A <= 15"),
    "a quotient from": (floordiv(A, 4) - 3, {}, "A >= 12"),
    "there and back": ((A - 2) * (A - 5), {}, "7*A <= A*A + 10"),
    "least of two": (minimum(A, B) - 2, {}, "A >= 2 and B >= 2"),
    "greatest of two": (4 - maximum(A, B), {}, "A <= 4 and B <= 4"),
    "least of two, twice": (2 * minimum(A, B) - C, {}, "C <= 2*A and C <= 2*B"),
    "less the greatest": (C - 3 * maximum(A, B), {}, "3*A <= C and 3*B <= C"),
    "greatest of two from": (maximum(A, B) - 2, {}, "max(A, B) >= 2"),
    "less the least": (4 - minimum(A, B), {}, "min(A, B) <= 4"),
    "a product with what is positive": ((A + 1) * (B - 3), {}, "B >= 3"),
    "a product with what is positive, turned": ((A - 3) * (B + 1), {}, "A >= 3"),
    "a product with what is negative": (-(A + 1) * (B - 3), {}, "B <= 3"),
    "a product with less than 0": ((A - 9) * (B - 3), {"A": (0, 8)}, "B <= 3"),
    "a product with less than 0, turned": ((A - 3) * (B - 9), {"B": (0, 8)}, "A <= 3"),
    "a product with 0 at most": (A * (B - 3), {}, "A <= 0 or B >= 3"),
    "a product with 0 at most, negated": (-A * (B - 3), {}, "A <= 0 or B <= 3"),
    "a product of two sizes": (6 - A * B, {}, "A*B <= 6"),
    "a product of differences": ((A - 2) * (B - 3), {}, "3*A + 2*B <= A*B + 6"),
    "a product of three": (A * B * C - C, {}, "C <= A*B*C"),
    "a product and another": (A * B - 3 * C, {}, "3*C <= A*B"),
    "a product that is no product": (A * B - 2 * A - B - 1, {}, "2*A + B <= A*B - 1"),
    "two products": (A * B + A * C - 3, {}, "A*B + A*C >= 3"),
    "a product and a product of three": ((A + 1) * (B - 3) + A * B * C, {}, "3*A <= A*B*C + A*B + B - 3"),
    "declared as one size": (A * A - 4, {"A": (2, 2)}, ""),
    "a division by 0": (floordiv(6, A) - 2, {}, "6//A >= 2"),
    "a multiple of a product": (2 * (A + 1) * (3 * B - 4), {}, "B >= 2"),
}


def scope_of(bounds: dict[str, tuple[int, int | None]]) -> Scope:
    scope = Scope()
    for name, (low, high) in bounds.items():
        scope.declare(name, Interval(low, high))
    return scope


def bindings(names: frozenset[str], bounds: dict[str, tuple[int, int | None]]) -> Iterator[dict[str, int]]:
    tried = (*SIZES, *range(14, 20)) if len(names) == 1 else SIZES
    for sizes in itertools.product(tried, repeat=len(names)):
        binding = dict(zip(sorted(names), sizes, strict=True))
        inside = (low <= binding.get(n, low) <= (high or 99) for n, (low, high) in bounds.items())
        if all(inside):
            yield binding


def holds(condition: Condition, sizes: dict[str, int]) -> bool:
    if condition.either:
        return any(holds(each, sizes) for each in condition.either)
    return evaluate(difference(condition), sizes) >= 0


@pytest.mark.parametrize("name", DIMS)
def test_a_condition_says_that_a_dim_is_not_negative(name: str) -> None:
    dim, bounds, text = DIMS[name]
    found = list(nonnegative_conditions(dim, scope_of(bounds)))
    assert " and ".join(map(str, found)) == text
    for sizes in bindings(free_symbols(dim), bounds):
        if name == "a division by 0" and not sizes["A"]:
            continue
        is_met = evaluate(dim, sizes) >= 0
        assert all(holds(c, sizes) for c in found) == is_met, sizes
        assert all(holds(Condition(c.left, c.relation, c.right), sizes) for c in found) == is_met, sizes


def test_conditions_of_dims_drawn() -> None:
    draw = random.Random(3)
    for _ in range(300):
        a, b, c, d, e = (draw.randint(-4, 4) for _ in range(5))
        dim = draw.choice([
            a * A + b * B + c, a * A * B + b * A + c * B + d, (a * A + b) * (c * B + d), (A + e) * (b * B + d) * a,
            a * minimum(A, B + c) + d, a * maximum(A, b * B) + c * A + d, a * A * A + b * A + c,
            a * floordiv(A, 3) + b * B + c,
        ])  # fmt: skip
        bounds: dict[str, tuple[int, int | None]] = draw.choice([{}, {"A": (1, None)}, {"A": (0, 3)}, {"B": (2, 5)}])
        found = list(nonnegative_conditions(dim, scope_of(bounds)))
        for sizes in bindings(frozenset("AB"), bounds):
            assert all(holds(c, sizes) for c in found) == (evaluate(dim, sizes) >= 0), (dim, bounds, sizes)


WITNESSES: dict[str, tuple[Dim, dict[str, tuple[int, int | None]], dict[str, int]]] = {
    # id: (a dim, bounds of its symbols, sizes that make it negative, one of them only just)
    "past the end": (5 - A, {}, {"A": 6}),
    "before the first": (A - 3, {}, {"A": 2}),
    "before the first, far away": (A - 100, {}, {"A": 99}),
    "past the end, far away": (100 - A, {}, {"A": 101}),
    "in steps": (9 - 2 * A, {}, {"A": 5}),
    "in steps, exactly": (10 - 2 * A, {}, {"A": 6}),
    "before, in steps": (2 * A - 9, {}, {"A": 4}),
    "before, in steps, exactly": (2 * A - 10, {}, {"A": 4}),
    "the others are 1": (9 - A - B, {}, {"A": 9, "B": 1}),
    "the others are as small as declared": (9 - A - B, {"B": (3, None)}, {"A": 7, "B": 3}),
    "the others are 0 where that is all": (9 - A - B, {"B": (0, 0)}, {"A": 10, "B": 0}),
    "the others may be 1": (9 - A - B, {"B": (0, 1)}, {"A": 9, "B": 1}),
    "not where it is forbidden": (9 - A - B, {"A": (0, 4)}, {"A": 1, "B": 9}),
    "at the end of what is allowed": (9 - A - B, {"A": (0, 9)}, {"A": 9, "B": 1}),
    "at the start of what is allowed": (A + B - 5, {"A": (3, None)}, {"A": 3, "B": 1}),
    "none below": (A - 3, {"A": (3, None)}, {}),
    "none": (9 - A, {"A": (0, 9)}, {}),
    "one is left": (9 - A, {"A": (0, 10)}, {"A": 10}),
    "a square": (30 - A * A, {}, {"A": 6}),
    "a square from": (A * A - 30, {}, {"A": 5}),
    "a remainder": (4 - (A - 7 * floordiv(A, 7)), {}, {"A": 5}),
    "between two": ((A - 2) * (A - 6), {}, {"A": 3}),
    "in the middle alone": ((A - 2) * (A - 4), {}, {"A": 3}),
    "far away": (A * A - 62 * A - 1, {"A": (1, None)}, {"A": 62}),
    "too far away": (floordiv(63, A + 1), {}, {}),
    "a division by 0": (4 - floordiv(9, A), {}, {"A": 1}),
    "a division by another that is 0": (4 - floordiv(B, A), {"A": (0, 0)}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", WITNESSES)
def test_a_counterexample_breaks_a_condition_only_just(name: str) -> None:
    dim, bounds, expected = WITNESSES[name]
    scope = scope_of(bounds)
    found = {n: evaluate(size, {}) for n, size in counterexample([Condition(dim, ">=", 0)], scope)}
    assert found == expected
    if found:
        assert evaluate(dim, found) < 0
        assert any(
            evaluate(dim, {**found, n: size + step}) >= 0
            for n, size in found.items()
            for step in (-1, 1)
            if size + step
        )


def test_a_counterexample_satisfies_known_relations_of_sizes() -> None:
    scope = Scope()
    scope.add_fact(B - A)
    assert dict(counterexample([Condition(A, "<=", 5)], scope)) == {"A": 6}
    assert dict(counterexample([Condition(A + B, "<=", 9)], scope)) == {"B": 9, "A": 1}
    scope.add_fact(C - 3 * B)
    assert dict(counterexample([Condition(B + C, "<=", 9)], scope)) == {"C": 9, "B": 1}


def test_a_counterexample_is_past_the_end_rather_than_before_0() -> None:
    ids = Elements("ids")
    both = [Condition(ids, ">=", -9), Condition(ids, "<", A)]
    for conditions in (both, both[::-1]):
        assert counterexample(conditions, Scope()) == (("ids", A),)
    assert counterexample(both[:1], Scope()) == (("ids", -10),)
    assert counterexample([Condition(A, ">=", 3), Condition(B, "<=", 3)], Scope()) == (("B", 4),)
    assert counterexample([NEVER], Scope()) == ()
    assert counterexample([], Scope()) == ()


def test_conditions_in_one_line() -> None:
    ids, more = Elements("ids"), Elements("more", 1)
    low, high = Condition(ids, ">=", -9), Condition(ids, "<", 9)
    assert joined([low, high]) == joined([high, low]) == "-9 <= ids < 9"
    assert joined([low, Condition(more, "<", 9)]) == "ids >= -9 and more[..., 1] < 9"
    assert joined([low, Condition(A, "<=", 2), high]) == "-9 <= ids < 9 and A <= 2"
    assert joined([Condition(A, ">=", 1), Condition(A, "<", 2)]) == "A >= 1 and A < 2"
    assert joined([low, Condition(ids, ">=", -8)]) == "ids >= -9 and ids >= -8"
    either = Condition(A, "<=", B, either=(Condition(A, "<=", 0), Condition(B, ">=", 3)))
    assert joined([either]) == "A <= 0 or B >= 3"
    assert joined([either, high]) == "(A <= 0 or B >= 3) and ids < 9"


def test_what_follows_from_other_conditions_is_left_out_and_nothing_else() -> None:
    """The remaining conditions are equivalent at every binding, and none follows from the others."""
    draw = random.Random(5)
    for _ in range(60):
        given = [
            Condition(
                *draw.choice([(A, "<="), (B, "<="), (A + B, "<="), (A, ">="), (2 * A, "<"), (A, "<")]),
                draw.randint(0, 9),
                draw.random() < 0.7,
            )
            for _ in range(draw.randint(1, 4))
        ]
        left = minimal(given, Scope())
        assert set(left) <= set(given)
        for sizes in bindings(frozenset("AB"), {}):
            assert all(holds(c, sizes) for c in left) == all(holds(c, sizes) for c in given)
            tight = [c for c in given if c.tight]
            assert all(holds(c, sizes) for c in left if c.tight) == all(holds(c, sizes) for c in tight)
        for condition in left:
            assert not follows(
                condition, [c for c in left if c is not condition and c.tight >= condition.tight], Scope()
            )


ids, other, whole, column = Elements("ids"), Elements("other"), Elements("ids", whole=False), Elements("ids", 0)
FOLLOWS: dict[str, tuple[Condition, Condition, bool]] = {
    # id: (a condition, what it is said to follow from, whether it does)
    "the same": (Condition(ids, "<", 9), Condition(ids, "<", 9), True),
    "less": (Condition(ids, "<", 9), Condition(ids, "<", 8), True),
    "more": (Condition(ids, "<", 9), Condition(ids, "<", 10), False),
    "from": (Condition(ids, ">=", 0), Condition(ids, ">=", 0), True),
    "from more": (Condition(ids, ">=", 0), Condition(ids, ">=", 1), True),
    "from less": (Condition(ids, ">=", 0), Condition(ids, ">=", -1), False),
    "another input": (Condition(ids, "<", 9), Condition(other, "<", 9), False),
    "the other end": (Condition(ids, "<", 9), Condition(ids, ">=", 9), False),
    "of some": (Condition(whole, "<", 9), Condition(ids, "<", 9), True),
    "of all from some": (Condition(ids, "<", 9), Condition(whole, "<", 9), False),
    "of some from some": (Condition(whole, "<", 9), Condition(whole, "<", 9), True),
    "of a column": (Condition(column, "<", 9), Condition(ids, "<", 9), True),
    "of all from a column": (Condition(ids, "<", 9), Condition(column, "<", 9), False),
    "of a column from another": (Condition(column, "<", 9), Condition(Elements("ids", 1), "<", 9), False),
    "to a size": (Condition(ids, "<", A + 1), Condition(ids, "<", A), True),
    "to another size": (Condition(ids, "<", A), Condition(ids, "<", B), False),
    "elements from a size": (Condition(ids, "<", 9), Condition(A, "<", 9), False),
    "a size from elements": (Condition(A, "<", 9), Condition(ids, "<", 9), False),
    "a size": (Condition(A, "<", 9), Condition(A, "<=", 8), True),
    "a size by one": (Condition(A, "<", 9), Condition(A, "<=", 9), False),
    "a size from": (Condition(A, ">=", 2), Condition(A, ">=", 2), True),
    "a sum": (Condition(A, "<=", 9), Condition(A + B, "<=", 9), True),
    "of a sum": (Condition(A + B, "<=", 9), Condition(A, "<=", 9), False),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows(name: str) -> None:
    condition, from_, expected = FOLLOWS[name]
    assert follows(condition, [from_], Scope()) is expected


def test_the_dim_of_a_condition() -> None:
    for relation in ("<", "<=", ">="):
        dim = difference(Condition(A, relation, B))
        assert isinstance(dim, Expr)
        for a, b in itertools.product(range(4), repeat=2):
            assert (evaluate(dim, {"A": a, "B": b}) >= 0) == {"<": a < b, "<=": a <= b, ">=": a >= b}[relation]
