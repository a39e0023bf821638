"""Child process that runs a model, so that the parent survives crashes of a runtime.

The process reads requests from standard input and writes answers to standard output, each a line of JSON. Requests:

    {"model": PATH, "runtime": NAME, "values": [NAME, ...]}
        Load a model; always the first request.
    {"feeds": PATH, "results": PATH, "goes_on": BOOL, "memory": BYTES}
        Run the model on the pickled inputs (by name) in `feeds`, and pickle the outputs to `results`. If `goes_on`,
        continue with the state of the previous run. `memory` is a limit for what the run allocates in addition to the
        memory in use after loading; null for no limit.
    {"feeds": PATH, "checks": "sizes"}
        Check the shapes of the inputs in `feeds` against the model, without a run.

An answer has the key `error` when the runtime fails. Output of the runtime goes to standard error. An unexpected
exception ends the process.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import queue
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, ClassVar, Final, Protocol

import numpy as np

from gather_infer.processes import request_streams
from gather_infer.runtimes.openvino_workarounds import conform
from gather_infer.tensor import DType, dtype_of_array

ONNXRUNTIME = "onnxruntime"
REFERENCE = "onnx's reference evaluator"
OPENVINO = "OpenVINO"

_FAILURES: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
_VIEWS = {1: np.uint8, 2: np.uint16}
_PLAIN = {
    f"tensor({name})"
    for name in ("float", "double", "float16", "bool", "string", "int8", "int16", "int32", "int64", "uint8", "uint16",
                 "uint32", "uint64")
}  # fmt: skip


class Runtime(Protocol):
    """A runtime that holds one model.

    version    version of the runtime
    failures   exception types that mean that the runtime failed, rather than this package
    """

    version: str
    failures: tuple[type[Exception], ...]

    def load(self, path: str, values: Sequence[str]) -> None: ...

    def run(self, feeds: Mapping[str, Any], goes_on: bool) -> list[Any]: ...

    def check(self, feeds: Mapping[str, Any]) -> None: ...


class ChecksWhileRunning:
    """Mixin for runtimes that check input shapes only during a run."""

    def check(self, feeds: Mapping[str, Any]) -> None:
        """Do nothing: the runtime checks the shapes of `feeds` during a run."""


class OnnxRuntime(ChecksWhileRunning):
    """onnxruntime on the CPU, without graph optimization, so that it computes exactly the nodes of the file."""

    def __init__(self) -> None:
        import onnxruntime

        self.ort = onnxruntime
        self.version: str = onnxruntime.__version__
        thrown = vars(getattr(getattr(onnxruntime, "capi", None), "onnxruntime_pybind11_state", object)).values()
        self.failures = (*_FAILURES, *(t for t in thrown if isinstance(t, type) and issubclass(t, Exception)))

    def load(self, path: str, values: Sequence[str]) -> None:
        options = self.ort.SessionOptions()
        options.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # with prepacking, a weight that became an initializer selects another kernel, which rounds differently
        options.add_session_config_entry("session.disable_prepacking", "1")
        self.session = self.ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        # sequences and optionals only have element types that numpy has too
        self.is_plain = all(o.type in _PLAIN or not o.type.startswith("tensor(") for o in self.session.get_outputs())

    def run(self, feeds: Mapping[str, Any], goes_on: bool) -> list[Any]:
        if self.is_plain:
            outputs: list[Any] = self.session.run(None, {name: self._plain(value) for name, value in feeds.items()})
            return outputs
        values = self.session.run_with_ort_values(None, {name: self._value(value) for name, value in feeds.items()})
        return [self._array(value) for value in values]

    def _plain(self, value: Any) -> Any:
        return self._value(value) if isinstance(value, np.ndarray) and _is_foreign(value) else value

    def _value(self, array: Any) -> Any:
        """`array` as an OrtValue, also for element types that are not built into numpy."""
        if not _is_foreign(array):
            return self.ort.OrtValue.ortvalue_from_numpy(array)
        kind = dtype_of_array(array.dtype)
        return self.ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(_VIEWS[array.itemsize]), int(kind or 0))

    def _array(self, value: Any) -> Any:
        kind = DType(value.element_type())
        if kind.is_numpy:
            return value.numpy()
        if not kind.has_dtype:
            raise RuntimeError(f"an output of type {kind} needs the package ml_dtypes")
        dtype = kind.dtype
        raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
        return np.frombuffer(raw, dtype).reshape(value.shape())


class ReferenceRuntime(ChecksWhileRunning):
    """The reference evaluator of onnx."""

    def __init__(self) -> None:
        from onnx import __version__

        self.version: str = __version__
        self.failures = _FAILURES

    def load(self, path: str, values: Sequence[str]) -> None:
        from onnx.reference import ReferenceEvaluator

        self.evaluator = ReferenceEvaluator(path)

    def run(self, feeds: Mapping[str, Any], goes_on: bool) -> list[Any]:
        return [_plain_type(value) for value in self.evaluator.run(None, dict(feeds))]


_EARLY_NAMES: Final = {
    "bfloat16": DType.BFLOAT16, "e4m3fn": DType.FLOAT8E4M3FN, "e4m3fnuz": DType.FLOAT8E4M3FNUZ,
    "e5m2": DType.FLOAT8E5M2, "e5m2fnuz": DType.FLOAT8E5M2FNUZ, "uint4": DType.UINT4, "int4": DType.INT4,
}  # fmt: skip
"""Names of the fields by which the reference evaluator of onnx before 1.19 marks element types that numpy lacks."""


def _plain_type(value: Any) -> Any:
    """`value`, an array of a type that an early reference evaluator marks by a field, in the type of ml_dtypes."""
    names = value.dtype.names if isinstance(value, np.ndarray) else None
    kind = _EARLY_NAMES.get(names[0]) if names else None
    if kind is None or not kind.has_dtype:
        return value
    return value.view(_VIEWS[value.itemsize]).view(kind.dtype)


class OpenVinoRuntime:
    """OpenVINO's CPU plugin without lossy optimizations, with the workarounds of `conform` applied to each model.

    A run starts from the initial state, unless `goes_on` continues with the state of the previous run.
    """

    # By default activations next to compressed weights, and key-value state, are quantized to 8 bits. Layers between
    # FakeQuantize are computed in 8 bits, with sums that saturate at 16 bits on processors without VNNI.
    exact: ClassVar = {
        "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "KV_CACHE_PRECISION": "f32",
        "LP_TRANSFORMS_MODE": "NO",
    }  # fmt: skip

    # with dynamic shapes, the plugin computes sequences of unequal lengths incorrectly
    sequences = frozenset({"LSTMSequence", "GRUSequence", "RNNSequence"})

    def __init__(self) -> None:
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type] # telemetry waits for a network
        import openvino

        self.openvino = openvino
        self.version: str = openvino.__version__.split("-")[0]
        self.failures = _FAILURES

    def load(self, path: str, values: Sequence[str]) -> None:
        """Load the model at `path`; runs return its outputs, then the values assigned to variables, sorted by variable.

        values   if not empty, names of layers: runs return the first output of each of them instead
        """
        core = self.openvino.Core()
        model = core.read_model(path)
        conform(self.openvino, model)
        if values:
            named = {op.get_friendly_name(): op for op in model.get_ops()}
            model = self.openvino.Model(
                [self.openvino.opset8.result(named[name].output(0)) for name in values],
                model.get_sinks(),
                model.get_parameters(),
                "part",
            )
        else:
            sinks = [one for one in model.get_sinks() if one.get_type_name() == "Assign"]
            sinks.sort(key=lambda one: str(one.get_variable_id()))
            model.add_results([self.openvino.opset8.result(one.input_value(0)) for one in sinks])
        has_sequences = any(op.get_type_name() in self.sequences for op in model.get_ops())
        self.model = model if has_sequences and model.is_dynamic() else None
        self.read, self.is_spoiled, self.has_state = model, False, False
        self.compile(model)
        self.has_state = bool(self.request.query_state())

    def compile(self, model: Any) -> None:
        compiled = self.openvino.Core().compile_model(model, "CPU", self.exact)
        self.request = compiled.create_infer_request()
        self.inputs = [self._names(port) for port in compiled.inputs]
        self.outputs = list(compiled.outputs)

    def run(self, feeds: Mapping[str, Any], goes_on: bool) -> list[Any]:
        given = [_texts(next(np.array(feeds[name]) for name in names if name in feeds)) for names in self.inputs]
        if self.model is not None:
            held = [(state.name, state.state) for state in self.request.query_state()] if goes_on else []
            fixed = self.model.clone()
            fixed.reshape({position: list(array.shape) for position, array in enumerate(given)})
            self.compile(fixed)
            for state in self.request.query_state():
                state.state = dict(held).get(state.name, state.state)
        elif self.is_spoiled or (self.has_state and not goes_on):
            self.compile(self.read)  # a new request is the only way to drop a failure or the state of a run
        self.is_spoiled = True
        ran = self.request.infer(dict(enumerate(given)))
        self.is_spoiled = False
        return [_objects(np.array(ran[port])) for port in self.outputs]

    def check(self, feeds: Mapping[str, Any]) -> None:
        """Validate the layers of the model for the shapes of `feeds`: with dynamic shapes, the plugin does not.

        Raises one of `failures` when a layer rejects its shapes.
        """
        given = [np.array(next(feeds[name] for name in names if name in feeds)) for names in self.inputs]
        self.read.clone().reshape({position: list(array.shape) for position, array in enumerate(given)})

    @staticmethod
    def _names(port: Any) -> list[str]:
        return [port.get_node().get_friendly_name(), *sorted(port.get_names())]


def _texts(array: Any) -> Any:
    """`array` with `str` objects converted to a numpy string dtype, which OpenVINO accepts; other arrays unchanged."""
    return array.astype(str) if array.dtype.kind == "O" else array


def _objects(array: Any) -> Any:
    """`array` with strings converted to `str` objects, as other runtimes return them; other arrays unchanged."""
    return array.astype(str).astype(object) if array.dtype.kind in "US" else array


def _is_foreign(array: Any) -> bool:
    """Whether the element type of `array`, such as bfloat16, is not built into numpy."""
    return array.dtype.kind not in "biufcOUS"


_RUNTIMES: Final[Mapping[str, Callable[[], Runtime]]] = {
    ONNXRUNTIME: OnnxRuntime, REFERENCE: ReferenceRuntime, OPENVINO: OpenVinoRuntime
}  # fmt: skip


def _pickled(path: str) -> Any:
    with open(path, "rb") as file:
        return pickle.load(file)


class MemoryLimit:
    """Limit on the memory of this process relative to its data size at construction; without effect outside Linux.

    taken   data size at construction in bytes, 0 if the system does not report it
    """

    def __init__(self) -> None:
        self.taken = 0
        try:
            with open("/proc/self/status", encoding="ascii") as file:
                self.taken = next((int(line.split()[1]) << 10 for line in file if line.startswith("VmData:")), 0)
        except OSError:
            return

    @contextmanager
    def limited(self, more: int | None) -> Iterator[None]:
        """Context manager that limits the data size to `taken` plus `more` bytes; None sets no limit.

        Allocations beyond the limit fail. `more` is capped at half of the physical memory.
        """
        if more is None or not self.taken:
            yield
            return
        import resource

        before = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = self.taken + min(more, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
        hard = before[1]
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def _lines_of(requests: IO[bytes]) -> queue.SimpleQueue[bytes]:
    """Queue of the lines of a pipe; its reader thread ends this process when the pipe is closed."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in requests:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return lines


