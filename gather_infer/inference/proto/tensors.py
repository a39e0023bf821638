"""Facts of constant tensors: type and shape always, elements only where a shape may depend on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import SparseTensorProto, TensorProto

from gather_infer.model import ModelFile
from gather_infer.model.external import raw_nbytes
from gather_infer.tensor import MAX_VALUES_RANK, DType, SymbolicTensor, ValueRange, holds_values

MAX_FLOAT_VALUES: Final = 64
"""Maximal number of elements of a float constant that is read: scales of a Resize, limits of a Range, not weights."""

MAX_RANGE_BYTES: Final = 1 << 20
"""Maximal bytes of an int32 or int64 constant that is read for its value range: tables of positions, not weights."""

_DTYPES: dict[int, DType] = {int(d): d for d in DType}
_READ_FLOATS: Final = frozenset({DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16})
_PER_ENTRY: Final[dict[DType, int]] = {
    **dict.fromkeys((DType.INT4, DType.UINT4, DType.FLOAT4E2M1), 2),
    **dict.fromkeys((DType.INT2, DType.UINT2), 4),
}
"""Number of elements per entry of int32_data, for types that pack several (onnx.proto, TensorProto.int32_data)."""


def payload_fault(tensor: TensorProto, model: ModelFile) -> str | None:
    """Message for an error in the dims, type or payload length of a constant; None when there is none.

    The payload itself is not read, and external data is checked only when its elements are needed.
    """
    dims = tensor.dims[:]
    if dims and min(dims) < 0:
        return f"dims must be >= 0, are {dims}"
    size = math.prod(dims)
    dtype = _DTYPES.get(tensor.data_type)
    if dtype is None:
        return f"element type {tensor.data_type} is not one of ONNX"
    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    if dtype is DType.STRING:
        return None if len(tensor.string_data) == size else _elements(size, len(tensor.string_data))
    if tensor.HasField("raw_data"):
        needed, found = raw_nbytes(tensor), len(tensor.raw_data)
        return None if found == needed else f"{dtype}{list(tensor.dims)} needs {needed} bytes of data, found {found}"
    return _typed_fault(tensor, dtype, size)


def _typed_fault(tensor: TensorProto, dtype: DType, size: int) -> str | None:
    match dtype:
        case DType.FLOAT32:
            found, needed = len(tensor.float_data), size
        case DType.COMPLEX64:
            found, needed = len(tensor.float_data), 2 * size
        case DType.FLOAT64:
            found, needed = len(tensor.double_data), size
        case DType.COMPLEX128:
            found, needed = len(tensor.double_data), 2 * size
        case DType.INT64:
            found, needed = len(tensor.int64_data), size
        case DType.UINT32 | DType.UINT64:
            found, needed = len(tensor.uint64_data), size
        case _:
            found, needed = len(tensor.int32_data), -(-size // _PER_ENTRY.get(dtype, 1))
    return None if found == needed else _elements(needed, found)


def _elements(needed: int, found: int) -> str:
    return f"the dims require {needed} elements of data, found {found}"


def from_tensor(tensor: TensorProto, model: ModelFile) -> SymbolicTensor:
    """The facts of a constant in which `payload_fault` found no error; see `constant_fact`.

    Raises ModelReadError when its external data is missing.
    """
    dtype = _DTYPES.get(tensor.data_type)
    shape = tuple(tensor.dims)
    if dtype is None or model.has_no_directory(tensor):
        return SymbolicTensor(dtype, shape)
    return constant_fact(dtype, shape, lambda: _read(tensor, model))


def constant_fact(dtype: DType, shape: tuple[int, ...], read: Callable[[], npt.NDArray[Any]]) -> SymbolicTensor:
    """The facts of a constant: dtype and shape, and, within the size limits, its elements or their value range.

    read   returns all elements; called only if they are needed
    """
    if dtype is DType.STRING or not dtype.has_dtype or len(shape) > MAX_VALUES_RANK:
        return SymbolicTensor(dtype, shape)
    if dtype.is_integer or dtype is DType.BOOL:
        if holds_values(shape):
            return _from_array(dtype, read())
        width = {DType.INT32: 4, DType.INT64: 8}.get(dtype)
        if width is not None and 0 < width * prod(shape) <= MAX_RANGE_BYTES:
            array = read()
            return SymbolicTensor(dtype, shape, value_range=ValueRange(int(array.min()), int(array.max())))
    elif dtype in _READ_FLOATS and holds_values(shape) and prod(shape) <= MAX_FLOAT_VALUES:
        return _from_array(dtype, read())
    return SymbolicTensor(dtype, shape)


def sparse_fault(sparse: SparseTensorProto) -> str | None:
    """Message for an error in the dims or type of a sparse constant; None when there is none."""
    if any(dim < 0 for dim in sparse.dims):
        return f"dims must be >= 0, are {list(sparse.dims)}"
    if sparse.values.data_type not in _DTYPES:
        return f"element type {sparse.values.data_type} is not one of ONNX"
    return None


def _read(tensor: TensorProto, model: ModelFile) -> npt.NDArray[Any]:
    if tensor.data_type == TensorProto.INT64 and tensor.HasField("raw_data"):  # fast path for the most frequent case
        return np.frombuffer(tensor.raw_data, "<i8").reshape(tuple(tensor.dims))
    return model.tensor(tensor)


def _from_array(dtype: DType, array: npt.NDArray[Any]) -> SymbolicTensor:
    if array.dtype.kind not in "iufb":  # bfloat16 and 2- and 4-bit integers have dtypes of ml_dtypes
        array = array.astype(np.float32 if dtype is DType.BFLOAT16 else np.int64)
    return SymbolicTensor(dtype, array.shape, array.astype(object))
