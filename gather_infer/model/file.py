"""ModelFile: a model whose large payloads stay on disk until their values are read."""

from __future__ import annotations

import mmap
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, TypeProto

from gather_infer.dialect import Dialect
from gather_infer.domains import plain_domain
from gather_infer.errors import ModelReadError
from gather_infer.model.elements import to_array
from gather_infer.model.external import is_external, raw_nbytes, reference_of, region_of, tensor_label, type_name
from gather_infer.model.formats import HEAD, known_format
from gather_infer.model.lazy_tensors import Payload, PayloadTable, externalize_payloads
from gather_infer.model.source import STREAM_BYTES, Region, SourceFile, joined_chunks, streamed
from gather_infer.model.tensors import iter_tensors
from gather_infer.model.wire import (
    MAX_MESSAGE_BYTES,
    TENSOR_FIELDS,
    Buffer,
    UnsupportedWire,
    WireError,
    length_delimited,
)

PathLike: TypeAlias = "str | os.PathLike[str]"

WHOLE_BYTES = 1 << 20  # a smaller file is parsed whole: faster than the wire scan, at no cost in memory
STDIN = "-"
_JOINED = "\0joined-"
"""Begins the location of a tensor of a joined file; no file system has such a name."""

_MAX_VERSION = (1 << 31) - 1

