"""Cost estimates as text and JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gather_infer.domains import qualified
from gather_infer.report.findings import findings_text
from gather_infer.report.json import SCHEMA, Json, diagnostic_json
from gather_infer.report.layout import Column, count, fitted, magnitude, printable, size, table
from gather_infer.report.output_formats import PLAIN, CostReport, View
from gather_infer.symbolic import Dim, DimTooLarge, factored, free_symbols

if TYPE_CHECKING:
    from gather_infer.cost.pareto import ProgramPoint
    from gather_infer.cost.result import Cost, NodeCost, OperatorCost, UnknownContribution

SHOWN = 12
"""Maximal number of rows of a list; a longer list ends in `... 13 more: --all`."""

SHOWN_PEAKS = 3
"""Maximal number of candidates for the peak; a longer list ends in `... 13 more: --all`."""

_LABEL = 14
_NARROWEST = 24
_ENTRY = re.compile(r"  (?=.{14}\S)[a-z ]{14} *(?=\S)")
"""Matches the label and the spaces at the start of a line from `_entry`."""


def cost_text(report: CostReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer cost`; a verbose view adds all rows and the formula of each operator."""
    cost = report.cost
    everything = report.everything or view.verbose
    lines = [
        headline(cost),
        *(_entry(label, text) for label, text in sums_of(cost)),
        *_peak(cost, everything),
    ]
    rows = list((_nodes if report.by_node else _operators)(cost, everything, view))
    lines += ["", *rows] if rows else []
    lines += _notes(cost, everything)
    if view.seconds is not None:
        lines += ["", f"{count(len(cost.nodes), 'node')}   {view.seconds:.2f} s"]
    return [*_fitted(lines, view.width), *findings_text(cost.errors, cost.model, view)]


def sums_of(cost: Cost) -> list[tuple[str, str]]:
    """The label and text of each total except the peak: `("macs", "128*batch*seq*(seq + 96)")`, ..."""
    return [
        ("macs", _at_least(cost, "macs") + _number(cost.macs)),
        ("parameters", _at_least(cost, "parameters") + _parameters(cost)),
        ("read", _at_least(cost, "reads") + _bytes(cost.reads)),
        ("written", _at_least(cost, "writes") + _bytes(cost.writes)),
    ]


def peak_texts(cost: Cost) -> list[str]:
    """The peak of live activations as text; several texts are candidates, of which the largest is the peak."""
    least = _at_least(cost, "peak")
    return [f"{least}{_bytes(moment.live)}" for moment in cost.peaks] or [f"{least}0 B"]


def operator_cells(row: OperatorCost) -> tuple[str, ...]:
    """The cells of an operator: name, nodes, multiply-adds, bytes read, bytes written."""
    name = printable(qualified(row.domain, row.op_type))
    return name, str(row.nodes), _macs_text(row), _bytes(row.reads), _bytes(row.writes)


def unknown_contribution_texts(cost: Cost) -> list[str]:
    """A line for each operator and reason of unknown contributions, which the totals leave out."""
    return list(_unknown_contributions(cost.unknown_contributions))


def headline(cost: Cost) -> str:
    names = [name for name in cost.symbols if name in _used(cost)]
    at = ", ".join(f"{name} = {value}" for name, value in cost.sizes.items())
    parts = [f"in {', '.join(map(printable, names))}" if names else "", f"at {printable(at)}" if at else ""]
    return f"cost of {printable(cost.model)}   {', '.join(filter(None, parts))}".rstrip()


def _used(cost: Cost) -> frozenset[str]:
    """The symbols in the totals."""
    sums = (cost.macs, cost.reads, cost.writes, *(moment.live for moment in cost.program_points))
    return frozenset().union(*map(free_symbols, sums))


def _at_least(cost: Cost, quantity: str) -> str:
    return "" if cost.is_exact(quantity) else "at least "


def _number(dim: Dim) -> str:
    """A formula, or a number with its magnitude: `1442816 (1.44 M)`."""
    if not isinstance(dim, int):
        return printable(factored(dim))
    return str(dim) if dim < 1000 else f"{dim} ({magnitude(dim)})"


def _bytes(dim: Dim) -> str:
    """A formula, or a number of bytes: `4*batch*seq B`, `888 KiB`."""
    return size(dim) if isinstance(dim, int) else f"{printable(factored(dim))} B"


def _parameters(cost: Cost) -> str:
    types = ", ".join(f"{dtype} {size(nbytes)}" for dtype, nbytes in cost.parameters.items() if nbytes)
    whole = size(cost.parameter_bytes)
    return f"{whole}: {types}" if types else whole


