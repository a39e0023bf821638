"""The result of checking one model: small, and cheap to send between processes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity, severity_counts

UNREADABLE, CRASHED, CONTRADICTED = "GI001", "GI002", "GI003"
"""Codes of a model that was not checked: unreadable, crashed its process, contradicts the given constraints."""

Key: TypeAlias = tuple[str, str, str, str, str]
"""Identity of a finding: file, code, operator, node, value."""

_POSITION = re.compile(r"#\d+")
_RANKS = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


def reaches(severity: Severity, threshold: Severity) -> bool:
    """Whether `severity` is `threshold` or higher."""
    return _RANKS[severity] >= _RANKS[threshold]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of one model, with a summary of its index accesses and its contract.

    model        name of the file
    diagnostics  all findings, by descending severity, then in model order
    accesses     number of index accesses by verdict; a verdict without accesses is missing
    contract     the lines of the contract, each with the nodes that require it
    unused       names in the given constraints that are neither inputs nor input dims of the model
    seconds      duration of the check
    illustrations  contract and graphs for a report as HTML, as JSON; "" if they were not requested
    """

    model: str
    diagnostics: tuple[Diagnostic, ...] = ()
    accesses: Mapping[str, int] = field(default_factory=dict)
    contract: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    seconds: float = 0.0
    illustrations: str = field(default="", repr=False)

    def __repr__(self) -> str:
        return f"<CheckResult of {self.model}: {severity_counts(self.diagnostics) or 'clean'}>"

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.WARNING)

    @property
    def notes(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.NOTE)

    @property
    def was_checked(self) -> bool:
        """False for a file that is unreadable or could not be checked."""
        return not any(d.code in (UNREADABLE, CRASHED, CONTRADICTED) for d in self.diagnostics)

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """The findings of one severity."""
        return tuple(d for d in self.diagnostics if d.severity is severity)

    def at_least(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """The findings of `severity` or higher."""
        return tuple(d for d in self.diagnostics if reaches(d.severity, severity))

    def only(self, is_kept: Callable[[Diagnostic], bool]) -> CheckResult:
        """A copy with the findings that `is_kept` accepts, and with all of GI001 to GI003 (model not checked)."""
        kept = (d for d in self.diagnostics if d.code in (UNREADABLE, CRASHED, CONTRADICTED) or is_kept(d))
        return replace(self, diagnostics=tuple(kept))

    def exit_code(self, fail_on: Severity = Severity.ERROR) -> int:
        """4 if the check crashed, 3 if the model is unreadable, 2 if the given constraints contradict the model.

        Otherwise 1 if there are findings of `fail_on` or higher, else 0.
        """
        codes = {d.code for d in self.diagnostics}
        for code, exit_code in ((CRASHED, 4), (UNREADABLE, 3), (CONTRADICTED, 2)):
            if code in codes:
                return exit_code
        return 1 if self.at_least(fail_on) else 0


def ordered(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings by descending severity, without duplicates."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=lambda d: -_RANKS[d.severity]))


def key_of(finding: Diagnostic, model: str) -> Key:
    """The identity of a finding across small edits of the model: it contains neither positions nor the message.

    model   name of the file
    """
    where = finding.location
    node = where.graph if where.node is None else str(where.node)
    value = where.value.removeprefix("input ").removeprefix("output ")
    operator = f"{where.domain}.{where.op_type}" if where.domain else where.op_type
    return model, finding.code, operator, _POSITION.sub("", node), value


def fingerprint(finding: Diagnostic, model: str) -> str:
    """A hash of `key_of`, for output formats that need an identifier of fixed length."""
    return hashlib.sha256("\0".join(key_of(finding, model)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
