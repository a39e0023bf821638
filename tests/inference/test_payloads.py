"""How many entries of which field the elements of a constant take (onnx.proto, TensorProto)."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto

from gather_infer import ModelFile
from gather_infer.inference.proto.tensors import payload_fault
from gather_infer.tensor import DType

SIZE = 5
FIELDS = {
    **dict.fromkeys(DType, ("int32_data", SIZE)),
    DType.FLOAT32: ("float_data", SIZE),
    DType.COMPLEX64: ("float_data", 2 * SIZE),
    DType.FLOAT64: ("double_data", SIZE),
    DType.COMPLEX128: ("double_data", 2 * SIZE),
    DType.INT64: ("int64_data", SIZE),
    DType.UINT32: ("uint64_data", SIZE),
    DType.UINT64: ("uint64_data", SIZE),
    DType.STRING: ("string_data", SIZE),
    **dict.fromkeys((DType.INT4, DType.UINT4, DType.FLOAT4E2M1), ("int32_data", 3)),
    **dict.fromkeys((DType.INT2, DType.UINT2), ("int32_data", 2)),
}


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_entries_of_a_constant(dtype: DType) -> None:
    field, needed = FIELDS[dtype]
    file = ModelFile.from_proto(ModelProto())
    for count in range(2 * SIZE + 2):
        tensor = TensorProto(name="t", data_type=int(dtype), dims=[SIZE])
        getattr(tensor, field).extend([b""] * count if dtype is DType.STRING else [0] * count)
        assert (payload_fault(tensor, file) is None) is (count == needed), count
