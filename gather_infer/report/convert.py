"""Conversions from OpenVINO as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gather_infer.diagnostic import Diagnostic
from gather_infer.domains import versions_of
from gather_infer.report.findings import findings_text
from gather_infer.report.interface import interface_text, persisted_constraints_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json, trusted_annotation_json
from gather_infer.report.layout import GLUE, Column, count, fitted, printable, table
from gather_infer.report.output_formats import PLAIN, ConversionReport, View
from gather_infer.report.rewriting import edits_text
from gather_infer.report.verification import verification_members, verified_lines

if TYPE_CHECKING:
    from gather_infer.openvino import ConversionResult, Converted

SHOWN = 3
"""Maximal number of nodes in a list; a longer list ends in `and 9 more`."""


def conversion_text(report: ConversionReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer convert`; a verbose view adds each node."""
    result = report.result
    head = fitted(_head(result), view.width, "    ")
    notes = [
        *_indices(result.converted, view),
        *_random(result.converted, view),
        *_kept(result, view),
        *_weights(result),
        *_state(result),
    ]
    lines = [*head, *_operators(result.converted, view)]
    lines += [part for line in notes for part in fitted(line, view.width, _continuation_indent(line))]
    lines += _interface(result, view)
    if report.edits:
        lines += edits_text(result.edits, view)
    if report.verification is not None:
        lines += verified_lines(report.verification, view)
    return [*lines, *findings_text(remaining_diagnostics(result), result.source.name, view)]


def _continuation_indent(line: str) -> str:
    """The indentation of continuation lines of `line`: two more than its own."""
    return " " * (len(line) - len(line.lstrip()) + 2)


def _head(result: ConversionResult) -> str:
    """The first line: file, format, and the number of nodes before and after."""
    opset = versions_of(result.proto.opset_import).get("", 0)
    source_format = result.source.foreign_format or "ONNX"
    before = count(result.before.nodes, "layer" if result.source.foreign_format else "node")
    if not result.converted:
        return f"{result.source.name}   {source_format}, no OpenVINO nodes"
    return f"{result.source.name}   {source_format}, {before} -> {count(result.after.nodes, 'node')}, opset {opset}"


def _shown(one: Converted) -> tuple[str, ...]:
    """The ONNX operators of a lowered node; the last one says which operator of another node its constant went into."""
    return (*one.operators, f"in{GLUE}{one.fused_into}") if one.fused_into else one.operators


def _operators(converted: Sequence[Converted], view: View) -> list[str]:
    """A row for each lowered operator: number of nodes, ONNX operators, and verdicts of the indices."""
    rows = []
    for (op_type, version), alike in sorted(_by_operator(converted).items()):
        made = Counter(op for one in alike for op in _shown(one))
        shown = ", ".join(op if n == 1 else f"{n}{GLUE}{op}" for op, n in made.most_common())
        rows.append((f"{op_type}-{version}", str(len(alike)), shown or "constants", _bounds(alike)))
    if not rows:
        return []
    columns = Column("operator"), Column("nodes", right=True), Column("in ONNX"), Column("indices")
    lines = ["", *table(columns, rows, width=None if view.width is None else view.width)]
    if view.verbose:
        each = [
            (
                printable(str(one.node)),
                f"{one.op_type}-{one.version}",
                ", ".join(_shown(one)) or "constant",
                one.indices,
            )
            for one in converted
        ]
        columns = Column("node"), Column("operator"), Column("in ONNX"), Column("indices")
        lines += ["", *table(columns, each, width=view.width)]
    return [*lines, ""]


def _by_operator(converted: Sequence[Converted]) -> dict[tuple[str, int], list[Converted]]:
    found: dict[tuple[str, int], list[Converted]] = {}
    for one in converted:
        found.setdefault((one.op_type, one.version), []).append(one)
    return found


def _bounds(alike: Sequence[Converted]) -> str:
    """Counts by treatment of the indices: `3 proved, 1 guarded`; empty for operators without index inputs."""
    kinds = Counter(one.indices for one in alike)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in ("proved", "guarded", "assumed") if kinds[kind])


def _indices(converted: Sequence[Converted], view: View) -> list[str]:
    """A line for each treatment of indices that are not proved in bounds, with the nodes."""
    lines = []
    for kind, what in (
        ("guarded", "guards, which give zeros for an index out of bounds"),
        ("assumed", "indices assumed in bounds, where OpenVINO would give zeros"),
    ):
        found = [printable(str(one.node)) for one in converted if one.indices == kind]
        if found:
            lines.append(f"  {what}: {len(found)} ({_abbreviated(found, view)})")
    return lines


