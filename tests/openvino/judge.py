"""Compare OpenVINO on the cases of a module with the converted models in onnxruntime."""

from __future__ import annotations

import importlib
import json
import operator
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import ModelProto

from gather_infer import Inference, convert, infer
from gather_infer.errors import GatherInferError
from gather_infer.symbolic import Expr, evaluate, free_symbols
from gather_infer.tensor import SymbolicTensor, dtype_of_array
from tests.openvino.cases import Case

SECONDS = 300
"""For all cases of a module, and a quarter more for each; one that never ends costs the rest."""


CAPABILITIES = """
import openvino
print(*openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))
"""


def capabilities() -> set[str]:
    """The types in which OpenVINO's CPU plugin computes on this machine, as FP32 or BF16, and other features."""
    done = subprocess.run([sys.executable, "-c", CAPABILITIES], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@dataclass(frozen=True, slots=True)
class Recorded:
    """A case that OpenVINO was asked about; `reason` tells why there are no outputs."""

    name: str
    variant: str
    case: Case
    path: Path
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.variant})"

    def arrays(self, letter: str) -> list[npt.NDArray[Any]]:
        with np.load(self.path.with_suffix(".npz")) as held:
            return [held[f"{letter}{k}"] for k in range(len(held.files)) if f"{letter}{k}" in held.files]


def recorded(module: str, folder: Path) -> list[Recorded]:
    """Every case of a module, run by OpenVINO in a process that is started anew when a case ends it."""
    cases: dict[str, Case] = importlib.import_module(module).CASES
    tasks = [(name, variant) for name, case in cases.items() for variant in case.variants]
    log = folder / "log.jsonl"
    first = 0
    while first < len(tasks):
        command = [sys.executable, "-m", "tests.openvino.judge_worker", module, str(folder), str(first)]
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=SECONDS + len(tasks) / 4, cwd=_root())
        entries = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        reached = entries[-1]["number"] if entries else -1
        if reached < first:
            raise RuntimeError(f"the process with OpenVINO does not start: {' '.join(command)}")
        if entries[-1]["stage"] == "begun":
            with log.open("a") as file:
                file.write(
                    json.dumps({"number": reached, "stage": "failed", "reason": "OpenVINO ended or hung"}) + "\n"
                )
        first = reached + 1
    reasons = {e["number"]: e.get("reason", "") for e in map(json.loads, log.read_text().splitlines())}
    return [
        Recorded(name, variant, cases[name], folder / str(k), reasons.get(k, ""))
        for k, (name, variant) in enumerate(tasks)
    ]


def _root() -> Path:
    return Path(__file__).parents[2]


def difference(one: Recorded, opset: int | None = None) -> str:
    """How the model that is converted to an opset differs from OpenVINO, "" when it does not."""
    if one.reason:
        return f"OpenVINO: {one.reason}"
    try:
        made = convert(one.path.with_suffix(".xml"), opset=opset)
    except GatherInferError as error:
        return f"{type(error).__name__}: {error}"
    if refusal := refused_by_checker(made.proto, one.path.with_suffix(".onnx")):
        return refusal
    feeds = dict(zip((i.name for i in made.proto.graph.input), one.arrays("i"), strict=True))
    try:
        found = onnxruntime_of(made.proto, one.path.with_suffix(".onnx")).run(None, feeds)
    except Exception as error:  # noqa: BLE001 (onnxruntime's own have no common base)
        return f"onnxruntime: {str(error)[:300]}"
    for position, (ours, theirs) in enumerate(zip(found, one.arrays("o"), strict=True)):
        fault = unequal(np.asarray(ours), theirs, one.case.rtol)
        if fault:
            return f"output {position}: {fault}"
    return ""


