"""The gather family evaluated on true bits, against onnxruntime and against the definition element by element."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from gather_infer.errors import SpecViolation
from gather_infer.ir import constant
from gather_infer.ir.constant import Constant, bits_dtype, read_attribute, read_tensor
from gather_infer.model import ModelFile
from gather_infer.passes.evaluate import gather
from gather_infer.tensor import DType
from tests.onnx_versions import require_type

MODEL = ModelFile.from_proto(helper.make_model(helper.make_graph([], "empty", [], [])))

TYPES = (
    "FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL", "STRING", "COMPLEX64", "COMPLEX128",
    "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
)  # fmt: skip
SPECIAL: dict[str, Any] = {
    # bits that a conversion would change: -0.0, infinity, quiet and signalling NaNs with payloads, subnormals
    "FLOAT": [0x80000000, 0x7F800000, 0x7FC0BEEF, 0x7F80BEEF, 0xFFC00001, 1],
    "DOUBLE": [1 << 63, 0x7FF0 << 48, (0x7FF8 << 48) | 0xBEEF, (0x7FF0 << 48) | 0xBEEF, 1],
    "FLOAT16": [0x8000, 0x7C00, 0x7E0F, 0x7C0F, 1],
    "BFLOAT16": [0x8000, 0x7F80, 0x7FCF, 0x7F8F, 1],
    "INT64": [1 << 63, (1 << 63) - 1, (1 << 53) + 1],
    "UINT64": [(1 << 64) - 1, (1 << 53) + 1],
    "COMPLEX64": [(0x7FC0BEEF << 32) | 0x80000000],
}
NOT_IN_ORT = {"COMPLEX64", "COMPLEX128", "BFLOAT16", "STRING"}
"""Gather of string rows is wrong in onnxruntime 1.31: it copies the first string of each row only."""


def sample(type_name: str, shape: tuple[int, ...]) -> Constant:
    """A constant of the type with every special bit pattern in it."""
    data_type = TensorProto.DataType.Value(type_name)
    size = int(np.prod(shape))
    rng = np.random.default_rng(size)
    if type_name == "STRING":
        words = [b"", b"word", "größer".encode(), b"\x00x", b"a much longer string than the others"]
        return constant.strings([words[i % len(words)] for i in range(size)], shape)
    dtype = bits_dtype(data_type)
    assert dtype is not None
    raw = rng.integers(0, 2 if type_name == "BOOL" else 256, size * dtype.itemsize, dtype=np.uint8)
    bits = raw.tobytes()
    for i, pattern in enumerate(SPECIAL.get(type_name, [])[:size]):
        at = i * dtype.itemsize
        bits = bits[:at] + pattern.to_bytes(dtype.itemsize, "little") + bits[at + dtype.itemsize :]
    return Constant(data_type, np.frombuffer(bits, dtype).reshape(shape))


def indices(values: Any, data_type: int = TensorProto.INT64) -> Constant:
    array = np.array(values, dtype="<i8" if data_type == TensorProto.INT64 else "<i4")
    dtype = bits_dtype(data_type)
    assert dtype is not None
    return Constant(data_type, array.view(dtype))


def raw(constant: Constant) -> tuple[tuple[int, ...], Any]:
    held = constant.bits
    return held.shape, list(held.flat) if held.dtype.hasobject else held.tobytes()


CASES: dict[str, Any] = {
    # id:                        (op,               data,      indices,                    attributes)
    "rows":                      ("Gather",         (4, 3),    [[0, 3], [1, 1]],           {}),
    "negative, last axis":       ("Gather",         (2, 5),    [-1, -5, 4],                {"axis": -1}),
    "scalar index":              ("Gather",         (6, 2),    3,                          {"axis": 0}),
    "scalar result":             ("Gather",         (7,),      -7,                         {"axis": 0}),
    "middle axis":               ("Gather",         (2, 3, 4), [[2], [0]],                 {"axis": 1}),
    "no indices":                ("Gather",         (3, 2),    np.zeros((0, 2), "<i8"),    {"axis": 0}),
    "elements":                  ("GatherElements", (3, 4),    [[0, -1, 3], [2, 2, -4]],   {"axis": 1}),
    "elements, axis 0":          ("GatherElements", (3, 4),    [[0, -1], [2, 2], [1, 0], [1, 1]], {"axis": 0}),
    "tuples":                    ("GatherND",       (3, 4, 2), [[0, -1], [2, 3]],          {}),
    "full tuples":               ("GatherND",       (3, 4),    [[0, -1], [2, 3]],          {}),
    "one full tuple":            ("GatherND",       (3, 4),    [2, 3],                     {}),
    "batch":                     ("GatherND",       (2, 3, 4), [[[0], [-1]], [[2], [1]]],  {"batch_dims": 1}),
}  # fmt: skip


def evaluated(op: str, data: Constant, index: Constant, attributes: dict[str, Any]) -> Constant:
    match op:
        case "Gather":
            return gather.gather(data, index, axis=attributes.get("axis", 0))
        case "GatherElements":
            return gather.gather_elements(data, index, axis=attributes.get("axis", 0))
        case _:
            return gather.gather_nd(data, index, batch_dims=attributes.get("batch_dims", 0))


def by_definition(op: str, data: Constant, index: Constant, attributes: dict[str, Any]) -> tuple[tuple[int, ...], Any]:
    """The specification's formulas, one element at a time."""
    numbers = index.to_indices()
    assert numbers is not None
    r = data.bits.ndim
    found = {}
    if op == "Gather":
        a = attributes.get("axis", 0) % r
        shape = data.bits.shape[:a] + numbers.shape + data.bits.shape[a + 1 :]
        for at in itertools.product(*map(range, shape)):
            i = int(numbers[at[a : a + numbers.ndim]])
            place = (*at[:a], i % data.bits.shape[a], *at[a + numbers.ndim :])
            found[at] = data.bits[place]
    elif op == "GatherElements":
        a = attributes.get("axis", 0) % r
        shape = numbers.shape
        for at in itertools.product(*map(range, shape)):
            place = (*at[:a], int(numbers[at]) % data.bits.shape[a], *at[a + 1 :])
            found[at] = data.bits[place]
    else:
        b, k = attributes.get("batch_dims", 0), numbers.shape[-1]
        shape = numbers.shape[:-1] + data.bits.shape[b + k :]
        q = numbers.ndim - 1
        for at in itertools.product(*map(range, shape)):
            picked = tuple(int(i) % n for i, n in zip(numbers[at[:q]], data.bits.shape[b:], strict=False))
            found[at] = data.bits[at[:b] + picked + at[q:]]
    out = np.empty(shape, dtype=data.bits.dtype)
    for at, bits in found.items():
        out[at] = bits
    return raw(Constant(data.data_type, out))


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("case", CASES)
def test_bits_are_those_of_the_definition(case: str, type_name: str) -> None:
    op, shape, values, attributes = CASES[case]
    data, index = sample(type_name, shape), indices(values)
    assert raw(evaluated(op, data, index, attributes)) == by_definition(op, data, index, attributes)


