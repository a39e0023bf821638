"""How a process of our own ended, in words."""

from __future__ import annotations

import signal
from typing import Final

LAST_BYTES: Final = 4096
"""Bytes at the end of what a process wrote to standard error that are looked at."""


def ending(code: int) -> str:
    """`with exit code 3`, `by SIGKILL`."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def last_words(log: bytes) -> str:
    """`: ` and the last line that was written; empty when there is none."""
    text = log[-LAST_BYTES:].decode("utf-8", "replace").split("\n")
    words = [line.strip() for line in text if line.strip()]
    return f": {words[-1][:300]}" if words else ""
