"""Constants by their exact bits, of every element type.

An element is an unsigned integer of its own width (a NaN keeps its payload, a zero its sign); a string is its bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto

from gather_infer.model import ModelFile
from gather_infer.model.elements import ONE_PER_ENTRY
from gather_infer.model.external import element_bits, is_external
from gather_infer.model.packing import pack, unpack
from gather_infer.model.wire import FIXED32, FIXED64, LENGTH_DELIMITED, TENSOR_FIELDS, scan

Bits = npt.NDArray[Any]

MAPS_FILES: bool = os.name != "nt"
"""Whether external data is mapped. Windows does not replace a file that is mapped, as a save in place does."""

MAX_RANK = 32
"""Maximum rank of a constant: numpy 1 supports no more axes."""

_FLOAT_FIELD: dict[int, str] = {
    # element types that are stored as floats when not raw; their wire bytes are the raw form
    TensorProto.FLOAT: "float_data", TensorProto.COMPLEX64: "float_data",
    TensorProto.DOUBLE: "double_data", TensorProto.COMPLEX128: "double_data",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A tensor with its exact bits. Its elements are never modified: results may be views of them.

    data_type   number of the element type in TensorProto.DataType
    bits        an array in the shape of the tensor, of unsigned integers as wide as an element. Void for 128 bits, and
                if the elements are mapped from a file. An element narrower than a byte is in the low bits of a byte of
                its own; a string is a bytes object
    """

    data_type: int
    bits: Bits

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.bits.shape
        return shape

    @property
    def plain(self) -> Bits:
        """`bits` in the dtype that `bits_dtype` returns, for mapped elements too; nothing is copied."""
        dtype = bits_dtype(self.data_type)
        assert dtype is not None, "the element type has a numpy type"
        return np.asarray(self.bits if self.bits.dtype == dtype else self.bits.view(dtype))

    @property
    def nbytes(self) -> int:
        """The number of bytes in raw form; for strings, the total length of the encoded strings."""
        if self.data_type == TensorProto.STRING:
            return sum(map(len, self.bits.flat))
        return raw_size(self.data_type, self.bits.size)

    def to_tensor(self, name: str) -> TensorProto:
        """The constant as an initializer called `name`, with raw data, or with string data for strings."""
        tensor = TensorProto(name=name, data_type=self.data_type, dims=self.bits.shape)
        width = element_bits(self.data_type)
        if width is None:
            tensor.string_data.extend(self.bits.flat)
        else:
            tensor.raw_data = pack(self.bits.reshape(-1), width) if width < 8 else self.bits.tobytes()
        return tensor

    def to_indices(self) -> npt.NDArray[np.int64] | None:
        """The elements of an int32 or int64 tensor as numbers, in its shape; None for any other type."""
        if self.data_type == TensorProto.INT64:
            return np.asarray(self.bits.view("<i8"), dtype=np.int64)
        if self.data_type == TensorProto.INT32:
            return self.bits.view("<i4").astype(np.int64)
        return None


@lru_cache(maxsize=64)
def bits_dtype(data_type: int) -> np.dtype[Any] | None:
    """The numpy type that holds the bits of an element: object for strings; None if ONNX has no such element type."""
    if data_type == TensorProto.STRING:
        return np.dtype(object)
    width = element_bits(data_type)
    if width is None:
        return None
    return np.dtype("V16") if width == 128 else np.dtype(f"<u{max(width, 8) // 8}")


def raw_size(data_type: int, elements: int) -> int:
    """The bytes of a tensor with `elements` elements in raw form, which packs those narrower than a byte.

    A string counts as one byte.
    """
    return (elements * (element_bits(data_type) or 8) + 7) // 8


