"""A conversion from OpenVINO's dialect as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.diagnostic import Diagnostic
from gather_infer.report.forms import PLAIN, View
from gather_infer.report.interface import interface_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json
from gather_infer.report.layout import count
from gather_infer.report.text import findings_text

if TYPE_CHECKING:
    from gather_infer.openvino import ConversionResult


def conversion_text(result: ConversionResult, view: View = PLAIN) -> list[str]:
    """What `gather-infer convert` prints."""
    total = count(len(result.converted), "OpenVINO-style Gather")
    lines = [f"{result.source.name}   {total}" + (" -> ONNX Gather" if result.converted else "")]
    casts = sum(c.cast for c in result.converted)
    if casts:
        lines.append(f"  {count(casts, 'Cast')} of the indices to int64 inserted")
    assumed = [c for c in result.converted if c.indices == "assumed"]
    if assumed:
        lines.append(f"  indices assumed in bounds, where OpenVINO would have given zeros: {len(assumed)}")
    for c in result.converted if view.verbose else assumed:
        remarks = [f"indices {c.indices} in bounds", *(["Cast inserted"] if c.cast else [])] if view.verbose else []
        lines.append("    " + ", ".join([str(c.node), f"axis {c.axis}", *remarks]))
    return [*lines, *interface_text(result.interface, view), *findings_text(unmended(result), result.source.name)]


def unmended(result: ConversionResult) -> list[Diagnostic]:
    """What is wrong with the model besides what the conversion mends."""
    return [d for d in result.diagnostics if d.code != "GI309"]


def conversion_json(result: ConversionResult) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "converted": [
            {"node": str(c.node), "axis": c.axis, "indices": c.indices, "cast": c.cast} for c in result.converted
        ],
        "interface": interface_json(result.interface),
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }
