"""Tensors as a table and as JSON, each with its producer, its type and the cause of unknown parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gather_infer.report.json import SCHEMA, Json, type_json
from gather_infer.report.layout import Column, count, printable, shorten, table
from gather_infer.report.output_formats import PLAIN, TensorsReport, View
from gather_infer.tensor import SymbolicTensor

if TYPE_CHECKING:
    from gather_infer.inference.result import TensorRow

_GAP = 3
_MIN_CAUSE = 16
"""Minimum width of the cause column; with less space, rows are stacked."""


def tensors_text(report: TensorsReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer tensors`; a verbose view adds the nodes."""
    columns = [Column("tensor"), Column("operator"), Column("type"), Column("cause")]
    if view.verbose:
        columns.insert(2, Column("node"))
    rows = [_cells(row, view.verbose) for row in report.rows]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    elif view.width is not None:
        rows = _fitted(columns, rows, view.width)
    lines = table(columns, rows, indent="", width=view.width) if rows else []
    return [*lines, *([""] if lines else []), _total(report)]


def _cells(row: TensorRow, verbose: bool) -> tuple[str, ...]:
    value = row.value
    if isinstance(value, SymbolicTensor) and value.dtype is not None and value.dtype.is_float:
        value = value.with_(values=None)  # float elements do not affect shapes
    node = "" if row.node is None else str(row.node)
    cells = (row.title, row.operator or row.origin, *((node,) if verbose else ()), str(value), row.cause)
    return tuple(map(printable, cells))


def _fitted(columns: Sequence[Column], rows: list[tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """`rows`, with causes shortened to the width that the other columns leave; unchanged if that is too little."""
    others = range(len(columns) - 1)
    taken = sum(max(len(cell) for cell in (columns[i].heading, *(row[i] for row in rows))) + _GAP for i in others)
    room = max(width - taken, 0)
    if room < max(_MIN_CAUSE, len(columns[-1].heading)):
        return rows
    return [(*row[:-1], shorten(row[-1], room)) for row in rows]


def _total(report: TensorsReport) -> str:
    unknown = sum(not row.is_known for row in report.rows)
    shown = count(report.total, "tensor")
    if len(report.rows) != report.total:
        shown = f"{len(report.rows)} of {shown}"
    known = f"{unknown} not fully known" if unknown else "all fully known"
    return f"{shown}: {known if report.rows else 'every such tensor is fully known'}"


def tensors_json(report: TensorsReport) -> dict[str, Json]:
    return {"schema": SCHEMA, "model": report.model, "total": report.total, "tensors": list(_rows(report.rows))}


def _rows(rows: Sequence[TensorRow]) -> Iterator[Json]:
    for row in rows:
        yield {
            "scope": row.scope,
            "name": row.name,
            "type": type_json(row.value),
            "origin": row.origin,
            "node": "" if row.node is None else str(row.node),
            "op_type": row.op_type,
            "domain": row.domain,
            "known": row.is_known,
            "cause": row.cause,
        }
