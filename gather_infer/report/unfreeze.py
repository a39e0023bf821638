"""Results of `unfreeze` as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gather_infer.diagnostic import Severity
from gather_infer.errors import as_option
from gather_infer.report.findings import findings_text
from gather_infer.report.independence import independence_json
from gather_infer.report.interface import interface_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, View
from gather_infer.report.proof import proof_lines, proof_members
from gather_infer.report.rewriting import edits_text
from gather_infer.symbolic import evaluate, parse_dim

if TYPE_CHECKING:
    from gather_infer.report.output_formats import UnfreezeReport
    from gather_infer.unfreezing.result import UnfreezeResult

MAX_AXES = 6
"""Maximal number of printed axes that have the old size and no name."""


def unfreeze_text(report: UnfreezeReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer unfreeze`."""
    result = report.result
    name = printable(result.source.name)
    lines: list[str] = []
    for size, sites in result.sites.items():  # a symbol, or an expression of symbols
        places, old = printable(", ".join(sites)), evaluate(parse_dim(size), result.freed)
        lines += fitted(f"{name}   {printable(size)}, was {old}: {places}", view.width, "    ")
    for symbol, (number, node) in result.required.items():
        text = f"  {printable(symbol)} is dynamic in the file already, but node {printable(node)} requires {number}"
        lines += fitted(text, view.width, "    ")
    if result.blocked is not None:
        lines += fitted(f"  refused: {printable(result.why_refused)}", view.width, "    ")
        lines += _advice_lines(result, view)
    else:
        lines += interface_text(result.interface, view)
        added = result.after.nodes - result.before.nodes
        changed = len({edit.node for edit in result.removals})
        lines.append(f"  {count(changed, 'node')} edited, {count(result.before.nodes, 'node')} before, "
                     f"{result.after.nodes} after ({added:+})")  # fmt: skip
        for symbol, most in result.most.items():
            lines.append(f"  {printable(symbol)} <= {most}: the constants of the file have no more rows")
        if result.fixed:
            names = printable(", ".join(result.fixed))
            lines += fitted(f"  still fixed, as it depends on no freed size: {names}", view.width, "    ")
        lines += _independence_lines(result, view)
        lines += _row_lines(result, view)
        if report.edits:
            lines += edits_text(result.edits, view)
    for symbol, why in result.dropped.items():
        lines += fitted(f"  not freed: {printable(symbol)}: {printable(why)}", view.width, "    ")
    for proof, sizes in ((report.proof, result.freed), (report.like_proof, result.like_sizes)):
        if proof is not None:
            at = ", ".join(f"{symbol}={size}" for symbol, size in sizes.items())
            lines += fitted(f"  compared with {printable(proof.first)} at {printable(at)}:", view.width, "    ")
            lines += proof_lines(proof, view)
    return [*lines, *findings_text(result.diagnostics, result.source.name, view)]


def _advice_lines(result: UnfreezeResult, view: View) -> list[str]:
    """Advice for a model that a node refuses, about its likeliest cause alone."""
    if any(finding.severity is Severity.ERROR for finding in result.diagnostics):
        return fitted("  the model has errors at its old sizes already, which are listed below", view.width, "    ")
    lines: list[str] = []
    for symbol, axes in result.unnamed_axes.items():
        shown = ", ".join(axes[:MAX_AXES]) + (f", {len(axes) - MAX_AXES} more" if len(axes) > MAX_AXES else "")
        lines.append(
            f"  also {result.freed[symbol]}, without a name: {shown}; if such an axis is {symbol}, too: "
            + as_option("--dim", f"{axes[0]}={symbol}")
        )
    if not lines and result.like is None:
        lines.append("  a second export at another size may tell more: --like OTHER")
    return [part for line in lines for part in fitted(printable(line), view.width, "    ")]


def _independence_lines(result: UnfreezeResult, view: View) -> list[str]:
    """The verdict for each symbol of rows; the cause of another verdict than `proved` with its node."""
    lines: list[str] = []
    for symbol, found in result.independence.items():
        cause = found.cause
        reason = "" if cause is None else f" ({cause.explanation})"
        lines += fitted(
            f"  rows of {printable(symbol)} independent: {found.verdict}{printable(reason)}", view.width, "    "
        )
        if cause is not None and cause.run:
            lines += fitted(f"    {printable(cause.run)}", view.width, "    ")
    return lines


def _row_lines(result: UnfreezeResult, view: View) -> list[str]:
    rows = result.rows
    if rows is None:
        return []
    if rows.faults:  # the cause is in the lines about independence
        return fitted(f"  refused: {printable(rows.faults[0])}", view.width, "    ")
    if result.dependence:
        return ["  refused: rows depend on each other"]
    if rows.skipped:
        return fitted(
            f"  refused: rows not compared: {printable(rows.skipped)}; --no-verify leaves this out", view.width, "    "
        )
    other = "" if result.like is None else f" as {result.like.name}"
    of_like = [text for text in rows.runs if other and text.endswith(other)]
    by_row = [text for text in rows.runs if text.partition("=")[0] in result.independence and text not in of_like]
    lines: list[str] = []
    for start, texts in (
        ("rows equal those of the original", by_row),
        ("outputs equal those of the original", [text for text in rows.runs if text not in (*by_row, *of_like)]),
        (f"outputs equal those of {other[len(' as ') :]}", [text.removesuffix(other) for text in of_like]),
        ("runs also, with nothing to compare", rows.ran),
    ):
        if texts:
            lines += fitted(f"  {start}: {printable(', '.join(texts))}", view.width, "    ")
    return lines


def unfreeze_json(report: UnfreezeReport) -> dict[str, Json]:
    result, rows = report.result, report.result.rows
    return {
        "schema": SCHEMA,
        "freed": {symbol: {"size": size, "axes": list(result.sites[symbol])} for symbol, size in result.freed.items()},
        "refused": result.why_refused or None,
        "blocked": None if result.blocked is None else {"node": result.blocked.node, "reason": result.blocked.reason},
        "required": {symbol: {"size": size, "node": node} for symbol, (size, node) in result.required.items()},
        "most": dict(result.most),
        "dropped": dict(result.dropped),
        "like": None if result.like is None else dict(result.like_sizes),
        "still_fixed": list(result.fixed),
        "interface": interface_json(result.interface),
        "nodes": [result.before.nodes, result.after.nodes],
        "edits": list(result.edits) if report.edits else None,
        "rows": None
        if rows is None
        else {
            "runs": list(rows.runs),
            "ran": list(rows.ran),
            "skipped": rows.skipped or None,
            "faults": list(rows.faults),
        },
        "independence": [independence_json(found) for found in result.independence.values()],
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
        "proof": None if report.proof is None else proof_members(report.proof),
        "like_proof": None if report.like_proof is None else proof_members(report.like_proof),
    }
