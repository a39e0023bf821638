"""Weights that stay in the .bin of an IR: a model that refers to it from where it is written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from onnx import ModelProto

from gather_infer.errors import UsageError
from gather_infer.model import ModelFile
from gather_infer.model.external import is_external, reference_of
from gather_infer.model.tensors import iter_tensors


def beside(source: ModelFile, proto: ModelProto, out: str | os.PathLike[str]) -> tuple[ModelFile, ModelProto]:
    """The model with the locations of its external data as they are from the folder of `out`.

    Raises UsageError where runtimes would not read it: outside that folder, or through a link.
    """
    if os.fspath(out) == "-":
        raise UsageError("in_place_weights: a stream is in no folder")
    home = Path(out).parent
    moved = ModelProto()
    moved.CopyFrom(proto)
    seen: dict[str, str] = {}
    for tensor in iter_tensors(moved):
        if not is_external(tensor):
            continue
        location = reference_of(tensor).location
        if location not in seen:
            assert source.base_dir is not None, "external data has a folder"
            seen[location] = _from(home, source.base_dir / location)
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = seen[location]
    return replace(source, base_dir=home), moved


def _from(home: Path, data: Path) -> str:
    """`data` relative to `home`. Raises UsageError where it is not below, or a link leads there."""
    inner = Path(os.path.relpath(data, home))
    if ".." in inner.parts or inner.is_absolute():
        raise UsageError(f"{data}: not in {home} or below it, so that runtimes would not read it from there")
    for depth in range(1, len(inner.parts) + 1):
        part = home.joinpath(*inner.parts[:depth])
        if part.is_symlink():
            raise UsageError(f"{part}: a link, which runtimes do not follow to weights")
    return inner.as_posix()
