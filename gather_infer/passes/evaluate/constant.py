"""Constants by their exact bits.

An element is an unsigned integer of its own width (a NaN keeps its payload, a zero its sign), a string is its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto

from gather_infer.model import ModelFile
from gather_infer.model.wire import FIXED32, FIXED64, LENGTH_DELIMITED, TENSOR_FIELDS, scan

Bits = npt.NDArray[Any]

_WIDTH: dict[int, int] = {
    # element types that the gather family takes: bytes per element
    TensorProto.FLOAT: 4, TensorProto.UINT8: 1, TensorProto.INT8: 1, TensorProto.UINT16: 2, TensorProto.INT16: 2,
    TensorProto.INT32: 4, TensorProto.INT64: 8, TensorProto.BOOL: 1, TensorProto.FLOAT16: 2, TensorProto.DOUBLE: 8,
    TensorProto.UINT32: 4, TensorProto.UINT64: 8, TensorProto.COMPLEX64: 8, TensorProto.COMPLEX128: 16,
    TensorProto.BFLOAT16: 2,
}  # fmt: skip
_FLOAT_FIELD: dict[int, str] = {
    # element types that are stored as floats when not raw; their wire bytes are the raw form
    TensorProto.FLOAT: "float_data", TensorProto.COMPLEX64: "float_data",
    TensorProto.DOUBLE: "double_data", TensorProto.COMPLEX128: "double_data",
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A tensor with its exact bits.

    data_type   number of the element type in TensorProto.DataType
    bits        the tensor's own shape; unsigned integers as wide as an element (void for 128 bits), bytes objects for
                strings
    """

    data_type: int
    bits: Bits

    @property
    def nbytes(self) -> int:
        """Bytes in raw form; of strings, of their characters."""
        if self.data_type == TensorProto.STRING:
            return sum(map(len, self.bits.flat))
        return self.bits.size * self.bits.itemsize

    def to_tensor(self, name: str) -> TensorProto:
        """The constant as an initializer with raw data (strings have none)."""
        tensor = TensorProto(name=name, data_type=self.data_type, dims=self.bits.shape)
        if self.data_type == TensorProto.STRING:
            tensor.string_data.extend(self.bits.flat)
        else:
            tensor.raw_data = self.bits.tobytes()
        return tensor

    def to_indices(self) -> npt.NDArray[np.int64] | None:
        """The elements of an int32 or int64 tensor as numbers, None for any other type."""
        if self.data_type == TensorProto.INT64:
            return np.asarray(self.bits.view("<i8"), dtype=np.int64)
        if self.data_type == TensorProto.INT32:
            return self.bits.view("<i4").astype(np.int64)
        return None


def bits_dtype(data_type: int) -> np.dtype[Any] | None:
    """How the bits of an element type are held; None when the gather family does not take the type."""
    if data_type == TensorProto.STRING:
        return np.dtype(object)
    width = _WIDTH.get(data_type)
    if width is None:
        return None
    return np.dtype("V16") if width == 16 else np.dtype(f"<u{width}")


def read_tensor(model: ModelFile, tensor: TensorProto) -> Constant | None:
    """The bits of a tensor of the model; payloads on disk are mapped, not read.

    Returns None when the gather family does not take the element type, or data and dims do not fit.
    Raises ModelReadError when external data is missing.
    """
    dtype = bits_dtype(tensor.data_type)
    shape = tuple(tensor.dims)
    if dtype is None or any(n < 0 for n in shape):
        return None
    bits: Bits
    if dtype.hasobject:
        bits = np.empty(len(tensor.string_data), dtype=object)
        bits[:] = list(tensor.string_data)
    elif (region := model.region(tensor)) is not None:
        with region.source.open() as file:
            if region.nbytes == 0:
                bits = np.empty(0, dtype)
            else:
                # Bytes in a file are not aligned, and numpy would copy a whole table to align it; void needs none.
                void = np.dtype(f"V{dtype.itemsize}")
                bits = np.memmap(file, void, "r", region.offset, (region.nbytes // dtype.itemsize,))
    elif tensor.HasField("raw_data"):
        if len(tensor.raw_data) % dtype.itemsize:
            return None
        bits = np.frombuffer(tensor.raw_data, dtype)
    else:
        typed = _typed(tensor, dtype)
        if typed is None:
            return None
        bits = typed
    elements = 1
    for n in shape:
        elements *= n
    return Constant(tensor.data_type, bits.reshape(shape)) if bits.size == elements else None


def _typed(tensor: TensorProto, dtype: np.dtype[Any]) -> Bits | None:
    """The bits of a tensor that is stored in one of the typed fields."""
    name = _FLOAT_FIELD.get(tensor.data_type)
    if name is not None:
        # Not through Python floats: a signalling float32 NaN would come back quiet.
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
    stored = np.array(tensor.int32_data, dtype="<i4")
    bits: Bits = (stored != 0 if tensor.data_type == TensorProto.BOOL else stored).astype(dtype)
    return bits


def read_attribute(model: ModelFile, attribute: AttributeProto) -> Constant | None:
    """The tensor that a Constant node with this attribute gives; None for a sparse one. Raises as `read_tensor`."""
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
    """A string tensor of encoded strings, one-dimensional unless `shape` is given."""
    bits = np.empty(len(elements), dtype=object)
    bits[:] = list(elements)
    return Constant(TensorProto.STRING, bits if shape is None else bits.reshape(shape))


def from_integers(data_type: int, values: npt.NDArray[np.object_]) -> Constant:
    """Python integers (or booleans) as a tensor of an integer type that holds them all."""
    dtype = bits_dtype(data_type)
    assert dtype is not None and data_type != TensorProto.STRING, "the type of integer elements"
    mask = (1 << 8 * dtype.itemsize) - 1
    bits = np.array([int(v) & mask for v in values.flat], dtype=dtype)
    return Constant(data_type, bits.reshape(values.shape))
