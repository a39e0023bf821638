"""Gather, GatherElements and GatherND of ai.onnx: shapes, values, spans and what a legal run implies."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from gather_infer.errors import SpecViolation
from gather_infer.symbolic import Interval
from gather_infer.tensor import DType, Shape, SymbolicTensor, ValueRange, make_values
from tests.ops.facts import elements, known, of
from tests.ops.gather_cases import UNRANKED, UNRANKED_INDICES, N, P, S, f32, i64, run

GATHER_SHAPES: dict[str, tuple[SymbolicTensor, SymbolicTensor, int, Shape | None]] = {
    # id:                    (data, indices, axis, result)
    "page, scalar, axis 0": (f32(N, S), i64(), 0, (S,)),
    "page, scalar, axis 1": (f32(N, P, S), i64(), 1, (N, S)),
    "page, matrix, axis 0": (f32(P, 7), i64(N, S), 0, (N, S, 7)),
    "page, matrix, axis 1": (f32(P, 7), i64(N, S), 1, (P, N, S)),
    "embedding": (f32(50257, 768), i64(N, S), 0, (N, S, 768)),
    "vector of one keeps the axis": (f32(N, S), i64(1), 0, (1, S)),
    "axis -1": (f32(N, S, 4), i64(2), -1, (N, S, 2)),
    "axis -r": (f32(N, S, 4), i64(2), -3, (2, S, 4)),
    "to a scalar": (f32(5), i64(), 0, ()),
    "no rows": (f32(0, 4), i64(0), 0, (0, 4)),
    "empty index": (f32(N, 4), i64(0), 0, (0, 4)),
    "empty slices": (f32(3, 0), i64(2), 0, (2, 0)),
    "expressions": (f32(N, 2 * S + 1, 4), i64(P, 2 * N), 0, (P, 2 * N, 2 * S + 1, 4)),
    "unranked data": (UNRANKED, i64(2), 0, None),
    "unranked indices": (f32(3, 4), UNRANKED_INDICES, 0, None),
    "nothing known": (SymbolicTensor(), SymbolicTensor(), 0, None),
}


@pytest.mark.parametrize("version", [1, 11, 13])
@pytest.mark.parametrize("case", GATHER_SHAPES)
def test_gather_shape(case: str, version: int) -> None:
    data, indices, axis, shape = GATHER_SHAPES[case]
    out = run("Gather", data, indices, version=version, axis=axis)
    assert (out.fact.dtype, out.fact.shape) == (data.dtype, shape)
    assert out.findings == []


ELEMENTS_SHAPES: dict[str, tuple[SymbolicTensor, SymbolicTensor, int, Shape | None, list[str]]] = {
    # id:                    (data, indices, axis, result, constraints)
    "as long as data": (f32(N, 4), i64(N, 9), 1, (N, 9), []),
    "shorter off the axis": (f32(3, 4), i64(2, 9), 1, (2, 9), []),
    "depends on the run": (f32(N, 4), i64(S, 4), 1, (S, 4), ["S <= N"]),
    "any length on the axis": (f32(N, 4), i64(S, 4), 0, (S, 4), []),
    "empty": (f32(0, 4), i64(0, 4), -1, (0, 4), []),
    "an empty index reads nothing": (f32(3, 4), i64(5, 0), 1, (5, 0), []),
    "unranked data": (UNRANKED, i64(2, S), 0, (2, S), []),
    "nothing known": (UNRANKED, UNRANKED_INDICES, 0, None, []),
}


@pytest.mark.parametrize("version", [11, 13])
@pytest.mark.parametrize("case", ELEMENTS_SHAPES)
def test_gather_elements_shape(case: str, version: int) -> None:
    data, indices, axis, shape, constraints = ELEMENTS_SHAPES[case]
    out = run("GatherElements", data, indices, version=version, axis=axis)
    assert (out.fact.dtype, out.fact.shape) == (data.dtype, shape)
    assert (out.findings, out.constraints) == ([], constraints)


def test_gather_elements_takes_the_rank_from_data() -> None:
    out = run("GatherElements", f32(N, 4), UNRANKED_INDICES)
    assert out.fact.rank == 2
    assert len(out.context.causes) == 2


ND_SHAPES: dict[str, tuple[SymbolicTensor, SymbolicTensor, int, Shape | None]] = {
    # id:                      (data, indices, batch_dims, result)
    "scalar result": (f32(2, 2), i64(2), 0, ()),
    "slice": (f32(N, S, 4), i64(1), 0, (S, 4)),
    "elements": (f32(N, S), i64(P, 2), 0, (P,)),
    "batch": (f32(N, S, 4), i64(N, 7, 1), 1, (N, 7, 4)),
    "batch of elements": (f32(N, S, 4), i64(N, 2), 1, (N,)),
    "two batch dims": (f32(N, S, 4), i64(N, S, 5, 1), 2, (N, S, 5)),
    "the number wins, from data": (f32(3, S, 4), i64(N, 7, 1), 1, (3, 7, 4)),
    "the number wins, from indices": (f32(N, S, 4), i64(3, 7, 1), 1, (3, 7, 4)),
    "no tuples": (f32(N, 4), i64(0, 1), 0, (0, 4)),
    "k unknown": (f32(N, 4), i64(3, S), 0, None),
    "k unknown, one choice": (f32(N), i64(3, S), 0, (3,)),
    "k unknown, one choice in a batch": (f32(N, 4), i64(N, S), 1, (N,)),
    "unranked data": (UNRANKED, i64(3, 2), 0, None),
    "unranked indices": (f32(3, 2), UNRANKED_INDICES, 0, None),
}


@pytest.mark.parametrize(
    ("case", "version"), [(id, version) for id, row in ND_SHAPES.items() for version in (11, 12, 13)[bool(row[2]) :]]
)
def test_gather_nd_shape(case: str, version: int) -> None:
    data, indices, batch_dims, shape = ND_SHAPES[case]
    attributes: dict[str, Any] = {"batch_dims": batch_dims} if batch_dims else {}
    out = run("GatherND", data, indices, version=version, **attributes)
    assert (out.fact.dtype, out.fact.shape) == (data.dtype, shape)
    assert out.findings == []


def test_batch_dims_that_may_differ_are_a_constraint() -> None:
    assert run("GatherND", f32(N, 4), i64(3, 1), batch_dims=1).constraints == ["N == 3"]


CUBE = [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
TABLE = [[1.0, 1.2], [2.3, 3.4], [4.5, 5.7]]
WIDE = [[1.0, 1.2, 1.9], [2.3, 3.4, 3.9], [4.5, 5.7, 5.9]]

# The examples of the pages of the operators. The pages of Gather-1 and -11 print the second one without the axis of
# length 1; the formula on them and the page of Gather-13 have it.
EXAMPLES: dict[str, tuple[str, Any, Any, dict[str, Any], Any]] = {
    # id:             (operator, data, indices, attributes, output)
    "Gather 1": ("Gather", TABLE, [[0, 1], [1, 2]], {}, [[[1.0, 1.2], [2.3, 3.4]], [[2.3, 3.4], [4.5, 5.7]]]),
    "Gather 2": ("Gather", WIDE, [[0, 2]], {"axis": 1}, [[[1.0, 1.9]], [[2.3, 3.9]], [[4.5, 5.9]]]),
    "Elements 1": ("GatherElements", [[1, 2], [3, 4]], [[0, 0], [1, 0]], {"axis": 1}, [[1, 1], [4, 3]]),
    "Elements 2": (
        "GatherElements",
        [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        [[1, 2, 0], [2, 0, 0]],
        {"axis": 0},
        [[4, 8, 3], [7, 2, 3]],
    ),
    "ND 1": ("GatherND", [[0, 1], [2, 3]], [[0, 0], [1, 1]], {}, [0, 3]),
    "ND 2": ("GatherND", [[0, 1], [2, 3]], [[1], [0]], {}, [[2, 3], [0, 1]]),
    "ND 3": ("GatherND", CUBE, [[0, 1], [1, 0]], {}, [[2, 3], [4, 5]]),
    "ND 4": ("GatherND", CUBE, [[[0, 1]], [[1, 0]]], {}, [[[2, 3]], [[4, 5]]]),
    "ND 5": ("GatherND", CUBE, [[1], [0]], {"batch_dims": 1}, [[2, 3], [4, 5]]),
}
SINCE: dict[str, Any] = {"Gather": (1, 11, 13), "GatherElements": (11, 13), "GatherND": (11, 12, 13)}


@pytest.mark.parametrize("case", EXAMPLES)
def test_examples_of_the_pages(case: str) -> None:
    operator, data, indices, attributes, output = EXAMPLES[case]
    dtype = DType.FLOAT32 if operator == "Gather" else DType.INT64
    for version in SINCE[operator]:
        if version == 11 and "batch_dims" in attributes:
            continue
        out = run(operator, known(data, dtype), known(indices), version=version, **attributes).fact
        assert (out.dtype, out.shape, elements(out)) == (dtype, np.shape(output), output)


VALUES: dict[str, tuple[str, SymbolicTensor, SymbolicTensor, dict[str, Any], Any]] = {
    # id:                     (operator, data, indices, attributes, output)
    "scalar": ("Gather", known([N, S, 4]), known(1), {}, S),
    "vector of one": ("Gather", known([N, S, 4]), known([1]), {}, [S]),
    "matrix": ("Gather", known([N, S, 4]), known([[0, 2]]), {}, [[N, 4]]),
    "negative": ("Gather", known([N, S, 4]), known([-1, -3]), {}, [4, N]),
    "axis -1 of a vector": ("Gather", known([N, S, 4]), known([0, 1]), {"axis": -1}, [N, S]),
    "table": ("Gather", known([[1, N], [2, S]]), known(1), {"axis": 1}, [N, S]),
    "int32 indices": ("Gather", known([N, S]), known([1], DType.INT32), {}, [S]),
    "bool": ("Gather", known([True, False], DType.BOOL), known([1]), {}, [False]),
    "empty index": ("Gather", known([N, S]), SymbolicTensor(DType.INT64, (0,), make_values([])), {}, []),
    "unknown element of data": ("Gather", known([N, None, 4]), known([1, 0]), {}, [None, N]),
    "unknown element of indices": ("Gather", known([N, S, 4]), known([None, 0]), {}, [None, N]),
    "symbolic index": ("Gather", known([3, 5]), known([N, 1]), {}, [None, 5]),
    "out of bounds": ("Gather", known([3, 5]), known([2, 1]), {}, [None, 5]),
    "unknown row": ("Gather", known([[1, 2], [3, 4]]), known([1, None]), {}, [[3, 4], [None, None]]),
    "elements": ("GatherElements", known([[N, 2], [3, S]]), known([[-1], [0]]), {"axis": 1}, [[2], [3]]),
    "elements, unknown": ("GatherElements", known([N, None]), known([0, 1, None]), {}, [N, None, None]),
    "tuple": ("GatherND", known([[N, 2], [3, S]]), known([1, -1]), {}, S),
    "tuples, unknown": ("GatherND", known([[N, 2], [3, S]]), known([[0, None], [0, 0]]), {}, [None, N]),
    "batch": ("GatherND", known([[N, 2], [3, S]]), known([[1], [0]]), {"batch_dims": 1}, [2, 3]),
}


@pytest.mark.parametrize("case", VALUES)
def test_values(case: str) -> None:
    operator, data, indices, attributes, output = VALUES[case]
    assert elements(run(operator, data, indices, **attributes).fact) == output


def test_large_constants_are_read_on_demand() -> None:
    table = np.arange(4000)
    out = run("Gather", i64(4000), known([3999, -4000]), constants={0: table})
    assert elements(out.fact) == [3999, 0]
    out = run("Gather", f32(10, 4), i64(2000), constants={1: np.arange(2000) % 11})
    assert out.findings == [("GI301", "index 10 is outside [-10, 9]")]
    assert out.context.findings[0][2] == ("data float32[10, 4], axis 0", "indices element [10]",
                                          "181 elements are out of bounds")  # fmt: skip
    assert out.fact.shape == (2000, 4)


def test_an_empty_index_may_be_longer_than_data() -> None:
    out = run("GatherElements", known([[1, 2], [3, 4]]), SymbolicTensor(DType.INT64, (5, 0)), axis=1)
    assert (out.fact.shape, out.fact.value_range, out.findings) == ((5, 0), ValueRange(1, 4), [])


def test_an_axis_without_elements_can_be_addressed_where_nothing_is_read() -> None:
    data = SymbolicTensor(DType.INT64, (0, 0), make_values([], (0, 0)))
    out = run("Gather", data, known(N), axis=1)
    assert out.fact.shape == (0,)


def with_span(tensor: SymbolicTensor, lo: Any, hi: Any) -> SymbolicTensor:
    return tensor.with_(value_range=ValueRange(lo, hi))


SPANS: dict[str, tuple[str, SymbolicTensor, SymbolicTensor, dict[str, Any], ValueRange | None]] = {
    # id:                        (operator, data, indices, attributes, span of the result)
    "unknown indices": ("Gather", known([3, 5, 7]), i64(S), {}, ValueRange(3, 7)),
    "indices in a range": ("Gather", known([3, 5, 7]), with_span(i64(S), 1, 2), {}, ValueRange(5, 7)),
    "indices from the end": ("Gather", known([3, 5, 7]), with_span(i64(S), -2, -1), {}, ValueRange(5, 7)),
    "one row": ("Gather", known([[3, 9], [1, 2]]), with_span(i64(S), 1, 1), {}, ValueRange(1, 2)),
    "partly known indices": ("Gather", known([3, 5, 7]), known([0, None]), {}, ValueRange(3, 7)),
    "span of data": ("Gather", with_span(i64(N), 0, S - 1), i64(P), {}, ValueRange(0, S - 1)),
    "span of unranked data": ("Gather", with_span(UNRANKED_INDICES, 0, 9), i64(P), {}, ValueRange(0, 9)),
    "float data": ("Gather", f32(N), i64(P), {}, None),
    "elements": ("GatherElements", known([[3, 9], [1, 2]]), i64(1, S), {"axis": 1}, ValueRange(3, 9)),
    "elements in a range": ("GatherElements", known([3, 5, 7]), with_span(i64(S), 0, 1), {}, ValueRange(3, 5)),
    "tuples in a range": ("GatherND", known([[3, 9], [1, 2]]), with_span(i64(S, 1), 1, 1), {}, ValueRange(1, 2)),
    "tuples partly known": ("GatherND", known([[3, 9], [1, 2]]), known([[1, None]]), {}, ValueRange(1, 2)),
}


@pytest.mark.parametrize("case", SPANS)
def test_span(case: str) -> None:
    operator, data, indices, attributes, span = SPANS[case]
    assert run(operator, data, indices, **attributes).fact.value_range == span


IMPLIED: dict[str, tuple[str, SymbolicTensor, SymbolicTensor, int]] = {
    # id:                      (operator, data, indices, least N)
    "some index": ("Gather", f32(N, 4), i64(3), 1),
    "scalar index": ("Gather", f32(N, 4), i64(), 1),
    "maybe no index": ("Gather", f32(N, 4), i64(S), 0),
    "no index": ("Gather", f32(N, 4), i64(0), 0),
    "constant 5": ("Gather", f32(N, 4), known([0, 5]), 6),
    "constant -7": ("Gather", f32(N, 4), known([-7, 5]), 7),
    "partly known": ("Gather", f32(N, 4), known([None, 2]), 3),
    "elements": ("GatherElements", f32(N), i64(2), 1),
    "elements, constant": ("GatherElements", f32(N), known([3]), 4),
    "tuples": ("GatherND", f32(N, 4), i64(3, 1), 1),
    "tuples, constant": ("GatherND", f32(4, N), known([[3, 8]]), 9),
    "no tuples": ("GatherND", f32(N, 4), i64(S, 1), 0),
}


@pytest.mark.parametrize("case", IMPLIED)
def test_what_a_legal_run_implies(case: str) -> None:
    operator, data, indices, least = IMPLIED[case]
    out = run(operator, data, indices)
    assert out.context.scope.bounds(N) == Interval(least, None)
    assert out.findings == []


@pytest.mark.parametrize("operator", SINCE)
def test_element_types_are_those_of_the_schemas(operator: str) -> None:
    for version in SINCE[operator]:
        schema = onnx.defs.get_schema(operator, version)
        allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
        for position, given in enumerate(schema.inputs):
            types = allowed.get(given.type_str, {given.type_str})
            accepted = {t for t in DType if accepts(operator, version, position, t)}
            assert {f"tensor({spelled(t)})" for t in accepted} == types


def accepts(operator: str, version: int, position: int, dtype: DType) -> bool:
    inputs = [f32(3), i64(2)]
    inputs[position] = of(dtype, *(inputs[position].shape or ()))
    if operator == "GatherND":
        inputs[1] = inputs[1].with_(shape=(2, 1))
    try:
        run(operator, *inputs, version=version)
    except SpecViolation as violation:
        assert violation.code == ("GI308" if position else "GI211")
        return False
    return True


def spelled(dtype: DType) -> str:
    return {DType.FLOAT32: "float", DType.FLOAT64: "double"}.get(dtype, str(dtype))
