"""Constants of every element type, raw and typed: their elements are those that onnx reads, and what lacks some is found."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from gather_infer import infer
from gather_infer.tensor import DType, SymbolicTensor
from tests.inference.models import graph, node

LISTS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
DIMS: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2), (0,), (5, 0))


def constant(dtype: DType, dims: tuple[int, ...], raw: bool) -> TensorProto:
    size = int(np.prod(dims))
    if dtype is DType.STRING:
        return TensorProto(name="k", data_type=int(dtype), dims=dims, string_data=[b"a"] * size)
    made = helper.make_tensor("k", int(dtype), dims, [k % 2 for k in range(size)])
    return made if not raw else numpy_helper.from_array(numpy_helper.to_array(made), "k")


def found(tensor: TensorProto) -> tuple[set[str], SymbolicTensor]:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.initializer.append(tensor)
    inference = infer(proto)
    fact = inference["k"]
    assert isinstance(fact, SymbolicTensor)
    return {d.code for d in inference.diagnostics}, fact


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("dtype", DType, ids=str)
def test_a_constant_is_what_onnx_reads(dtype: DType, raw: bool) -> None:
    for dims in DIMS:
        tensor = constant(dtype, dims, raw)
        codes, fact = found(tensor)
        assert (codes, fact.dtype, fact.shape) == (set(), dtype, dims)
        if dtype.is_integer or dtype is DType.BOOL:
            expected = numpy_helper.to_array(tensor)
            assert fact.values is not None and fact.values.shape == dims
            assert [int(v) for v in fact.values.flat] == [int(v) for v in expected.flat]


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("dtype", DType, ids=str)
def test_a_constant_with_an_element_too_many_or_too_few_is_broken(dtype: DType, raw: bool) -> None:
    for dims in DIMS:
        for more in (True, False):
            tensor = constant(dtype, dims, raw)
            if tensor.HasField("raw_data"):
                data = tensor.raw_data
                if not more and not data:
                    continue
                tensor.raw_data = data + b"\0" if more else data[:-1]
            else:
                name = next((n for n in LISTS if len(getattr(tensor, n))), "")
                entries = getattr(tensor, name) if name else []
                if not entries:
                    continue
                if more:
                    entries.append(entries[0])
                else:
                    entries.pop()
            codes, fact = found(tensor)
            assert (codes, fact) == ({"GI204"}, SymbolicTensor()), (dims, more)
