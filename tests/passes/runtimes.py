"""One node, evaluated by us and by the runtimes, compared bit for bit."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as state

from gather_infer.ir.constant import Constant, bits_dtype, strings
from gather_infer.passes.evaluate import Evaluation, evaluator_of
from gather_infer.tensor import DType, dtype_of_array
from tests.onnx_versions import has_onnx, has_type

NEWEST = onnx.defs.onnx_opset_version()
OPSETS = (7, 9, 10, 11, 13, 14, 15, 18, 21, NEWEST)

Raw = tuple[int, tuple[int, ...], bytes | list[bytes]]
"""Element type, shape, bits."""


SUB_BYTE: dict[int, int] = {
    # element type: bits
    DType.INT4: 4, DType.UINT4: 4, DType.INT2: 2, DType.UINT2: 2, DType.FLOAT4E2M1: 4, DType.FLOAT6E2M3: 6,
    DType.FLOAT6E3M2: 6,
}  # fmt: skip


def of(data_type: int, array: Any) -> Constant:
    """An array of the numpy type that onnx has for an element type; of strings, of bytes objects."""
    if data_type == T.STRING:
        return strings(list(np.ravel(np.array(array, dtype=object))), np.shape(array))
    dtype = bits_dtype(data_type)
    assert dtype is not None
    with np.errstate(all="ignore"):
        numbers = np.array(array).astype(DType(data_type).dtype)
    return Constant(data_type, _masked(data_type, numbers.view(dtype)))


def _masked(data_type: int, bits: Any) -> Any:
    """The bits of an element alone where it does not fill a byte."""
    return bits & np.uint8((1 << SUB_BYTE[data_type]) - 1) if data_type in SUB_BYTE else bits


def raw(constant: Constant) -> Raw:
    bits = constant.bits
    return constant.data_type, bits.shape, list(bits.flat) if bits.dtype.hasobject else bits.tobytes()


def node_of(op: str, inputs: Sequence[Constant | None], attributes: Mapping[str, Any], outputs: int = 1) -> Any:
    names = ["" if c is None else f"i{n}" for n, c in enumerate(inputs)]
    return helper.make_node(op, names, [f"o{n}" for n in range(outputs)], **attributes)


def ours(
    op: str, inputs: Sequence[Constant | None], version: int, attributes: Mapping[str, Any] | None = None
) -> list[Constant] | None:
    """The result of our evaluator; the test fails when there is none."""
    assert evaluator_of("", op, version) is not None, f"{op} has no evaluator at {version}"
    return ours_if_any(op, inputs, version, attributes or {})


def ours_if_any(
    op: str, inputs: Sequence[Constant | None], version: int, attributes: Mapping[str, Any], outputs: int = 1
) -> list[Constant] | None:
    """The result of our evaluator, None when there is none."""
    evaluator = evaluator_of("", op, version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        node = node_of(op, inputs, attributes, outputs)
        return None if evaluator is None else evaluator(Evaluation(node, inputs, version))


def model_of(
    op: str, inputs: Sequence[Constant | None], version: int, attributes: Mapping[str, Any], types: Sequence[int]
) -> onnx.ModelProto:
    node = node_of(op, inputs, attributes, len(types))
    outputs = [helper.make_tensor_value_info(name, t, None) for name, t in zip(node.output, types, strict=True)]
    tensors = [c.to_tensor(f"i{n}") for n, c in enumerate(inputs) if c is not None]
    graph = helper.make_graph([node], "g", [], outputs, tensors)
    ir_version = 10 if version < 23 else 11 if version < 25 else 12
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=ir_version)


def by_onnxruntime(model: onnx.ModelProto) -> list[Raw] | None:
    """Its results, its optimiser off; None when it has no kernel, or does not know the opset."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        values = session.run_with_ort_values(None, {})
    except (state.Fail, state.NotImplemented, state.InvalidGraph, state.InvalidArgument, state.RuntimeException):
        return None
    return [_of_value(v) for v in values]


def _of_value(value: Any) -> Raw:
    shape = tuple(value.shape())
    if value.element_type() == T.STRING:
        return T.STRING, shape, [str(s).encode() for s in value.numpy().flat]
    data_type, size = value.element_type(), value.tensor_size_in_bytes()
    data = ctypes.string_at(value.data_ptr(), size) if size else b""
    if data_type in SUB_BYTE:
        width = SUB_BYTE[data_type]
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[: width * int(np.prod(shape))]
        data = np.packbits(bits.reshape(-1, width), axis=1, bitorder="little").tobytes()
    return data_type, shape, data


REFERENCE_RIGHT_SINCE = {
    # operator whose result was wrong in older releases: the first tested release of onnx in which it is right
    "TopK": "1.18", "CumSum": "1.18", "Div": "1.21", "OneHot": "1.23", "ScatterElements": "1.23",
}  # fmt: skip


def by_reference(model: onnx.ModelProto) -> list[Raw] | None:
    """The results of onnx's reference evaluator; None when it fails, or an old one is wrong."""
    if not all(has_type(DType(t.data_type)) for t in model.graph.initializer):
        return None
    if not all(has_onnx(REFERENCE_RIGHT_SINCE.get(node.op_type, "1.16")) for node in model.graph.node):
        return None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = ReferenceEvaluator(model).run(None, {})
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, AttributeError):
        return None
    arrays = [np.asarray(v) for v in values]
    return None if any(dtype_of_array(a.dtype) is None for a in arrays) else [of_array(a) for a in arrays]


def of_array(array: Any) -> Raw:
    if array.dtype.kind in "OUS":
        return T.STRING, array.shape, [str(s).encode() for s in array.flat]
    known = dtype_of_array(array.dtype)
    assert known is not None, array.dtype
    data_type = int(known)
    plain = array.view("u1") if data_type in SUB_BYTE else array
    return data_type, array.shape, np.ascontiguousarray(_masked(data_type, plain)).tobytes()


def admitted(op: str, version: int, position: int = 0) -> list[int]:
    """The element types of an input at a version that constants are held in, by the operator's schema.

    Without the types that an old onnx does not read: its reference evaluator may be the only judge.
    """
    schema = onnx.defs.get_schema(op, version)
    formal = schema.inputs[min(position, len(schema.inputs) - 1)]
    names = sorted(t for t in formal.types if t.startswith("tensor("))
    types = [_data_type(name[len("tensor(") : -1]) for name in names]
    return [t for t in types if bits_dtype(t) is not None and has_type(DType(t))]


def _data_type(name: str) -> int:
    return int(T.DataType.Value(name.upper()))


def versions(op: str, least: int) -> Iterator[int]:
    """The first of OPSETS at which each version of an operator is in force."""
    seen = set()
    for version in OPSETS:
        if version >= least and onnx.defs.has(op):
            try:
                since = onnx.defs.get_schema(op, version).since_version
            except onnx.defs.SchemaError:
                continue
            if since not in seen:
                seen.add(since)
                yield version
