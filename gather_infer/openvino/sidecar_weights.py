"""Side-car weights: an ONNX model whose external tensors refer to the .bin of the IR that it was converted from."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.model import ModelFile
from gather_infer.model.external import is_external, reference_of
from gather_infer.model.tensors import iter_tensors


def with_sidecar_weights(
    source: ModelFile, proto: ModelProto, out: str | os.PathLike[str]
) -> tuple[ModelFile, ModelProto]:
    """`source` and a copy of `proto` with the locations of external data relative to the directory of the file `out`.

    Raises UsageError where runtimes would not read the data: when it is outside that directory, or behind a link.
    """
    if os.fspath(out) == "-":
        raise UsageError("in_place_weights: a stream has no directory")
    directory = Path(out).parent
    moved = ModelProto()
    moved.CopyFrom(proto)
    seen: dict[str, str] = {}
    for tensor in iter_tensors(moved):
        if not is_external(tensor):
            continue
        location = reference_of(tensor).location
        if location not in seen:
            assert source.base_dir is not None, "external data has a directory"
            seen[location] = _relative_location(directory, source.base_dir / location)
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = seen[location]
    return replace(source, base_dir=directory), moved


def _relative_location(directory: Path, data: Path) -> str:
    """The path of `data` relative to `directory`, with slashes.

    Raises UsageError when `data` is not below `directory`, or its relative path contains a link.
    """
    inner = Path(os.path.relpath(data, directory))
    if ".." in inner.parts or inner.is_absolute():
        raise UsageError(f"{data}: not in {directory} or below it, so that runtimes would not read it from there")
    for depth in range(1, len(inner.parts) + 1):
        part = directory.joinpath(*inner.parts[:depth])
        if part.is_symlink():
            raise UsageError(f"{part}: a link, which runtimes do not follow to weights")
    return inner.as_posix()
