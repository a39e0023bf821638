"""SHA-256 hashes of the files of a model: its own bytes, and those of its external data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gather_infer.errors import ModelReadError, UsageError
from gather_infer.model.external import data_file, is_external, reference_of
from gather_infer.model.file import ModelFile
from gather_infer.model.model_loading import to_model_file
from gather_infer.model.source import SourceFile
from gather_infer.model.tensors import iter_tensors

CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileHash:
    """A file of external data.

    name     its location in the model
    sha256   hash of all its bytes, in hexadecimal digits
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelHashes:
    """The hashes of a model.

    name     name of the file, without its folder
    sha256   hash of the bytes of the file, in hexadecimal digits
    data     the files of external data, sorted by location
    """

    name: str
    sha256: str
    data: tuple[FileHash, ...] = ()


@dataclass(frozen=True, slots=True)
class HashedFiles:
    """The hashes of a model, and the files as they were before they were read.

    sources   the file of the model, unless it was a stream, and its external data
    """

    hashes: ModelHashes
    sources: tuple[SourceFile, ...]

    @property
    def is_current(self) -> bool:
        """Whether no file was replaced or written since, by inode, size and modification time."""
        try:
            return all(SourceFile.of(source.path) == source for source in self.sources)
        except OSError:
            return False


def file_hash(path: str | os.PathLike[str]) -> str:
    """The SHA-256 hash of a file, which is read in chunks. Raises OSError."""
    found = hashlib.sha256()
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            found.update(buffer[:count])
    return found.hexdigest()


def hashed(model: ModelFile) -> HashedFiles:
    """The hashes of a model that was read from a file, an IR or a stream.

    Raises UsageError for a model in memory, ModelReadError when a file cannot be read or external data is missing.
    """
    path = stored_path(model)
    if path is None and model.original is None:
        raise UsageError(f"{model.name}: a model in memory has no file to hash; save it, and give the path")
    try:
        files = [] if path is None else [SourceFile.of(path)]
        own = hashlib.sha256(model.original or b"").hexdigest() if path is None else file_hash(path)
    except OSError as error:
        raise ModelReadError(f"{path}: {error.strerror}") from error
    data = []
    for location, place in _data_files(model):
        try:
            files.append(SourceFile.of(place))
            data.append(FileHash(location, file_hash(place)))
        except OSError as error:
            raise ModelReadError(f"{model.name}: external data file {place}: {error.strerror}") from error
    name = model.name if path is None else path.name
    return HashedFiles(ModelHashes(name, own, tuple(data)), tuple(files))


def staged_hashes(model: ModelFile, out: Path, place_of: Callable[[Path], Path | None]) -> ModelHashes:
    """The hashes of a model that is not yet at its path.

    model      the model, read from its temporary file
    out        the path that it will have
    place_of   returns the temporary file of a path, None for a file that is where it will be

    Raises ModelReadError as `hashed`.
    """
    assert model.path is not None, "the temporary file has a path"
    data = []
    try:
        for location in external_locations(model):
            place = place_of(out.parent / location) or data_file(location, out.parent, out)
            data.append(FileHash(location, file_hash(place)))
        return ModelHashes(out.name, file_hash(model.path), tuple(data))
    except OSError as error:
        raise ModelReadError(f"{error.filename or out}: {error.strerror}") from error


def stored_path(model: ModelFile) -> Path | None:
    """The file that holds the model: for an IR, the .xml; None for a stream or a model in memory."""
    if model.foreign_format and model.label is not None:
        return Path(model.label)
    return model.path


def require_stored(model: ModelFile) -> None:
    """Raise UsageError unless `model` is what its file, which is parsed again, or its stream holds."""
    path = stored_path(model)
    if path is not None:
        again = to_model_file(path).proto
    elif model.original is not None:
        again = ModelFile.from_bytes(model.original, name=model.name).proto
    else:
        raise UsageError(f"{model.name}: a model in memory has no file to compare it with")
    if again.SerializeToString(deterministic=True) != model.proto.SerializeToString(deterministic=True):
        raise UsageError(f"{model.name}: the model was edited, or the file replaced, after it was read")


def external_locations(model: ModelFile) -> list[str]:
    """The locations of the external data of a model, sorted. Raises ModelReadError for a tensor without a location."""
    external = (t for t in iter_tensors(model.proto) if is_external(t) and model.payload(t) is None)
    return sorted({reference_of(tensor).location for tensor in external})


def _data_files(model: ModelFile) -> Iterator[tuple[str, Path]]:
    """Each file of external data: its location, and its path; for an IR also the .bin, which may hold small weights."""
    locations = external_locations(model)
    if model.foreign_format and (path := stored_path(model)) is not None:
        weights = path.with_suffix(".bin")
        if weights.is_file() and weights.name not in locations:
            locations = sorted([*locations, weights.name])
    for location in locations:
        if model.base_dir is None:
            raise ModelReadError(f"{model.name}: external data {location!r} of a model that has no directory")
        yield location, data_file(location, model.base_dir, model.path)
