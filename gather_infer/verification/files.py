"""Models on disk while they are run."""

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
    """A file with `proto`, an edited form of `model.proto`, as long as the block lasts; `folder` is made for it.

    It is the model's own file when nothing was edited. A model with weights in other files has to stand beside them:
    runtimes take none from elsewhere. Only where that is not allowed they are copied.
    """
    folder.mkdir()
    if proto is model.proto and model.foreign:
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
    """Files that are gone after the block, however it ends."""
    try:
        yield
    finally:
        for path in paths:
            with suppress(OSError):
                path.unlink()
