"""What a command is at work on, shown while it takes long."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import click

DELAY = 1.0
"""Seconds of work before anything is shown."""

INTERVAL = 0.2
"""Seconds between two looks at how far the work is."""


class Progress:
    """A line on standard error that says what is being done, as long as the block lasts; nothing is left of it.

    started     when the command began, in seconds of `time.monotonic`
    is_wanted   False shows nothing

    It is called with a function that tells what is being done, whenever it is asked: the work itself does not wait.
    """

    def __init__(self, started: float, is_wanted: bool) -> None:
        self._started = started
        self._tell: Callable[[], str] = lambda: "reading"
        self._ended = threading.Event()
        self._line = threading.Lock()
        self._is_shown = False
        self._thread = threading.Thread(target=self._show, daemon=True) if is_wanted else None

    def __call__(self, tell: Callable[[], str]) -> None:
        self._tell = tell

    def of(self, part: str) -> Callable[[Callable[[], str]], None]:
        """The same for a part of the work, whose name comes before what is being done."""
        return lambda tell: self(lambda: f"{part}{tell()}")

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While something else is printed: the line makes way, and comes back with the next look."""
        with self._line:
            self._clear()
            yield

    def _clear(self) -> None:
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._is_shown = False

    def _show(self) -> None:
        wait = DELAY - (time.monotonic() - self._started)
        if self._ended.wait(max(0.0, wait)):
            return
        while True:
            from gather_infer.report.layout import printable, shorten

            text = f"{printable(self._tell())} ... {time.monotonic() - self._started:.0f} s"
            with self._line:
                click.echo(f"\r\x1b[K{shorten(text, shutil.get_terminal_size().columns - 1)}", err=True, nl=False)
                self._is_shown = True
            if self._ended.wait(INTERVAL):
                break
        with self._line:
            self._clear()


def may_show() -> bool:
    """Whether somebody looks on: standard error is a terminal that moves its cursor, and no log of a CI run."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
