"""OpenVINO's element types: names in the IR, numbers in ONNX, size in bytes.

https://docs.openvino.ai/2026/documentation/openvino-ir-format.html
"""

from __future__ import annotations

from typing import Final

from onnx import TensorProto

from gather_infer.errors import ModelReadError
from gather_infer.tensor import DType

DYNAMIC: Final = "dynamic"
"""Unknown element type."""

STRING: Final = "string"

_ONNX: Final = {
    "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
    "i8": TensorProto.INT8, "i16": TensorProto.INT16, "i32": TensorProto.INT32, "i64": TensorProto.INT64,
    "u8": TensorProto.UINT8, "u16": TensorProto.UINT16, "u32": TensorProto.UINT32, "u64": TensorProto.UINT64,
    "boolean": TensorProto.BOOL, "string": TensorProto.STRING,
    "f8e4m3": TensorProto.FLOAT8E4M3FN, "f8e5m2": TensorProto.FLOAT8E5M2, "u4": TensorProto.UINT4,
    "i4": TensorProto.INT4,
}  # fmt: skip
"""OpenVINO's name -> number in TensorProto, for the types that ONNX has at the opset of the reader's models.

u2, f4e2m1 and f8e8m0 came later. Where several elements share a byte, the first element is in the low bits.
"""

_LATER_OPSETS: Final = {"f4e2m1": int(DType.FLOAT4E2M1), "f8e8m0": int(DType.FLOAT8E8M0)}
"""OpenVINO's name -> number in TensorProto, for types of later opsets, with which inputs are declared."""

_BITS: Final = {
    **dict.fromkeys(("f64", "i64", "u64"), 64),
    **dict.fromkeys(("f32", "i32", "u32"), 32),
    **dict.fromkeys(("f16", "bf16", "i16", "u16"), 16),
    **dict.fromkeys(("i8", "u8", "boolean", "f8e4m3", "f8e5m2", "f8e8m0"), 8),
    **dict.fromkeys(("u4", "i4", "nf4", "f4e2m1"), 4),
    "u6": 6, "u3": 3, "u2": 2, "u1": 1,
}  # fmt: skip

_BLOCK_BYTES: Final = {"u3": 3, "u6": 3}
"""Type -> bytes per block, for types stored in whole blocks: 8 elements of u3, 4 of u6."""

_PRECISIONS: Final = {
    "fp64": "f64", "fp32": "f32", "fp16": "f16", "bin": "u1", "bool": "boolean", "undefined": DYNAMIC,
    "unspecified": DYNAMIC, "mixed": DYNAMIC, "custom": DYNAMIC,
}  # fmt: skip
"""`precision` of a port in lower case -> name of the type, where the two differ."""

_INTEGERS: Final = frozenset(("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"))


def element_of(text: str) -> str:
    """OpenVINO's name of the type in an `element_type` or a `precision`: `f32` for both `f32` and `FP32`.

    Raises ModelReadError for a type that OpenVINO does not have.
    """
    name = text.strip().lower()
    name = _PRECISIONS.get(name, name)
    if name not in _ONNX and name not in _BITS and name != DYNAMIC:
        raise ModelReadError(f"element type {text!r} is not known")
    return name


def onnx_type(element: str) -> int | None:
    """The number in TensorProto of the type with OpenVINO's name `element`; None if ONNX lacks the type."""
    return _ONNX.get(element)


def input_type(element: str) -> int | None:
    """As `onnx_type`, for inputs: includes the types that ONNX has only in later opsets."""
    return onnx_type(element) or _LATER_OPSETS.get(element)


def lacks_onnx_type(element: str) -> bool:
    """Whether the type `element` is known and ONNX lacks it at the opset of the reader's models."""
    return element not in _ONNX and element != DYNAMIC


def is_integer(element: str) -> bool:
    """Whether the type `element` is allowed for shapes, axes and indices."""
    return element in _INTEGERS


def packed_bytes(element: str, count: int) -> int:
    """Size in the .bin of `count` elements of type `element`, in bytes; not for strings."""
    bits = _BITS[element]
    block = _BLOCK_BYTES.get(element, 1)
    return -(-count * bits // (8 * block)) * block
