"""Explanations as text and JSON: the chain behind a tensor, and what a diagnostic code means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gather_infer.diagnostic import ADVICE, CODES, group_of
from gather_infer.explanation.chain import Facet, Link, Operand, Origin
from gather_infer.report.findings import diagnostics_text
from gather_infer.report.forms import PLAIN, ExplanationReport, View
from gather_infer.report.json import (
    SCHEMA,
    Json,
    assumption_json,
    belief_json,
    cause_json,
    constraint_json,
    diagnostic_json,
    dim_json,
    type_json,
)
from gather_infer.report.layout import count, printable
from gather_infer.tensor import SymbolicTensor, Value, format_values

_LARGEST = 8  # elements that are printed


def explanation_text(report: ExplanationReport, view: View = PLAIN) -> list[str]:
    """What `gather-infer explain MODEL TENSOR` prints."""
    explanation = report.explanation
    title = f"{explanation.scope}/{explanation.name}" if explanation.scope else explanation.name
    lines = [f"{printable(title)}   {_type(explanation.value)}", *_chain(explanation.step, 1)]
    if explanation.unknowns:
        lines += ["", "  generated symbols:"]
    for unknown in explanation.unknowns:
        cause = unknown.cause
        where = f"node {cause.node}" + (f", {cause.op_type}" if cause.op_type else "")
        lines.append(printable(f"    {unknown.symbol}: {cause.reason} ({where})"))
        lines += _remedies(unknown.remedies)
    lost = explanation.lost
    if explanation.remedies or lost is not None:
        why = "" if lost is None else printable(f": {lost.reason} (node {lost.node}, {lost.op_type})")
        lines += ["", f"  the type is not known{why}", *_remedies(explanation.remedies)]
    if explanation.assumptions:
        lines += ["", "  assumed, --no-assume does without:"]
        lines += [printable(f"    {a}: {a.reason}") for a in explanation.assumptions]
    if explanation.believed:
        lines += ["", "  believed as the file declares it:"]
        lines += [printable(f"    {b}") for b in explanation.believed]
    if explanation.constraints:
        lines += ["", "  holds in every run that does not fail:"]
        lines += [printable(f"    {c} (node {c.node})") for c in explanation.constraints]
    if explanation.findings:
        lines += ["", *diagnostics_text(explanation.findings, report.model)]
    return lines


def _remedies(remedies: tuple[str, ...]) -> list[str]:
    """What would make it known, or the one line that says that only a run does."""
    only = [f"      {text}" for text in remedies if text.startswith("only")]
    ways = [text for text in remedies if not text.startswith("only")]
    lines = [f"      {'known with' if i == 0 else '        or'} {text}" for i, text in enumerate(ways)]
    return list(map(printable, lines + only))


def _chain(step: Link, level: int) -> Iterator[str]:
    indent = "  " * level
    if step.passed:
        dims = ", ".join(map(str, step.asked)) if step.facet is Facet.SHAPE else "elements"
        yield printable(f"{indent}... {count(step.passed, 'node')} that only hand on {dims or 'dims'}")
    shape = _gathered_shape(step)
    if shape is None:
        yield _line(indent, step, _facts(step))
    else:
        yield _line(indent, step, f"Shape({shape.operands[0].name}){_index(step)} = {_elements(step.value)}")
        step = replace(step, sources=shape.sources, cut=shape.cut)
        if [(s.origin, s.passed) for s in step.sources] == [(Origin.INPUT, 0)]:
            return  # the line names the input
    if step.cut:
        yield f"{indent}  ..."
    for source in step.sources:
        yield from _chain(source, level + 1)


def _line(indent: str, step: Link, facts: str) -> str:
    match step.origin:
        case Origin.NODE:
            domain = f"{step.domain}." if step.domain else ""
            text = f"{domain + step.op_type:<9} {step.node!s:<16}   {facts}".rstrip()
        case Origin.BODY_INPUT:
            text = f"{'input':<9} {step.name:<16}   {_type(step.value)}, of a body of {step.op_type} {step.node}"
        case _:
            text = f"{step.origin.value:<9} {step.name:<16}   {_type(step.value)}"
    if step.made:
        text += f"   makes up {', '.join(step.made)}"
    return printable(f"{indent}{text}" + ("   (see above)" if step.repeated else ""))


def _facts(step: Link) -> str:
    joins = step.op_type == "Concat" and not step.domain and step.facet is Facet.VALUES
    parts = [
        o.value.values for o in step.operands if isinstance(o.value, SymbolicTensor) and o.value.values is not None
    ]
    if joins and len(parts) == len(step.operands) > 0 and sum(p.size for p in parts) <= _LARGEST:
        return " + ".join(format_values(p) for p in parts)
    return ", ".join(map(_operand, step.operands))


def _operand(operand: Operand) -> str:
    return f"{operand.label} {_type(operand.value)}".lstrip()


def _gathered_shape(step: Link) -> Link | None:
    """The Shape of which the step picks elements by a constant index."""
    if step.op_type != "Gather" or step.domain or len(step.sources) != 1 or len(step.operands) != 2:
        return None
    source, index = step.sources[0], step.operands[1].value
    constant = isinstance(index, SymbolicTensor) and index.only_element is not None
    is_shape = source.op_type == "Shape" and not source.domain and not source.passed and not source.repeated
    return source if constant and is_shape and len(source.operands) == 1 else None


def _index(step: Link) -> str:
    index = step.operands[1].value
    assert isinstance(index, SymbolicTensor), "a constant index"
    return f"[{index.only_element}]"


def _elements(value: Value) -> str:
    if isinstance(value, SymbolicTensor) and value.values is not None:
        return format_values(value.values)
    return "?"


def _type(value: Value) -> str:
    if isinstance(value, SymbolicTensor) and value.dtype is not None and value.dtype.is_float:
        value = value.with_(values=None)  # the elements of floats say nothing about shapes
    return printable(str(value))


def explanation_json(report: ExplanationReport) -> dict[str, Json]:
    explanation = report.explanation
    lost = explanation.lost
    return {
        "schema": SCHEMA,
        "scope": explanation.scope,
        "name": explanation.name,
        "type": type_json(explanation.value),
        "step": _step_json(explanation.step),
        "unknowns": [
            {"symbol": u.symbol, **cause_json(u.cause), "remedies": list(u.remedies)} for u in explanation.unknowns
        ],
        "remedies": list(explanation.remedies),
        "lost": None if lost is None else {"node": str(lost.node), "op_type": lost.op_type, "reason": lost.reason},
        "assumptions": [assumption_json(a) for a in explanation.assumptions],
        "constraints": [constraint_json(c) for c in explanation.constraints],
        "believed": [belief_json(b) for b in explanation.believed],
        "diagnostics": [diagnostic_json(d) for d in explanation.findings],
    }


def _step_json(step: Link) -> Json:
    return {
        "facet": step.facet.value,
        "asked": [dim_json(d) for d in step.asked],
        "scope": step.scope,
        "name": step.name,
        "type": type_json(step.value),
        "origin": step.origin.value,
        "node": "" if step.node is None else str(step.node),
        "op_type": step.op_type,
        "domain": step.domain,
        "operands": [
            {"label": o.label, "name": o.name, "type": type_json(o.value), "followed": o.followed}
            for o in step.operands
        ],
        "made": list(step.made),
        "passed": step.passed,
        "repeated": step.repeated,
        "cut": step.cut,
        "sources": [_step_json(s) for s in step.sources],
    }


def code_text(code: str, view: View = PLAIN) -> list[str]:
    """What `gather-infer explain GI301` prints."""
    severity, meaning = CODES[code]
    return [f"{severity}[{code}]: {meaning}", f"  {group_of(code)}", f"  {ADVICE[code]}"]


def code_json(code: str) -> dict[str, Json]:
    severity, meaning = CODES[code]
    return {
        "schema": SCHEMA,
        "code": code,
        "severity": str(severity),
        "group": group_of(code),
        "meaning": meaning,
        "advice": ADVICE[code],
    }
