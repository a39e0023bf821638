"""Files as other programs want them named."""

from __future__ import annotations

import os
from pathlib import PurePath
from urllib.parse import quote


def file_of(model: str) -> str:
    """The file from the current directory, where it is below it; what is no file, `<stdin>`, keeps its name."""
    if model.startswith("<"):
        return model
    name = os.path.relpath(model) if os.path.isabs(model) else os.path.normpath(model)
    return os.path.abspath(model) if name.startswith("..") else PurePath(name).as_posix()


def uri_of(model: str) -> str:
    """The same as a relative reference, or as a `file:` URI (RFC 3986)."""
    name = file_of(model)
    if os.path.isabs(name):
        return PurePath(name).as_uri()
    return quote(os.fsencode(name))
