"""The report of `check` as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from gather_infer.checks.result import CheckResult
from gather_infer.contract import Contract
from gather_infer.diagnostic import ADVICE, CODES, Diagnostic
from gather_infer.inference.result import Inference
from gather_infer.node_ids import NodePath
from gather_infer.pages.labelled_drawings import LabelledDrawings
from gather_infer.pages.sentences import sentence
from gather_infer.report.checks.json import checks_json
from gather_infer.report.json import Json
from gather_infer.report.output_formats import CheckReport

MAX_DRAWINGS: Final = 100
"""Maximum number of nodes of a model with a drawing: those of the first findings, which are the most severe."""


def illustrations(inference: Inference, contract: Contract, findings: Sequence[Diagnostic]) -> str:
    """The parts of the page besides findings, as JSON: the contract as sentences, and drawings by label of a node."""
    lines = [*contract.ordinary_lines, *contract.nonempty, *contract.declared]
    drawings: dict[str, Json] = {}
    drawing = LabelledDrawings(inference)
    accesses = {access.node: access for access in reversed(inference.accesses)}
    for finding in findings:
        node = finding.location.node
        if node is not None and str(node) not in drawings and len(drawings) < MAX_DRAWINGS:
            drawings[str(node)] = _drawing(node, drawing, accesses)
    found = {
        "sentences": [{"text": sentence(line), "tight": line.tight, "nodes": [*line.nodes]} for line in lines],
        "open": [str(entry) for entry in contract.open],
        "drawings": {label: each for label, each in drawings.items() if each is not None},
    }
    return json.dumps(found, allow_nan=False)


def _drawing(node: NodePath, drawings: LabelledDrawings, accesses: Any) -> Json:
    """The way to the indices of an access; the neighbours of another node."""
    access = accesses.get(node)
    return drawings.around_node(node) if access is None else drawings.around_access(access)


def checks_page(report: CheckReport) -> dict[str, Json]:
    """The data of the page: that of `--format json`, and the illustrations of each model."""
    found: Any = checks_json(report)
    used = {finding.code for result in report.results for finding in result.diagnostics}
    return {
        "command": "check",
        **{key: found[key] for key in ("exit_code", "fail_on", "accepted", "outdated")},
        "codes": {code: {"meaning": CODES[code][1], "advice": ADVICE[code]} for code in CODES if code in used},
        "models": [_model(result, each) for result, each in zip(report.results, found["models"], strict=True)],
    }


def _model(result: CheckResult, members: dict[str, Json]) -> Json:
    left_out = ("name", "seconds", "contract")  # equal models give equal pages
    shown = {key: value for key, value in members.items() if key not in left_out}
    illustrated: dict[str, Json] = json.loads(result.illustrations or '{"sentences": [], "open": [], "drawings": {}}')
    return {"names": [result.model], **shown, **illustrated}
