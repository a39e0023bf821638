"""What `fold` and `optimize` have done as text and JSON: the model before and after, or the edits."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from gather_infer.report.forms import PLAIN, RewriteReport, View
from gather_infer.report.interface import interface_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json
from gather_infer.report.layout import Column, count, printable, size, table
from gather_infer.report.text import findings_text
from gather_infer.report.verification import verification_members, verification_text

if TYPE_CHECKING:
    from gather_infer.passes import FoldedFloats, OptimizeResult
    from gather_infer.passes.result import Size


SHOWN = 4
"""Nodes of a list that may be long, before it ends in `... 9 more: --verbose`."""


def rewriting_text(report: RewriteReport, view: View = PLAIN) -> list[str]:
    """What `gather-infer fold` and `gather-infer optimize` print."""
    result = report.result
    found = [d for d in result.diagnostics if d.code != "GI401"]
    after = [*_floats(result.floats, view), *interface_text(result.interface, view), *_verified(report, view)]
    if report.edits:
        edits = result.edits or ["nothing to do"]
        return [*edits, *after, *findings_text(found, result.source.name)]
    lines = [*_before_and_after(result, view.width), *_done(result, view.width)]
    if view.verbose:
        lines += [f"    {f.node}: {f.law}" for f in result.done]
        return [*lines, *after, *findings_text(result.diagnostics, result.source.name)]
    left = len(result.diagnostics) - len(found)
    if left:
        lines.append(f"  left alone: {left}, --verbose lists them")
    return [*lines, *after, *findings_text(found, result.source.name)]


def _floats(floats: FoldedFloats | None, view: View) -> list[str]:
    """Which results are those of a runtime, and what that means for outputs."""
    if floats is None:
        return []
    shown = floats.nodes if view.verbose else floats.nodes[:SHOWN]
    more = [f"... {len(floats.nodes) - len(shown)} more: --verbose"] if len(shown) < len(floats.nodes) else []
    first = f"  {count(len(floats.nodes), 'node')} evaluated by {floats.runtime}: "
    nodes = ", ".join([*(printable(str(node)) for node in shown), *more])
    return [
        *_wrapped(nodes, first, view.width),
        f"    outputs may be apart by {floats.tolerance:g}, relative to max(1, |original|)",
    ]


def _wrapped(listed: str, first: str, width: int | None) -> list[str]:
    """A list that begins with `first`, in lines of the width."""
    return textwrap.wrap(
        listed, width or 120, initial_indent=first, subsequent_indent="    ", break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def _verified(report: RewriteReport, view: View) -> list[str]:
    if report.verification is None:
        return []
    return [f"  {line}" for line in verification_text(report.verification, view)]


def _done(result: OptimizeResult, width: int | None) -> list[str]:
    """How often each rule has rewritten something."""
    by_rule = Counter(done.rule for done in result.done)
    if not by_rule:
        return ["  nothing to do"]
    listed = ", ".join(f"{rule} {number}" for rule, number in by_rule.most_common())
    first = f"  {count(len(result.done), 'rewrite')}: "
    return _wrapped(listed, first, width)


def _before_and_after(result: OptimizeResult, width: int | None) -> list[str]:
    before, after = result.before, result.after
    operators = before.operators | after.operators
    changed = [op for op, n in operators.most_common() if after.operators[op] != before.operators[op] or "Gather" in op]
    largest = max((f.nbytes for f in result.done), default=None)
    remark = "" if not largest else f"largest new constant {size(largest)}"
    rows = [
        ("nodes", str(before.nodes), str(after.nodes), ""),
        *((op, str(before.operators[op]), str(after.operators[op]), "") for op in changed),
        ("initializers", str(before.initializers), str(after.initializers), ""),
        ("constant bytes", size(before.weight_bytes), size(after.weight_bytes), remark),
    ]
    return table((Column(""), Column("before", right=True), Column("after", right=True), Column("")), rows, width=width)


def rewriting_json(report: RewriteReport) -> dict[str, Json]:
    result = report.result
    return {
        "schema": SCHEMA,
        "before": _size_json(result.before),
        "after": _size_json(result.after),
        "done": [
            {
                "node": str(d.node),
                "op_type": d.op_type,
                "name": d.name,
                "rule": d.rule,
                "law": d.law,
                "bytes": d.nbytes,
            }
            for d in result.done
        ],
        "floats": None if result.floats is None else _floats_json(result.floats),
        "verification": None if report.verification is None else verification_members(report.verification),
        "edits": [*result.edits] if report.edits else None,
        "interface": interface_json(result.interface),
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }


def _floats_json(floats: FoldedFloats) -> Json:
    return {
        "runtime": floats.runtime,
        "tolerance": floats.tolerance,
        "nodes": [str(node) for node in floats.nodes],
    }


def _size_json(model: Size) -> Json:
    return {
        "nodes": model.nodes,
        "operators": dict(sorted(model.operators.items())),
        "initializers": model.initializers,
        "bytes": model.weight_bytes,
    }
