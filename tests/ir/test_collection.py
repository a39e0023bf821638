"""Garbage collection is rare while a model is worked on, and as before afterwards."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import onnx
import pytest

import gather_infer
from gather_infer.ir.collection import THRESHOLDS, no_collections, rare_collections

BEFORE = (701, 11, 12)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    present = gc.get_threshold()
    gc.set_threshold(*BEFORE)
    yield
    gc.set_threshold(*present)


def test_thresholds_are_restored() -> None:
    with rare_collections():
        assert gc.get_threshold() == THRESHOLDS
        with rare_collections():
            assert gc.get_threshold() == THRESHOLDS
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == BEFORE


def test_thresholds_are_restored_after_an_error() -> None:
    with pytest.raises(gather_infer.UsageError):
        gather_infer.infer(onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }'), dims=["M=1"])  # fmt: skip # noqa: E501
    with pytest.raises(ValueError, match="inside"), rare_collections():
        raise ValueError("inside")
    assert gc.get_threshold() == BEFORE


def test_blocks_of_two_threads_overlap() -> None:
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with rare_collections():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with rare_collections():
        thread.start()
        inside.wait()
    assert gc.get_threshold() == THRESHOLDS  # the other block is still open
    leave.set()
    thread.join()
    assert gc.get_threshold() == BEFORE


def test_disabled_collections_stay_disabled() -> None:
    gc.set_threshold(0)
    with rare_collections():
        assert gc.get_threshold()[0] == 0
    gc.disable()
    try:
        with rare_collections(), no_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_commands_collect_rarely() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { a = Neg(x) y = Neg(a) }'
    )
    seen: list[tuple[int, int, int]] = []

    def progress(_: object) -> None:
        seen.append(gc.get_threshold())

    gather_infer.infer(model, progress=progress)
    gather_infer.optimize(model, progress=progress)
    assert set(seen) == {THRESHOLDS}
    assert gc.get_threshold() == BEFORE
