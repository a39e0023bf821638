"""Findings as text; findings with the same message at many places are merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, View

MIN_MERGED: Final = 4
"""Minimum number of findings with the same message that are merged."""

MAX_PER_CODE: Final = 50
"""Maximal number of printed findings of one code in a file; a last line counts the others."""

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def findings_text(diagnostics: Sequence[Diagnostic], file: str, view: View = PLAIN) -> list[str]:
    """Lines for the findings below a report, after an empty line, without GI203, which is printed at the outputs."""
    findings = diagnostics_text([d for d in diagnostics if d.code != "GI203"], file, view)
    return ["", *findings] if findings else []


def diagnostics_text(diagnostics: Sequence[Diagnostic], file: str, view: View = PLAIN) -> list[str]:
    """Lines for the findings, by descending severity; a last line counts errors and warnings if there are any.

    A verbose view does not merge findings with the same message.
    """
    ordered = sorted(diagnostics, key=lambda d: _ORDER[d.severity])
    lines = condensed_lines(ordered, file, view)
    total = findings_count(diagnostics)
    return [*lines, total] if total else lines


def condensed_lines(diagnostics: Sequence[Diagnostic], file: str, view: View = PLAIN) -> list[str]:
    """Lines for the findings in the given order.

    Unless verbose, findings with the same message are merged, and only MAX_PER_CODE findings of each code are printed.
    """
    if view.verbose:
        return [line for finding in diagnostics for line in finding_lines(finding, file, 0, view.width)]
    lines: list[str] = []
    number: Counter[str] = Counter()
    omitted: Counter[str] = Counter()
    for finding, more in _merged(diagnostics):
        number[finding.code] += 1
        if number[finding.code] > MAX_PER_CODE:
            omitted[finding.code] += 1 + more
        else:
            lines += finding_lines(finding, file, more, view.width)
    return [*lines, *(f"... {number} more of {code}: -v" for code, number in omitted.items())]


def _merged(diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[Diagnostic, int]]:
    """The findings to print, each with the number of other findings that are merged into it."""
    ordered = list(diagnostics)
    number = Counter((d.severity, d.code, d.message) for d in ordered)
    reported: set[tuple[Severity, str, str]] = set()
    for finding in ordered:
        key = finding.severity, finding.code, finding.message
        if number[key] < MIN_MERGED:
            yield finding, 0
        elif key not in reported:
            reported.add(key)
            yield finding, number[key] - 1


def finding_lines(finding: Diagnostic, file: str, more: int = 0, width: int | None = None) -> list[str]:
    """The lines of a finding, wrapped at `width`; `more` is the number of other findings merged into it."""
    lines = finding.parts(file)
    if more:
        lines.append(f"   |  and {more} more like it: -v")
    return [
        part
        for line in map(printable, lines)
        for part in fitted(line, width, "   |    " if line.startswith("   |") else "      ")
    ]


def findings_count(diagnostics: Sequence[Diagnostic]) -> str:
    """The number of errors and warnings as text: `1 error, 2 warnings`; empty if there are none."""
    errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    warnings = sum(d.severity is Severity.WARNING for d in diagnostics)
    parts = [count(n, noun) for n, noun in ((errors, "error"), (warnings, "warning")) if n]
    return ", ".join(parts)
