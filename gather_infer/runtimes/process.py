"""Parent side of the process that runs a model: requests, time limit and termination."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from gather_infer.processes import exit_description, last_log_line

ENDING_SECONDS: Final = 10.0
"""Time for a process that has closed its output to exit: a crash may write a core dump first."""

_START = "import sys; sys.path[:] = {path!r}; from gather_infer.runtimes.worker import main; main()"


@dataclass(frozen=True, slots=True)
class Failure:
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
    """A process with a model in a runtime. It starts when a model is loaded, and again after it has ended.

    runtime  ONNXRUNTIME, REFERENCE or OPENVINO
    folder   its working directory, which it may write to
    timeout  seconds for loading, and for each run
    model    the file that was loaded last
    """

    def __init__(self, runtime: str, folder: Path, timeout: float) -> None:
        self.runtime = runtime
        self.timeout = timeout
        self.version = ""
        self.model: Path | None = None
        self._values: tuple[str, ...] = ()
        self._folder = folder
        self._results = folder / "results.pickle"
        self._log = folder / "stderr.txt"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> RuntimeProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def load(self, model: Path, values: Sequence[str] = ()) -> Failure | None:
        """Load a file in place of the last one; None on success.

        values   of an OpenVINO model: layers whose outputs are returned instead of those of the model
        """
        self.model, self._values = model, tuple(values)
        process = self._process
        if process is None:
            process = self._start()
        answer = self._ask(process, {"model": str(model), "runtime": self.runtime, "values": self._values})
        if isinstance(answer, Failure):
            return answer
        self.version = answer.get("version", "")
        return Failure(answer["error"], is_not_installed="absent" in answer) if "error" in answer else None

    def run(
        self, feeds: Path, *, goes_on: bool = False, seconds: float | None = None, memory: int | None = None
    ) -> list[Any] | Failure:
        """The outputs of the loaded model for the inputs in a file, in order.

        goes_on   continue with the state of the run before, where the model has state
        seconds   time limit of this run, where it is below the general one
        memory    bytes that it may take besides those of the process after loading, where the system can limit that;
                  None for no limit
        """
        assert self.model is not None, "a model is loaded before it is run"
        if self._process is None and (failure := self.load(self.model, self._values)) is not None:
            return failure
        assert self._process is not None, "a model that was loaded has a process"
        request = {"feeds": str(feeds), "results": str(self._results), "goes_on": goes_on, "memory": memory}
        answer = self._ask(self._process, request, seconds)
        if isinstance(answer, Failure):
            return answer
        if "error" in answer:
            return Failure(answer["error"])
        with open(self._results, "rb") as file:
            outputs: list[Any] = pickle.load(file)
        self._results.unlink()
        return outputs

    def check(self, feeds: Path) -> Failure | None:
        """Why the model rejects inputs of the sizes in a file, as far as running it did not check them."""
        if self._process is None:
            return None
        answer = self._ask(self._process, {"feeds": str(feeds), "checks": "sizes"})
        if isinstance(answer, Failure):
            return answer
        return Failure(answer["error"]) if "error" in answer else None

    def _start(self) -> subprocess.Popen[str]:
        # The child has the import path of the parent, made absolute: it runs in another directory.
        path = [os.path.abspath(entry) for entry in sys.path]
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(path=path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                text=True,
                encoding="utf-8",
            )
        return self._process

    def _ask(
        self, process: subprocess.Popen[str], request: Mapping[str, object], seconds: float | None = None
    ) -> dict[str, str] | Failure:
        """The answer to a request, or the failure of a process that gave none."""
        limit = self.timeout if seconds is None else min(seconds, self.timeout)
        assert process.stdin is not None and process.stdout is not None, "both are pipes"
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(limit, expire)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:  # the process ended before it read the request
            line = ""
        finally:
            timer.cancel()
        if line.endswith("\n"):
            answer: dict[str, str] = json.loads(line)
            return answer
        try:  # wait for the exit code, which the failure reports
            process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
        code = self._end()
        if expired.is_set():
            return Failure(f"it did not end within {limit:.3g} s", is_timeout=True)
        return Failure(f"the process ended {exit_description(code)}{last_log_line(self._log.read_bytes())}")

    def _end(self) -> int:
        """End the process and release it; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        code = process.wait()
        for stream in (process.stdout, process.stdin):
            assert stream is not None, "both are pipes"
            with suppress(OSError):  # an unread request is flushed on close
                stream.close()
        return code
