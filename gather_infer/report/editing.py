"""Results of `extract`, `outputs`, `rename` and `compose` as text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gather_infer.report.diff import proof_lines, proof_members
from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import count, fitted, printable, size
from gather_infer.report.output_formats import PLAIN, View
from gather_infer.report.rewriting import edits_text, size_json
from gather_infer.report.verification import verification_members, verified_lines

if TYPE_CHECKING:
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
        "edits": [*result.edits] if report.edits else None,
        "proof": None if report.proof is None else proof_members(report.proof),
        "verification": None if report.verification is None else verification_members(report.verification),
    }


def _declared_json(values: Sequence[tuple[str, str]]) -> list[Json]:
    return [{"name": name, "declared": text} for name, text in values]
