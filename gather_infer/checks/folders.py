"""The models below a folder."""

from __future__ import annotations

import os


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
