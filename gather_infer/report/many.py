"""Reports on several models as text: a line each, then the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gather_infer.report.accesses import accesses_count
from gather_infer.report.contract import contract_text as full_contract_text
from gather_infer.report.convert import conversion_text, remaining_diagnostics
from gather_infer.report.cost import cost_text, peak_texts, sums_of
from gather_infer.report.findings import findings_count
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import (
    PLAIN,
    ContractReport,
    ConversionReport,
    CostReport,
    InferenceReport,
    RewriteReport,
    View,
)
from gather_infer.report.rewriting import rewriting_text
from gather_infer.report.text import inference_text
from gather_infer.report.totals import TotalsReport

if TYPE_CHECKING:
    from gather_infer.verification.result import Verification

R = TypeVar("R")


def inferred_text(report: InferenceReport, view: View = PLAIN) -> list[str]:
    """One of several models: `bert.onnx: 377 tensors, all known; 18 accesses: 18 proved`; all details if verbose."""
    coverage = report.inference.coverage()
    known = "all" if coverage.exact == coverage.tensors else f"{coverage.exact} of them"
    parts = [
        f"{count(coverage.tensors, 'tensor')}, {known} known",
        accesses_count(Counter(verdict.kind.value for verdict in report.verdicts)),
        findings_count(report.findings),
    ]
    return _brief(report.summary.name, parts, inference_text, report, view)


def rewritten_text(report: RewriteReport, view: View = PLAIN) -> list[str]:
    """One of several models: `bert.onnx: 335 -> 180 nodes, 96 rewrites`; all details if verbose."""
    result = report.result
    head = f"{result.before.nodes} -> {count(result.after.nodes, 'node')}, {count(len(result.applied), 'rewrite')}"
    parts = [head, _verified(report.verification), findings_count(result.diagnostics)]
    return _brief(result.source.name, parts, rewriting_text, report, view)


def converted_text(report: ConversionReport, view: View = PLAIN) -> list[str]:
    """One of several models: `cnn.xml: 31 -> 45 nodes`; all details if verbose."""
    result = report.result
    head = f"{result.before.nodes} -> {count(result.after.nodes, 'node')}"
    parts = [head, _verified(report.verification), findings_count(remaining_diagnostics(result))]
    return _brief(result.source.name, parts, conversion_text, report, view)


def contract_text(report: ContractReport, view: View = PLAIN) -> list[str]:
    """One of several models: `bert.onnx: -151 <= input_ids < 151, seq <= 64; 1 open`; all details if verbose."""
    contract = report.contract
    lines = ", ".join(line.text for line in contract.ordinary_lines) or "no lines"
    parts = [lines, f"{len(contract.open)} open" if contract.open else "", findings_count(report.diagnostics)]
    return _brief(report.file or contract.model, parts, full_contract_text, report, view)


def costed_text(report: CostReport, view: View = PLAIN) -> list[str]:
    """One of several models: `bert.onnx: macs 512*batch*seq; parameters 88 KiB; peak ...`; all details if verbose."""
    cost = report.cost
    sums = dict(sums_of(cost))
    peak = f"peak {' or '.join(peak_texts(cost)[:1])}" + (" or more" if len(cost.peaks) > 1 else "")
    parts = [f"macs {sums['macs']}", f"parameters {sums['parameters']}", peak, findings_count(cost.errors)]
    return _brief(cost.model, parts, cost_text, report, view)


def _brief(name: str, parts: list[str], full: Callable[[R, View], list[str]], report: R, view: View) -> list[str]:
    """A line with the name of the model and `parts`; with a verbose view the `full` report and an empty line."""
    if view.verbose:
        return [*full(report, View(view.verbose, view.width)), ""]
    text = "; ".join(filter(None, parts))
    return fitted(f"{printable(name)}: {printable(text)}", view.width, "  ")


def _verified(verification: Verification | None) -> str:
    return "" if verification is None else "verified" if verification.ok else "outputs differ"


def totals_text(report: TotalsReport, view: View = PLAIN) -> list[str]:
    """The last line: `3 files: 1 error, 2 warnings in 1.23 s`; `2 of 3 files: ...` if one cannot be read."""
    parts = [count(n, noun) for n, noun in ((report.errors, "error"), (report.warnings, "warning")) if n]
    took = "" if view.seconds is None else f" in {view.seconds:.2f} s"
    files = count(report.read + report.unreadable, "file")
    if report.unreadable:
        files = f"{report.read} of {files}"
    return [f"{files}: {', '.join(parts) or 'no errors, no warnings'}{took}"]
