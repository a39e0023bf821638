"""Enumerate the supported operators from rule sets, schemas of onnx and lowerings, without a list to maintain."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from gather_infer.catalog.coverage import Behaviour, FactSource, Operator
from gather_infer.catalog.probe import propagates
from gather_infer.dialect import DialectOp
from gather_infer.errors import UsageError, suggestion
from gather_infer.inference.op_resolution import CONTROL_FLOW
from gather_infer.inference.proto.releases import NEWEST_OPSET
from gather_infer.inference.proto.schema import Schema, schema_of, versions_of_operators
from gather_infer.model.model_loading import known_dialects
from gather_infer.ops import standard_rules
from gather_infer.rules import Rule, RuleSet
from gather_infer.versioned import VersionedTable

DOMAINS: Final = ("", "ai.onnx.ml", "com.microsoft", "openvino")
"""Domains listed first, in this order."""

_PAGE = "https://onnx.ai/onnx/operators/onnx_{domain}_{op_type}.html"
_LINK = re.compile(r"(?:https?://|onnx_)\S+?(?=[,:;)]*(?:\s|$))[,:;]*")
_WORD = re.compile(r"[a-z]+ (?!=)")
_COLUMNS = re.compile(r"\S {2,}\S")
_END = re.compile(r"(?<=\.)\s+(?=[A-Z])")
_SHORT: Final = tuple(
    (re.compile(short), long)
    for short, long in {
        r"^_.*": "",  # remainder of a link
        r"^(\w+), in the default domain\) \(": r"It is \1 in the default domain, as in ",
        r"^ONNX Runtime": "As in ONNX Runtime",
        r"^(\d+(?:(?:,| and| to) \d+)+)(: | )": r"Versions \1\2",
        r"^(\d+)(: | )": r"Version \1\2",
        r"^also ": "The same holds of ",
        r"^called ": "It is called ",
        r"^Adds ": "This version adds ",
        r"^\[": "The result is [",
    }.items()
)
"""Abbreviations at the start of rule docstrings, each with its expansion to a sentence."""

_PACKAGE = Path(__file__).parents[1]


def operators() -> list[Operator]:
    """Every operator that onnx, a rule or a dialect defines, sorted by domain (those of DOMAINS first) and name."""
    schemas = versions_of_operators()
    return [_operator(d, op, schemas.get((d, op), frozenset())) for d, op in sorted(known_names(), key=_order)]


def known_names() -> set[tuple[str, str]]:
    """Domain and op_type of every operator that `operators` returns."""
    tables: Iterable[VersionedTable[Any]] = (*standard_rules().values(), *_lowerings().values())
    return {*versions_of_operators(), *((table.domain, op_type) for table in tables for op_type in table.op_types)}


def operator_named(name: str) -> list[Operator]:
    """The operators called `name`: `Gather` matches in every domain, `com.microsoft.Gelu` in one.

    Raises UsageError, with a suggestion, when no operator matches.
    """
    schemas = versions_of_operators()
    names = known_names()
    found = [(d, op) for d, op in names if name in (op, f"{d or 'ai.onnx'}.{op}")]
    if not found:
        known = {op for _, op in names} | {f"{d}.{op}" for d, op in names if d}
        same = sorted(op for op in known if op.lower() == name.lower())
        hint = f"; did you mean {same[0]!r}?" if same else suggestion(name, known)
        raise UsageError(f"no operator {name!r}{hint}")
    return [_operator(d, op, schemas.get((d, op), frozenset())) for d, op in sorted(found, key=_order)]


@cache
def _lowerings() -> dict[str, VersionedTable[DialectOp]]:
    """Lowerings of the dialects by domain."""
    return {dialect.domain: dialect.operators() for dialect in known_dialects()}


def _order(name: tuple[str, str]) -> tuple[int, str, str]:
    domain, op_type = name
    return (DOMAINS.index(domain) if domain in DOMAINS else len(DOMAINS), domain, op_type)


def _operator(domain: str, op_type: str, since: frozenset[int]) -> Operator:
    rules = standard_rules().get(domain, RuleSet(domain))
    starts = {entry.since for entry in rules.versions(op_type)}
    lowerings = _lowerings().get(domain, VersionedTable(domain, "lowerings"))
    starts |= {known.since for known in lowerings.versions(op_type)}
    points = sorted(since | {max(s, min(since, default=s)) for s in starts})
    ranges: list[tuple[int, int, FactSource, DialectOp | None]] = []  # first version, last version, source, lowering
    last: object = None
    for version in points:
        rule, schema = rules.find(op_type, version), schema_of(op_type, version, domain)
        if schema is not None and schema.deprecated and rule is None:
            continue
        lowering = lowerings.lookup(op_type, version) if rule is None else None
        source = _source(op_type, domain, rule, schema) if lowering is None else FactSource.LOWERING
        mark = rule if source is FactSource.RULE else lowering or source
        if mark is last:
            ranges[-1] = ranges[-1][0], version, source, lowering
        else:
            ranges.append((version, version, source, lowering))
        last = mark
    behaviours = [
        _behaviour(op_type, domain, first, to, source, rules.find(op_type, to))
        if lowering is None
        else _lowered(lowering)
        for first, to, source, lowering in ranges
    ]
    newest = schema_of(op_type, NEWEST_OPSET if domain == "" else 2**31 - 1, domain)
    deprecated = newest is not None and newest.deprecated
    if not behaviours:
        behaviours = [Behaviour(points[0], FactSource.NONE, False, False)]
    return Operator(domain, op_type, tuple(behaviours), deprecated)


def _source(op_type: str, domain: str, rule: Rule | None, schema: Schema | None) -> FactSource:
    """Where the interpreter takes facts from when no lowering applies, by the precedence of its op resolution."""
    if domain == "" and op_type in CONTROL_FLOW:
        return FactSource.INTERPRETER
    if rule is not None:
        return FactSource.RULE
    if schema is None or schema.raw is None:
        return FactSource.NONE
    if schema.raw.has_function or schema.raw.has_context_dependent_function:
        return FactSource.FUNCTION
    return FactSource.ONNX if schema.raw.has_type_and_shape_inference_function else FactSource.NONE


def _behaviour(op_type: str, domain: str, first: int, to: int, source: FactSource, rule: Rule | None) -> Behaviour:
    """The behaviour from version `first` to version `to`.

    Only version `to` is probed: it allows the most element types.
    """
    schema = schema_of(op_type, to, domain)
    page = "" if schema is None else _PAGE.format(domain=domain.replace(".", ""), op_type=op_type)
    match source:
        case FactSource.INTERPRETER | FactSource.FUNCTION:
            return Behaviour(first, source, None, None, spec=page)
        case FactSource.ONNX | FactSource.NONE:
            return Behaviour(first, source, False, False, spec=page)
    assert rule is not None, "the source is a rule"
    values, ranges = propagates(rule, op_type, domain, to, schema)
    summary, link = _described(rule)
    return Behaviour(first, source, values, ranges, summary, page or link, _file(rule))


def _lowered(known: DialectOp) -> Behaviour:
    """The behaviour of an operator that a dialect lowers, or refuses to lower."""
    if known.refusal:
        return Behaviour(known.since, FactSource.NONE, False, False, _sentence(known.refusal), known.spec)
    summary, _ = _described(known.implementation)
    return Behaviour(known.since, FactSource.LOWERING, None, None, summary, known.spec, _file(known.implementation))


def _described(rule: Callable[..., object]) -> tuple[str, str]:
    """The first sentence of a rule's docstring, and the first URL in it."""
    doc = inspect.getdoc(rule) or ""
    link = next((found[0].rstrip(",:;") for found in _LINK.finditer(doc)), "")
    text = " ".join(_lines(doc)).strip(" ,:;")
    return _sentence(text[1:-1] if text.startswith("(") and text.endswith(")") else text), link


def _lines(doc: str) -> Iterator[str]:
    """Yield the lines of the first paragraph of `doc` without links; stop at a line in columns or with an arrow."""
    has_begun = False
    for line in doc.splitlines():
        text = _LINK.sub(" ", line).strip(" ,:;")
        if _COLUMNS.search(text) or "->" in text or (has_begun and not text):
            return
        if text:
            has_begun = True
            yield " ".join(text.split())


def _sentence(text: str) -> str:
    """The first sentence of `text`, with an abbreviation at its start (`_SHORT`) expanded; empty without text."""
    for short, long in _SHORT:
        text = short.sub(long, text, count=1)
    first = _END.split(text, maxsplit=1)[0].rstrip(".")
    begins = first[:1].upper() if _WORD.match(first) else first[:1]  # do not capitalize names
    return f"{begins}{first[1:]}." if first else ""


def _file(rule: Callable[..., object]) -> str:
    """Path of the file of a rule or lowering, relative to the package: `ops/onnx/gather.py`."""
    path = Path(inspect.unwrap(rule).__code__.co_filename)
    return path.relative_to(_PACKAGE).as_posix() if path.is_relative_to(_PACKAGE) else path.name
