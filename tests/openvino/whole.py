"""Whole models, converted and run step by step in onnxruntime, beside what OpenVINO gives."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from gather_infer import convert
from gather_infer.errors import GatherInferError
from gather_infer.openvino import ConversionResult
from gather_infer.openvino.weights import Form
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


def first_states(result: ConversionResult, inputs: Any, sizes: int) -> dict[str, Any]:
    """What the inputs for state hold before the first step."""
    state: dict[str, Any] = {}
    for variable in result.variables:
        if variable.initial == "constant" or not variable.past:
            continue
        port = next(value for value in inputs if value.name == variable.past)
        dims = [size if isinstance(size, int) else sizes for size in port.shape]
        state[variable.past] = np.zeros(dims, np.float32)
    return state


def differences(path: Path, weights: Form = "dequantize", **options: Any) -> list[str]:
    """How a converted model differs from OpenVINO at any of the steps; empty when it does not."""
    try:
        result = convert(path, weights=weights, **options)
    except GatherInferError as error:
        return [f"{type(error).__name__}: {error}"]
    target = path.with_name(f"{path.stem}-{weights}.onnx")
    result.save(target)
    onnx.checker.check_model(str(target), full_check=True)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    session = ort.InferenceSession(target, settings, providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]
    state = first_states(result, session.get_inputs(), 0)
    computed = any(variable.initial == "computed" for variable in result.variables)
    reset = next((v.name for v in session.get_inputs() if v.type == "tensor(bool)"), "") if computed else ""
    found: list[str] = []
    steps = sorted(path.parent.glob(f"{path.stem}.*.npz"), key=lambda one: int(one.suffixes[0][1:]))
    for number, step in enumerate(steps):
        with np.load(step) as held:
            feeds = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
            expected = [held[f"o:{k}"] for k in range(sum(key.startswith("o:") for key in held.files))]
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
