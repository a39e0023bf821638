"""Output paths of several models: the relative path of each below the common folder, in the folder of the outputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from gather_infer.errors import UsageError
from gather_infer.pool.folders import STDIN


def output_paths(
    arguments: Iterable[str], models: Iterable[str], folder: str, *, data: str | None = None, suffix: str = ""
) -> dict[str, str]:
    """The output path of each model, by its path.

    arguments  files and folders that the caller named; the common folder is that of the files and these folders
    models     the files, and the files below the folders
    folder     the folder of the outputs
    data       name of an external data file in the folder of each output
    suffix     suffix that replaces that of an OpenVINO IR; "" leaves it

    Raises UsageError, before anything is written, if two models would write the same file, if an output would replace
    one of the models or its weights, or if `folder` is no folder.
    """
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder}: a file; the outputs of several models need a folder")
    models = list(dict.fromkeys(models))
    if STDIN in models:
        raise UsageError("standard input has no name for an output; write it alone, with -o OUT")
    common = _common_folder(arguments)
    found: dict[str, str] = {}
    for model in models:
        stem, extension = os.path.splitext(os.path.relpath(os.path.abspath(model), common))
        is_renamed = suffix and extension.lower() == ".xml"
        found[model] = os.path.join(folder, stem + (suffix if is_renamed else extension))
    _require_distinct(found, data)
    return found


def _common_folder(arguments: Iterable[str]) -> str:
    folders = [os.path.abspath(each if os.path.isdir(each) else os.path.dirname(each)) for each in arguments]
    try:
        return os.path.commonpath(folders)
    except ValueError as error:  # on different drives
        raise UsageError(f"the models have no common folder: {error}") from error


def _require_distinct(outputs: Mapping[str, str], data: str | None) -> None:
    read: dict[str, str] = {}
    for model in outputs:
        read[_identity(model)] = model
        if os.path.splitext(model)[1].lower() == ".xml":
            read[_identity(os.path.splitext(model)[0] + ".bin")] = model
    written: dict[str, str] = {}
    for model, output in outputs.items():
        for path in [output] if data is None else [output, os.path.join(os.path.dirname(output), data)]:
            identity = _identity(path)
            if identity in read:
                raise UsageError(f"{path}: the output of {model} would replace {read[identity]}, which is read")
            if identity in written:
                raise UsageError(f"{path}: {written[identity]} and {model} would both write this file")
            written[identity] = model


def _identity(path: str) -> str:
    """The same text for all paths of a file."""
    return os.path.normcase(os.path.realpath(path))