_TEXT_SUFFIXES = (".onnxtxt", ".onnxtext", ".json", ".onnxjson", ".textproto", ".pbtxt", ".prototxt", ".txtpb")
_NATIVE = {
    # data types whose raw form is an array of a native numpy dtype
    getattr(TensorProto, name): np.dtype(dtype)
    for name, dtype in {
        "FLOAT": "<f4", "DOUBLE": "<f8", "FLOAT16": "<f2", "COMPLEX64": "<c8", "COMPLEX128": "<c16", "BOOL": "?",
        "INT8": "i1", "INT16": "<i2", "INT32": "<i4", "INT64": "<i8",
        "UINT8": "u1", "UINT16": "<u2", "UINT32": "<u4", "UINT64": "<u8",
    }.items()
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """A model, and where the bytes of its tensors are. The data of lazy tensors stays in the model's own file.

    `proto`     valid ONNX, not to be modified; lazy tensors are external tensors whose location is the model's file
    `size`      bytes of the model's file, 0 for a model in memory
    `path`      the file, None for a model in memory or from standard input
    `base_dir`  directory that locations of external data are relative to; None if unknown, for a model in memory
    `source`    the file that holds the lazy payloads, None when there are none
    `payloads`  the lazy payloads by (offset, size), both in bytes
    `original`  the serialised model, if it was read from a stream or from bytes; None otherwise
    `foreign_format`  name of the file's format in messages if it is not ONNX, else ""; a foreign file is not rewritten
    `dialects`  inference rules for operators that are not part of ONNX
    `hints`     value name -> type that the file declares outside of `proto`; checked against inferred types, and used
                where inference finds no type
    `label`     the name of the model in messages, None to use `path`; for an OpenVINO IR, the path of the .xml
    `joined`    further files that hold tensors of the model, see `joined_location`
    """

    proto: ModelProto
    size: int = 0
    path: Path | None = None
    base_dir: Path | None = None
    source: SourceFile | None = None
    payloads: PayloadTable = field(default_factory=dict)
    original: bytes | None = field(default=None, repr=False)
    foreign_format: str = ""
    dialects: tuple[Dialect, ...] = field(default=(), repr=False)
    hints: Mapping[str, TypeProto] = field(default_factory=dict, repr=False)
    label: str | None = None
    joined: tuple[ModelFile, ...] = ()

    @staticmethod
    def from_proto(proto: ModelProto, base_dir: PathLike | None = None) -> ModelFile:
        """A model in memory. `proto` is neither copied nor modified; external data is looked up in `base_dir`.

        Raises ModelReadError for an opset version outside 32 bits.
        """
        _require_versions(proto, "<model>")
        return ModelFile(proto, base_dir=None if base_dir is None else Path(base_dir))

    @staticmethod
    def from_bytes(data: bytes, base_dir: PathLike | None = None, *, name: str = "<bytes>") -> ModelFile:
        """The model in the serialised ModelProto `data`; `name` is its name in messages.

        External data is looked up in `base_dir`.

        Raises ModelReadError when `data` is not a model.
        """
        if not data:
            raise ModelReadError(f"{name}: empty")
        proto = _parse(data, name)
        return ModelFile(proto, len(data), base_dir=None if base_dir is None else Path(base_dir), original=data)

    @property
    def name(self) -> str:
        """The name of the model in messages."""
        if self.label is not None:
            return self.label
        return str(self.path) if self.path is not None else "<stdin>" if self.original is not None else "<model>"

    def payload(self, tensor: TensorProto) -> Payload | None:
        """Position of the data of a lazy `tensor` in its file; None for a tensor that is not lazy.

        External tensors of a joined file are lazy: they are written as tensors of the model.
        """
        if not is_external(tensor):
            return None
        home, own = self._home(tensor)
        if home is not self:
            reference = reference_of(own)
            nbytes = raw_nbytes(own) if reference.length is None else reference.length
            return home.payload(own) or Payload(reference.offset, nbytes, TENSOR_FIELDS["raw_data"], False)
        if self.source is None:
            return None
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if entries.get("location") != self.source.path.name or entries.keys() != {"location", "offset", "length"}:
            return None
        if not (entries["offset"].isdecimal() and entries["length"].isdecimal()):
            return None
        return self.payloads.get((int(entries["offset"]), int(entries["length"])))

    def _home(self, tensor: TensorProto) -> tuple[ModelFile, TensorProto]:
        """The file that holds an external tensor, this one or a joined one, and the tensor as that file has it."""
        for entry in tensor.external_data if self.joined else ():
            if entry.key == "location" and entry.value.startswith(_JOINED):
                number, _, location = entry.value.removeprefix(_JOINED).partition("/")
                own = TensorProto()
                own.CopyFrom(tensor)
                for each in own.external_data:
                    if each.key == "location":
                        each.value = location
                return self.joined[int(number)]._home(own)
        return self, tensor

    @property
    def has_lazy_tensors(self) -> bool:
        """Whether tensors may be lazy."""
        return bool(self.payloads or self.joined)

    def payload_region(self, tensor: TensorProto) -> Region:
        """The part of a file with the data of a lazy tensor, as the file has it. Raises ModelReadError as `region`."""
        home, own = self._home(tensor)
        payload = home.payload(own)
        if payload is not None:
            assert home.source is not None, "a payload is found only in a source"
            return Region(home.source, payload.offset, payload.nbytes)
        region = home.region(own)
        assert region is not None, "a lazy tensor is external"
        return region

    def region(self, tensor: TensorProto) -> Region | None:
        """The part of a file with the data of a lazy or external `tensor`, in raw form; None for inline data.

        Raises ModelReadError when external data is missing, out of range, or not allowed.
        """
        if self.joined and is_external(tensor):
            home, own = self._home(tensor)
            if home is not self:
                return home.region(own)
        payload = self.payload(tensor)
        if payload is not None:
            assert self.source is not None, "a payload is found only in a source"
            needed = raw_nbytes(tensor)
            if payload.nbytes != needed:
                raise self._error(tensor, f"{type_name(tensor)} needs {needed} bytes of data, found {payload.nbytes}")
            return Region(self.source, payload.offset, payload.nbytes)
        if not is_external(tensor):
            return None
        if self.base_dir is None:
            location = reference_of(tensor).location
            raise self._error(tensor, f"external data {location!r} of a model that has no directory")
        try:
            return region_of(tensor, self.base_dir, self.path)
        except ModelReadError as error:
            raise ModelReadError(f"{self.name}: {error}") from error

    def missing_reason(self, tensor: TensorProto) -> str | None:
        """The reason why the external data of `tensor` cannot be read; None if it can be read or is not external.

        Always None for a model without `base_dir`: whether its external data exists is unknown.
        """
        if not is_external(tensor) or self.base_dir is None or self.payload(tensor) is not None:
            return None
        try:
            self.region(tensor)
        except ModelReadError as error:
            return str(error).removeprefix(f"{self.name}: ").removeprefix(f"{tensor_label(tensor)}: ")
        return None

    def require_data(self) -> None:
        """Raise ModelReadError when external data is missing, out of range, or not allowed; only file sizes are read.

        A model without `base_dir` always passes.
        """
        for tensor in iter_tensors(self.proto):
            missing = self.missing_reason(tensor)
            if missing is not None:
                raise self._error(tensor, f"{missing}; writing the model needs its bytes, shape inference does not")

    def has_no_directory(self, tensor: TensorProto) -> bool:
        """Whether `tensor` is external in a model without `base_dir`, so that its location cannot be resolved."""
        return is_external(tensor) and self.base_dir is None and self.payload(tensor) is None

    def nbytes(self, tensor: TensorProto) -> int:
        """Size of the elements in raw form, in bytes; for a string tensor, the total length of its encoded strings.

        Raises ModelReadError for a negative dim or a data type that ONNX does not have.
        """
        if tensor.data_type == TensorProto.STRING:
            return sum(map(len, tensor.string_data))
        return raw_nbytes(tensor)

    def tensor(self, tensor: TensorProto) -> npt.NDArray[Any]:
        """The elements of `tensor` as an array, which may be read-only; strings are `str` objects.

        Data types without a numpy dtype (bfloat16, float8, int4, ...) have the dtypes that onnx uses for them.
        Raises ModelReadError when the data is missing, or does not fit dims and data type.
        """
        if tensor.data_type == TensorProto.STRING and not is_external(tensor):
            return self._convert(tensor, tensor)
        needed = raw_nbytes(tensor)
        region = self.region(tensor)
        if region is None and not tensor.HasField("raw_data"):
            return self._convert(tensor, tensor)
        raw = tensor.raw_data if region is None else region.read()
        if len(raw) != needed:
            raise self._error(tensor, f"{type_name(tensor)} needs {needed} bytes of data, found {len(raw)}")
        dtype = _NATIVE.get(tensor.data_type)
        if dtype is not None:
            return np.frombuffer(raw, dtype).reshape(tuple(tensor.dims))
        inline = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=raw)
        return self._convert(tensor, inline)

    def with_weights(self) -> ModelProto:
        """A copy of `proto` with lazy payloads read from the file into the fields in which the file holds them.

        External data stays external, as after `onnx.load(path, load_external_data=False)`.
        Raises ModelReadError when the file has changed since it was opened.
        """
        copy = ModelProto()
        copy.CopyFrom(self.proto)
        for tensor in iter_tensors(copy) if self.has_lazy_tensors else ():
            payload = self.payload(tensor)
            if payload is None:
                continue
            data = self.payload_region(tensor).read()
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            if payload.explicit_location:
                tensor.data_location = TensorProto.DEFAULT
            tensor.MergeFromString(length_delimited(payload.field, payload.nbytes) + data)
        return copy

    def _convert(self, tensor: TensorProto, inline: TensorProto) -> npt.NDArray[Any]:
        if any(dim < 0 for dim in tensor.dims):
            raise self._error(tensor, f"the dims of {type_name(tensor)} must be >= 0")
        try:
            return to_array(inline)
        except ModuleNotFoundError as error:
            raise self._error(tensor, f"reading {type_name(tensor)} needs the package {error.name}") from error
        except (ValueError, TypeError, OverflowError) as error:
            raise self._error(tensor, f"the data does not fit {type_name(tensor)}: {error}") from error

    def _error(self, tensor: TensorProto, text: str) -> ModelReadError:
        return ModelReadError(f"{self.name}: {tensor_label(tensor)}: {text}")


