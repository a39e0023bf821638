"""Inferences and summaries as plain text: lines wrapped at a width, without colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gather_infer.report.accesses import accesses_count, accesses_text, operand_text
from gather_infer.report.findings import findings_text
from gather_infer.report.interface import interface_text, persisted_constraints_text
from gather_infer.report.layout import Column, count, fitted, printable, size, wrapped
from gather_infer.report.output_formats import PLAIN, InferenceReport, View
from gather_infer.report.row_groups import group_rows
from gather_infer.report.signature import signature_text
from gather_infer.report.summary import ExternalFile, ModelSummary, Unreadable
from gather_infer.symbolic import free_symbols
from gather_infer.tensor import Value
from gather_infer.trail import Constraint

if TYPE_CHECKING:
    from gather_infer.explanation.root_cause import RootCauses
    from gather_infer.inference.result import Inference, TrustedAnnotation

SHOWN = 12
"""Maximal number of rows of a list; a longer list ends in `... 13 more: --all`."""

SHOWN_CONSTRAINTS = 3
"""Maximal number of constraints on the inputs; a longer list ends in `... 2 more: --constraints`."""

WITH_VERBOSE: Final = ("GI302", "GI310")
"""Codes of findings that explain a verdict in the table of accesses; only a verbose report prints them."""


def inference_text(report: InferenceReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer infer`; a verbose view adds all rows, constraints and types of tensors."""
    inference, summary, root_causes = report.inference, report.summary, report.root_causes
    constraints = report.constraints or view.verbose
    every = report.everything or view.verbose
    limit = None if every else SHOWN
    lines = [headline(summary), *signature_text(inference, every=every, width=view.width)]
    if inference.persisted_constraints:
        lines.append(f"  persisted in the file: {persisted_constraints_text(inference.persisted_constraints)}")
    verdicts = {verdict.access.key: verdict for verdict in report.verdicts}
    affected = () if root_causes is None else root_causes.nodes
    if inference.accesses:
        lines += ["", *accesses_text(inference.accesses, verdicts, limit, view.width, affected)]
    if view.verbose:
        for path, facts in inference.scopes.items():
            label = inference.labels[path]
            lines += ["", f"  tensors of {printable(label)}" if label else "  tensors", *_tensors(facts)]
    lines += ["", *_totals(report, view)]
    root_cause_symbols = frozenset[str]() if root_causes is None or every else root_causes.symbols
    assumed = [a for a in inference.assumptions if free_symbols(a.dim).isdisjoint(root_cause_symbols)]
    if assumed:
        rows = [f"{printable(str(a))}: {a.reason}" for a in assumed]
        lines += ["", "  assumed (--no-assume disables this):", *_limited(rows, limit, view.width)]
    if inference.trusted_annotations:
        lines += ["", *_trusted_annotations(inference.trusted_annotations, view.verbose or constraints)]
    causes = {name: cause for name, cause in inference.causes.items() if name not in root_cause_symbols}
    if causes:
        rows = [printable(f"{s}: {c.reason} (node {c.node})") for s, c in causes.items()]
        lines += ["", "  generated symbols:", *_limited(rows, limit, view.width)]
    constraints_shown = [c for c in inference.constraints if constraints or _is_about_inputs(c, inference)]
    if constraints_shown:
        rows = [printable(f"{c} (node {c.node})") for c in constraints_shown]
        most = None if constraints else SHOWN_CONSTRAINTS
        lines += ["", "  holds in every run that does not fail:", *_limited(rows, most, view.width, "--constraints")]
    elif constraints:
        lines += ["", "  no constraints"]
    if report.interface is not None and (declared := interface_text(report.interface, view)):
        lines += ["", *declared]
    findings = [d for d in report.findings if view.verbose or d.code not in WITH_VERBOSE]
    return [*lines, *findings_text(findings, summary.name, view)]


def _totals(report: InferenceReport, view: View) -> list[str]:
    """Lines with the accesses by verdict, the coverage of the types, and the facts that root causes leave unknown."""
    coverage = report.inference.coverage()
    tail = "" if view.seconds is None else f"{view.seconds:.2f} s"
    total = (
        f"  {count(coverage.tensors, 'tensor')}: {coverage.typed} with a type, {coverage.ranked} ranked, "
        f"{coverage.exact} with every dim known"
    )
    accesses = accesses_count(Counter(verdict.kind.value for verdict in report.verdicts))
    lines = [*([f"  {accesses}"] if accesses else ()), f"{total}   {tail}".rstrip()]
    if report.root_causes is not None and report.root_causes.diagnostics:
        lines += fitted(f"  {_root_causes_line(report.root_causes)}", view.width, "    ")
    return lines


