"""Whole networks: IRs that OpenVINO makes of the fixtures, converted, beside what OpenVINO gives for the IR."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from fixtures.feeds import spec_of
from gather_infer import infer
from gather_infer.diagnostic import Severity
from gather_infer.errors import GatherInferError
from gather_infer.openvino import convert
from gather_infer.tensor import SymbolicTensor
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
    return _worked("make", names, folder)


def read_back(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Has OpenVINO read and run what we converted; by name why it does not, "" where it does."""
    return _worked("back", names, folder)


def _worked(task: str, names: Sequence[str], folder: Path) -> dict[str, str]:
    log = folder / f"{task}.jsonl"
    left = list(names)
    while left:
        command = [sys.executable, "-m", "tests.openvino.networks_worker", task, str(folder), *left]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=SECONDS, cwd=ROOT)
        entries = [json.loads(line) for line in log.read_text().splitlines()]
        if entries[-1]["stage"] != "begun":
            break
        with log.open("a") as file:
            file.write(json.dumps({"name": entries[-1]["name"], "stage": "failed", "reason": "OpenVINO ended"}) + "\n")
        left = left[left.index(entries[-1]["name"]) + 1 :]
    return {e["name"]: e.get("reason", "") for e in map(json.loads, log.read_text().splitlines())}


def ir_of(name: str, folder: Path) -> Path:
    return folder / f"{name.replace(':', '-')}.xml"


def differences(name: str, folder: Path) -> list[str]:
    """How the converted network differs from OpenVINO; empty when it does not."""
    path = ir_of(name, folder)
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
    for record, given, expected in _records(path):
        feeds = {value.name: given[value.name] for value in session.get_inputs()}
        try:
            outputs = session.run(None, feeds)
        except Exception as error:  # noqa: BLE001
            found.append(f"{record}: onnxruntime: {str(error)[:300]}")
            continue
        found += _unequal(record, [value.name for value in session.get_outputs()], outputs, expected)
    return found


def differences_back(name: str, folder: Path) -> list[str]:
    """How OpenVINO with the converted network differs from OpenVINO with the IR; empty when it does not.

    After `differences`, which converts it, and `read_back`, which runs it.
    """
    path = ir_of(name, folder)
    found: list[str] = []
    for record, _, expected in _records(path):
        with np.load(folder / f"{record}.back.npz") as held:
            outputs = [held[f"o{k}"] for k in range(len(held.files))]
        found += _unequal(record, [f"output {k}" for k in range(len(expected))], outputs, expected)
    return found


def wrong_facts(name: str, folder: Path) -> list[str]:
    """Errors of `infer` on the IR, above all against the types that its ports declare."""
    known = infer(ir_of(name, folder))
    return [f"{d.code} {d.message}" for d in known.diagnostics if d.code == "GI201" or d.severity is Severity.ERROR]


def open_dims(name: str, folder: Path) -> list[str]:
    """Dims that are no number, no expression in the symbols of the inputs, and do not depend on data either.

    An IR has no names for dims and no size is said to be at least 1, so two dims of `?` that a network adds may be 1
    each, and a Reshape may copy a 0. Here they have the names of the fixture, and are at least what the runs have: an
    image that is smaller than the kernels of its convolutions may leave an axis of 0, which OpenVINO goes on with.
    """
    spec = spec_of(name.partition(":")[0])
    path = ir_of(name, folder)
    inputs = [
        f"{key}=[{', '.join(map(str, given.shape))}]" for key, given in spec.inputs.items() if key in infer(path).inputs
    ]
    least = {symbol: max(1, min(sizes[symbol] for sizes in spec.bindings)) for symbol in sorted(spec.bindings[0])}
    known = infer(path, inputs=inputs, dims=[f"{symbol}={size}.." for symbol, size in least.items()])
    found: list[str] = []
    for value, fact in known.items():
        if not isinstance(fact, SymbolicTensor):
            continue
        if fact.shape is None:
            found.append(f"{value}: rank not known")
            continue
        made_up = {symbol for dim in fact.shape if not isinstance(dim, int) for symbol in dim.symbols}
        causes = [known.causes[symbol] for symbol in sorted(made_up & known.causes.keys())]
        found += [f"{value}: {fact}: {cause.reason}" for cause in causes if not cause.data_dependent]
    return found


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """The records of an IR: their stem, inputs by name, what OpenVINO gives."""
    for record in sorted(path.parent.glob(f"{path.stem}.[0-9].npz")):
        with np.load(record) as held:
            feeds = {key[2:]: held[key] for key in held.files if key.startswith("i:")}
            expected = [held[f"o{k}"] for k in range(len(held.files) - len(feeds))]
        yield record.stem, feeds, expected


def _unequal(record: str, names: Sequence[str], ours: Sequence[Any], theirs: Sequence[Any]) -> list[str]:
    faults = [unequal(np.asarray(a), b, TOLERANCE) for a, b in zip(ours, theirs, strict=True)]
    return [f"{record}: {name}: {fault}" for name, fault in zip(names, faults, strict=True) if fault]
