"""Whole networks: IRs that OpenVINO makes of the fixtures, converted, beside what OpenVINO gives for the IR."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

from gather_infer.errors import GatherInferError
from gather_infer.openvino import convert
from tests.openvino.judge import unequal

ROOT = Path(__file__).parents[2]
SECONDS = 900
TOLERANCE = 1e-4
"""Of floats, relative to the largest of an output: a network adds up what single layers may be apart."""

NOT_READ = {
    "embedding-bag-dynamo": "OpenVINO's importer does not take a Loop over a sequence",
    "gnn-torchscript": "OpenVINO's importer takes branches with unequal outputs for wrong",
}
"""Fixtures that OpenVINO makes no IR of."""


def made(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Makes and records the IRs; by name why there is none, "" where there is."""
    log = folder / "log.jsonl"
    left = list(names)
    while left:
        command = [sys.executable, "-m", "tests.openvino.networks_worker", str(folder), *left]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=SECONDS, cwd=ROOT)
        entries = [json.loads(line) for line in log.read_text().splitlines()]
        if entries[-1]["stage"] != "begun":
            break
        with log.open("a") as file:
            file.write(json.dumps({"name": entries[-1]["name"], "stage": "failed", "reason": "OpenVINO ended"}) + "\n")
        left = left[left.index(entries[-1]["name"]) + 1 :]
    return {e["name"]: e.get("reason", "") for e in map(json.loads, log.read_text().splitlines())}


def differences(name: str, folder: Path) -> list[str]:
    """How the converted network differs from OpenVINO; empty when it does not."""
    path = folder / f"{name.replace(':', '-')}.xml"
    try:
        result = convert(path)
    except GatherInferError as error:
        return [f"{type(error).__name__}: {error}"]
    target = path.with_suffix(".onnx")
    result.save(target)
    try:
        onnx.checker.check_model(str(target), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return [f"onnx.checker: {error}"]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(target, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 (onnxruntime's own have no common base)
        return [f"onnxruntime: {error}"]
    found: list[str] = []
    for record in sorted(folder.glob(f"{path.stem}.[0-9].npz")):
        with np.load(record) as held:
            feeds = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
            feeds = {value.name: feeds[value.name] for value in session.get_inputs()}
            expected = [held[f"o{k}"] for k in range(len(held.files) - sum(k.startswith("i:") for k in held.files))]
        try:
            outputs = session.run(None, feeds)
        except Exception as error:  # noqa: BLE001
            found.append(f"{record.stem}: onnxruntime: {str(error)[:300]}")
            continue
        for output, ours, theirs in zip(session.get_outputs(), outputs, expected, strict=True):
            fault = unequal(np.asarray(ours), theirs, TOLERANCE)
            if fault:
                found.append(f"{record.stem}: {output.name}: {fault}")
    return found
