"""Conversion between tensors and arrays, for the element types of the newest onnx whichever onnx is installed.

An older onnx does not know the newest element types, and returns the elements of bfloat16, of float8 and of integers
below 8 bits in wider types.
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

_NUMPY = frozenset(d for d in DType if d.is_numpy)
_TYPES = frozenset(DType)


def to_array(tensor: TensorProto) -> npt.NDArray[Any]:
    """The elements of `tensor`, whose data is inline, as an array in the dtype that `DType.dtype` returns.

    Raises ValueError or TypeError when the data does not fit the dims, or the element type is not one of ONNX;
    ModuleNotFoundError when the element type needs ml_dtypes, which is not installed.
    """
    if tensor.data_type in _NUMPY or tensor.data_type not in _TYPES:
        array: npt.NDArray[Any] = numpy_helper.to_array(tensor)
        return array
    kind, shape = DType(tensor.data_type), tuple(tensor.dims)
    width = element_bits(tensor.data_type)
    assert width is not None and width <= 16, "the types without a numpy dtype are narrow"
    held = np.dtype("<u2" if width > 8 else "u1")
    if tensor.HasField("raw_data"):
        bits = np.frombuffer(tensor.raw_data, held)
    else:
        bits = np.array(tensor.int32_data, "<i4").astype(held)
    if width < 8 and not tensor.HasField("raw_data") and kind in ONE_PER_ENTRY:
        bits = bits & ((1 << width) - 1)
    elif width < 8:
        elements = int(np.prod(shape, dtype=np.int64))
        if bits.size != (elements * width + 7) // 8:
            raise ValueError(f"{elements} elements of {width} bits do not take {bits.size} bytes")
        bits = unpack(bits, elements, width)
    return np.asarray(bits.view(kind.dtype).reshape(shape))


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
