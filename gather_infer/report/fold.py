"""A fold as text and JSON: the model before and after, or the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.report.forms import PLAIN, FoldReport, View
from gather_infer.report.interface import interface_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json
from gather_infer.report.layout import Column, count, size, table
from gather_infer.report.text import findings_text

if TYPE_CHECKING:
    from gather_infer.passes import FoldResult
    from gather_infer.passes.result import Size


def fold_text(report: FoldReport, view: View = PLAIN) -> list[str]:
    """What `gather-infer fold` prints."""
    result = report.result
    found = [d for d in result.diagnostics if d.code != "GI401"]
    if report.edits:
        edits = result.journal.describe(result.source.proto) or ["nothing to fold"]
        return [*edits, *interface_text(result.interface, view), *findings_text(found, result.source.name)]
    lines = [*_before_and_after(result, view.width), f"  folded {count(len(result.folded), 'node')}"]
    interface = interface_text(result.interface, view)
    if view.verbose:
        lines += [f"    {f.node}: {f.reason}" for f in result.folded]
        return [*lines, *interface, *findings_text(result.diagnostics, result.source.name)]
    left = len(result.diagnostics) - len(found)
    if left:
        lines.append(f"  left alone: {left}, --verbose lists them")
    return [*lines, *interface, *findings_text(found, result.source.name)]


def _before_and_after(result: FoldResult, width: int | None) -> list[str]:
    before, after = result.before, result.after
    changed = [op for op, n in before.operators.most_common() if after.operators[op] != n or "Gather" in op]
    largest = max((f.value.nbytes for f in result.folded), default=None)
    remark = "" if largest is None else f"largest folded {size(largest)}"
    rows = [
        ("nodes", str(before.nodes), str(after.nodes), ""),
        *((op, str(before.operators[op]), str(after.operators[op]), "") for op in changed),
        ("initializers", str(before.initializers), str(after.initializers), ""),
        ("constant bytes", size(before.weight_bytes), size(after.weight_bytes), remark),
    ]
    return table((Column(""), Column("before", right=True), Column("after", right=True), Column("")), rows, width=width)


def fold_json(report: FoldReport) -> dict[str, Json]:
    result = report.result
    return {
        "schema": SCHEMA,
        "before": _size_json(result.before),
        "after": _size_json(result.after),
        "folded": [
            {"node": str(f.node), "op_type": f.op_type, "name": f.name, "bytes": f.value.nbytes, "reason": f.reason}
            for f in result.folded
        ],
        "edits": [*result.journal.describe(result.source.proto)] if report.edits else None,
        "interface": interface_json(result.interface),
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }


def _size_json(model: Size) -> Json:
    return {
        "nodes": model.nodes,
        "operators": dict(sorted(model.operators.items())),
        "initializers": model.initializers,
        "bytes": model.weight_bytes,
    }
