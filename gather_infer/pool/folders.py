"""The models below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gather_infer.errors import UsageError

STDIN = "-"


def expanded(models: Iterable[str]) -> tuple[str, ...]:
    """`models`, with each folder replaced by the models below it. Raises UsageError for a folder without any."""
    found: list[str] = []
    for model in models:
        below = models_below(model) if model != STDIN and os.path.isdir(model) else [model]
        if not below:
            raise UsageError(f"{model}: no models below this folder: no .onnx, no .xml with its .bin")
        found += below
    return tuple(found)


def models_below(folder: str | os.PathLike[str]) -> list[str]:
    """Paths of the ONNX files and OpenVINO IRs below a folder, sorted.

    An `.xml` counts only with a `.bin` of the same name in its folder. Hidden folders and links to folders are left
    out. The result contains the path of a folder that cannot be listed, so that the caller reports an error for it.
    """
    found: list[str] = []
    for path, folders, files in os.walk(folder, onerror=lambda error: found.append(os.fspath(error.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        there = set(files)
        for name in sorted(files):
            stem, suffix = os.path.splitext(name)
            if suffix.lower() == ".onnx" or (suffix.lower() == ".xml" and f"{stem}.bin" in there):
                found.append(os.path.join(path, name))
    return found
