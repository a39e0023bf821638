"""Explanations of tensors, symbols and diagnostic codes as text and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gather_infer.diagnostic import ADVICE, CODES, group_of
from gather_infer.explanation.chain import (
    Definition,
    Explanation,
    Facet,
    InterfaceDim,
    Link,
    Operand,
    SymbolExplanation,
)
from gather_infer.report.findings import diagnostics_text
from gather_infer.report.independence import axes_json, independence_json
from gather_infer.report.json import (
    SCHEMA,
    Json,
    assumption_json,
    cause_json,
    constraint_json,
    diagnostic_json,
    dim_json,
    trusted_annotation_json,
    type_json,
)
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, ExplanationReport, ExplanationsReport, View
from gather_infer.report.row_groups import group_rows
from gather_infer.tensor import SymbolicTensor, Value, format_values

if TYPE_CHECKING:
    from gather_infer.contract import Line
    from gather_infer.trail import Cause

_LARGEST = 8  # maximal number of elements in a line
_OPERATOR = 10
"""Minimum width of the operator of a node."""
_NODE = re.compile(r" *(\S+ +\S+) {3,}(\S.*)")
"""Matches a line with an operator and the name of its node (group 1), and its facts (group 2)."""
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_UNBROKEN = "\N{NO-BREAK SPACE}"


def explanation_text(report: ExplanationReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer explain MODEL TENSOR`."""
    explanation = report.explanation
    title = f"{explanation.scope}/{explanation.name}" if explanation.scope else explanation.name
    lines = [f"{printable(title)}   {_type(explanation.value)}", *_chain(explanation.step, 1)]
    if any(len(origin.factors) > 1 for origin in explanation.axes) or (view.verbose and explanation.axes):
        lines.append(printable(f"  axes: {', '.join(map(str, explanation.axes))}"))
    lines += _rows(explanation)
    if explanation.unknowns:
        lines += ["", "  generated symbols:"]
    for unknown in explanation.unknowns:
        cause = unknown.cause
        where = f"node {cause.node}" + (f", {cause.op_type}" if cause.op_type else "")
        lines.append(printable(f"    {unknown.symbol}: {cause.reason} ({where})"))
        lines += _suggestions(unknown.suggestions)
    unknown_because = explanation.unknown_because
    if explanation.suggestions or unknown_because is not None:
        why = (
            ""
            if unknown_because is None
            else printable(f": {unknown_because.reason} (node {unknown_because.node}, {unknown_because.op_type})")
        )
        lines += ["", f"  the type is unknown{why}", *_suggestions(explanation.suggestions)]
    if explanation.assumptions:
        lines += ["", "  assumed (--no-assume disables this):"]
        lines += [printable(f"    {a}: {a.reason}") for a in explanation.assumptions]
    if explanation.trusted_annotations:
        lines += ["", "  trusted as the file declares it:"]
        lines += [printable(f"    {b}") for b in explanation.trusted_annotations]
    if explanation.constraints:
        lines += ["", "  holds in every run that does not fail:"]
        lines += [printable(f"    {c} (node {c.node})") for c in explanation.constraints]
    lines = [part for line in lines for part in _fitted(line, view.width)]
    if explanation.findings:
        lines += ["", *diagnostics_text(explanation.findings, report.model)]
    return lines


def _rows(explanation: Explanation) -> list[str]:
    """The verdict on the rows of an output of the model."""
    found = explanation.independence
    output = None if found is None else next((o for o in found.outputs if o.name == explanation.name), None)
    if found is None or output is None:
        return []
    reason = f" ({output.explanation})" if output.reason else ""
    return [printable(f"  rows of {found.rows} independent: {output.verdict}{reason}")]


def _fitted(line: str, width: int | None) -> list[str]:
    """`line`, wrapped at `width`: the facts of a node are on lines below its name, and brackets are never broken."""
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    whole = _BRACKETS.sub(lambda found: found[0].replace(" ", _UNBROKEN), line)
    node = _NODE.fullmatch(whole)
    if node is None:
        lines = fitted(whole, width, indent + " " * 4)
    else:
        below = indent + " " * _OPERATOR
        lines = [indent + node[1], *fitted(below + node[2], width, below)]
    return [part.replace(_UNBROKEN, " ") for part in lines]


