"""Findings as text: those of each file, then the totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gather_infer.diagnostic import Severity
from gather_infer.report.accesses import accesses_count
from gather_infer.report.checks.statistics import statistics_text
from gather_infer.report.findings import condensed_lines, findings_count
from gather_infer.report.layout import count, fitted, printable
from gather_infer.report.output_formats import PLAIN, CheckReport, FileReport, View


def check_text(report: FileReport, view: View = PLAIN) -> list[str]:
    """The output of `gather-infer check` for one file: findings, then the contract, or among several files a summary.

    A verbose view adds notes, and the contract of each file.
    """
    result = report.result
    name = printable(result.model)
    with_notes = view.verbose or report.fail_on is Severity.NOTE
    shown = [d for d in result.diagnostics if with_notes or d.severity is not Severity.NOTE]
    lines = condensed_lines(shown, result.model, view)
    if not result.was_checked:
        return lines
    if result.contract and (report.is_alone or view.verbose):
        lines += [*fitted(f"contract of {name}", view.width, "  "), *_contract(result.contract, view.width)]
    if not report.is_alone:
        found = findings_count(result.diagnostics) or "clean"
        accesses = f"; {accesses_count(result.accesses)}" if result.accesses else ""
        return [*lines, *fitted(f"{name}: {found}{accesses}", view.width, "  ")]
    return [*lines, accesses_count(result.accesses)] if result.accesses else lines


def checks_text(report: CheckReport, view: View = PLAIN) -> list[str]:
    """The last lines of `gather-infer check`: statistics if requested, then the totals over all files."""
    results = report.results
    found = [d for result in results for d in result.diagnostics]
    total = findings_count(found) or "no errors, no warnings"
    if report.fail_on is Severity.NOTE:
        notes = sum(d.severity is Severity.NOTE for d in found)
        total += f", {count(notes, 'note')}"
    files = "" if len(results) == 1 else f"{count(len(results), 'file')}: "
    took = "" if view.seconds is None else f" in {view.seconds:.2f} s"
    known = f", {report.accepted} accepted by the baseline" if report.accepted else ""
    lines = [f"{files}{total}{known}{took}"]
    rows = statistics_text(results, view.width) if report.statistics else []
    codes = list(dict.fromkeys(d.code for d in found if d.severity is not Severity.NOTE))
    if codes:
        hint = f"gather-infer explain {codes[0]}"
        room = (view.width or 100) - len(lines[0])
        if room > len(hint) + 3:
            lines[0] += hint.rjust(
                min(room, 100 - len(lines[0])) if 100 - len(lines[0]) > len(hint) + 3 else len(hint) + 3
            )
        else:
            lines.append(f"  {hint}")
    if report.outdated:
        many, verb, them = ("findings", "occur", "them") if report.outdated > 1 else ("finding", "occurs", "it")
        lines.append(
            f"the baseline has {report.outdated} {many} that no longer {verb}: --write-baseline removes {them}"
        )
    return [*rows, *lines]


def _contract(contract: Sequence[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Lines such as `0 <= input_ids < 30522   /emb/word/Gather`; nodes that do not fit are on the next line."""
    rows = [(printable(text), printable(nodes)) for text, nodes in contract]
    room = min(max(len(text) for text, _ in rows), 44)
    for text, nodes in rows:
        line = f"  {text:<{room}}   {nodes}"
        if width is None or len(line) <= width:
            yield line
        else:
            yield from fitted(f"  {text}", width, "      ")
            yield from fitted(f"      {nodes}", width, "      ")
