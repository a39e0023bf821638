"""The IRs of fixtures/openvino, converted, beside the runs that were recorded of OpenVINO: none is needed here.

That make.py gives the same bytes again needs the OpenVINO of the manifest: `python -m fixtures.openvino.make --check`.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

from gather_infer import check, convert, infer
from gather_infer.model import save
from gather_infer.model.paths import bodies
from gather_infer.openvino.ir import read_ir
from gather_infer.openvino.weights import WeightFormat
from gather_infer.symbolic import evaluate, free_symbols
from tests.openvino.judge import unequal

FOLDER = Path(__file__).parents[2] / "fixtures" / "openvino"
MANIFEST: dict[str, dict[str, Any]] = json.loads((FOLDER / "manifest.json").read_text())
TOLERANCE = 1e-4
"""Of floats, relative to the largest of an output."""

LAYERS = {
    "cnn": "Convolution GroupConvolution ConvolutionBackpropData PReLU MaxPool ReduceMean",
    "unet": "Interpolate Concat ConvolutionBackpropData Slice",
    "detector-nms": "NonMaxSuppression GatherND",
    "detector-ssd": "PriorBoxClustered DetectionOutput",
    "recommender": "EmbeddingBagOffsetsSum Gather",
    "lstm": "LSTMSequence",
    "gru": "GRUSequence",
    "branches": "If",
    "loop": "Loop",
    "tensor-iterator": "TensorIterator",
    "half": "Convert Gelu MVN",
    "int8": "Convert Subtract Multiply",
    "int4": "Convert Subtract Multiply Reshape",
    "quantized": "FakeQuantize",
    "decoder": "ReadValue Assign",
}
"""What each network is there for."""

COMPRESSED = ("int8", "int4", "quantized")
FORMS = [form for form in get_args(WeightFormat) if form != "dequantize"]

each = pytest.mark.parametrize("name", LAYERS)


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.xml"


def recorded(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The runs: inputs and outputs by name."""
    with np.load(FOLDER / f"{name}.npz") as held:
        keys = [key.split(":", 2) for key in held.files]
        runs = sorted({number for number, _, _ in keys}, key=int)
        return [
            (
                {key: held[f"{run}:i:{key}"] for number, way, key in keys if (number, way) == (run, "i")},
                {key: held[f"{run}:o:{key}"] for number, way, key in keys if (number, way) == (run, "o")},
            )
            for run in runs
        ]


def test_the_manifest_lists_the_files() -> None:
    suffixes = (".xml", ".bin", ".npz")
    assert {path.name for path in FOLDER.iterdir() if path.suffix in suffixes} == {
        name + suffix for name in MANIFEST for suffix in suffixes
    }
    assert set(MANIFEST) == set(LAYERS)


@each
def test_bytes_are_those_of_the_manifest(name: str) -> None:
    files = [FOLDER / f"{name}.{suffix}" for suffix in ("xml", "bin")]
    assert {file.suffix[1:]: hashlib.sha256(file.read_bytes()).hexdigest() for file in files} == MANIFEST[name][
        "sha256"
    ]
    assert sum(file.stat().st_size for file in files) == MANIFEST[name]["bytes"] < 100 * 1024
    assert len(recorded(name)) == MANIFEST[name]["runs"] >= 2


@each
def test_it_has_what_it_is_there_for(name: str) -> None:
    proto = read_ir(path_of(name)).model.proto
    assert "weight." in str(proto)
    inside = {node.op_type for _, body in bodies(proto) for node in body.node}
    read = {type_name for type_name, _ in read_ir(path_of(name)).layers}
    assert set(LAYERS[name].split()) <= inside | read


@each
def test_no_weight_is_zero(name: str, tmp_path: Path) -> None:
    model = read_ir(path_of(name)).model
    save(model, model.proto, tmp_path / "whole.onnx", embed=True)
    proto = onnx.load(tmp_path / "whole.onnx")
    held = [tensor for _, body in bodies(proto) for tensor in body.initializer if tensor.name.startswith("weight.")]
    assert len(held) == MANIFEST[name]["weights"]
    for tensor in held:
        assert numpy_helper.to_array(tensor).all(), tensor.name


