"""Findings as text: what is found in the same words at many places is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.report.forms import PLAIN, View
from gather_infer.report.layout import count, fitted, printable

LEAST: Final = 4
"""Findings in the same words that are told as one, at least."""

MOST: Final = 50
"""Findings of one code that are told of a file, one by one, before how many more there are."""

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def findings_text(diagnostics: Sequence[Diagnostic], file: str, view: View = PLAIN) -> list[str]:
    """The findings below a report: `diagnostics_text` without what stands at the outputs, after an empty line."""
    findings = diagnostics_text([d for d in diagnostics if d.code != "GI203"], file, view)
    return ["", *findings] if findings else []


def diagnostics_text(diagnostics: Sequence[Diagnostic], file: str, view: View = PLAIN) -> list[str]:
    """Errors first, then warnings, then notes; a last line counts errors and warnings when there are any.

    A verbose one has also those in the same words, each at its place.
    """
    ordered = sorted(diagnostics, key=lambda d: _ORDER[d.severity])
    lines = told_lines(ordered, file, view)
    total = findings_count(diagnostics)
    return [*lines, total] if total else lines


def told_lines(diagnostics: Sequence[Diagnostic], file: str, view: View = PLAIN) -> list[str]:
    """The lines of findings, in their order; a verbose view has all of them, another one the first of many."""
    if view.verbose:
        return [line for finding in diagnostics for line in finding_lines(finding, file, 0, view.width)]
    lines: list[str] = []
    number: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for finding, more in _gathered(diagnostics):
        number[finding.code] += 1
        if number[finding.code] > MOST:
            left[finding.code] += 1 + more
        else:
            lines += finding_lines(finding, file, more, view.width)
    return [*lines, *(f"... {number} more of {code}: -v" for code, number in left.items())]


def _gathered(diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[Diagnostic, int]]:
    """The findings, of many in the same words the first one, and how many more there are."""
    ordered = list(diagnostics)
    number = Counter((d.severity, d.code, d.message) for d in ordered)
    told: set[tuple[Severity, str, str]] = set()
    for finding in ordered:
        key = finding.severity, finding.code, finding.message
        if number[key] < LEAST:
            yield finding, 0
        elif key not in told:
            told.add(key)
            yield finding, number[key] - 1


def finding_lines(finding: Diagnostic, file: str, more: int = 0, width: int | None = None) -> list[str]:
    """The lines of a finding, which `more` others are like; what does not fit goes on below itself."""
    lines = finding.parts(file)
    if more:
        lines.append(f"   |  and {more} more like it: -v")
    return [
        part
        for line in map(printable, lines)
        for part in fitted(line, width, "   |    " if line.startswith("   |") else "      ")
    ]


def findings_count(diagnostics: Sequence[Diagnostic]) -> str:
    """`1 error, 2 warnings`; empty when there is neither."""
    errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    warnings = sum(d.severity is Severity.WARNING for d in diagnostics)
    parts = [count(n, noun) for n, noun in ((errors, "error"), (warnings, "warning")) if n]
    return ", ".join(parts)
