"""Guarded gathers of tables whose axis may be empty: zeros for what is out of bounds, without a copy of the table.

What is expected is gather-8 in numpy: OpenVINO's plugin does not run an axis without elements.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import ModelProto, TensorProto, helper

from gather_infer import convert
from tests.passes.folding_models import model, run

I64 = TensorProto.INT64
KINDS = {"f4": TensorProto.FLOAT, "?": TensorProto.BOOL, "i2": TensorProto.INT16, "O": TensorProto.STRING}


def gathered(data: npt.NDArray[Any], indices: npt.NDArray[np.int64], axis: int, b: int) -> npt.NDArray[Any]:
    """data[:axis] + indices[b:] + data[axis + 1:]; a negative index counts from the end, out of bounds gives zeros."""
    rows = data.shape[axis]
    out = np.full(
        data.shape[:axis] + indices.shape[b:] + data.shape[axis + 1 :], "" if data.dtype == "O" else 0, data.dtype
    )
    for at in np.ndindex(data.shape[:axis]):
        for place in np.ndindex(indices.shape[b:]):
            index = int(indices[at[:b] + place])
            if -rows <= index < rows:
                out[at + place] = data[at][index]
    return out


def guarded(dims: list[Any], picked: list[Any], axis: int, b: int, kind: int, computed: bool = False) -> ModelProto:
    node = helper.make_node("Gather", ["data", "indices", "axis"], ["y"], "g", domain="openvino.opset8", batch_dims=b)
    types = {"data": (kind, dims), "indices": (I64, picked)} | ({"axis": (I64, [])} if computed else {})
    held = {} if computed else {"axis": np.array(axis)}
    return model([node], types, {"y": (kind, None)}, held, opset=21, domains={"openvino.opset8": 8})


def copies(proto: ModelProto) -> list[str]:
    """The operators that copy the table as it is, or transposed."""
    tables = {"data"}
    for node in proto.graph.node:
        if node.op_type in ("Transpose", "Identity", "Reshape") and tables & set(node.input[:1]):
            tables.update(node.output)
    return [n.op_type for n in proto.graph.node if n.op_type in ("Concat", "Pad", "Where") and tables & set(n.input)]


CASES: dict[str, tuple[list[Any], list[Any], int, int]] = {
    # id: dims of data, of indices, axis, batch_dims
    "rows by a vector": (["V", 4], ["N"], 0, 0),
    "rows by a matrix": (["V", 3], ["N", 2], 0, 0),
    "rows by a scalar": (["V", 4], [], 0, 0),
    "the middle axis": (["A", "V", 3], ["N", 2], 1, 0),
    "the last axis": (["A", "V"], ["N"], 1, 0),
    "a batch": (["A", "V", 3], ["A", "N"], 1, 1),
    "behind a batch": (["A", 3, "V", 2], ["A", "N"], 2, 1),
}


TABLES = [(case, dtype) for case in CASES for dtype in KINDS if dtype != "O" or case == "the last axis"]
"""Of strings onnxruntime's Gather takes the first one of each row alone."""


@pytest.mark.parametrize(("case", "dtype"), TABLES)
def test_zeros_without_a_copy_of_the_table(case: str, dtype: str) -> None:
    dims, picked, axis, b = CASES[case]
    proto = convert(guarded(dims, picked, axis, b, KINDS[dtype])).proto
    assert copies(proto) == []
    random = np.random.default_rng(3)
    for rows, count, others in ((0, 3, 2), (1, 5, 2), (5, 7, 3), (0, 0, 2), (4, 0, 1), (3, 4, 0), (0, 2, 0)):
        sizes = {"V": rows, "N": count, "A": others}
        data = random.integers(1, 99, [sizes.get(dim, dim) for dim in dims]).astype(str if dtype == "O" else dtype)
        data = data.astype(dtype)
        indices = random.integers(-rows - 2, rows + 2, [sizes.get(dim, dim) for dim in picked])
        (found,) = run(proto, {"data": data, "indices": np.asarray(indices)})
        expected = gathered(data, np.asarray(indices), axis, b)
        assert found.shape == expected.shape and found.tolist() == expected.tolist(), sizes


