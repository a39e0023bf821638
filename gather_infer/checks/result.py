"""What the checks of one model found: small, and fit to travel between processes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from gather_infer.diagnostic import Diagnostic, Severity, tally

UNREADABLE, LOST, UNFIT = "GI001", "GI002", "GI003"
"""Codes of a model that was not checked: no model, one that ended its process, one that what was said does not fit."""

Key: TypeAlias = tuple[str, str, str, str, str]
"""File, code, operator, node, value."""

_POSITION = re.compile(r"#\d+")
_RANKS = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


def reaches(severity: Severity, least: Severity) -> bool:
    """Whether a finding of this severity weighs as much as `least`."""
    return _RANKS[severity] >= _RANKS[least]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the checks of one model found.

    model        what the file is called
    diagnostics  all findings, the heaviest first, else in the order of the model
    accesses     how many accesses by index have which verdict, by its name; a verdict that none has is missing
    contract     what has to hold of the inputs, line by line, each with the nodes that demand it
    unused       names that were given for dims and inputs and that the model does not have
    seconds      how long it took
    """

    model: str
    diagnostics: tuple[Diagnostic, ...] = ()
    accesses: Mapping[str, int] = field(default_factory=dict)
    contract: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"<CheckResult of {self.model}: {tally(self.diagnostics) or 'clean'}>"

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
        """False for a file that is no model, or that could not be checked."""
        return not any(d.code in (UNREADABLE, LOST, UNFIT) for d in self.diagnostics)

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """The findings of one severity."""
        return tuple(d for d in self.diagnostics if d.severity is severity)

    def at_least(self, severity: Severity) -> tuple[Diagnostic, ...]:
        """The findings that weigh as much as `severity`, or more."""
        return tuple(d for d in self.diagnostics if reaches(d.severity, severity))

    def only(self, is_kept: Callable[[Diagnostic], bool]) -> CheckResult:
        """The result with some of its findings. That a model was not checked is always told."""
        kept = (d for d in self.diagnostics if d.code in (UNREADABLE, LOST, UNFIT) or is_kept(d))
        return replace(self, diagnostics=tuple(kept))

    def exit_code(self, fail_on: Severity = Severity.ERROR) -> int:
        """0 clean, 1 findings of that weight, 2 what was said does not fit, 3 unreadable, 4 it ended its process."""
        codes = {d.code for d in self.diagnostics}
        for code, exit_code in ((LOST, 4), (UNREADABLE, 3), (UNFIT, 2)):
            if code in codes:
                return exit_code
        return 1 if self.at_least(fail_on) else 0


def ordered(diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The heaviest first, each once."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=lambda d: -_RANKS[d.severity]))


def key_of(finding: Diagnostic, model: str) -> Key:
    """What a finding is known by, when a model is edited a little: positions and messages are no part of it.

    model   what the file is called
    """
    where = finding.location
    node = where.graph if where.node is None else str(where.node)
    value = where.value.removeprefix("input ").removeprefix("output ")
    operator = f"{where.domain}.{where.op_type}" if where.domain else where.op_type
    return model, finding.code, operator, _POSITION.sub("", node), value


def fingerprint(finding: Diagnostic, model: str) -> str:
    """The same as a text of fixed length, for forms that want one."""
    return hashlib.sha256("\0".join(key_of(finding, model)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
