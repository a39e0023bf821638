"""Signature of a model: the `in` and `out` lines at the start of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gather_infer.report.accesses import operand_text
from gather_infer.report.layout import fitted, printable
from gather_infer.report.row_groups import RowGroup, group_rows, merge_groups

if TYPE_CHECKING:
    from gather_infer.inference.result import Inference
    from gather_infer.tensor import Value

_JOINED: Final = 64
"""Maximum total length of names that share a line."""


def signature_text(inference: Inference, *, every: bool = False, width: int | None = None) -> list[str]:
    """The `in` and `out` lines; lines below an output give the inferred dims for its declared symbols.

    every   print a line for each input and output, without grouping
    width   maximum characters of a line, None for no limit; a type that does not fit is printed below its name
    """
    equal: dict[str, list[str]] = {}
    for finding in inference.diagnostics:
        if finding.code == "GI203":
            equal.setdefault(finding.location.value, []).append(printable(finding.message))
    facts = inference.scope("")
    listed: list[tuple[str, list[RowGroup]]] = []
    for label, names in (("in", inference.inputs), ("out", inference.outputs)):
        rows = [(printable(name), _fact(facts.get(name)), *equal.pop(name, ())) for name in names]
        listed.append((label, [RowGroup(row) for row in rows] if every else group_rows(rows)))
    lines = _lines([(label, _joined(rows)) for label, rows in listed])
    if width is not None and any(len(line) > width for line in lines):
        lines = _lines(listed, width)
    return lines + [f"       {text}" for texts in equal.values() for text in texts]


def _joined(rows: Sequence[RowGroup]) -> list[RowGroup]:
    """`rows`, in which groups with the same numbers and type share a row, unless the row of names gets too long."""
    found: list[RowGroup] = []
    for names, repeat in merge_groups(rows):
        text = ", ".join(names)
        if len(names) == 1 or len(text) <= _JOINED:
            found.append(RowGroup((text, *repeat.cells[1:]), repeat.numbers * len(names)))
        else:
            found += [RowGroup((name, *repeat.cells[1:]), repeat.numbers) for name in names]
    return found


def _lines(listed: Sequence[tuple[str, Sequence[RowGroup]]], width: int | None = None) -> list[str]:
    """The lines, with the types in a column; a type that does not fit there follows its name directly or below.

    listed   the rows of inputs and of outputs, each with the label `in` or `out`
    """
    room = max((len(row.cells[0]) for _, rows in listed for row in rows), default=0)
    lines = []
    for label, rows in listed:
        for row in rows:
            name, fact = row.cells[0], f"{row.cells[1]}  ({row.count})" if row.numbers else row.cells[1]
            forms = ([f"  {label:<5}{name:<{room}}   {fact}"], [f"  {label:<5}{name}   {fact}"])
            named = f"  {label:<5}{name}"
            below = [*(fitted(named, width, " " * 9) if row.numbers else [named]), f"         {fact}"]
            lines += next((form for form in forms if width is None or len(form[0]) <= width), below)
            lines += [f"       {text}" for text in row.cells[2:]]
            label = ""
    return lines


def _fact(value: Value | None) -> str:
    return "?" if value is None else operand_text(value)