def test_a_small_table_is_copied() -> None:
    """A table with no more rows than there are indices: to copy it costs less than to copy what is gathered."""
    assert copies(convert(guarded(["N", 4], ["N"], 0, 0, KINDS["f4"])).proto) == ["Concat"]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_computed_axis_of_a_table_with_elements(axis: int) -> None:
    """No dim is 0, so that there is a row to take whatever the axis is."""
    made = guarded(["V", "W"], ["N"], axis, 0, KINDS["f4"], computed=True)
    assert copies(convert(made).proto) == ["Concat"]
    proto = convert(made, dims=["V=1..", "W=1.."]).proto
    assert copies(proto) == []
    data = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    for indices in (np.array([0, -1, 4, -5, 2, 3, -4, 9]), np.zeros(0, np.int64)):
        feeds = {"data": data, "indices": indices, "axis": np.array(axis)}
        assert np.array_equal(run(proto, feeds)[0], gathered(data, indices, axis % 2, 0))


ONE_INDEX: dict[str, tuple[list[Any], int]] = {
    # id: (dims of data, axis)
    "a vector": (["V"], 0),
    "the first axis": (["V", 3], 0),
    "the middle axis": (["A", "V", 3], 1),
    "the last axis": ([2, 3, "V"], 2),
    "all dims": (["A", "V", "B", "V"], -1),
}
TYPES = {
    "f2": TensorProto.FLOAT16,
    "f4": TensorProto.FLOAT,
    "f8": TensorProto.DOUBLE,
    "?": TensorProto.BOOL,
    "i1": TensorProto.INT8,
    "i2": TensorProto.INT16,
    "i4": TensorProto.INT32,
    "i8": I64,
    "u1": TensorProto.UINT8,
    "u2": TensorProto.UINT16,
    "u4": TensorProto.UINT32,
    "u8": TensorProto.UINT64,
}


def one_index(dims: list[Any], axis: int, kind: int, index: npt.NDArray[np.int64]) -> ModelProto:
    node = helper.make_node("Gather", ["data", "index", "axis"], ["y"], "g", domain="openvino.opset8")
    held = {"index": index, "axis": np.array(axis)}
    return model([node], {"data": (kind, dims)}, {"y": (kind, None)}, held, opset=21, domains={"openvino.opset8": 8})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", ONE_INDEX)
def test_one_constant_index(case: str, dtype: str) -> None:
    """A Slice, a Pad and a Gather give the bits of the row, and zeros where the axis is too short for the index."""
    dims, axis = ONE_INDEX[case]
    for index in (np.array(0), np.array(2), np.array(-1), np.array(-2), np.array([1]), np.array([[-3]])):
        proto = convert(one_index(dims, axis, TYPES[dtype], index)).proto
        assert {"Slice", "Pad", "Gather"} <= {n.op_type for n in proto.graph.node} <= {"Slice", "Pad", "Gather", "Cast"}
        for rows, others in ((0, 2), (1, 3), (2, 1), (3, 2), (5, 0), (7, 2)):
            sizes = [{"V": rows, "A": others, "B": 2}.get(dim, dim) for dim in dims]
            data = extremes(dtype, sizes)
            (found,) = run(proto, {"data": data})
            expected = gathered(data, index, axis % len(dims), 0)
            assert found.dtype == expected.dtype and found.shape == expected.shape
            assert found.tobytes() == expected.tobytes(), (index, rows)


def extremes(dtype: str, sizes: list[int]) -> npt.NDArray[Any]:
    """A tensor of numbers that sums or wider types would change: -0.0, NaN, infinities, the ends of integer types."""
    if dtype[0] == "f":
        numbers = np.array([-0.0, np.nan, np.inf, -np.inf, 1.5, np.finfo(dtype).tiny, np.finfo(dtype).max], dtype)
    elif dtype == "?":
        numbers = np.array([True, False, True])
    else:
        ends = np.iinfo(dtype)
        numbers = np.array([ends.max, ends.min, ends.max - 1, 1, ends.max // 2 + 1], dtype)
    return np.resize(numbers, sizes)


def test_openvino_gives_these_elements() -> None:
    """The plugin on an axis that is too short for the index, of a size it runs: 1."""
    code = (
        "import numpy as np, openvino as ov; from openvino import opset8 as o\n"
        "for index in (0, 1, -1, -2):\n"
        "    x = o.parameter([-1, -1], np.float32)\n"
        "    made = ov.Model([o.gather(x, o.constant(np.int64(index)), o.constant(np.int64(1)))], [x])\n"
        "    data = np.array([[-0.0], [2.5]], np.float32)\n"
        "    print(list(ov.Core().compile_model(made, 'CPU')([data]).values())[0].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split("\n")[:4] == ["[-0.0, 2.5]", "[0.0, 0.0]", "[-0.0, 2.5]", "[0.0, 0.0]"]
