"""Terminal output: results on standard output, everything else on standard error."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import TextIOWrapper
from typing import TYPE_CHECKING, TypeVar

import click

from gather_infer.report.output_formats import OutputFormat, ResultKind, View

from .progress import Progress, may_show

if TYPE_CHECKING:
    from gather_infer.model.save import SaveReport

R = TypeVar("R")

_SEVERITY = re.compile(r"^(error|warning|note)(\[GI\d+\])?:")
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True, slots=True, eq=False)
class Console:
    """Output options of a command, and the functions that print with them.

    results_to_stderr   print results to standard error, because standard output carries a model (`-o -`)
    started             start of the command in seconds of `time.monotonic`
    """

    quiet: bool = False
    verbose: bool = False
    colour: bool = True
    output_format: OutputFormat = OutputFormat.TEXT
    results_to_stderr: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def width(self) -> int | None:
        """Characters per line of the terminal that shows the results; None if they are not written to a terminal."""
        stream = sys.stderr if self.results_to_stderr else sys.stdout
        return shutil.get_terminal_size().columns if stream.isatty() else None

    @property
    def seconds(self) -> float:
        """Duration of the command so far."""
        return time.monotonic() - self.started

    def progress(self) -> Progress:
        """A progress line on standard error, if that is a terminal; silent with --quiet, --no-color or NO_COLOR."""
        is_plain = not self.colour or bool(os.environ.get("NO_COLOR"))
        return Progress(self.started, not self.quiet and not is_plain and may_show())

    def lines_of(self, kind: ResultKind[R], result: R) -> list[str]:
        """`result` as lines in the requested output format."""
        return kind.lines(self.output_format, result, View(self.verbose, self.width, self.seconds))

    def result(self, kind: ResultKind[R], result: R) -> None:
        self.print(self.lines_of(kind, result))

    def print(self, lines: Iterable[str]) -> None:
        """Print lines from `lines_of`; formats for programs are written in UTF-8, unless to a terminal."""
        stream = sys.stderr if self.results_to_stderr else sys.stdout
        if self.output_format is not OutputFormat.TEXT and isinstance(stream, TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
        for line in lines:
            if self.output_format is OutputFormat.TEXT:
                _echo(line, self.colour, err=self.results_to_stderr)
            else:
                click.echo(line, err=self.results_to_stderr)

    def error(self, error: Exception) -> None:
        """Print an error after which the command continues."""
        announce(f"error: {error}", colour=self.colour)

    def wrote(self, saved: SaveReport, *, timed: bool = False) -> None:
        """Print notes about the written model, its files and, if `timed`, the duration of the command."""
        for note in saved.notes:
            self.message(note)
        if saved.path is None:
            return
        same = ", a copy: nothing to change" if saved.verbatim else ""
        took = f"   {self.seconds:.2f} s" if timed else ""
        self.message(f"wrote {saved.path}{same}{took}")
        for path in (saved.external_data, *saved.copied, *saved.companions):
            if path is not None:
                self.message(f"wrote {path}")

    def message(self, text: str) -> None:
        """Print a message on standard error, unless it is empty or --quiet is set."""
        if text and not self.quiet:
            _echo(text, self.colour, err=True)


def announce(text: str, *, colour: bool) -> None:
    """Print an error on standard error, even with --quiet."""
    _echo(text, colour, err=True)


def _echo(text: str, colour: bool, *, err: bool) -> None:
    from gather_infer.report.layout import printable

    # names from a file must not control the terminal or start a line; only indented lists of an error have line breaks
    line = "\n".join(map(printable, re.split(r"\n(?=  )", text)))
    wanted = _wants_colours(colour)
    # with color=None, click strips colours if the stream is not a terminal
    click.echo(line if wanted is False else _painted(line), err=err, color=wanted)


def _wants_colours(allowed: bool) -> bool | None:
    """Whether to print colours; None means on terminals only. NO_COLOR overrides FORCE_COLOR, which overrides TERM.

    allowed   False with --no-color
    """
    if not allowed or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def _painted(line: str) -> str:
    found = _SEVERITY.match(line)
    if found is None:
        return line
    return click.style(found[0], fg=_COLOURS[found[1]], bold=True) + line[found.end() :]
