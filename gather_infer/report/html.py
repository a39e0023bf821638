"""An inference as a notebook shows it: its interface, how much is known, what is unknown, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from gather_infer.report.findings import findings_count
from gather_infer.report.layout import count, printable

if TYPE_CHECKING:
    from gather_infer.inference.result import Inference

SHOWN = 20
"""Rows of a list, before it ends in how many more there are."""


def inference_html(inference: Inference) -> Iterator[str]:
    """What `Inference._repr_html_` gives; every text of the model is escaped."""
    coverage = inference.coverage()
    known = f"{count(coverage.tensors, 'tensor')}, {coverage.exact} with every dim known"
    yield f"<p><b>{_text(inference.model.name)}</b>: {known}</p>"
    facts = inference.scope("")
    sides = (("in", inference.inputs), ("out", inference.outputs))
    rows = [(side, name, str(facts.get(name, "?"))) for side, names in sides for name in names]
    yield from _table(("", "name", "type"), rows, "<code>.tensors()</code> lists all")
    unknown = [(name, cause.reason, str(cause.node)) for name, cause in inference.causes.items()]
    yield from _table(("symbol", "why it is not known", "node"), unknown, "<code>.causes</code> has all")
    told = list(dict.fromkeys((*inference.errors, *inference.diagnostics)))
    findings = [(f"{d.severity}[{d.code}]", d.message, str(d.location)) for d in told]
    more = "<code>.errors</code> and <code>.diagnostics</code> have all"
    yield from _table(("finding", "what is wrong", "where"), findings, more)
    if total := findings_count(told):
        yield f"<p>{total}</p>"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], more: str) -> Iterator[str]:
    """A table of texts; nothing where there are no rows."""
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
