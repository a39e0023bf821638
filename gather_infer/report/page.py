"""Pages as text: what they show, in a few lines."""

from __future__ import annotations

from collections import Counter

from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, PageReport, View


def page_text(report: PageReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer page`; a verbose view adds the accesses that are not proved."""
    coverage = report.inference.coverage()
    lines = [f"page of {printable(report.inference.model.name)}   {count(coverage.tensors, 'tensor')}"]
    counts = Counter(verdict.kind for verdict in report.verdicts)
    number = len(report.verdicts)
    if number:
        kinds = ", ".join(f"{total} {kind}" for kind, total in sorted(counts.items()))
        lines.append(f"  {number} {'access' if number == 1 else 'accesses'} by index: {kinds}")
    if view.verbose:
        open_ones = [verdict for verdict in report.verdicts if verdict.kind != "proved"]
        texts = (f"  {v.kind}  {v.access.node}  {v.condition or v.reason}" for v in open_ones)
        lines += [line for text in texts for line in fitted(printable(text), view.width, "    ")]
    return lines
