"""Results of `extract`, `outputs`, `rename` and `compose` as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import count, fitted, printable, size
from gather_infer.report.output_formats import PLAIN, View
from gather_infer.report.proof import proof_lines, proof_members
from gather_infer.report.rewriting import edits_text, size_json
from gather_infer.report.verification import verification_members, verified_lines

if TYPE_CHECKING:
    from gather_infer.editing.result import JoinedLine
    from gather_infer.report.output_formats import EditReport

SHOWN_VALUES = 12
"""Maximal number of listed inputs, and of listed outputs, unless verbose."""


def edit_text(report: EditReport, view: View = PLAIN) -> list[str]:
    """The output of a command that edits a model."""
    result = report.result
    before, after = result.before, result.after
    sizes = [
        f"{count(before.nodes, 'node')} -> {after.nodes}" if before.nodes != after.nodes else count(after.nodes, "node")
    ]
    if before.weight_bytes != after.weight_bytes:
        sizes.append(f"constants {size(before.weight_bytes)} -> {size(after.weight_bytes)}")
    lines = fitted(f"{printable(result.source.name)}   {', '.join(sizes)}", view.width, "    ")
    lines += _interface({"in": result.inputs, "out": result.outputs}, view)
    lines += _contract(result.lines, view)
    lines += [part for text in result.refused for part in fitted(f"  refused: {printable(text)}", view.width, "    ")]
    for note in result.notes:
        lines += fitted(f"  {printable(note)}", view.width, "    ")
    if report.edits:
        lines += edits_text(result.edits, view)
    if report.proof is not None:
        lines += proof_lines(report.proof, view)
    if report.verification is not None:
        lines += verified_lines(report.verification, view)
    return lines


def _interface(values: Mapping[str, Sequence[tuple[str, str]]], view: View) -> list[str]:
    """A line for each input and output, with the types in a column, or below the name where that is too wide."""
    rows: list[tuple[str, str, str]] = []
    left = {}
    for label, listed in values.items():
        shown = listed if view.verbose or len(listed) <= SHOWN_VALUES + 1 else listed[:SHOWN_VALUES]
        rows += [("" if at else label, printable(name), printable(text)) for at, (name, text) in enumerate(shown)]
        left[len(rows)] = len(listed) - len(shown)
    room = max((len(name) for _, name, _ in rows), default=0)
    lines = []
    for at, (label, name, text) in enumerate(rows, 1):
        line = f"  {label:<5}{name:<{room}}   {text}"
        is_wide = view.width is not None and len(line) > view.width
        lines += [f"  {label:<5}{name}", f"         {text}"] if is_wide else [line]
        if left.get(at):
            lines.append(f"       ... {left[at]} more: --verbose")
    return lines


def _contract(found: Sequence[JoinedLine], view: View) -> list[str]:
    """The lines of the second model's contract; those that are proved are counted unless verbose."""
    lines = []
    proved = sum(str(line.status) == "proved" for line in found)
    if proved and not view.verbose:
        lines.append(f"  contract of the second model: {count(proved, 'line')} proved")
    elif found:
        lines.append("  contract of the second model:")
    for line in found:
        status = str(line.status)
        if status != "proved" or view.verbose:
            nodes = f"   {', '.join(line.nodes)}" if line.nodes else ""
            witness = f"   {line.example}" if status == "fails" else ""
            text = f"    {_STATUS[status]:<9}   {printable(f'{line.text}{nodes}{witness}')}"
            lines += fitted(text, view.width, " " * 16)
    return lines


_STATUS = {"proved": "proved", "fails": "fails", "open": "open", "input": "condition"}


def edit_json(report: EditReport) -> dict[str, Json]:
    result = report.result
    return {
        "schema": SCHEMA,
        "model": {"name": result.source.name},
        "before": size_json(result.before),
        "after": size_json(result.after),
        "inputs": _declared_json(result.inputs),
        "outputs": _declared_json(result.outputs),
        "notes": [*result.notes],
        "refused": [*result.refused],
        "contract": [
            {
                "text": line.text,
                "nodes": [*line.nodes],
                "status": str(line.status),
                "witness": dict(line.witness) if str(line.status) == "fails" else None,
            }
            for line in result.lines
        ],
        "edits": [*result.edits] if report.edits else None,
        "proof": None if report.proof is None else proof_members(report.proof),
        "verification": None if report.verification is None else verification_members(report.verification),
    }


def _declared_json(values: Sequence[tuple[str, str]]) -> list[Json]:
    return [{"name": name, "declared": text} for name, text in values]
