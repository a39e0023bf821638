"""How many entries of which field the elements of a constant take (onnx.proto, TensorProto)."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto

from gather_infer import ModelFile
from gather_infer.inference.proto.tensors import MAX_FLOAT_VALUES, from_tensor, payload_fault
from gather_infer.model.external import raw_nbytes
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


READ = {
    # element types of which the elements are told
    *(dtype for dtype in DType if dtype.is_integer),
    *(DType.BOOL, DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16),
}


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.STRING], ids=str)
def test_elements_of_a_constant(dtype: DType) -> None:
    file = ModelFile.from_proto(ModelProto())
    for count in (1, MAX_FLOAT_VALUES, MAX_FLOAT_VALUES + 1):
        tensor = TensorProto(name="t", data_type=int(dtype), dims=[count])
        tensor.raw_data = b"\0" * raw_nbytes(tensor)
        found = from_tensor(tensor, file)
        assert (found.dtype, found.shape) == (dtype, (count,))
        is_told = dtype in READ and (count <= MAX_FLOAT_VALUES or not dtype.is_float)
        assert (found.values is not None) is is_told, count
        assert found.values is None or list(found.values) == [0] * count
