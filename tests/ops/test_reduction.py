"""Reduce*, ArgMax, ArgMin, CumSum and CumProd against their pages."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

import math
from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx.reduction import rules
from gather_infer.symbolic import maximum, minimum
from gather_infer.tensor import SymbolicTensor, ValueRange, make_values
from tests.ops.call import UNRANKED, call
from tests.ops.facts import BOOL, F32, I8, I32, I64, A, B, M, N, elements, known, ratio, within

SHAPES: dict[str, Any] = {
    # id:                       (op,          version, inputs,                        attributes,                      shape)
    "attribute":                ("ReduceMax", 11, [(A, B, 4)],                         {"axes": (1,)},                 (A, 1, 4)),
    "attribute, negative":      ("ReduceMax", 11, [(A, B, 4)],                         {"axes": (-1,), "keepdims": 0}, (A, B)),
    "all by default":           ("ReduceSum", 11, [(A, B)],                            {},                             (1, 1)),
    "all, dropped":             ("ReduceSum", 11, [(A, B)],                            {"keepdims": 0},                ()),
    "all of an unknown rank":   ("ReduceSum", 11, [UNRANKED],                          {"keepdims": 0},                ()),
    "input":                    ("ReduceSum", 13, [(A, B, 4), known([0, -1])],         {"keepdims": 0},                (B,)),
    "input since 18":           ("ReduceL2",  18, [(A, B), known([1])],                {},                             (A, 1)),
    "no input":                 ("ReduceSum", 13, [(A, B)],                            {"keepdims": 0},                ()),
    "empty input":              ("ReduceSum", 13, [(A, B), known([])],                 {},                             (1, 1)),
    "empty input, no-op":       ("ReduceSum", 13, [(A, B), known([])],                 {"noop_with_empty_axes": 1},    (A, B)),
    "no input, no-op":          ("ReduceMax", 18, [(A, B), None],                      {"noop_with_empty_axes": 1},    (A, B)),
    "an axis named twice":      ("ReduceSum", 13, [(A, B), known([1, -1])],            {"keepdims": 0},                (A,)),
    "scalar":                   ("ReduceSum", 13, [()],                                {},                             ()),
    "empty axis":               ("ReduceMean", 18, [(0, 3), known([0])],               {"keepdims": 0},                (3,)),
    "one unknown axis of equals": ("ReduceSum", 13, [(A, A), SymbolicTensor(I64, (1,))], {"keepdims": 0},              (A,)),
    "neither kept nor dropped": ("ReduceSum", 13, [(A, B), known([1])],                {"keepdims": 2},                None),
    "unknown axes":             ("ReduceSum", 13, [(A, B), SymbolicTensor(I64, (2,))], {"keepdims": 0},                None),
    "unranked":                 ("ReduceSum", 13, [UNRANKED, known([1])],              {},                             None),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str) -> None:
    op_type, version, inputs, attributes, shape = SHAPES[name]
    (result,) = call(rules, op_type, inputs, version=version, **attributes)
    assert (result.dtype, result.shape) == (F32, shape)


def test_unknown_axes_keep_the_rank() -> None:
    (result,) = call(rules, "ReduceSum", [(A, 1, 4), SymbolicTensor(I64, (2,))])
    assert result.rank == 3
    assert result.shape[1] == 1
    (result,) = call(rules, "ReduceSum", [(A, B, 4), SymbolicTensor(I64, (1,))], keepdims=0)
    assert result.rank == 2


VECTORS: dict[str, Any] = {
    # id:                   (op,                data,               type, element)
    "sum":                  ("ReduceSum",       [N, 3, M],          I64,  M + N + 3),
    "product":              ("ReduceProd",      [N, 3, M],          I64,  3 * M * N),
    "most":                 ("ReduceMax",       [N, 3, M],          I64,  maximum(N, 3, M)),
    "least":                ("ReduceMin",       [N, 3],             I64,  minimum(N, 3)),
    "mean truncates":       ("ReduceMean",      [-3, 2, 0],         I32,  0),
    "mean of sizes":        ("ReduceMean",      [N, M],             I64,  (M + N) // 2),
    "sizes":                ("ReduceL1",        [N, -3],            I64,  N + 3),
    "squares":              ("ReduceSumSquare", [N, 3],             I64,  N * N + 9),
    "unknown element":      ("ReduceSum",       [N, None],          I64,  None),
    "overflow":             ("ReduceSum",       [2**31 - 1, 1],     I32,  None),
    "float sum":            ("ReduceSum",       [N, 3.0],           F32,  N + 3),
    "float sum that rounds": ("ReduceSum",      [0.1, 0.2],         F32,  None),
    "float product":        ("ReduceProd",      [N, 3.0],           F32,  3 * N),
    "float mean":           ("ReduceMean",      [N, M],             F32,  ratio(M + N, 2)),
    "sum of nothing":       ("ReduceSum",       [],                 I64,  0),
    "product of nothing":   ("ReduceProd",      [],                 F32,  1.0),
    "most of nothing":      ("ReduceMax",       [],                 I8,   -128),
    "least of nothing":     ("ReduceMin",       [],                 F32,  math.inf),
    "any":                  ("ReduceMax",       [False, True],      BOOL, True),
    "all":                  ("ReduceMin",       [False, True],      BOOL, False),
    "norm":                 ("ReduceL2",        [3, 4],             I64,  None),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_elements(name: str) -> None:
    op_type, data, dtype, expected = VECTORS[name]
    (result,) = call(rules, op_type, [known(data, dtype)], version=20, keepdims=0)
    assert (result.dtype, result.shape) == (dtype, ())
    assert repr(elements(result)) == repr(expected)


def test_elements_along_an_axis() -> None:
    data = SymbolicTensor(I64, (2, 2), make_values([N, 1, 2, M], (2, 2)))
    (result,) = call(rules, "ReduceSum", [data, known([1])], keepdims=0)
    assert elements(result) == [N + 1, M + 2]
    (result,) = call(rules, "ReduceSum", [data, known([0])])
    assert elements(result) == [[N + 2, M + 1]]


SPANS: dict[str, Any] = {
    # id:                       (op,          data,                              span)
    "sum":                      ("ReduceSum", within(0, 1, (N, 4)),              ValueRange(0, 4 * N)),
    "sizes":                    ("ReduceL1",  within(-2, 1, (3,)),               ValueRange(0, 6)),
    "most":                     ("ReduceMax", within(0, N, (3,)),                ValueRange(0, N)),
    "most, may be of nothing":  ("ReduceMax", within(0, N, (N,)),                ValueRange(None, N)),
    "least":                    ("ReduceMin", within(0, N, (N + 1,)),            ValueRange(0, N)),
    "unbounded":                ("ReduceSum", SymbolicTensor(I64, (N,)),         None),
}  # fmt: skip


@pytest.mark.parametrize("name", SPANS)
def test_span(name: str) -> None:
    op_type, data, expected = SPANS[name]
    (result,) = call(rules, op_type, [data], version=20)
    assert result.value_range == expected


ARG: dict[str, Any] = {
    # id:                   (op,       data,                  attributes,                              shape,  elements, span)
    "default axis":         ("ArgMax", (3, N),                {},                                      (1, N), None, ValueRange(0, 2)),
    "last axis":            ("ArgMax", (N, M),                {"axis": -1, "keepdims": 0},             (N,),   None, ValueRange(0, M - 1)),
    "empty result":         ("ArgMin", (N, 0),                {"axis": 0},                             (1, 0), None, ValueRange(0, N - 1)),
    "unranked":             ("ArgMin", UNRANKED,              {"axis": 0},                             None,   None, ValueRange(0, None)),
    "known":                ("ArgMax", known([3, 9, 9]),      {},                                      (1,),   [1],  None),
    "known, last":          ("ArgMax", known([3, 9, 9]),      {"select_last_index": 1},                (1,),   [2],  None),
    "sizes":                ("ArgMin", known([N, N + 1, -1]), {},                                      (1,),   [2],  None),
    "not decided":          ("ArgMin", known([N, M]),         {},                                      (1,),   None, ValueRange(0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ARG)
def test_position(name: str) -> None:
    op_type, data, attributes, shape, expected, span = ARG[name]
    (result,) = call(rules, op_type, [data], **attributes)
    assert (result.dtype, result.shape, elements(result), result.value_range) == (I64, shape, expected, span)


def test_the_axis_of_arg_max_is_not_empty() -> None:
    context = Context()
    call(rules, "ArgMax", [(3, N)], axis=1, context=context)
    assert context.scope.bounds(N).lo == 1
    context = Context()
    call(rules, "ArgMax", [(M, N)], axis=1, context=context)  # with M = 0 nothing fails
    assert context.scope.bounds(N).lo == 0


CUMULATIVE: dict[str, Any] = {
    # id:                       (op,        x,                          attributes,                       elements,          span)
    "inclusive":                ("CumSum",  known([N, 2, 3]),           {},                               [N, N + 2, N + 5], None),
    "exclusive":                ("CumSum",  known([N, 2, 3]),           {"exclusive": 1},                 [0, N, N + 2],     None),
    "reverse":                  ("CumSum",  known([N, 2, 3]),           {"reverse": 1},                   [N + 5, 5, 3],     None),
    "reverse, exclusive":       ("CumSum",  known([N, 2, 3]),           {"reverse": 1, "exclusive": 1},   [5, 3, 0],         None),
    "up to an unknown element": ("CumSum",  known([1, None, 3]),        {},                               [1, None, None],   ValueRange(None, None)),
    "mask":                     ("CumSum",  within(0, 1, (N,)),         {},                               None,              ValueRange(0, N)),
    "mask, exclusive":          ("CumSum",  within(0, 1, (N,)),         {"exclusive": 1},                 None,              ValueRange(0, N - 1)),
    "products":                 ("CumProd", known([N, 2, 3]),           {},                               [N, 2 * N, 6 * N], None),
}  # fmt: skip


@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative(name: str) -> None:
    op_type, x, attributes, expected, span = CUMULATIVE[name]
    (result,) = call(rules, op_type, [x, known(0)], version=26, **attributes)
    assert (result.dtype, result.shape, elements(result)) == (I64, x.shape, expected)
    assert result.value_range == (None if span == ValueRange() else span)


VIOLATIONS: dict[str, tuple[str, int, list[Any], dict[str, Any], str]] = {
    "axis": ("ReduceSum", 13, [(2, 3), known([2])], {}, "axes = 2 is outside [-2, 1], data has rank 2"),
    "axes attribute": ("ReduceMax", 11, [(2, 3)], {"axes": (-3,)}, "axes = -3 is outside [-2, 1]"),
    "axes rank": ("ReduceSum", 13, [(2, 3), SymbolicTensor(I64, (1, 1))], {}, "axes must have rank 1"),
    "ArgMax axis": ("ArgMax", 13, [(2, 3)], {"axis": 2}, "axis = 2 is outside [-2, 1]"),
    "ArgMax of nothing": ("ArgMax", 13, [(0, 3)], {}, "axis 0 has length 0"),
    "CumSum axis": ("CumSum", 14, [(2, 3), known(2)], {}, "axis = 2 is outside [-2, 1]"),
    "CumSum axis type": ("CumSum", 14, [(2, 3), known(1.0, F32)], {}, "axis must be int32 or int64, is float32"),
    "CumSum of a scalar": ("CumSum", 14, [(), known(0)], {}, "x must have rank 1 or more"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation(name: str) -> None:
    op_type, version, inputs, attributes, message = VIOLATIONS[name]
    with pytest.raises(SpecViolation) as raised:
        call(rules, op_type, inputs, version=version, **attributes)
    assert message in raised.value.message
