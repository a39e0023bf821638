"""Findings as JSON; docs/json.md describes the schema."""

from __future__ import annotations

import json

from gather_infer.checks.result import CheckResult, reaches
from gather_infer.diagnostic import Severity
from gather_infer.report.accesses import KINDS
from gather_infer.report.checks.statistics import statistics_of
from gather_infer.report.json import SCHEMA, Json, diagnostic_json
from gather_infer.report.output_formats import CheckReport, FileReport


def checks_json(report: CheckReport) -> dict[str, Json]:
    """All findings of all files as one JSON object; `fails` marks the files that fail the run."""
    return {
        "schema": SCHEMA,
        "exit_code": report.exit_code,
        "fail_on": str(report.fail_on),
        "accepted": report.accepted,
        "outdated": report.outdated,
        "statistics": _statistics(report) if report.statistics else None,
        "models": [_result_json(result, report.fail_on) for result in report.results],
    }


def _statistics(report: CheckReport) -> list[Json]:
    return [row.json() for row in statistics_of(report.results)]


def check_jsonl(report: FileReport) -> list[str]:
    """All findings of one file, as one line of JSON."""
    return [json.dumps({"schema": SCHEMA, **_result_json(report.result, report.fail_on)}, allow_nan=False)]


def checks_jsonl(report: CheckReport) -> list[str]:
    """An empty list: the lines of `check_jsonl` contain all files."""
    return []


def _result_json(result: CheckResult, fail_on: Severity) -> dict[str, Json]:
    return {
        "name": result.model,
        "checked": result.was_checked,
        "fails": not result.was_checked or any(reaches(d.severity, fail_on) for d in result.diagnostics),
        "seconds": round(result.seconds, 3),
        "accesses": {kind: result.accesses.get(kind, 0) for kind in KINDS},
        "contract": [{"text": text, "nodes": nodes} for text, nodes in result.contract],
        "diagnostics": [diagnostic_json(finding) for finding in result.diagnostics],
    }
