"""Results as text for people: plain lines, fitted to a width, without colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.record import Constraint
from gather_infer.report.forms import PLAIN, InferenceReport, View
from gather_infer.report.interface import interface_text, recorded_text
from gather_infer.report.layout import Column, count, printable, size, table, wrapped
from gather_infer.report.summary import ExternalFile, ModelSummary
from gather_infer.symbolic import free_symbols
from gather_infer.tensor import SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.result import Access, Belief, Inference

SHOWN = 12
"""Rows of a list that may be long, before it ends in `... 13 more: --all`."""

SHOWN_DEMANDS = 3
"""Demands on the inputs, before they end in `... 2 more: --constraints`."""

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def inference_text(report: InferenceReport, view: View = PLAIN) -> list[str]:
    """What `gather-infer infer` prints; a verbose one has all rows, all constraints and the type of every tensor."""
    inference, summary = report.inference, report.summary
    constraints = report.constraints or view.verbose
    limit = None if report.everything or view.verbose else SHOWN
    lines = [headline(summary), *_interface(inference)]
    if inference.recorded:
        lines.append(f"  recorded in the file, as declared: {recorded_text(inference.recorded)}")
    if inference.accesses:
        lines += ["", *_accesses(inference.accesses, limit, view.width)]
    coverage = inference.coverage()
    tail = "" if view.seconds is None else f"{view.seconds:.2f} s"
    total = (
        f"  {count(coverage.tensors, 'tensor')}: {coverage.typed} with a type, {coverage.ranked} ranked, "
        f"{coverage.exact} with every dim known"
    )
    if view.verbose:
        for path, facts in inference.scopes.items():
            label = inference.labels[path]
            lines += ["", f"  tensors of {printable(label)}" if label else "  tensors", *_tensors(facts)]
    lines += ["", f"{total}   {tail}".rstrip()]
    if inference.assumptions:
        rows = [f"{printable(str(a))}: {a.reason}" for a in inference.assumptions]
        lines += ["", "  assumed, --no-assume does without:", *_limited(rows, limit)]
    if inference.believed:
        lines += ["", *_beliefs(inference.believed, view.verbose or constraints)]
    if inference.causes:
        rows = [printable(f"{s}: {c.reason} (node {c.node})") for s, c in inference.causes.items()]
        lines += ["", "  generated symbols:", *_limited(rows, limit)]
    stated = [c for c in inference.constraints if constraints or _is_demand(c, inference)]
    if stated:
        rows = [printable(f"{c} (node {c.node})") for c in stated]
        most = None if constraints else SHOWN_DEMANDS
        lines += ["", "  holds in every run that does not fail:", *_limited(rows, most, "--constraints")]
    elif constraints:
        lines += ["", "  no constraints"]
    if report.interface is not None and (declared := interface_text(report.interface, view)):
        lines += ["", *declared]
    return [*lines, *findings_text(inference.diagnostics, summary.name)]


def _beliefs(beliefs: Sequence[Belief], listed: bool) -> list[str]:
    """What is taken from the file as it is: how much, and with `listed` all of it."""
    total = f"  {count(len(beliefs), 'type')} believed as the file declares {'it' if len(beliefs) == 1 else 'them'}"
    if not listed:
        return [f"{total}: --constraints"]
    return [f"{total}:", *(f"    {printable(str(b))}" for b in beliefs)]


def headline(summary: ModelSummary) -> str:
    """`bert.onnx   opset 17, 356 nodes, 888 KiB`."""
    opset = "no ai.onnx opset" if summary.opset is None else f"opset {summary.opset}"
    parts = [opset, count(summary.nodes, "node")]
    if summary.form:
        parts = [summary.form, count(summary.nodes, "layer")]
    if summary.subgraphs:
        parts.append(f"{summary.subgraph_nodes} more in {count(summary.subgraphs, 'subgraph')}")
    if summary.functions:
        parts.append(count(summary.functions, "function"))
    if summary.nbytes:
        parts.append(size(summary.nbytes))
    return f"{printable(summary.name)}   {', '.join(parts)}"


def _interface(inference: Inference) -> list[str]:
    """The `in` and `out` lines, and below an output what its declared symbols stand for."""
    facts = inference.scope("")
    room = max((len(printable(n)) for n in (*inference.inputs, *inference.outputs)), default=0)
    equal: dict[str, list[str]] = {}
    for finding in inference.diagnostics:
        if finding.code == "GI203":
            equal.setdefault(finding.location.value, []).append(finding.message)
    lines = []
    for label, names in (("in", inference.inputs), ("out", inference.outputs)):
        for name in names:
            lines.append(f"  {label:<5}{printable(name):<{room}}   {_type(facts.get(name))}".rstrip())
            lines += [f"       {printable(text)}" for text in equal.pop(name, ())]
            label = ""
    return lines + [f"       {printable(text)}" for texts in equal.values() for text in texts]


def _tensors(facts: Mapping[str, Value]) -> list[str]:
    room = max((len(printable(name)) for name in facts), default=0)
    return [f"    {printable(name):<{room}}   {_operand(value)}" for name, value in facts.items()]


def _is_demand(constraint: Constraint, inference: Inference) -> bool:
    """Whether a constraint is about the inputs alone."""
    return not (free_symbols(constraint.left) | free_symbols(constraint.right)) & inference.causes.keys()


def _type(value: Value | None) -> str:
    return "?" if value is None else printable(str(value))


def _operand(value: Value) -> str:
    """A type with its elements when they are few; those of floats say nothing about shapes."""
    if isinstance(value, SymbolicTensor) and value.dtype is not None and value.dtype.is_float:
        value = value.with_(values=None)
    return _type(value)


def _accesses(accesses: Sequence[Access], limit: int | None, width: int | None) -> list[str]:
    columns = (Column("access"), Column("data"), Column("indices"), Column("axis", right=True), Column("result"))
    grouped = [list(group) for _, group in groupby(accesses, key=lambda access: (access.node, access.input))]
    shown = grouped if limit is None or len(grouped) <= limit + 1 else grouped[:limit]
    rows = [
        (
            printable(str(a.node) if a.op_type == "Gather" else f"{a.node} ({a.op_type})"),
            _operand(a.data_type),
            _operand(a.indices_type),
            ", ".join(str(each.axis) for each in (a, *components) if each.axis is not None),
            _operand(a.result_type),
        )
        for a, *components in shown
    ]
    lines = table(columns, rows, width=width)
    if len(shown) < len(grouped):
        lines.append(f"  ... {len(grouped) - len(shown)} more: --all")
    return lines


def _limited(rows: Sequence[str], limit: int | None, option: str = "--all") -> list[str]:
    shown = rows if limit is None or len(rows) <= limit + 1 else rows[:limit]
    lines = [f"    {row}" for row in shown]
    if len(shown) < len(rows):
        lines.append(f"    ... {len(rows) - len(shown)} more: {option}")
    return lines


def findings_text(diagnostics: Sequence[Diagnostic], file: str) -> list[str]:
    """The findings below a report: `diagnostics_text` without what stands at the outputs, after an empty line."""
    findings = diagnostics_text([d for d in diagnostics if d.code != "GI203"], file)
    return ["", *findings] if findings else []


def diagnostics_text(diagnostics: Sequence[Diagnostic], file: str) -> list[str]:
    """Errors first, then warnings, then notes; a last line counts errors and warnings when there are any."""
    ordered = sorted(diagnostics, key=lambda d: _ORDER[d.severity])
    lines = [printable(line) for d in ordered for line in d.text(file).split("\n")]
    total = findings_count(diagnostics)
    return [*lines, total] if total else lines


def findings_count(diagnostics: Sequence[Diagnostic]) -> str:
    """`1 error, 2 warnings`; empty when there is neither."""
    errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    warnings = sum(d.severity is Severity.WARNING for d in diagnostics)
    parts = [count(n, noun) for n, noun in ((errors, "error"), (warnings, "warning")) if n]
    return ", ".join(parts)


def summaries_text(summaries: Sequence[ModelSummary], view: View = PLAIN) -> list[str]:
    """What `gather-infer inspect` prints: a property per row, a model per column.

    A verbose one has also each initializer, and the values of the metadata.
    """
    if not summaries:
        return []
    columns = (Column(""), *(Column(printable(s.name)) for s in summaries))
    rows: list[tuple[str, ...]] = []

    def row(label: str, cells: Sequence[str]) -> None:
        if any(cells):
            rows.append((label, *map(printable, cells)))

    def block(label: str, lists: Sequence[Sequence[str]]) -> None:
        for i in range(max((len(entries) for entries in lists), default=0)):
            row(label if i == 0 else "", [entries[i] if i < len(entries) else "" for entries in lists])

    row("size", [size(s.nbytes) if s.nbytes else "" for s in summaries])
    row("ir_version", [str(s.ir_version) for s in summaries])
    row("producer", [s.producer for s in summaries])
    row("opsets", [", ".join(f"{d or 'ai.onnx'} {v}" for d, v in s.opsets.items()) for s in summaries])
    block("inputs", [[f"{name} {text}" for name, text in s.inputs] for s in summaries])
    block("outputs", [[f"{name} {text}" for name, text in s.outputs] for s in summaries])
    row("nodes", [str(s.nodes) for s in summaries])
    row("subgraphs", [_with_nodes(s.subgraphs, s.subgraph_nodes) for s in summaries])
    row("functions", [_with_nodes(s.functions, s.function_nodes) for s in summaries])
    row("initializers", [f"{s.initializers}, {size(s.weight_bytes)} with constants" for s in summaries])
    if view.verbose:
        block("", [s.initializer_texts for s in summaries])
    block("external data", [[_file_text(f) for f in s.external] for s in summaries])
    block("metadata", [[f"{key} = {v}" if view.verbose else key for key, v in s.metadata] for s in summaries])
    for heading, kinds in (
        ("gather family", [s.gathers for s in summaries]),
        ("operators", [s.operators for s in summaries]),
    ):
        totals: Counter[tuple[str, str]] = Counter()
        for kind in kinds:
            totals.update(kind)
        if totals:
            rows.append((heading, *("" for _ in summaries)))
        for key, _ in sorted(totals.items(), key=lambda entry: (-entry[1], entry[0])):
            domain, op = key
            row(f"  {f'{domain}.' if domain else ''}{op}", [str(kind.get(key, "")) for kind in kinds])
    return _side_by_side(columns, rows, view.width)


def _side_by_side(columns: Sequence[Column], rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    if len(columns) == 2:  # one model: nothing to line up, nothing to shorten
        room = max(len(label) for label, _ in rows)
        return [columns[1].heading] + [f"  {label:<{room}}   {cell}".rstrip() for label, cell in rows]
    return wrapped(columns, rows, width=width)


def _with_nodes(number: int, nodes: int) -> str:
    return f"{number}, {count(nodes, 'node')}" if number else ""


def _file_text(file: ExternalFile) -> str:
    found = "missing" if file.nbytes is None else size(file.nbytes)
    return f"{file.location} {found}, {count(file.tensors, 'tensor')}"
