"""Score every command on one model; one process each, since a model may crash it.

    python benchmarks/public_score.py MODEL [--runs N] [--memory GIB] [--seconds N]

Prints a line of JSON as soon as a step is done: {"step": NAME, ...}, "findings" are [kind, text] of what is wrong.

    load      whether onnxruntime loads the model and onnx.checker passes it, with full check
    infer     the inference, and every dim, rank, element type, element and bound of it in runs of onnxruntime, its
              optimisations off, every value of the main graph exposed
    check     no error, when the model runs within its contract
    optimize, fold   the result loads and is passed where the original is, gives the same bits, and is left as it is
              by a second run
    freeze    with the sizes of a run: the result loads, and gives the same bits
    contract  what runs is allowed

No step may end in an exception of another kind than the package documents.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import pkgutil
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random
import onnx
import onnxruntime
from drawn_feeds import draws
from google.protobuf.message import DecodeError
from onnxruntime.capi import onnxruntime_pybind11_state as state

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import gather_infer  # noqa: E402 - the folder of the tests is no package of ours
from gather_infer.verification.output_comparison import difference  # noqa: E402
from gather_infer.verification.tolerance import Tolerance  # noqa: E402
from tests.oracle.soundness import Runtime, compare  # noqa: E402

for package in ("gather_infer", "gather_infer_cli"):  # a process that is forked of this one has them all
    for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not found.name.endswith((".__main__", ".compat.olive")):  # Olive is not installed here
            import_module(found.name)

FAILURES: tuple[type[Exception], ...] = tuple(
    v for v in vars(state).values() if isinstance(v, type) and issubclass(v, Exception)
)
REFUSALS: tuple[type[Exception], ...] = (*FAILURES, RuntimeError, ValueError, TypeError)
"""What onnxruntime raises for a model or for feeds; the last two come of the binding."""

AGAIN = 5
"""Further runs of the original before a difference is believed: a random output may be equal by chance."""

SPECIAL = (-0.0, float("nan"), float("inf"), float("-inf"))
FLOAT16_TOLERANCE = Tolerance(0.02, 0.02)
OF_CHECKER = "GI115"
"""The code of what onnx.checker says."""

MAX_TEXT = 400
MAX_FINDINGS = 8
OUR_FAULT = 4
WITH_FINDINGS = 1


@dataclass(frozen=True)
class Limits:
    """Of what scores a model: seconds, of which a tenth may be spent on drawing inputs; GiB of address space; runs."""

    seconds: float
    memory: int
    runs: int


@dataclass
class Score:
    """State shared by the steps of one model."""

    path: Path
    folder: Path
    wanted: int
    seconds: float
    loads: bool = False
    passes: bool = False
    is_read: bool = True
    inference: gather_infer.Inference | None = None
    ran: list[tuple[dict[str, int], dict[str, Any]]] = field(default_factory=list)
    failed: list[tuple[dict[str, int], dict[str, Any], str]] = field(default_factory=list)

    def steps(self) -> Iterator[dict[str, Any]]:
        yield self.load()
        yield self.infer()
        yield self.contract()
        yield self.check()
        yield self.rewrite("optimize")
        yield self.rewrite("fold")
        yield self.freeze()

    def load(self) -> dict[str, Any]:
        why = loads(self.path)
        try:
            read(self.path)
        except DecodeError:
            self.is_read = False
        self.loads = not why
        self.passes = passes(self.path)
        return {"step": "load", "loads": self.loads, "passes": self.passes, "why": why, "findings": []}

    def infer(self) -> dict[str, Any]:
        result: dict[str, Any] = {"step": "infer", "dims": 0, "values": 0, "spans": 0, "runs": 0, "findings": []}
        done = command("infer", str(self.path), "-v")
        result["code"] = done.code
        if done.code == OUR_FAULT:
            return {**result, "findings": [["exception", done.errors]]}
        try:
            self.inference = gather_infer.infer(str(self.path))
        except gather_infer.GatherInferError as refusal:
            kind = [["refusal", str(refusal)]] if self.loads else []
            return {**result, "refused": str(refusal)[:MAX_TEXT], "findings": kind}
        errors = [str(found) for found in self.inference.diagnostics if found.severity is gather_infer.Severity.ERROR]
        result["errors"] = errors[:MAX_FINDINGS]
        if not self.loads:
            return result
        for actual, sizes, feeds in self.runs(result):
            self.ran.append((sizes, feeds))
            found = compare(self.inference, {**feeds, **actual}, sizes)
            result["runs"] += 1
            result["dims"] += found.dims
            result["values"] += found.values
            result["spans"] += found.spans
            if not found.assumption_fails:
                result["findings"] += [["wrong", f"{text} at {sizes}"] for text in found.wrong]
        return result

    def runs(self, result: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, int], dict[str, Any]]]:
        """Runs of the model on what is drawn within its verdicts: the values, the sizes, the feeds."""
        inference = self.inference
        assert inference is not None, "a model that is not inferred is not run"
        runtime = None
        started, got = time.monotonic(), 0
        for draw in draws(inference):
            if got >= self.wanted or time.monotonic() - started > self.seconds:
                break
            if draw.feeds is None:
                result["why_not_run"] = draw.why
                continue
            runtime = runtime or exposed_runtime(self.path)
            try:
                actual = runtime.run(draw.feeds)
            except REFUSALS as failure:
                result["why_not_run"] = str(failure)[:MAX_TEXT]
                self.failed.append((draw.sizes, draw.feeds, str(failure)))
            else:
                got += 1
                yield actual, draw.sizes, draw.feeds

    def contract(self) -> dict[str, Any]:
        result: dict[str, Any] = {"step": "contract", "findings": []}
        done = command("contract", str(self.path), "-v")
        result["code"] = done.code
        if done.code == OUR_FAULT:
            return {**result, "findings": [["exception", done.errors]]}
        try:
            contract = gather_infer.contract_of(str(self.path)).contract
        except gather_infer.GatherInferError as refusal:
            kind = [["refusal", str(refusal)]] if self.loads else []
            return {**result, "refused": str(refusal)[:MAX_TEXT], "findings": kind}
        result["lines"] = len(contract.lines)
        allowed = []
        for sizes, feeds in self.ran:
            violations = contract.check(feeds)
            allowed.append(not violations)
            result["findings"] += [["stricter", f"{found.text} at {sizes}"] for found in violations]
        for sizes, feeds, why in self.failed[:1]:
            if not done.code and not contract.open and not contract.check(feeds, strict=True):
                result["findings"].append(["looser", f"{why} at {sizes}"])
        self.ran = [run for run, is_allowed in zip(self.ran, allowed, strict=True) if is_allowed]
        return result

    def check(self) -> dict[str, Any]:
        done = command("check", str(self.path), "-v")
        if done.code == OUR_FAULT:
            return {"step": "check", "code": done.code, "findings": [["exception", done.errors]]}
        errors: list[list[str]] = []
        if self.ran and done.code == WITH_FINDINGS:
            found = gather_infer.check(str(self.path)).errors
            told = [error for error in found if self.passes or error.code != OF_CHECKER]
            errors = [["false error", f"{error.code} {error.message}"] for error in told]
        elif self.ran and done.code:
            errors = [["false error", done.errors]]
        return {"step": "check", "code": done.code, "findings": errors}

    def rewrite(self, name: str) -> dict[str, Any]:
        first, second = self.folder / f"{name}.onnx", self.folder / f"{name}-again.onnx"
        done = command(name, str(self.path), "-o", str(first), "-v", *self.external_data_options(first))
        result: dict[str, Any] = {"step": name, "code": done.code, "findings": []}
        findings = result["findings"]
        if done.code == OUR_FAULT:
            findings.append(["exception", done.errors])
        if not first.exists():
            if self.loads and self.ran and not findings:
                findings.append(["refusal", done.errors or done.text])
            return result
        findings += list(self.loadable(first))
        if self.ran and not findings:
            findings += self.differences(first, result)
        again = command(name, str(first), "-o", str(second), "-v", *self.external_data_options(second))
        if again.code == OUR_FAULT:
            findings.append(["exception", f"second run: {again.errors}"])
        elif second.exists() and contents(first) != contents(second):
            findings.append(["not idempotent", again.text])
        return result

    def freeze(self) -> dict[str, Any]:
        result: dict[str, Any] = {"step": "freeze", "findings": []}
        sizes = self.ran[0][0] if self.ran else {}
        if not sizes:  # nothing to freeze
            return result
        target = self.folder / "freeze.onnx"
        dims = [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]
        done = command("freeze", str(self.path), "-o", str(target), "-v", *dims, *self.external_data_options(target))
        result["code"] = done.code
        if done.code == OUR_FAULT:
            return {**result, "findings": [["exception", done.errors]]}
        if not target.exists():
            return {**result, "findings": [["refusal", f"at {sizes}: {done.errors or done.text}"]]}
        findings = [[kind, f"{text} at {sizes}"] for kind, text in self.loadable(target)]
        if not findings:
            self.ran = self.ran[:1]
            findings += self.differences(target, result)
        return {**result, "findings": findings}

    def differences(self, path: Path, result: dict[str, Any]) -> list[list[str]]:
        """Outputs in which a result differs, on the feeds of the model and on the same feeds with special floats."""
        findings = []
        before, after = session(self.path), session(path)
        names = [output.name for output in before.get_outputs()]
        for sizes, feeds in self.ran:
            for given in (feeds, {name: with_specials(value) for name, value in feeds.items()}):
                try:
                    was = before.run(None, given)
                except REFUSALS:
                    continue
                result["compared"] = result.get("compared", 0) + 1
                try:
                    now = after.run(None, given)
                except REFUSALS as failure:
                    findings.append(["fails", f"{failure} at {sizes}"])
                    continue
                if all(difference(one, other) is None for one, other in zip(was, now, strict=True)):
                    continue
                others = [before.run(None, given) for _ in range(AGAIN)]
                for at, name in enumerate(names):
                    apart = difference(was[at], now[at])
                    if apart is None or any(difference(was[at], other[at]) is not None for other in others):
                        continue
                    kind = "other bits"
                    if has_float16(self.path) and difference(was[at], now[at], FLOAT16_TOLERANCE) is None:
                        kind = "float16 rounding"
                    text = apart.reason or f"{apart.index} is {apart.rewritten}, was {apart.original}"
                    findings.append([kind, f"{name}: {text} at {sizes}"])
        return findings

    def external_data_options(self, target: Path) -> tuple[str, ...]:
        """Options that keep large tensors of a model with external data beside the result."""
        if not self.is_read:
            return ()
        has_any = any(t.HasField("data_location") and t.data_location for t in read(self.path).graph.initializer)
        return ("--external-data", target.with_suffix(".data").name) if has_any else ()

    def loadable(self, path: Path) -> Iterator[list[str]]:
        """Findings of a result that does not load, or is not passed, where the original is."""
        if self.loads and (why := loads(path)):
            yield ["does not load", why]
        if self.passes and not passes(path):
            yield ["not passed", refusal_of_checker(path)]


@dataclass(frozen=True)
class Done:
    """Output of a command of the program."""

    code: int
    text: str
    errors: str


def command(*words: str) -> Done:
    """A command of the program, in this process; a `-o` that is left out writes nothing."""
    program = import_module("gather_infer_cli.main").main
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            program(list(words), prog_name="gather-infer")
            code = 0
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    return Done(code, out.getvalue()[:MAX_TEXT], errors.getvalue()[:MAX_TEXT])


def has_float16(path: Path) -> bool:
    """Whether a model computes in float16, which onnxruntime does in float32."""
    model = read(path)
    inside = any(t.data_type == onnx.TensorProto.FLOAT16 for t in model.graph.initializer)
    given = any(v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16 for v in model.graph.input)
    cast = any(a.name == "to" and a.i == onnx.TensorProto.FLOAT16 for n in model.graph.node for a in n.attribute)
    return inside or given or cast


def with_specials(value: Any) -> Any:
    """A float array with NaN, infinities and -0.0 in it; all else as it is."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
        return value
    changed = value.copy()
    numbers = np.random.default_rng(0)
    places = numbers.integers(0, value.size, max(1, value.size // 50))
    changed.flat[places] = numbers.choice(SPECIAL, len(places))
    return changed


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def loads(path: Path) -> str:
    """Why onnxruntime does not load a model; empty when it does."""
    try:
        session(path)
    except REFUSALS as failure:
        return str(failure)[:MAX_TEXT] or type(failure).__name__
    return ""


def refusal_of_checker(path: Path) -> str:
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as failure:
        return str(failure)[:MAX_TEXT] or type(failure).__name__
    return ""


def passes(path: Path) -> bool:
    return not refusal_of_checker(path)


def read(path: Path) -> onnx.ModelProto:
    return onnx.load(str(path), load_external_data=False)


def contents(path: Path) -> tuple[bytes, bytes]:
    """A model without the place of its external data, and these data."""
    model, beside = read(path), path.with_suffix(".data")
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = ""
    return model.graph.SerializeToString(deterministic=True), beside.read_bytes() if beside.exists() else b""


class _Outputs:
    """As `Runtime`, of the outputs alone: onnxruntime does not load every model with all values as outputs."""

    def __init__(self, path: Path) -> None:
        self.session = session(path)
        self.names = [output.name for output in self.session.get_outputs()]

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(self.names, self.session.run(None, dict(feeds)), strict=True))


def exposed_runtime(path: Path) -> Runtime | _Outputs:
    try:
        return Runtime(onnx.load(str(path)))
    except REFUSALS:
        return _Outputs(path)


def steps_of(path: Path, limits: Limits) -> Iterator[dict[str, Any]]:
    """The steps of one model, as this process does them from now on within limits."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory << 30, limits.memory << 30))
    with tempfile.TemporaryDirectory() as folder:
        for result in Score(path, Path(folder), limits.runs, limits.seconds / 10).steps():
            result["count"] = len(result["findings"])
            result["findings"] = [[kind, text[:MAX_TEXT]] for kind, text in result["findings"][:MAX_FINDINGS]]
            yield result


def send_steps(path: Path, limits: Limits, to: Connection) -> None:
    """The steps of one model as they are done, and what ended them when the scoring itself failed."""
    try:
        for result in steps_of(path, limits):
            to.send(result)
    except Exception:  # noqa: BLE001 - whatever a model brings about is told of that model
        to.send(traceback.format_exc()[-800:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--memory", type=int, default=8, help="GiB of address space")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    for result in steps_of(options.model, Limits(options.seconds, options.memory, options.runs)):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