def wrong_facts(one: Recorded) -> str:
    """Facts of `infer` about the outputs of an IR, or about all its runs, that OpenVINO contradicts; "" when none."""
    if one.reason:
        return ""
    known = infer(one.path.with_suffix(".xml"), assume=False)
    sizes: dict[str, int] = {}
    for name, array in zip(known.inputs, one.arrays("i"), strict=True):
        fact = known[name]
        dims = fact.shape if isinstance(fact, SymbolicTensor) and fact.shape is not None else ()
        sizes |= {
            dim.name: n for dim, n in zip(dims, array.shape, strict=False) if isinstance(dim, Expr) and dim.is_symbol
        }
    if broken := _broken(known, sizes):
        return f"it runs, though every run is said to need {broken}"
    for name, array in zip(known.outputs, one.arrays("o"), strict=True):
        fact = known[name]
        assert isinstance(fact, SymbolicTensor), "outputs of a case are tensors"
        dtype = dtype_of_array(array.dtype)
        if fact.dtype is not None and int(fact.dtype) != dtype:
            return f"{name} is said to be {fact.dtype}, is {array.dtype}"
        shape = fact.shape
        if shape is None:
            continue
        told = [None if free_symbols(dim) - sizes.keys() else evaluate(dim, sizes) for dim in shape]
        if len(told) != array.ndim or any(n is not None and n != m for n, m in zip(told, array.shape, strict=True)):
            return f"{name} is said to be {told}, is {array.shape}"
    return ""


def _broken(known: Inference, sizes: Mapping[str, int]) -> str:
    """Constraints on input sizes that these sizes violate."""
    needs = [((c.left, c.relation, c.right),) for c in known.constraints] + [
        d.any_of for d in known.implied_constraints if not d.runtime
    ]
    for any_of in needs:
        told = all(free_symbols(left) | free_symbols(right) <= sizes.keys() for left, _, right in any_of)
        if told and not any(_HOLDS[how](evaluate(a, sizes), evaluate(b, sizes)) for a, how, b in any_of):
            return " or ".join(f"{a} {how} {b}" for a, how, b in any_of)
    return ""


_HOLDS = {"==": operator.eq, "<=": operator.le, "<": operator.lt, ">=": operator.ge}


def refused_by_checker(proto: ModelProto, path: Path) -> str:
    """Why onnx refuses a model, its own shape inference included; "" when it does not."""
    path.write_bytes(proto.SerializeToString())
    try:
        onnx.checker.check_model(path, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return f"onnx.checker: {str(error)[:300]}"
    return ""


def onnxruntime_of(proto: ModelProto, path: Path) -> ort.InferenceSession:
    """The model with the runtime's own optimiser off; it stands beside the weights of the IR."""
    path.write_bytes(proto.SerializeToString())
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def unequal(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], rtol: float | None) -> str:
    """How two arrays differ: in type, shape, or elements beyond the tolerance; "" when they do not."""
    if ours.dtype.kind in "OUS" or theirs.dtype.kind in "OUS":
        return "" if ours.astype(str).tolist() == theirs.astype(str).tolist() else "texts differ"
    if ours.dtype != theirs.dtype:
        return f"{ours.dtype}, not {theirs.dtype}"
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, not {theirs.shape}"
    if ours.dtype.kind not in "fc" and ours.dtype.name != "bfloat16":
        return "" if np.array_equal(ours, theirs) else f"{_worst(ours, theirs)}"
    wide, expected = ours.astype(np.float64), theirs.astype(np.float64)
    limit = rtol if rtol is not None else 1e-5 if ours.dtype.itemsize >= 4 else 1e-3
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 0.0
    close = np.isclose(wide, expected, rtol=limit, atol=limit * min(scale, 1.0), equal_nan=True)
    return "" if close.all() else _worst(ours, theirs)


def _worst(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> str:
    with np.errstate(all="ignore"):
        gap = np.abs(np.nan_to_num(ours.astype(np.float64)) - np.nan_to_num(theirs.astype(np.float64)))
    at = np.unravel_index(int(gap.argmax()), gap.shape) if gap.size else ()
    return f"at {tuple(map(int, at))} {ours[at]!r}, not {theirs[at]!r}; {int((gap > 0).sum())} of {gap.size} differ"


def assert_equal_to_openvino(module: str) -> None:
    """Every case of a module, converted, gives what OpenVINO gives, and what is inferred of it is so."""
    with tempfile.TemporaryDirectory() as folder:
        cases = recorded(module, Path(folder))
        assert cases, f"{module} has no cases"
        faults = {str(one): fault for one in cases if (fault := difference(one) or wrong_facts(one))}
    assert not faults, f"{len(faults)} of {len(cases)}:\n" + "\n".join(f"  {k}: {v}" for k, v in faults.items())


if __name__ == "__main__":
    assert_equal_to_openvino(sys.argv[1])
