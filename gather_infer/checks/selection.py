"""Selection of findings by code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gather_infer.checks.result import CheckResult
from gather_infer.diagnostic import CODES, Diagnostic, codes_near
from gather_infer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects findings by codes or prefixes of codes: `GI301`, `GI3`.

    select   report only these; all codes if empty
    ignore   do not report these. The longest matching prefix decides: select GI301 and ignore GI3 reports GI301
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def has(self, finding: Diagnostic) -> bool:
        wanted = max((len(c) for c in self.select if finding.code.startswith(c)), default=-1 if self.select else 0)
        unwanted = max((len(c) for c in self.ignore if finding.code.startswith(c)), default=-1)
        return wanted > unwanted

    def of(self, result: CheckResult) -> CheckResult:
        """`result` with the selected findings only."""
        return result.only(self.has) if self.select or self.ignore else result


def read_codes(texts: Iterable[str], option: str) -> tuple[str, ...]:
    """The codes and prefixes in texts such as `gi3,GI101`, in upper case.

    Raises UsageError, naming `option`, for an entry with which no code begins.
    """
    codes: list[str] = []
    for text in texts:
        for entry in map(str.strip, text.split(",")):
            if not entry:
                raise UsageError(f"{option} must read CODE,CODE, found {text!r}")
            if not any(known.startswith(entry.upper()) for known in CODES):
                raise UsageError(f"{option}: no code begins with {entry!r}{_hint(entry)}")
            codes.append(entry.upper())
    return tuple(codes)


def _hint(entry: str) -> str:
    several = entry.split()
    if len(several) > 1 and all(any(known.startswith(code.upper()) for known in CODES) for code in several):
        return f"; codes are joined by commas: {','.join(several)}"
    return codes_near(entry)
