"""Inferences of several models as text: a line each, then the totals."""

from __future__ import annotations

from collections import Counter

from gather_infer.report.accesses import accesses_count
from gather_infer.report.findings import findings_count
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, InferenceReport, View
from gather_infer.report.text import inference_text
from gather_infer.report.totals import InferencesReport


def inferred_text(report: InferenceReport, view: View = PLAIN) -> list[str]:
    """One of several models: `bert.onnx: 377 tensors, all known; 18 accesses: 18 proved`; all details if verbose."""
    if view.verbose:
        return [*inference_text(report, View(view.verbose, view.width)), ""]
    coverage = report.inference.coverage()
    known = "all" if coverage.exact == coverage.tensors else f"{coverage.exact} of them"
    parts = [
        f"{count(coverage.tensors, 'tensor')}, {known} known",
        accesses_count(Counter(verdict.kind.value for verdict in report.verdicts)),
        findings_count(report.findings),
    ]
    return fitted(f"{printable(report.summary.name)}: {'; '.join(filter(None, parts))}", view.width, "  ")


def inferences_text(report: InferencesReport, view: View = PLAIN) -> list[str]:
    """The last line: `3 files: 1 error, 2 warnings in 1.23 s`; `2 of 3 files: ...` if one cannot be read."""
    parts = [count(n, noun) for n, noun in ((report.errors, "error"), (report.warnings, "warning")) if n]
    took = "" if view.seconds is None else f" in {view.seconds:.2f} s"
    files = count(report.read + report.unreadable, "file")
    if report.unreadable:
        files = f"{report.read} of {files}"
    return [f"{files}: {', '.join(parts) or 'no errors, no warnings'}{took}"]