def joined_location(position: int, location: str) -> str:
    """The location in a joined model of an external tensor at `location` of the joined file at `position`."""
    return f"{_JOINED}{position}/{location}"


def open_model(path: PathLike) -> ModelFile:
    """The model at `path`, with payloads above 1 KiB left on disk; `-` is standard input.

    Streams, pipes and small files are read completely.

    Raises ModelReadError, with a one-line reason, when the file cannot be read or is not a model.

        >>> model = gather_infer.open_model("fixtures/bert-torchscript.onnx")
        >>> print(len(model.proto.graph.node))
        335
    """
    if path == STDIN:
        chunks = iter(partial(sys.stdin.buffer.read, STREAM_BYTES), b"")
        return _from_stream(chunks, "<stdin>")
    if not os.fspath(path):
        raise ModelReadError("'': not the name of a file")
    path = Path(path)
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            return _open_regular(path)
        return _from_stream(streamed(path), str(path))
    except OSError as error:
        raise ModelReadError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # a NUL in the path
        raise ModelReadError(f"{str(path)!r}: {error}") from error


def _from_stream(chunks: Iterable[bytes], name: str) -> ModelFile:
    try:
        data = joined_chunks(chunks)
    except ModelReadError as error:
        raise ModelReadError(f"{name}: {error}") from error
    return ModelFile.from_bytes(data, name=name)


