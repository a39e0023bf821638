"""Reductions, searches and running sums, Range, OneHot and Clip on constants, judged bit for bit by the runtimes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from gather_infer.context import Context
from gather_infer.ir.constant import Constant
from gather_infer.ops import standard_rules
from gather_infer.rules import OpCall
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor, make_values
from tests.onnx_versions import has_onnx
from tests.passes.runtimes import (
    REFERENCE_RIGHT_SINCE,
    admitted,
    by_onnxruntime,
    by_reference,
    model_of,
    of,
    ours,
    ours_if_any,
    raw,
    versions,
)

Inputs = list["Constant | None"]


def agreed(op: str, inputs: Inputs, version: int, attributes: dict[str, Any], found: list[Constant]) -> int:
    """Compare with each runtime that has the operator; the number of these."""
    model = model_of(op, inputs, version, attributes, [c.data_type for c in found])
    theirs = [r for r in (by_onnxruntime(model), by_reference(model)) if r is not None]
    for results in theirs:
        assert results == [raw(c) for c in found], f"{op} at {version}, {attributes}, {[c and raw(c) for c in inputs]}"
    return len(theirs)


def data(data_type: int, shape: tuple[int, ...]) -> Constant:
    """Small numbers with ties; of floats infinities as well."""
    size = int(np.prod(shape))
    numbers = np.random.default_rng(size).integers(0, 2 if data_type == T.BOOL else 5, size)
    values: Any = numbers.astype(np.float64)
    if data_type in INTEGER_RANGE and INTEGER_RANGE[DType(data_type)][0] < 0:
        values = values - 2
    elif data_type not in INTEGER_RANGE and data_type != T.BOOL:
        values = np.array([-np.inf, -1.5, 0.25, 3.0, np.inf])[numbers]
    return of(data_type, values.reshape(shape))


SHAPES: tuple[tuple[int, ...], ...] = ((5,), (1,), (0,), (2, 3), (2, 0, 3), (3, 1, 4))
AXES: tuple[tuple[int, ...] | None, ...] = (None, (0,), (-1,), (0, -1))
REDUCTIONS = {"ReduceSum": 13, "ReduceProd": 18, "ReduceMax": 18, "ReduceMin": 18}
"""Operator: the version since which axes are an input."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op: str) -> None:
    judges: Counter[int] = Counter()
    for version in versions(op, 7):
        for data_type in admitted(op, version):
            for shape in SHAPES:
                for axes in AXES if len(shape) > 1 else AXES[:3]:
                    for attributes in ({}, {"keepdims": 0}, {"noop_with_empty_axes": 1}):
                        if "noop_with_empty_axes" in attributes and version < REDUCTIONS[op]:
                            continue
                        inputs: Inputs = [data(data_type, shape)]
                        given: dict[str, Any] = dict(attributes)
                        if axes is not None and version < REDUCTIONS[op]:
                            given["axes"] = list(axes)
                        elif axes is not None:
                            inputs.append(of(T.INT64, list(axes)))
                        found = ours(op, inputs, version, given)
                        if found is not None:
                            judges[agreed(op, inputs, version, given, found)] += 1
    assert judges[2] > 100


@pytest.mark.parametrize("axes", [None, []])
def test_no_axes_are_all_or_none(axes: list[int] | None) -> None:
    for noop in (0, 1):
        inputs: Inputs = [of(T.INT32, [[1, 2], [3, 4]]), None if axes is None else of(T.INT64, axes)]
        found = ours("ReduceSum", inputs, 13, {"noop_with_empty_axes": noop})
        assert found is not None
        assert raw(found[0]) == raw(of(T.INT32, [[1, 2], [3, 4]] if noop else [[10]]))
        assert agreed("ReduceSum", inputs, 13, {"noop_with_empty_axes": noop}, found) > 0


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_positions(op: str) -> None:
    judges: Counter[int] = Counter()
    for version in versions(op, 7):
        for data_type in admitted(op, version):
            for shape in SHAPES:
                for axis in (0, len(shape) - 1, -1):
                    for attributes in ({}, {"keepdims": 0}, {"select_last_index": 1}):
                        if "select_last_index" in attributes and version < 12:
                            continue
                        inputs: Inputs = [data(data_type, shape)]
                        found = ours(op, inputs, version, {**attributes, "axis": axis})
                        if found is not None:
                            judges[agreed(op, inputs, version, {**attributes, "axis": axis}, found)] += 1
    assert judges[2] > 100


def test_top_k() -> None:
    judges: Counter[int] = Counter()
    for version in versions("TopK", 9):
        for data_type in admitted("TopK", version):
            for shape in SHAPES:
                for axis in (0, -1):
                    for largest in (1, 0) if version >= 11 else (1,):
                        for k in {1, 2, shape[axis]}:
                            if not 0 < k <= shape[axis] or (axis == 0 and version < 10):
                                continue
                            inputs: Inputs = [data(data_type, shape)]
                            given = {"axis": axis} | ({"largest": largest} if version >= 11 else {})
                            if version < 10:
                                given["k"] = k
                            else:
                                inputs.append(of(T.INT64, [k]))
                            found = ours("TopK", inputs, version, given)
                            assert found is not None
                            judges[agreed("TopK", inputs, version, given, found)] += 1
    assert judges[2 if has_onnx(REFERENCE_RIGHT_SINCE["TopK"]) else 1] > 50
    assert judges[0] == 0 or not has_onnx(REFERENCE_RIGHT_SINCE["TopK"])


