"""Tables, sizes and widths of text reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ELLIPSIS = "…"
_NARROWEST = 8  # a column is not made narrower than this


@dataclass(frozen=True, slots=True)
class Column:
    """Heading and side of a table column; `right` is for numbers."""

    heading: str
    right: bool = False


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], *, indent: str = "  ", width: int | None = None
) -> list[str]:
    """The lines of a table with its headings; no line ends in a space.

    width   characters per line at most: the widest cells are shortened in the middle. None shortens nothing
    """
    widths = [max(len(cell) for cell in (c.heading, *(row[i] for row in rows))) for i, c in enumerate(columns)]
    if width is not None:
        widths = _fit(widths, width - len(indent) - 3 * (len(columns) - 1))
    lines = []
    for row in ([c.heading for c in columns], *rows):
        cells = [shorten(cell, room) for cell, room in zip(row, widths, strict=True)]
        aligned = [
            cell.rjust(room) if column.right else cell.ljust(room)
            for cell, room, column in zip(cells, widths, columns, strict=True)
        ]
        lines.append((indent + "   ".join(aligned)).rstrip())
    return lines


def _fit(widths: list[int], total: int) -> list[int]:
    """The widths with the widest ones lowered to one common width, so that they sum to `total` where possible."""
    widths = list(widths)
    excess = sum(widths) - total
    while excess > 0:
        widest = max(widths)
        if widest <= _NARROWEST:
            break
        at = [i for i, w in enumerate(widths) if w == widest]
        below = max([w for w in widths if w < widest] + [_NARROWEST])
        step = min(widest - below, -(-excess // len(at)))
        for i in at:
            widths[i] -= min(step, max(excess, 0))
            excess -= step
    return widths


def shorten(text: str, room: int) -> str:
    """`text` in at most `room` characters: the middle gives way, because names differ at their ends."""
    if len(text) <= room:
        return text
    tail = (room - 1) // 2
    return text[: room - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


def printable(text: str) -> str:
    """`text` with line breaks and control characters escaped, so that names from a file cannot steer a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def size(nbytes: int) -> str:
    """`512 B`, `888 KiB`, `1.39 MiB`."""
    if nbytes < 1024:
        return f"{nbytes} B"
    value = float(nbytes)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 999.5 or unit == "TiB":
            break
    return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f} {unit}"


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`, `2 entries`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
