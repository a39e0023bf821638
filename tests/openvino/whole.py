"""Whole models, converted and run step by step in onnxruntime, beside what OpenVINO gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

from gather_infer import convert
from gather_infer.errors import GatherInferError
from gather_infer.openvino import ConversionResult
from gather_infer.openvino.weights import WeightFormat
from gather_infer.symbolic import evaluate, parse_dim
from tests.openvino.judge import unequal

ROOT = Path(__file__).parents[2]
TOLERANCE = 1e-4


def made(names: Sequence[str], folder: Path) -> dict[str, Path]:
    """The IRs of models by name, made by OpenVINO in a process that is started anew when one ends it."""
    log, first = folder / "log.jsonl", 0
    while first < len(names):
        command = [sys.executable, "-m", "tests.openvino.whole_worker", str(folder), str(first), *names]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=300, cwd=ROOT)
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        if not entries or entries[-1]["number"] < first:
            raise RuntimeError(f"the process with OpenVINO does not start: {' '.join(command[:4])}")
        first = entries[-1]["number"] + 1
    stages = {entry["number"]: entry for entry in map(json.loads, log.read_text().splitlines())}
    failed = {names[k]: entry.get("reason", "ended") for k, entry in stages.items() if entry["stage"] != "done"}
    assert not failed, failed
    return {name: folder / f"{number}.xml" for number, name in enumerate(names)}


def first_states(result: ConversionResult, feeds: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Initial values of the state inputs: of the shape that the result reports, else of the input's."""
    sizes: dict[str, int] = {}
    declared = {value.name: value.type.tensor_type for value in result.proto.graph.input}
    for name, array in feeds.items():
        sizes |= {
            dim.dim_param: n for dim, n in zip(declared[name].shape.dim, array.shape, strict=True) if dim.dim_param
        }
    state: dict[str, Any] = {}
    for variable in result.variables:
        if variable.initial == "constant" or not variable.past:
            continue
        dims = [dim.dim_value for dim in declared[variable.past].shape.dim]
        if variable.shape:
            dims = [evaluate(parse_dim(text), sizes) for text in variable.shape[1:-1].split(",") if text.strip()]
        state[variable.past] = np.zeros(dims, np.float32)
    return state


def differences(path: Path, weights: WeightFormat = "dequantize", **options: Any) -> list[str]:
    """How a converted model differs from OpenVINO at any of the steps; empty when it does not."""
    try:
        result = convert(path, weights=weights, **options)
    except GatherInferError as error:
        return [f"{type(error).__name__}: {error}"]
    target = path.with_name(f"{path.stem}-{weights}.onnx")
    result.save(target)
    if result.proto.ir_version <= onnx.IR_VERSION:
        onnx.checker.check_model(str(target), full_check=True)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    session = ort.InferenceSession(target, settings, providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]
    state: dict[str, Any] = {}
    reset = next((variable.reset for variable in result.variables if variable.reset), "")
    found: list[str] = []
    steps = sorted(path.parent.glob(f"{path.stem}.*.npz"), key=lambda one: int(one.suffixes[0][1:]))
    for number, step in enumerate(steps):
        with np.load(step) as held:
            feeds = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
            feeds = {key: array for key, array in feeds.items() if key not in result.dropped_inputs}
            expected = [held[f"o:{k}"] for k in range(sum(key.startswith("o:") for key in held.files))]
        state = state or first_states(result, feeds)
        if reset:
            feeds[reset] = np.array(number == 0)
        ran = session.run(None, {**feeds, **state})
        by_name = dict(zip(outputs, ran, strict=True))
        state |= {v.past: by_name[v.present] for v in result.variables if v.past and v.present}
        for position, theirs in enumerate(expected):
            fault = unequal(np.asarray(ran[position]), theirs, TOLERANCE)
            if fault:
                found.append(f"step {number}, output {position}: {fault}")
    return found
