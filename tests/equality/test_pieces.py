"""Pointwise operators on tensors in several pieces."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gather_infer.equality.frames import Frame
from gather_infer.equality.pieces import combined
from gather_infer.equality.pointwise import applied_again, renamed
from gather_infer.equality.pool import TermPool
from gather_infer.equality.terms import Tensor, Term
from gather_infer.symbolic import Dim, Scope, symbol
from gather_infer.tensor import DType, Shape

F = DType.FLOAT32


@pytest.mark.parametrize(("size", "is_known"), [(5, True), (1, True), (symbol("M"), False)])
def test_an_operand_that_may_be_repeated_is_not_cut(size: Dim, is_known: bool) -> None:
    """Beside pieces of 2 and 3 elements, an operand of M elements has either five, or one that is repeated."""
    pool = TermPool(Scope(), applied_again, renamed)
    parts = [pool.whole(pool.named(name, F, (length,))) for name, length in (("x", 2), ("w", 3))]
    pieced = pool.pieced(F, (5,), 0, [(part.shape[0], pool.term_of(part)) for part in parts])
    other = pool.whole(pool.named("z", F, (size,)))

    def first(shape: Shape, operands: Sequence[Tensor]) -> Term:
        frame: Frame = pool.frame(shape)
        index: tuple[Dim, ...] = (0,) if operands[1].shape == (1,) else frame.variables
        return pool.at(operands[1], index, frame)

    assert (combined(pool, F, (5,), [pieced, other], first) is not None) == is_known
