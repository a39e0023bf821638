"""Comparisons, three-valued logic and Where against their pages."""

# ruff: noqa: E501 -- a case is a line

from __future__ import annotations

import math
from typing import Any

import pytest

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import arithmetic
from gather_infer.ops.onnx.logic import rules
from gather_infer.tensor import Ratio, SymbolicTensor, ValueRange
from tests.ops.call import UNRANKED, call
from tests.ops.facts import BOOL, F32, I32, I64, U8, M, N, elements, known, ratio, within

UNKNOWN = SymbolicTensor(I64, (N,))

ELEMENTS: dict[str, Any] = {
    # id:                       (op,        inputs,                                           elements)
    "equal":                    ("Equal",   [known([N, 3, 4]), known([N, 3, 5])],             [True, True, False]),
    "never equal":              ("Equal",   [known([N, N + 1]), known([-1, N])],              [False, False]),
    "depends on the run":       ("Equal",   [known([N, 3]), known([M, 3])],                   [None, True]),
    "bools":                    ("Equal",   [known([True, None], BOOL), known([True, True], BOOL)], [True, None]),
    "less":                     ("Less",    [known([-1, N, 2]), known([N, N + 1, 2])],        [True, True, False]),
    "greater":                  ("Greater", [known([N + 1, N]), known([N, N])],               [True, False]),
    "at most":                  ("LessOrEqual", [known([N, N + 1]), known([N, N])],           [True, False]),
    "at least":                 ("GreaterOrEqual", [known([N, -1]), known([0, N])],           [True, False]),
    "NaN":                      ("LessOrEqual", [known([math.nan, 1.0], F32), known([1.0, 1.0], F32)], [False, True]),
    "infinity":                 ("Less",    [known([N, math.inf], F32), known([math.inf, N], F32)], [True, False]),
    "between integers":         ("Less",    [known([N], F32), known([-0.5], F32)],            [False]),
    "half a size":              ("Less",    [known([Ratio(N, 2), 0.0], F32), known([ratio(N + 1, 2), 0.5], F32)], [True, True]),
    "a third of a size":        ("Less",    [known([Ratio(N, 3), 0.0], F32), known([5.0, 0.5], F32)], [None, True]),
    "and":                      ("And",     [known([True, True, None, None], BOOL), known([True, False, False, True], BOOL)], [True, False, False, None]),
    "or":                       ("Or",      [known([True, None, None, False], BOOL), known([None, True, None, False], BOOL)], [True, True, None, False]),
    "xor":                      ("Xor",     [known([True, None, False], BOOL), known([True, True, True], BOOL)], [False, None, True]),
    "and with nothing known":   ("And",     [known([False, True], BOOL), SymbolicTensor(BOOL, (2,))], [False, None]),
    "not":                      ("Not",     [known([True, None, False], BOOL)],               [False, None, True]),
    "is NaN":                   ("IsNaN",   [known([math.nan, N, 1.0], F32)],                 [True, False, False]),
    "is infinite":              ("IsInf",   [known([math.inf, -math.inf, N, None], F32)],     [True, True, False, None]),
    "where":                    ("Where",   [known([True, False], BOOL), known([N, N]), known([3, 4])], [N, 4]),
    "where, same branches":     ("Where",   [known([None, None], BOOL), known([N, 4]), known([N, 5])], [N, None]),
    "where, one branch known":  ("Where",   [known([True, False], BOOL), known([N, N]), SymbolicTensor(I64, (2,))], [N, None]),
    "where, no condition":      ("Where",   [SymbolicTensor(BOOL, (2,)), known([N, 4]), known([N, 5])], [N, None]),
    "where, scalar condition":  ("Where",   [known(True, BOOL), known([N, 4]), SymbolicTensor(I64, (2,))], [N, 4]),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name: str) -> None:
    op_type, inputs, expected = ELEMENTS[name]
    (result,) = call(rules, op_type, inputs, version=16)
    assert result.dtype is (I64 if op_type == "Where" else BOOL)
    assert elements(result) == expected


