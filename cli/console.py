"""Writing: results to standard output, everything else to standard error."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gather_infer.model.save import SaveReport

_SEVERITY = re.compile(r"^(error|warning|note)(\[GI\d+\])?:")
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True, slots=True)
class Console:
    """How the user wants to be talked to.

    results_to_stderr   standard output carries a model (`-o -`), so results make way for it
    """

    quiet: bool = False
    verbose: bool = False
    colour: bool = True
    json: bool = False
    results_to_stderr: bool = False

    @property
    def width(self) -> int | None:
        """Characters per line of the terminal that results go to, None when they do not go to one."""
        stream = sys.stderr if self.results_to_stderr else sys.stdout
        return shutil.get_terminal_size().columns if stream.isatty() else None

    def result(self, lines: Iterable[str]) -> None:
        for line in lines:
            _echo(line, self.colour, err=self.results_to_stderr)

    def result_json(self, value: Any) -> None:
        import json

        click.echo(json.dumps(value, indent=1, allow_nan=False), err=self.results_to_stderr)

    def error(self, error: Exception) -> None:
        """One of several errors; the command goes on."""
        announce(f"error: {error}", colour=self.colour)

    def wrote(self, report: SaveReport, *, seconds: float | None = None) -> None:
        """Says which files were written, and how long it took."""
        if report.path is None:
            return
        same = ", a copy: nothing to change" if report.verbatim else ""
        time = "" if seconds is None else f"   {seconds:.2f} s"
        self.message(f"wrote {report.path}{same}{time}")
        for path in (report.external_data, *report.copied):
            if path is not None:
                self.message(f"wrote {path}")

    def holds_for(self, what: str, facts: Iterable[str]) -> None:
        """Says that the written file is right only for what was declared; nothing when nothing was."""
        given = ", ".join(facts)
        if given:
            self.message(f"{what} holds for {given} only; the inputs are declared as before")

    def message(self, text: str) -> None:
        """Something the user may like to know, on standard error; not with --quiet."""
        if not self.quiet:
            _echo(text, self.colour, err=True)


def announce(text: str, *, colour: bool) -> None:
    """An error on standard error, whatever the verbosity."""
    _echo(text, colour, err=True)


def _echo(text: str, colour: bool, *, err: bool) -> None:
    from gather_infer.report.layout import printable

    line = "\n".join(map(printable, text.split("\n")))  # names from a file cannot steer the terminal
    # click removes the colours again when the stream is no terminal
    wanted = colour and not os.environ.get("NO_COLOR")
    click.echo(_painted(line) if wanted else line, err=err, color=None if wanted else False)


def _painted(line: str) -> str:
    found = _SEVERITY.match(line)
    if found is None:
        return line
    return click.style(found[0], fg=_COLOURS[found[1]], bold=True) + line[found.end() :]
