"""Progress of long operations: an operation registers a function that describes its state for a display."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[Callable[[], str]], None]
"""Receives a function that returns the current state as text; the display may call it at any time, from any thread."""


def no_progress(describe: Callable[[], str]) -> None:
    """A Progress that displays nothing."""
