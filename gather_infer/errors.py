"""Exceptions for errors of the model or of the command; internal errors are assertions."""

from __future__ import annotations

import difflib
import shlex
import traceback
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager

_SHELL_SPECIAL = frozenset('"$`\\!')
"""Characters that a shell interprets between double quotes."""


def shortened(text: str, limit: int = 200) -> str:
    """Shorten a text of the file for a message: the beginning and the end of a long one."""
    return text if len(text) <= limit else f"{text[: limit - 40]}...{text[-37:]}"


class GatherInferError(Exception):
    """Base of all errors that a caller can meet; its text is one clear line."""

    exit_code = 2


class UsageError(GatherInferError):
    """The command or call is wrong: an unknown name, a malformed `--dim`, an output that would overwrite its input.

    An exception of a user's rule is chained as its cause.
    """


class UnknownName(UsageError, KeyError):
    """A name that the model does not have; the text suggests a close match and is built lazily.

    what    kind of the name, `tensor`
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
    """The file cannot be read as a model: missing, empty, truncated, not protobuf, missing external data."""

    exit_code = 3


class ModelStructureError(GatherInferError):
    """A readable model that cannot be rewritten safely: a cycle, duplicate names."""

    exit_code = 3


class ModelWriteError(GatherInferError):
    """The output could not be written completely; no partial file remains."""

    exit_code = 3


class ConversionRefused(GatherInferError):
    """Nodes that the converter cannot lower; the text lists each with its reason."""

    exit_code = 1


class ContractViolated(GatherInferError):
    """Feeds break the contract of a model; `violations` has a line for each violation."""

    exit_code = 1

    def __init__(self, violations: list[str]) -> None:
        super().__init__("; ".join(violations))
        self.violations = violations


class SpecViolation(Exception):
    """A rule found that its node breaks the operator's specification.

    The message gives the problem, the allowed range and the actual value; the interpreter adds the location and makes a
    Diagnostic of it. `code` is one of `diagnostic.CODES`; `detail` lists the facts behind the verdict.
    """

    def __init__(self, message: str, code: str = "GI210", *, detail: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.detail = detail


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'seq'?` when a known name is close; else the known names in order; else an empty text."""
    known = sorted(known) if isinstance(known, Set) else list(known)
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(known[:12])}" + (", ..." if len(known) > 12 else "") if known else ""


def close_match(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'seq'?` when a known name is close, else an empty text."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def as_option(option: str, text: str) -> str:
    """`--input 'ids=[batch, seq]'`: an option with its value quoted for a shell."""
    if "'" in text and not _SHELL_SPECIAL.intersection(text):
        return f'{option} "{text}"'
    return f"{option} {shlex.quote(text)}"


@contextmanager
def user_code(file: str, what: str, *passing: type[Exception]) -> Iterator[None]:
    """Context manager that turns an exception of user code into a UsageError `FILE:LINE: what: KeyError: 'x'`.

    The original exception is chained as the cause.

    file      file of the code; its frames are searched for the line, since the innermost frame may be in this package
    what      description of the code; may be empty
    passing   exception types that pass through unchanged, like every GatherInferError that is not a UsageError
    """
    try:
        yield
    # User code may raise anything. Its author needs the line, not a traceback through this package.
    except (Exception, SystemExit) as error:
        if isinstance(error, passing) or (isinstance(error, GatherInferError) and not isinstance(error, UsageError)):
            raise
        lines = [
            environment.lineno
            for environment in traceback.extract_tb(error.__traceback__)
            if environment.filename == file
        ]
        text = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        if isinstance(error, SyntaxError) and error.filename == file:
            lines, text = [error.lineno], error.msg
        if isinstance(error, SystemExit):
            text = "exits the program, which rules must not do"
        place = f"{file}:{lines[-1]}" if lines else file
        raise UsageError(" ".join(": ".join(filter(None, (place, what, text))).split())) from error


def file_of(function: object) -> str:
    """The source file of a Python function; empty for a callable without a code object."""
    code = getattr(function, "__code__", None)
    return "" if code is None else str(code.co_filename)
