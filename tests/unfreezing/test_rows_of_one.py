"""Models of one row: an axis of 1 that is removed may be the batch, or another one beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gather_infer import unfreeze
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.unfreezing.row_checks.rows import Feeds, _Check
from tests.unfreezing.cases import SIZES, Case, check_dynamic, feeds_of, run
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


TRANSPOSED = {
    "both directions of a recurrent network": Case(
        "(float[1, 5, 3] x, float[1, 4, 4] w) => (y) <int64[3] s = {5, 1, 3}, int64[4] q = {5, 3, 1, 1},"
        " int64[3] t = {1, 5, 3}> { a = Reshape(x, s) b = Neg(a) c = Reshape(b, t) y = Add(c, x) }",
        "(float[batch, 5, 3] x, float[1, 4, 4] w) => (y) { a = Neg(x) y = Add(a, x) }",
    ),
    "heads that are merged": Case(
        "(float[1, 2, 5, 3] x) => (y) <int64[2] m = {6, 5}, int64[3] t = {1, 5, 6}, float[6, 2] w ="
        " {1, -2, 3, -4, 5, -6, 7, -8, 9, -1, 2, -3}> { a = Transpose<perm = [2, 0, 1, 3]>(x) n = Neg(a)"
        " r = Reshape(n, t) y = MatMul(r, w) }",
        "(float[batch, 2, 5, 3] x) => (y) <int64[3] t = {-1, 5, 6}, float[6, 2] w ="
        " {1, -2, 3, -4, 5, -6, 7, -8, 9, -1, 2, -3}> { a = Transpose<perm = [0, 2, 1, 3]>(x) n = Neg(a)"
        " r = Reshape(n, t) y = MatMul(r, w) }",
    ),
    "time first": Case(
        "(float[1, 5, 3] x) => (y) <int64[3] s = {5, 1, 3}, float[1, 1, 3] w = {1, 2, 3}> { a = Reshape(x, s)"
        " y = Add(a, w) }",
        "(float[batch, 5, 3] x) => (y) <float[1, 1, 3] w = {1, 2, 3}> { a = Transpose<perm = [1, 0, 2]>(x)"
        " y = Add(a, w) }",
    ),
    "all cells of all rows": Case(
        "(float[1, 2, 3] x) => (y) <int64[2] s = {6, 1}, float[1, 2] w = {1, 2}> { a = Reshape(x, s)"
        " y = MatMul(a, w) }",
        "(float[batch, 2, 3] x) => (y) <int64[2] s = {-1, 1}, float[1, 2] w = {1, 2}> { a = Reshape(x, s)"
        " y = MatMul(a, w) }",
    ),
    "positions of all rows, each by itself": Case(
        "(float[1, 5, 3] x) => (y) <int64[3] s = {5, 1, 3}, int64[3] t = {1, 5, 3}> { a = Reshape(x, s)"
        " b = Transpose<perm = [0, 2, 1]>(a) c = MatMul(a, b) d = MatMul(c, a) y = Reshape(d, t) }",
        "(float[batch, 5, 3] x) => (y) <int64[3] s = {-1, 1, 3}, int64[3] t = {-1, 5, 3}> { a = Reshape(x, s)"
        " b = Transpose<perm = [0, 2, 1]>(a) c = MatMul(a, b) d = MatMul(c, a) y = Reshape(d, t) }",
    ),
    "a constant row that is joined with the others": Case(
        "(float[1, 5, 3] x) => (y) <float[1, 5, 3] q = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},"
        " float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { k = MatMul(q, w) y = Concat<axis = 1>(x, k) }",
        "(float[batch, 5, 3] x) => (y) <float[1, 5, 3] q = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},"
        " float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64[2] rest = {1, 1}> {"
        " k = MatMul(q, w) n = Shape<start = 0, end = 1>(x) s = Concat<axis = 0>(n, rest) e = Expand(k, s)"
        " y = Concat<axis = 1>(x, e) }",
    ),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_one_row_moved_or_repeated(name: str) -> None:
    check_dynamic(TRANSPOSED[name])


def test_no_place_of_its_own() -> None:
    """Rows that stay merged, with no axis of 1 beside them, are left so."""
    text = (
        "(float[1, 5, 2, 3] x) => (y) <int64[2] t = {5, 6}> { a = Transpose<perm = [1, 0, 2, 3]>(x) y = Reshape(a, t) }"
    )
    result = unfreeze(model(text), ["x.0=batch"])
    assert not result.refused and [str(d) for d in result.proto.graph.output[0].type.tensor_type.shape.dim]
    assert result.proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "5*batch"


def test_rows_of_an_output_that_may_be_in_two_axes() -> None:
    """Nothing tells whether two rows are `[2, 6, 3]` or `[1, 12, 3]`, if no Transpose gives them the axis of 1."""
    text = (
        "(float[1, 6, 3] x) => (y) <int64[2] f = {-1, 3}, int64[3] s = {1, 6, 3}> { a = Reshape(x, f) n = Neg(a)"
        " y = Reshape(n, s) }"
    )
    assert not unfreeze(model(text), ["x.0=batch"]).refused
    kept = (
        "(float[1, 6, 3] x) => (y) <int64[2] f = {-1, 3}, int64[1] z = {0}> { a = Reshape(x, f) n = Neg(a)"
        " y = Unsqueeze(n, z) }"
    )
    refused = unfreeze(model(kept), ["x.0=batch"])
    assert refused.why_refused == "output y: its rows may be in the axis of 1, or in that with other sizes"


def test_rows_of_an_output_are_not_the_innermost_size() -> None:
    """`[6, 1]` is `[6*batch, 1]` rather than `[6, batch]`, but nothing tells."""
    text = "(float[1, 2, 3] x) => (y) <int64[2] s = {6, 1}> { a = Reshape(x, s) y = Neg(a) }"
    refused = unfreeze(model(text), ["x.0=batch"])
    assert refused.why_refused == "output y: its rows may be in the axis of 1, or in that with other sizes"


STATES = {
    # x has its rows on axis 0, h on axis 1, as states of recurrent networks do
    "joined": "y = Concat<axis=2>(u, h)",
    "added": "y = Add(u, h)",
    "joined, in one axis": "c = Concat<axis=2>(u, h) y = Reshape(c, f)",
}


@pytest.mark.parametrize("name", STATES)
def test_rows_on_axis_0_and_on_axis_1_that_meet(name: str) -> None:
    """Were both in the result, its rows would be the diagonal: nothing there contradicts the original."""
    inputs, node = "(float[{0},1,4] x, float[1,{0},4] h) => (y) ", STATES[name]
    static = inputs.format(1) + f"<int64[3] s = {{1,1,4}}, int64[2] f = {{1,8}}> {{ u = Reshape(x, s) {node} }}"
    result = unfreeze(model(static), ["x.0=batch", "h.1=batch"], rows=["batch"])
    assert not result.refused, result.why_refused
    dynamic = model(inputs.format("batch") + f"<int64[2] f = {{-1,8}}> {{ u = Transpose<perm=[1,0,2]>(x) {node} }}")
    for size in SIZES:
        feeds = feeds_of(dynamic, size, "batch")
        np.testing.assert_array_equal(run(dynamic, feeds)[0], run(result.proto, feeds)[0])


@pytest.mark.parametrize("rows", [1, 2])
def test_rows_in_two_axes_of_an_output(rows: int) -> None:
    text = "(float[{0},1,4] x, float[1,{0},4] h) => (y) {{ y = Add(x, h) }}"
    result = unfreeze(model(text.format(rows)), ["x.0=batch", "h.1=batch"], rows=["batch"])
    assert not result.refused, result.why_refused
    dynamic = model(text.format("batch"))
    for size in SIZES:
        feeds = feeds_of(dynamic, size, "batch")
        np.testing.assert_array_equal(run(dynamic, feeds)[0], run(result.proto, feeds)[0])


def test_pairs_of_rows_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagonal of a result is right, and all else is not."""
    static = model("(float[2,3] x) => (float[2,2] y) { t = Transpose<perm=[1,0]>(x) y = MatMul(x, t) }")
    assert not unfreeze(static, ["x.0=batch"]).refused
    outputs = _Check._outputs

    def wrong(check: _Check, process: RuntimeProcess, feeds: Feeds) -> list[Any] | Failure:
        found = outputs(check, process, feeds)
        if process is check.rewritten and isinstance(found, list):
            found[0] = found[0] + 1 - np.eye(len(found[0]), dtype=np.float32)
        return found

    monkeypatch.setattr(_Check, "_outputs", wrong)
    assert unfreeze(static, ["x.0=batch"]).why_refused.startswith("output y, row 0 of batch=3: element [0, 1] is")


def test_a_squeeze_of_all_axes_of_1() -> None:
    """Which axes it removes depends on the size."""
    text = "(float[1, 3, 1] x) => (y) { n = Neg(x) y = Squeeze(n) }"
    result = unfreeze(model(text), ["x.0=batch"])
    assert result.refused and "Squeeze" in result.why_refused
