"""Exact evaluation of the gather family: elements are moved as bits, no arithmetic ever touches them.

An element is an unsigned integer of its own width (a NaN keeps its payload, a zero its sign), a string is its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto

from gather_infer.errors import SpecViolation
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


def gather(data: Constant, indices: Constant, *, axis: int) -> Constant:
    """`data[:axis] + indices + data[axis+1:]`.

    Raises SpecViolation when axis, types or an index are outside what the operator allows.
    https://onnx.ai/onnx/operators/onnx__Gather.html
    """
    rank = data.bits.ndim
    at = _axis(axis, rank)
    index = _in_range(_indices(indices), data.bits.shape[at])
    shape = data.bits.shape[:at] + index.shape + data.bits.shape[at + 1 :]
    return _moved(data, np.take(data.bits, index.reshape(-1), axis=at), shape)


def gather_elements(data: Constant, indices: Constant, *, axis: int) -> Constant:
    """The element of `data` at each index along `axis`; the result has the shape of `indices`.

    Raises SpecViolation as `gather`, and when ranks or the dims off the axis do not fit.
    https://onnx.ai/onnx/operators/onnx__GatherElements.html
    """
    index = _indices(indices)
    rank = data.bits.ndim
    if index.ndim != rank:
        raise SpecViolation(f"data and indices must have the same rank, have {rank} and {index.ndim}", "GI305")
    at = _axis(axis, rank)
    if any(n > data.bits.shape[i] for i, n in enumerate(index.shape) if i != at):
        raise SpecViolation(f"indices {list(index.shape)} is larger than data {list(data.bits.shape)}", "GI301")
    index = _in_range(index, data.bits.shape[at])
    # Off the axis the indices may cover only the first elements of data.
    part = data.bits[tuple(slice(None) if i == at else slice(0, n) for i, n in enumerate(index.shape))]
    return _moved(data, np.take_along_axis(part, index, axis=at), index.shape)


def gather_nd(data: Constant, indices: Constant, *, batch_dims: int = 0) -> Constant:
    """`indices[:-1] + data[batch_dims + k:]`, k the length of the last axis of indices.

    Raises SpecViolation as `gather`, and when the index tuples or the batch dims do not fit.
    https://onnx.ai/onnx/operators/onnx__GatherND.html
    """
    index = _indices(indices)
    shape = data.bits.shape
    if not shape or not index.ndim:
        raise SpecViolation("data and indices must have rank >= 1", "GI305")
    b, k = batch_dims, index.shape[-1]
    if not 0 <= b < min(len(shape), index.ndim) or shape[:b] != index.shape[:b]:
        raise SpecViolation(f"batch_dims = {b} does not fit {list(shape)} and {list(index.shape)}", "GI306")
    if not 1 <= k <= len(shape) - b:
        raise SpecViolation(f"index tuples must have a length in [1, {len(shape) - b}], have {k}", "GI307")
    parts = [_in_range(index[..., j], shape[b + j]) for j in range(k)]
    tuples = index.shape[:-1]
    batch = [
        np.arange(n, dtype=np.int64).reshape((1,) * i + (n,) + (1,) * (len(tuples) - i - 1))
        for i, n in enumerate(shape[:b])
    ]
    found = data.bits[tuple(batch) + tuple(np.broadcast_to(p, tuples) for p in parts)]
    return _moved(data, found, tuples + shape[b + k :])


def array_feature_extractor(data: Constant, indices: Constant) -> Constant:
    """The elements of the last axis at `indices`; `[1, n]` for one-dimensional data.

    Raises SpecViolation for a negative index: runtimes do not take one here.
    https://onnx.ai/onnx/operators/onnx_aionnxml_ArrayFeatureExtractor.html
    """
    index = _indices(indices).reshape(-1)
    if not data.bits.ndim:
        raise SpecViolation("data must have rank >= 1, has rank 0", "GI305")
    size = data.bits.shape[-1]
    if index.size and index.min() < 0:
        raise SpecViolation(f"index {index.min()} is outside [0, {size - 1}]", "GI301")
    found = np.take(data.bits, _in_range(index, size), axis=-1)
    head = data.bits.shape[:-1] or (1,)
    return _moved(data, found, (*head, index.size))


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise SpecViolation(f"axis = {axis} is outside [{-rank}, {rank - 1}], data has rank {rank}", "GI304")
    return axis % rank


def _indices(indices: Constant) -> npt.NDArray[np.int64]:
    numbers = indices.to_indices()
    if numbers is None:
        raise SpecViolation("indices must be int32 or int64", "GI308")
    return numbers


def _in_range(index: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """The index with negative elements counted from the start. Raises SpecViolation for one out of bounds."""
    if index.size:
        for extreme in (int(index.min()), int(index.max())):
            if not -size <= extreme < size:
                raise SpecViolation(f"index {extreme} is outside [{-size}, {size - 1}]", "GI301")
    counted: npt.NDArray[np.int64] = np.where(index < 0, index + size, index)
    return counted


def _moved(data: Constant, bits: object, shape: tuple[int, ...]) -> Constant:
    out: Bits = np.empty(shape, dtype=data.bits.dtype)
    out.reshape(-1)[:] = np.ravel(np.asarray(bits, dtype=data.bits.dtype))
    return Constant(data.data_type, out)
