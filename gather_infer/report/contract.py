"""A contract as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gather_infer.contract import DimsLine, Line
from gather_infer.diagnostic import Severity
from gather_infer.report.findings import findings_text
from gather_infer.report.forms import PLAIN, ContractReport, View
from gather_infer.report.json import Json, diagnostic_json
from gather_infer.report.layout import count, fitted, printable, shorten

if TYPE_CHECKING:
    from gather_infer.symbolic import Dim

_GAP = 3
_LEAST = 24
"""Room for the label of a node; where there is less, it stands below its line."""


def contract_text(report: ContractReport, view: View = PLAIN) -> list[str]:
    """What `gather-infer contract` prints; a verbose one names every node, with the reasons."""
    contract = report.contract
    name = report.file or contract.model
    lines = [f"contract of {printable(name)}"]
    if contract.lines:
        lines += _table(contract.lines, view)
    elif any(finding.severity is Severity.ERROR for finding in report.diagnostics):
        text = "  no line: it fails whatever the inputs hold, or is not known behind what is wrong"
        lines += fitted(text, view.width, "    ")
    elif not contract.open:
        held = "what is declared is enough" if contract.declared else "whatever the inputs hold"
        lines += fitted(f"  no line: {held}, no index is out of bounds and no shapes clash", view.width, "    ")
    if contract.nonempty:
        lines += fitted(f"  not empty: {', '.join(_emptiness(contract.nonempty))}", view.width, "    ")
        if view.verbose:
            lines += _table(contract.nonempty, view)
    if contract.declared:
        said = ", ".join(printable(line.text) for line in contract.declared)
        lines += fitted(f"  declared: {said}", view.width, "    ")
    if contract.open:
        lines.append("  not in it, a run may fail there all the same:")
        lines += [part for o in contract.open for part in fitted(f"    {printable(str(o))}", view.width, "      ")]
    tight = sum(line.tight for line in contract.lines)
    tail = "" if view.seconds is None else f"   {view.seconds:.2f} s"
    lines += ["", f"{count(len(contract.lines), 'line')}, {tight} tight{tail}"]
    return [*lines, *findings_text(report.diagnostics, name, view)]


def contract_json(report: ContractReport) -> dict[str, Json]:
    """The contract, as `Contract.load` reads it, and what came up while it was made."""
    return {**report.contract.to_json(), "diagnostics": [diagnostic_json(d) for d in report.diagnostics]}


def _table(lines: Sequence[Line], view: View) -> list[str]:
    room = max(len(printable(line.text)) for line in lines)
    left = None if view.width is None else view.width - 2 - room - len("not tight") - 2 * _GAP
    return [row for line in lines for row in _rows(line, room, left, view)]


def _rows(line: Line, room: int, left: int | None, view: View) -> Iterator[str]:
    text, tight = printable(line.text), "tight" if line.tight else "not tight"
    nodes = [printable(node) for node in line.nodes]
    shown = nodes[0] if nodes else "the file"
    more = f" and {count(len(nodes) - 1, 'more node')}" if len(nodes) > 1 and not view.verbose else ""
    if left is not None and left < _LEAST:
        assert view.width is not None, "without a width there is room"
        yield f"  {text}"
        yield f"    {tight:<9}   {shorten(shown, max(1, view.width - 16 - len(more)))}{more}"
    else:
        fitted = shown if left is None else shorten(shown, left - len(more))
        yield f"  {text:<{room}}   {tight:<9}   {fitted}{more}"
    if view.verbose:
        yield from (f"      {node}" for node in nodes[1:])
        if isinstance(line, DimsLine) and line.unless:
            yield f"      unless {printable(' or '.join(map(str, line.unless)))}"
        if line.reason:
            yield f"      {printable(line.reason)}"


def _emptiness(lines: Sequence[DimsLine]) -> Iterator[str]:
    """`batch`, `seq (not tight)`."""
    for line in lines:
        dim: Dim = line.relations[0].left
        yield printable(str(dim)) + ("" if line.tight else " (not tight)")
