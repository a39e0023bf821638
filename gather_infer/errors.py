"""Exceptions for errors of the model or of the command; internal errors are assertions."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Set

_SHELL_SPECIAL = frozenset('"$`\\!')
"""Characters that a shell interprets between double quotes."""


def shortened(text: str, limit: int = 200) -> str:
    """`text`, shortened to `limit` characters if it is longer: its beginning, `...`, and its end."""
    return text if len(text) <= limit else f"{text[: limit - 40]}...{text[-37:]}"


class GatherInferError(Exception):
    """Base of the exceptions for errors of a model or a call; `exit_code` is the exit code of the command."""

    exit_code = 2


class UsageError(GatherInferError):
    """The command or call is wrong: an unknown name, a malformed `--dim`, an output that would overwrite its input.

    If a rule of the user raised an exception, that exception is the `__cause__`.
    """


class UnknownName(UsageError, KeyError):
    """A name that does not exist; the text suggests a close match.

    what    what the name denotes, such as `tensor`
    known   the existing names
    """

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        super().__init__(what, name, tuple(known))

    def __str__(self) -> str:
        what, name, known = self.args
        return f"no {what} {name!r}{suggestion(str(name), known)}"

    def __repr__(self) -> str:
        return f"UnknownName({str(self)!r})"


class ModelReadError(GatherInferError):
    """The file cannot be read as a model: it is missing, empty, truncated, not protobuf, or lacks external data."""

    exit_code = 3


class ModelStructureError(GatherInferError):
    """The model is readable, but cannot be rewritten safely, for example because of a cycle or duplicate names."""

    exit_code = 3


class ModelWriteError(GatherInferError):
    """The output could not be written completely; no partial file remains."""

    exit_code = 3


class ConversionRefused(GatherInferError):
    """The model cannot be converted; the text lists the reasons, for example nodes without a lowering."""

    exit_code = 1


class EditRefused(GatherInferError):
    """The model cannot be edited as requested; the text gives the reason, for example the inputs that a cut lacks."""

    exit_code = 1


class EmissionRefused(GatherInferError):
    """The contract has no form in the requested format; the text gives the reason."""

    exit_code = 1


class ContractViolated(GatherInferError):
    """Feeds violate the contract of a model.

    violations   a line of text for each violation
    """

    exit_code = 1

    def __init__(self, violations: list[str]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations


class CertificateRefused(GatherInferError):
    """A certificate does not hold: a file has changed since, or an output is not proved again as it claims.

    reasons   a line of text for each reason
    """

    exit_code = 1

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class SpecViolation(Exception):
    """Raised by a rule whose node breaks the operator's specification.

    The interpreter adds the location and reports a Diagnostic.

    message   the problem, the allowed range and the actual value
    code      one of `diagnostic.CODES`
    detail    facts that explain the problem, a line each
    """

    def __init__(self, message: str, code: str = "GI210", *, detail: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.detail = detail


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown `name`: `; did you mean 'seq'?` if a name in `known` is close.

    Otherwise the first twelve names in `known`, a set in sorted order; "" if there are none.
    """
    known = sorted(known) if isinstance(known, Set) else list(known)
    listed = f"; there are {', '.join(known[:12])}" + (", ..." if len(known) > 12 else "") if known else ""
    return close_match(name, known) or listed


def close_match(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'seq'?` if a name in `known` is close to `name`, else ""."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_option(option: str, text: str) -> str:
    """`option` with its value `text` quoted for a shell, such as `--input 'ids=[batch, seq]'`."""
    if "'" in text and not _SHELL_SPECIAL.intersection(text):
        return f'{option} "{text}"'
    return f"{option} {shlex.quote(text)}"
