"""1 000 generated legal cases per operator of the gather family, against onnxruntime and OpenVINO.

Each case is inferred once with some dims made symbols, constants (partly) known, ranks unknown; the answer, evaluated
at the true sizes, has to agree with the run in dtype, shape, values and span, and must not be less precise than the
inputs allow.
"""

from __future__ import annotations

import io
import pickle
import random
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from gather_infer.ops.microsoft import gather as gather_contrib
from gather_infer.ops.onnx import gather as gather_rules
from gather_infer.ops.onnx import ml
from gather_infer.ops.openvino import gather as gather_openvino
from gather_infer.rules import RuleSet
from gather_infer.tensor import DType
from tests.oracle.gather_generated import (
    DTYPES,
    Case,
    Generator,
    abstract,
    block_quantized,
    check,
    features,
    gather,
    gather_elements,
    gather_nd,
    generate,
    openvino_elements,
    openvino_gather,
    openvino_nd,
    openvino_tree,
)

COUNT = 1000
NODES = 50
ABSTRACTIONS = 3

RULES: dict[str, RuleSet] = {
    r.domain: r for r in (gather_rules.rules, ml.rules, gather_contrib.rules, gather_openvino.rules)
}
TYPES = ("float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
         "uint64", "object")  # fmt: skip

RUNTIME: dict[str, Generator] = {
    "Gather": lambda rng: gather(rng, rng.choice((9, 11, 12, 13, 21))),
    "Gather, every type": lambda rng: gather(rng, 13, dtype=rng.choice(TYPES)),
    "GatherElements": lambda rng: gather_elements(rng, rng.choice((11, 13, 21))),
    "GatherND": lambda rng: gather_nd(rng, rng.choice((12, 13, 21))),
    "GatherND-11": partial(gather_nd, version=11, batch=False),
    "com.microsoft.GatherND": partial(gather_nd, version=1, batch=False, domain="com.microsoft"),
    "ArrayFeatureExtractor": features,
    "GatherBlockQuantized": block_quantized,
}

OPENVINO: dict[str, Generator] = {
    "Gather": openvino_gather,
    "GatherElements": openvino_elements,
    "GatherND": openvino_nd,
    "GatherTree": openvino_tree,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", RUNTIME)
def test_onnxruntime(name: str) -> None:
    cases = generate(RUNTIME[name], COUNT, seed=len(name))
    results: list[Any] = []
    ordered = sorted(cases, key=lambda case: case.version)
    for _, same in groupby(ordered, key=lambda case: case.version):
        batch = list(same)
        for start in range(0, len(batch), NODES):
            results += run_onnxruntime(batch[start : start + NODES])
    assert compare(ordered, results) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OPENVINO)
def test_openvino(name: str) -> None:
    cases = generate(OPENVINO[name], COUNT, seed=len(name))
    results, reasons = run_openvino(cases)
    ran = [(case, result) for case, result in zip(cases, results, strict=True) if result is not None]
    assert len(ran) >= 0.9 * COUNT, reasons
    assert compare([case for case, _ in ran], [result for _, result in ran]) == []


def compare(cases: list[Case], results: list[Any]) -> list[str]:
    """A line for each fact that is wrong or too weak."""
    wrong = []
    for number, (case, truth) in enumerate(zip(cases, results, strict=True)):
        for attempt in range(ABSTRACTIONS):
            known = abstract(case, random.Random(ABSTRACTIONS * number + attempt))
            fault = check(case, known, RULES[case.domain], truth)
            if fault:
                given = ", ".join(map(str, known.inputs))
                wrong.append(f"{case.operator}-{case.version}({given}, {case.attributes}): {fault}")
    return wrong


def run_onnxruntime(cases: list[Case]) -> list[np.ndarray[Any, Any]]:
    """The results of cases of one version, run as one model."""
    nodes, inputs, initializers, outputs = [], [], [], []
    feeds: dict[str, Any] = {}
    for number, case in enumerate(cases):
        names = [f"in_{number}_{i}" for i in range(len(case.arrays))]
        for i, (name, given) in enumerate(zip(names, case.arrays, strict=True)):
            dtype = case.dtypes.get(i, DTYPES[str(given.dtype)])
            if dtype in (DType.INT4, DType.UINT4):
                initializers.append(helper.make_tensor(name, int(dtype), given.shape, given.reshape(-1).tolist()))
                continue
            # onnxruntime takes the dims of scales and zero points for constants.
            shape = given.shape if case.operator == "GatherBlockQuantized" else [None] * given.ndim
            inputs.append(helper.make_tensor_value_info(name, int(dtype), shape))
            feeds[name] = given
        nodes.append(
            helper.make_node(
                case.operator, names, [f"out_{number}"], domain=case.domain, **dict[str, Any](case.attributes)
            )
        )
        outputs.append(onnx.ValueInfoProto(name=f"out_{number}"))
    domain = cases[0].domain
    opsets = [helper.make_opsetid("", 21 if domain else cases[0].version)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results: list[np.ndarray[Any, Any]] = [np.asarray(out) for out in session.run(None, feeds)]
    return results


def run_openvino(cases: list[Case]) -> tuple[list[np.ndarray[Any, Any] | None], Counter[str]]:
    """The results, None for a case that OpenVINO rejects or does not survive; and why, how often."""
    results: list[np.ndarray[Any, Any] | None] = []
    reasons: Counter[str] = Counter()
    jobs = [(case.operator, case.version, case.attributes, case.arrays) for case in cases]
    groups = [jobs[start : start + NODES] for start in range(0, len(jobs), NODES)]
    while groups:
        answers, end = _run_worker(groups)
        while groups and len(answers) >= len(groups[0]):
            for error, result in answers[: len(groups[0])]:
                results.append(result)
                if result is None:
                    reasons[error] += 1
            del answers[: len(groups.pop(0))]
        if groups and len(groups[0]) > 1:
            groups[:1] = [[job] for job in groups[0]]  # one of them kills the child
        elif groups:
            groups.pop(0)
            results.append(None)
            reasons[end] += 1
    return results, reasons


def _run_worker(groups: list[list[Any]]) -> tuple[list[tuple[str, Any]], str]:
    """The answers that a child gave, and how it ended."""
    worker = Path(__file__).with_name("openvino_worker.py")
    try:
        done = subprocess.run(
            [sys.executable, str(worker)], input=pickle.dumps(groups), capture_output=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired as slow:
        return _answers(slow.stdout or b""), "the child was too slow"
    return _answers(done.stdout), f"the child ended with {done.returncode}"


def _answers(stream: bytes) -> list[tuple[str, Any]]:
    """The complete answers of a child that may have died in the middle of one."""
    found = []
    answers = io.BytesIO(stream)
    while answers.tell() < len(stream):
        try:
            found.append(pickle.load(answers))
        except (pickle.UnpicklingError, EOFError):
            break
    return found
