"""Parent side of the child process that runs a model: requests, time limits and termination."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from gather_infer.processes import ENDING_SECONDS, ChildProcess


class Failure(NamedTuple):
    """A model that was not loaded, or a run without results.

    is_timeout         the time limit was exceeded
    is_not_installed   the runtime is not installed
    """

    reason: str
    is_timeout: bool = False
    is_not_installed: bool = False

    def __str__(self) -> str:
        return self.reason


class RuntimeProcess:
    """A child process that holds a model in a runtime.

    The process starts when a model is loaded. If it has ended, the next run starts it and loads the model again.

    runtime  ONNXRUNTIME, REFERENCE or OPENVINO, from `worker`
    folder   working directory of the process, to which it writes files
    timeout  limit in seconds for loading a model, and for each run
    version  version of the runtime, "" before a model is loaded
    model    the model file loaded last, None before that
    """

    def __init__(self, runtime: str, folder: Path, timeout: float) -> None:
        self.runtime = runtime
        self.timeout = timeout
        self.version = ""
        self.model: Path | None = None
        self._values: tuple[str, ...] = ()
        self._results = folder / "results.pickle"
        self._child = ChildProcess("gather_infer.runtimes.worker:main", folder)

    def __enter__(self) -> RuntimeProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._child.close()

    def load(self, model: Path, values: Sequence[str] = ()) -> Failure | None:
        """Load the file `model` instead of the model loaded before; returns None on success.

        values   names of layers, for OpenVINO only: runs return their outputs instead of the outputs of the model
        """
        self.model, self._values = model, tuple(values)
        if not self._child.is_running:
            self._child.start()
        answer = self._request({"model": str(model), "runtime": self.runtime, "values": self._values})
        if isinstance(answer, Failure):
            return answer
        self.version = answer.get("version", "")
        return Failure(answer["error"], is_not_installed="absent" in answer) if "error" in answer else None

    def run(
        self, feeds: Path, *, goes_on: bool = False, seconds: float | None = None, memory: int | None = None
    ) -> list[Any] | Failure:
        """The outputs of the loaded model, in order, for the inputs in the file `feeds`, a pickled dict by name.

        goes_on   continue with the state of the previous run, if the model has state
        seconds   time limit of this run, if it is below `timeout`
        memory    bytes that the run may allocate in addition to the memory in use after loading; None for no limit.
                  Ignored on systems that cannot limit memory
        """
        assert self.model is not None, "a model is loaded before it is run"
        if not self._child.is_running and (failure := self.load(self.model, self._values)) is not None:
            return failure
        request = {"feeds": str(feeds), "results": str(self._results), "goes_on": goes_on, "memory": memory}
        answer = self._request(request, seconds)
        if isinstance(answer, Failure):
            return answer
        if "error" in answer:
            return Failure(answer["error"])
        with open(self._results, "rb") as file:
            outputs: list[Any] = pickle.load(file)
        self._results.unlink()
        return outputs

    def check(self, feeds: Path) -> Failure | None:
        """The reason why the loaded model rejects the input shapes in the file `feeds`, without a run; else None.

        Only OpenVINO checks anything here; other runtimes check shapes during a run. None also without a process.
        """
        if not self._child.is_running:
            return None
        answer = self._request({"feeds": str(feeds), "checks": "sizes"})
        if isinstance(answer, Failure):
            return answer
        return Failure(answer["error"]) if "error" in answer else None

    def _request(self, request: Mapping[str, object], seconds: float | None = None) -> dict[str, str] | Failure:
        """The reply to `request`; a Failure if the process ends or takes too long. `seconds` as in `run`."""
        limit = self.timeout if seconds is None else min(seconds, self.timeout)
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self._child.kill()

        timer = threading.Timer(limit, expire)
        timer.daemon = True
        timer.start()
        try:
            self._child.send(json.dumps(request).encode() + b"\n")
            line = self._child.replies.readline()
        except OSError:  # the process ended before it read the request
            line = b""
        finally:
            timer.cancel()
        if line.endswith(b"\n"):
            reply: dict[str, str] = json.loads(line)
            return reply
        ending = self._child.end(ENDING_SECONDS)
        if expired.is_set():
            return Failure(f"it did not end within {limit:.3g} s", is_timeout=True)
        return Failure(f"the process ended {ending}")
