# ruff: noqa: E501  (models as text)
"""A verification has compared elements, at sizes where a model may do something else."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from gather_infer.inference import infer
from gather_infer.verification.noise import noise_of
from gather_infer.verification.size_sampling import MAX_MACS, MAX_TOTAL
from tests.verification.models import absent_runtime, model, verified

NEEDS_EQUAL = "(float[A, B, C, D] x, float[D, C, B, A] z) => (float[A, B, C, D] y) { y = Add(x, z) }"


def test_draws_have_elements() -> None:
    """Where the sizes of two inputs have to agree, 0 is the easiest number to agree on."""
    proto = model(NEEDS_EQUAL)
    found = verified(proto, proto, 8)
    assert found.ok and found.with_elements >= 6 and len(found.runs) == 8


def test_no_element_in_any_run_is_no_success() -> None:
    proto = model(
        "(float[N] x) => (float[M] y) <int64[1] s = {100000000}, int64[1] e = {9223372036854775807}> { y = Slice(x, s, e) }"
    )
    found = verified(proto, proto, 8)
    assert not found.ok and found.failure.startswith("every output was empty in every run")


def test_a_model_that_never_has_elements() -> None:
    proto = model("(float[N, 0] x) => (float[N, 0] y) { y = Neg(x) }")
    found = verified(proto, proto, 2)
    assert found.ok and found.with_elements == 0 and len(found.runs) == 2


@pytest.mark.parametrize("size", [100, 4096, 100_000])
def test_sizes_past_numbers_of_the_model(size: int) -> None:
    cut = f"(float[N, M] x) => (float[K, M] y) <int64[1] s = {{0}}, int64[1] e = {{{size}}}> {{ y = Slice(x, s, e) }}"
    found = verified(model(cut), model("(float[N, M] x) => (float[K, M] y) { y = Identity(x) }"))
    assert not found.ok and [dict(m.binding or ())["N"] for m in found.mismatches] == [size + 1]


def test_sizes_past_numbers_of_the_new_model() -> None:
    after = model("(float[N] x) => (int64[1] y) <int64[1] c = {5000}> { s = Shape(x) y = Min(s, c) }")
    assert not verified(model("(float[N] x) => (int64[1] y) { y = Shape(x) }"), after).ok


def test_sizes_keep_to_memory_and_time() -> None:
    proto = model(
        "(float[N, M] x) => (float[N, N] y) <int64[1] s = {0}, int64[1] e = {30000}> { t = Transpose(x) m = MatMul(x, t) y = Slice(m, s, e) }"
    )
    found = verified(proto, proto, 8)
    assert found.ok
    for run in found.runs:
        sizes = dict(run.binding)
        assert sizes["N"] ** 2 <= MAX_TOTAL and sizes["N"] ** 2 * sizes["M"] <= MAX_MACS
    assert max(dict(run.binding)["M"] for run in found.runs) > 30000


SUMS = "(float[N, 256] x) => (float[N, 300] y) { t = Transpose(w) y = MatMul(x, t) }"


def test_sums_of_the_evaluator_may_be_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """numpy adds in another order where a weight lies otherwise in memory: the same numbers, other last bits."""
    import numpy as np
    from onnx import numpy_helper

    absent_runtime(monkeypatch, tmp_path / "site")
    before, after, wrong = model(SUMS), model(SUMS), model(SUMS)
    weights = np.random.default_rng(0).standard_normal((300, 256)).astype(np.float32)
    for proto, array in ((before, weights), (wrong, weights * np.float32(1.0001))):
        proto.graph.initializer.append(numpy_helper.from_array(array, "w"))
    after.graph.node.pop(0)
    after.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(weights.T), "t"))
    found = verified(before, after)
    assert found.ok and "onnxruntime is not installed" in found.notes and found.rtol is None
    assert 0 < found.summation_error < 2e-5 and found.max_error is not None
    assert not verified(before, wrong).ok


def test_what_has_no_sums_is_compared_bit_by_bit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent_runtime(monkeypatch, tmp_path / "site")
    before = model("(float[N] x) => (float[N] y) <float c = {3.0}> { y = Div(x, c) }")
    assert verified(before, before).summation_error == 0 and verified(before, before).max_error is None
    assert not verified(before, model("(float[N] x) => (float[N] y) <float c = {0.33333334}> { y = Mul(x, c) }")).ok


def test_noise_grows_with_the_length_of_sums() -> None:
    def noise(text: str, size: int) -> float:
        return noise_of(infer(model(text)), {"N": size})

    product = "(float[4, N] x, float[N, 5] z) => (float[4, 5] y) { y = MatMul(x, z) }"
    assert noise(product, 400) == pytest.approx(2 * noise(product, 100))
    half = "(float16[4, N] x, float16[N, 5] z) => (float16[4, 5] y) { y = MatMul(x, z) }"
    assert noise(half, 100) == pytest.approx(2**13 * noise(product, 100))
    assert noise("(float[N] x) => (float[N] y) { y = Neg(x) }", 100) == 0


def test_a_model_that_onnxruntime_refuses_says_so() -> None:
    proto = model("(bfloat16[N] x) => (bfloat16[N] y) { y = Sin(x) }")
    found = verified(proto, proto, 2)
    assert found.ok and found.runtime == "onnx's reference evaluator" and found.version == onnx.__version__
    assert any(
        "onnxruntime does not load the original" in note and "/" not in note.split(":")[0] for note in found.notes
    )