def one_node_model(op: str, data: Constant, index: Constant, attributes: dict[str, Any], domain: str = "") -> Any:
    node = helper.make_node(op, ["data", "indices"], ["out"], domain=domain, **attributes)
    out = helper.make_tensor_value_info("out", data.data_type, None)
    graph = helper.make_graph([node], "g", [], [out], [data.to_tensor("data"), index.to_tensor("indices")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return model


@pytest.mark.parametrize("type_name", [t for t in TYPES if t not in NOT_IN_ORT])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("index_type", ["INT64", "INT32"])
def test_bits_are_those_of_onnxruntime(case: str, type_name: str, index_type: str) -> None:
    op, shape, values, attributes = CASES[case]
    index_type = "INT64" if op == "GatherND" else index_type  # it takes no other
    data, index = sample(type_name, shape), indices(values, TensorProto.DataType.Value(index_type))
    ours = evaluated(op, data, index, attributes)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    model = one_node_model(op, data, index, attributes)
    theirs = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {})[0]
    assert np.shape(theirs) == ours.bits.shape
    assert np.asarray(theirs).tobytes() == ours.bits.tobytes()


@pytest.mark.parametrize("type_name", sorted(NOT_IN_ORT))
def test_bits_are_those_of_the_reference_evaluator(type_name: str) -> None:
    require_type(DType(TensorProto.DataType.Value(type_name)))
    data, index = sample(type_name, (4, 3)), indices([[0, 3], [-1, 1]])
    (theirs,) = ReferenceEvaluator(one_node_model("Gather", data, index, {"axis": 0})).run(None, {})
    ours = gather.gather(data, index, axis=0).bits
    if type_name == "STRING":
        assert [s.encode() for s in theirs.flat] == list(ours.flat)
    else:
        assert theirs.tobytes() == ours.tobytes()


@pytest.mark.parametrize("shape", [(5,), (2, 5)])
def test_array_feature_extractor(shape: tuple[int, ...]) -> None:
    data, index = sample("FLOAT", shape), indices([[4, 0, 0]])
    model = one_node_model("ArrayFeatureExtractor", data, index, {}, "ai.onnx.ml")
    theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {})[0]
    ours = gather.array_feature_extractor(data, index)
    assert theirs.shape == ours.bits.shape
    assert theirs.tobytes() == ours.bits.tobytes()


