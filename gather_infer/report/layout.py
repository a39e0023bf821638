"""Layout of text reports: tables, wrapping, formatting of sizes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

ELLIPSIS = "…"
GLUE = "\N{NO-BREAK SPACE}"
"""A non-breaking space for `fitted` and `table`; names from a file contain none, because `printable` escapes it."""

_TOGETHER = re.compile(r" (?=B$)| (?== \d)|(?<= =) (?=\d)")
"""Other spaces that do not break: before the unit of a formula, and in `batch = 1`."""

_NARROWEST = 16  # minimum width of a column


class Column(NamedTuple):
    """Heading and alignment of a table column; `right` aligns cells at the right, for numbers."""

    heading: str
    right: bool = False


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: str = "  ", width: int | None = None
) -> list[str]:
    """The lines of a table with its headings; no line ends in a space.

    width   maximum characters of a line, None for no limit. Only cells of the first column are shortened, and only if
            they stay distinct. Otherwise rows are stacked: the first cell, then lines with the other cells and headings
    """
    widths = [max(len(cell) for cell in (c.heading, *(row[i] for row in rows))) for i, c in enumerate(columns)]
    if width is not None:
        excess = len(indent) + sum(widths) + 3 * (len(widths) - 1) - width
        if excess > 0:
            widths[0] -= excess
            names = {row[0] for row in rows}
            if widths[0] < _NARROWEST or len({shorten(name, widths[0]) for name in names}) < len(names):
                return [line for row in rows for line in _stacked(columns, row, indent, width)]
    return [_line(columns, row, widths, indent) for row in ([c.heading for c in columns], *rows)]


def _line(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int], indent: str) -> str:
    first, *rest = row
    cells = [
        cell.rjust(room) if column.right else cell.ljust(room)
        for column, cell, room in zip(columns, (shorten(first, widths[0]), *rest), widths, strict=True)
    ]
    return (indent + "   ".join(cells)).replace(GLUE, " ").rstrip()


def _stacked(columns: Sequence[Column], row: Sequence[str], indent: str, width: int) -> Iterator[str]:
    """The lines of a stacked row: the first cell, then the other cells with headings, as many in a line as fit."""
    yield f"{indent}{row[0]}"
    line = ""
    for column, cell in zip(columns[1:], row[1:], strict=True):
        if not cell:
            continue
        text = f"{column.heading} {cell}".strip()
        if line and len(line) + 3 + len(text) > width:
            yield from fitted(line, width, f"{indent}    ")
            line = ""
        line = f"{line}   {text}" if line else f"{indent}  {text}"
    if line:
        yield from fitted(line, width, f"{indent}    ")


def wrapped(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, width: int | None = None) -> list[str]:
    """Like `table`, but wraps cells and headings that do not fit.

    The first column is wrapped only if it takes more than two fifths of the width.
    """
    widths = [max(len(cell) for cell in (c.heading, *(row[i] for row in rows))) for i, c in enumerate(columns)]
    if width is not None:
        first = widths[0] if widths[0] <= width * 2 // 5 else 0
        rest = _fit(widths[bool(first) :], width - 3 * (len(columns) - 1) - first)
        widths = [first, *rest] if first else rest
    lines: list[str] = []
    for row in ([c.heading for c in columns], *rows):
        cells = [_wrap(cell, room) for cell, room in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            lines.append("   ".join(part.ljust(room) for part, room in zip(parts, widths, strict=True)).rstrip())
    return lines


def _wrap(text: str, room: int) -> list[str]:
    """`text` in lines of at most `room` characters; the indentation of `text` is kept."""
    indent = text[: len(text) - len(text.lstrip())]
    further = f"{indent}  " if room > len(indent) + 2 else ""
    found = textwrap.wrap(
        text.strip(), room, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )  # fmt: skip
    return found or [""]


def _fit(widths: list[int], total: int) -> list[int]:
    """`widths`, with the largest reduced to a common width until their sum is `total`, or all are at the minimum."""
    widths = list(widths)
    while sum(widths) > total and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def fitted(line: str, width: int | None, continuation_indent: str) -> list[str]:
    """`line`, wrapped at `width`; continuation lines start with `continuation_indent`."""
    if width is None or len(line) <= width:
        return [line.replace(GLUE, " ")]
    indent = line[: len(line) - len(line.lstrip())]
    lines = textwrap.wrap(
        _TOGETHER.sub(GLUE, line.strip()),
        width,
        initial_indent=indent,
        subsequent_indent=continuation_indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(GLUE, " ") for line in lines]


def shorten(text: str, room: int) -> str:
    """`text` in at most `room` characters; the middle is omitted, because names differ at their ends."""
    if len(text) <= room:
        return text
    tail = (room - 1) // 2
    return text[: room - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


def printable(text: str) -> str:
    """`text` with line breaks and control characters escaped, so that names from a file cannot control a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


_UNITS = ("k", "M", "G", "T", "P")


def magnitude(number: int) -> str:
    """A count with a unit of 1000: `512`, `1.44 M`, `269 k`."""
    if number < 1000:
        return str(number)
    power = min((len(str(number)) - 1) // 3, len(_UNITS))
    return f"{number / 1000**power:.{0 if number >= 100 * 1000**power else 2}f} {_UNITS[power - 1]}"


def size(nbytes: int) -> str:
    """A number of bytes as text: `512 B`, `888 KiB`, `1.39 MiB`."""
    if nbytes < 1024:
        return f"{nbytes} B"
    value = float(nbytes)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 999.5 or unit == "TiB":
            break
    return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f} {unit}"


def count(number: int, noun: str) -> str:
    """A number with its noun as text: `1 node`, `2 nodes`, `2 entries`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
