"""Read stored contracts from JSON files and from the metadata of ONNX files, which are parsed without onnx."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from gather_infer.errors import ModelReadError, UsageError

KEY: Final = "gather_infer.contract"
"""Key of the contract in a model's `metadata_props`."""

_METADATA_PROPS, _KEY, _VALUE = 14, 1, 2
_MAX_ENTRY: Final = 64 << 20
_MAX_VARINT: Final = 10


def read_object(source: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object of a contract; `source` is JSON text, or the path of a JSON file or of a model.

    Raises ModelReadError when the file cannot be read, UsageError when `source` holds no contract.
    """
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return _parsed(source, "the text")
    path = Path(source)
    try:
        with path.open("rb") as file:
            start = file.read(64).lstrip()
            if start.startswith(b"{"):
                file.seek(0)
                return _parsed(file.read().decode(errors="replace"), str(path))
            file.seek(0)
            text = _embedded(file, path)
    except OSError as error:
        raise ModelReadError(f"{path}: {error.strerror or error}") from error
    if text is None:
        raise UsageError(f"{path}: no contract, neither JSON nor a model with {KEY!r} in its metadata")
    return _parsed(text, str(path))


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{name}: not a contract: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{name}: not a contract: expected an object")
    return found


def _embedded(file: BinaryIO, path: Path) -> str | None:
    """The value of `KEY` in the metadata of a serialized ModelProto; None when the metadata lack the key.

    Skips weights without reading them. Wire format: https://protobuf.dev/programming-guides/encoding/
    Raises UsageError when the file is not a ModelProto.
    """
    try:
        for number, data in _fields(file, path.stat().st_size, {_METADATA_PROPS}):
            if number != _METADATA_PROPS:
                continue
            entry = dict(_parts(data))
            if entry.get(_KEY) == KEY.encode():
                return entry.get(_VALUE, b"").decode(errors="replace")
    except ValueError as error:
        raise UsageError(f"{path}: neither a contract nor a model: {error}") from error
    return None


def _fields(file: BinaryIO, size: int, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    """Yield number and data of the length-delimited fields whose numbers are in `wanted`; skip all other fields.

    Raises ValueError when the bytes are not a protobuf message.
    """
    while file.tell() < size:
        tag = _varint(file)
        match tag & 7:
            case 0:
                _varint(file)
            case 1:
                file.seek(8, os.SEEK_CUR)
            case 5:
                file.seek(4, os.SEEK_CUR)
            case 2:
                length = _varint(file)
                if file.tell() + length > size:
                    raise ValueError("a field runs past the end")
                if tag >> 3 in wanted and length <= _MAX_ENTRY:
                    yield tag >> 3, file.read(length)
                else:
                    file.seek(length, os.SEEK_CUR)
            case _:
                raise ValueError(f"a field of wire type {tag & 7}")


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    from io import BytesIO

    yield from _fields(BytesIO(data), len(data), {_KEY, _VALUE})


def _varint(file: BinaryIO) -> int:
    value = 0
    for position in range(_MAX_VARINT):
        byte = file.read(1)
        if not byte:
            raise ValueError("it ends in the middle of a number")
        value |= (byte[0] & 0x7F) << (7 * position)
        if byte[0] < 0x80:
            return value
    raise ValueError("a number does not end")
