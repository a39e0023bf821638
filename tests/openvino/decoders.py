"""Stateful decoders, converted and run step by step, each step with what the one before has left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

from gather_infer.errors import GatherInferError
from gather_infer.openvino import convert
from tests.openvino.decoders_worker import BATCH, STEPS, State, steps
from tests.openvino.judge import unequal

TOLERANCE = 1e-4


def differences(
    name: str, folder: Path, weights: Literal["dequantize", "contrib", "float"] = "dequantize"
) -> list[str]:
    """How a converted decoder differs from OpenVINO at any of the steps; empty when it does not."""
    path = folder / f"{name.replace(':', '-')}.xml"
    try:
        result = convert(path, weights=weights)
    except GatherInferError as error:
        return [f"{type(error).__name__}: {error}"]
    target = path.with_name(f"{path.stem}-{weights}.onnx")
    result.save(target)
    onnx.checker.check_model(str(target))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
    inputs = {value.name: value for value in session.get_inputs()}
    outputs = [value.name for value in session.get_outputs()]
    state = State(
        first={v.past: _first(inputs[v.past].shape) for v in result.variables if v.initial != "constant"},
        present={v.past: v.present for v in result.variables},
        is_reset=any(v.initial == "computed" for v in result.variables),
    )
    ran = steps(path, state, lambda feeds: dict(zip(outputs, session.run(None, feeds), strict=True)))
    state.held = held_by_inputs(target)
    state.save(target)
    return _unequal(path, ran)


def differences_back(name: str, folder: Path, weights: str) -> list[str]:
    """How OpenVINO with the converted decoder differs from OpenVINO with the IR; empty when it does not.

    After `differences`, which converts it, and the worker's `back`, which runs it.
    """
    stem = f"{name.replace(':', '-')}-{weights}"
    ran: list[dict[str, Any]] = []
    for step in range(len(STEPS)):
        with np.load(folder / f"{stem}.{step}.back.npz") as held:
            ran.append({key: held[key] for key in held.files})
    return _unequal(folder / f"{name.replace(':', '-')}.xml", ran)


def held_by_inputs(target: Path) -> dict[str, Any]:
    """The default values of inputs, which are initializers of their names."""
    graph = onnx.load(target).graph
    inputs = {value.name for value in graph.input}
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer if tensor.name in inputs}


def _unequal(path: Path, ran: Sequence[Mapping[str, Any]]) -> list[str]:
    found: list[str] = []
    for step, outputs in enumerate(ran):
        with np.load(path.with_name(f"{path.stem}.{step}.npz")) as held:
            expected = {key[2:]: held[key] for key in held.files if key.startswith("o:")}
        faults = {name: unequal(np.asarray(outputs[name]), theirs, TOLERANCE) for name, theirs in expected.items()}
        found += [f"step {step}: {name}: {fault}" for name, fault in faults.items() if fault]
    return found


def _first(shape: list[Any]) -> Any:
    """No elements: the batch is that of the tokens, nothing is past yet."""
    return np.zeros(
        [d if isinstance(d, int) else BATCH if axis == 0 else 0 for axis, d in enumerate(shape)], np.float32
    )
