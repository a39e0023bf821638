"""A fold as text and JSON: the model before and after, or the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.report.forms import PLAIN, FoldReport, View
from gather_infer.report.json import SCHEMA, Json, diagnostic_json
from gather_infer.report.layout import Column, count, size, table
from gather_infer.report.text import findings_text
from gather_infer.report.verification import verification_members, verification_text

if TYPE_CHECKING:
    from gather_infer.passes import FoldResult
    from gather_infer.passes.result import Size


def fold_text(report: FoldReport, view: View = PLAIN) -> list[str]:
    """What `gather-infer fold` prints."""
    result = report.result
    found = [d for d in result.diagnostics if d.code != "GI401"]
    if report.edits:
        edits = result.journal.describe(result.source.proto) or ["nothing to fold"]
        return [*edits, *_verified(report, view), *findings_text(found, result.source.name)]
    lines = [*_before_and_after(result, view.width), f"  folded {count(len(result.folded), 'node')}"]
    if view.verbose:
        lines += [f"    {f.node}: {f.reason}" for f in result.folded]
        lines += _verified(report, view)
        return [*lines, *findings_text(result.diagnostics, result.source.name)]
    left = len(result.diagnostics) - len(found)
    if left:
        lines.append(f"  left alone: {left}, --verbose lists them")
    return [*lines, *_verified(report, view), *findings_text(found, result.source.name)]


def _verified(report: FoldReport, view: View) -> list[str]:
    if report.verification is None:
        return []
    return [f"  {line}" for line in verification_text(report.verification, view)]


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
        "verification": None if report.verification is None else verification_members(report.verification),
        "edits": [*result.journal.describe(result.source.proto)] if report.edits else None,
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }


def _size_json(model: Size) -> Json:
    return {
        "nodes": model.nodes,
        "operators": dict(sorted(model.operators.items())),
        "initializers": model.initializers,
        "bytes": model.weight_bytes,
    }
