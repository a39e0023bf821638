"""Writing with the external-data options of `onnx.save_model`: a file for all tensors, or one for each."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from onnx import GraphProto, ModelProto, TensorProto

from gather_infer.errors import ModelReadError, ModelWriteError, UsageError
from gather_infer.model import ModelFile, open_model, save
from gather_infer.model.external import is_external, location_error, raw_nbytes, reference_of
from gather_infer.model.paths import bodies
from gather_infer.model.staging import Staging
from gather_infer.model.tensors import iter_tensors
from gather_infer.model.wire import MAX_MESSAGE_BYTES

_FILE_NAME: Final = re.compile(r"[^<>:;,?\"*|/\\\x00-\x1f]+")
"""Names of tensors that can be names of files, on every system."""


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Options for external data, as of `onnx.save_model`.

    one_file    all tensors into one file
    location    name of this file; None for `OUT.data`
    threshold   size in bytes from which on a tensor is external
    """

    one_file: bool = False
    location: str | None = None
    threshold: int = 1024


def write(file: ModelFile, proto: ModelProto, out: str | os.PathLike[str], data: DataFiles | None = None) -> None:
    """Write `proto`, an edited form of `file.proto`, and its data files; the output may overwrite the input.

    data   None writes all tensors inline, and to `OUT.data` if the file would exceed 2 GB

    All files appear complete or not at all. Raises ModelReadError when weights cannot be read, ModelWriteError when the
    output cannot be written, and UsageError when a data file would overwrite a file that is not data of the output.
    """
    file.require_data()
    if data is None:
        save(file, proto, out, in_place=True, embed=True)
        return
    path = Path(out)
    if path.is_dir():
        raise UsageError(f"{path}: a directory, not a file to write")
    copy = ModelProto()
    copy.CopyFrom(proto)
    with Staging() as staging:
        _DataWriter(file, path, data, staging).move(copy)
        if copy.ByteSize() > MAX_MESSAGE_BYTES:
            raise ModelWriteError(f"{path}: past {MAX_MESSAGE_BYTES} bytes even with external data")
        with staging.create(path) as target:
            target.write(copy.SerializeToString())
        staging.commit()


class _DataWriter:
    """Moves the large tensors of a model to staged data files."""

    def __init__(self, file: ModelFile, out: Path, data: DataFiles, staging: Staging) -> None:
        self.file = file
        self.out = out
        self.data = data
        self.staging = staging
        self.replaceable = _locations(out)
        self.used: set[str] = {out.name}

    def move(self, proto: ModelProto) -> None:
        """Move the initializers of `proto` from the threshold on, and make all other tensors inline."""
        graphs = [body for _, body in bodies(proto) if isinstance(body, GraphProto)]
        large = [t for graph in graphs for t in graph.initializer if self._nbytes(t) >= self.data.threshold]
        moved = {id(tensor) for tensor in large}
        for tensor in iter_tensors(proto):
            region = None if id(tensor) in moved else self.file.region(tensor)
            if region is not None:
                _clear_payload(tensor)
                tensor.raw_data = region.read()
        if not self.data.one_file:
            for number, tensor in enumerate(large):
                location = self._location_for(tensor, number)
                with self.staging.create(self._target(location)) as target:
                    self._write(tensor, location, target)
            return
        if large:
            location = self._one_location()
            with self.staging.create(self._target(location)) as target:
                for tensor in large:
                    self._write(tensor, location, target)

    def _nbytes(self, tensor: TensorProto) -> int:
        """Size of the payload of a tensor in raw form; -1 for a tensor in another form."""
        if tensor.data_type == TensorProto.STRING or not (is_external(tensor) or tensor.HasField("raw_data")):
            return -1
        return raw_nbytes(tensor)

    def _one_location(self) -> str:
        given = self.data.location
        # "./" is the default of the script, and no file
        location = f"{self.out.name}.data" if given is None or not Path(given).name else given
        fault = location_error(location)
        if fault is not None:
            raise UsageError(f"external data file {location!r} {fault}")
        return location

    def _location_for(self, tensor: TensorProto, number: int) -> str:
        """The name of the tensor if it can be the name of a file, and is not used yet; else a numbered name."""
        name = tensor.name
        if not _FILE_NAME.fullmatch(name) or name.strip(". ") != name or name in self.used:
            name = f"{self.out.name}.{number}"
        self.used.add(name)
        return name

    def _target(self, location: str) -> Path:
        target = self.out.parent / location
        if location == self.out.name or (target.exists() and location not in self.replaceable):
            raise UsageError(f"{target}: exists, and is not external data of {self.out}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelWriteError(f"{target.parent}: {error.strerror}") from error
        return target

    def _write(self, tensor: TensorProto, location: str, target: BinaryIO) -> None:
        region = self.file.region(tensor)
        target.write(bytes(-target.tell() % 64))
        offset = target.tell()
        for chunk in [tensor.raw_data] if region is None else region.chunks():
            target.write(chunk)
        nbytes = target.tell() - offset
        _clear_payload(tensor)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", str(offset)), ("length", str(nbytes))):
            tensor.external_data.add(key=key, value=value)


def _clear_payload(tensor: TensorProto) -> None:
    for field in ("raw_data", "external_data", "data_location"):
        tensor.ClearField(field)


def _locations(path: Path) -> set[str]:
    """The locations of the external data of the model at `path`; empty if the file is missing or not a model."""
    try:
        model = open_model(path)
    except ModelReadError:
        return set()
    return {reference_of(t).location for t in iter_tensors(model.proto) if is_external(t) and model.payload(t) is None}
