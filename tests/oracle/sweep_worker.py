"""Runs models for a parent that must survive what a runtime does to its process: an answer for each of the feeds."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, Array]

CRASH: Final = "the process of the runtime ended"
LATE: Final = "the runtime did not end in time"
LOADED: Final = "loaded by "


def serve(connection: Connection) -> None:
    """Answer requests: a model as bytes is loaded, feeds are run by what was loaded last."""
    import onnx
    import onnxruntime
    from onnx.reference import ReferenceEvaluator

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    run: Any = None
    while True:
        request = connection.recv()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                if isinstance(request, bytes):
                    try:
                        providers = ["CPUExecutionProvider"]
                        run = onnxruntime.InferenceSession(request, options, providers=providers).run
                        answer = LOADED + "onnxruntime"
                    except Exception as refusal:  # noqa: BLE001 - each failure of a runtime has a class of its own
                        run = ReferenceEvaluator(onnx.load_from_string(request)).run
                        answer = f"{LOADED}onnx: {refusal}"
                else:
                    run(None, request)
                    answer = ""
        except Exception as failure:  # noqa: BLE001 - the same
            answer = str(failure) or type(failure).__name__
        connection.send(answer)


class Worker:
    """A process with a model, started anew when it has ended."""

    def __init__(self, seconds: float = 5.0) -> None:
        self.seconds = seconds
        self._model = b""
        self._process: multiprocessing.process.BaseProcess | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def load(self, model: bytes) -> str:
        """`LOADED` and the runtime; else why none takes it."""
        self._model = model
        if self._process is None:
            self._start()
        return self._ask(model, 60.0)

    def errors(self, feeds: Sequence[Feeds], *, crashes: int = 8) -> list[str]:
        """For each of the feeds what the run fails with, empty where it does not; fewer after so many crashes."""
        found: list[str] = []
        for each in feeds:
            if self._process is None:
                if crashes == 0:
                    break
                crashes -= 1
                self.load(self._model)
            found.append(self._ask(dict(each), self.seconds))
        return found

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def _ask(self, request: object, seconds: float) -> str:
        assert self._process is not None, "it was started"
        try:
            self._connection.send(request)
            if self._connection.poll(seconds):
                answer: str = self._connection.recv()
                return answer
        except (EOFError, OSError):
            self._end()
            return CRASH
        self._end()
        return LATE

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.join()
            self._connection.close()
