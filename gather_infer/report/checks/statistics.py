"""Number of findings and files for each code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gather_infer.checks.result import CheckResult
from gather_infer.diagnostic import CODES, Severity
from gather_infer.report.json import Json
from gather_infer.report.layout import count, fitted

_ORDER = list(Severity)


@dataclass(frozen=True, slots=True)
class CodeCount:
    """The number of findings with a code and severity, and the number of files that have them."""

    code: str
    severity: Severity
    findings: int
    files: int

    def json(self) -> dict[str, Json]:
        return {"code": self.code, "severity": str(self.severity), "findings": self.findings, "files": self.files}


def statistics_of(results: Iterable[CheckResult]) -> list[CodeCount]:
    """A row for each code and severity, by descending severity, then by frequency."""
    findings: Counter[tuple[str, Severity]] = Counter()
    files: Counter[tuple[str, Severity]] = Counter()
    for result in results:
        found = [(d.code, d.severity) for d in result.diagnostics]
        findings.update(found)
        files.update(set(found))
    rows = [CodeCount(code, severity, findings[code, severity], files[code, severity]) for code, severity in findings]
    return sorted(rows, key=lambda row: (_ORDER.index(row.severity), -row.findings, row.code))


def statistics_text(results: Iterable[CheckResult], width: int | None) -> list[str]:
    """A line for each code and severity: `12  error    GI301  in 3 files  a constant index is out of bounds`."""
    rows = statistics_of(results)
    most = max((len(str(row.findings)) for row in rows), default=0)
    files = max((len(count(row.files, "file")) for row in rows), default=0)
    lines: list[str] = []
    for row in rows:
        head = f"{row.findings:>{most}}  {row.severity!s:<7}  {row.code}  in {count(row.files, 'file'):<{files}}  "
        lines += fitted(f"{head}{CODES[row.code][1]}", width, " " * (most + 2))
    return lines