def tensor_text(explanation: Explanation, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer explain` for one tensor, which is also its `str`."""
    return explanation_text(ExplanationReport(explanation, explanation.model), view)


def symbol_text(symbol: SymbolExplanation, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer explain MODEL SYMBOL`, which is also its `str`."""
    name, cause = symbol.symbol, symbol.cause
    lines = [f"{name}   {_kind(symbol)}"]
    lines += _list("is", symbol.interface_dims if view.verbose else _interface_dims(symbol.interface_dims))
    if cause is not None:
        lines += [f"  generated at {_created_at(cause)}", f"  because      {cause.reason}"]
    if symbol.equals is not None:
        lines.append(f"  equals       {symbol.equals}")
    else:
        lines.append(f"  bounds       {_bounds(symbol)}")
    lines += _list("used", _uses(symbol))
    lines += _list("limited by", [f"{line.text}   {_required_by(line)}" for line in symbol.contract_lines])
    lines += _list("assumed", [f"{a}: {a.reason}" for a in symbol.assumptions])
    if symbol.rename:
        lines.append(f"  rename       {symbol.rename}")
    lines += [line[4:] for line in _suggestions(symbol.suggestions)]
    return [part for line in map(printable, lines) for part in fitted(line, view.width, " " * 17)]


def _list(label: str, entries: Sequence[object]) -> list[str]:
    return [f"  {label if i == 0 else '':<11}  {entry}" for i, entry in enumerate(entries)]


def _interface_dims(interface_dims: Sequence[InterfaceDim]) -> list[str]:
    """Texts such as `axis 0 of the input ids`; names that differ in a number share a text.

    The text of a group is `axis 2 of 48 inputs past.{0..47}.key`.
    """
    rows = group_rows((place.value, place.kind, f"axis {place.axis}") for place in interface_dims)
    return [
        f"{axis} of {f'{row.count} {kind}s' if row.numbers else f'the {kind}'} {name}"
        for row in rows
        for name, kind, axis in [row.cells]
    ]


def _kind(symbol: SymbolExplanation) -> str:
    if symbol.cause is not None:
        return (
            "a generated symbol: the size depends on data"
            if symbol.cause.data_dependent
            else ("a generated symbol: the size could not be inferred")
        )
    is_input = any(place.kind == "input" for place in symbol.interface_dims)
    return "a dim of the inputs" if is_input or not symbol.interface_dims else "a dim of the declared outputs"


def _created_at(cause: Cause) -> str:
    return f"node {cause.node}" + (f", {cause.op_type}" if cause.op_type else "")


def _bounds(symbol: SymbolExplanation) -> str:
    """The bounds of a symbol as text, with their reason.

    `1 <= seq <= 512, as declared`, `seq >= 1 in every run that does not fail`, `seq >= 0, as all sizes are`
    """
    bounds = symbol.bounds
    text = f"{symbol.symbol} >= {bounds.lo or 0}"
    if bounds.hi is not None:
        text = f"{bounds.lo or 0} <= {symbol.symbol} <= {bounds.hi}"
    if bounds == symbol.declared:
        return f"{text}, {'as all sizes are' if (bounds.lo or 0, bounds.hi) == (0, None) else 'as declared'}"
    return f"{text} in every run that does not fail"


def _uses(symbol: SymbolExplanation) -> list[str]:
    """Two texts: the number of tensors that use the symbol, and the names of some; `by no tensor` if there are none."""
    if not symbol.examples:
        return ["by no tensor"]
    shapes = f"in the shapes of {count(symbol.shapes, 'tensor')}" if symbol.shapes else ""
    elements = f"in the elements of {count(symbol.elements, 'tensor')}" if symbol.elements else ""
    more = ["..."] if max(symbol.shapes, symbol.elements) > len(symbol.examples) else []
    return [" and ".join(filter(None, (shapes, elements))), ", ".join([*symbol.examples, *more])]


def _required_by(line: Line) -> str:
    more = f" and {count(len(line.nodes) - 1, 'more node')}" if len(line.nodes) > 1 else ""
    where = f"{line.nodes[0]}{more}" if line.nodes else "the file"
    return f"({where})" if line.tight else f"({where}; sufficient, not necessary)"


def explanations_text(report: ExplanationsReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer explain` for tensors and symbols."""
    parts = [
        symbol_text(e, view) if isinstance(e, SymbolExplanation) else tensor_text(e, view) for e in report.explanations
    ]
    lines = [line for part in parts for line in ("", *part)][1:]
    return [*lines, "", f"... {count(report.omitted, 'more tensor')}: --all"] if report.omitted else lines


def explanations_json(report: ExplanationsReport) -> dict[str, Json]:
    """The JSON object of a single tensor or symbol, or for several an object with a list of these objects."""
    found = [symbol_json(e) if isinstance(e, SymbolExplanation) else _tensor_json(e) for e in report.explanations]
    if len(found) == 1 and not report.omitted:
        return found[0]
    explanations: list[Json] = [*found]
    return {"schema": SCHEMA, "explanations": explanations, "omitted": report.omitted}


def _tensor_json(explanation: Explanation) -> dict[str, Json]:
    return explanation_json(ExplanationReport(explanation, explanation.model))


def symbol_json(symbol: SymbolExplanation) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "symbol": symbol.symbol,
        "interface_dims": [{"kind": p.kind, "name": p.value, "axis": p.axis} for p in symbol.interface_dims],
        "cause": None if symbol.cause is None else cause_json(symbol.cause),
        "equals": None if symbol.equals is None else dim_json(symbol.equals),
        "lower": symbol.bounds.lo or 0,
        "upper": symbol.bounds.hi,
        "declared": {"lower": symbol.declared.lo or 0, "upper": symbol.declared.hi},
        "contract_lines": [
            {"text": line.text, "tight": line.tight, "nodes": list(line.nodes)} for line in symbol.contract_lines
        ],
        "assumptions": [assumption_json(a) for a in symbol.assumptions],
        "uses": {"shapes": symbol.shapes, "elements": symbol.elements, "examples": list(symbol.examples)},
        "suggestions": list(symbol.suggestions),
        "rename": symbol.rename or None,
    }