def read_tensor(model: ModelFile, tensor: TensorProto) -> Constant | None:
    """`tensor`, a tensor of the model, as a constant. External data is mapped, except on Windows.

    Returns None if ONNX has no such element type, or the data does not match the dims.
    Raises ModelReadError if external data is missing.
    """
    dtype = bits_dtype(tensor.data_type)
    if dtype is None or dtype.hasobject or not is_external(tensor):
        return read_inline(tensor)
    region = model.region(tensor)
    assert region is not None, "an external tensor is in a file"
    bits: Bits
    if region.nbytes == 0:
        bits = np.empty(0, dtype)
    elif not MAPS_FILES:
        bits = np.frombuffer(region.read(), dtype)
    else:
        # Bytes in a file are not aligned, and numpy would copy a table to align it; void needs no alignment.
        void = np.dtype(f"V{dtype.itemsize}")
        with region.source.open() as file:
            bits = np.memmap(file, void, "r", region.offset, (region.nbytes // dtype.itemsize,))
    return _shaped(tensor, bits)


def read_inline(tensor: TensorProto) -> Constant | None:
    """`tensor` as a constant; None if its data is external, and as for `read_tensor`."""
    dtype = bits_dtype(tensor.data_type)
    if dtype is None:
        return None
    if dtype.hasobject:
        bits = np.empty(len(tensor.string_data), dtype=object)
        bits[:] = list(tensor.string_data)
        return _shaped(tensor, bits)
    if is_external(tensor):
        return None
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) % dtype.itemsize:
            return None
        return _shaped(tensor, np.frombuffer(tensor.raw_data, dtype))
    typed = _typed(tensor, dtype)
    is_packed = tensor.data_type not in ONE_PER_ENTRY
    return None if typed is None else _shaped(tensor, typed, is_packed=is_packed)


def _shaped(tensor: TensorProto, bits: Bits, *, is_packed: bool = True) -> Constant | None:
    """The constant with the type and dims of `tensor` and the elements `bits`; None if `bits` does not match the dims.

    is_packed   whether elements narrower than a byte are packed in `bits`
    """
    shape = tuple(tensor.dims)
    if len(shape) > MAX_RANK or any(n < 0 for n in shape):
        return None
    elements = prod(shape)
    width = element_bits(tensor.data_type)
    if is_packed and width is not None and width < 8:
        if bits.size != raw_size(tensor.data_type, elements):
            return None
        bits = unpack(np.asarray(bits.view("u1")), elements, width)
    return Constant(tensor.data_type, bits.reshape(shape)) if bits.size == elements else None


def _typed(tensor: TensorProto, dtype: np.dtype[Any]) -> Bits | None:
    """The elements of a tensor whose data is in a typed field such as `float_data`, as bits of type `dtype`.

    None if the bytes are not whole elements.
    """
    name = _FLOAT_FIELD.get(tensor.data_type)
    if name is not None:
        # Not through Python floats, which would make a signalling float32 NaN quiet.
        wire = tensor.SerializeToString()
        wanted = (LENGTH_DELIMITED, FIXED32, FIXED64)
        number = TENSOR_FIELDS[name]
        parts = [
            wire[f.value : f.stop] for f in scan(wire, 0, len(wire)) if f.number == number and f.wire_type in wanted
        ]
        raw = b"".join(parts)
        return np.frombuffer(raw, dtype) if len(raw) % dtype.itemsize == 0 else None
    if tensor.data_type == TensorProto.INT64:
        return np.array(tensor.int64_data, dtype="<i8").view(dtype)
    if tensor.data_type in (TensorProto.UINT32, TensorProto.UINT64):
        return np.array(tensor.uint64_data, dtype="<u8").astype(dtype)
    if tensor.data_type in ONE_PER_ENTRY:
        return (np.array(tensor.int32_data, dtype="<i4") & 0x3F).astype(dtype)
    stored = np.array(tensor.int32_data, dtype="<i4")
    bits: Bits = (stored != 0 if tensor.data_type == TensorProto.BOOL else stored).astype(dtype)
    return bits


def read_attribute(model: ModelFile, attribute: AttributeProto) -> Constant | None:
    """The output of a Constant node with this attribute; None for a sparse tensor, and as `read_tensor`.

    Raises as `read_tensor`.
    """
    match attribute.name:
        case "value":
            return read_tensor(model, attribute.t)
        case "value_int":
            return _numbers(TensorProto.INT64, [attribute.i], "<i8", ())
        case "value_ints":
            return _numbers(TensorProto.INT64, attribute.ints, "<i8")
        case "value_string":
            return strings([attribute.s], ())
        case "value_strings":
            return strings(attribute.strings)
        case "value_float" | "value_floats":
            # As for float_data; AttributeProto.f is field 2, floats is field 7.
            wire = attribute.SerializeToString()
            number = 2 if attribute.name == "value_float" else 7
            raw = b"".join(wire[_start(f) : f.stop] for f in scan(wire, 0, len(wire)) if f.number == number)
            bits = np.frombuffer(raw, "<u4")
            return Constant(TensorProto.FLOAT, bits.reshape(()) if number == 2 and bits.size == 1 else bits)
    return None


def _start(field: Any) -> int:
    start: int = field.value
    return start


def _numbers(data_type: int, numbers: Sequence[int], dtype: str, shape: tuple[int, ...] | None = None) -> Constant:
    bits = np.array(numbers, dtype=dtype).view(dtype.replace("i", "u"))
    return Constant(data_type, bits if shape is None else bits.reshape(shape))


def strings(elements: Sequence[bytes], shape: tuple[int, ...] | None = None) -> Constant:
    """A string tensor with the encoded strings `elements`, one-dimensional unless `shape` is given."""
    bits = np.empty(len(elements), dtype=object)
    bits[:] = list(elements)
    return Constant(TensorProto.STRING, bits if shape is None else bits.reshape(shape))


def from_integers(data_type: int, values: npt.NDArray[np.object_]) -> Constant:
    """An array of Python integers or booleans as a constant of the integer or bool type `data_type`.

    The type must represent all elements.
    """
    dtype = bits_dtype(data_type)
    assert dtype is not None and data_type != TensorProto.STRING, "the type of integer elements"
    mask = (1 << (element_bits(data_type) or 0)) - 1
    bits = np.array([int(v) & mask for v in values.flat], dtype=dtype)
    return Constant(data_type, bits.reshape(values.shape))
