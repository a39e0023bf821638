"""Findings as workflow commands of GitHub Actions, which become annotations of the run.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from gather_infer.checks.result import CheckResult, reaches
from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.report.checks.files import file_of
from gather_infer.report.output_formats import CheckReport, FileReport

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def check_github(report: FileReport) -> list[str]:
    """A line for each finding; notes only with `--fail-on note`, because GitHub shows ten annotations per severity."""
    result = report.result
    shown = (d for d in result.diagnostics if d.severity is not Severity.NOTE or reaches(d.severity, report.fail_on))
    return [_command(finding, result) for finding in shown]


def checks_github(report: CheckReport) -> list[str]:
    """An empty list: the lines of `check_github` contain all findings."""
    return []


def _command(finding: Diagnostic, result: CheckResult) -> str:
    title = _property(f"{finding.code} {finding.location}")
    file = "" if result.model.startswith("<") else f"file={_property(file_of(result.model))},"
    message = _data("\n".join((finding.message, *finding.detail)))
    return f"::{_COMMANDS[finding.severity]} {file}title={title}::{message}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
