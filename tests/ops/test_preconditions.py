"""Rank preconditions of rules."""

from __future__ import annotations

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops.semantics.preconditions import require_min_rank, require_rank

RANKS: dict[str, tuple[tuple[int, ...], int | tuple[int, ...], str]] = {
    # id:      (shape,  ranks,     message)
    "one":     ((2, 3), 3,         "x must have rank 3, has rank 2: [2, 3]"),
    "two":     ((2,),   (2, 3),    "x must have rank 2 or 3, has rank 1: [2]"),
    "three":   ((),     (3, 4, 5), "x must have rank 3, 4 or 5, has rank 0: []"),
}  # fmt: skip


@pytest.mark.parametrize("shape, ranks, message", RANKS.values(), ids=RANKS)
def test_require_rank(shape: tuple[int, ...], ranks: int | tuple[int, ...], message: str) -> None:
    with pytest.raises(SpecViolation) as caught:
        require_rank(shape, ranks, "x")
    assert (caught.value.code, caught.value.message) == ("GI305", message)


def test_require_min_rank() -> None:
    with pytest.raises(SpecViolation) as caught:
        require_min_rank((), 1, "x")
    assert (caught.value.code, caught.value.message) == ("GI305", "x must have rank 1 or more, has rank 0: []")


def test_an_allowed_or_unknown_rank_passes() -> None:
    assert require_rank((2, 3), (1, 2), "x") == (2, 3)
    assert require_rank((), 0, "x") == ()
    assert require_rank(None, 2, "x") is None
    assert require_min_rank((2, 3), 1, "x") == (2, 3)
    assert require_min_rank(None, 1, "x") is None
