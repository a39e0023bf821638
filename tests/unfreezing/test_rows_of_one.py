"""Models of one row: an axis of 1 that is removed may be the batch, or another one beside it."""

from __future__ import annotations

import pytest

from gather_infer import unfreeze
from tests.unfreezing.cases import Case, check_dynamic
from tests.verification.models import model

CASES = {
    "the axis in front": Case(
        "(float[1, 3, 4] x) => (y) <int64[1] zero = {0}, int64[1] one = {1}> { u = Unsqueeze(x, zero) n = Neg(u)"
        " y = Squeeze(n, one) }",
        "(float[batch, 3, 4] x) => (y) { y = Neg(x) }",
    ),
    "a negative axis": Case(
        "(float[1, 3, 4] x) => (y) <int64[1] zero = {0}, int64[1] axis = {-3}> { u = Unsqueeze(x, zero) n = Neg(u)"
        " y = Squeeze(n, axis) }",
        "(float[batch, 3, 4] x) => (y) { y = Neg(x) }",
    ),
    "an axis by attribute": Case(
        "(float[1, 3, 4] x) => (y) { u = Unsqueeze<axes = [1]>(x) n = Neg(u) y = Squeeze<axes = [0]>(n) }",
        "(float[batch, 3, 4] x) => (y) { y = Neg(x) }",
        opset=11,
    ),
    "several axes": Case(
        "(float[1, 3, 1, 4] x) => (y) <int64[1] one = {1}, int64[2] axes = {0, 3}> { u = Unsqueeze(x, one) n = Neg(u)"
        " y = Squeeze(n, axes) }",
        "(float[batch, 3, 1, 4] x) => (y) <int64[1] axis = {2}> { n = Neg(x) y = Squeeze(n, axis) }",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_another_axis_is_removed(name: str) -> None:
    check_dynamic(CASES[name])


def test_an_axis_of_1_elsewhere_is_another_shape() -> None:
    """Without the axis behind the 3 the result has another shape."""
    text = "(float[1, 3, 1] x) => (y) <int64[1] zero = {0}> { n = Neg(x) y = Squeeze(n, zero) }"
    assert "requires batch == 1" in unfreeze(model(text), ["x.0=batch"]).why_refused