BOUNDS: dict[str, Any] = {
    # id:                       (op,        inputs,                                span)
    "never negative":           ("Less",    [within(0, N), known(0)],              ValueRange(0, 0)),
    "always in bounds":         ("Less",    [within(0, N - 1), known(N)],          ValueRange(1, 1)),
    "never equal":              ("Equal",   [within(0, N), known(-1)],             ValueRange(0, 0)),
    "at least":                 ("GreaterOrEqual", [within(0, N), known(0)],       ValueRange(1, 1)),
    "not decided":              ("Less",    [UNKNOWN, known(0)],                   None),
    "not":                      ("Not",     [within(0, 0, dtype=BOOL)],            ValueRange(1, 1)),
    "and":                      ("And",     [within(0, 0, dtype=BOOL), SymbolicTensor(BOOL, (N,))], ValueRange(0, 0)),
    "or, not decided":          ("Or",      [within(0, 0, dtype=BOOL), SymbolicTensor(BOOL, (N,))], None),
    "where, hull":              ("Where",   [SymbolicTensor(BOOL, (N,)), within(0, N), within(-1, 3)], ValueRange(-1, None)),
    "where, decided":           ("Where",   [within(0, 0, dtype=BOOL), UNKNOWN, within(0, 7)], ValueRange(0, 7)),
    "where, uint8":             ("Where",   [SymbolicTensor(BOOL, (N,)), within(1, 3, dtype=U8), within(2, 9, dtype=U8)], ValueRange(1, 9)),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    op_type, inputs, expected = BOUNDS[name]
    (result,) = call(rules, op_type, inputs, version=16)
    if name == "where, hull":
        assert result.value_range.lo == -1
    else:
        assert result.value_range == expected


def test_a_negative_index_counted_from_the_end() -> None:
    """Where(x < 0, x + n, x), as exporters write it: nothing changes for an x that is never negative."""
    context = Context()
    x = within(0, N - 1)
    (negative,) = call(rules, "Less", [x, known(0)], context=context)
    (moved,) = call(arithmetic.rules, "Add", [x, known(N)], context=context)
    (result,) = call(rules, "Where", [negative, moved, x], version=16, context=context)
    assert result.value_range == ValueRange(0, N - 1)


SHAPES: dict[str, Any] = {
    # id:               (op,      version, inputs,                              attributes,       shape)
    "broadcast":        ("Equal", 13, [(N, 1), (1, 4)],                         {},               (N, 4)),
    "scalar":           ("Less",  13, [(), ()],                                 {},               ()),
    "no elements":      ("Greater", 13, [(0,), (1,)],                           {},               (0,)),
    "unranked":         ("Equal", 13, [UNRANKED, (3,)],                         {},               None),
    "old, axis":        ("Equal", 1,  [SymbolicTensor(I32, (N, 3, 4)), SymbolicTensor(I32, (3,))], {"broadcast": 1, "axis": 1}, (N, 3, 4)),
    "three shapes":     ("Where", 13, [SymbolicTensor(BOOL, (N, 1)), (4,), ()], {},               (N, 4)),
    "is NaN":           ("IsNaN", 13, [(N, 3)],                                 {},               (N, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str) -> None:
    op_type, version, inputs, attributes, shape = SHAPES[name]
    (result,) = call(rules, op_type, inputs, version=version, **attributes)
    assert result.shape == shape


VIOLATIONS: dict[str, tuple[str, list[Any], str]] = {
    "types differ": ("Equal", [(3,), known([1])], "A is float32 and B is int64"),
    "never broadcast": ("Less", [(3,), (4,)], "do not broadcast"),
    "And of integers": ("And", [known([1]), known([True], BOOL)], "A must be bool, is int64"),
    "Not of floats": ("Not", [(3,)], "X must be bool, is float32"),
    "Where's condition": ("Where", [(3,), (3,), (3,)], "condition must be bool, is float32"),
    "Where's branches": ("Where", [known([True], BOOL), (3,), known([1])], "X is float32 and Y is int64"),
    "IsNaN of integers": ("IsNaN", [known([1])], "X must be a float tensor, is int64"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_violation(name: str) -> None:
    op_type, inputs, message = VIOLATIONS[name]
    with pytest.raises(SpecViolation) as raised:
        call(rules, op_type, inputs)
    assert message in raised.value.message
