"""Broadcasting of symbolic dims: every answer holds in every legal run."""

# ruff: noqa: E501

from __future__ import annotations

import itertools

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.broadcast import broadcast
from gather_infer.rules import OpCall
from gather_infer.symbolic import Dim, Expr, evaluate, floordiv, free_symbols, maximum, minimum, symbol
from gather_infer.tensor import Shape, format_shape

A, B, C, P, S = map(symbol, "ABCPS")

CASES = {
    # id:                              (shapes,                              result,             constraints)
    "equal":                           ([(2, 3), (2, 3)],                    (2, 3),             []),
    "scalar":                          ([(), (2, A)],                        (2, A),             []),
    "ranks differ":                    ([(3,), (2, 1)],                      (2, 3),             []),
    "one in both":                     ([(3, 1), (1, 4)],                    (3, 4),             []),
    "zero and one":                    ([(0,), (1,)],                        (0,),               []),
    "zero and zero":                   ([(0,), (0,)],                        (0,),               []),
    "unranked":                        ([None, (2,)],                        None,               []),
    "the same symbol":                 ([(A, B), (A, B)],                    (A, B),             []),
    "symbol and one":                  ([(A,), (1,)],                        (A,),               []),
    "symbol and number":               ([(A,), (4,)],                        (4,),               ["A <= 4"]),
    "symbol and zero":                 ([(A,), (0,)],                        (0,),               ["A <= 1"]),
    "both at least 2":                 ([(A + 2,), (B + 2,)],                (A + 2,),           ["B == A"]),
    "one at least 2":                  ([(A,), (B + 2,)],                    (B + 2,),           ["A <= B + 2"]),
    "both at least 1":                 ([(A + 1,), (B + 1,)],                (maximum(A, B) + 1,), []),
    "limited to a table":              ([(A,), (minimum(A, 512),)],          (A,),               ["A <= 512"]),
    "limited to a table, reversed":    ([(minimum(A, 512),), (A,)],          (A,),               ["A <= 512"]),
    "limited sum":                     ([(P + S,), (minimum(P + S, 9),)],    (P + S,),           ["P + S <= 9"]),
    "limited to 1":                    ([(A,), (minimum(A, 1),)],            (A,),               []),
    "at least 1 of itself":            ([(A,), (maximum(A, 1),)],            (A,),               []),
    "three, number last":              ([(A,), (B,), (5,)],                  (5,),               ["A <= 5", "B <= 5"]),
}  # fmt: skip


@pytest.mark.parametrize("shapes, result, constraints", CASES.values(), ids=CASES)
def test_broadcast(shapes: list[Shape | None], result: Shape | None, constraints: list[str]) -> None:
    op = OpCall("Add", [])
    assert broadcast(op, *shapes) == result
    assert sorted(map(str, op.context.constraints)) == constraints


VIOLATIONS = {
    "numbers differ":           ([(2, 3), (4,)],       "shapes [2, 3] and [4] do not broadcast: dim 3 and dim 4 at axis -1"),
    "zero and two":             ([(0,), (2,)],         "shapes [0] and [2] do not broadcast: dim 0 and dim 2 at axis -1"),
    "unequal, both at least 2": ([(A + 2,), (A + 3,)], "shapes [A + 2] and [A + 3] do not broadcast: "
                                                       "dim A + 2 and dim A + 3 at axis -1"),
    "third differs":            ([(2,), (A,), (3,)],   "shapes [2] and [A] and [3] do not broadcast: dim 2 and dim 3 at axis -1"),
}  # fmt: skip


