"""Results of `fold` and `optimize` as text and JSON: the model before and after, and the edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gather_infer.diagnostic import Diagnostic
from gather_infer.report.findings import findings_text
from gather_infer.report.interface import interface_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json, interface_json
from gather_infer.report.layout import GLUE, Column, count, fitted, printable, size, table, wrapped
from gather_infer.report.output_formats import PLAIN, RewriteReport, View
from gather_infer.report.proof import proof_lines, proof_members
from gather_infer.report.verification import WIDTH, verification_members, verified_lines

if TYPE_CHECKING:
    from gather_infer.passes import FoldedFloats, OptimizeResult
    from gather_infer.passes.result import Size


SHOWN = 4
"""Maximal number of nodes in a list; a longer list ends in `... 9 more: --verbose`."""

SHOWN_EDITS = 10
"""Maximal number of edits that `--dry-run` lists without `--verbose`."""

SHOWN_OPERATORS = 8
"""Maximal number of operators with changed counts, not counting Gather and Shape."""


def rewriting_text(report: RewriteReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer fold` and `gather-infer optimize`; a verbose view omits nothing."""
    result = report.result
    findings = [d for d in result.diagnostics if d.code != LEFT_ALONE]
    left = [d for d in result.diagnostics if d.code == LEFT_ALONE]
    lines = [*_before_and_after(result, view), *_applied(result, view), *_floats(result.floats, view)]
    lines += [*_left_alone(left, view), *_interface(result, view)]
    if report.edits:
        lines += edits_text(result.edits, view)
    if report.proof is not None:
        lines += proof_lines(report.proof, view)
    return [*lines, *_verified(report, view), *findings_text(findings, result.source.name, view)]


def edits_text(edits: Sequence[str], view: View) -> list[str]:
    """The list of edits, or their number if there are many."""
    if len(edits) > SHOWN_EDITS and not view.verbose:
        return [f"  {count(len(edits), 'edit')}: --verbose"]
    return ["", *(f"  {printable(edit)}" for edit in edits)] if edits else []


LEFT_ALONE = "GI401"
"""The code of a note about a node that was not rewritten."""


def _left_alone(notes: Sequence[Diagnostic], view: View) -> list[str]:
    """The lines of a table of the nodes that were not rewritten, with the reasons; empty if there are none."""
    shown = notes if view.verbose or len(notes) <= SHOWN + 1 else notes[:SHOWN]
    columns = Column("left alone"), Column("operator"), Column("because")
    rows = [
        (printable(str(d.location.node)), d.location.op_type, printable(d.message.removeprefix("not folded: ")))
        for d in shown
    ]
    if not rows:
        return []
    lines = [f"  {line}" for line in wrapped(columns, rows, width=None if view.width is None else view.width - 2)]
    more = [f"  ... {len(notes) - len(shown)} more: --verbose"] if len(shown) < len(notes) else []
    return ["", *lines, *more, ""]


def _interface(result: OptimizeResult, view: View) -> list[str]:
    """Lines about the interface of the new model: its changes, or the number of inputs, outputs and dims kept."""
    lines = interface_text(result.interface, view)
    if result.interface.changed:
        return lines
    graph = result.source.proto.graph
    names = {
        dim.dim_param
        for value in (*graph.input, *graph.output)
        for dim in value.type.tensor_type.shape.dim
        if dim.dim_param
    }
    parts = [count(len(result.inference.inputs), "input"), count(len(graph.output), "output")]
    if names:
        parts.append(count(len(names), "symbolic dim"))
    return [f"  interface unchanged: {', '.join(parts)}", *lines]


