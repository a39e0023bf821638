"""Contracts as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from gather_infer.contract import ConditionalBody, Contract, DimsLine, Line, Open
from gather_infer.diagnostic import Severity
from gather_infer.report.findings import findings_text
from gather_infer.report.json import Json, diagnostic_json
from gather_infer.report.layout import ELLIPSIS, count, fitted, printable, shorten
from gather_infer.report.output_formats import PLAIN, ContractReport, View

_GAP: Final = 3
_MIN_LABEL: Final = 24
"""Minimum width for the label of a node; with less space, the label is printed on the next line."""

_PARTS: Final = 2
"""Minimum number of last parts of a node label that a shortened label keeps."""


def contract_text(report: ContractReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer contract`; a verbose view adds every node and the reasons."""
    contract = report.contract
    name = report.file or contract.model
    lines = [f"contract of {printable(name)}"]
    lines_shown = contract.lines if view.verbose else contract.ordinary_lines
    for where in dict.fromkeys(sorted(map(_where, lines_shown), key=bool)):
        group = [line for line in lines_shown if _where(line) == where]
        if where:
            lines += fitted(f"  {where}:", view.width, "    ")
        names = _short_labels(_labels(group), view) if where else {label: label for label in _labels(group)}
        lines += _table(group, view, names, indent=4 if where else 2)
    if contract.nonempty:
        lines += fitted(f"  not empty: {', '.join(_emptiness(contract.nonempty))}", view.width, "    ")
        if view.verbose:
            lines += _table(contract.nonempty, view, {label: label for label in _labels(contract.nonempty)})
    if not lines_shown:
        lines += _no_line_reason(report, view)
    if len(lines_shown) < len(contract.lines):
        lines.append(f"  and {count(len(contract.lines) - len(lines_shown), 'limit')} of 10^9 or more: -v")
    if contract.declared:
        declared = ", ".join(printable(line.text) for line in contract.declared)
        lines += fitted(f"  declared: {declared}", view.width, "    ")
    if contract.open:
        lines.append("  open, a run may still fail there:")
        lines += _open(contract.open, view)
    tail = "" if view.seconds is None else f"   {view.seconds:.2f} s"
    lines += ["", f"{_summary(contract, lines_shown)}{tail}"]
    return [*lines, *findings_text(report.diagnostics, name, view)]


def _no_line_reason(report: ContractReport, view: View) -> Iterator[str]:
    """The reason for a contract without lines; nothing if open entries explain it."""
    contract = report.contract
    if any(finding.severity is Severity.ERROR for finding in report.diagnostics):
        yield from fitted("  no line: every run fails, or errors hide the constraints", view.width, "    ")
    elif not contract.open:
        reason = "with the declared bounds" if contract.declared else "for all inputs"
        start = "no other line" if contract.nonempty else "no line"
        yield from fitted(f"  {start}: {reason}, no index is out of bounds and no shapes clash", view.width, "    ")


def _summary(contract: Contract, lines_shown: Sequence[Line]) -> str:
    """The counts of a contract as text: `3 lines, 2 tight, 4 open`, `no lines`."""
    text = "only sizes that must not be 0" if contract.nonempty else "no lines"
    if lines_shown:
        text = f"{count(len(lines_shown), 'line')}, {sum(line.tight for line in lines_shown)} tight"
    return f"{text}, {len(contract.open)} open" if contract.open else text


def contract_json(report: ContractReport) -> dict[str, Json]:
    """The contract in the format that `Contract.load` reads, and the diagnostics of its derivation."""
    return {**report.contract.to_json(), "diagnostics": [diagnostic_json(d) for d in report.diagnostics]}


def _where(line: Line) -> str:
    """The condition of a line as text: `where sr == 16000`; empty for an unconditional line."""
    return printable(line.condition.strip()) if isinstance(line, DimsLine) else ""


def _labels(lines: Iterable[Line]) -> list[str]:
    return list(dict.fromkeys(node for line in lines for node in line.nodes))


