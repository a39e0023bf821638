"""Constants: position of their bytes in the .bin, selection of those to inline, and their tensors in ONNX."""

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
"""A constant of at most this size is inline in the model; a larger one stays in the .bin."""

INLINE_INTEGERS: Final = 64 << 10
"""The same limit for integers, which may be shapes, axes or indices."""

INLINE_TOTAL: Final = 64 << 20
"""Total bytes of inline integers. Constants may share bytes, so a small file can declare a lot of them."""

SHARED_STRINGS: Final = 4 << 20
"""Bytes by which the strings of a file may exceed its .bin, since constants may share bytes."""


class WeightsFile:
    """The .bin beside an .xml, opened on the first read."""

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
        """Bytes [offset, offset + size). Raises ModelReadError when the file does not contain them all."""
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

    offset, nbytes   the bytes in the .bin, as many as the elements need; for strings the whole size
    """

    element: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    count: int


@dataclass(slots=True)
class ConstantReader:
    """Creates initializers from Const layers.

    inline    bytes of constants that are inline so far
    strings   bytes of strings that are inline so far
    """

    weights: WeightsFile
    inline: int = 0
    strings: int = 0

    def describe(self, layer: IRLayer) -> ConstantLayout:
        """The layout of a Const. Raises ModelReadError where it is inconsistent, or its bytes are not in the .bin."""
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
        """The initializer, called `name`; of a type that ONNX lacks it holds the packed bytes, as UINT8.

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
        """The strings: their number, the begin of each and the end of the last, 4 bytes each, then the text.

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
