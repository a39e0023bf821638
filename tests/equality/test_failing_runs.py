# ruff: noqa: E501  (models as text)
"""Pairs of models with equal outputs wherever both run: what fails in a run of the first model is not proved."""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from gather_infer import DiffVerdict, diff
from tests.equality.runs import outputs_of, proved
from tests.verification.models import model

N3 = "int64 one = {1}, int64 zero = {0}"
FAILS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # the second model fails, the first does not
    "a second row where there is one": (
        f"(float[N, M] x) => (y, g) <{N3}> {{ y = Neg(x) g = Gather<axis=1>(x, zero) }}",
        f"(float[N, M] x) => (y, g) <{N3}> {{ y = Neg(x) g = Gather<axis=1>(x, zero) d = Gather<axis=1>(x, one) }}",
        {"x": [[1], [2]]},
    ),
    "the same index on a smaller axis": (
        "(float[N] x, float[M] w, int64[K] i) => (y) { y = Gather(x, i) }",
        "(float[N] x, float[M] w, int64[K] i) => (y) { y = Gather(x, i) d = Gather(w, i) }",
        {"x": [1, 2, 3], "w": [1], "i": [2]},
    ),
    "an index that the first model repeats no time": (
        "(float[3] x, float[K] w, int64[2] i) => (y) <int64[1] two = {2}> { s = Shape(w) t = Concat<axis=0>(s, two) e = Expand(i, t) y = Gather(x, e) }",
        "(float[3] x, float[K] w, int64[2] i) => (y) <int64[1] two = {2}> { s = Shape(w) t = Concat<axis=0>(s, two) e = Expand(i, t) y = Gather(x, e) d = Gather(x, i) }",
        {"x": [1, 2, 3], "w": [], "i": [9, 9]},
    ),
    "the other column of tuples": (
        "(float[N] x, float[N, N] w, int64[K, 2] i) => (y) <int64 zero = {0}> { f = Gather<axis=1>(i, zero) y = Gather(x, f) }",
        "(float[N] x, float[N, N] w, int64[K, 2] i) => (y) <int64 zero = {0}> { f = Gather<axis=1>(i, zero) y = Gather(x, f) d = GatherND(w, i) }",
        {"x": [1, 2], "w": [[1, 2], [3, 4]], "i": [[0, 5]]},
    ),
    "indices of which the first model reads one": (
        "(float[3] x, int64[9] t, int64[4] i) => (y) <int64 zero = {0}> { g = Gather(t, i) f = Gather(g, zero) y = Gather(x, f) }",
        "(float[3] x, int64[9] t, int64[4] i) => (y) <int64 zero = {0}> { g = Gather(t, i) f = Gather(g, zero) y = Gather(x, f) d = Gather(x, g) }",
        {"x": [1, 2, 3], "t": [0, 99, 0, 0, 0, 0, 0, 0, 0], "i": [0, 1, 2, 3]},
    ),
    "an index that no rule bounds": (
        "(float[N] x) => (y) { y = Neg(x) }",
        "(float[N] x) => (y) <float[2] w = {1.0, 2.0}> { i = Cast<to=7>(x) d = Gather(w, i) y = Neg(x) }",
        {"x": [9]},
    ),
    "indices below another size": (
        "(float[N] x, float[K] v) => (y) { y = Neg(x) }",
        "(float[N] x, float[K] v) => (y) <int64 zero = {0}, int64 one = {1}> { n = Size(x) r = Range(zero, n, one) d = Gather(v, r) y = Neg(x) }",
        {"x": [1, 2, 3], "v": [1]},
    ),
    "a branch that is taken": (
        "(float[N] x, float[K] v) => (y) { y = Neg(x) }",
        "(float[N] x, float[K] v) => (y) <bool t = {1}, int64 zero = {0}, int64 one = {1}> { n = Size(x) r = Range(zero, n, one) y = If(t) <then_branch = a () => (u) { d = Gather(v, r) u = Neg(x) }, else_branch = b () => (w) { w = Neg(x) }> }",
        {"x": [1, 2, 3], "v": [1]},
    ),
    "indices with the same first element": (
        "(float[5] w, int64[2, 2] i) => (y) { y = Gather(w, i) }",
        "(float[5] w, int64[2, 2] i) => (y) <int64[2, 2] c = {0, 0, 0, 5}> { j = Add(i, c) d = Gather(w, j) y = Gather(w, i) }",
        {"w": [1, 2, 3, 4, 5], "i": [[0, 0], [0, 4]]},
    ),
    "a size that is only bounded": (
        "(float[N] x) => (y) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64[1] z = {0}> { s = Shape(x) p = Slice(t, z, s) y = Add(x, p) }",
        "(float[N] x) => (y) <float[4] t = {1.0, 2.0, 3.0, 4.0}, int64[1] z = {0}> { s = Shape(x) p = Slice(t, z, s) y = Add(x, p) d = MatMul(x, t) }",
        {"x": [1, 2]},
    ),
    "a broadcast to another size": (
        "(float[N] x, float[M] w, float[K] v) => (y) { y = Add(x, w) }",
        "(float[N] x, float[M] w, float[K] v) => (y) { y = Add(x, w) d = Add(x, v) }",
        {"x": [1, 2], "w": [3, 4], "v": [1, 2, 3]},
    ),
    "a Reshape to a size that a run gives": (
        "(float[N] x, int64[1] t) => (y) { y = Neg(x) }",
        "(float[N] x, int64[1] t) => (y) { y = Neg(x) d = Reshape(x, t) }",
        {"x": [1, 2], "t": [3]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILS)
def test_a_second_model_that_fails_in_a_run_is_not_proved(name: str) -> None:
    first, second, feeds = FAILS[name]
    assert outputs_of(model(first), feeds) is not None and outputs_of(model(second), feeds) is None
    found = diff(model(first), model(second), runs=0, details=False)
    assert found.verdict is DiffVerdict.UNKNOWN and found.obligations


EXTRACTS: dict[str, tuple[str, dict[str, Any]]] = {
    # what the first model reads, by indices that ArrayFeatureExtractor does not take
    "indices from the end": ("y = Gather<axis=1>(x, i)", {"i": [[-1, 0]]}),
    "tokens of which only repeated ones are read": ("y = com.microsoft.NGramRepeatBlock<ngram_size=2>(i, x)", {"i": [[8, 9]]}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXTRACTS)
def test_an_access_that_allows_other_indices(name: str) -> None:
    body, feeds = EXTRACTS[name]
    head = '<ir_version: 10, opset_import: ["" : 18, "ai.onnx.ml" : 3, "com.microsoft" : 1]> g (float[1, 3] x, int64[1, 2] i) => (y)'
    one, two = (
        onnx.parser.parse_model(f"{head} {{ {body} {each} }}")
        for each in ("", "d = ai.onnx.ml.ArrayFeatureExtractor(x, i)")
    )
    feeds = {"x": [[1, 2, 3]], **feeds}
    assert outputs_of(one, feeds) is not None and outputs_of(two, feeds) is None
    (obligation,) = diff(one, two, runs=0, details=False).obligations
    assert "reads an index that is not proved in bounds" in obligation
    assert proved(two, one)
