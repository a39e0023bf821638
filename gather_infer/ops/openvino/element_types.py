"""Element types of OpenVINO by their names in IR files."""

from __future__ import annotations

from typing import Final

from gather_infer.tensor import DType

ELEMENT_TYPES: Final = {
    "f32": DType.FLOAT32, "f16": DType.FLOAT16, "f64": DType.FLOAT64, "bf16": DType.BFLOAT16, "boolean": DType.BOOL,
    "i8": DType.INT8, "i16": DType.INT16, "i32": DType.INT32, "i64": DType.INT64, "u8": DType.UINT8,
    "u16": DType.UINT16, "u32": DType.UINT32, "u64": DType.UINT64, "string": DType.STRING, "u4": DType.UINT4,
    "i4": DType.INT4, "f8e4m3": DType.FLOAT8E4M3FN, "f8e5m2": DType.FLOAT8E5M2,
}  # fmt: skip
"""OpenVINO types that ONNX has at opset 21. OpenVINO and ONNX both pack the first 4-bit element in the low bits."""

NON_ONNX_BITS: Final = {"u1": 1, "u2": 2, "u3": 3, "u6": 6, "nf4": 4, "f4e2m1": 4, "f8e8m0": 8}
"""Bits per element of OpenVINO types that ONNX lacks, or has only in opsets newer than runtimes support."""
