"""Elements of integer inputs."""

from __future__ import annotations

import numpy as np
import pytest

from gather_infer.symbolic import Dim
from gather_infer.tensor import DType
from gather_infer.verification.element_sampling import (
    WITH_TAGS,
    BoundaryValues,
    ElementDrawer,
    ElementLimits,
    FloatPattern,
)


def drawn(
    dtype: DType,
    shape: tuple[int, ...],
    low: Dim | None = None,
    high: Dim | None = None,
    *,
    turn: int = WITH_TAGS,
    boundary_values: BoundaryValues = BoundaryValues((1, 7), with_type_limits=True),  # noqa: B008
) -> list[int]:
    limits = {} if low is None and high is None else {"x": [ElementLimits(None, low, high)]}
    drawer = ElementDrawer(limits, {}, FloatPattern.FINITE, 0, turn, np.random.default_rng(0), boundary_values)
    found: list[int] = drawer.tensor("x", dtype, shape).reshape(-1).tolist()
    return found


@pytest.mark.parametrize(
    ("dtype", "shape", "low", "high"),
    [
        (DType.INT64, (5, 3), None, None),
        (DType.INT64, (5, 3), 2, 20),
        (DType.INT64, (5, 3), -7, 7),
        (DType.INT64, (5, 3), None, -4),
        (DType.INT8, (256,), None, None),
        (DType.UINT8, (16, 16), None, None),
        (DType.UINT64, (7,), 2**64 - 7, None),
        (DType.INT64, (0, 3), None, None),
    ],
)
def test_tags_are_different_and_within_bounds(
    dtype: DType, shape: tuple[int, ...], low: int | None, high: int | None
) -> None:
    found = drawn(dtype, shape, low, high)
    assert len(set(found)) == len(found) == int(np.prod(shape))
    assert all((low is None or low <= number) and (high is None or number <= high) for number in found)


def test_bounds_come_before_tags() -> None:
    found = drawn(DType.INT64, (5, 3), 0, 13)
    assert set(found) <= set(range(14)) and len(found) == 15


def test_integers_that_may_be_sizes_are_not_tagged() -> None:
    assert max(drawn(DType.INT64, (40,), boundary_values=BoundaryValues((1, 7)))) <= 9


def test_other_runs_repeat_elements() -> None:
    found = drawn(DType.INT64, (50,), turn=WITH_TAGS + 1)
    assert len(set(found)) < len(found)
