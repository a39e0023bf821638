"""External tensor data: its location, and the checks that allow reading it.

https://github.com/onnx/onnx/blob/main/docs/ExternalData.md
"""

from __future__ import annotations

import os
import re
import stat
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, NamedTuple

from onnx import TensorProto

from gather_infer.errors import ModelReadError
from gather_infer.model.source import Region, SourceFile
from gather_infer.tensor import DType

_BITS_OF: dict[int, int] = {
    # element type: bits per element as stored in raw_data, packed without gaps
    **dict.fromkeys((DType.UINT2, DType.INT2), 2),
    **dict.fromkeys((DType.UINT4, DType.INT4, DType.FLOAT4E2M1), 4),
    **dict.fromkeys((DType.FLOAT6E2M3, DType.FLOAT6E3M2), 6),
    **dict.fromkeys((DType.UINT8, DType.INT8, DType.BOOL), 8),
    **dict.fromkeys((DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ), 8),
    DType.FLOAT8E8M0: 8,
    **dict.fromkeys((DType.UINT16, DType.INT16, DType.FLOAT16, DType.BFLOAT16), 16),
    **dict.fromkeys((DType.UINT32, DType.INT32, DType.FLOAT32), 32),
    **dict.fromkeys((DType.UINT64, DType.INT64, DType.FLOAT64, DType.COMPLEX64), 64),
    DType.COMPLEX128: 128,
}
_NAMES = {0: "undefined", **{int(d): d.onnx_name for d in DType}}


class ExternalReference(NamedTuple):
    """The `external_data` of a tensor; `offset` and `length` are in bytes, `length` is None if it is not given."""

    location: str
    offset: int
    length: int | None


def tensor_label(tensor: TensorProto) -> str:
    """Label of `tensor` in messages: its name, or a phrase for a tensor without a name (frequent in attributes)."""
    return f"tensor {tensor.name!r}" if tensor.name else "a constant without a name"


def type_name(tensor: TensorProto) -> str:
    """Data type and dims of `tensor` in the terms of ONNX, such as `float[2, 3]`."""
    name = _NAMES.get(tensor.data_type, f"data_type {tensor.data_type}")
    return f"{name}[{', '.join(map(str, tensor.dims))}]"


def element_bits(data_type: int) -> int | None:
    """Bits per element in `raw_data`, such as 4 for int4; None for strings and unknown data types."""
    return _BITS_OF.get(data_type)


def raw_nbytes(tensor: TensorProto) -> int:
    """Size of the elements in `raw_data`, in bytes, computed from dims and data type without reading the data.

    Raises ModelReadError for a negative dim, a string tensor or a data type that ONNX does not have.
    """
    bits = element_bits(tensor.data_type)
    if bits is None:
        raise ModelReadError(f"{tensor_label(tensor)}: {type_name(tensor)} has no raw form")
    dims = tensor.dims[:]
    if dims and min(dims) < 0:
        raise ModelReadError(f"{tensor_label(tensor)}: the dims of {type_name(tensor)} must be >= 0")
    elements: int = prod(dims)
    return (elements * bits + 7) // 8


def is_external(tensor: TensorProto) -> bool:
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def reference_of(tensor: TensorProto) -> ExternalReference:
    """The location, offset and length of the data of `tensor`, which must be external.

    Raises ModelReadError when there is no location, or offset or length is not a number >= 0.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if not location:
        raise ModelReadError(f"{tensor_label(tensor)}: external data without a location")
    length = _byte_count(tensor, "length", entries["length"]) if "length" in entries else None
    return ExternalReference(location, _byte_count(tensor, "offset", entries.get("offset", "0")), length)


def _byte_count(tensor: TensorProto, key: str, text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise ModelReadError(f"{tensor_label(tensor)}: external data {key} must be a number of bytes, found {text!r}")
    return int(digits)


def location_error(location: str, *, windows: bool = os.name == "nt") -> str | None:
    """The reason why `location` is not allowed; None if it is a relative path without `..`, which is allowed."""
    if "\0" in location:
        return "contains a NUL"
    path = PureWindowsPath(location) if windows else PurePosixPath(location)
    if path.is_absolute() or path.drive or path.root:
        return "is not relative to the model"
    if windows and "\\" in location:
        return "contains a backslash"
    if windows and (fault := next(filter(None, map(windows_name_error, path.parts)), None)) is not None:
        return fault
    # On other systems a backslash is an ordinary character, but a location must not name different files per system.
    if ".." in PureWindowsPath(location).parts:
        return "leaves the directory of the model"
    return None


_RESERVED: Final = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])", re.IGNORECASE)


def windows_name_error(name: str) -> str | None:
    """The reason why Windows does not take `name` for the name of a file, or takes it for another; None if it does not.

    https://learn.microsoft.com/windows/win32/fileio/naming-a-file. The names of devices are reserved with every suffix.
    """
    if name in (".", ".."):
        return None
    if _RESERVED.fullmatch(name.partition(".")[0].rstrip(" ")):
        return "is the name of a device on Windows"
    if name.endswith((".", " ")):
        return "ends with a dot or a blank, which Windows drops"
    if found := re.search(r'[<>:"|?*\x00-\x1f]', name):
        return f"contains {found[0]!r}, which Windows does not allow"
    return None


def data_file(location: str, directory: Path, model: Path | None = None) -> Path:
    """The file at `location` in `directory`.

    Raises ModelReadError when the location is not allowed or is not a regular file. The file, with links resolved, must
    be below `directory` or below the directory of the model file `model`, with links resolved too.
    """
    fault = location_error(location)
    if fault is not None:
        raise ModelReadError(f"external data location {location!r} {fault}")
    path = directory / location
    try:
        real = Path(os.path.realpath(path, strict=True))
        mode = os.stat(real).st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if "\\" in location and os.path.isfile(directory / location.replace("\\", "/")):
            reason = f"{reason}; a location separates folders by '/', also on Windows"
        raise ModelReadError(f"external data file {path}: {reason}") from error
    homes = [os.path.realpath(directory)]
    if model is not None:
        homes.append(os.path.dirname(os.path.realpath(model)))
    if not any(real.is_relative_to(home) for home in homes):
        raise ModelReadError(f"external data location {location!r} leads out of the directory of the model, to {real}")
    if not stat.S_ISREG(mode):
        raise ModelReadError(f"external data file {path}: not a regular file")
    return path


def region_of(tensor: TensorProto, directory: Path, model: Path | None = None) -> Region:
    """The bytes of the external `tensor` in a file below `directory`; `model` as in `data_file`.

    Raises ModelReadError when the file is missing, not allowed or too short, and when `length` does not fit the dims.
    """
    reference = reference_of(tensor)
    needed = raw_nbytes(tensor)
    try:
        path = data_file(reference.location, directory, model)
        source = SourceFile.of(path)
    except ModelReadError as error:
        raise ModelReadError(f"{tensor_label(tensor)}: {error}") from error
    except OSError as error:
        raise ModelReadError(f"{tensor_label(tensor)}: external data file {path}: {error.strerror}") from error
    length = needed if reference.length is None else reference.length
    if length != needed:
        raise ModelReadError(
            f"{tensor_label(tensor)}: {type_name(tensor)} needs {needed} bytes, external data length is {length}"
        )
    end = reference.offset + length
    if end > source.nbytes:
        raise ModelReadError(
            f"{tensor_label(tensor)}: bytes [{reference.offset}, {end}) are outside {path}, "
            f"which has bytes [0, {source.nbytes})"
        )
    return Region(source, reference.offset, length)
