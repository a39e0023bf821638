"""Differences between the interfaces of a written model and of its source, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gather_infer.report.layout import fitted, printable
from gather_infer.report.output_formats import PLAIN, View
from gather_infer.report.row_groups import RowGroup, group_rows

if TYPE_CHECKING:
    from gather_infer.inference.constraints.persisted import DimConstraint
    from gather_infer.inference.interface_types import Interface, Redeclared

SHOWN = 3
"""Maximal number of dynamic dims listed for the same reason; a longer list ends in `and 9 more`."""

_LABELS = {"input": "in", "output": "out", "value_info": ""}


def interface_text(interface: Interface, view: View = PLAIN) -> list[str]:
    """Changed declarations, dynamic dims and persisted constraints; a verbose view omits nothing."""
    lines: list[str] = []
    shown = [c for c in interface.changed if view.verbose or c.kind != "value_info"]
    if interface.changed:
        lines += ["  changed declarations:", *_changes(shown, view)]
        if len(shown) < len(interface.changed):
            lines.append(f"    and {len(interface.changed) - len(shown)} value_info: --verbose lists them")
    if interface.dynamic_dims and (interface.changed or view.verbose):
        lines += ["  still symbolic:", *_dynamic_dims(interface, view)]
    if interface.persisted_constraints:
        lines += fitted(
            f"  persisted in the metadata: {persisted_constraints_text(interface.persisted_constraints)}",
            view.width,
            "    ",
        )
    return lines


def _changes(shown: Sequence[Redeclared], view: View) -> Iterator[str]:
    """A line for each redeclared value; unless verbose, values whose names differ in a number are grouped."""
    rows: list[tuple[str, RowGroup]] = []
    for label, group in groupby(shown, lambda c: _LABELS[c.kind]):
        cells = [(printable(f"{c.graph}/{c.name}" if c.graph else c.name), _change(c)) for c in group]
        rows += [(label, r) for r in (map(RowGroup, cells) if view.verbose else group_rows(cells))]
    room = max((len(repeat.cells[0]) for _, repeat in rows), default=0)
    for label, repeat in rows:
        name, text = repeat.cells[0], repeat.cells[1] + (f"  ({repeat.count})" if repeat.numbers else "")
        forms = [f"    {label:<5}{name:<{room}}   {text}", f"    {label:<5}{name}   {text}"]
        line = next((form for form in forms if view.width is None or len(form) <= view.width), None)
        if line is not None:
            yield line
        else:
            yield f"    {label:<5}{name}"
            yield from fitted(f"           {text}", view.width, " " * 13)


def _change(change: Redeclared) -> str:
    before, after = ("[...]" if dims is None else _dims(dims) for dims in (change.before, change.after))
    return printable(f"{before} -> {after}")


def persisted_constraints_text(constraints: Sequence[DimConstraint]) -> str:
    """Persisted constraints in the notation of the file's metadata, sorted."""
    return printable("; ".join(sorted(map(str, constraints))))


def _dims(dims: Sequence[int | str | None]) -> str:
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in dims) + "]"


def _dynamic_dims(interface: Interface, view: View) -> list[str]:
    """A line for each group of dims with the same name and reason, separately for inputs and outputs."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for o in interface.dynamic_dims:
        where = o.name if o.axis is None else f"{o.name}.{o.axis}"
        rows.setdefault((o.kind, o.dim or "?", o.reason), []).append(where)
    lines = []
    for (kind, dim, reason), places in rows.items():
        shown = places if view.verbose or len(places) <= SHOWN + 1 else places[:SHOWN]
        more = f" and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
        text = reason if reason.startswith(f"{dim} is ") else f"{dim}: {reason}"
        line = printable(f"    {_LABELS[kind]:<5}{text}   {', '.join(shown)}{more}")
        lines += fitted(line, view.width, " " * 11)
    return lines
