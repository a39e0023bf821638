"""ONNX's node models by way of OpenVINO and back: equal to OpenVINO on the IR, or else to what ONNX says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import numpy_helper

from gather_infer.errors import GatherInferError
from gather_infer.openvino import convert
from tests.onnx_versions import has_types_of
from tests.openvino.cases import Case
from tests.openvino.judge import Recorded, difference, onnxruntime_of, unequal, wrong_facts
from tests.openvino.node_models_worker import node_models

ROOT = Path(__file__).parents[2]
SECONDS = 3000
TOLERANCE = 1e-4
"""Of the expanded functions of ONNX, which are many layers."""

EXCEPTIONS: Final[Mapping[str, str]] = {
    # names: why neither witness is asked
    r"bernoulli_.*expanded": "RandomUniform has a random stream of its own, and is refused",
    r"cast_(no_saturate_)?FLOAT(16)?_to_(FLOAT8E4M3FN|FLOAT8E5M2|INT4|UINT4|BFLOAT16)": "numpy has no such outputs",
    r"cast_(e8m0_)?FLOAT(16)?_to_(FLOAT4E2M1|FLOAT8E8M0)": "onnxruntime has no such Cast, so it is refused",
    r"attention_.*(fullymasked|softmax_precision|structural_empty|nan_robustness|rank4_mask)_?.*expanded": (
        "OpenVINO takes away what keeps NaN out of a Softmax"
    ),
    r"bitshift_(left|right)_int.*": "OpenVINO's importer makes divisions of shifts, which its plugin rounds otherwise",
    r"div_int32_trunc": "the IR says m_pythondiv, which its page and ours round down; OpenVINO's plugin truncates",
    r"top_k_same_values.*": "ties come in any order",
    r"dft.*": "differs by rounding of sums: at most 1e-5 of the largest element",
}


def made(mode: str, folder: Path, every: int = 1) -> list[str]:
    """Makes and records the IRs of each `every`th model; the names of those that OpenVINO ran."""
    log, first, count = folder / "log.jsonl", 0, len(node_models())
    while first < count:
        command = [sys.executable, "-m", "tests.openvino.node_models_worker", str(folder), mode, str(first), str(every)]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=SECONDS, cwd=ROOT)
        entries = [json.loads(line) for line in log.read_text().splitlines()]
        if entries[-1]["stage"] != "begun":
            break
        first = entries[-1]["number"] + every
    return [e["name"] for e in map(json.loads, log.read_text().splitlines()) if e["stage"] == "done"]


def faults(mode: str, folder: Path, every: int = 1) -> tuple[int, dict[str, str]]:
    """How many models were compared, and of which neither witness says the same."""
    models = {case.name: case for case in node_models()}
    names = made(mode, folder, every)
    found: dict[str, str] = {}
    for name in names:
        if any(re.fullmatch(f"test_{pattern}", name) for pattern in EXCEPTIONS) or not has_types_of(models[name].model):
            continue
        one = Recorded(name, "static", Case(lambda _: None, rtol=TOLERANCE), folder / name)
        fault = difference(one)
        if fault and _is_what_onnx_says(one, models[name]):
            continue
        fault = fault or wrong_facts(one)
        if fault:
            found[name] = fault
    return len(names), found


def _is_what_onnx_says(one: Recorded, case: Any) -> bool:
    """Whether the converted model gives the outputs that ONNX records for the node."""
    try:
        result = convert(one.path.with_suffix(".xml"))
    except GatherInferError:
        return False
    session = onnxruntime_of(result.proto, one.path.with_suffix(".onnx"))
    inputs, outputs = case.data_sets[0]
    given = {value.name: array for value, array in zip(case.model.graph.input, map(_array, inputs), strict=True)}
    feeds = {value.name: given[value.name] for value in session.get_inputs()}
    found = session.run(None, feeds)
    pairs = zip(found, map(_array, outputs), strict=False)
    return all(not unequal(np.asarray(ours), np.asarray(theirs), 1e-3) for ours, theirs in pairs)


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
