# ruff: noqa: E501  (models as text)
"""Outputs that depend on random numbers are named, and only these."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

from gather_infer.inference import infer
from gather_infer.verification.nondeterminism import nondeterministic_outputs
from tests.verification.models import fake_runtime, model, verified

CASES = {
    "itself": ("(float[N] x) => (float[N] y) { y = RandomNormalLike(x) }", ["y"]),
    "behind": ("(float[N] x) => (float[N] y, float[N] z) { r = Bernoulli(x) y = Add(r, x) z = Neg(x) }", ["y"]),
    "its size alone": ("(float[N] x) => (int64[1] y) { r = RandomNormalLike(x) y = Shape(r) }", []),
    "a size that is drawn": ("(float[N] x) => (int64[2] y) { r = Bernoulli(x) n = NonZero(r) y = Shape(n) }", ["y"]),
    "Dropout of inference": ("(float[N] x) => (float[N] y) { y = Dropout(x) }", []),
    "Dropout in training": ("(float[N] x) => (float[N] y, bool[N] m) <float p = {0.5}, bool t = {1}> { y, m = Dropout(x, p, t) }", ["y", "m"]),
    "Dropout not in training": ("(float[N] x) => (float[N] y) <float p = {0.5}, bool t = {0}> { y = Dropout(x, p, t) }", []),
    "Dropout of either": ("(float[N] x, bool t) => (float[N] y) <float p = {0.5}> { y = Dropout(x, p, t) }", ["y"]),
    "in a branch": ("(float[N] x, bool c) => (float[N] y) { y = If (c) <then_branch = t () => (float[N] o) { o = RandomNormalLike(x) }, else_branch = e () => (float[N] p) { p = Neg(x) }> }", ["y"]),
    "captured": ("(float[N] x, bool c) => (float[N] y) { r = RandomNormalLike(x) y = If (c) <then_branch = t () => (float[N] o) { o = Neg(r) }, else_branch = e () => (float[N] p) { p = Neg(x) }> }", ["y"]),
    "by a later node": ("(float[N] x) => (float[N] y) { y = Add(r, x) r = RandomNormalLike(x) }", ["y"]),
    "a condition": ("(float[N] x) => (float[N] y) { r = RandomNormalLike(x) s = ReduceSum<keepdims=0>(r) c = Cast<to=9>(s) y = If (c) <then_branch = t () => (float[N] o) { o = Abs(x) }, else_branch = e () => (float[N] p) { p = Neg(x) }> }", ["y"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_random_numbers_reach(name: str) -> None:
    text, names = CASES[name]
    assert list(nondeterministic_outputs(infer(model(text)))) == names


def test_random_numbers_of_a_function() -> None:
    proto = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 18, "f": 1]> g (float[N] x) => (float[N] y, float[N] z) { y = f.f(x) z = f.h(x) } '
        '<opset_import: ["": 18], domain: "f"> f (x) => (y) { a = RandomNormalLike(x) y = Add(a, x) } '
        '<opset_import: ["": 18], domain: "f"> h (x) => (y) { y = Neg(x) }'
    )
    assert list(nondeterministic_outputs(infer(proto))) == ["y"]


def test_a_mask_that_is_equal_by_chance() -> None:
    """Of few elements and a small ratio, runs agree more often than not."""
    text = "(float[2] x) => (float[2] y, bool[2] m) <float p = {0.01}, bool t = {1}> { i = Identity(x) y, m = Dropout(i, p, t) }"
    found = verified(model(text), model(text.replace("i = Identity(x)", "i = Neg(x)")), 8)
    assert found.ok and not found.compared_outputs and len(found.skipped) == 2


def test_the_type_of_random_numbers_counts() -> None:
    before = model("(float[N] x) => (r) { r = RandomNormalLike(x) }")
    after = model("(float[N] x) => (r) { r = RandomNormalLike<dtype=11>(x) }")
    found = verified(before, after, 1)
    assert [mismatch.reason.split("[")[0] for mismatch in found.mismatches] == ["is float64"]


DRAWN_FAILURE = """(float[N] x) => (float[1] y, float[N] z) <float half = {0.5}, int64[1] one = {1}> {
    r = RandomUniform<shape = [1]>() m = Greater(r, half) s = Compress(r, m) y = Reshape(s, one) z = Neg(x) }"""


def test_a_failure_by_random_numbers_is_no_difference() -> None:
    """Each run fails with probability 1/2: the rewritten model is asked again."""
    found = verified(model(DRAWN_FAILURE), model(DRAWN_FAILURE), 8)
    assert found.ok and found.compared_outputs == ("z",), found


def test_an_original_that_fails_by_random_numbers_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every second run of it fails, as if by chance: it runs again, and only what is drawn is left out."""
    run = "assert self.is_rewritten or self.count % 2; return [np.ones(1, np.float32), -feeds['x']]"
    fake_runtime(monkeypatch, tmp_path / "site", run)
    found = verified(model(DRAWN_FAILURE), model(DRAWN_FAILURE), 4)
    assert found.ok and [name for name, _ in found.skipped] == ["y"], found


def test_a_failure_in_spite_of_random_numbers_is_reported() -> None:
    before = model("(float[N] x) => (float[1] y, float[N] z) { y = RandomUniform<shape = [1]>() z = Neg(x) }")
    after = model(DRAWN_FAILURE.replace("m = Greater(r, half)", "m = Greater(r, r)"))
    found = verified(before, after, 2)
    assert not found.ok and "the rewritten model fails" in found.mismatches[0].reason
