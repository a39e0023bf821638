"""Stateful decoders, converted and run step by step, each step with what the one before has left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime as ort

from gather_infer.errors import GatherInferError
from gather_infer.openvino import convert
from tests.openvino.decoders_worker import BATCH, STEPS
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
    state: dict[str, Any] = {v.past: _first(inputs[v.past].shape) for v in result.variables if v.initial != "constant"}
    if any(v.initial == "computed" for v in result.variables):
        state["reset_state"] = np.array(True)
    found: list[str] = []
    for step in range(len(STEPS)):
        with np.load(folder / f"{path.stem}.{step}.npz") as held:
            feeds = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
            expected = {key[2:]: held[key] for key in held.files if key.startswith("o:")}
        ran = dict(zip(outputs, session.run(None, {**feeds, **state}), strict=True))
        state |= {v.past: ran[v.present] for v in result.variables}
        state |= {"reset_state": np.array(False)} if "reset_state" in state else {}
        for output, theirs in expected.items():
            fault = unequal(np.asarray(ran[output]), theirs, TOLERANCE)
            if fault:
                found.append(f"step {step}: {output}: {fault}")
    return found


def _first(shape: list[Any]) -> Any:
    """No elements: the batch is that of the tokens, nothing is past yet."""
    return np.zeros(
        [d if isinstance(d, int) else BATCH if axis == 0 else 0 for axis, d in enumerate(shape)], np.float32
    )
