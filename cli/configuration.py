"""Project configuration: the table `[tool.gather-infer]` of the nearest pyproject.toml that has it."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from gather_infer.errors import UsageError

TABLE: Final = "gather-infer"


@dataclass(frozen=True, slots=True)
class Configuration:
    """The validated table `[tool.gather-infer]` of a pyproject.toml.

    folder   the directory of the file; paths in the table are relative to this directory
    keys     parsed values by key, as the parsers in KEYS return them
    """

    folder: Path = Path()
    keys: Mapping[str, Any] = field(default_factory=dict)

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.keys.get(key, ()))

    def text(self, key: str) -> str | None:
        found: str | None = self.keys.get(key)
        return found

    def is_set(self, key: str) -> bool:
        return bool(self.keys.get(key, False))

    def number(self, key: str) -> int | None:
        found: int | None = self.keys.get(key)
        return found

    def paths(self, key: str) -> tuple[str, ...]:
        """The paths under `key`, resolved against `folder`; empty if the key is absent."""
        return tuple(str(self.folder / text) for text in self.texts(key))


def _texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) and all(isinstance(text, str) for text in value) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None


def _severity(value: object) -> str | None:
    return value if value in ("error", "warning", "note") else None


KEYS: Final[Mapping[str, tuple[Callable[[object], object], str]]] = {
    # key -> (parser, description of legal values)
    "select": (_texts, "a list of codes"),
    "ignore": (_texts, "a list of codes"),
    "fail-on": (_severity, "error, warning or note"),
    "baseline": (_text, "a path"),
    "exit-zero": (_flag, "true or false"),
    "initializers-as-constants": (_flag, "true or false"),
    "dim": (_texts, "a list of strings"),
    "input": (_texts, "a list of strings"),
    "range": (_texts, "a list of strings"),
    "rules": (_texts, "a list of paths"),
    "extensions": (_texts, "a list of names"),
    "jobs": (_number, "a number of 1 or more"),
}


def find_configuration(start: Path) -> Configuration:
    """The configuration in the nearest pyproject.toml with the table, in `start` or above; empty if there is none.

    Raises UsageError for an unreadable file, an unknown key or an illegal value.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return Configuration(folder, _checked(file, table))
    return Configuration()


def _table(file: Path) -> Mapping[str, object] | None:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    if TABLE.encode() not in data:  # most files do not have the table, and parsing TOML takes time
        _require_utf8(file, data)
        return None
    parser = _toml(file)
    try:
        found = parser.loads(data.decode("utf-8-sig"))
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from error
    table = found.get("tool", {}).get(TABLE)
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{file}: tool.{TABLE} must be a table")
    return table


def _require_utf8(file: Path, data: bytes) -> None:
    """Raise UsageError if `data` is UTF-16 text with the table, which would otherwise be ignored silently."""
    for encoding in ("utf-16-le", "utf-16-be"):
        if TABLE.encode(encoding) in data:
            raise UsageError(f"{file}: must be UTF-8, as all TOML, is UTF-16")


def _toml(file: Path) -> Any:
    """The module that parses TOML: tomllib since Python 3.11, else tomli. Raises UsageError if tomli is missing."""
    if sys.version_info >= (3, 11):
        import tomllib

        return tomllib
    try:
        return import_module("tomli")
    except ModuleNotFoundError as error:
        raise UsageError(f"{file}: to read [tool.{TABLE}] on Python 3.10, install tomli") from error


def _checked(file: Path, table: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in table.items():
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KEYS)}"
            raise UsageError(f"{file}: [tool.{TABLE}] has no key {key!r}; {hint}")
        read, wanted = KEYS[key]
        found[key] = read(value)
        if found[key] is None:
            raise UsageError(f"{file}: [tool.{TABLE}] {key} must be {wanted}, is {value!r}")
    return found
