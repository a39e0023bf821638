"""How the types of a written model differ from those of the model that was given, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gather_infer.report.forms import PLAIN, View
from gather_infer.report.layout import printable

if TYPE_CHECKING:
    from gather_infer.inference.interface import Interface
    from gather_infer.inference.stated import Statement

SHOWN = 3
"""Dims that are open for the same reason, before they end in `and 9 more`."""

_LABELS = {"input": "in", "output": "out", "value_info": ""}


def interface_text(interface: Interface, view: View = PLAIN) -> list[str]:
    """What is declared anew, and what could not be; a verbose one has all of it. Nothing where nothing was given."""
    lines: list[str] = []
    shown = [c for c in interface.changed if view.verbose or c.kind != "value_info"]
    if interface.changed:
        lines.append("  declared anew:")
        addresses = [f"{c.graph}/{c.name}" if c.graph else c.name for c in shown]
        room = max((len(printable(a)) for a in addresses), default=0)
        for change, address in zip(shown, addresses, strict=True):
            before, after = ("[...]" if dims is None else _dims(dims) for dims in (change.before, change.after))
            label = change.kind if change.graph else _LABELS[change.kind]
            lines.append(f"    {label:<5}{printable(address):<{room}}   {printable(f'{before} -> {after}')}")
        if len(shown) < len(interface.changed):
            lines.append(f"    and {len(interface.changed) - len(shown)} value_info: --verbose lists them")
    if interface.open and (interface.changed or view.verbose):
        lines += ["  still symbolic:", *_open(interface, view.verbose)]
    if interface.recorded:
        lines.append(f"  recorded in the metadata: {recorded_text(interface.recorded)}")
    return lines


def recorded_text(statements: Sequence[Statement]) -> str:
    """What a file records of its dims, as it stands there."""
    return printable("; ".join(sorted(map(str, statements))))


def _dims(dims: Sequence[int | str | None]) -> str:
    return "[" + ", ".join("?" if dim is None else str(dim) for dim in dims) + "]"


def _open(interface: Interface, everything: bool) -> list[str]:
    """A line for all dims of inputs, or of outputs, that are called the same and open for the same reason."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for o in interface.open:
        where = o.name if o.axis is None else f"{o.name}.{o.axis}"
        rows.setdefault((o.kind, o.dim or "?", o.reason), []).append(where)
    lines = []
    for (kind, dim, reason), places in rows.items():
        shown = places if everything or len(places) <= SHOWN + 1 else places[:SHOWN]
        more = f" and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
        said = reason if reason.startswith(f"{dim} is ") else f"{dim}: {reason}"
        lines.append(printable(f"    {_LABELS[kind]:<5}{said}   {', '.join(shown)}{more}"))
    return lines