def _root_causes_line(root_causes: RootCauses) -> str:
    """A line about the facts that root causes leave unknown.

    `the error GI212 at node /Add leaves 146 tensors unknown, with 23 generated symbols: --all`
    """
    first, number = root_causes.diagnostics[0], len(root_causes.diagnostics)
    where = first.location
    place = printable(f"value {where.value}" if where.node is None else f"node {where.node}")
    subject = f"the {first.severity} {first.code} at {place} leaves"
    if number > 1:
        subject = f"{number} findings, first {first.code} at {place}, leave"
    rest = [
        count(n, noun)
        for n, noun in ((len(root_causes.symbols), "generated symbol"), (len(root_causes.assumptions), "assumption"))
        if n
    ]
    more = f", with {' and '.join(rest)}: --all" if rest else ""
    return f"{subject} {count(root_causes.unknown_tensors, 'tensor')} unknown{more}"


def _trusted_annotations(annotations: Sequence[TrustedAnnotation], listed: bool) -> list[str]:
    """A line with the number of trusted annotations, followed by all of them if `listed` is set."""
    total = (
        f"  {count(len(annotations), 'type')} trusted as the file declares {'it' if len(annotations) == 1 else 'them'}"
    )
    if not listed:
        return [f"{total}: --constraints"]
    return [f"{total}:", *(f"    {printable(str(b))}" for b in annotations)]


def headline(summary: ModelSummary) -> str:
    """The first line about a model: `bert.onnx   opset 17, 356 nodes, 888 KiB`."""
    opset = "no ai.onnx opset" if summary.opset is None else f"opset {summary.opset}"
    parts = [opset, count(summary.nodes, "node")]
    if summary.file_format:
        parts = [summary.file_format, count(summary.nodes, "layer")]
    if summary.subgraphs:
        parts.append(f"{summary.subgraph_nodes} more in {count(summary.subgraphs, 'subgraph')}")
    if summary.functions:
        parts.append(count(summary.functions, "function"))
    if summary.nbytes:
        parts.append(size(summary.nbytes))
    return f"{printable(summary.name)}   {', '.join(parts)}"


def _tensors(facts: Mapping[str, Value]) -> list[str]:
    room = max((len(printable(name)) for name in facts), default=0)
    return [f"    {printable(name):<{room}}   {operand_text(value)}" for name, value in facts.items()]


def _is_about_inputs(constraint: Constraint, inference: Inference) -> bool:
    """Whether a constraint contains no generated symbols, so that it concerns the inputs only."""
    return not (free_symbols(constraint.left) | free_symbols(constraint.right)) & inference.causes.keys()


def _limited(rows: Sequence[str], limit: int | None, width: int | None, option: str = "--all") -> list[str]:
    shown = rows if limit is None or len(rows) <= limit + 1 else rows[:limit]
    lines = [line for row in shown for line in fitted(f"    {row}", width, "      ")]
    if len(shown) < len(rows):
        lines.append(f"    ... {len(rows) - len(shown)} more: {option}")
    return lines


def summaries_text(files: Sequence[ModelSummary | Unreadable], view: View = PLAIN) -> list[str]:
    """The output of `gather-infer inspect`: a row for each property, a column for each readable model.

    A verbose view adds each initializer, a line for every input and output, and the values of the metadata.
    """
    summaries = [file for file in files if isinstance(file, ModelSummary)]
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
    row("format", [s.file_format for s in summaries])
    row("ir_version", ["" if s.file_format else str(s.ir_version) for s in summaries])
    row("producer", [s.producer for s in summaries])
    row("opsets", [", ".join(f"{d or 'ai.onnx'} {v}" for d, v in s.opsets.items()) for s in summaries])
    block("inputs", [_declared(s.inputs, view.verbose) for s in summaries])
    block("outputs", [_declared(s.outputs, view.verbose) for s in summaries])
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
    if len(columns) == 2:  # one model needs no columns
        room = max(len(label) for label, _ in rows)
        lines = [f"  {label:<{room}}   {cell}".rstrip() for label, cell in rows]
        return [columns[1].heading, *(part for line in lines for part in fitted(line, width, " " * (room + 7)))]
    return wrapped(columns, rows, width=width)


def _declared(values: Sequence[tuple[str, str]], every: bool) -> list[str]:
    """Inputs or outputs with their declared types; names that differ in a number are grouped unless `every` is set."""
    rows = [(printable(name), text) for name, text in values]
    if every:
        return [f"{name} {text}" for name, text in rows]
    found = group_rows(rows)
    return [f"{r.cells[0]} {r.cells[1]}" + (f"  ({r.count})" if r.numbers else "") for r in found]


def _with_nodes(number: int, nodes: int) -> str:
    return f"{number}, {count(nodes, 'node')}" if number else ""


def _file_text(file: ExternalFile) -> str:
    found = "missing" if file.nbytes is None else size(file.nbytes)
    return f"{file.location} {found}, {count(file.tensors, 'tensor')}"
