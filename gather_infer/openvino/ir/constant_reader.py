"""Const layers as ONNX initializers: small constants are inline, the others stay in the .bin."""

from __future__ import annotations

import os
import stat
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

from onnx import TensorProto

from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir.ir_element_types import DYNAMIC, STRING, is_integer, onnx_type, packed_bytes
from gather_infer.openvino.ir.layers import IRLayer
from gather_infer.openvino.ir.shape_syntax import element_count, parse_number, static_shape

INLINE_BYTES: Final = 1024
"""A constant of at most this size in bytes is inline in the model; a larger constant stays in the .bin."""

INLINE_INTEGERS: Final = 64 << 10
"""The limit in bytes for constants of integers, instead of INLINE_BYTES: they may be shapes, axes or indices."""

INLINE_TOTAL: Final = 64 << 20
"""Total bytes of inline constants beyond which integers above INLINE_BYTES stay in the .bin.

Constants may share bytes, so a small .bin can declare many of them.
"""

SHARED_STRINGS: Final = 4 << 20
"""Number of bytes by which all strings of a file together may exceed its .bin; constants may share bytes."""


class WeightsFile:
    """The .bin at `path`, opened on the first read; `nbytes` is its size, None if it does not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nbytes: int | None = None
        self._file: BinaryIO | None = None
        try:
            found = os.stat(path)
        except OSError:
            return
        if stat.S_ISREG(found.st_mode):
            self.nbytes = found.st_size

    def __enter__(self) -> WeightsFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()

    def location(self) -> str:
        """The location of the file for external tensors. Raises ModelReadError for a name that is not UTF-8."""
        name = self.path.name
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise ModelReadError(f"{name!r} is not UTF-8, so that no tensor can refer to it") from error
        return name

    def check(self, offset: int, size: int) -> None:
        """Raise ModelReadError unless the file contains bytes [offset, offset + size)."""
        if self.nbytes is None:
            raise ModelReadError(f"{self.path} is missing, which holds its {size} bytes")
        if offset + size > self.nbytes:
            raise ModelReadError(
                f"bytes [{offset}, {offset + size}) are outside {self.path}, which has bytes [0, {self.nbytes})"
            )

    def read(self, offset: int, size: int) -> bytes:
        """Bytes [offset, offset + size) of the file. Raises ModelReadError when the file lacks some of them."""
        self.check(offset, size)
        if self._file is None:
            self._file = open(self.path, "rb")  # noqa: SIM115 (closed by __exit__)
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise ModelReadError(f"{self.path} has changed while it was read")
        return data


@dataclass(frozen=True, slots=True)
class ConstantLayout:
    """The element type, shape and bytes of a Const layer.

    element          OpenVINO's name of the element type
    offset, nbytes   position in the .bin and number of bytes that the elements need; for strings, the whole size
    count            number of elements
    """

    element: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    count: int


@dataclass(slots=True)
class ConstantReader:
    """Creates initializers from Const layers.

    weights   the .bin
    inline    total bytes of the inline constants so far, without strings
    strings   total bytes of the string constants so far
    """

    weights: WeightsFile
    inline: int = 0
    strings: int = 0

    def describe(self, layer: IRLayer) -> ConstantLayout:
        """The layout of `layer`, a Const. Raises ModelReadError for inconsistent attributes or missing bytes."""
        layer.attribute("element_type")
        element = layer.single_port("output").element
        with layer.error_context():
            if element == DYNAMIC:
                raise ModelReadError("the element type of a constant must be known")
            shape = static_shape(layer.attribute("shape"))
            offset, size = (parse_number(layer.attribute(key), key) for key in ("offset", "size"))
            count = element_count(shape)
            if count == 0:  # OpenVINO writes a byte, or none
                return ConstantLayout(element, shape, offset, 0, 0)
            needed = size if element == STRING else packed_bytes(element, count)
            if needed > size:
                raise ModelReadError(f"{count} elements of {element} take {needed} bytes, size is {size}")
            self.weights.check(offset, size)
            return ConstantLayout(element, shape, offset, needed, count)

    def tensor(self, layer: IRLayer, constant: ConstantLayout, name: str) -> TensorProto:
        """The initializer `name` for `layer`, whose layout is `constant`.

        For an element type that ONNX lacks, it holds the packed bytes as a UINT8 vector.

        Raises ModelReadError as `describe`, and for strings with an invalid layout.
        """
        number_ = onnx_type(constant.element)
        dims = constant.shape if number_ is not None else (constant.nbytes,)
        tensor = TensorProto(name=name, data_type=TensorProto.UINT8 if number_ is None else number_, dims=dims)
        for key, value in layer.rt_info:
            tensor.metadata_props.add(key=f"openvino.rt_info.{key}", value=value)
        with layer.error_context():
            self._fill(tensor, constant)
        return tensor

    def _fill(self, tensor: TensorProto, constant: ConstantLayout) -> None:
        if constant.element == STRING:
            tensor.string_data.extend(self._strings(constant))
        elif self._is_inline(constant):
            tensor.raw_data = self.weights.read(constant.offset, constant.nbytes) if constant.nbytes else b""
            self.inline += constant.nbytes
        else:
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (
                ("location", self.weights.location()),
                ("offset", constant.offset),
                ("length", constant.nbytes),
            ):
                tensor.external_data.add(key=key, value=str(value))

    def _is_inline(self, constant: ConstantLayout) -> bool:
        if constant.nbytes <= INLINE_BYTES:
            return True
        fits = self.inline + constant.nbytes <= INLINE_TOTAL
        return is_integer(constant.element) and constant.nbytes <= INLINE_INTEGERS and fits

    def _strings(self, constant: ConstantLayout) -> list[bytes]:
        """The strings of `constant`, decoded from its bytes in the .bin.

        The bytes are int32 numbers (the count, the begin of each string, the end of the last string) and then the text.

        https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/type/string-tensor-unpack-15.html
        """
        count = constant.count
        if count == 0:
            return []
        begin = 4 * (count + 2)
        if begin > constant.nbytes:
            raise ModelReadError(f"{count} strings take {begin} bytes at least, size is {constant.nbytes}")
        self.strings += constant.nbytes
        if self.strings > (self.weights.nbytes or 0) + SHARED_STRINGS:
            raise ModelReadError(f"the strings of the file are more than {SHARED_STRINGS} bytes larger than its .bin")
        data = self.weights.read(constant.offset, constant.nbytes)
        stored_count, *ends = struct.unpack_from(f"<{count + 2}i", data)
        if stored_count != count or ends[0] < 0 or any(a > b for a, b in pairwise(ends)):
            raise ModelReadError(f"the bytes are not those of {count} strings")
        if begin + ends[-1] > len(data):
            raise ModelReadError(f"the strings end at byte {begin + ends[-1]}, size is {len(data)}")
        return [data[begin + a : begin + b] for a, b in pairwise(ends)]