def _entry(label: str, text: str, *, deeper: int = 0) -> str:
    """A line with a label, such as `  macs          128*batch*seq*(seq + 96)`; `deeper` indents the text further."""
    return f"  {label:<{_LABEL}}{' ' * deeper}{text}"


def _fitted(lines: Iterable[str], width: int | None) -> Iterator[str]:
    """`lines`, wrapped at `width`; continuation lines are indented two characters more than the text of the line."""
    for line in lines:
        if width is None or len(line) <= width:
            yield line
            continue
        begins = _ENTRY.match(line)
        indent = begins.end() if begins else len(line) - len(line.lstrip())
        room = max(width - indent, _NARROWEST)
        parts = fitted(line[indent:], room - 2, "")
        yield line[:indent] + parts[0]
        yield from (f"{' ' * (indent + 2)}{part}" for part in parts[1:])


def _peak(cost: Cost, everything: bool) -> Iterator[str]:
    """Lines about the peak of live activations: a sum, or the candidates of which the largest is the peak.

    The program point of each sum is printed for a single sum, and if `everything` is set.
    """
    peaks = cost.peaks
    least = _at_least(cost, "peak")
    if not peaks:
        yield _entry("peak", f"{least}0 B")
        return
    if len(peaks) == 1:
        live = peaks[0].live
        yield _entry("peak", f"{least}{_bytes(live)}")
        yield _entry("", _point_label(peaks[0]))
        if isinstance(live, int):
            yield _entry("together", f"{size(live + cost.parameter_bytes)} with parameters")
    else:
        yield _entry("peak", f"{least}the largest of")
        shown = peaks if everything or len(peaks) <= SHOWN_PEAKS + 1 else peaks[:SHOWN_PEAKS]
        for moment in shown:
            yield _entry("", _bytes(moment.live), deeper=2)
            if everything:
                yield _entry("", _point_label(moment), deeper=4)
        if len(shown) < len(peaks):
            yield _entry("", f"... {len(peaks) - len(shown)} more: --all", deeper=2)
    if len(peaks) < len(cost.program_points):
        yield _entry("", "where no size of an input is 0")


def _point_label(point: ProgramPoint) -> str:
    return "before the first node" if point.node is None else f"at {printable(str(point.node))}"


def _operators(cost: Cost, everything: bool, view: View) -> Iterator[str]:
    rows = cost.by_operator()
    counted = [row for row in rows if everything or row.macs != 0 or row.unknown_macs]
    columns = [Column("operator"), Column("nodes", right=True), Column("macs"), Column("read"), Column("written")]
    if view.verbose:
        columns.append(Column("counted as"))
    cells = [
        (*operator_cells(row), *([row.formula] if view.verbose else []))
        for row in counted[: None if everything or len(counted) == SHOWN + 1 else SHOWN]
    ]
    if cells:
        yield from table(columns, cells, width=view.width)
    yield from _more(len(counted) - len(cells), "operator")
    yield from _zero_cost_note(
        sum(row.nodes for row in rows) - sum(row.nodes for row in counted), len(rows) - len(counted)
    )


def _macs_text(row: OperatorCost) -> str:
    if not row.unknown_macs:
        return _number(row.macs)
    if row.unknown_macs == row.nodes:
        return "unknown"
    return f"{_number(row.macs)}, unknown for {row.unknown_macs}"


def _nodes(cost: Cost, everything: bool, view: View) -> Iterator[str]:
    counted = [node for node in cost.nodes if everything or node.macs != 0]
    columns = [Column("node"), *map(Column, ("operator", "macs", "read", "written", "live"))]
    if view.verbose:
        columns.append(Column("counted as"))
    cells = [
        (
            printable(str(node.node)),
            printable(qualified(node.domain, node.op_type)),
            _or_unknown(node.macs, _number),
            _or_unknown(node.reads, _bytes),
            _or_unknown(node.writes, _bytes),
            _bytes(node.live),
            *([node.formula] if view.verbose else []),
        )
        for node in counted[: None if everything or len(counted) == SHOWN + 1 else SHOWN]
    ]
    if cells:
        yield from table(columns, cells, width=view.width)
    yield from _more(len(counted) - len(cells), "node")
    yield from _zero_cost_note(len(cost.nodes) - len(counted), 0)


def _more(number: int, noun: str) -> Iterator[str]:
    if number > 0:
        yield f"  ... {count(number, f'more {noun}')}: --all"


def _zero_cost_note(nodes: int, operators: int) -> Iterator[str]:
    """A note on the number of nodes and operators without multiply-adds, which the rows leave out; none for 0 nodes."""
    if nodes:
        kinds = f" of {count(operators, 'operator')}" if operators else ""
        verb = "takes" if nodes == 1 else "take"
        yield f"  {count(nodes, 'node')}{kinds} {verb} no multiply-adds: --all"


