"""Digests of everything that decides a result: the bytes of a model, the options of a task, the installed programs."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from gather_infer.errors import ModelReadError

CHUNK_BYTES: Final = 1 << 20
_MARK: Final = b"location"
"""The key in the entry of every external tensor; a file without these bytes has no external data."""

PACKAGES: Final = ("onnx", "numpy", "ml_dtypes", "protobuf", "onnx-graphsurgeon", "onnxruntime", "openvino")
"""Packages whose versions may change results: those that compute facts, and the runtimes that evaluate operators."""


@cache
def program_digest() -> str:
    """A digest of this package's source files, and of the versions of Python, the machine and PACKAGES."""
    found = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(package.rglob("*.py")):
        data = path.read_bytes()
        found.update(f"{path.relative_to(package).as_posix()} {len(data)}\n".encode())
        found.update(data)
    found.update(repr((sys.version, sys.byteorder, platform.machine(), sys.platform)).encode())
    found.update(repr([(name, _version(name)) for name in PACKAGES]).encode())
    return found.hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def plain_text(value: object) -> str | None:
    """A text that is equal for equal values only; None if `value` holds an object other than plain data.

    Plain data are numbers, texts, bytes, arrays, enums, sequences, mappings and dataclasses of these. Functions and
    rule sets are not plain: their text does not show what they compute. Nor is a dataclass whose `is_plain` is False,
    such as one with names of files that are code.
    """
    if value is None or (isinstance(value, (bool, int, float, str, bytes)) and type(value).__module__ == "builtins"):
        return repr(value)
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
        return _array_text(value)
    if isinstance(value, (tuple, list)):
        return _joined("sequence", value)
    if isinstance(value, Mapping):
        return _joined("mapping", [part for pair in value.items() for part in pair])
    if dataclasses.is_dataclass(value) and getattr(value, "is_plain", True):
        kind = type(value)
        members = [part for f in dataclasses.fields(value) for part in (f.name, getattr(value, f.name))]
        return _joined(f"{kind.__module__}.{kind.__qualname__}", members)
    return None


def _array_text(array: Any) -> str | None:
    """As `plain_text` for an array; None for one of Python objects."""
    if array.dtype.hasobject:
        return None
    return f"array({array.dtype.str}, {array.shape}, {hashlib.sha256(array.tobytes()).hexdigest()})"


def _joined(kind: str, values: list[object] | tuple[object, ...]) -> str | None:
    parts = [plain_text(value) for value in values]
    return None if None in parts else f"{kind}({', '.join(filter(None, parts))})"


def model_digest(path: str) -> str | None:
    """A digest of the name and the bytes of the model at `path`, and of its external data or its `.bin`.

    A data file that is missing or not allowed has the reason in place of its bytes. None if the model is not a regular
    file that can be read.
    """
    if not os.path.isfile(path):
        return None
    try:
        parts = [path, *_model_parts(path)]
    except (OSError, ModelReadError):
        return None
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _model_parts(path: str) -> list[str]:
    digest, has_mark = _file_digest(path)
    folder = Path(path).parent
    if os.path.splitext(path)[1].lower() == ".xml":
        weights = Path(path).with_suffix(".bin")
        return [digest, _state(weights), *_data_parts([weights.name], folder, None)]
    return [digest, *_data_parts(_locations(path), folder, Path(path))] if has_mark else [digest]


def _data_parts(locations: Iterable[str], folder: Path, model: Path | None) -> Iterator[str]:
    """Each location with the digest of its file, or with the reason why the file is not read."""
    from gather_infer.model.external import data_file

    for location in locations:
        yield location
        try:
            yield _state(data_file(location, folder, model))
        except ModelReadError as error:
            yield str(error)


def _locations(path: str) -> list[str]:
    """The locations of the external tensors of an ONNX file, sorted. Raises ModelReadError if it is not a model."""
    from gather_infer.model.external import is_external
    from gather_infer.model.file import open_model
    from gather_infer.model.tensors import iter_tensors

    file = open_model(path)
    external = (t for t in iter_tensors(file.proto) if is_external(t) and file.payload(t) is None)
    return sorted({entry.value for t in external for entry in t.external_data if entry.key == "location"})


def _state(path: Path) -> str:
    """The digest of the file at `path`, or the reason why it cannot be read."""
    try:
        return _file_digest(path)[0]
    except OSError as error:
        return f"error: {error.strerror}"


def _file_digest(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """The digest of a file, and whether it contains the mark of external data. Raises OSError."""
    found = hashlib.sha256()
    has_mark = False
    tail = b""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(buffer):
            chunk = buffer[:count]
            found.update(chunk)
            if not has_mark:
                data = tail + bytes(chunk)
                has_mark = _MARK in data
                tail = data[1 - len(_MARK) :]
    return found.hexdigest(), has_mark