def _suggestions(suggestions: tuple[str, ...]) -> list[str]:
    """Lines for suggestions, the first after `known with`, the others after `or`.

    A suggestion that starts with `only` comes last, because it states that no option makes the fact known.
    """
    only = [f"      {text}" for text in suggestions if text.startswith("only")]
    ways = [text for text in suggestions if not text.startswith("only")]
    lines = [f"      {'known with' if i == 0 else '        or'} {text}" for i, text in enumerate(ways)]
    return list(map(printable, lines + only))


def _chain(step: Link, level: int) -> Iterator[str]:
    indent = "  " * level
    if step.skipped_nodes:
        dims = ", ".join(map(str, step.relevant)) if step.facet is Facet.SHAPE else "elements"
        yield printable(f"{indent}... {count(step.skipped_nodes, 'node')} that only forward {dims or 'dims'}")
    shape = _gathered_shape(step)
    if shape is None:
        yield _line(indent, step, _facts(step))
    else:
        yield _line(indent, step, f"Shape({shape.operands[0].name}){_index(step)} = {_elements(step.value)}")
        step = replace(step, sources=shape.sources, truncated=shape.truncated)
        if [(s.origin, s.skipped_nodes) for s in step.sources] == [(Definition.INPUT, 0)]:
            return  # the line already names the input
    if step.truncated:
        yield f"{indent}  ..."
    for source in step.sources:
        yield from _chain(source, level + 1)


def _line(indent: str, step: Link, facts: str) -> str:
    match step.origin:
        case Definition.NODE:
            domain = f"{step.domain}." if step.domain else ""
            text = f"{domain + step.op_type:<{_OPERATOR - 1}} {step.node!s:<16}   {facts}".rstrip()
        case Definition.BODY_INPUT:
            body = f"of a body of {step.op_type} {step.node}"
            text = f"{'input':<{_OPERATOR - 1}} {step.name:<16}   {_type(step.value)}, {body}"
        case _:
            text = f"{step.origin.value:<{_OPERATOR - 1}} {step.name:<16}   {_type(step.value)}"
    if step.new_symbols:
        text += f"   generates {', '.join(step.new_symbols)}"
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
    """The step of the Shape if `step` is a Gather from a Shape by a constant index; else None."""
    if step.op_type != "Gather" or step.domain or len(step.sources) != 1 or len(step.operands) != 2:
        return None
    source, index = step.sources[0], step.operands[1].value
    constant = isinstance(index, SymbolicTensor) and index.only_element is not None
    is_shape = source.op_type == "Shape" and not source.domain and not source.skipped_nodes and not source.repeated
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
        value = value.with_(values=None)  # float elements do not affect shapes
    return printable(str(value))


def explanation_json(report: ExplanationReport) -> dict[str, Json]:
    explanation = report.explanation
    unknown_because = explanation.unknown_because
    return {
        "schema": SCHEMA,
        "scope": explanation.scope,
        "name": explanation.name,
        "type": type_json(explanation.value),
        "axes": axes_json(explanation.axes),
        "independence": None if explanation.independence is None else independence_json(explanation.independence),
        "step": _step_json(explanation.step),
        "unknowns": [
            {"symbol": u.symbol, **cause_json(u.cause), "suggestions": list(u.suggestions)}
            for u in explanation.unknowns
        ],
        "suggestions": list(explanation.suggestions),
        "unknown_because": None
        if unknown_because is None
        else {"node": str(unknown_because.node), "op_type": unknown_because.op_type, "reason": unknown_because.reason},
        "assumptions": [assumption_json(a) for a in explanation.assumptions],
        "constraints": [constraint_json(c) for c in explanation.constraints],
        "trusted_annotations": [trusted_annotation_json(b) for b in explanation.trusted_annotations],
        "diagnostics": [diagnostic_json(d) for d in explanation.findings],
    }


def _step_json(step: Link) -> Json:
    return {
        "facet": step.facet.value,
        "relevant": [dim_json(d) for d in step.relevant],
        "scope": step.scope,
        "name": step.name,
        "type": type_json(step.value),
        "origin": step.origin.value,
        "node": "" if step.node is None else str(step.node),
        "op_type": step.op_type,
        "domain": step.domain,
        "operands": [
            {"label": o.label, "name": o.name, "type": type_json(o.value), "expanded": o.expanded}
            for o in step.operands
        ],
        "new_symbols": list(step.new_symbols),
        "skipped_nodes": step.skipped_nodes,
        "repeated": step.repeated,
        "truncated": step.truncated,
        "sources": [_step_json(s) for s in step.sources],
    }


def code_text(code: str, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer explain GI301`."""
    severity, meaning = CODES[code]
    texts = (f"{severity}[{code}]: {meaning}", f"  {group_of(code)}", f"  {ADVICE[code]}")
    return [line for text in texts for line in fitted(text, view.width, "    ")]


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
