"""Claims on sizes, said in few words: what is left of them says the same at every small binding."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import pytest

from gather_infer.contract import Relation
from gather_infer.symbolic import Scope, floordiv, maximum, minimum, symbol, total
from gather_infer.validate.minimal_constraints import (
    SizeConstraint,
    _split,
    merged_constraints,
    minimal_constraint_set,
    only_excludes_empty,
    scope_with,
)

A, B, C = (symbol(name) for name in "ABC")
SIZES = (0, 1, 2, 3, 4, 7)


def claim(
    *relations: tuple[object, str, object], tight: bool = True, node: str = "n", reason: str = ""
) -> SizeConstraint:
    return SizeConstraint(tuple(Relation(*r) for r in relations), tight, (node,), reason)  # type: ignore[arg-type] # relations are tuples in the tables


def met(claims: Iterable[SizeConstraint], sizes: dict[str, int]) -> bool:
    return all(any(r.holds(sizes) for r in each.relations) for each in claims)


def bindings() -> Iterable[dict[str, int]]:
    return (dict(zip("ABC", sizes, strict=True)) for sizes in itertools.product(SIZES, repeat=3))


def test_those_that_say_the_same_are_one() -> None:
    """Of two with nodes that fail, or of two with nodes that need not, the nodes of both are named; else who fails."""
    tight, more = claim((A, "<=", 4), node="t"), claim((A, "<=", 4), node="u", reason="why")
    loose, less = claim((A, "<=", 4), tight=False, node="l"), claim((4, ">=", A), tight=False, node="m")
    assert merged_constraints([tight, more]) == [SizeConstraint(tight.relations, True, ("t", "u"), "why")]
    assert merged_constraints([more, tight])[0].nodes == ("u", "t")
    assert merged_constraints([more, claim((A, "<=", 4), node="v", reason="other")])[0].reason == "why"
    for given in ([tight, loose], [loose, tight]):
        assert merged_constraints(given) == [tight]
    assert [(c.nodes, c.tight) for c in merged_constraints([loose, less])] == [(("l", "m"), False)]
    assert [(c.nodes, c.tight) for c in merged_constraints([loose, tight, less, more])] == [(("t", "u"), True)]
    assert merged_constraints([tight, tight]) == [tight]


SAME = {
    # id: (a relation, another, whether they say the same)
    "turned": ((A, "<=", B), (B, ">=", A), True),
    "moved": ((A, "<=", B + 1), (A - 1, "<=", B), True),
    "equal, turned": ((A, "==", B), (B, "==", A), True),
    "equal, in parts": ((A + C, "==", B + C), (A, "==", B), True),
    "equal and at most": ((A, "==", B), (A, "<=", B), False),
    "the other way": ((A, "<=", B), (A, ">=", B), False),
    "by one": ((A, "<=", B), (A, "<=", B + 1), False),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_what_says_the_same(name: str) -> None:
    one, other, is_same = SAME[name]
    pair = [claim(one), claim(other)]
    assert (len(merged_constraints(pair)) == 1) is is_same
    for sizes in bindings():
        assert not is_same or met(pair[:1], sizes) == met(pair[1:], sizes)


def test_what_is_left_of_claims_says_the_same() -> None:
    """Of those that are tight as well: what fails where one of them does not hold is still told by tight ones alone."""
    draw = random.Random(11)
    dims = [A, B, C, A + B, 2 * A, minimum(A, B), maximum(B, C), A * B, A + 1]
    for _ in range(150):
        scope = Scope()
        for name in "ABC":
            if draw.random() < 0.2:
                scope.add_fact(symbol(name) - 1)
        given = []
        for _ in range(draw.randint(1, 4)):
            relations = [
                (draw.choice(dims), draw.choice(["<=", ">=", "=="]), draw.choice([0, 1, 2, 3, A, B, C]))
                for _ in range(draw.choice([1, 1, 2]))
            ]
            given.append(claim(*relations, tight=draw.random() < 0.7))
        left = minimal_constraint_set(given, scope)
        assert len(left) <= len(given)
        for sizes in bindings():
            if any(scope.symbol_bounds(name).lo == 1 and sizes[name] == 0 for name in "ABC"):
                continue
            assert met(left, sizes) == met(given, sizes), (given, left, sizes)
            tight = [c for c in given if c.tight]
            assert met([c for c in left if c.tight], sizes) == met(tight, sizes), (given, left, sizes)


LEFT = {
    # id: (claims, which are left)
    "a lesser limit": ([claim((A, "<=", 4)), claim((A, "<=", 5))], "A <= 4"),
    "a sum": ([claim((A + B, "<=", 4)), claim((A, "<=", 5))], "A + B <= 4"),
    "a chain": ([claim((A, "<=", B)), claim((B, "<=", C)), claim((A, "<=", C))], "A <= B; B <= C"),
    "always": ([claim((A, ">=", 0)), claim((A, "<=", 5))], "A <= 5"),
    "one of two always": ([claim((A, ">=", 0), (B, ">=", 3))], ""),
    "one of two never": ([claim((A, "<=", -1), (B, ">=", 3))], "B >= 3"),
    "both never": ([claim((A, "<=", -1), (B, "<=", -2))], "A <= -1 or B <= -2"),
    "one of two because of another": ([claim((A, ">=", 2)), claim((A, "<=", 1), (B, ">=", 3))], "A >= 2; B >= 3"),
    "one of two by another": ([claim((A, ">=", 2)), claim((A, ">=", 1), (B, ">=", 3))], "A >= 2"),
    "by cases": ([claim((B, "==", 1), (B, "==", 3)), claim((B, "<=", 3))], "B == 1 or B == 3"),
    "not in each case": ([claim((B, "==", 1), (B, "==", 4)), claim((B, "<=", 3))], "B == 1"),
    "not by what is not tight": ([claim((A, "<=", 4), tight=False), claim((A, "<=", 5))], "A <= 4; A <= 5"),
    "what is not tight": ([claim((A, "<=", 4)), claim((A, "<=", 5), tight=False)], "A <= 4"),
    "both not tight": ([claim((A, "<=", 4), tight=False), claim((A, "<=", 5), tight=False)], "A <= 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left(name: str) -> None:
    given, text = LEFT[name]
    left = minimal_constraint_set(given, Scope())
    assert "; ".join(map(str, left)) == text
    for sizes in bindings():
        assert met(left, sizes) == met(given, sizes), sizes


SPLIT = {
    # id: (a claim, what it says in the words of a person, and where A >= 1)
    "a product": ((A * B, ">=", 1), "A >= 1; B >= 1", "A >= 1; B >= 1"),
    "a product of three": ((A * B * C, ">=", 1), "A >= 1; B >= 1; C >= 1", "A >= 1; B >= 1; C >= 1"),
    "a square": ((A * A, ">=", 1), "A >= 1", ""),
    "a multiple of a product": ((2 * A * B, ">=", 2), "A >= 1; B >= 1", "A >= 1; B >= 1"),
    "half of a product": ((2 * A * B, ">=", 1), "A >= 1; B >= 1", "A >= 1; B >= 1"),
    "a product from the right": ((1, "<=", A * B), "A >= 1; B >= 1", "A >= 1; B >= 1"),
    "a product with a quotient": ((floordiv(A, 2) * B, ">=", 1), "B >= 1; A >= 2", "B >= 1; A >= 2"),
    "a product with a minimum": ((minimum(A, 3) * B, ">=", 1), "B >= 1; min(3, A) >= 1", "B >= 1; min(3, A) >= 1"),
    "a product of what may be negative": (
        (floordiv(A - B, 2) * floordiv(B - C, 3), ">=", 1),
        "((A - B)//2)*((B - C)//3) >= 1",
        "((A - B)//2)*((B - C)//3) >= 1",
    ),
    "a product of two": ((A * B, ">=", 2), "A*B >= 2", "A*B >= 2"),
    "a multiple of a product of two": ((3 * A * B, ">=", 4), "A*B >= 2", "A*B >= 2"),
    "a product at most": ((A * B, "<=", 4), "A*B <= 4", "A*B <= 4"),
    "an equal product": ((A * B, "==", 4), "A*B == 4", "A*B == 4"),
    "a multiple": ((3 * A, ">=", 4), "A >= 2", "A >= 2"),
    "a sum": ((A + B, ">=", 1), "A + B >= 1", ""),
    "a sum of products": ((A * B + A, ">=", 1), "A*B + A >= 1", ""),
    "a minimum": ((minimum(A, B), ">=", 3), "A >= 3; B >= 3", "A >= 3; B >= 3"),
    "a maximum": ((maximum(A, B), "<=", 3), "A <= 3; B <= 3", "A <= 3; B <= 3"),
    "always": ((A, ">=", 0), "", ""),
    "never": ((A, "<=", -1), "A <= -1", "A <= -1"),
    "one of two factors": (((A - 2) * B, ">=", 0), "B <= 0 or A >= 2", "B <= 0 or A >= 2"),
    "one of two factors, if known": (((A - 1) * (B - 1), ">=", 0), "A + B <= A*B + 1", "A <= 1 or B >= 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLIT)
def test_a_claim_in_the_words_of_a_person(name: str) -> None:
    relation, *texts = SPLIT[name]
    for scope, text, least in zip((Scope(), scope_with(Scope(), [claim((A, ">=", 1))])), texts, (0, 1), strict=True):
        found = list(_split(claim(relation, node="m", reason="why"), scope))
        assert "; ".join(map(str, found)) == text
        assert all((c.nodes, c.reason, c.tight) == (("m",), "why", True) for c in found)
        for sizes in bindings():
            assert sizes["A"] < least or met(found, sizes) == met([claim(relation)], sizes), sizes


def test_claims_of_two_relations_and_those_that_grow_too_large_stay() -> None:
    two = claim((A * B, ">=", 1), (C, ">=", 2))
    assert list(_split(two, Scope())) == [two]
    left, right = (total(symbol(f"{letter}{i}") for i in range(400)) for letter in "st")
    large = claim((left, ">=", right))
    assert list(_split(large, Scope())) == [large]


@pytest.mark.parametrize(("limit", "left"), [(9, 1), (8, 3)])
def test_how_many_claims_are_held_against_each_other(limit: int, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gather_infer.validate.minimal_constraints.MAX_PROOFS", limit)
    assert len(minimal_constraint_set([claim((A, "<=", n)) for n in (4, 5, 6)], Scope())) == left


def test_what_is_known_of_a_relation() -> None:
    scope = scope_with(Scope(), [claim((A, "==", 2)), claim((B, ">=", 3)), claim((C, "<=", 1), (C, ">=", 9))])
    assert (
        Relation(A, "==", 2).known(scope)
        is Relation(A, "<=", 2).known(scope)
        is Relation(B, ">=", 3).known(scope)
        is True
    )
    assert (
        Relation(A, "==", 3).known(scope)
        is Relation(B, "<=", 2).known(scope)
        is Relation(A, ">=", 3).known(scope)
        is False
    )
    assert (
        Relation(B, "==", 3).known(scope)
        is Relation(B, ">=", 4).known(scope)
        is Relation(C, "<=", 1).known(scope)
        is None
    )


def test_what_only_says_that_dims_are_not_0() -> None:
    for relation, expected in (
        ((A, ">=", 1), True), ((A * B, ">=", 1), True), ((A + B, ">=", 1), True), ((A, ">=", 2), False),
        ((A, "<=", 1), False), ((A, "==", 1), False), ((A - B, ">=", 1), False), ((A + 1, ">=", 1), False),
        ((1, ">=", 1), False),
    ):  # fmt: skip
        assert only_excludes_empty(claim(relation)) is expected, relation
    assert not only_excludes_empty(claim((A, ">=", 1), (B, ">=", 1)))
