"""The gather family outside ai.onnx: shapes, values and spans of the dialects."""

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.symbolic import Interval
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange
from tests.ops.facts import elements, known, of
from tests.ops.gather_cases import RULES, UNRANKED, UNRANKED_INDICES, N, S, f32, i64, run

U8, U4, I4 = DType.UINT8, DType.UINT4, DType.INT4
NO_AXIS = i64()

FEATURES: dict[str, tuple[SymbolicTensor, SymbolicTensor, Shape | None]] = {
    "matrix": (f32(N, 4), i64(3), (N, 3)),
    "vector": (f32(4), i64(3), (1, 3)),
    "one": (f32(N, S, 4), i64(1), (N, S, 1)),
    "indices of any rank are one row": (f32(N, 4), i64(1, S), (N, S)),
    "scalar index": (f32(N, 4), i64(), (N, 1)),
    "unranked": (UNRANKED, i64(3), None),
}


@pytest.mark.parametrize("case", FEATURES)
def test_array_feature_extractor(case: str) -> None:
    data, indices, shape = FEATURES[case]
    assert run("ArrayFeatureExtractor", data, indices, domain="ai.onnx.ml").fact.shape == shape


def test_array_feature_extractor_values() -> None:
    out = run("ArrayFeatureExtractor", known([[0, 1], [2, 3]]), known([1, 0, 1]), domain="ai.onnx.ml")
    assert elements(out.fact) == [[1, 0, 1], [3, 2, 3]]
    out = run("ArrayFeatureExtractor", known([N, S]), known(1), domain="ai.onnx.ml")
    assert elements(out.fact) == [[S]]