def _floats(floats: FoldedFloats | None, view: View) -> list[str]:
    """Lines about the nodes that a runtime evaluated, and about the resulting tolerance of the outputs."""
    if floats is None:
        return []
    shown = floats.nodes if view.verbose else floats.nodes[:SHOWN]
    more = [f"... {len(floats.nodes) - len(shown)} more: --verbose"] if len(shown) < len(floats.nodes) else []
    first = f"  {count(len(floats.nodes), 'node')} evaluated by {floats.runtime}: "
    nodes = ", ".join([*(printable(str(node)) for node in shown), *more])
    return [
        *_wrapped(nodes, first, view.width),
        f"    outputs may differ by {floats.tolerance:g}, relative to max(1, |original|)",
    ]


def _wrapped(listed: str, first: str, width: int | None) -> list[str]:
    """The text `listed` after `first`, wrapped at `width`, or at WIDTH if it is None."""
    return fitted(first + listed, width or WIDTH, "    ")


def _verified(report: RewriteReport, view: View) -> list[str]:
    return [] if report.verification is None else verified_lines(report.verification, view)


def _applied(result: OptimizeResult, view: View) -> list[str]:
    """Lines with the number of rewrites by rule, and the size of the largest new constant."""
    by_rule = Counter(done.rule for done in result.applied)
    if not by_rule:
        dead = result.before.nodes - result.after.nodes
        return [f"  {count(dead, 'node')} removed as dead code" if dead else "  nothing to do"]
    listed = ", ".join(f"{rule}{GLUE}{number}" for rule, number in by_rule.most_common())
    lines = _wrapped(listed, f"  {count(len(result.applied), 'rewrite')}: ", view.width)
    largest = max(done.nbytes for done in result.applied)
    if largest:
        lines.append(f"  largest new constant: {size(largest)}")
    if view.verbose:
        lines += [f"    {printable(f'{done.node}: {done.law}')}" for done in result.applied]
    return lines


def _before_and_after(result: OptimizeResult, view: View) -> list[str]:
    """A table of counts before and after: nodes by operator, initializers, bytes of constants.

    Gather and Shape come first, then the operators with the largest changes.
    """
    before, after = result.before, result.after
    gone = {op: before.operators[op] - after.operators[op] for op in before.operators | after.operators}
    watched = [op for op in ("Gather", "Shape") if op in gone]
    changed = sorted((op for op in gone if gone[op] and op not in watched), key=lambda op: (-abs(gone[op]), op))
    shown = changed if view.verbose or len(changed) <= SHOWN_OPERATORS + 1 else changed[:SHOWN_OPERATORS]
    rows = [
        ("nodes", str(before.nodes), str(after.nodes)),
        *((f"  {op}", str(before.operators[op]), str(after.operators[op])) for op in (*watched, *shown)),
    ]
    if len(shown) < len(changed):
        rest = changed[len(shown) :]
        rows.append(
            (
                f"  {len(rest)} others",
                str(sum(before.operators[op] for op in rest)),
                str(sum(after.operators[op] for op in rest)),
            )
        )
    rows += [
        ("initializers", str(before.initializers), str(after.initializers)),
        ("constant bytes", size(before.weight_bytes), size(after.weight_bytes)),
    ]
    return table((Column(""), Column("before", right=True), Column("after", right=True)), rows, width=view.width)


def rewriting_json(report: RewriteReport) -> dict[str, Json]:
    result = report.result
    return {
        "schema": SCHEMA,
        "model": {"name": result.source.name},
        "before": size_json(result.before),
        "after": size_json(result.after),
        "applied": [
            {
                "node": str(d.node),
                "op_type": d.op_type,
                "name": d.name,
                "rule": d.rule,
                "law": d.law,
                "bytes": d.nbytes,
            }
            for d in result.applied
        ],
        "floats": None if result.floats is None else _floats_json(result.floats),
        "verification": None if report.verification is None else verification_members(report.verification),
        "proof": None if report.proof is None else proof_members(report.proof),
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


def size_json(model: Size) -> Json:
    return {
        "nodes": model.nodes,
        "operators": dict(sorted(model.operators.items())),
        "initializers": model.initializers,
        "bytes": model.weight_bytes,
    }
