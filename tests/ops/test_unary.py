"""Functions of one input, softmaxes, Dropout, PRelu and the random operators against their pages."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import sampling, unary
from gather_infer.symbolic import ceildiv
from gather_infer.tensor import Ratio, SymbolicTensor, ValueRange
from tests.ops.call import UNRANKED, call
from tests.ops.facts import BOOL, F16, F32, F64, I32, I64, M, N, elements, known, within

ELEMENTS: dict[str, Any] = {
    # id:               (op,           elements,                        result)
    "floor":            ("Floor",      [Ratio(N, 3), 1.5, -1.5, N],     [N // 3, 1.0, -2.0, N]),
    "ceil":             ("Ceil",       [Ratio(N, 3), 1.5, -1.5, N],     [ceildiv(N, 3), 2.0, -1.0, N]),
    "round":            ("Round",      [0.5, 1.5, -0.5, N],             [0.0, 2.0, -0.0, N]),
    "round a half":     ("Round",      [Ratio(N, 2), 1.0],              [None, 1.0]),
    "square root":      ("Sqrt",       [2.0, 9.0, -1.0],                [1.4142135381698608, 3.0, None]),
    "reciprocal":       ("Reciprocal", [4.0, 0.0, 3.0],                 [0.25, math.inf, 0.3333333432674408]),
    "relu":             ("Relu",       [N, -1.0, 2.0, N - 1],           [N, 0.0, 2.0, None]),
    "exp":              ("Exp",        [0.0, 1.0],                      None),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name: str) -> None:
    op_type, given, expected = ELEMENTS[name]
    (result,) = call(unary.rules, op_type, [known(given, F32)], version=14)
    if name == "relu":
        assert elements(result)[:3] == expected[:3]
    else:
        assert repr(elements(result)) == repr(expected)


@pytest.mark.parametrize("op_type", [*unary.FUNCTIONS, *unary.EXACT])
def test_shape_and_type_stay(op_type: str) -> None:
    x = SymbolicTensor(F16, (N, 3))
    (result,) = call(unary.rules, op_type, [x], version=28)
    assert (result.dtype, result.shape) == (F16, (N, 3))
    (result,) = call(unary.rules, op_type, [UNRANKED], version=28)
    assert (result.dtype, result.shape) == (F32, None)


def test_relu_of_integers() -> None:
    (result,) = call(unary.rules, "Relu", [within(-3, N)], version=14)
    assert result.value_range is not None and result.value_range.lo == 0


SOFTMAX: dict[str, Any] = {
    # id:                   (version, shape, attributes,    message)
    "default":              (13, (N, 3), {},                None),
    "default of a vector":  (13, (3,),   {},                None),
    "out of range":         (13, (3,),   {"axis": 1},       "axis = 1 is outside [-1, 0], input has rank 1"),
    "old default, vector":  (11, (3,),   {},                "axis = 1 is outside [-1, 0], input has rank 1"),
    "oldest, vector":       (1,  (3,),   {},                None),
    "scalar":               (13, (),     {},                "axis = -1 is outside [0, -1], input has rank 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", SOFTMAX)
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax(op_type: str, name: str) -> None:
    version, shape, attributes, message = SOFTMAX[name]
    if message is None:
        (result,) = call(unary.rules, op_type, [shape], version=version, **attributes)
        assert (result.dtype, result.shape) == (F32, shape)
        return
    with pytest.raises(SpecViolation) as raised:
        call(unary.rules, op_type, [shape], version=version, **attributes)
    assert raised.value.message == message


DROPOUT: dict[str, Any] = {
    # id:                   (version, inputs,                                       attributes,      elements, mask)
    "training":             (1,  [known([1.0], F32)],                               {},              None,     F32),
    "is_test":              (6,  [known([1.0], F32)],                               {"is_test": 1},  [1.0],    F32),
    "inference":            (7,  [known([1.0], F32)],                               {},              [1.0],    F32),
    "bool mask":            (10, [known([1.0], F32)],                               {},              [1.0],    BOOL),
    "no training_mode":     (13, [known([1.0], F32)],                               {},              [1.0],    BOOL),
    "training_mode false":  (13, [known([1.0], F32), None, known(False, BOOL)],     {},              [1.0],    BOOL),
    "training_mode true":   (13, [known([1.0], F32), None, known(True, BOOL)],      {},              None,     BOOL),
    "training_mode input":  (13, [known([1.0], F32), None, SymbolicTensor(BOOL, ())], {},            None,     BOOL),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPOUT)
def test_dropout(name: str) -> None:
    version, inputs, attributes, expected, mask_type = DROPOUT[name]
    output, mask = call(unary.rules, "Dropout", inputs, version=version, outputs=2, **attributes)
    assert elements(output) == expected
    assert (mask.dtype, mask.shape) == (mask_type, (1,))


PRELU: dict[str, Any] = {
    # id:                   (version, X,         slope,  message)
    "per channel":          (6,  (N, 3, 4),      (3,),   None),
    "one slope":            (6,  (N, 3, 4),      (1,),   None),
    "broadcast":            (16, (N, 3, 4),      (3, 1), None),
    "wrong channel":        (6,  (N, 3, 4),      (4,),   "slope has 4 elements"),
    "would extend X":       (16, (3,),           (2, 3), "slope [2, 3] does not broadcast to X [3]"),
    "dim differs":          (16, (N, 3),         (4,),   "dim 4 must be 1 or 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", PRELU)
def test_prelu(name: str) -> None:
    version, x, slope, message = PRELU[name]
    if message is None:
        (result,) = call(unary.rules, "PRelu", [x, slope], version=version)
        assert result.shape == x
        return
    with pytest.raises(SpecViolation) as raised:
        call(unary.rules, "PRelu", [x, slope], version=version)
    assert message in raised.value.message


RANDOM: dict[str, tuple[str, list[Any], dict[str, Any], Any, Any, ValueRange | None]] = {
    "normal": ("RandomNormal", [], {"shape": (2, 3)}, F32, (2, 3), None),
    "uniform, double": ("RandomUniform", [], {"shape": (2,), "dtype": 11}, F64, (2,), None),
    "like": ("RandomNormalLike", [(N, M)], {}, F32, (N, M), None),
    "like, dtype": ("RandomUniformLike", [within(0, 1, (N,))], {"dtype": 10}, F16, (N,), None),
    "Bernoulli": ("Bernoulli", [(N,)], {"dtype": 7}, I64, (N,), ValueRange(0, 1)),
    "Bernoulli, float": ("Bernoulli", [(N,)], {}, F32, (N,), None),
    "Multinomial": ("Multinomial", [(N, 7)], {"sample_size": 4}, I32, (N, 4), ValueRange(0, 6)),
    "Multinomial, int64": ("Multinomial", [(N, M)], {"dtype": 7}, I64, (N, 1), ValueRange(0, M - 1)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random(name: str) -> None:
    op_type, inputs, attributes, dtype, shape, span = RANDOM[name]
    (result,) = call(sampling.rules, op_type, inputs, version=15, **attributes)
    assert (result.dtype, result.shape, result.value_range) == (dtype, shape, span)


def test_multinomial_needs_two_axes() -> None:
    with pytest.raises(SpecViolation, match="input must have rank 2, has rank 1"):
        call(sampling.rules, "Multinomial", [(N,)])


def test_swiglu() -> None:
    (result,) = call(unary.rules, "SwiGLU", [(N, 3), (N, 3)], version=28)
    assert result.shape == (N, 3)