BLOCKS: dict[str, tuple[tuple[Any, ...], dict[str, Any], Shape | None]] = {
    # id:                   (inputs, attributes, result)
    "uint4": ((of(U4, N, 64), i64(2, S), f32(N, 4)), {}, (2, S, 64)),
    "int4, gather_axis 1": ((of(I4, N, 64), i64(5), f32(N, 4)), {"gather_axis": 1}, (N, 5)),
    "quantize_axis 0": ((of(I4, 40, 3), i64(5), f32(3, 3)), {"quantize_axis": 0}, (5, 3)),
    "negative axes": ((of(I4, 40, 3), i64(5), f32(3, 3)), {"quantize_axis": -2, "gather_axis": -1}, (40, 5)),
    "uint8 is packed by two": ((of(U8, N, 32), i64(S), f32(N, 4)), {}, (S, 64)),
    "uint8 is packed by four": ((of(U8, N, 16), i64(S), f32(N, 4)), {"bits": 2}, (S, 64)),
    "uint8 of 8 bits": ((of(U8, N, 64), i64(S), f32(N, 4)), {"bits": 8}, (S, 64)),
    "packed zero points": ((of(U8, N, 32), i64(S), f32(N, 4), of(U8, N, 2)), {}, (S, 64)),
    "zero points": ((of(U4, N, 64), i64(S), f32(N, 4), of(U4, N, 4)), {}, (S, 64)),
    "scalar index": ((of(U8, N, 32), i64(), f32(N, 4)), {}, (64,)),
    "float8, one scale": ((of(DType.FLOAT8E5M2, N, 64), i64(S), f32(1, 4)), {}, (S, 64)),
    "float8, one block": ((of(DType.FLOAT8E5M2, N, 64), i64(S), f32(N, 1)), {"block_size": 0}, (S, 64)),
    "unranked": ((SymbolicTensor(U8), i64(S), f32(N, 4)), {}, None),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_gather_block_quantized(case: str) -> None:
    inputs, attributes, shape = BLOCKS[case]
    attributes = {"block_size": 16, **attributes}
    out = run("GatherBlockQuantized", *inputs, domain="com.microsoft", **attributes)
    assert (out.fact.dtype, out.fact.shape) == (DType.FLOAT32, shape)
    assert (out.findings, out.constraints) == ([], [])


def test_gather_block_quantized_has_the_type_of_scales() -> None:
    inputs = of(U8, 3, 32), i64(2), of(DType.FLOAT16, 3, 4)
    assert run("GatherBlockQuantized", *inputs, domain="com.microsoft", block_size=16).fact.dtype is DType.FLOAT16


def test_gather_block_quantized_without_the_type_of_data() -> None:
    inputs = SymbolicTensor(None, (3, 32)), i64(2), f32(3, 4)
    out = run("GatherBlockQuantized", *inputs, domain="com.microsoft", block_size=16).fact
    assert out.shape is not None
    assert out.shape[0] == 2
    assert not isinstance(out.shape[1], int)


def test_filling_operators_imply_nothing() -> None:
    out = run("GatherBlockQuantized", of(U4, N, 64), known([5]), f32(N, 4), domain="com.microsoft", block_size=16)
    assert out.context.scope.bounds(N) == Interval(0, None)
    out = run("Gather", f32(N), known([5]), known(0), domain="openvino", version=8)
    assert out.context.scope.bounds(N) == Interval(0, None)


GATHER: dict[str, tuple[SymbolicTensor, SymbolicTensor, SymbolicTensor, int, Shape | None]] = {
    # id:                         (data, indices, axis, batch_dims, result)
    "page, example 4": (f32(2, 1, 5, 4), i64(2, 3), known(2), 1, (2, 1, 3, 4)),
    "page, example 5": (f32(2, 5), i64(2, 3), known(1), -1, (2, 3)),
    "dims before the axis come first": (f32(N, S, 7, 4), i64(N, 3), known(2), 1, (N, S, 3, 4)),
    "batch_dims counts from the rank of indices": (f32(N, S, 7, 4), i64(N, S, 3), known(2), -1, (N, S, 3, 4)),
    "rank of indices is batch_dims": (f32(N, 5), i64(N), known(1), 1, (N,)),
    "axis of one element": (f32(N, 5), i64(3), known([1]), 0, (N, 3)),
    "negative axis": (f32(N, 5), i64(3), known(-1), 0, (N, 3)),
    "int8 indices, uint64 axis": (f32(N, 5), of(DType.INT8, 3), known(1, DType.UINT64), 0, (N, 3)),
    "the number wins": (f32(N, 5), i64(3, 2), known(1), 1, (3, 2)),
    "axis unknown, one choice": (f32(N), i64(3), NO_AXIS, 0, (3,)),
    "axis unknown, one choice left": (f32(N, 5), i64(3), NO_AXIS.with_(value_range=ValueRange(1, 4)), 0, (N, 3)),
    "axis unknown, all the same": (f32(4, 4), i64(4), NO_AXIS, 0, (4, 4)),
    "unranked data": (UNRANKED, i64(3), known(1), 0, None),
    "unranked indices": (f32(N, 5), UNRANKED_INDICES, known(1), -1, None),
}


@pytest.mark.parametrize("version", [7, 8])
@pytest.mark.parametrize("case", GATHER)
def test_openvino_gather(case: str, version: int) -> None:
    data, indices, axis, batch_dims, shape = GATHER[case]
    out = run("Gather", data, indices, axis, domain="openvino", version=version, batch_dims=batch_dims)
    assert (out.fact.dtype, out.fact.shape) == (data.dtype, shape)
    assert out.findings == []


def test_openvino_gather_with_an_unknown_axis_preserves_rank_and_batch() -> None:
    out = run("Gather", f32(N, 5, 6), i64(N, 3), NO_AXIS, domain="openvino", version=8, batch_dims=1).fact
    assert out.shape is not None
    assert (len(out.shape), out.shape[0]) == (3, N)
    assert len({*out.shape, 3, 5, 6}) == 6


VECTOR = known([1, 2, 3, 4, 5])
OPENVINO_VALUES: dict[str, tuple[int, SymbolicTensor, SymbolicTensor, int, Any]] = {
    # id:                 (version, data, indices, batch_dims, output); the axis is the last
    "page, example 1": (8, VECTOR, known([0, 0, 4]), 0, [1, 1, 5]),
    "page, example 2": (8, known([[1, 2, 3], [6, 7, 8]]), known([[0, 0, 2], [2, 0, 0]]), 1, [[1, 1, 3], [8, 6, 6]]),
    "page, example 6": (8, VECTOR, known([0, -2, -1]), 0, [1, 4, 5]),
    "page, example 7": (8, VECTOR, known([3, 10, -20]), 0, [4, 0, 0]),
    "bool is filled with false": (8, known([True], DType.BOOL), known([0, 1]), 0, [True, False]),
    "no defined value": (7, VECTOR, known([3, 10, -1]), 0, [4, None, None]),
    "no defined value at 1": (1, VECTOR, known([3, 10, -1]), 0, [4, None, None]),
}


@pytest.mark.parametrize("case", OPENVINO_VALUES)
def test_openvino_gather_values(case: str) -> None:
    version, data, indices, batch_dims, output = OPENVINO_VALUES[case]
    attributes: dict[str, Any] = {"batch_dims": batch_dims} if version > 1 else {}
    out = run("Gather", data, indices, known(-1), domain="openvino", version=version, **attributes)
    assert elements(out.fact) == output


OPENVINO_SPANS: dict[str, tuple[SymbolicTensor, SymbolicTensor, ValueRange]] = {
    "may be filled": (known([3, 5, 7]), i64(S), ValueRange(0, 7)),
    "in bounds": (known([3, 5, 7]), i64(S).with_(value_range=ValueRange(0, 2)), ValueRange(3, 7)),
    "past the end": (known([3, 5, 7]), i64(S).with_(value_range=ValueRange(2, 9)), ValueRange(0, 7)),
    "nothing but the fill": (known([3, 5, 7]), i64(S).with_(value_range=ValueRange(8, 9)), ValueRange(0, 0)),
    "in bounds of N": (
        i64(N).with_(value_range=ValueRange(4, 9)),
        i64(S).with_(value_range=ValueRange(0, N - 1)),
        ValueRange(4, 9),
    ),
    "not in bounds of N": (
        i64(N).with_(value_range=ValueRange(4, 9)),
        i64(S).with_(value_range=ValueRange(0, N)),
        ValueRange(0, 9),
    ),
}


@pytest.mark.parametrize("case", OPENVINO_SPANS)
def test_openvino_gather_span(case: str) -> None:
    data, indices, span = OPENVINO_SPANS[case]
    assert run("Gather", data, indices, known(0), domain="openvino", version=8).fact.value_range == span


OTHERS: dict[str, tuple[str, int, tuple[Any, ...], dict[str, Any], Shape | None]] = {
    # id:                     (operator, version, inputs, attributes, result)
    "elements": ("GatherElements", 6, (f32(N, 4), i64(3, 9)), {"axis": 1}, (3, 9)),
    "elements, unranked data": ("GatherElements", 6, (UNRANKED, i64(3, S)), {"axis": 1}, (3, S)),
    "nd 5": ("GatherND", 5, (f32(2, N, 4), i64(2, N, 7, 1)), {"batch_dims": 2}, (2 * N, 7)),
    "nd 5, one batch dim": ("GatherND", 5, (f32(2, N, 4), i64(2, 7, 1)), {"batch_dims": 1}, (2, 7, 4)),
    "nd 8": ("GatherND", 8, (f32(2, N, 4), i64(2, N, 7, 1)), {"batch_dims": 2}, (2, N, 7)),
    "nd, int8": ("GatherND", 8, (f32(2, N), of(DType.INT8, 3, 1)), {}, (3, N)),
    "tree": ("GatherTree", 1, (f32(S, N, 4), f32(S, N, 4), f32(N), f32()), {}, (S, N, 4)),
    "tree, from parents": ("GatherTree", 1, (UNRANKED, f32(S, N, 4), f32(3), f32()), {}, (S, 3, 4)),
}


@pytest.mark.parametrize("case", OTHERS)
def test_openvino_others(case: str) -> None:
    operator, version, inputs, attributes, shape = OTHERS[case]
    out = run(operator, *inputs, domain="openvino", version=version, **attributes)
    assert (out.fact.dtype, out.fact.shape) == (DType.FLOAT32, shape)


def test_openvino_nd_5_values_are_merged_too() -> None:
    data, indices = known([[[1, 2]], [[3, 4]]]), known([[[1]], [[0]]])
    for version, output in ((5, [2, 3]), (8, [[2], [3]])):
        assert elements(run("GatherND", data, indices, domain="openvino", version=version, batch_dims=2).fact) == output


def test_openvino_tree_span() -> None:
    steps = SymbolicTensor(DType.INT32, (S, N, 4), None, ValueRange(0, 99))
    ids, lengths = of(DType.INT32, S, N, 4), of(DType.INT32, N)
    out = run("GatherTree", steps, ids, lengths, known(102, DType.INT32), domain="openvino")
    assert out.fact.value_range == ValueRange(0, 102)


def test_openvino_elements_without_the_rank_of_indices() -> None:
    out = run("GatherElements", f32(N, 4), UNRANKED_INDICES, domain="openvino", version=6, axis=1).fact
    assert out.shape is not None
    assert out.shape[0] == N
    assert out.shape[1] != 4


@pytest.mark.parametrize("domain", RULES)
def test_a_namesake_in_another_domain_is_another_operator(domain: str) -> None:
    other = {"": "GatherBlockQuantized", "ai.onnx.ml": "Gather", "com.microsoft": "Gather", "openvino": "Shape"}
    assert RULES[domain].find(other[domain], 99) is None
