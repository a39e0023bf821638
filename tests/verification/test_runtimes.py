"""Failures of a runtime during a verification, and the part of the result that remains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer.errors import ModelReadError, UsageError
from gather_infer.inference import infer
from gather_infer.model import ModelFile, open_model
from gather_infer.verification import verify
from tests.verification.models import absent_runtime, fake_runtime, model, verified

NEG = "(float[N] x) => (float[N] y) { y = Neg(x) }"
FOREVER = """(float[N] x) => (float[N] y) <int64 n = {4611686018427387904}, bool c = {1}> {
    y = Loop(n, c, x) <body = b (int64 i, bool t, float[N] s) => (bool t2, float[N] s2) {
        t2 = Identity(t) s2 = Neg(s) }> }"""


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """After a verification there is no process and no file of it."""
    started: list[subprocess.Popen[str]] = []

    class Noted(subprocess.Popen[str]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []
    assert all(each.returncode is not None for each in started)
    assert not list(tmp_path.rglob(".gather-infer-*"))


def test_a_crash_of_the_rewritten_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = """if self.is_rewritten:
            print("out of luck", file=sys.stderr, flush=True)
            os.abort()
        return [-feeds["x"]]"""
    fake_runtime(monkeypatch, tmp_path / "site", run)
    found = verified(model(NEG), model(NEG), 2)
    reasons = [mismatch.reason for mismatch in found.mismatches]
    assert reasons == ["the rewritten model fails: the process ended by SIGABRT: out of luck"] * 2
    assert not found.ok and (found.runtime, found.version) == ("onnxruntime", "0.0")


def test_a_draw_is_repeated_if_the_original_crashes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runtime(monkeypatch, tmp_path / "site", "os._exit(3) if feeds['x'].size == 0 else None; return [-feeds['x']]")
    found = verified(model(NEG), model(NEG), 3)
    assert found.ok and len(found.runs) == 3
    assert found.redraws > 0 and found.redraw_reason == "the process ended with exit code 3"


def test_a_crash_while_the_model_is_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runtime(monkeypatch, tmp_path / "site", "return []", load="os._exit(4) if self.is_rewritten else None")
    found = verified(model(NEG), model(NEG), 2)
    assert [m.reason for m in found.mismatches] == [
        "the rewritten model is not loaded: the process ended with exit code 4"
    ]


def test_what_nobody_expects_ends_the_process_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runtime(monkeypatch, tmp_path / "site", "raise KeyboardInterrupt('from inside')")
    found = verified(model(NEG), model(NEG), 1)
    assert not found.ok and "KeyboardInterrupt: from inside" in found.failure


def test_a_rewritten_model_that_does_not_end() -> None:
    found = verified(model(NEG), model(FOREVER), 3, timeout=8)
    assert [m.reason for m in found.mismatches] == ["the rewritten model fails: it did not end within 8 s"]
    assert len(found.runs) == 1


def test_an_original_that_does_not_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runtime(monkeypatch, tmp_path / "site", "time.sleep(600)")
    found = verified(model(NEG), model(NEG), 3, timeout=5)
    assert (
        found.failure
        == "the original ran on none of the random inputs, pass some with --feeds: it did not end within 5 s"
    )
    assert (found.redraws, found.runs, found.ok) == (2, (), False)


def test_an_original_that_always_fails() -> None:
    proto = model("(float[N] x) => (float[M] y) <int64 k = {1}> { n = Shape(x) m = Add(n, k) y = Reshape(x, m) }")
    found = verified(proto, proto, 2)
    assert not found.ok and found.failure.startswith(
        "the original ran on none of the random inputs, pass some with --feeds: "
    )
    assert found.redraws > 10


def test_an_original_that_no_runtime_loads() -> None:
    found = verified(model("(float[N] x) => (float[N] y) { y = Nag(x) }"), model(NEG), 2)
    assert not found.ok and found.failure.startswith("onnxruntime does not load the original: ")


def test_random_outputs_are_named_and_not_compared() -> None:
    text = "(float[N] x) => (float[N] y, float[N] z) { y = Neg(x) z = RandomUniformLike(x) }"
    found = verified(model(text), model(text), 4)
    assert found.ok and found.skipped == (("z", "it depends on random numbers: RandomUniformLike"),)
    alone = model("(float[N] x) => (float[N] z) { z = RandomUniformLike(x) }")
    found = verified(alone, alone, 2)
    assert found.ok and not found.compared_outputs and [name for name, _ in found.skipped] == ["z"]


def test_a_random_output_that_is_equal_by_chance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = "return [np.array(int(self.is_rewritten or self.count % 4 == 0))]"
    fake_runtime(monkeypatch, tmp_path / "site", run)
    found = verified(model(NEG), model(NEG), 1)
    assert [name for name, _ in found.skipped] == ["y"] and not found.mismatches


def test_an_input_that_cannot_be_drawn() -> None:
    kind = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    node = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml")
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, None])
    graph = helper.make_graph([node], "g", [helper.make_value_info("x", kind)], [output])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10)
    found = verified(proto, proto, 1)
    assert not found.ok and found.failure == "input x: no elements can be drawn for map(int64, float32[...])"


@pytest.mark.parametrize("ir_version", [3, 10])
def test_without_onnxruntime(ir_version: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent_runtime(monkeypatch, tmp_path / "site")
    before = model("(float[N] x, float c = {2.0}) => (float[N] y) { y = Mul(x, c) }", opset=8, ir_version=ir_version)
    found = verified(before, before, 2)
    assert found.ok and (found.runtime, found.version) == ("onnx's reference evaluator", onnx.__version__)
    after = model("(float[N] x, float c = {3.0}) => (float[N] y) { y = Mul(x, c) }", opset=8, ir_version=ir_version)
    assert not verified(before, after, 1).ok


def large(value: float = 1.0) -> ModelProto:
    """A model with a constant of 2 MiB, which stays on disk."""
    proto = model("(float[N] x) => (float[N] y) { s = ReduceSum<keepdims=0>(w) y = Mul(x, s) }")
    array = np.full(1 << 19, value, np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(array, "w"))
    return proto


@pytest.mark.parametrize("external", [False, True], ids=["in the file", "external"])
def test_weights_on_disk(external: bool, tmp_path: Path) -> None:
    path = tmp_path / "model" / "large.onnx"
    path.parent.mkdir()
    onnx.save(large(), path, save_as_external_data=external, location="weights.bin" if external else None)
    there = {each: each.stat().st_mtime_ns for each in path.parent.iterdir()}
    before = open_model(path)
    assert len(before.proto.SerializeToString()) < 2000
    right, wrong = ModelProto(), ModelProto()
    for after in (right, wrong):
        after.CopyFrom(before.proto)
    right.graph.node.append(helper.make_node("Neg", ["x"], ["unused"]))
    wrong.graph.node[1].op_type = "Add"
    inference = infer(before)
    assert verify(before, right, 2, inference=inference).ok
    assert not verify(before, wrong, 2, inference=inference).ok
    assert verify(path, path, 1, inference=inference).ok
    assert {each: each.stat().st_mtime_ns for each in path.parent.iterdir()} == there


def test_external_data_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    onnx.save(large(), path, save_as_external_data=True, location="weights.bin")
    before = open_model(path)
    after = ModelProto()
    after.CopyFrom(before.proto)
    after.graph.doc_string = "edited"
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(ModelReadError, match=r"weights\.bin"):
        verify(before, after, 1, inference=infer(before))


def test_numbers_out_of_range() -> None:
    proto = model(NEG)
    inference = infer(proto)
    for text, options in {
        "the seed must be >= 0, is -1": {"seed": -1},
        "rtol must be >= 0 and finite, is nan": {"rtol": float("nan")},
        "atol must be >= 0 and finite, is -1": {"atol": -1},
        "the time limit must be > 0 s, is 0": {"timeout": 0},
    }.items():
        with pytest.raises(UsageError, match=text):
            verify(proto, proto, 1, inference=inference, **options)  # type: ignore[arg-type] # options by name, of several types
    with pytest.raises(UsageError, match="the number of runs must be >= 1, is 0"):
        verify(proto, proto, 0, inference=inference)


def test_arguments_stay_as_they_are() -> None:
    before, after = model(NEG), model(NEG)
    texts = before.SerializeToString(), after.SerializeToString()
    assert verified(ModelFile.from_proto(before), after, 1).ok
    assert (before.SerializeToString(), after.SerializeToString()) == texts


SCRIPT = """
import signal, sys, tempfile
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell switches off in the background
sys.path[:] = {path!r}
tempfile.tempdir = {folder!r}
from tests.verification.models import model, verified
verified(model({text!r}), model({text!r}), 1)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill"])
def test_no_process_outlives_its_parent(sent: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    fake_runtime(monkeypatch, tmp_path / "site", f"Path({str(marker)!r}).write_text(str(os.getpid())); time.sleep(600)")
    folder = tmp_path / "of the parent"
    folder.mkdir()
    script = SCRIPT.format(path=[os.path.abspath(entry) for entry in sys.path], folder=str(folder), text=NEG)
    parent = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    _wait(lambda: marker.exists() and marker.read_text() != "")
    parent.send_signal(sent)
    _, errors = parent.communicate(timeout=60)
    assert parent.returncode == -sent
    child = int(marker.read_text())
    _wait(lambda: not _is_alive(child))
    if sent == signal.SIGINT:
        assert "KeyboardInterrupt" in errors and list(folder.iterdir()) == []


def _wait(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.05)


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{number}/stat")  # an orphan that nobody has waited for is none
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
