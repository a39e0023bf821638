# ruff: noqa: E501  (models as text)
"""Laws that results of other optimisers need: pairs that are proved, and run in onnxruntime; and near misses."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures.feeds import FOLDER
from gather_infer import DiffVerdict, diff, infer, optimize
from gather_infer.verification import verify
from tests.verification.models import model

EQUAL: dict[str, tuple[str, str]] = {
    "a size that the first model needs to be another": (
        "(float[N, S] x, float[M, S] z) => (y) <int64 o = {1}, int64[1] u = {0}, int64[1] m = {-1}> { s = Shape(x) g = Gather(s, o) e = Unsqueeze(g, u) t = Concat<axis=0>(m, e) r = Reshape(x, t) a = Identity(r) y = Concat<axis=1>(a, z) }",
        "(float[N, S] x, float[M, S] z) => (y) <int64[1] m = {-1}> { s = Shape<start=1>(x) t = Concat<axis=0>(m, s) r = Reshape(x, t) y = Concat<axis=1>(r, z) }",
    ),
    "a sum, product, maximum and minimum of one integer": (
        "(int64[N, 1] x, int64 c) => (y, z, v, w) <int64[1] a = {1}> { y = ReduceSum<keepdims=0>(x, a) z = ReduceProd<keepdims=1>(x, a) v = ReduceMax(c) w = ReduceMin<keepdims=0>(x, a) }",
        "(int64[N, 1] x, int64 c) => (y, z, v, w) <int64[1] a = {1}> { y = Squeeze(x, a) z = Identity(x) v = Identity(c) w = Squeeze(x, a) }",
    ),
    "a Pad of nothing": (
        "(float[N, 4] x) => (y, z) <int64[4] p = {0, 0, 0, 0}> { y = Pad<mode=\"reflect\">(x, p) z = Pad<mode=\"edge\">(x, p) }",
        "(float[N, 4] x) => (y, z) { y = Identity(x) z = Identity(x) }",
    ),
    "writes at no positions": (
        "(float[N, 4] x, float[0, 4] u, int64[0, 1] j) => (y, z) <int64[0, 0] i = {}, float[0, 0] e = {}> { y = ScatterElements<axis=1>(x, i, e) z = ScatterND(x, j, u) }",
        "(float[N, 4] x, float[0, 4] u, int64[0, 1] j) => (y, z) { y = Identity(x) z = Identity(x) }",
    ),
    "a branch that fails in both": (
        "(float[N] x, bool c) => (y) <int64[2] s = {3, 3}> { z = Identity(x) y = If(c)<then_branch = a () => (float[2] t) { k = Constant<value = float[2] {1.0, 2.0}>() q = Constant<value = int64[1] {5}>() t = Reshape(k, q) }, else_branch = b () => (float[N] e) { e = Neg(z) }> }",
        "(float[N] x, bool c) => (y) <int64[2] s = {3, 3}> { y = If(c)<then_branch = a () => (float[2] t) { k = Constant<value = float[2] {1.0, 2.0}>() q = Constant<value = int64[1] {5}>() t = Reshape(k, q) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
    ),
}  # fmt: skip

DIFFERENT: dict[str, tuple[str, str]] = {
    "a size that only the second model needs to be another": (
        "(float[N, S] x, int64[1] k) => (y) { r = Reshape(x, k) y = Neg(r) }",
        "(float[N, S] x, int64[1] k) => (y) { r = Reshape(x, k) y = Neg(r) s = Shape<end=1>(x) m = Shape(r) e = Expand(x, m) }",
    ),
    "a sum of two integers": (
        "(int64[N, 2] x) => (y) <int64[1] a = {1}> { y = ReduceSum<keepdims=0>(x, a) }",
        "(int64[N, 2] x) => (y) <int64 a = {0}> { y = Gather<axis=1>(x, a) }",
    ),
    "a sum of one float, which is -0.0": (
        "(float[N, 1] x) => (y) <int64[1] a = {1}> { s = ReduceSum<keepdims=0>(x, a) y = Reciprocal(s) }",
        "(float[N, 1] x) => (y) <int64[1] a = {1}> { s = Squeeze(x, a) y = Reciprocal(s) }",
    ),
    "a Pad of something": (
        "(float[N, 4] x) => (y) <int64[4] p = {0, 1, 0, -1}> { y = Pad<mode=\"edge\">(x, p) }",
        "(float[N, 4] x) => (y) { y = Identity(x) }",
    ),
    "writes of the whole": (
        "(float[3] x, float[1, 3] u) => (y) <int64[1, 0] i = {}> { y = ScatterND(x, i, u) }",
        "(float[3] x, float[1, 3] u) => (y) { y = Identity(x) }",
    ),
    "a branch that fails in the second": (
        "(float[N] x, bool c) => (y) { y = If(c)<then_branch = a () => (float[2] t) { t = Constant<value = float[2] {1.0, 2.0}>() }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
        "(float[N] x, bool c) => (y) { y = If(c)<then_branch = a () => (float[2] t) { k = Constant<value = float[2] {1.0, 2.0}>() q = Constant<value = int64[1] {5}>() t = Reshape(k, q) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
    ),
    "a branch that fails in both, under another condition": (
        "(float[N] x, bool c) => (y) { y = If(c)<then_branch = a () => (float[2] t) { k = Constant<value = float[2] {1.0, 2.0}>() q = Constant<value = int64[1] {5}>() t = Reshape(k, q) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
        "(float[N] x, bool c) => (y) { n = Not(c) y = If(n)<then_branch = a () => (float[2] t) { k = Constant<value = float[2] {1.0, 2.0}>() q = Constant<value = int64[1] {5}>() t = Reshape(k, q) }, else_branch = b () => (float[N] e) { e = Neg(x) }> }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_equal_models_are_proved_and_run_alike(name: str) -> None:
    before, after = map(model, EQUAL[name])
    found = diff(before, after, runs=0)
    assert ({each.reason for each in found.outputs}, found.obligations) == ({""}, ())
    assert found.verdict is DiffVerdict.PROVED
    feeds = [{"x": np.array([1, 0], np.float32), "c": np.array(False)}] if "branch" in name else []
    runs = verify(before, after, 0 if feeds else 6, inference=infer(before), feeds=feeds)
    assert not runs.mismatches and not runs.failure and runs.compared_outputs


@pytest.mark.parametrize("name", DIFFERENT)
def test_near_misses_are_not_proved(name: str) -> None:
    before, after = map(model, DIFFERENT[name])
    assert diff(before, after, runs=0).verdict is DiffVerdict.UNKNOWN


def test_a_short_equation_simplifies_a_long_one_before_it() -> None:
    """The windows of swin: an equation of products comes before those of its factors."""
    path = FOLDER / "swin-torchscript.onnx"
    found = diff(path, optimize(path).file, runs=0, details=False)
    assert found.is_proved, found.obligations