@pytest.mark.parametrize("shapes, message", VIOLATIONS.values(), ids=VIOLATIONS)
def test_shapes_that_never_broadcast(shapes: list[Shape], message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        broadcast(OpCall("Add", []), *shapes)
    assert (raised.value.message, raised.value.code) == (message, "GI212")


def test_a_dim_that_is_not_defined_where_the_other_is_0() -> None:
    op = OpCall("Add", [])
    assert broadcast(op, (A,), (floordiv(minimum(A, 63) * minimum(A, 63), A),)) == (A,)  # 1 where A is 1
    (dim,) = broadcast(op, (A,), (floordiv(B, A),)) or ()
    assert free_symbols(dim) <= op.context.causes.keys()


def test_the_same_question_gives_the_same_symbol() -> None:
    context = Context()
    first = broadcast(OpCall("Add", [], context=context), (A,), (B,))
    again = broadcast(OpCall("Mul", [], context=context), (B,), (A,))
    other = broadcast(OpCall("Mul", [], context=context), (C,), (A,))
    assert first == again != other


def test_facts_tell_which_dim_is_one() -> None:
    """Of at most 2*A elements one was found, so that A is not 0 and min(1, A) is 1."""
    op = OpCall("Expand", [])
    op.add_implied_fact(2 * A - B)
    assert broadcast(op, (B,), (minimum(1, A),)) == (B,)
    assert broadcast(op, (minimum(1, A),), (B,)) == (B,)
    assert op.context.constraints == []
    (other,) = broadcast(op, (C,), (minimum(1, A),)) or ()
    assert str(other) == "broadcast_0"


def test_a_broadcast_symbol_absorbs_its_operands() -> None:
    op = OpCall("Add", [])
    first = broadcast(op, (A,), (B,))
    assert broadcast(op, first, (A,)) == broadcast(op, (B,), first) == first


def test_broadcasting_is_associative() -> None:
    op = OpCall("Add", [])
    first = broadcast(op, (A,), (B,))
    assert first is not None
    (result,) = broadcast(op, first, (C,)) or ()
    assert isinstance(result, Expr)
    assert (result,) == broadcast(op, (A,), broadcast(op, (C,), (B,))) == broadcast(op, (result,), first)
    equals = op.context.causes[result.name].equals
    assert equals is not None
    for sizes in itertools.product(range(4), repeat=3):
        others = set(sizes) - {1}
        if len(others) < 2:
            assert evaluate(equals, dict(zip("ABC", sizes, strict=True))) == max(others, default=1), sizes


DIMS: list[Dim] = [
    0, 1, 2, 3, A, B, A + 1, B + 1, A + 2, 2 * A, A + B, minimum(A, 2), minimum(A, B), minimum(A, 1), maximum(A, 1),
    maximum(A, B), minimum(A + B, 3), minimum(A + B, 3) - minimum(A, 3), A * B, A // 2, A // 2 + 1,
]  # fmt: skip


@pytest.mark.parametrize("a", DIMS, ids=str)
def test_the_result_holds_in_every_legal_run(a: Dim) -> None:
    for b in DIMS:
        op = OpCall("Add", [])
        runs = [
            (x, y, at)
            for n, m in itertools.product(range(5), repeat=2)
            for at in [{"A": n, "B": m}]
            for x, y in [(evaluate(a, at), evaluate(b, at))]
            if x == y or 1 in (x, y)
        ]
        try:
            (result,) = broadcast(op, (a,), (b,)) or ()
        except SpecViolation:
            assert not runs, f"{format_shape((a,))} and {format_shape((b,))} do broadcast"
            continue
        for x, y, at in runs:
            if isinstance(result, Expr) and result.is_symbol and result.name in op.context.causes:
                equals = op.context.causes[result.name].equals
                assert equals is not None
                assert evaluate(equals, at) == (x if y == 1 else y), f"{a} with {b} is {equals} at {at}"
            if not free_symbols(result) - at.keys():
                assert evaluate(result, at) == (x if y == 1 else y), f"{a} with {b} is {result} at {at}"
            for constraint in op.context.constraints:
                if free_symbols(constraint.left) | free_symbols(constraint.right) <= at.keys():
                    left, right = evaluate(constraint.left, at), evaluate(constraint.right, at)
                    assert left == right if constraint.relation == "==" else left <= right, f"{constraint} at {at}"
            for fact in op.scope.facts:
                assert evaluate(fact, at) >= 0
            assert all(value in op.scope.bounds(symbol(name)) for name, value in at.items())
