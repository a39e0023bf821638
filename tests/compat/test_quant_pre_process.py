"""The drop-in for onnxruntime.quantization.preprocess: its steps, files and exit codes, and the quantizer behind it."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import shape_inference as original
from onnxruntime.quantization.quant_utils import model_has_pre_process_metadata

from gather_infer import UsageError
from gather_infer.compat import quant_pre_process as drop_in
from gather_infer.compat.quant_pre_process import quant_pre_process
from gather_infer.compat.symbolic_shape_infer import IncompleteInference, SymbolicShapeInference
from gather_infer.inference.dim_rendering import dims_of
from tests.inference.models import model

MODULES = ("onnxruntime.quantization.preprocess", "gather_infer.compat.quant_pre_process")


def network() -> ModelProto:
    """A convolution with its normalization, which the optimization fuses, over an image of any size."""
    text = """(float[n, 3, h, w] x) => (float[n, 4, a, b] y)
        {
            c = Conv <kernel_shape = [3, 3]> (x, k)
            d = BatchNormalization (c, s, s, s, s)
            e = Identity (d)
            y = Relu (e)
        }"""
    proto = model(text)
    random = np.random.default_rng(0)
    for name, shape in (("k", (4, 3, 3, 3)), ("s", (4,))):
        elements = random.random(shape, dtype=np.float32) + 0.5
        proto.graph.initializer.append(numpy_helper.from_array(elements, name))
    return proto


def dims(proto: ModelProto) -> dict[str, list[int | str]]:
    values = (*proto.graph.value_info, *proto.graph.output)
    return {v.name: [d.dim_param or d.dim_value for d in dims_of(v.type)] for v in values}


CODES: dict[str, list[str]] = {
    "a model": ["--input", "in.onnx", "--output", "out.onnx"],
    "no optimization": ["--input", "in.onnx", "--output", "out.onnx", "--skip_optimization", "True"],
    "nothing": [
        *("--input", "in.onnx", "--output", "out.onnx", "--skip_optimization", "1", "--skip_onnx_shape", "1"),
        *("--skip_symbolic_shape", "1"),
    ],
    "no output": ["--input", "in.onnx"],
    "no such file": ["--input", "gone.onnx", "--output", "out.onnx"],
    "external data": [
        *("--input", "in.onnx", "--output", "out.onnx", "--skip_optimization", "True", "--save_as_external_data"),
        *("--all_tensors_to_one_file", "--external_data_location", "w.bin", "--external_data_size_threshold", "64"),
    ],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CODES)
def test_exit_codes_and_files_are_those_of_the_script(case: str, tmp_path: Path) -> None:
    found = []
    for module in MODULES:
        folder = tmp_path / module
        folder.mkdir()
        onnx.save(network(), folder / "in.onnx")
        command = [sys.executable, "-m", module, *CODES[case]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
        out = folder / "out.onnx"
        nodes = [node.op_type for node in onnx.load(out).graph.node] if out.exists() else None
        found.append((done.returncode, {path.name for path in folder.iterdir()}, nodes))
    assert found[0] == found[1]
    assert "Traceback" not in done.stderr


def test_the_signature_is_that_of_the_original() -> None:
    ours, theirs = inspect.signature(quant_pre_process), inspect.signature(original.quant_pre_process)
    assert [(p.name, p.default, p.kind) for p in ours.parameters.values()] == [
        (p.name, p.default, p.kind) for p in theirs.parameters.values()
    ]


def test_a_prepared_model(tmp_path: Path) -> None:
    quant_pre_process(network(), tmp_path / "out.onnx")
    found = onnx.load(tmp_path / "out.onnx")
    assert [node.op_type for node in found.graph.node] == ["Conv", "Relu"]
    assert dims(found)["y"] == ["n", 4, "h - 2", "w - 2"]
    assert model_has_pre_process_metadata(found)


STEPS: dict[str, tuple[dict[str, Any], list[str], bool]] = {
    # id: (options, operators, whether the value in between has a shape)
    "all": ({}, ["Conv", "Relu"], True),
    "symbolic only": ({"skip_optimization": True, "skip_onnx_shape": True}, [], True),
    "the second only": ({"skip_optimization": True, "skip_symbolic_shape": True}, [], True),
    "no inference": ({"skip_onnx_shape": True, "skip_symbolic_shape": True}, ["Conv", "Relu"], False),
    "none": ({"skip_optimization": True, "skip_onnx_shape": True, "skip_symbolic_shape": True}, [], False),
}


@pytest.mark.parametrize("case", STEPS)
def test_steps(case: str, tmp_path: Path) -> None:
    options, operators, is_known = STEPS[case]
    quant_pre_process(network(), str(tmp_path / "out.onnx"), **options)
    found = onnx.load(tmp_path / "out.onnx")
    assert [node.op_type for node in found.graph.node] == (operators or [n.op_type for n in network().graph.node])
    assert (dims(found).get(found.graph.node[0].output[0]) == ["n", 4, "h - 2", "w - 2"]) is is_known


def test_the_quantizer_takes_the_result(tmp_path: Path) -> None:
    from onnxruntime.quantization import CalibrationDataReader, quantize_static

    class Reader(CalibrationDataReader):  # type: ignore[misc] # onnxruntime has no types
        def __init__(self) -> None:
            self.left = 2

        def get_next(self) -> dict[str, Any] | None:
            self.left -= 1
            return {"x": np.ones((1, 3, 8, 8), np.float32)} if self.left >= 0 else None

    quant_pre_process(network(), tmp_path / "out.onnx")
    quantize_static(tmp_path / "out.onnx", tmp_path / "quantized.onnx", Reader())
    assert "QuantizeLinear" in {node.op_type for node in onnx.load(tmp_path / "quantized.onnx").graph.node}


UPSAMPLES: dict[str, tuple[int, dict[str, Any]]] = {
    # id: (opset, attributes)
    "opset 7": (7, {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]}),
    "opset 9": (9, {"mode": "nearest"}),
    "linear": (9, {"mode": "linear"}),
    "Resize of opset 10": (10, {"mode": "linear"}),
}


@pytest.mark.parametrize("case", UPSAMPLES)
def test_old_models_are_converted_without_a_change_of_results(case: str, tmp_path: Path) -> None:
    """onnx's converter, and the original, change the coordinates of `linear`."""
    opset, attributes = UPSAMPLES[case]
    inputs = ["x"] if "scales" in attributes else ["x", "s"]
    node = helper.make_node("Resize" if opset == 10 else "Upsample", inputs, ["y"], **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, "h", "w"])
    scales = [numpy_helper.from_array(np.array([1, 1, 2, 3], np.float32), "s")] if len(inputs) == 2 else []
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")], scales)
    graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)
    quant_pre_process(proto, tmp_path / "out.onnx")
    written = onnx.load(tmp_path / "out.onnx")
    assert [entry.version for entry in written.opset_import if not entry.domain] == [11]
    assert dims(written)["y"] == ["n", 1, "2*h", "3*w"]
    feeds = {"x": np.random.default_rng(0).random((2, 1, 3, 4), dtype=np.float32)}
    before, after = (
        ort.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)[0]
        for m in (proto, written)
    )
    assert np.array_equal(before, after)


