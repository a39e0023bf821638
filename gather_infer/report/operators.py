"""Supported operators as tables, JSON and a page of the documentation."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from gather_infer.catalog.coverage import Behaviour, FactSource, Operator
from gather_infer.report.json import SCHEMA, Json
from gather_infer.report.layout import Column, count, fitted, table
from gather_infer.report.output_formats import PLAIN, View

PACKAGE = "gather_infer"


def operators_text(operators: Sequence[Operator], view: View = PLAIN) -> list[str]:
    """The output of `gather-infer ops`: a table for each domain; a verbose view prints each behaviour instead."""
    if view.verbose:
        return operator_text(operators)
    lines: list[str] = []
    for domain, found in groupby(operators, lambda operator: operator.domain):
        columns = (Column(domain or "ai.onnx"), *map(Column, ("since", "facts from", "values", "value ranges")))
        lines += [*table(columns, [_row(o, o.op_type) for o in found], indent="", width=view.width), ""]
    return [*lines, *fitted(_total(operators), view.width, "  ")]


def operator_text(operators: Sequence[Operator], view: View = PLAIN) -> list[str]:
    """The output of `gather-infer ops OP`: each behaviour of the operators with one name."""
    lines: list[str] = []
    for operator in operators:
        deprecated = ", deprecated" if operator.deprecated else ""
        lines.append(f"{operator.op_type}   {operator.domain or 'ai.onnx'}{deprecated}")
        for behaviour in operator.behaviours:
            texts = (_inferred(behaviour), _summary(behaviour), _known_elements(behaviour), behaviour.spec)
            shown = [line for text in texts if text for line in _wrapped(text, view.width)]
            lines += [f"  {f'since {behaviour.since}' if i == 0 else '':<10}{line}" for i, line in enumerate(shown)]
    return lines


def _wrapped(text: str, width: int | None) -> list[str]:
    if width is None:
        return [text]
    return textwrap.wrap(text, max(width - 12, 40), break_long_words=False, break_on_hyphens=False)


def _summary(behaviour: Behaviour) -> str:
    """The summary from the docstring of a rule or lowering.

    Names of OpenVINO pages at the start are removed, because the URL of the page follows in the output.
    """
    if behaviour.source is not FactSource.LOWERING or not behaviour.summary:
        return behaviour.summary
    rest = _PAGES.sub("", behaviour.summary, count=1)
    if not rest.strip(". "):
        return ""
    return f"Conversion: {rest if _BEGINS.match(rest) else behaviour.summary}"


def _inferred(behaviour: Behaviour) -> str:
    where = f", in {PACKAGE}/{behaviour.file}" if behaviour.file else ""
    return f"{_INFERRED[behaviour.source]}{where}."


def operators_markdown(operators: Sequence[Operator]) -> Iterator[str]:
    """The lines of the tables in docs/operators.md."""
    for domain, found in groupby(operators, lambda operator: operator.domain):
        yield f"\n## {domain or 'ai.onnx'}\n"
        yield "| operator | since | facts from | values | value ranges |"
        yield "|---|---|---|---|---|"
        for operator in found:
            link = f"[{operator.op_type}]({operator.newest.spec})" if operator.newest.spec else operator.op_type
            yield f"| {' | '.join(_row(operator, link))} |"
    yield f"\n{_total(operators)}."


def operators_json(operators: Sequence[Operator]) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "operators": [
            {
                "domain": o.domain,
                "op_type": o.op_type,
                "deprecated": o.deprecated,
                "behaviours": [
                    {
                        "since": b.since,
                        "source": b.source.value,
                        "values": b.values,
                        "value_ranges": b.value_ranges,
                        "summary": b.summary,
                        "spec": b.spec,
                        "file": b.file,
                    }
                    for b in o.behaviours
                ],
            }
            for o in operators
        ],
    }


def _row(operator: Operator, name: str) -> tuple[str, ...]:
    """The cells of an operator: `name`, versions, sources of the facts, and support by the newest behaviour."""
    sources = list(dict.fromkeys(b.source for b in operator.behaviours))
    since = ", ".join(str(b.since) for b in operator.behaviours)
    shown = sources[-1].value if len(sources) == 1 else f"{sources[-1].value}, before {sources[0].value}"
    newest = operator.newest
    deprecated = ", deprecated" if operator.deprecated else ""
    return name, since, shown + deprecated, _support(newest.values), _support(newest.value_ranges)


def _support(known: bool | None) -> str:
    return "as its body" if known is None else "yes" if known else ""


def _known_elements(behaviour: Behaviour) -> str:
    if behaviour.values is None:
        return "Its bodies decide whether elements and value ranges are known."
    match behaviour.values, behaviour.value_ranges:
        case True, True:
            return "Elements and value ranges of the results are known where those of the inputs are."
        case True, _:
            return "Elements of the results are known where those of the inputs are."
        case _, True:
            return "Value ranges of the results are known."
    return "Elements and value ranges of the results are unknown."


def _total(operators: Sequence[Operator]) -> str:
    sources = Counter(operator.newest.source for operator in operators)
    parts = [f"{sources[s]} {_WORDS[s]}" for s in FactSource if sources[s]]
    return f"{count(len(operators), 'operator')}: {', '.join(parts)}"


_PAGE = r"(?:[a-z]+/)?(?:\{[a-z0-9,-]+\}|[a-z0-9]+(?:-[a-z0-9]+)*)-\d+(?=[\s.:;,]|$)"
_PAGES = re.compile(rf"^{_PAGE}(?:(?:, | and |, and ){_PAGE})*(?: and the like)?[\s,:;]*")
"""Names of OpenVINO's pages at the start of a lowering's docstring: `arithmetic/cos-1 and the like; `"""
_BEGINS = re.compile(r"[`\[\w](?!nd |here )")
_WORDS = {
    FactSource.INTERPRETER: "by the interpreter",
    FactSource.RULE: "by a built-in rule",
    FactSource.LOWERING: "by a lowering",
    FactSource.FUNCTION: "by their function body",
    FactSource.ONNX: "by onnx's shape inference",
    FactSource.NONE: "unknown",
}
_INFERRED = {
    FactSource.INTERPRETER: "The interpreter infers it",
    FactSource.RULE: "A built-in rule infers it",
    FactSource.LOWERING: "It is inferred from the ONNX nodes that it is lowered to",
    FactSource.FUNCTION: "It is inferred from its function body",
    FactSource.ONNX: "onnx infers its element type and rank, and its sizes where all of them are static",
    FactSource.NONE: "No rule infers it: the types of its results are unknown",
}