def main() -> None:
    pipe, answers = request_streams()
    requests = _lines_of(pipe)

    def answer(**fields: str) -> None:
        answers.write(json.dumps(fields).encode() + b"\n")
        answers.flush()

    request = json.loads(requests.get())
    memory = MemoryLimit()
    try:
        runtime: Runtime = _RUNTIMES[request["runtime"]]()
    except ImportError as error:
        answer(error=str(error), absent="yes")
        return
    while True:
        try:
            if "model" in request:
                runtime.load(request["model"], request["values"])
                memory = MemoryLimit()
                answer(version=runtime.version)
            elif "checks" in request:
                runtime.check(_pickled(request["feeds"]))
                answer()
            else:
                with memory.limited(request["memory"]):
                    outputs = runtime.run(_pickled(request["feeds"]), request["goes_on"])
                with open(request["results"], "wb") as file:
                    pickle.dump(outputs, file, protocol=pickle.HIGHEST_PROTOCOL)
                answer()
        except runtime.failures as error:
            answer(error=_line(error), version=runtime.version)
        request = json.loads(requests.get())


def _line(error: Exception) -> str:
    """The text of `error` in one line of at most 500 characters, without onnxruntime's prefixes."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", " ".join(str(error).split()))
    text = re.sub(r"^Load model from .*? failed: ?", "", text)
    return (text or type(error).__name__)[:500]
