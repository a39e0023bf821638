"""Progress line of a command that takes long."""

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
"""Seconds before the line appears."""

INTERVAL = 0.2
"""Seconds between updates."""


class Progress:
    """A line on standard error that shows the current step while the `with` block runs, and disappears after it.

    started     start of the command in seconds of `time.monotonic`
    is_wanted   False shows nothing

    Call the object with a function that describes the current step. A thread calls the function at each update, so
    that the work never waits for the terminal.
    """

    def __init__(self, started: float, is_wanted: bool) -> None:
        self._started = started
        self._describe: Callable[[], str] = lambda: "reading"
        self._ended = threading.Event()
        self._line = threading.Lock()
        self._is_shown = False
        self._thread = threading.Thread(target=self._show, daemon=True) if is_wanted else None

    def __call__(self, describe: Callable[[], str]) -> None:
        self._describe = describe

    def of(self, part: str) -> Callable[[Callable[[], str]], None]:
        """A progress callback for one part of the work, which prefixes each description with `part`."""
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
        """Hide the line while the block prints something else; the next update restores it."""
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

            text = f"{printable(self._describe())} ... {time.monotonic() - self._started:.0f} s"
            with self._line:
                click.echo(f"\r\x1b[K{shorten(text, shutil.get_terminal_size().columns - 1)}", err=True, nl=False)
                self._is_shown = True
            if self._ended.wait(INTERVAL):
                break
        with self._line:
            self._clear()


def may_show() -> bool:
    """Whether to show progress: standard error is a terminal with a movable cursor, and CI is not set."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
