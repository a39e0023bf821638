"""Results of `freeze` as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.report.findings import findings_text
from gather_infer.report.interface import interface_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, View
from gather_infer.report.proof import proof_lines, proof_members
from gather_infer.report.verification import verification_members, verified_lines

if TYPE_CHECKING:
    from gather_infer.report.output_formats import FreezeReport


def freeze_text(report: FreezeReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer freeze`."""
    result = report.result
    name = printable(result.source.name)
    if result.refused:
        lines = [f"{name}   refused: {result.why_refused}"]
    else:
        graph = result.proto.graph
        open_values = {(o.kind, o.name) for o in result.interface.dynamic_dims}
        parts = []
        for kind, values in (("input", result.inputs), ("output", tuple(v.name for v in graph.output))):
            static = sum((kind, value) not in open_values for value in values)
            parts.append(f"{static} of {count(len(values), kind)}")
        head = fitted(f"{name}   static: {' and '.join(parts)}", view.width, "    ")
        lines = [*head, *interface_text(result.interface, view)]
    if report.proof is not None:
        lines += proof_lines(report.proof, view)
    if report.verification is not None:
        lines += verified_lines(report.verification, view)
    return [*lines, *findings_text(result.diagnostics, result.source.name, view)]


def freeze_json(report: FreezeReport) -> dict[str, Json]:
    result = report.result
    return {
        "schema": SCHEMA,
        "interface": interface_json(result.interface),
        "refused": [diagnostic_json(d) for d in result.refused],
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
        "proof": None if report.proof is None else proof_members(report.proof),
        "verification": None if report.verification is None else verification_members(report.verification),
    }
