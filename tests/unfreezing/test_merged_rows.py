"""Results of all rows in one axis: a result that mixes rows up is refused, one that does not is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gather_infer import unfreeze
from gather_infer.unfreezing.row_checks.merged_rows import Part, merged_difference, part_of
from gather_infer.verification.tolerance import Tolerance
from tests.unfreezing.cases import run
from tests.verification.models import model

TOLERANCE = Tolerance()


def found_boxes(rows: int | str, index: str) -> str:
    """A detector: the features of each cell above a threshold, taken out of the cells of all images by `index`."""
    batch = 0 if isinstance(rows, str) else rows
    return (
        f"(float[{rows}, 2, 3] x) => (y, cell) <float limit = {{0.5}}, int64[3] cells = {{{batch}, 6, 1}},"
        " int64[2] all = {-1, 1}, int64[1] flat = {-1}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2},"
        " int64[1] three = {3}, int64[1] six = {6}> {"
        " above = Greater(x, limit) at = NonZero(above) row = Slice(at, zero, one, zero) i = Slice(at, one, two, zero)"
        f" j = Slice(at, two, three, zero) k = Mul(i, three) c = Add(k, j) r = Mul(row, six) {index}"
        " cell = Reshape(d, flat) f = Reshape(x, cells) g = Reshape(f, all) y = Gather(g, cell) }"
    )


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_indices_with_the_row(rows: int) -> None:
    result = unfreeze(model(found_boxes(rows, "d = Add(c, r)")), ["x.0=batch"])
    assert not result.refused, result.why_refused
    dynamic = model(found_boxes("batch", "d = Add(c, r)"))
    for size in (1, 2, 5):
        feeds = {"x": np.random.default_rng(size).random((size, 2, 3), np.float32)}
        for one, two in zip(run(dynamic, feeds), run(result.proto, feeds), strict=True):
            np.testing.assert_array_equal(one, two)


def test_indices_without_the_row() -> None:
    """A simplifier removes the number of the row from a model of one row: nothing contradicts, but the results."""
    refused = unfreeze(model(found_boxes(1, "d = Identity(c)")), ["x.0=batch"])
    assert refused.refused and "one after the other" in refused.why_refused


def test_results_that_are_sorted() -> None:
    """The results of several rows in an order across rows cannot be told apart: one row is no evidence."""
    text = (
        "(float[{rows}, 6] x) => (y) <float limit = {{0.5}}, int64[1] flat = {{-1}}> {{ above = Greater(x, limit)"
        " at = NonZero(above) t = Transpose(at) f = GatherND(x, t) n = Shape(f) y, i = TopK(f, n) }}"
    )
    refused = unfreeze(model(text.format(rows=1)), ["x.0=batch"])
    assert refused.refused and "one after the other" in refused.why_refused
    assert not unfreeze(model(text.format(rows=2)), ["x.0=batch"]).refused


def test_results_in_two_axes() -> None:
    """Where each result meets each other one, no part is that of one row: the index may lack the row, or not."""
    text = (
        found_boxes(1, "d = Identity(c)").replace("(y, cell)", "(t)").replace("> {", ", int64[2] column = {-1, 1}> {")
    )
    text = text.replace(" }", " u = Reshape(y, column) v = Reshape(y, flat) t = Mul(u, v) }")
    refused = unfreeze(model(text), ["x.0=batch"])
    assert refused.why_refused == "output t has the results of all rows, which cannot be told apart"


SHARED = (
    "(float[{rows}, 4] x, bool[4] keep) => (y, at) <int64[1] flat = {{-1}}> {{ p = NonZero(keep) at = Reshape(p, flat)"
    " y = Gather<axis = 1>(x, at) }}"
)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_size_that_depends_on_what_all_rows_share(rows: int) -> None:
    """The output `y` has an axis of rows, and `at` is the same for every row."""
    result = unfreeze(model(SHARED.format(rows=rows)), ["x.0=batch"])
    assert not result.refused, result.why_refused
    x, keep = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([True, False, True, True])
    y, at = run(result.proto, {"x": x, "keep": keep})
    assert y.tolist() == x[:, keep].tolist() and at.tolist() == [0, 2, 3]


def array(*values: float, dtype: Any = np.int64) -> Any:
    return np.array(values, dtype)


def test_a_part_of_copies() -> None:
    floats = part_of(array(1, 2, 1, 2, dtype=np.float32), 0, 2, TOLERANCE)
    assert floats is not None and floats.values.tolist() == [1, 2]
    assert part_of(array(1, 2, 1, 3, dtype=np.float32), 0, 2, TOLERANCE) is None
    assert part_of(array(1, 2, 1, dtype=np.float32), 0, 2, TOLERANCE) is None
    numbered = part_of(array(1, 2, 7, 8, 13, 14), 0, 3, TOLERANCE)
    assert numbered is not None and numbered.values.tolist() == [1, 2] and numbered.stride == 6
    assert part_of(array(1, 2, 7, 8, 14, 15), 0, 3, TOLERANCE) is None
    assert part_of(array(1, 2, 7, 9), 0, 2, TOLERANCE) is None
    columns = part_of(np.array([[0, 5], [1, 5]]), 0, 2, TOLERANCE)
    assert columns is not None and columns.stride is not None and columns.stride.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("found", "equal"),
    [([1, 2, 9, 15], True), ([1, 2, 9, 16], False), ([1, 2, 9], False), ([2, 2, 9, 15], False)],
)
def test_parts_one_after_the_other(found: list[int], equal: bool) -> None:
    """Rows have [1, 2], [3] and [3]: with 6 for each row before, [1, 2, 9, 15]."""
    for stride in (None, array(6)):
        parts = [Part(array(1, 2), None), Part(array(3), stride), Part(array(3), None)]
        assert (merged_difference(array(*found), parts, 0, TOLERANCE) is None) == equal


def test_floats_have_no_stride() -> None:
    parts = [Part(array(1, dtype=np.float32), None)] * 2
    assert merged_difference(array(1, 1, dtype=np.float32), parts, 0, TOLERANCE) is None
    assert merged_difference(array(1, 2, dtype=np.float32), parts, 0, TOLERANCE) is not None
