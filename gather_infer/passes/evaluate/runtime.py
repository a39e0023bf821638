"""Evaluation of nodes with constant inputs in a runtime, for float arithmetic that is not correctly rounded."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import onnx
from onnx import NodeProto, helper

from gather_infer.inference.proto.releases import ir_version_of
from gather_infer.ir.constant import Constant, bits_dtype
from gather_infer.passes.evaluate.numbers import is_integer, is_number
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.runtimes.worker import ONNXRUNTIME, REFERENCE
from gather_infer.tensor import DType, dtype_of_array

TOLERANCE: Final = 1e-5
"""Bound of the difference between outputs of the folded and the original model, relative to max(1, |original|)."""

COARSE_TOLERANCE: Final = 1e-2
"""As `TOLERANCE`, if the runtime has evaluated a node with a float result of 16 bits or fewer."""

TIMEOUT: Final = 60.0
"""Time limit for a node in seconds. It catches a runtime that hangs; the limit of operations excludes slow nodes."""

MAX_TIMEOUTS: Final = 2
"""Once this many nodes have exceeded the time limit, no other node is evaluated."""

_COARSE: Final = frozenset(d for d in DType if d.is_float and d not in (DType.FLOAT32, DType.FLOAT64))


class RuntimeEvaluator:
    """Evaluates nodes in onnxruntime, or in onnx's reference evaluator if onnxruntime is not installed.

    The runtime uses one thread and no optimizations. It runs in a child process, which starts with the first node: some
    operators of onnxruntime crash on empty inputs, or never return.

    runtime    name and version of the runtime in use; empty before the first node
    tolerance  bound of the difference of the outputs of the model, relative to max(1, |original|)
    """

    def __init__(self) -> None:
        self.runtime = ""
        self.tolerance = TOLERANCE
        self._stack = ExitStack()
        self._folder: Path | None = None
        self._child: RuntimeProcess | None = None
        self._timeouts = 0
        self._failures: dict[bytes, Failure] = {}

    def __enter__(self) -> RuntimeEvaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def evaluate(
        self, node: NodeProto, inputs: Sequence[Constant | None], versions: Mapping[str, int]
    ) -> list[Constant] | Failure:
        """The results of a node, one for each output that has a name; a Failure if it cannot be evaluated.

        inputs     a constant per input; None for an input that is left out
        versions   domain -> opset version, as the model imports them
        """
        data = _model(node, inputs, versions).SerializeToString(deterministic=True)
        key = sha256(data).digest()
        if key in self._failures:
            return self._failures[key]
        found = self._run(data)
        if not isinstance(found, Failure):
            held = [_constant(value) for value in found]
            results = [result for result in held if result is not None]
            if len(results) == len(held):
                if any(result.data_type in _COARSE for result in results):
                    self.tolerance = COARSE_TOLERANCE
                return results
            found = Failure("a result is not a tensor of numbers")
        self._failures[key] = found
        return found

    def _run(self, data: bytes) -> list[Any] | Failure:
        if self._timeouts >= MAX_TIMEOUTS:
            return Failure(f"{self._timeouts} nodes before it took longer than {TIMEOUT:g} s")
        if self._folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="gather-infer-", ignore_cleanup_errors=True)
            self._folder = Path(self._stack.enter_context(temporary))
            (self._folder / "feeds.pickle").write_bytes(pickle.dumps({}))
        (self._folder / "node.onnx").write_bytes(data)
        loaded = self._load(self._folder)
        found = loaded if isinstance(loaded, Failure) else loaded.run(self._folder / "feeds.pickle")
        self._timeouts += isinstance(found, Failure) and found.is_timeout
        return found

    def _load(self, folder: Path) -> RuntimeProcess | Failure:
        """Load `node.onnx` of `folder` into the runtime in use, else into the first runtime that is installed.

        Returns the runtime, or the failure to load.
        """
        failure: Failure | None = None
        for name in (ONNXRUNTIME, REFERENCE) if self._child is None else (self._child.runtime,):
            child = self._child or self._stack.enter_context(RuntimeProcess(name, folder, TIMEOUT))
            failure = child.load(folder / "node.onnx")
            if failure is not None and failure.is_not_installed:
                continue
            self._child = child
            if failure is None:
                self.runtime = f"{name} {child.version}"
                return child
            break
        assert failure is not None, "onnx includes its reference evaluator"
        return failure


def _model(node: NodeProto, inputs: Sequence[Constant | None], versions: Mapping[str, int]) -> onnx.ModelProto:
    alone = NodeProto()
    alone.CopyFrom(node)
    names = ["" if c is None else f"i{position}" for position, c in enumerate(inputs)]
    del alone.input[:], alone.output[:]
    alone.input.extend(names)
    alone.output.extend(f"o{position}" if name else "" for position, name in enumerate(node.output))
    initializers = [c.to_tensor(name) for c, name in zip(inputs, names, strict=True) if c is not None]
    outputs = [onnx.ValueInfoProto(name=name) for name in alone.output if name]
    graph = helper.make_graph([alone], "node", [], outputs, initializers)
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_ir_version(versions))


def _ir_version(versions: Mapping[str, int]) -> int:
    """The oldest IR version that supports the ai.onnx version in `versions`, and initializers that are not inputs."""
    return max(4, ir_version_of(versions.get("", 0)))


def _constant(value: object) -> Constant | None:
    """`value`, an output of a runtime, as a constant; None for strings, sequences and integers narrower than a byte."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind in "OUS":
        return None
    array = np.asarray(value)
    data_type = dtype_of_array(array.dtype)
    held = None if data_type is None else bits_dtype(data_type)
    if data_type is None or held is None or (is_integer(data_type) and not is_number(data_type)):
        return None
    return Constant(data_type, np.array(array).view(held))
