"""Every exception that the package raises for a fault of the model or of the command; our own faults are assertions."""

from __future__ import annotations


class GatherInferError(Exception):
    """Base of all errors that a caller can meet; its text is one clear line."""

    exit_code = 2


class UsageError(GatherInferError):
    """The command or call is wrong: an unknown name, a malformed `--dim`, an output that would overwrite its input."""


class ModelReadError(GatherInferError):
    """The file cannot be read as a model: missing, empty, truncated, not protobuf, missing external data."""

    exit_code = 3


class ModelStructureError(GatherInferError):
    """A readable model that cannot be rewritten safely: a cycle, duplicate names."""

    exit_code = 3


class ModelWriteError(GatherInferError):
    """The output could not be written whole; nothing was left behind."""

    exit_code = 3


class ConversionRefused(GatherInferError):
    """Nodes that the converter cannot lower; the text names every one of them with its reason."""

    exit_code = 1


class ContractViolated(GatherInferError):
    """Feeds break the contract of a model; `violations` tells how, a line each."""

    exit_code = 1

    def __init__(self, violations: list[str]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations


class SpecViolation(Exception):
    """A rule found that its node breaks the operator's specification.

    The message states what is wrong, the allowed range and what was found; the walk turns it into a Diagnostic by
    adding where. `code` is one of `diagnostic.CODES`; `detail` lines show the facts that the verdict rests on.
    """

    def __init__(self, message: str, code: str = "GI210", *, detail: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.detail = detail
