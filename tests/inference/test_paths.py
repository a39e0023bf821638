"""Facts of a value on two paths, and outside a body, compared with every value on either path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from gather_infer.context import Context
from gather_infer.inference.bodies.predicates import COMPARISONS, CONNECTIVES, select_by_predicate
from gather_infer.inference.join import contradiction, join, project_out, symbols_of
from gather_infer.symbolic import Dim, Expr, Scope, evaluate, floordiv, maximum, minimum, symbol
from gather_infer.tensor import (
    DType,
    MapType,
    OptionalType,
    Ratio,
    SequenceType,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    make_values,
)

F, INT, S = DType.FLOAT32, DType.INT64, DType.STRING
A, B, L = (symbol(name) for name in "ABL")
NEW = symbol("new")


def tensor(*shape: Dim, dtype: DType | None = F) -> SymbolicTensor:
    return SymbolicTensor(dtype, shape)


def ints(*elements: Dim | None) -> SymbolicTensor:
    return SymbolicTensor(INT, (len(elements),), make_values(list(elements)))


X, Y = tensor(A, 2), tensor(A, 3)
JOINED: dict[str, tuple[Value, Value, Value]] = {
    # id: (on one path, on the other, what holds on both)
    "kinds": (X, SequenceType(X), SymbolicTensor()),
    "element types": (tensor(A), tensor(A, dtype=INT), SymbolicTensor(None, (A,))),
    "one size": (X, Y, tensor(A, NEW)),
    "ranks": (X, tensor(A), SymbolicTensor(F)),
    "no shape": (X, SymbolicTensor(F), SymbolicTensor(F)),
    "sparse": (SparseTensor(F, (A, 2)), SparseTensor(F, (A, 3)), SparseTensor(F, (A, NEW))),
    "sparse of two types": (SparseTensor(F, (A,)), SparseTensor(INT, (A,)), SparseTensor(None, (A,))),
    "sparse and dense": (SparseTensor(F, (A,)), tensor(A), SymbolicTensor()),
    "sequences": (SequenceType(X, 2), SequenceType(Y, 2), SequenceType(tensor(A, NEW), 2)),
    "lengths": (SequenceType(X, 2), SequenceType(X, 3), SequenceType(X)),
    "one length": (SequenceType(X, 2), SequenceType(X), SequenceType(X)),
    "symbolic lengths": (SequenceType(X, A), SequenceType(X, A), SequenceType(X, A)),
    "an empty sequence": (SequenceType(None, 0), SequenceType(X, 1), SequenceType(X)),
    "an empty sequence, turned": (SequenceType(X, 1), SequenceType(None, 0), SequenceType(X)),
    "a sequence of one of nobody knows what": (SequenceType(X, 1), SequenceType(None, 1), SequenceType(None, 1)),
    "a sequence of nobody knows what": (SequenceType(None, 1), SequenceType(X, 1), SequenceType(None, 1)),
    "empty, of a type": (SequenceType(Y, 0), SequenceType(X, 1), SequenceType(tensor(A, NEW))),
    "optionals": (OptionalType(X, True), OptionalType(Y, True), OptionalType(tensor(A, NEW), True)),
    "there and not": (OptionalType(X, True), OptionalType(X, False), OptionalType(X)),
    "not there": (OptionalType(None, False), OptionalType(X, True), OptionalType(X)),
    "not there, turned": (OptionalType(X, True), OptionalType(None, False), OptionalType(X)),
    "there, of nobody knows what": (OptionalType(None, True), OptionalType(X, True), OptionalType(None, True)),
    "there, of nobody knows what, turned": (OptionalType(X, True), OptionalType(None, True), OptionalType(None, True)),
    "maps": (MapType(INT, X), MapType(INT, Y), MapType(INT, tensor(A, NEW))),
    "keys": (MapType(INT, X), MapType(S, X), MapType(None, X)),
    "a map to nobody knows what": (MapType(INT, X), MapType(INT, None), MapType(INT, None)),
    "a map of nobody knows what": (MapType(INT, None), MapType(INT, X), MapType(INT, None)),
    "elements": (ints(1, 2), ints(1, 3), SymbolicTensor(INT, (2,), make_values([1, None]), ValueRange(1, 3))),
    "no element": (ints(1), ints(2), SymbolicTensor(INT, (1,), None, ValueRange(1, 2))),
    "the same": (ints(A, 2), ints(A, 2), SymbolicTensor(INT, (2,), make_values([A, 2]), ValueRange(minimum(2, A), maximum(2, A)))),
    "elements of two numbers": (ints(1, 2), ints(1), SymbolicTensor(INT, (NEW,), None, ValueRange(1, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_what_holds_on_both_paths(name: str) -> None:
    one, other, both = JOINED[name]
    assert join(one, other, lambda: NEW) == both


TOLD: dict[str, tuple[Value, Value, bool]] = {
    # id: (declared, inferred, whether no run has both)
    "the same": (X, X, False),
    "a size": (X, Y, True),
    "a size that may be": (tensor(5, 2), X, False),
    "a name": (tensor(B, 2), X, False),
    "one more": (tensor(A + 1, 2), X, True),
    "one more of another": (tensor(B + 1, 2), X, False),
    "a rank": (tensor(A), X, True),
    "no shape": (SymbolicTensor(F), X, False),
    "no shape inferred": (X, SymbolicTensor(F), False),
    "an element type": (tensor(A, 2, dtype=INT), X, True),
    "no element type": (tensor(A, 2, dtype=None), X, False),
    "no element type inferred": (X, tensor(A, 2, dtype=None), False),
    "nothing inferred": (SequenceType(X), SymbolicTensor(), False),
    "a kind": (SequenceType(X), X, True),
    "sparse": (SparseTensor(F, (2,)), SparseTensor(F, (3,)), True),
    "sparse of a type": (SparseTensor(F, (2,)), SparseTensor(INT, (2,)), True),
    "sparse, the same": (SparseTensor(F, (2,)), SparseTensor(F, (2,)), False),
    "sequences": (SequenceType(X), SequenceType(Y), True),
    "sequences, the same": (SequenceType(X), SequenceType(X), False),
    "sequences of nothing declared": (SequenceType(None), SequenceType(Y), False),
    "sequences of nothing inferred": (SequenceType(X), SequenceType(None), False),
    "optionals": (OptionalType(X), OptionalType(Y), True),
    "optionals, the same": (OptionalType(X), OptionalType(X), False),
    "maps": (MapType(INT, X), MapType(INT, Y), True),
    "keys": (MapType(INT, X), MapType(S, X), True),
    "maps, the same": (MapType(INT, X), MapType(INT, X), False),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_contradicts(name: str) -> None:
    declared, inferred, expected = TOLD[name]
    assert contradiction(declared, inferred, Scope()) is expected


OUTSIDE: dict[str, tuple[Value, Value, set[str]]] = {
    # id: (in the body, outside, the symbols of what is in the body)
    "nothing of the body": (tensor(A, 2), tensor(A, 2), {"A"}),
    "a size": (tensor(L, A), tensor(NEW, A), {"A", "L"}),
    "a sum": (tensor(L + A), tensor(NEW), {"A", "L"}),
    "no shape": (SymbolicTensor(F), SymbolicTensor(F), set()),
    "elements": (ints(L, A), ints(None, A), {"A", "L"}),
    "all elements": (ints(L, L), SymbolicTensor(INT, (2,)), {"L"}),
    "elements of others": (ints(B, None), ints(B, None), {"B"}),
    "a span": (SymbolicTensor(INT, (2,), None, ValueRange(L, A)), SymbolicTensor(INT, (2,), None, ValueRange(None, A)), {"A", "L"}),
    "a span to": (SymbolicTensor(INT, (2,), None, ValueRange(A, L)), SymbolicTensor(INT, (2,), None, ValueRange(A, None)), {"A", "L"}),
    "an open span": (SymbolicTensor(INT, (), None, ValueRange(None, A)), SymbolicTensor(INT, (), None, ValueRange(None, A)), {"A"}),
    "a quotient": (
        SymbolicTensor(F, (2,), make_values([Ratio(L, 3), Ratio(A, 3)])),
        SymbolicTensor(F, (2,), make_values([None, Ratio(A, 3)])),
        {"A", "L"},
    ),
    "sparse": (SparseTensor(F, (L, A)), SparseTensor(F, (NEW, A)), {"A", "L"}),
    "sparse without a shape": (SparseTensor(F), SparseTensor(F), set()),
    "a sequence": (SequenceType(tensor(L), B), SequenceType(tensor(NEW), B), {"B", "L"}),
    "a length": (SequenceType(tensor(A), L), SequenceType(tensor(A)), {"A", "L"}),
    "a sequence of nobody knows what": (SequenceType(None, 3), SequenceType(None, 3), set()),
    "an optional": (OptionalType(tensor(L), True), OptionalType(tensor(NEW), True), {"L"}),
    "an optional of nobody knows what": (OptionalType(None, False), OptionalType(None, False), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_leaves_a_body(name: str) -> None:
    inside, outside, symbols = OUTSIDE[name]
    assert symbols_of(inside) == symbols
    assert project_out(inside, {"L"}, lambda: NEW) == outside
    assert "L" not in symbols_of(outside)


def test_a_map_has_the_symbols_of_its_values() -> None:
    assert symbols_of(MapType(INT, tensor(A))) == {"A"}
    assert symbols_of(None) == set()


# conditions


def pairs() -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(-3, 4) for b in range(-3, 4))


@pytest.mark.parametrize(
    ("op", "holds"),
    [("Less", int.__lt__), ("LessOrEqual", int.__le__), ("Greater", int.__gt__), ("GreaterOrEqual", int.__ge__), ("Equal", int.__eq__)],
)  # fmt: skip
def test_a_comparison_is_a_dim_that_is_negative_where_it_holds(op: str, holds: object) -> None:
    assert callable(holds)
    for a, b in pairs():
        found = COMPARISONS[op](a, b)
        assert isinstance(found, int) and (found < 0) is holds(a, b)


def test_connectives_are_those_of_bools() -> None:
    for a, b in pairs():
        found = {op: CONNECTIVES[op](a, b) for op in ("And", "Or")}
        assert ((found["And"] < 0), (found["Or"] < 0)) == (a < 0 and b < 0, a < 0 or b < 0)
        assert (CONNECTIVES["Not"](a) < 0) == (a >= 0)
        assert all((CONNECTIVES[op](a) < 0) == (a < 0) for op in ("Identity", "Cast", "Reshape", "Squeeze"))


CHOICES: list[tuple[Dim, Dim, Dim]] = [
    # a condition that holds where it is negative, what is taken there, and the other
    (A - B, A, B), (A - B, B, A), (A - B - 1, A, B), (B - A, A, B), (B - A - 1, A, B), (B - A - 1, B, A),
    (A - 4, A, 4), (A - 4, 4, A), (A - 4, 0, A), (A - 4, 1, 2), (A - 4, B, 0), (A - B - 2, A, B), (A - B - 2, B, A),
    (A - B, A + 1, B), (A - B, A, B + 1), (2 * A - 3, 7, A), (maximum(A - 2, B - 3), A, B), (A - 2, A, A - 1),
]  # fmt: skip


@pytest.mark.parametrize("place", ["a dim", "an element"])
@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_one_of_two_dims_by_a_condition(choice: tuple[Dim, Dim, Dim], place: str) -> None:
    negative, taken, other = choice
    given = [tensor(dim) if place == "a dim" else ints(dim) for dim in (taken, other)]
    one, two = select_by_predicate(negative, given[0], given[1], set(), Context(Scope()))
    assert one == two and isinstance(one, SymbolicTensor)
    found = one.shape[0] if place == "a dim" and one.shape is not None else one.only_element
    assert isinstance(found, (int, Expr))
    for a, b in itertools.product((0, 1, 2, 3, 4, 5, 7), repeat=2):
        sizes = {"A": a, "B": b}
        chosen = taken if evaluate(negative, sizes) < 0 else other
        assert evaluate(found, sizes) == evaluate(chosen, sizes), sizes


def test_what_is_no_choice_stays() -> None:
    """Of the body itself, of other ranks, of bools and floats, and of what may divide by 0."""
    context = Context(Scope())
    quotient = floordiv(6, A)
    for one, other in (
        (tensor(L), tensor(A)),
        (tensor(A), tensor(L)),
        (tensor(A), tensor(A, A)),
        (tensor(A), SequenceType(tensor(B))),
        (SequenceType(tensor(B)), tensor(A)),
        (tensor(quotient), tensor(A)),
        (tensor(A), tensor(quotient)),
        (SymbolicTensor(DType.BOOL, (1,), make_values([True])), SymbolicTensor(DType.BOOL, (1,), make_values([False]))),
        (SymbolicTensor(F, (1,), make_values([0.5])), SymbolicTensor(F, (1,), make_values([1.5]))),
        (SymbolicTensor(INT, None), SymbolicTensor(INT, None)),
    ):
        assert select_by_predicate(A - B, one, other, {"L"}, context) == (one, other)
    assert select_by_predicate(quotient - 3, tensor(A), tensor(B), set(), context) == (tensor(A), tensor(B))


def test_a_choice_that_what_is_known_decides_has_no_minimum_left() -> None:
    """Where A <= B the lesser of the two is A, and `A < B ? A : B` is."""
    context = Context(Scope())
    context.scope.add_fact(B - A)
    for negative, taken, other, expected in (
        (A - B, A, B, A),
        (A - B - 1, A, B, A),
        (B - A - 1, A, B, B),
        (B - A, A, B, B),
    ):
        one, two = select_by_predicate(negative, tensor(taken), tensor(other), set(), context)
        assert one == two == tensor(expected), (negative, taken, other)
