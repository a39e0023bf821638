"""Texts that describe how a child process ended."""

from __future__ import annotations

import signal
from typing import Final

LOG_TAIL_BYTES: Final = 4096
"""Bytes at the end of a child's standard error that are searched for its last line."""


def exit_description(code: int) -> str:
    """How a process ended, from its return code: `with exit code 3`, `by SIGKILL`."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def last_log_line(log: bytes) -> str:
    """`: ` and the last nonempty line of a log; empty when there is none."""
    text = log[-LOG_TAIL_BYTES:].decode("utf-8", "replace").split("\n")
    words = [line.strip() for line in text if line.strip()]
    return f": {words[-1][:300]}" if words else ""
