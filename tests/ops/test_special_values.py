"""NaN, infinities and zeros of either sign in what rules know of floats, judged by two runtimes.

Where onnxruntime and onnx's reference evaluator differ nothing is known of an element.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from gather_infer.context import Context
from gather_infer.ir.constant import Constant
from gather_infer.ops import standard_rules
from gather_infer.passes.evaluate.numbers import to_numbers
from gather_infer.rules import OpCall
from gather_infer.tensor import DType, SymbolicTensor, make_values
from tests.onnx_versions import require_type
from tests.passes.runtimes import Raw, by_onnxruntime, by_reference, model_of, of, ours_if_any, raw

NAN, INF = math.nan, math.inf
MANY = (NAN, INF, -INF, -0.0, 0.0, 1.5, -2.5, 3e38, 1e-45)
FEW = (NAN, INF, -INF, -0.0, 0.0, 1.5)
FLOATS = (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16)
TYPES = (T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16, T.INT64, T.INT8, T.UINT8, T.UINT64, T.INT4, T.BOOL, T.FLOAT8E5M2)

Call = tuple[str, int, list["Constant | None"], dict[str, Any], int]
"""Operator, version, inputs, attributes, number of outputs."""


def elementwise(t: int) -> Iterator[Call]:
    for op in ("Abs", "Ceil", "Floor", "Identity", "IsInf", "IsNaN", "Neg", "Reciprocal", "Relu", "Sign", "Sqrt"):
        yield op, 13, [of(t, MANY)], {}, 1
    yield "Round", 11, [of(t, MANY)], {}, 1
    for to in TYPES:
        for x in MANY:
            yield "Cast", 19, [of(t, [x])], {"to": to}, 1
    for x, y in product(MANY, MANY):
        pair: list[Constant | None] = [of(t, [x]), of(t, [y])]
        for op in ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Equal", "Less", "Greater"):
            yield op, 14, pair, {}, 1
        for op in ("LessOrEqual", "GreaterOrEqual"):
            yield op, 16, pair, {}, 1
        yield "Mod", 13, pair, {"fmod": 1}, 1
        for flag in (False, True):
            yield "Where", 16, [of(T.BOOL, [flag]), *pair], {}, 1
        for reduction in ("max", "min", "add", "mul"):
            updated: list[Constant | None] = [of(t, [x]), of(T.INT64, [0]), of(t, [y])]
            yield "ScatterElements", 18, updated, {"reduction": reduction}, 1


def clips(t: int) -> Iterator[Call]:
    for x, low in product(MANY, MANY):
        yield "Clip", 13, [of(t, [x]), of(t, low), None], {}, 1
        yield "Clip", 13, [of(t, [x]), None, of(t, low)], {}, 1
        yield "Clip", 6, [of(t, [x])], {"min": float(np.float32(low))}, 1
        yield "Clip", 6, [of(t, [x])], {"max": float(np.float32(low))}, 1
    for x, low, high in product(FEW, FEW, FEW):
        yield "Clip", 13, [of(t, [x]), of(t, low), of(t, high)], {}, 1
        for op in ("Max", "Min", "Sum"):
            yield op, 13, [of(t, [number]) for number in (x, low, high)], {}, 1


def rows(t: int) -> Iterator[Call]:
    for row in (row for length in (1, 2, 3) for row in product(FEW, repeat=length)):
        x = of(t, row)
        for op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare"):
            yield op, 18, [x], {}, 1
        for op, last in product(("ArgMax", "ArgMin"), (0, 1)):
            yield op, 13, [x], {"select_last_index": last}, 1
        for largest in (0, 1):
            yield "TopK", 11, [x, of(T.INT64, [len(row)])], {"largest": largest}, 2
        yield "NonZero", 13, [x], {}, 1
        yield "Unique", 11, [x], {}, 4


def reported(call: Call) -> list[SymbolicTensor]:
    """The elements that the rule returns when all elements of the inputs are known."""
    op, version, inputs, attributes, outputs = call
    rule = standard_rules()[""].find(op, version)
    assert rule is not None
    facts = [None if x is None else _known(x) for x in inputs]
    found = rule(OpCall(op, facts, attributes, (True,) * outputs, version, context=Context()))
    return [fact for fact in found if isinstance(fact, SymbolicTensor)]


def _known(constant: Constant) -> SymbolicTensor:
    numbers = to_numbers(constant)
    assert numbers is not None
    return SymbolicTensor(
        DType(constant.data_type), numbers.shape, make_values(numbers.ravel().tolist(), numbers.shape)
    )


def judged(call: Call) -> list[list[Raw]]:
    """The results of the runtimes that have the operator."""
    op, version, inputs, attributes, outputs = call
    model = model_of(op, inputs, version, attributes, [T.UNDEFINED] * outputs)
    for value in model.graph.output:
        value.ClearField("type")
    return [results for results in (by_onnxruntime(model), by_reference(model)) if results is not None]


def elements_of(result: Raw) -> list[Any]:
    data_type, _, data = result
    assert isinstance(data, bytes)
    numbers = np.frombuffer(data, DType(data_type).dtype)
    return [number.item() for number in (numbers.astype(np.float64) if numbers.dtype.kind in "Vf" else numbers)]


def is_same(known: Any, number: Any) -> bool:
    if isinstance(known, bool) != isinstance(number, bool):
        return False
    if isinstance(number, float):
        # NaN and the zeros have texts of their own.
        return repr(float(known)) == repr(number)
    return bool(known == number)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("t", FLOATS, ids=lambda t: str(DType(t)))
@pytest.mark.parametrize("calls", [elementwise, clips, rows], ids=lambda calls: str(calls.__name__))
def test_what_is_known_of_special_floats_is_what_the_runtimes_compute(calls: Any, t: int) -> None:
    require_type(DType(t))
    tally: Counter[str] = Counter()
    for call in calls(t):
        theirs = judged(call)
        for at, fact in enumerate(reported(call)):
            for results in theirs if fact.values is not None else ():
                assert fact.values is not None
                for known, number in zip(fact.values.ravel().tolist(), elements_of(results[at]), strict=True):
                    if known is not None:
                        tally["known"] += 1
                        assert is_same(known, number), f"{_text(call)}: {known} is {number}"
        evaluated = ours_if_any(call[0], call[2], call[1], call[3], call[4])
        for results in theirs if evaluated is not None else ():
            assert evaluated is not None
            tally["evaluated"] += 1
            assert results == [raw(c) for c in evaluated], _text(call)
    assert tally["known"] > 500 and tally["evaluated"] > 100, tally


def _text(call: Call) -> str:
    op, version, inputs, attributes, _ = call
    return f"{op}-{version}({', '.join('-' if c is None else str(to_numbers(c)) for c in inputs)}) {attributes}"


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("row", [[1.76, NAN], [NAN, 1.76], [NAN, NAN]])
def test_a_row_with_nan_has_no_known_order(row: Sequence[float], largest: int) -> None:
    attributes: Mapping[str, Any] = {"largest": largest}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reported(("TopK", 11, [of(T.FLOAT, row), of(T.INT64, [1])], dict(attributes), 2))
    assert [fact.values for fact in found] == [None, None]
