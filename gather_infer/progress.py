"""Progress of long work: the work registers a function that describes its state, and never waits for a display."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[Callable[[], str]], None]
"""Receives a function that returns the current state as text; the display may call it at any time, from any thread."""


def no_progress(describe: Callable[[], str]) -> None:
    """A Progress without a display."""
