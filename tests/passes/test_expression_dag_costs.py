"""The cost of terms next to existing ones, whatever was computed before."""

from __future__ import annotations

import pytest

from gather_infer.passes.shape_exprs.expression_dag import DagCost, DagNode, ExpressionDag, Term
from gather_infer.tensor import SymbolicTensor

SHAPE = DagNode(DagCost(1, 0, 1, 1, 8))
GATHER = DagNode(DagCost(1, 1, 0, 0, 16))
NOTHING = DagCost()


def term(*units: DagNode) -> Term:
    return Term("Any", (), (), SymbolicTensor(), 0, frozenset(units))


ASKED = {
    # units:  (beside nothing, beside the Shape)
    "none":   ((), NOTHING, NOTHING),
    "shape":  ((SHAPE,), SHAPE.cost, NOTHING),
    "gather": ((GATHER,), GATHER.cost, GATHER.cost),
    "both":   ((SHAPE, GATHER), DagCost(2, 1, 1, 1, 24), GATHER.cost),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_extra_follows_what_is_there(name: str) -> None:
    units, alone, beside = ASKED[name]
    pool = ExpressionDag()
    for _ in range(2):
        assert pool.marginal_cost(frozenset(units)) == alone
        pool.add(term(SHAPE))
        assert pool.marginal_cost(frozenset(units)) == beside
        pool.add(term(SHAPE))
        pool.remove(term(SHAPE))
        assert pool.marginal_cost(frozenset(units)) == beside
        pool.remove(term(SHAPE))


def test_each_set_of_units_has_its_price() -> None:
    pool = ExpressionDag()
    assert [pool.marginal_cost(frozenset(units)) for units, _, _ in ASKED.values()] == [
        price for _, price, _ in ASKED.values()
    ]
