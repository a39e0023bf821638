"""Garbage collection while a model is read, interpreted or rewritten.

Facts, dims and the graphs of a model are many objects that stay in use, and few cycles become garbage. The default
thresholds of Python collect after some hundred new objects, and traverse all objects again whenever their number has
grown by a quarter: a third of the time of a long chain, and more than twice as much for twice the nodes.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLDS: Final = (100_000, 20, 100)
"""The thresholds inside of `rare_collections`: cycles that have become garbage are still freed, but later."""

_lock: Final = threading.Lock()
_open: Final[list[tuple[int, int, int]]] = []
"""For each open block of any thread, the thresholds before the first of them."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage rarely inside the block; usable as a decorator too.

    Blocks may be nested, and open in several threads: the last one to end restores the thresholds that the first one
    found. A program that has disabled collections keeps them disabled.
    """
    with _lock:
        _open.append(_open[0] if _open else gc.get_threshold())
        if _open[0][0]:
            gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            before = _open.pop()
            if not _open:
                gc.set_threshold(*before)


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect no garbage while a graph is built: each collection would traverse all of it and find nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
