"""File names for other programs: relative paths and URIs."""

from __future__ import annotations

import os
from pathlib import PurePath
from urllib.parse import quote


def file_of(model: str) -> str:
    """The path `model` relative to the current directory, or absolute if it is outside; `<stdin>` is returned as is."""
    if model.startswith("<"):
        return model
    name = os.path.relpath(model) if os.path.isabs(model) else os.path.normpath(model)
    return os.path.abspath(model) if name.startswith("..") else PurePath(name).as_posix()


def uri_of(model: str) -> str:
    """The result of `file_of` as a relative reference, or as a `file:` URI if it is absolute (RFC 3986)."""
    name = file_of(model)
    if os.path.isabs(name):
        return PurePath(name).as_uri()
    return quote(os.fsencode(name))