@pytest.mark.parametrize(
    ("name", "form"),
    [*((name, "dequantize") for name in LAYERS), *((name, form) for name in COMPRESSED for form in FORMS)],
)
def test_equal_to_the_recorded_runs(name: str, form: Any, tmp_path: Path) -> None:
    result = convert(path_of(name), weights=form)
    forms = {found.format for found in result.weights}
    assert bool(forms) == (name in COMPRESSED)
    assert forms <= ({form, "dequantize"} if form == "contrib" else {form})
    target = tmp_path / "converted.onnx"
    result.save(target)
    onnx.checker.check_model(target, full_check=form != "contrib")
    assert not check(target).errors
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    runs = recorded(name)
    assert names[: len(runs[0][1])] == list(runs[0][1])
    assert [value.name for value in session.get_inputs()][: len(runs[0][0])] == list(runs[0][0])
    state = {v.past: np.zeros((2, 0, 8), np.float32) for v in result.variables}
    faults = []
    for number, (feeds, expected) in enumerate(runs):
        ran = dict(zip(names, session.run(None, feeds | state), strict=True))
        state = {v.past: ran[v.present] for v in result.variables}
        compared = {key: unequal(np.asarray(ran[key]), theirs, TOLERANCE) for key, theirs in expected.items()}
        faults += [f"run {number}, {key}: {fault}" for key, fault in compared.items() if fault]
    assert not faults


@each
def test_inference_agrees_with_the_ports_and_the_runs(name: str) -> None:
    known = infer(path_of(name))
    assert not [d for d in known.diagnostics if d.code == "GI201"]
    assert not known.errors
    for feeds, expected in recorded(name):
        sizes: dict[str, int] = {}
        for key, array in feeds.items():
            for dim, size in zip(known[key].shape or (), array.shape, strict=True):
                if isinstance(dim, int):
                    assert dim == size, key
                else:
                    sizes[str(dim)] = size
        for key, array in expected.items():
            shape = known[key].shape
            assert shape is not None and len(shape) == array.ndim, key
            for dim, size in zip(shape, array.shape, strict=True):
                unbound = free_symbols(dim) - sizes.keys()
                assert unbound or evaluate(dim, sizes) == size, key
                assert all(known.causes[symbol].data_dependent for symbol in unbound), key


@each
def test_nothing_is_left_that_nobody_reads(name: str) -> None:
    """A computed initial value would be, whose variable is an input now; runtimes warn of it."""
    proto = convert(path_of(name)).proto
    whole = [body for _, body in bodies(proto)]
    read = {value for body in whole for node in body.node for value in node.input}
    read |= {value.name for body in whole for value in body.output}
    assert not [node.name for body in whole for node in body.node if read.isdisjoint(node.output)]
    assert not [tensor.name for body in whole for tensor in body.initializer if tensor.name not in read]


def test_what_became_of_weights_and_state() -> None:
    assert {v.name: (v.past, v.present, v.initial) for v in convert(path_of("decoder")).variables} == {
        f"past_key_values.0.{key}present.0.{key}": (f"past_key_values.0.{key}", f"present.0.{key}", "empty")
        for key in ("key", "value")
    }
    for name in ("int8", "int4"):
        assert [found.format for found in convert(path_of(name), weights="dequantize").weights] == ["dequantize"] * 2
        types = {node.op_type for node in convert(path_of(name), weights="contrib").proto.graph.node}
        assert "MatMulNBits" in types


def test_the_accuracy_of_weights_of_four_bits_in_onnxruntime(tmp_path: Path) -> None:
    """docs/convert.md: with its optimizations on it rounds activations, unless it is told not to."""
    feeds, expected = recorded("int4")[0]

    def error(form: WeightFormat, level: str | None) -> float:
        target = tmp_path / f"{form}.onnx"
        convert(path_of("int4"), weights=form).save(target)
        options = ort.SessionOptions()
        if level is not None:
            options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", level)
        ran = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
        return float(np.abs(ran - expected["y"]).max() / np.abs(expected["y"]).max())

    assert 1e-3 < error("dequantize", None) < 2e-2
    assert max(error("dequantize", "1"), error("contrib", None), error("float", None)) < 1e-6
