"""Row grouping: rows that differ in a number become one, `past_key_{0..47}   float32[batch, 1, past, 8]   (48)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, TypeAlias

Row: TypeAlias = "tuple[str, ...]"

MIN_ROWS: Final = 3
"""Minimum number of rows of a group."""

_NUMBER: Final = re.compile(r"(?<![0-9])(0|[1-9][0-9]{0,17})(?![0-9])")


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that differ in one number only, which may occur several times in a row; or a single row.

    cells     the cells, with `{0..47}` in place of the number
    numbers   the numbers in ascending order; empty for a single row
    """

    cells: Row
    numbers: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of rows in the group."""
        return max(1, len(self.numbers))


def group_rows(rows: Iterable[Row]) -> list[RowGroup]:
    """`rows`, of which at least MIN_ROWS that differ in one number only become a group, at the place of the first row.

    The number must occur in the first cell. Equal rows are not grouped.
    """
    families: dict[Row, list[tuple[int, Row, tuple[int, ...]]]] = {}
    for position, row in enumerate(rows):
        pattern = tuple(_NUMBER.sub("\0", cell) for cell in row)
        numbers = tuple(int(text) for cell in row for text in _NUMBER.findall(cell))
        families.setdefault(pattern, []).append((position, row, numbers))
    found: list[tuple[int, RowGroup]] = []
    for pattern, members in families.items():
        found += _groups_of(pattern, members)
    return [repeat for _, repeat in sorted(found, key=lambda entry: entry[0])]


def _groups_of(pattern: Row, members: Sequence[tuple[int, Row, tuple[int, ...]]]) -> list[tuple[int, RowGroup]]:
    """The groups and single rows among rows that differ in numbers only, each with the position of its first row.

    pattern   the cells, with NUL characters in place of the numbers
    members   position, cells and numbers of each row
    """
    best: dict[tuple[int, ...], list[tuple[int, Row, tuple[int, ...]]]] = {}
    running: set[int] = set()
    columns = list(zip(*(numbers for _, _, numbers in members), strict=True))
    # Choose the number in the first cell that yields the fewest groups if it varies within a group.
    for index in range(pattern[0].count("\0")) if len(members) >= MIN_ROWS else ():
        if len(set(columns[index])) < MIN_ROWS:
            continue
        places = {at for at, column in enumerate(columns) if column == columns[index]}  # they vary together
        groups: dict[tuple[int, ...], list[tuple[int, Row, tuple[int, ...]]]] = {}
        for member in members:
            rest = tuple(number for at, number in enumerate(member[2]) if at not in places)
            groups.setdefault(rest, []).append(member)
        if not best or len(groups) < len(best):
            best, running = groups, places
    found: list[tuple[int, RowGroup]] = []
    for group in best.values() if best else [list(members)]:
        numbers = tuple(sorted({values[min(running)] for _, _, values in group})) if running else ()
        if MIN_ROWS <= len(numbers) == len(group):
            position, _, values = group[0]
            texts = [numbers_text(numbers) if at in running else str(value) for at, value in enumerate(values)]
            found.append((position, RowGroup(_filled(pattern, texts), numbers)))
        else:
            found += [(position, RowGroup(row)) for position, row, _ in group]
    return found


def _filled(pattern: Row, texts: Sequence[str]) -> Row:
    waiting = iter(texts)
    return tuple(re.sub("\0", lambda _: next(waiting), cell) for cell in pattern)


def numbers_text(numbers: Sequence[int]) -> str:
    """Numbers in ascending order as text: `{0..47}`, `{0..3, 7, 9}`."""
    texts: list[str] = []
    for _, run in groupby(enumerate(numbers), key=lambda entry: entry[1] - entry[0]):
        each = [number for _, number in run]
        texts += [f"{each[0]}..{each[-1]}"] if len(each) > 2 else map(str, each)
    return f"{{{', '.join(texts)}}}"


def merge_groups(found: Iterable[RowGroup]) -> list[tuple[tuple[str, ...], RowGroup]]:
    """Merge groups that have the same numbers and differ in their first cell only.

    Each result is the first cells of all merged groups, and the first of these groups.
    """
    together: dict[object, tuple[list[str], RowGroup]] = {}
    for at, repeat in enumerate(found):
        key: object = (repeat.numbers, repeat.cells[1:]) if repeat.numbers else at
        together.setdefault(key, ([], repeat))[0].append(repeat.cells[0])
    return [(tuple(names), repeat) for names, repeat in together.values()]
