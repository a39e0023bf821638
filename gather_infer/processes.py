"""Texts that describe how a child process ended."""

from __future__ import annotations

import signal
from typing import Final

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
