"""Which findings a user wants to hear of."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from gather_infer.checks.result import CheckResult
from gather_infer.diagnostic import CODES, Diagnostic
from gather_infer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Selection:
    """Codes, or their beginnings: `GI301`, `GI3`.

    select   only these; all when there are none
    ignore   but not these. Of two that name a code the longer one decides: select GI301, ignore GI3 leaves GI301
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def has(self, finding: Diagnostic) -> bool:
        wanted = max((len(c) for c in self.select if finding.code.startswith(c)), default=-1 if self.select else 0)
        unwanted = max((len(c) for c in self.ignore if finding.code.startswith(c)), default=-1)
        return wanted > unwanted

    def of(self, result: CheckResult) -> CheckResult:
        """The result with what is selected."""
        return result.only(self.has) if self.select or self.ignore else result


def read_codes(texts: Iterable[str], option: str) -> tuple[str, ...]:
    """The codes in `GI3,GI101`, each with what it begins. Raises UsageError when no code begins so."""
    codes = [code.strip().upper() for text in texts for code in text.split(",")]
    for code in codes:
        if not code or not any(known.startswith(code) for known in CODES):
            near = difflib.get_close_matches(code, CODES, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{option}: no code begins with {code!r}{hint}")
    return tuple(codes)