def test_running_sums() -> None:
    judges: Counter[int] = Counter()
    for version in versions("CumSum", 11):
        for data_type in (t for t in admitted("CumSum", version) if t in INTEGER_RANGE):
            high = INTEGER_RANGE[DType(data_type)][1]
            inputs_of = [data(data_type, shape) for shape in SHAPES] + [of(data_type, [high, high, 3, high])]
            for x in inputs_of:
                for axis in (0, -1):
                    for attributes in ({}, {"reverse": 1}, {"exclusive": 1}, {"exclusive": 1, "reverse": 1}):
                        inputs: Inputs = [x, of(T.INT64, axis)]
                        found = ours("CumSum", inputs, version, attributes)
                        assert found is not None
                        judges[agreed("CumSum", inputs, version, attributes, found)] += 1
    assert judges[2 if has_onnx(REFERENCE_RIGHT_SINCE["CumSum"]) else 1] > 50


def test_non_zero() -> None:
    judges: Counter[int] = Counter()
    for version in versions("NonZero", 9):
        for data_type in (t for t in admitted("NonZero", version) if t not in (T.STRING, T.COMPLEX64, T.COMPLEX128)):
            for x in [data(data_type, shape) for shape in SHAPES] + [of(data_type, [0, 1, 1, 0])]:
                found = ours("NonZero", [x], version)
                assert found is not None
                judges[agreed("NonZero", [x], version, {}, found)] += 1
    assert judges[0] == 0
    found = ours("NonZero", [of(T.FLOAT, [-0.0, np.nan, 1e-45])], 13)
    assert found is not None
    assert agreed("NonZero", [of(T.FLOAT, [-0.0, np.nan, 1e-45])], 13, {}, found) == 2


RANGES = [(0, 5, 1), (0, 5, 2), (5, 0, -2), (0, 0, 1), (3, 0, 1), (-3, 4, 3), (7, 8, 100)]


@pytest.mark.parametrize("values", RANGES)
def test_range(values: tuple[int, int, int]) -> None:
    for version in versions("Range", 11):
        for data_type in admitted("Range", version):
            inputs: Inputs = [of(data_type, x) for x in values]
            found = ours("Range", inputs, version)
            assert found is not None
            assert agreed("Range", inputs, version, {}, found) > 0


def test_one_hot() -> None:
    judges: Counter[int] = Counter()
    for version in versions("OneHot", 9):
        for index_type in admitted("OneHot", version):
            for value_type in admitted("OneHot", version, 2):
                if value_type == T.STRING:
                    values = of(T.STRING, [b"off", b"on"])
                elif value_type in (T.COMPLEX64, T.COMPLEX128):
                    values = of(value_type, [1j, 2])
                else:
                    values = of(value_type, [0, 1])
                for index in (0, [2, 0], [[0, 1, 7], [2, 2, 2]], np.zeros((0, 2))):
                    for axis in (-1, 0):
                        inputs: Inputs = [of(index_type, index), of(index_type, 3), values]
                        found = ours("OneHot", inputs, version, {"axis": axis})
                        assert found is not None
                        judges[agreed("OneHot", inputs, version, {"axis": axis}, found)] += 1
    assert judges[2 if has_onnx(REFERENCE_RIGHT_SINCE["OneHot"]) else 1] > 20
    negative: Inputs = [of(T.INT64, [-1, -3, -4, 3]), of(T.INT64, [3]), of(T.INT64, [5, 6])]
    found = ours("OneHot", negative, 11)
    assert found is not None
    assert agreed("OneHot", negative, 11, {}, found) > 0


def test_clip() -> None:
    judges: Counter[int] = Counter()
    for version in versions("Clip", 7):
        for data_type in admitted("Clip", version):
            for x in [data(data_type, shape) for shape in SHAPES]:
                for low, high in ((1, 2), (1, None), (None, 2), (None, None)):
                    inputs: Inputs = [x]
                    given: dict[str, Any] = {}
                    if version < 11:
                        given = {k: float(v) for k, v in (("min", low), ("max", high)) if v is not None}
                    else:
                        inputs += [None if b is None else of(data_type, b) for b in (low, high)]
                    found = ours("Clip", inputs, version, given)
                    if found is not None:
                        judges[agreed("Clip", inputs, version, given, found)] += 1
    assert judges[2] > 50


LARGE = (1 << 53) + 1
"""What float64 does not hold."""


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceSumSquare"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_sum_that_float64_does_not_hold_is_left_to_the_runtime(op: str, shape: tuple[int, ...]) -> None:
    """onnxruntime adds in float64 even where there is one element."""
    number = np.full(shape, LARGE, np.uint64)
    inputs: Inputs = [Constant(T.INT64, number)]
    for version in (11, 13, 18):
        assert ours_if_any(op, inputs, version, {}) is None
        rule = standard_rules()[""].find(op, version)
        assert rule is not None
        values = make_values([LARGE], shape)
        known = SymbolicTensor(DType.INT64, shape, values)
        (found,) = rule(OpCall(op, [known], {}, (True,), version, context=Context()))
        assert isinstance(found, SymbolicTensor) and (found.values is None or found.values.item() is None)
    theirs = by_onnxruntime(model_of(op, inputs, 18, {}, [T.INT64]))
    assert theirs is not None and theirs[0][2] != number.tobytes(), "then it can be folded"


@pytest.mark.parametrize("op", ["CumSum", "ReduceMax", "ReduceMin"])
def test_what_runtimes_keep_in_the_type_is_folded(op: str) -> None:
    inputs: Inputs = [Constant(T.INT64, np.array([LARGE], np.uint64))]
    if op == "CumSum":
        inputs.append(of(T.INT64, 0))
    found = ours(op, inputs, 14)
    assert found is not None and agreed(op, inputs, 14, {}, found) == 1 + has_onnx(
        REFERENCE_RIGHT_SINCE.get(op, "1.16")
    )
