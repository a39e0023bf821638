"""Checks of the places of a model and of its data files, before they are written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from onnx import ModelProto

from gather_infer.errors import ModelReadError, ModelWriteError, UsageError
from gather_infer.model.external import data_file, is_external, location_error, reference_of, windows_name_error
from gather_infer.model.file import ModelFile, open_model
from gather_infer.model.tensors import iter_tensors

_IS_WINDOWS: Final = os.name == "nt"


def check_data_directory(data: Path, out: Path) -> None:
    """Raise ModelWriteError unless `data` is below the directory of `out` or of the file that `out` links to.

    Links in the path of `data` are resolved.
    """
    homes = (os.path.realpath(out.parent), os.path.dirname(os.path.realpath(out)))
    if not any(Path(os.path.realpath(data)).is_relative_to(home) for home in homes):
        raise ModelWriteError(f"{data}: leads out of the directory of {out.name}")


def locations_of(path: Path) -> set[str]:
    """The locations of the external data of the model at `path`; empty if the file is missing or not a model."""
    try:
        model = open_model(path)
        external = [t for t in iter_tensors(model.proto) if is_external(t) and model.payload(t) is None]
        return {reference_of(tensor).location for tensor in external}
    except ModelReadError:
        return set()


def check_data_name(external_data: str) -> None:
    """Raise UsageError unless the text is a plain file name, on Windows too."""
    # the model may be read on Windows, wherever it is written
    fault = location_error(external_data) or windows_name_error(external_data)
    if fault is None and os.path.basename(external_data) != external_data:
        fault = "is not a plain file name"
    if fault is not None or not external_data:
        raise UsageError(f"external data file {external_data!r} {fault or 'has no name'}")


def check_target(model: ModelFile, out: Path, in_place: bool) -> None:
    """Raise UsageError if a model at `out` would overwrite a file in use, ModelWriteError if there is no directory."""
    if _IS_WINDOWS and (fault := windows_name_error(out.name)) is not None:
        raise UsageError(f"{out}: the name {fault}")
    if out.is_dir():
        raise UsageError(f"{out}: a directory, not a file to write")
    if not out.parent.is_dir():
        raise ModelWriteError(f"{out.parent}: no such directory")
    if not in_place and is_same_file(out, model.path):
        raise UsageError(f"{out}: is the input, which only --in-place writes over")
    if is_data_file(model, model.proto, out):
        raise UsageError(f"{out}: is a data file of {model.name}")
    for joined in model.joined:
        check_target(joined, out, False)


def check_data_target(model: ModelFile, proto: ModelProto, out: Path, data: Path, in_place: bool) -> None:
    """Raise UsageError if a data file at `data` would overwrite the output, or a file that is not its data file."""
    if data == out or data.is_dir():
        raise UsageError(f"{data}: cannot be the external data file of {out.name}")
    for joined in model.joined:
        check_data_target(joined, joined.proto, out, data, False)
    if is_same_file(data, model.path):
        raise UsageError(f"{data}: is the input, it cannot be the external data file of {out.name}")
    replaced = in_place and is_same_file(out, model.path)
    if not replaced and (is_data_file(model, model.proto, data) or is_data_file(model, proto, data)):
        raise UsageError(f"{data}: is a data file of {model.name}; choose another name for the external data")
    if data.exists() and not replaced and not _belongs_to(data, out):
        raise UsageError(f"{data}: exists and is no data file of {out}; choose another name for the external data")


def _belongs_to(data: Path, out: Path) -> bool:
    """Whether the model that is now at `out` has external data in the file `data`."""
    try:
        existing = open_model(out)
        return is_data_file(existing, existing.proto, data)
    except ModelReadError:
        return False


def is_data_file(model: ModelFile, proto: ModelProto, path: Path) -> bool:
    """Whether `proto`, in the directory of `model`, has external data in the file `path`."""
    if model.base_dir is None or not path.exists():
        return False
    for tensor in iter_tensors(proto):
        if is_external(tensor) and model.payload(tensor) is None:
            file = data_file(reference_of(tensor).location, model.base_dir, model.path)
            if is_same_file(path, file):
                return True
    return False


def is_same_file(path: Path, other: Path | None) -> bool:
    """Whether two paths lead to the same file, which exists."""
    try:
        return other is not None and os.path.samefile(path, other)
    except OSError:
        return False
