"""Rule sets and rewrite sets in Python files of the user, which run only if the caller names them."""

from __future__ import annotations

import runpy
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from gather_infer.errors import UsageError
from gather_infer.extensions import user_code

_Set = TypeVar("_Set")


def load_sets(files: Iterable[str], kind: type[_Set], option: str) -> list[_Set]:
    """Run `files` and return the objects of class `kind`, RuleSet or RewriteSet, at module level of each file.

    option   the command-line option that named the files, for error messages

    Raises UsageError if a file does not exist, defines no set, or raises an exception.
    """
    found: list[_Set] = []
    for file in files:
        if not Path(file).is_file():
            raise UsageError(f"{option} {file}: {'not a file' if Path(file).exists() else 'no such file'}")
        _require_python(file, option)
        with user_code(file):
            names = runpy.run_path(file)
        sets = [value for value in names.values() if isinstance(value, kind)]
        if not sets:
            raise UsageError(f"{option} {file}: defines no {kind.__name__} at module level")
        found += sets
    return found


def _require_python(file: str, option: str) -> None:
    """Raise UsageError for a file that is not Python source: runpy would run an archive as a program."""
    try:
        with open(file, "rb") as source:
            compile(source.read(), file, "exec", dont_inherit=True)
    except OSError as error:
        raise UsageError(f"{option} {file}: {error.strerror}") from error
    except SyntaxError as error:
        where = f"{file}:{error.lineno}" if error.lineno else f"{option} {file}: not Python"
        raise UsageError(f"{where}: {error.msg}") from error
    except ValueError as error:  # older versions of Python raise it for a NUL
        raise UsageError(f"{option} {file}: not Python: {error}") from error
