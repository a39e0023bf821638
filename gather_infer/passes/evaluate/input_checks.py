"""Checks of the constant inputs of evaluators."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from onnx import TensorProto

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import MAX_RANK, Bits, Constant, bits_dtype
from gather_infer.model.wire import MAX_MESSAGE_BYTES
from gather_infer.tensor import DType

MAX_BYTES = MAX_MESSAGE_BYTES
"""Maximum size of a result in bytes: protobuf supports no larger initializer."""

INDEX_TYPES = (TensorProto.INT64, TensorProto.INT32)
INT64_ONLY = (TensorProto.INT64,)


def fits_initializer(data_type: int, shape: Sequence[int]) -> bool:
    """Whether a tensor of this type and shape can be an initializer: numpy limits its rank, protobuf its size."""
    dtype = bits_dtype(data_type)
    assert dtype is not None, "the element type has a numpy type"
    return len(shape) <= MAX_RANK and prod(max(n, 1) for n in shape) * dtype.itemsize <= MAX_BYTES


def reshaped(data: Constant, shape: Sequence[int]) -> list[Constant] | None:
    """The outputs of a node that gives `data` another `shape` with as many elements; None if its rank is too large."""
    if not fits_initializer(data.data_type, shape):
        return None
    return [Constant(data.data_type, data.bits.reshape(tuple(shape)))]


def numbers(tensor: Constant, name: str, types: Sequence[int] = INT64_ONLY) -> list[int] | None:
    """The elements of an integer vector; None for a scalar, which only some runtimes accept as a vector of one element.

    name    the name of the input, for error messages
    types   the allowed element types

    Raises SpecViolation for any other type (GI308 if `types` has several, else GI211), or a rank above 1 (GI305).
    """
    found = tensor.to_indices()
    if found is None or tensor.data_type not in types:
        allowed = " or ".join(DType(t).onnx_name for t in reversed(types))
        raise SpecViolation(f"{name} must be {allowed}", "GI308" if len(types) > 1 else "GI211")
    if found.ndim > 1:
        raise SpecViolation(f"{name} must have rank 1, has rank {found.ndim}: {list(found.shape)}", "GI305")
    return None if found.ndim == 0 else [int(n) for n in found]


def sizes(tensor: Constant, name: str) -> list[int] | None:
    """As `numbers`, for an int64 vector of lengths. Raises SpecViolation for a negative element too."""
    found = numbers(tensor, name)
    for i, size in enumerate(found or ()):
        if size < 0:
            raise SpecViolation(f"element {i} of {name} must be >= 0, is {size}")
    return found


def flags(tensor: Constant, name: str) -> Bits | None:
    """The elements of a bool tensor; None if a byte is neither 0 nor 1, which runtimes interpret differently.

    name    the name of the input, for error messages

    Raises SpecViolation (GI211) for any other element type.
    """
    if tensor.data_type != TensorProto.BOOL:
        raise SpecViolation(f"{name} must be bool", "GI211")
    held = tensor.plain
    return None if held.size and held.max() > 1 else held.astype(bool)


def require_same_type(names: str, *tensors: Constant) -> None:
    """Raise SpecViolation (GI211) unless `tensors` have one element type; the message refers to them as `names`."""
    types = sorted({tensor.data_type for tensor in tensors})
    if len(types) > 1:
        found = " and ".join(DType(t).onnx_name for t in types)
        raise SpecViolation(f"{names} must have one element type, have {found}", "GI211")


def zero(data_type: int) -> object | None:
    """The zero of an element type: bits 0, or b"" for strings; None for FLOAT8E8M0, which has no zero."""
    if data_type == DType.FLOAT8E8M0:
        return None
    return b"" if data_type == TensorProto.STRING else 0
