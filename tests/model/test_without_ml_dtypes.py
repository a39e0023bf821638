"""Models with bfloat16, float8 and 4-bit constants where ml_dtypes is not installed, as with an onnx before 1.19."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from onnx import TensorProto, helper

import gather_infer
from gather_infer import ModelReadError, tensor
from gather_infer.model import ModelFile
from gather_infer.model.external import element_bits
from gather_infer.tensor import DType, SymbolicTensor

NARROW = [d for d in DType if not d.is_numpy]


@pytest.fixture
def without_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    tensor._has_ml_dtypes.cache_clear()
    yield
    tensor._has_ml_dtypes.cache_clear()


@pytest.mark.usefixtures("without_ml_dtypes")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_types_and_shapes_are_known_and_elements_are_not(dtype: DType) -> None:
    constant = TensorProto(name="k", data_type=int(dtype), dims=[8])
    bits = element_bits(int(dtype))
    assert bits is not None
    constant.raw_data = bytes(bits)
    nodes = [helper.make_node("Cast", ["k"], ["y"], to=TensorProto.FLOAT)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [], [output], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=14)
    inference = gather_infer.infer(model)
    assert inference.diagnostics == ()
    known = inference["k"]
    assert isinstance(known, SymbolicTensor)
    assert (known.dtype, known.shape, known.values) == (dtype, (8,), None)
    assert str(inference["y"]).startswith("float32[8]")
    gather_infer.fold(model)
    gather_infer.optimize(model)
    with pytest.raises(ModelReadError, match="needs the package ml_dtypes"):
        ModelFile.from_proto(model).tensor(constant)