def test_a_failed_optimization_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """onnxruntime refuses the operator; the rest of the work is done, as by the original."""
    proto = model("(float[n] x) => (float[a] y) { z = com.acme.Foo (x) y = Relu (z) }", domains=', "com.acme" : 1')
    with pytest.raises(IncompleteInference):
        quant_pre_process(proto, tmp_path / "out.onnx")
    assert list(tmp_path.iterdir()) == []
    quant_pre_process(proto, tmp_path / "out.onnx", skip_symbolic_shape=True)
    assert [message for message in caplog.messages if "onnxruntime does not optimize" in message and "Foo" in message]
    assert [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node] == ["Foo", "Relu"]


def test_without_onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'gather-infer\[onnxruntime\]'"):
        quant_pre_process(network(), tmp_path / "out.onnx")
    quant_pre_process(network(), tmp_path / "out.onnx", skip_optimization=True)
    assert (tmp_path / "out.onnx").exists()


def test_missing_arguments() -> None:
    with pytest.raises(UsageError, match="needs input_model and output_model_path"):
        quant_pre_process(network())


def test_the_old_name_of_the_input(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "in.onnx")
    quant_pre_process(output_model_path=tmp_path / "out.onnx", input_model_path=tmp_path / "in.onnx")
    assert (tmp_path / "out.onnx").exists()


def test_false_is_false(tmp_path: Path) -> None:
    """The original takes every text for true, also False."""
    onnx.save(network(), tmp_path / "in.onnx")
    paths = ["--input", str(tmp_path / "in.onnx"), "--output", str(tmp_path / "out.onnx")]
    assert drop_in.main([*paths, "--skip_optimization", "False"]) == 0
    assert len(onnx.load(tmp_path / "out.onnx").graph.node) == 2


def test_the_first_inference_is_that_of_symbolic_shape_infer(tmp_path: Path) -> None:
    quant_pre_process(network(), tmp_path / "out.onnx", skip_optimization=True)
    assert dims(onnx.load(tmp_path / "out.onnx")) == dims(SymbolicShapeInference.infer_shapes(network()))