def _short_labels(labels: Iterable[str], view: View) -> dict[str, str]:
    """For each label its shortest unambiguous tail, as `…/stft/Conv`; the full label if the view is verbose."""
    found: dict[str, str] = {}
    parts = {label: label.split("/") for label in labels}
    for label, parts_of_label in parts.items():
        # the shortest tail, of at least _PARTS parts, that no other label has
        length = next(
            n
            for n in range(_PARTS, len(parts_of_label) + _PARTS + 1)
            if all(label == other or theirs[-n:] != parts_of_label[-n:] for other, theirs in parts.items())
        )
        found[label] = (
            label if view.verbose or length >= len(parts_of_label) else "/".join((ELLIPSIS, *parts_of_label[-length:]))
        )
    return found


def _table(lines: Sequence[Line], view: View, names: Mapping[str, str], indent: int = 2) -> list[str]:
    text_width = max(
        (len(printable(line.relation if isinstance(line, DimsLine) else line.text)) for line in lines), default=0
    )
    label_width = None if view.width is None else view.width - indent - text_width - len("not tight") - 2 * _GAP
    return [
        " " * (indent - 2) + row for line in lines for row in _rows(line, text_width, label_width, view, names, indent)
    ]


def _rows(
    line: Line, text_width: int, label_width: int | None, view: View, names: Mapping[str, str], indent: int
) -> Iterator[str]:
    text = printable(line.relation if isinstance(line, DimsLine) else line.text)
    tight = "tight" if line.tight else "not tight"
    nodes = [printable(names[node]) for node in line.nodes]
    shown = nodes[0] if nodes else "the file"
    more = f" and {count(len(nodes) - 1, 'more node')}" if len(nodes) > 1 and not view.verbose else ""
    if label_width is not None and label_width < _MIN_LABEL:
        assert view.width is not None, "without a width there is room"
        yield f"  {text}"
        yield f"    {tight:<9}   {shorten(shown, max(1, view.width - indent - 14 - len(more)))}{more}"
    else:
        label = shown if label_width is None else shorten(shown, label_width - len(more))
        yield f"  {text:<{text_width}}   {tight:<9}   {label}{more}"
    if view.verbose:
        width = None if view.width is None else view.width - indent + 2
        further = [*nodes[1:]]
        if isinstance(line, DimsLine) and line.unless:
            further.append(f"unless {printable(' or '.join(map(str, line.unless)))}")
        if line.reason:
            further.append(printable(line.reason))
        yield from (part for text in further for part in fitted(f"      {text}", width, "        "))


def _open(entries: Sequence[Open], view: View) -> Iterator[str]:
    """Lines for `entries`, grouped by body below the condition under which the body runs.

    Nodes with the same reason share a line.
    """
    for bodies in dict.fromkeys(entry.bodies for entry in entries):
        inside = [entry for entry in entries if entry.bodies == bodies]
        labels = list(dict.fromkeys(entry.node for entry in inside))
        names = _short_labels(labels, view) if bodies else dict(zip(labels, labels, strict=True))
        indent = "      " if bodies else "    "
        if bodies:
            yield from fitted(f"    {printable('; '.join(_shown(bodies, view)))}:", view.width, "        ")
        for reason in dict.fromkeys(entry.reason for entry in inside):
            nodes = list(dict.fromkeys(names[entry.node] for entry in inside if entry.reason == reason))
            more = f" and {count(len(nodes) - 1, 'more node')}" if len(nodes) > 1 and not view.verbose else ""
            yield from fitted(f"{indent}{printable(f'{nodes[0]}{more}: {reason}')}", view.width, f"{indent}  ")
            if view.verbose:
                yield from (part for n in nodes[1:] for part in fitted(f"{indent}  {printable(n)}", view.width, indent))


def _shown(bodies: Sequence[ConditionalBody], view: View) -> Iterator[str]:
    """A text for each of the nested `bodies`, with shortened labels: `in then_branch of If_0, where sr == 16000`."""
    for body in bodies:
        yield str(replace(body, node=_short_labels((body.node,), view)[body.node]))


def _emptiness(lines: Sequence[DimsLine]) -> Iterator[str]:
    """Each dim that must not be 0, as text: `batch`, `seq (not tight)`."""
    tight: dict[str, bool] = {}
    for line in lines:
        dim = next(relation.left for relation in line.relations if relation not in line.unless)
        tight[str(dim)] = tight.get(str(dim), False) or line.tight
    yield from (printable(dim) + ("" if is_tight else " (not tight)") for dim, is_tight in tight.items())
