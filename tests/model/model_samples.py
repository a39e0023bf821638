"""Models for the tests of `gather_infer.model`: large tensors of every data type, in every place that can hold one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, helper, numpy_helper
from onnx.external_data_helper import load_external_data_for_tensor

from gather_infer.model.tensors import iter_tensors
from gather_infer.tensor import DType
from tests.onnx_versions import has_type

LARGE = 1500  # elements: above 1 KiB in every type but the smallest, see `raw`

INFO = helper.make_tensor_value_info
RNG = np.random.default_rng(7)
RAW_TYPES = [TensorProto.DataType.Name(d) for d in DType if d is not DType.STRING and has_type(d)]
# element counts are multiples of 4, so that 2, 4 and 6 bit types fill whole bytes
_BITS = {"UINT2": 2, "INT2": 2, "UINT4": 4, "INT4": 4, "FLOAT4E2M1": 4, "FLOAT6E2M3": 6, "FLOAT6E3M2": 6}


def floats(name: str, count: int = LARGE) -> TensorProto:
    return numpy_helper.from_array(RNG.standard_normal(count).astype(np.float32), name)


def raw(type_name: str, name: str, nbytes: int = 2400) -> TensorProto:
    """A tensor of `nbytes` bytes of raw data, safe to read as any type."""
    data_type = TensorProto.DataType.Value(type_name)
    bits = _BITS.get(type_name) or DType(data_type).dtype.itemsize * 8
    data = bytes(nbytes) if type_name == "BOOL" else RNG.integers(0, 60, nbytes, np.uint8).tobytes()
    return TensorProto(name=name, data_type=data_type, dims=[2, nbytes * 4 // bits], raw_data=data)


def typed(type_name: str, name: str) -> TensorProto:
    """A tensor whose elements are in their typed field."""
    data_type = TensorProto.DataType.Value(type_name)
    values: list[Any] = [i % 2 for i in range(LARGE)]
    if type_name == "STRING":
        values = [f"text {i}" for i in range(LARGE)]
    return helper.make_tensor(name, data_type, [LARGE], values)


_TYPED = (
    DType.FLOAT32, DType.FLOAT64, DType.INT8, DType.INT32, DType.INT64, DType.UINT8, DType.UINT32, DType.UINT64,
    DType.BOOL, DType.FLOAT16, DType.BFLOAT16, DType.COMPLEX64, DType.COMPLEX128, DType.STRING,
)  # fmt: skip
TYPED_TYPES = [TensorProto.DataType.Name(d) for d in _TYPED if has_type(d)]


def sparse(name: str) -> SparseTensorProto:
    indices = numpy_helper.from_array(np.arange(LARGE, dtype=np.int64), f"{name}.indices")
    return helper.make_sparse_tensor(floats(name), indices, [2 * LARGE])


def constant(output: str) -> NodeProto:
    return helper.make_node("Constant", [], [output], name=f"/{output}", value=floats(f"{output}.value"))


def everywhere() -> ModelProto:
    """Large tensors in initializers, attributes, a subgraph of a subgraph, a function and training graphs."""
    inner = helper.make_graph([constant("deep")], "inner", [], [INFO("deep", 1, [LARGE])], [floats("inner_w")])
    branch = helper.make_graph(
        [helper.make_node("If", ["c"], ["deep_out"], then_branch=inner, else_branch=inner)],
        "branch", [], [INFO("deep_out", 1, [LARGE])], [floats("branch_w")],
    )  # fmt: skip
    custom = helper.make_node("Custom", ["x"], ["z"], domain="test", many=[floats("many0"), floats("many1")])
    custom.attribute.append(AttributeProto(name="sp", type=AttributeProto.SPARSE_TENSOR, sparse_tensor=sparse("sp")))
    custom.attribute.append(
        AttributeProto(name="sps", type=AttributeProto.SPARSE_TENSORS, sparse_tensors=[sparse("sp0"), sparse("sp1")])
    )
    custom.attribute.append(AttributeProto(name="gs", type=AttributeProto.GRAPHS, graphs=[inner, branch]))
    body = [constant("k"), helper.make_node("Add", ["a", "k"], ["b"])]
    function = helper.make_function("test", "F", ["a"], ["b"], body, [helper.make_opsetid("", 20)])
    nodes = [
        constant("k"),
        custom,
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("F", ["x"], ["f"], domain="test"),
    ]
    weights = [raw(t, f"raw.{t}") for t in RAW_TYPES] + [typed(t, f"typed.{t}") for t in TYPED_TYPES]
    weights.append(TensorProto(name="small", data_type=1, dims=[2], float_data=[1, 2]))
    weights.append(
        TensorProto(name="said", data_type=3, dims=[2000], raw_data=bytes(2000), data_location=TensorProto.DEFAULT)
    )
    graph = helper.make_graph(
        nodes, "main", [INFO("x", 1, ["N"]), INFO("c", 9, [])], [INFO("y", 1, [LARGE]), INFO("f", 1, None)],
        weights, sparse_initializer=[sparse("sparse_w")],
    )  # fmt: skip
    model = helper.make_model(
        graph, functions=[function], opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("test", 1)]
    )
    info = model.training_info.add()
    info.initialization.CopyFrom(helper.make_graph([constant("i")], "init", [], [INFO("i", 1, [LARGE])]))
    info.algorithm.CopyFrom(helper.make_graph([], "step", [], [], [floats("momentum")]))
    model.metadata_props.add(key="author", value="somebody")
    return model


def with_unknown_fields(model: ModelProto) -> ModelProto:
    """The model with field 1000 set in the model, the graph, a node and a large tensor: written by a newer ONNX."""
    unknown = b"\xc2\x3e\x05hello"
    copy = ModelProto()
    copy.CopyFrom(model)
    for message in (copy.graph.node[0], copy.graph.initializer[0], copy.graph, copy):
        message.MergeFromString(unknown)
    return copy


def with_external_data(model: ModelProto, directory: Path, location: str = "weights.bin") -> ModelProto:
    """The model with its raw initializers in a data file in `directory`."""
    copy = ModelProto()
    copy.CopyFrom(model)
    with open(directory / location, "wb") as file:
        for tensor in copy.graph.initializer:
            if tensor.HasField("raw_data"):
                refer(tensor, location, file.tell(), len(tensor.raw_data))
                file.write(tensor.raw_data)
                tensor.ClearField("raw_data")
    return copy


def refer(tensor: TensorProto, location: str, offset: int | str | None = None, length: int | str | None = None) -> None:
    """Make `tensor` external; its data fields are left as they are."""
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))


def assert_same_values(left: np.ndarray, right: np.ndarray) -> None:
    """To the bit, NaN included."""
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    assert left.tolist() == right.tolist() if left.dtype == object else left.tobytes() == right.tobytes()


def assert_same_tensors(left: ModelProto, right: ModelProto) -> None:
    """Names and values of all tensors, however they are stored."""
    for was, now in zip(iter_tensors(left), iter_tensors(right), strict=True):
        assert was.name == now.name
        assert_same_values(numpy_helper.to_array(was), numpy_helper.to_array(now))


def loaded(path: Path) -> ModelProto:
    """The model with all its data; onnx itself loads none of function bodies before 1.18."""
    model = onnx.load(path)
    for tensor in iter_tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            load_external_data_for_tensor(tensor, str(path.parent))
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]
    return model


def write(model: ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def load(path: Path) -> ModelProto:
    """The whole model as onnx reads it, external data left where it is."""
    return onnx.load(path, load_external_data=False)
