"""Every exception that the package raises for a fault of the model or of the command; our own faults are assertions."""

from __future__ import annotations

import difflib
import shlex
import traceback
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager

_OF_SHELLS = frozenset('"$`\\!')
"""What means something between double quotes."""


def shortened(text: str, limit: int = 200) -> str:
    """A text of a file as a message has it: of a long one the beginning and the end."""
    return text if len(text) <= limit else f"{text[: limit - 40]}...{text[-37:]}"


class GatherInferError(Exception):
    """Base of all errors that a caller can meet; its text is one clear line."""

    exit_code = 2


class UsageError(GatherInferError):
    """The command or call is wrong: an unknown name, a malformed `--dim`, an output that would overwrite its input.

    What a rule of the caller raises is its cause.
    """


class UnknownName(UsageError, KeyError):
    """A model has nothing of a name; the text suggests another, and is made when somebody reads it.

    what    what was looked for, `tensor`
    known   the names that there are
    """

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        super().__init__(what, name, tuple(known))

    def __str__(self) -> str:
        what, name, known = self.args
        return f"no {what} {name!r}{suggestion(str(name), known)}"

    def __repr__(self) -> str:
        return f"UnknownName({str(self)!r})"


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


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'seq'?` when some known name is close, else the known names in their order, else nothing."""
    known = sorted(known) if isinstance(known, Set) else list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(known[:12])}" + (", ..." if len(known) > 12 else "") if known else ""


def near(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'seq'?` when some known name is close, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_option(option: str, text: str) -> str:
    """`--input 'ids=[batch, seq]'`: an option with its value as a shell takes it."""
    if "'" in text and not _OF_SHELLS.intersection(text):
        return f'{option} "{text}"'
    return f"{option} {shlex.quote(text)}"


@contextmanager
def foreign(file: str, what: str, *passing: type[Exception]) -> Iterator[None]:
    """Runs code of the caller: what it raises becomes a UsageError `FILE:LINE: what: KeyError: 'x'`, with its cause.

    file      where the code is; it calls the package, so that the innermost line need not be its own
    what      the code, in words; may be empty
    passing   what it may raise, beside the errors of the package that are about the model
    """
    try:
        yield
    # Nobody knows what foreign code raises. Whatever it is, its author is owed the line, and no traceback of ours.
    except (Exception, SystemExit) as error:
        if isinstance(error, passing) or (isinstance(error, GatherInferError) and not isinstance(error, UsageError)):
            raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        text = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        if isinstance(error, SyntaxError) and error.filename == file:
            lines, text = [error.lineno], error.msg
        if isinstance(error, SystemExit):
            text = "ends the program, which rules must not do"
        place = f"{file}:{lines[-1]}" if lines else file
        raise UsageError(" ".join(": ".join(filter(None, (place, what, text))).split())) from error


def file_of(function: object) -> str:
    """The file that a function of the caller is written in; empty for what is no plain function."""
    code = getattr(function, "__code__", None)
    return "" if code is None else str(code.co_filename)