def _or_unknown(dim: Dim | None, shown: Callable[[Dim], str]) -> str:
    return "unknown" if dim is None else shown(dim)


def _notes(cost: Cost, everything: bool) -> Iterator[str]:
    """Notes on the totals: unknown contributions, undecided branches, generated symbols, assumptions."""
    if cost.unknown_contributions:
        yield from ["", "  unknown contributions, left out of the totals:"]
        yield from _limited(unknown_contribution_texts(cost), everything)
    if cost.branches:
        whose = "an If" if cost.branches == 1 else f"{cost.branches} Ifs"
        yield from ["", f"  unknown branch of {whose}: the totals count the larger one, the rows both"]
    decided_at_run_time = [
        f"{name}: {cause.reason} (node {cause.node})" for name, cause in cost.causes.items() if name in _used(cost)
    ]
    if decided_at_run_time:
        yield from ["", "  sizes known only at run time:"]
        yield from _limited([printable(text) for text in decided_at_run_time], everything)
    if cost.assumptions:
        yield from ["", "  assumed (--no-assume disables this):"]
        yield from _limited([printable(f"{a}: {a.reason}") for a in cost.assumptions], everything)


def _unknown_contributions(contributions: Sequence[UnknownContribution]) -> Iterator[str]:
    """Lines such as `macs of com.contoso.Foo (3 nodes, first /a): com.contoso.Foo has no formula`."""
    groups: dict[tuple[str, str], dict[str, set[str]]] = {}
    for gap in contributions:
        node = "the inputs" if gap.node is None else str(gap.node)
        groups.setdefault((gap.op_type, gap.reason), {}).setdefault(gap.quantity, set()).add(node)
    for (op_type, why), whats in groups.items():
        nodes = sorted(set().union(*whats.values()))
        where = printable(nodes[0]) if len(nodes) == 1 else f"{len(nodes)} nodes, first {printable(nodes[0])}"
        yield f"{', '.join(whats)} of {op_type or 'an input'} ({where}): {printable(why)}"


def _limited(rows: Sequence[str], everything: bool) -> Iterator[str]:
    shown = rows if everything or len(rows) <= SHOWN + 1 else rows[:SHOWN]
    yield from (f"    {row}" for row in shown)
    if len(shown) < len(rows):
        yield f"    ... {len(rows) - len(shown)} more: --all"


def cost_json(report: CostReport) -> dict[str, Json]:
    """The cost as JSON; a quantity is a number or the text of a formula."""
    cost = report.cost
    return {
        "schema": SCHEMA,
        "model": cost.model,
        "sizes": dict(cost.sizes),
        "symbols": list(cost.symbols),
        "macs": _json(cost.macs),
        "reads": _json(cost.reads),
        "writes": _json(cost.writes),
        "parameters": {str(dtype): nbytes for dtype, nbytes in cost.parameters.items()},
        "parameter_bytes": cost.parameter_bytes,
        "peak": _peak_json(cost),
        "program_points": [
            {"live": _json(moment.live), "node": None if moment.node is None else str(moment.node)}
            for moment in cost.program_points
        ],
        "exact": {what: cost.is_exact(what) for what in ("macs", "reads", "writes", "peak")},
        "branches": cost.branches,
        "operators": [_operator_json(row) for row in cost.by_operator()],
        "nodes": [_node_json(node) for node in cost.nodes],
        "unknown_contributions": [
            {
                "quantity": gap.quantity,
                "node": None if gap.node is None else str(gap.node),
                "op_type": gap.op_type,
                "reason": gap.reason,
            }
            for gap in cost.unknown_contributions
        ],
        "assumptions": [str(assumption) for assumption in cost.assumptions],
        "errors": [diagnostic_json(error) for error in cost.errors],
    }


def _peak_json(cost: Cost) -> Json:
    """The peak as a number or formula; None if it exceeds the size limit: it is then the largest program point."""
    try:
        return _json(cost.peak)
    except DimTooLarge:
        return None


def _operator_json(row: OperatorCost) -> dict[str, Json]:
    return {
        "domain": row.domain,
        "op_type": row.op_type,
        "nodes": row.nodes,
        "macs": _json(row.macs),
        "reads": _json(row.reads),
        "writes": _json(row.writes),
        "unknown_macs": row.unknown_macs,
        "formula": row.formula,
        "source": row.source,
    }


def _node_json(node: NodeCost) -> dict[str, Json]:
    return {
        "node": str(node.node),
        "domain": node.domain,
        "op_type": node.op_type,
        "macs": _json(node.macs),
        "reads": _json(node.reads),
        "writes": _json(node.writes),
        "live": _json(node.live),
    }


def _json(dim: Dim | None) -> Json:
    return dim if dim is None or isinstance(dim, int) else factored(dim)
