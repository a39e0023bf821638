"""Child processes that answer requests: one manager for the checks of many files and for runtimes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

ENDING_SECONDS: Final = 10.0
"""Time for a process that has closed its pipes to exit: a crash may write a core dump first."""

LOG_TAIL_BYTES: Final = 4096
"""Number of bytes at the end of a log that `last_log_line` searches."""


def exit_description(code: int) -> str:
    """How a process with return code `code` ended: `with exit code 3`, or `by SIGKILL` for a negative code."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def last_log_line(log: bytes) -> str:
    """`: ` and the last nonempty line of `log`, at most 300 characters; "" if there is no such line."""
    text = log[-LOG_TAIL_BYTES:].decode("utf-8", "replace").split("\n")
    words = [line.strip() for line in text if line.strip()]
    return f": {words[-1][:300]}" if words else ""


class ChildProcess:
    """A Python process with pipes for requests and replies. It can start again after it has ended.

    entry    `module:function` that it runs, with the import path of this process
    folder   its working directory; None for the current one
    """

    def __init__(self, entry: str, folder: Path | None = None) -> None:
        self._entry = entry
        self._folder = folder
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process has started and `end` has not been called since."""
        return self._process is not None

    @property
    def replies(self) -> IO[bytes]:
        """The pipe from the process, at its end when the process has ended."""
        assert self._process is not None and self._process.stdout is not None, "the process has started"
        return self._process.stdout

    def start(self) -> None:
        """Start the process. It has the import path of this one, made absolute, as it may run in another directory."""
        path = [os.path.abspath(entry) for entry in sys.path]
        module, _, function = self._entry.partition(":")
        code = f"import sys; sys.path[:] = {path!r}; from {module} import {function}; {function}()"
        self._log.seek(0)
        self._log.truncate()
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=self._folder,
        )

    def send(self, request: bytes) -> None:
        """Write a request. Raises OSError when the process has ended."""
        assert self._process is not None and self._process.stdin is not None, "the process has started"
        self._process.stdin.write(request)
        self._process.stdin.flush()

    def kill(self) -> None:
        """Kill the process, if it runs; a thread that waits for a reply then reads the end of the pipe."""
        if self._process is not None:
            self._process.kill()

    def end(self, seconds: float = 0.0) -> str:
        """Release the process and its pipes, killing it unless it ends by itself within `seconds`.

        Returns how it ended: its exit code or signal, and the last line of its log; empty if it did not run.
        """
        process, self._process = self._process, None
        if process is None:
            return ""
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None, "both are pipes"
            with suppress(OSError):  # an unread request is flushed on close
                stream.close()
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
        return f"{exit_description(code)}{last_log_line(self._log.read())}"

    def close(self) -> None:
        """End the process for good."""
        self.kill()
        self.end()
        self._log.close()


def request_streams() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes of a child process: requests of its parent, and replies. Whatever it prints goes to standard error.

    Requests are not read from `sys.stdin`: a thread that waits in it holds a lock that the interpreter takes at exit.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles interrupts and ends this process
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return os.fdopen(os.dup(0), "rb"), replies
