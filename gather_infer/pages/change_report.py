"""The reports of `fold`, `optimize` and `convert` as pages: the model before and after, and each change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from gather_infer.inference import infer
from gather_infer.model.edits import InsertNodes, RemoveNode
from gather_infer.model.paths import graph_at, node_labels
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.pages.model_pair import ModelPair
from gather_infer.report.convert import conversion_json
from gather_infer.report.diff import HEADS
from gather_infer.report.json import Json, assumption_json
from gather_infer.report.output_formats import PLAIN, ConversionReport, RewriteReport
from gather_infer.report.rewriting import rewriting_json, size_json
from gather_infer.report.verification import verification_text

if TYPE_CHECKING:
    from gather_infer.passes import OptimizeResult
    from gather_infer.verification.result import Verification

MAX_PAIRS: Final = 60
"""Maximum number of changes with drawings: first one of each kind, then the others in order."""

SHOWN_NODES: Final = 30
"""Maximum number of removed and of added nodes that the page lists for a change."""


def rewriting_page(report: RewriteReport) -> dict[str, Json]:
    """The data of the page: that of `--format json`, nodes removed and added by each rewrite, and drawings."""
    result = report.result
    members: Any = rewriting_json(report)
    removed, added = _edited_nodes(result)
    changes: list[dict[str, Json]] = []
    for applied, row in zip(result.applied, members["applied"], strict=True):
        why = f"{applied.law} ({applied.node})"
        lists = {key: _some(found.get(why, [])) for key, found in (("removed", removed), ("added", added))}
        change = {key: row[key] for key in ("node", "op_type", "rule", "law", "bytes")}
        changes.append({**change, "nodes": applied.cost.nodes, **lists})
    pair = ModelPair(result.inference, infer(result.file))
    _draw(changes, [(each.node, each.name) for each in result.applied], [each.law for each in result.applied], pair)
    return {
        "command": report.by,
        "names": [result.source.name],
        **{key: members[key] for key in ("before", "after", "floats", "proof", "interface", "diagnostics")},
        "changes": [*changes],
        "verification": _verification(report.verification),
        "proof_sentence": None if report.proof is None else HEADS[str(report.proof.verdict)],
    }


def conversion_page(report: ConversionReport) -> dict[str, Json]:
    """The data of the page: that of `--format json`, sizes, assumptions, and drawings of the converted layers."""
    result = report.result
    members: Any = conversion_json(report)
    changes: list[dict[str, Json]] = [dict(row) for row in members["converted"]]
    pair = ModelPair(result.inference, infer(result.file))
    kinds = [(each.op_type, each.indices, each.operators) for each in result.converted]
    _draw(changes, [(each.node, "") for each in result.converted], kinds, pair)
    kept = ("kept", "trusted_annotations", "weights", "variables", "interface", "diagnostics")
    return {
        "command": "convert",
        "names": [result.source.name],
        "before": size_json(result.before),
        "after": size_json(result.after),
        **{key: members[key] for key in kept},
        "assumptions": [{**assumption_json(each), "text": str(each)} for each in result.inference.assumptions],
        "changes": [*changes],
        "verification": _verification(report.verification),
    }


def _verification(found: Verification | None) -> Json:
    return None if found is None else {"ok": found.ok, "lines": [*verification_text(found, PLAIN)]}


def _edited_nodes(result: OptimizeResult) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The removed and the added nodes by the reason of the edit, of all rounds."""
    removed: dict[str, list[str]] = {}
    added: dict[str, list[str]] = {}
    for each in result.rounds:
        proto = each.inference.model.proto
        labels: dict[GraphPath, list[str]] = {}
        for edit in each.journal.edits:
            if isinstance(edit, RemoveNode):
                if edit.path not in labels:
                    nodes = graph_at(proto, edit.path).node
                    names = zip(nodes, node_labels(nodes), strict=True)
                    labels[edit.path] = [f"{node.op_type} {label}" for node, label in names]
                removed.setdefault(edit.reason, []).append(labels[edit.path][edit.node])
            elif isinstance(edit, InsertNodes):
                titles = [f"{node.op_type} {node.name or next(filter(None, node.output), '')}" for node in edit.nodes]
                added.setdefault(edit.reason, []).extend(titles)
    return removed, added


def _some(nodes: Sequence[str]) -> list[Json]:
    """The number of nodes, and the first of them."""
    return [len(nodes), *nodes[:SHOWN_NODES]]


def _draw(
    changes: Sequence[dict[str, Json]],
    places: Sequence[tuple[NodePath, str]],
    kinds: Iterable[object],
    pair: ModelPair,
) -> None:
    """Set `pair` of each change: its drawings in both models, or None.

    places   the node of each change, and a value that it replaces
    """
    first: dict[object, int] = {}
    for at, kind in enumerate(kinds):
        first.setdefault(kind, at)
    order = [*first.values(), *sorted(set(range(len(changes))) - set(first.values()))]
    chosen = set(order[:MAX_PAIRS])
    for at, (change, (node, name)) in enumerate(zip(changes, places, strict=True)):
        change["pair"] = pair.drawings(node, name) if at in chosen else None
