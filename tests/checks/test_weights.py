"""Findings about weights: missing data, keys that no reader accepts, and elements that are no numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as refusals

from gather_infer import check
from gather_infer.checks import nonfinite
from tests.checks.plants import FIXTURES


def added(*arrays: np.ndarray) -> ModelProto:
    """x + w0 + w1 + ..."""
    nodes, last = [], "x"
    for number in range(len(arrays)):
        nodes.append(helper.make_node("Add", [last, f"w{number}"], [f"y{number}"], name=f"add{number}"))
        last = f"y{number}"
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in ("x", last)]
    weights = [numpy_helper.from_array(array, f"w{number}") for number, array in enumerate(arrays)]
    graph = helper.make_graph(nodes, "g", types[:1], types[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def f32(*elements: float) -> np.ndarray:
    return np.array(elements, np.float32)


def test_a_truncated_data_file_is_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "bert.onnx"
    model = onnx.load(FIXTURES / "bert-torchscript.onnx")
    onnx.save(model, path, save_as_external_data=True, location="bert.bin", size_threshold=0)
    data = tmp_path / "bert.bin"
    data.write_bytes(data.read_bytes()[:100])
    (found,) = check(path).errors
    assert found.code == "GI112" and "are outside" in found.message
    assert found.detail[-1].startswith("also ") and "more tensors: " in found.detail[-1]
    data.unlink()
    (found,) = check(path).errors
    assert "No such file" in found.message


@pytest.mark.parametrize(
    "key, runs, severity",
    [("checksum", True, ""), ("prepacked_0", True, ""), ("basepath", False, "warning"), ("size", False, "error")],
)
def test_keys_of_external_data(key: str, runs: bool, severity: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model = added(f32(1, 2), f32(3, 4))
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        tensor.external_data.add(key=key, value="1|2")
    path.write_bytes(model.SerializeToString())
    try:
        ort.InferenceSession(path).run(None, {"x": f32(0, 0)})
    except refusals.Fail:
        assert not runs
    else:
        assert runs
    found = check(path).diagnostics
    assert [(d.code, str(d.severity)) for d in found] == ([("GI112", severity)] if severity else [])
    assert not severity or found[0].detail[-1] == "also 1 more tensor: w1"


NUMBERS = {
    # id: (weights, messages)
    "finite": ([f32(1, 2), f32(0.0, -0.0)], []),
    "one is none": ([f32(1, np.nan)], ["1 of 2 elements of w0 are NaN"]),
    "in several": ([f32(1, np.nan), f32(np.nan)], ["1 of 1 elements of w1 are NaN, and some of 1 more tensor"]),
    "infinite": ([f32(1, 2, -np.inf)], ["1 of 3 elements of w0 are infinite"]),
    "both": ([f32(2, np.nan, np.inf)], ["1 of 3 elements of w0 are NaN", "1 of 3 elements of w0 are infinite"]),
    "a mask": ([f32(0, 0, -np.inf)], []),
    "a single infinity": ([f32(-np.inf)], []),
    "nothing but infinity": ([f32(-np.inf, -np.inf)], []),
    "nothing": ([np.zeros(0, np.float32)], []),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_weights_that_are_no_numbers_are_notes(name: str) -> None:
    weights, messages = NUMBERS[name]
    found = check(added(*weights)).diagnostics
    assert [d.message for d in found if d.code == "GI118"] == messages
    assert {str(d.severity) for d in found} <= {"note"}


def test_no_more_weights_are_read_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = added(f32(1, np.nan, np.nan), f32(1, np.nan))
    monkeypatch.setattr(nonfinite, "MAX_BYTES", 8)
    assert [d.message for d in check(model).notes] == ["1 of 2 elements of w1 are NaN"]


def test_a_table_of_2_to_the_31_elements() -> None:
    """Of fewer nothing is told, nor of one whose size is open."""
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[{}] t, int64[N] i) => (float[A, B] y) {{ y = Gather (t, i) }}'
    )
    codes = [
        [d.code for d in check(onnx.parser.parse_model(text.format(shape))).warnings]
        for shape in ("262144, 8960", "200000, 8960", "V, 8960")
    ]
    assert codes == [["GI323"], [], []]
