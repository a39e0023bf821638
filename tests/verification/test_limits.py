# ruff: noqa: E501  (models as text)
"""How much memory and time a draw may take."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from gather_infer.inference import infer
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME, REFERENCE
from gather_infer.verification import paired_runs
from gather_infer.verification.size_sampling import MAX_ELEMENTS, RunBudget
from tests.verification.models import fake_runtime, model, verified


def budget(text: str) -> RunBudget:
    return RunBudget.of(infer(model(text)), frozenset({"N", "M"}))


def test_sizes_that_only_a_run_tells_count_as_the_largest() -> None:
    pairs = budget(
        "(float[N] x, float[M] z) => (bool[A, B] y) <int64[1] s = {-1}, int64[1] a = {1}> { n = NonZero(x) f = Reshape(n, s) t = Unsqueeze(f, a) y = Equal(f, t) }"
    )
    root = int(MAX_ELEMENTS**0.5) + 1
    assert pairs.unknown and pairs.allows({"N": root // 2, "M": 2})
    assert not pairs.allows({"N": root, "M": 2}) and not pairs.allows({"N": 2, "M": root})


def test_multiply_adds_of_unknown_sizes_count() -> None:
    product = budget(
        "(float[N, M] x) => (float[A, A] y) { n = NonZero(x) c = Cast<to = 1>(n) t = Transpose(c) d = MatMul(t, c) y = MatMul(d, d) }"
    )
    assert product.allows({"N": 500, "M": 3}) and not product.allows({"N": 1500, "M": 3})


def test_a_value_that_is_always_empty_makes_no_run_undefined() -> None:
    empty = budget("(float[N] x, float[0, 3] z) => (float[0, 3] y, float[N] w) { y = Neg(z) w = Neg(x) }")
    assert not empty.has_empty_value({"N": 2, "M": 1}) and empty.has_empty_value({"N": 0, "M": 1})


def test_a_size_that_only_a_run_tells_makes_no_run_undefined() -> None:
    found = budget("(float[N, M] x) => (int64[2, A] y) { y = NonZero(x) }")
    assert not found.has_empty_value({"N": 2, "M": 1}) and found.has_empty_value({"N": 2, "M": 0})


# as many elements as the fourth power of a size, which no rule knows
PAIRS = "(float[N, M] x) => (float[A] y) <int64[1] s = {-1}, int64[1] a = {1}, int64[1] b = {0}, int64[1] e = {256}> { z = Slice(x, b, e) n = NonZero(z) f = Reshape(n, s) t = Unsqueeze(f, a) q = Equal(f, t) c = Cast<to = 1>(q) y = ReduceSum<keepdims = 0>(c, a) }"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process so")
@pytest.mark.parametrize("runtime", [ONNXRUNTIME, REFERENCE])
def test_memory_is_limited_and_then_it_is_not(runtime: str, tmp_path: Path) -> None:
    onnx.save(model(PAIRS), tmp_path / "m.onnx")
    feeds = tmp_path / "feeds.pickle"
    with RuntimeProcess(runtime, tmp_path, 60.0) as child:
        assert child.load(tmp_path / "m.onnx") is None
        for size, memory, runs in (
            (100, 1 << 20, True),
            (8000, 1 << 27, False),
            (100, 1 << 27, True),
            (8000, None, True),
        ):
            feeds.write_bytes(pickle.dumps({"x": np.ones((1, size), np.float32)}))
            found = child.run(feeds, memory=memory)
            assert isinstance(found, Failure) is not runs, (size, memory, found)
            if isinstance(found, Failure):
                assert "llocate" in found.reason or "memory" in found.reason.lower()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a process so")
def test_a_draw_that_takes_too_much_is_made_again() -> None:
    proto = model(PAIRS)
    found = verified(proto, proto, 8)
    assert found.ok and len(found.runs) == 8 and "llocate" in found.redraw_reason


def test_a_draw_that_takes_too_long_is_made_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The sizes of images are not tried where larger ones than those that ran take their time."""
    monkeypatch.setattr(paired_runs, "MIN_SECONDS", 0.5)
    monkeypatch.setattr(paired_runs, "SLOWDOWN_FACTOR", 1)
    sleeps = 'x = feeds["x"]; time.sleep(30 if x.shape[0] > 50 else 0); return [x]'
    fake_runtime(monkeypatch, tmp_path / "site", sleeps)
    proto = model("(float[N] x) => (float[N] y) <int64[1] s = {0}, int64[1] e = {4096}> { y = Slice(x, s, e) }")
    found = verified(proto, proto, 8)
    assert found.ok and len(found.runs) == 8 and found.redraws == 1
    assert found.redraw_reason == "it did not end within 0.5 s"