@pytest.mark.parametrize("type_name", TYPES)
def test_typed_fields_hold_the_same_bits_as_raw_data(type_name: str) -> None:
    data = sample(type_name, (7, 2))
    tensor = data.to_tensor("t")
    if type_name != "STRING":
        typed = TensorProto(name="t", data_type=data.data_type, dims=[7, 2])
        _fill(typed, type_name, data)
        tensor = TensorProto.FromString(typed.SerializeToString())
    found = read_tensor(MODEL, tensor)
    assert found is not None
    assert raw(found) == raw(data)


def _fill(tensor: TensorProto, type_name: str, data: Constant) -> None:
    """Store the bits in the field that the type has for it; floats by their wire bytes, as NaNs may change."""
    bits = data.bits.tobytes()
    if type_name in ("FLOAT", "COMPLEX64", "DOUBLE", "COMPLEX128"):
        number = TensorProto.DESCRIPTOR.fields_by_name[
            "float_data" if type_name in ("FLOAT", "COMPLEX64") else "double_data"
        ]
        assert len(bits) < 1 << 14
        size = bytes([len(bits) & 0x7F | 0x80, len(bits) >> 7])
        tensor.MergeFromString(_varint(number.number << 3 | 2) + size + bits)
    elif type_name == "INT64":
        tensor.int64_data.extend(np.frombuffer(bits, "<i8").tolist())
    elif type_name in ("UINT32", "UINT64"):
        tensor.uint64_data.extend(data.bits.astype("<u8").ravel().tolist())
    elif type_name in ("INT8", "INT16", "INT32"):
        tensor.int32_data.extend(data.bits.view(f"<i{data.bits.itemsize}").ravel().tolist())
    else:
        tensor.int32_data.extend(data.bits.astype("<i4").ravel().tolist())


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80, value >> 7])


VIOLATIONS: dict[str, Any] = {
    # id:                 (op,               data,   indices,       attributes,         message)
    "past the end":       ("Gather",         (3, 2), [0, 3],        {},            r"index 3 is outside \[-3, 2\]"),
    "before the start":   ("Gather",         (3, 2), [-4],          {},            r"index -4 is outside \[-3, 2\]"),
    "axis":               ("Gather",         (3, 2), [0],           {"axis": 2},   r"axis = 2 is outside \[-2, 1\]"),
    "rank of elements":   ("GatherElements", (3, 2), [0],           {},                 "same rank, have 2 and 1"),
    "larger off axis":    ("GatherElements", (3, 2), [[0, 0, 0]],   {},                 "larger than data"),
    "long tuple":         ("GatherND",       (3, 2), [[0, 0, 0]],   {},                 r"length in \[1, 2\], have 3"),
    "batch dims differ":  ("GatherND",       (3, 2), [[0], [0]],    {"batch_dims": 1},  "batch_dims = 1 does not fit"),
    "batch dims":         ("GatherND",       (3, 2), [[0], [0]],    {"batch_dims": -1}, "batch_dims = -1 does not fit"),
}  # fmt: skip


@pytest.mark.parametrize("case", VIOLATIONS)
def test_what_the_specification_forbids_is_refused(case: str) -> None:
    op, shape, values, attributes, message = VIOLATIONS[case]
    with pytest.raises(SpecViolation, match=message):
        evaluated(op, sample("FLOAT", shape), indices(values), attributes)


ATTRIBUTES: dict[str, Any] = {
    "value_int": (-3, TensorProto.INT64, np.array(-3, "<i8")),
    "value_ints": ([1, 2], TensorProto.INT64, np.array([1, 2], "<i8")),
    "value_float": (-0.0, TensorProto.FLOAT, np.array(-0.0, "<f4")),
    "value_floats": ([1.5, -0.0], TensorProto.FLOAT, np.array([1.5, -0.0], "<f4")),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_constant_attributes(name: str) -> None:
    value, data_type, expected = ATTRIBUTES[name]
    attribute = helper.make_attribute(name, value)
    found = read_attribute(MODEL, attribute)
    assert found is not None
    assert (found.data_type, found.bits.shape) == (data_type, expected.shape)
    assert found.bits.tobytes() == expected.tobytes()