def _open_regular(path: Path) -> ModelFile:
    source = SourceFile.of(path)
    if source.nbytes == 0:
        raise ModelReadError(f"{path}: empty file")
    ledger: PayloadTable = {}
    with source.open() as file:
        if source.nbytes <= WHOLE_BYTES:
            proto = _parse(file.read(), str(path))
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
                proto, ledger = _parse_elided(buffer, path)
    return ModelFile(proto, source.nbytes, path, path.parent, source if ledger else None, ledger)


def _parse_elided(buffer: mmap.mmap, path: Path) -> tuple[ModelProto, PayloadTable]:
    """The model in `buffer`, the mapped file `path`, with large payloads as references to the file; and these payloads.

    Raises ModelReadError when the bytes are not a model.
    """
    small: bytes | None
    ledger: PayloadTable = {}
    try:
        path.name.encode()
        small, ledger = externalize_payloads(buffer, path.name)
    except (UnsupportedWire, UnicodeEncodeError):  # a file name that is not UTF-8 cannot be a location
        small = None
    except WireError as error:
        raise _not_a_model(buffer, str(path), f"truncated or not ONNX protobuf: {error}") from error
    if small is not None:
        return _parse(small, str(path)), ledger
    if len(buffer) > MAX_MESSAGE_BYTES:
        raise ModelReadError(f"{path}: {len(buffer)} bytes to parse, protobuf reads {MAX_MESSAGE_BYTES}")
    with memoryview(buffer) as view:
        return _parse(view, str(path)), ledger


def _parse(data: Buffer, name: str) -> ModelProto:
    """The model in the serialised message `data`.

    Raises ModelReadError, with `name`, when it is not a model or a text in it is not UTF-8.
    """
    try:
        proto: ModelProto = ModelProto.FromString(data)
    except DecodeError as error:
        raise _not_a_model(data, name, "truncated or not ONNX protobuf") from error
    if not proto.HasField("graph"):
        raise _not_a_model(data, name, "not an ONNX model: it has no graph")
    if not proto.HasField("ir_version") and not proto.opset_import:
        raise _not_a_model(data, name, "not an ONNX model: it has neither ir_version nor opset_import")
    if not texts_are_utf8(data):
        raise ModelReadError(f"{name}: a name or another text in the model is not UTF-8")
    _require_versions(proto, name)
    return proto


def _require_versions(proto: ModelProto, name: str) -> None:
    """Raise ModelReadError for an opset version outside 32 bits: the field has 64, but onnx and runtimes read 32."""
    imports = [*proto.opset_import, *(entry for function in proto.functions for entry in function.opset_import)]
    for entry in imports:
        if not -_MAX_VERSION - 1 <= entry.version <= _MAX_VERSION:
            domain = plain_domain(entry.domain) or "ai.onnx"
            raise ModelReadError(f"{name}: an opset version has 32 bits, that of {domain} is {entry.version}")


def texts_are_utf8(data: Buffer) -> bool:
    """Whether every name and other text in the serialised ModelProto `data` is UTF-8."""
    try:
        _strict_model().FromString(data)
    except DecodeError:
        return False
    return True


def _not_a_model(data: Buffer, name: str, reason: str) -> ModelReadError:
    known = known_format(bytes(data[:HEAD]), name)
    if known:
        reason = known
    elif name.endswith(_TEXT_SUFFIXES):
        reason += "; text forms are not read, onnx.load and onnx.save convert them"
    return ModelReadError(f"{name}: {reason}")


@cache
def _strict_model() -> type[Any]:
    """A message class like ModelProto but with proto3 syntax, whose parser rejects strings that are not UTF-8.

    proto2 parses anything and then raises UnicodeDecodeError from any later access to the text. Reading each text
    in Python takes 40 times as long as a second parse.
    """
    pool = descriptor_pool.DescriptorPool()
    # The last value of a field counts: this one, of field 12, `syntax`.
    pool.AddSerializedFile(ModelProto.DESCRIPTOR.file.serialized_pb + b"\x62\x06proto3")
    message: type[Any] = message_factory.GetMessageClass(pool.FindMessageTypeByName(ModelProto.DESCRIPTOR.full_name))
    return message
