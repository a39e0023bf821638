"""Findings as SARIF 2.1.0, for code scanning tools (https://docs.oasis-open.org/sarif/sarif/v2.1.0/)."""

from __future__ import annotations

from gather_infer import __version__
from gather_infer.checks.result import CheckResult, fingerprint
from gather_infer.diagnostic import ADVICE, CODES, Diagnostic, Severity, group_of
from gather_infer.report.checks.files import uri_of
from gather_infer.report.json import Json
from gather_infer.report.output_formats import CheckReport

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"


def checks_sarif(report: CheckReport) -> dict[str, Json]:
    """One SARIF run with all files; its rules are the codes of the findings."""
    used = {finding.code for result in report.results for finding in result.diagnostics}
    codes = [code for code in CODES if code in used]
    positions = {code: position for position, code in enumerate(codes)}
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gather-infer",
                        "version": __version__,
                        "rules": [_rule(c) for c in codes],
                    }
                },
                "invocations": [
                    {
                        "executionSuccessful": all(result.was_checked for result in report.results),
                        "exitCode": report.exit_code,
                    }
                ],
                "artifacts": [
                    {"location": {"uri": uri_of(result.model)}, "roles": ["analysisTarget"]}
                    for result in report.results
                ],
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(finding, positions[finding.code], result, number)
                    for number, result in enumerate(report.results)
                    for finding in result.diagnostics
                ],
            }
        ],
    }


def _rule(code: str) -> Json:
    severity, meaning = CODES[code]
    return {
        "id": code,
        "shortDescription": {"text": _sentence(meaning)},
        "fullDescription": {"text": f"{_sentence(meaning)} {ADVICE[code]}"},
        "help": {"text": ADVICE[code], "markdown": f"**{_sentence(meaning)}**\n\n{ADVICE[code]}"},
        "defaultConfiguration": {"level": _level(severity)},
        "properties": {"tags": [group_of(code)]},
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _result(finding: Diagnostic, rule: int, result: CheckResult, artifact: int) -> Json:
    where = finding.location
    physical: dict[str, Json] = {
        "artifactLocation": {"uri": uri_of(result.model), "index": artifact},
        # a model has no lines, but some viewers require a region
        "region": {"startLine": 1, "startColumn": 1},
    }
    location: dict[str, Json] = {"physicalLocation": physical, "message": {"text": str(where)}}
    logical = _logical(finding)
    if logical:
        location["logicalLocations"] = logical
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _level(finding.severity),
        "message": {"text": "\n".join((finding.message, *finding.detail))},
        "locations": [location],
        "partialFingerprints": {"gatherInfer/v1": fingerprint(finding, uri_of(result.model))},
    }


def _logical(finding: Diagnostic) -> list[Json]:
    """Logical locations: the path of the node through subgraphs and functions, and the value."""
    where = finding.location
    found: list[Json] = []
    path = where.graph if where.node is None else str(where.node)
    if path:
        name = path.rsplit("/", 1)[-1] or path
        found.append(
            {"name": name, "fullyQualifiedName": path, "kind": "member" if where.node is not None else "module"}
        )
    if where.value:
        full = f"{path}:{where.value}" if path else where.value
        found.append({"name": where.value, "fullyQualifiedName": full, "kind": "variable"})
    return found


def _level(severity: Severity) -> str:
    """The SARIF level of a severity; SARIF uses the same three names."""
    return str(severity)