def _random(converted: Sequence[Converted], view: View) -> list[str]:
    """A line with the nodes whose random numbers differ from OpenVINO's; empty if there are none."""
    found = [printable(str(one.node)) for one in converted if one.draws]
    if not found:
        return []
    nodes = f"{len(found)} ({_abbreviated(found, view)})"
    return [f"  random numbers from ONNX's generators, which differ from OpenVINO's: {nodes}"]


def _abbreviated(names: Sequence[str], view: View) -> str:
    shown = names if view.verbose or len(names) <= SHOWN + 1 else names[:SHOWN]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def _kept(result: ConversionResult, view: View) -> list[str]:
    """Lines about nodes that stay in OpenVINO's domain, and about trusted annotations of their outputs."""
    kept = result.kept
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in kept:
        reasons.setdefault((one.operator, one.reason), []).append(printable(str(one.node)))
    lines = [f"    {op}: {printable(reason)} ({_abbreviated(found, view)})" for (op, reason), found in reasons.items()]
    if result.kept and result.inference.trusted_annotations:
        annotations = [printable(str(belief)) for belief in result.inference.trusted_annotations]
        lines.append(f"    trusted as the file declares it: {_abbreviated(annotations, view)}")
    return [f"  not converted: {count(len(kept), 'node')}", *lines] if lines else []


_FUSED = frozenset({2, 3, 21, 22})
"""UINT8, INT8, UINT4 and INT4 of TensorProto: onnxruntime fuses their DequantizeLinear and MatMul."""

_EXACT = "session.qdq_matmulnbits_accuracy_level=1"


def _weights(result: ConversionResult) -> list[str]:
    if not result.weights:
        return []
    forms = Counter(one.format for one in result.weights)
    lines = [f"  compressed weights: {', '.join(f'{n} {form}' for form, n in forms.most_common())}"]
    if any(one.format == "dequantize" and one.element in _FUSED for one in result.weights):
        lines.append(f"  onnxruntime accumulates in float32 with the session option {_EXACT}, otherwise in 8 bits")
    return lines


_FIRST = {
    "empty": "empty in the first run",
    "constant": "initial value as default",
    "computed": "reset_state true in the first run",
    "none": "zeros in the first run",
}
"""The feed of a state input in the first run, by the `initial` of the variable."""


def _state(result: ConversionResult) -> list[str]:
    """A line for each kind of state variable; variables that the conversion made constants are not listed."""
    lines = []
    for initial, first in _FIRST.items():
        alike = [v for v in result.variables if v.initial == initial and v.past]
        if alike:
            shown = [" -> ".join(printable(name) for name in (v.past, v.present) if name) for v in alike]
            lines.append(f"  state as inputs and outputs, {first}: {_abbreviated(shown, PLAIN)}")
    only = [printable(v.present) for v in result.variables if v.present and not v.past]
    return [*lines, f"  state that is never read, as outputs: {_abbreviated(only, PLAIN)}"] if only else lines


def _interface(result: ConversionResult, view: View) -> list[str]:
    """Lines about the interface: kept names and order, changed declarations, kept bounds."""
    graph = result.source.proto.graph
    lines = interface_text(result.interface, view)
    if not result.interface.changed:
        inputs, outputs = count(len(result.inference.inputs), "input"), count(len(graph.output), "output")
        lines.insert(0, f"  names and order of {inputs} and {outputs} kept")
    if result.inference.persisted_constraints and not result.interface.persisted_constraints:
        lines.append(f"  bounds kept: {persisted_constraints_text(result.inference.persisted_constraints)}")
    return lines


def remaining_diagnostics(result: ConversionResult) -> list[Diagnostic]:
    """The diagnostics of the model that the conversion does not resolve."""
    return [d for d in result.diagnostics if d.code != "GI309"]


def conversion_json(report: ConversionReport) -> dict[str, Json]:
    result = report.result
    return {
        "schema": SCHEMA,
        "model": {"name": result.source.name},
        "converted": [
            {
                "node": str(c.node),
                "op_type": c.op_type,
                "version": c.version,
                "operators": list(c.operators),
                "indices": c.indices or None,
                "draws": c.draws,
                "fused_into": c.fused_into or None,
            }
            for c in result.converted
        ],
        "kept": [
            {"node": str(k.node), "op_type": k.op_type, "version": k.version, "reason": k.reason} for k in result.kept
        ],
        "trusted_annotations": [trusted_annotation_json(b) for b in result.inference.trusted_annotations],
        "weights": [{"name": w.name, "format": w.format} for w in result.weights],
        "variables": [
            {"name": v.name, "past": v.past, "present": v.present, "initial": v.initial, "shape": v.shape}
            for v in result.variables
        ],
        "edits": [*result.edits] if report.edits else None,
        "interface": interface_json(result.interface),
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
        "verification": None if report.verification is None else verification_members(report.verification),
    }
