"""TopK, NonZero, OneHot, Unique, NonMaxSuppression and the scatters against their pages."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import scatter, selection
from gather_infer.symbolic import maximum
from gather_infer.tensor import SymbolicTensor, ValueRange, make_values
from tests.ops.call import UNRANKED, call
from tests.ops.facts import BOOL, F32, I32, I64, A, B, M, N, S, elements, known, within

TOP_K: dict[str, Any] = {
    # id:               (version, inputs,                       attributes,             shape,  span of the indices)
    "attribute":        (1,  [(N, 5)],                          {"k": 2},               (N, 2), ValueRange(0, 4)),
    "input":            (11, [(N, M + 3), known([3])],          {},                     (N, 3), ValueRange(0, M + 2)),
    "a size":           (11, [(N, M), known([M])],              {"axis": -1},           (N, M), ValueRange(0, M - 1)),
    "axis 0":           (11, [(N, M), known([1])],              {"axis": 0},            (1, M), ValueRange(0, N - 1)),
    "none":             (11, [(3,), known([0])],                {},                     (0,),   ValueRange(0, 2)),
    "unranked":         (11, [UNRANKED, known([1])],            {},                     None,   ValueRange(0, None)),
}  # fmt: skip


@pytest.mark.parametrize("name", TOP_K)
def test_top_k(name: str) -> None:
    version, inputs, attributes, shape, span = TOP_K[name]
    values, indices = call(selection.rules, "TopK", inputs, version=version, outputs=2, **attributes)
    assert (values.dtype, values.shape) == (F32, shape)
    assert (indices.dtype, indices.shape, indices.value_range) == (I64, shape, span)


def test_top_k_of_an_unknown_number() -> None:
    context = Context()
    values, indices = call(selection.rules, "TopK", [(N, M), SymbolicTensor(I64, (1,))], outputs=2, context=context)
    (rows, count) = values.shape
    assert rows == N and values.shape == indices.shape
    assert [str(c) for c in context.constraints] == [f"{count} <= M"]


def test_top_k_demands_that_there_are_k() -> None:
    context = Context()
    call(selection.rules, "TopK", [(N,), known([5])], outputs=2, context=context)
    assert [str(c) for c in context.constraints] == ["5 <= N"]
    assert context.scope.bounds(N).lo == 5


SORTED: dict[str, Any] = {
    # id:           (data,              k, largest, values,     indices)
    "largest":      ([3, 9, 1, 9],      3, 1,       [9, 9, 3],  [1, 3, 0]),
    "smallest":     ([3, 9, 1, 9],      2, 0,       [1, 3],     [2, 0]),
    "sizes":        ([N, -1, N + 1],    2, 1,       [N + 1, N], [2, 0]),
    "not decided":  ([N, 5, 1],         1, 1,       None,       None),
}  # fmt: skip


@pytest.mark.parametrize("name", SORTED)
def test_top_k_of_known_elements(name: str) -> None:
    data, k, largest, wanted, positions = SORTED[name]
    values, indices = call(selection.rules, "TopK", [known(data), known([k])], outputs=2, largest=largest)
    assert (elements(values), elements(indices)) == (wanted, positions)


def test_non_zero() -> None:
    context = Context()
    (result,) = call(selection.rules, "NonZero", [(A, B)], context=context)
    rows, count = result.shape
    assert (result.dtype, rows, result.value_range) == (I64, 2, ValueRange(0, maximum(A, B) - 1))
    (again,) = call(selection.rules, "NonZero", [(A, B)], context=context)
    assert again.shape[1] != count, "it depends on the data"


NON_ZERO: dict[str, Any] = {
    # id:               (data,                          result)
    "numbers":          (known([0, 3, 0, 1]),           [[1, 3]]),
    "bools":            (known([True, False], BOOL),    [[0]]),
    "sizes":            (known([N + 1, 0]),             [[0]]),
    "nothing":          (known([0, 0]),                 [[]]),
    "may be zero":      (known([N, 0]),                 None),
}  # fmt: skip


@pytest.mark.parametrize("name", NON_ZERO)
def test_non_zero_of_known_elements(name: str) -> None:
    data, expected = NON_ZERO[name]
    (result,) = call(selection.rules, "NonZero", [data])
    assert elements(result) == expected


ONE_HOT: dict[str, Any] = {
    # id:               (indices, depth,            values,                 axis, shape,       span)
    "last":             ((N, 3),  known(5),         known([0, 1]),          -1,   (N, 3, 5),   ValueRange(0, 1)),
    "first":            ((N, 3),  known([5]),       known([0, 1]),          0,    (5, N, 3),   ValueRange(0, 1)),
    "before the last":  ((N, 3),  known(5, I32),    known([0.0, 1.0], F32), -2,   (N, 5, 3),   None),
    "a size":           ((N,),    known(S),         known([2, 7]),          -1,   (N, S),      ValueRange(2, 7)),
    "float depth":      ((N,),    known(2.7, F32),  known([0, 1]),          -1,   (N, 2),      ValueRange(0, 1)),
    "unranked":         (UNRANKED, known(5),        known([0, 1]),          -1,   None,        ValueRange(0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_HOT)
def test_one_hot(name: str) -> None:
    indices, depth, values, axis, shape, span = ONE_HOT[name]
    (result,) = call(selection.rules, "OneHot", [indices, depth, values], axis=axis)
    assert (result.dtype, result.shape, result.value_range) == (values.dtype, shape, span)


ROWS: dict[str, Any] = {
    # id:                   (version, indices,              depth, values,                      axis, result)
    "from both ends":       (11, known([0, -1, 3, -4, 2]),  3, known([0, 1]),                   -1, [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1]]),
    "axis 0":               (11, known([0, 1, 5]),          2, known([0, 1]),                   0,  [[1, 0, 0], [0, 1, 0]]),
    "a scalar":             (11, known(1),                  3, known([4, 7]),                   -1, [4, 7, 4]),
    "sizes":                (11, known([1]),                2, known([N, M]),                   -1, [[N, M]]),
    "bools":                (11, known([1]),                2, known([True, False], BOOL),      -1, [[True, False]]),
    "floats":               (11, known([1.0, -3.0], F32),   2, known([0.0, 0.5], F32),          -1, [[0.0, 0.5], [0.0, 0.0]]),
    "a fraction":           (11, known([0.7, 1.0], F32),    2, known([0, 1]),                   -1, [[None, None], [0, 1]]),
    "a size as index":      (11, known([N]),                2, known([0, 1]),                   -1, None),
    "never in range":       (11, known([N + 2, -N - 3]),    2, known([0, 1]),                   -1, [[0, 0], [0, 0]]),
    "some columns":         (11, known([N + 1]),            2, known([0, 1]),                   -1, [[0, None]]),
    "unknown index":        (11, SymbolicTensor(I64, (1,)), 2, known([3, 3]),                   -1, [[3, 3]]),
    "unknown off":          (11, known([1]),                2, known([None, 1]),                -1, [[None, 1]]),
    "negative before 11":   (9,  known([-1, -9, 1]),        2, known([0, 1]),                   -1, [[0, None], [0, 0], [0, 1]]),
    "no index":             (11, known([]),                 2, known([0, 1]),                   -1, []),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_one_hot_of_known_indices(name: str) -> None:
    version, indices, depth, values, axis, expected = ROWS[name]
    (result,) = call(selection.rules, "OneHot", [indices, known(depth), values], axis=axis, version=version)
    assert elements(result) == expected


def test_many_symbolic_indices_are_not_compared() -> None:
    (result,) = call(selection.rules, "OneHot", [known([N] * 30), known(3), known([0, 1])])
    assert (elements(result), result.value_range) == (None, ValueRange(0, 1))


def test_unique() -> None:
    y, indices, inverse, counts = call(selection.rules, "Unique", [within(0, 9, (N, M))], outputs=4)
    (count,) = y.shape
    assert y.value_range == ValueRange(0, 9)
    assert (indices.shape, indices.value_range) == ((count,), ValueRange(0, M * N - 1))
    assert (inverse.shape, inverse.value_range) == ((M * N,), ValueRange(0, count - 1))
    assert (counts.shape, counts.value_range) == ((count,), ValueRange(1, M * N))
    (along,) = call(selection.rules, "Unique", [(N, M)], axis=-1)
    assert along.shape[0] == N


def test_unique_of_known_elements() -> None:
    found = call(selection.rules, "Unique", [known([2, 1, 1, 3, 4, 3])], outputs=4, sorted=0)
    assert [elements(t) for t in found] == [[2, 1, 3, 4], [0, 1, 3, 4], [0, 1, 1, 2, 3, 2], [1, 2, 2, 1]]


def test_unique_of_known_floats() -> None:
    """0.0 and -0.0 are one element, as onnxruntime and the reference evaluator have it; of NaN nothing is said."""
    found = call(selection.rules, "Unique", [known([-1.5, -1.5, -0.0, 0.0], F32)], outputs=4)
    assert found[0].shape == (2,) and found[0].values is None
    assert [elements(t) for t in found[1:]] == [[0, 2], [0, 0, 1, 1], [2, 2]]
    (one,) = call(selection.rules, "Unique", [known([1.0, float("nan")], F32)])
    assert one.shape is not None and not isinstance(one.shape[0], int)


def test_non_max_suppression() -> None:
    (result,) = call(selection.rules, "NonMaxSuppression", [(1, S, 4), (1, 3, S), known(2)])
    _count, three = result.shape
    assert (result.dtype, three, result.value_range) == (I64, 3, ValueRange(0, maximum(2, S - 1)))


SCATTERS: dict[str, Any] = {
    # id:                       (op,                data,                indices,         updates,         attributes,         elements)
    "replaces":                 ("ScatterElements", known([1, 2, 3]),    known([0, -1]),  known([N, 9]),   {},                 [N, 2, 9]),
    "adds":                     ("ScatterElements", known([1, 2, 3]),    known([0, 0]),   known([N, 9]),   {"reduction": "add"}, [N + 10, 2, 3]),
    "twice the same":           ("ScatterElements", known([1, 2, 3]),    known([0, 0]),   known([N, N]),   {},                 [N, 2, 3]),
    "twice, order undefined":   ("ScatterElements", known([1, 2, 3]),    known([0, 0]),   known([N, 9]),   {},                 [None, 2, 3]),
    "unknown index":            ("ScatterElements", known([1, 2, 3]),    known([0, None]), known([N, 9]),  {},                 None),
    "unknown data":             ("ScatterElements", SymbolicTensor(I64, (2,)), known([0]), known([N]),     {},                 [N, None]),
    "nothing":                  ("ScatterElements", known([1, N]),       known([]),       known([]),       {},                 [1, N]),
    "most":                     ("ScatterElements", known([1, 5]),       known([0, 1]),   known([3, 3]),   {"reduction": "max"}, [3, 5]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCATTERS)
def test_scatter(name: str) -> None:
    op_type, data, indices, updates, attributes, expected = SCATTERS[name]
    (result,) = call(scatter.rules, op_type, [data, indices, updates], version=18, **attributes)
    assert elements(result) == expected


def test_scatter_nd() -> None:
    indices = SymbolicTensor(I64, (2, 1), make_values([1, -1], (2, 1)))
    (result,) = call(scatter.rules, "ScatterND", [known([1, 2, 3]), indices, known([N, 9])])
    assert elements(result) == [1, N, 9]
    (result,) = call(scatter.rules, "ScatterND", [within(0, 9, (N, M)), within(0, 1, (S, 1)), within(5, 20, (S, M))])
    assert (result.shape, result.value_range) == ((N, M), ValueRange(0, 20))


def test_scatter_out_of_bounds_is_reported() -> None:
    context = Context()
    call(scatter.rules, "ScatterElements", [known([1, 2, 3]), known([3]), known([9])], context=context)
    assert [(code, message) for code, message, *_ in context.findings] == [("GI301", "index 3 is outside [-3, 2]")]


VIOLATIONS: dict[str, tuple[Any, str, int, list[Any], dict[str, Any], str]] = {
    "TopK, too many": (selection, "TopK", 11, [(3,), known([5])], {}, "k = 5 is more than the length 3 of axis 0"),
    "TopK, negative": (selection, "TopK", 11, [(3,), known([-1])], {}, "K must be >= 0, is -1"),
    "TopK, negative attribute": (selection, "TopK", 1, [(3,)], {"k": -1}, "k must be positive, is -1"),
    "TopK, K is a scalar": (selection, "TopK", 11, [(3,), known(1)], {}, "K must be 1-D with one element"),
    "TopK, type of K": (selection, "TopK", 11, [(3,), known([1], I32)], {}, "K must be int64, is int32"),
    "TopK, axis": (selection, "TopK", 11, [(3,), known([1])], {"axis": 1}, "axis = 1 is outside [-1, 0]"),
    "OneHot, axis": (
        selection,
        "OneHot",
        11,
        [(3,), known(2), known([0, 1])],
        {"axis": 2},
        "axis = 2 is outside [-2, 1]",
    ),
    "OneHot, depth": (selection, "OneHot", 11, [(3,), known(0), known([0, 1])], {}, "depth must be positive, is 0"),
    "OneHot, depths": (selection, "OneHot", 11, [(3,), known([1, 2]), known([0, 1])], {}, "depth must be a scalar"),
    "OneHot, values": (
        selection,
        "OneHot",
        11,
        [(3,), known(2), known([0, 1, 2])],
        {},
        "values must be [off_value, on_value]",
    ),
    "Unique, axis": (selection, "Unique", 11, [(3,)], {"axis": 1}, "axis = 1 is outside [-1, 0]"),
    "boxes": (selection, "NonMaxSuppression", 10, [(1, 3, 5), (1, 2, 3)], {}, "must be equal, are 5 and 4"),
    "ScatterND, tuple": (
        scatter,
        "ScatterND",
        13,
        [(3,), within(0, 1, (2, 2)), (2,)],
        {},
        "the index tuples have length 2",
    ),
    "ScatterND, updates": (
        scatter,
        "ScatterND",
        13,
        [(3, 4), within(0, 1, (2, 1)), (2,)],
        {},
        "updates must be [2, 4], is [2]",
    ),
    "ScatterND, index type": (
        scatter,
        "ScatterND",
        13,
        [(3,), within(0, 1, (2, 1), I32), (2,)],
        {},
        "indices must be int64, is int32",
    ),
    "ScatterElements, ranks": (
        scatter,
        "ScatterElements",
        13,
        [(3, 4), within(0, 1, (2,)), (2,)],
        {},
        "must have equal ranks, have 2 and 1",
    ),
    "ScatterElements, updates": (scatter, "ScatterElements", 13, [(3,), within(0, 1, (2,)), (3,)], {}, "must be equal"),
    "ScatterElements, too long": (
        scatter,
        "ScatterElements",
        13,
        [(3, 4), within(0, 1, (2, 5)), (2, 5)],
        {},
        "dim 1 of indices is 5, more than 4",
    ),
    "reduction": (
        scatter,
        "ScatterElements",
        18,
        [(3,), within(0, 1, (2,)), (2,)],
        {"reduction": "xor"},
        'reduction = "xor" must be one of',
    ),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation(name: str) -> None:
    module, op_type, version, inputs, attributes, message = VIOLATIONS[name]
    with pytest.raises(SpecViolation) as raised:
        call(module.rules, op_type, inputs, version=version, outputs=2 if op_type == "TopK" else 1, **attributes)
    assert message in raised.value.message
