"""The cost of terms next to existing ones, whatever was computed before."""

from __future__ import annotations

import pytest

from gather_infer.passes.dims.terms import Pool, Price, Term, Unit
from gather_infer.tensor import SymbolicTensor

SHAPE = Unit(Price(1, 0, 1, 1, 8))
GATHER = Unit(Price(1, 1, 0, 0, 16))
NOTHING = Price()


def term(*units: Unit) -> Term:
    return Term("Any", (), (), SymbolicTensor(), 0, frozenset(units))


ASKED = {
    # units:  (beside nothing, beside the Shape)
    "none":   ((), NOTHING, NOTHING),
    "shape":  ((SHAPE,), SHAPE.price, NOTHING),
    "gather": ((GATHER,), GATHER.price, GATHER.price),
    "both":   ((SHAPE, GATHER), Price(2, 1, 1, 1, 24), GATHER.price),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_extra_follows_what_is_there(name: str) -> None:
    units, alone, beside = ASKED[name]
    pool = Pool()
    for _ in range(2):
        assert pool.extra(frozenset(units)) == alone
        pool.add(term(SHAPE))
        assert pool.extra(frozenset(units)) == beside
        pool.add(term(SHAPE))
        pool.remove(term(SHAPE))
        assert pool.extra(frozenset(units)) == beside
        pool.remove(term(SHAPE))


def test_each_set_of_units_has_its_price() -> None:
    pool = Pool()
    assert [pool.extra(frozenset(units)) for units, _, _ in ASKED.values()] == [price for _, price, _ in ASKED.values()]
