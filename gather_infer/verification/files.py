"""Temporary model files for runtimes."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from onnx import ModelProto

from gather_infer.errors import ModelWriteError
from gather_infer.model import ModelFile, save
from gather_infer.model.external import is_external
from gather_infer.model.tensors import iter_tensors


@contextmanager
def on_disk(model: ModelFile, proto: ModelProto, folder: Path) -> Iterator[Path]:
    """A file with `proto`, an edited form of `model.proto`, for the duration of the block; `folder` is created for it.

    An unedited model keeps its own file. A model with external weights is written next to them, since runtimes reject
    paths outside its directory; the weights are copied only where that directory is not writable.
    """
    folder.mkdir()
    if proto is model.proto and model.foreign_format:
        yield Path(model.name).absolute()
        return
    if proto is model.proto and model.path is not None:
        yield model.path.absolute()
        return
    refers = any(is_external(tensor) and model.payload(tensor) is None for tensor in iter_tensors(proto))
    if refers and model.base_dir is not None:
        beside = model.base_dir.absolute() / f".gather-infer-{secrets.token_hex(6)}.onnx"
        with _removed(beside, beside.with_name(f"{beside.name}.data")):
            with suppress(ModelWriteError):
                save(model, proto, beside)
            if beside.exists():
                yield beside
                return
    path = folder / "model.onnx"
    save(model, proto, path)
    yield path


@contextmanager
def _removed(*paths: Path) -> Iterator[None]:
    """Remove the files at `paths` after the block, even if it raises."""
    try:
        yield
    finally:
        for path in paths:
            with suppress(OSError):
                path.unlink()
