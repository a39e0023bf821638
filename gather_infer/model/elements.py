"""Conversion between tensors and arrays, for the element types of the newest onnx whichever onnx is installed.

An older onnx does not know the newest element types, returns the elements of bfloat16, of float8 and of integers below
8 bits in other types, and does not read complex numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, numpy_helper

from gather_infer.model.external import element_bits
from gather_infer.model.packing import pack, unpack
from gather_infer.tensor import DType, dtype_of_array

ONE_PER_ENTRY = (DType.FLOAT6E2M3, DType.FLOAT6E3M2)
"""Types narrower than a byte whose elements are stored one per entry of `int32_data`, not packed into bytes."""

_TYPES = frozenset(DType)


def to_array(tensor: TensorProto) -> npt.NDArray[Any]:
    """The elements of `tensor`, whose data is inline, as an array in the dtype that `DType.dtype` returns.

    Raises ValueError or TypeError when the data does not fit the dims, or the element type is not one of ONNX;
    ModuleNotFoundError when the element type needs ml_dtypes, which is not installed.
    """
    if tensor.data_type == DType.STRING or tensor.data_type not in _TYPES:
        array: npt.NDArray[Any] = numpy_helper.to_array(tensor)
        return array
    kind, shape = DType(tensor.data_type), tuple(tensor.dims)
    width = element_bits(kind)
    assert width is not None, "only strings have no width"
    is_raw = tensor.HasField("raw_data")
    bits = np.frombuffer(tensor.raw_data, np.uint8) if is_raw else _typed(tensor, kind, width)
    if width < 8 and (is_raw or kind not in ONE_PER_ENTRY):
        elements = int(np.prod(shape, dtype=np.int64))
        if bits.size != (elements * width + 7) // 8:
            raise ValueError(f"{elements} elements of {width} bits do not take {bits.size} bytes")
        bits = unpack(bits, elements, width)
    return bits.view(kind.dtype.newbyteorder("<") if kind.is_numpy else kind.dtype).reshape(shape)


def _typed(tensor: TensorProto, kind: DType, width: int) -> npt.NDArray[Any]:
    """The elements in the typed field of `tensor`, as in raw data; those narrower than a byte are not unpacked."""
    match kind:
        case DType.FLOAT32 | DType.COMPLEX64:
            return np.array(tensor.float_data, "<f4")
        case DType.FLOAT64 | DType.COMPLEX128:
            return np.array(tensor.double_data, "<f8")
        case DType.INT64:
            return np.array(tensor.int64_data, "<i8")
        case DType.UINT32 | DType.UINT64:
            return np.array(tensor.uint64_data, "<u8").astype(f"<u{width // 8}")
    held = np.array(tensor.int32_data, "<i4").astype(f"<u{max(width, 8) // 8}")
    return held & ((1 << width) - 1) if kind in ONE_PER_ENTRY else held


def from_array(array: npt.NDArray[Any], name: str = "") -> TensorProto:
    """The elements of `array` as a tensor with raw data, or with string data; the reverse of `to_array`."""
    kind = dtype_of_array(array.dtype)
    if kind is None or kind.is_numpy:
        tensor: TensorProto = numpy_helper.from_array(array, name)
        return tensor
    width = element_bits(kind)
    assert width is not None, "only strings have no width"
    plain = np.ascontiguousarray(array)
    raw = pack(plain.reshape(-1), width) if width < 8 else plain.tobytes()
    return TensorProto(name=name, data_type=int(kind), dims=array.shape, raw_data=raw)
