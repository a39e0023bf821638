"""Results as HTML for notebooks: an inference with its interface, unknowns and findings; a cost with its totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from gather_infer.report.cost import headline, operator_cells, peak_texts, sums_of, unknown_contribution_texts
from gather_infer.report.findings import findings_count
from gather_infer.report.layout import count, printable

if TYPE_CHECKING:
    from gather_infer.cost.result import Cost
    from gather_infer.inference.result import Inference

SHOWN = 20
"""Maximal number of rows of a table; a last line counts the others."""


def inference_html(inference: Inference) -> Iterator[str]:
    """The HTML of `Inference._repr_html_`; every string from the model is escaped."""
    coverage = inference.coverage()
    known = f"{count(coverage.tensors, 'tensor')}, {coverage.exact} with every dim known"
    yield f"<p><b>{_text(inference.model.name)}</b>: {known}</p>"
    facts = inference.scope("")
    sides = (("in", inference.inputs), ("out", inference.outputs))
    rows = [(side, name, str(facts.get(name, "?"))) for side, names in sides for name in names]
    yield from _table(("", "name", "type"), rows, "<code>.tensors()</code> lists all")
    unknown = [(name, cause.reason, str(cause.node)) for name, cause in inference.causes.items()]
    yield from _table(("symbol", "reason", "node"), unknown, "<code>.causes</code> has all")
    diagnostics = list(dict.fromkeys((*inference.errors, *inference.diagnostics)))
    findings = [(f"{d.severity}[{d.code}]", d.message, str(d.location)) for d in diagnostics]
    more = "<code>.errors</code> and <code>.diagnostics</code> have all"
    yield from _table(("finding", "message", "location"), findings, more)
    if total := findings_count(diagnostics):
        yield f"<p>{total}</p>"


def cost_html(cost: Cost) -> Iterator[str]:
    """The HTML of `Cost._repr_html_`: the totals, operators with multiply-adds, unknown contributions, errors."""
    yield f"<p><b>{_text(headline(cost))}</b></p>"
    peaks = peak_texts(cost)
    sums = [*sums_of(cost), *(("peak" if at == 0 else "or", text) for at, text in enumerate(peaks))]
    yield from _table(("", "the largest peak counts" if len(peaks) > 1 else ""), sums, "<code>.peaks</code> has all")
    rows = [operator_cells(row) for row in cost.by_operator() if row.macs != 0 or row.unknown_macs]
    headings = ("operator", "nodes", "macs", "read", "written")
    yield from _table(headings, rows, "<code>.by_operator()</code> lists all")
    gaps = [(text,) for text in unknown_contribution_texts(cost)]
    yield from _table(
        ("unknown contributions, left out of the totals",), gaps, "<code>.unknown_contributions</code> has all"
    )
    errors = [(f"{e.severity}[{e.code}]", e.message, str(e.location)) for e in cost.errors]
    yield from _table(("finding", "message", "location"), errors, "<code>.errors</code> has all")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], more: str) -> Iterator[str]:
    """The lines of an HTML table; none if there are no rows. `more` is HTML about the access to the omitted rows."""
    if not rows:
        return
    yield "<table>"
    yield _row("th", headings)
    yield from (_row("td", row) for row in rows[:SHOWN])
    yield "</table>"
    if len(rows) > SHOWN:
        yield f"<p>{len(rows) - SHOWN} more: {more}</p>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _text(text: str) -> str:
    return escape(printable(text))
