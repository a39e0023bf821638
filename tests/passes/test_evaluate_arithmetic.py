"""Arithmetic on constants, judged bit for bit by onnxruntime and by onnx's reference evaluator."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto as T

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant
from gather_infer.tensor import INTEGER_RANGE, DType
from tests.onnx_versions import has_onnx
from tests.passes.runtimes import (
    REFERENCE_RIGHT_SINCE,
    admitted,
    by_onnxruntime,
    by_reference,
    model_of,
    of,
    ours,
    raw,
    versions,
)

FLOATS = [
    -0.0, 0.0, 1.0, -1.0, 3.0, 0.1, -0.3, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-40, 6e-8, 65504.0, 3e38, float("inf"),
    float("-inf"), float("nan"),
]  # fmt: skip

BINARY: dict[str, tuple[int, list[dict[str, Any]]]] = {
    # operator: (first version that is evaluated, attributes to try)
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "Less"), (7, [{}])),
    **dict.fromkeys(("And", "Or", "Xor"), (7, [{}])),
    **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), (12, [{}])),
    **dict.fromkeys(("Min", "Max", "Sum"), (8, [{}])),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), (18, [{}])),
    "Mod": (10, [{}, {"fmod": 1}]),
    "BitShift": (11, [{"direction": "LEFT"}, {"direction": "RIGHT"}]),
}
UNARY: dict[str, tuple[int, list[dict[str, Any]]]] = {
    "Neg": (6, [{}]), "Abs": (6, [{}]), "Sign": (9, [{}]), "Sqrt": (6, [{}]), "Floor": (6, [{}]), "Ceil": (6, [{}]),
    "Round": (11, [{}]), "Not": (1, [{}]), "BitwiseNot": (18, [{}]), "IsNaN": (9, [{}]),
    "IsInf": (10, [{}, {"detect_negative": 0}, {"detect_positive": 0}]),
}  # fmt: skip
TO_BOOL = {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "IsNaN", "IsInf"}
NOTHING_KNOWN = {
    # operator: types of which nothing is exact
    "Pow": {T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16},
    "Mod": {T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16},
}
REFERENCE_DIFFERS = {
    "Sum": "it begins with 0: -0.0 + -0.0 is 0.0 there",
}


def extremes(data_type: int) -> list[Any]:
    """Numbers of a type at which operators go wrong."""
    if data_type == T.BOOL:
        return [False, True]
    if data_type == T.STRING:
        return [b"", b"a", b"ab"]
    if data_type in INTEGER_RANGE:
        low, high = INTEGER_RANGE[DType(data_type)]
        return sorted({low, low + 1, max(low, -7), max(low, -1), 0, 1, 2, 3, 7, 8, 31, high // 2, high - 1, high})
    return FLOATS


def many(data_type: int, count: int, seed: int) -> Any:
    """Random bits of a type; booleans are 0 or 1."""
    rng = np.random.default_rng(seed)
    if data_type == T.BOOL:
        return rng.integers(0, 2, count).astype(bool)
    probe = of(data_type, np.zeros(1))
    bits = np.frombuffer(rng.bytes(count * probe.bits.itemsize), probe.bits.dtype)
    return Constant(data_type, bits)


def stacked(constants: list[Constant]) -> Constant:
    return Constant(constants[0].data_type, np.concatenate([c.bits for c in constants]))


def judged(
    op: str, inputs: list[Constant | None], version: int, attributes: dict[str, Any], found: list[Constant]
) -> int:
    """Compare results with those of each runtime that has the operator; the number of these."""
    model = model_of(op, inputs, version, attributes, [c.data_type for c in found])
    expected = [raw(c) for c in found]
    judges = 0
    for runtime in (by_onnxruntime, by_reference):
        theirs = runtime(model)
        if theirs is not None:
            assert theirs == expected, f"{runtime.__name__}: {op} at {version}, {attributes}"
            judges += 1
    return judges


def elementwise_cases() -> list[tuple[str, int, int, dict[str, Any], int]]:
    return [
        (op, inputs, version, attributes, data_type)
        for inputs, table in ((1, UNARY), (2, BINARY))
        for op, (least, choices) in table.items()
        for version in versions(op, least)
        for attributes in choices
        for data_type in admitted(op, version)
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_every_element_is_that_of_the_runtimes(op: str) -> None:
    judges: Counter[int] = Counter()
    for case, inputs, version, attributes, data_type in elementwise_cases():
        if case != op:
            continue
        numbers = [of(data_type, [x]) for x in extremes(data_type)]
        known = []
        results = []
        for given in itertools.product(numbers, repeat=inputs):
            found = ours(op, given, version, attributes)
            if found is not None:
                known.append(given)
                results.append(found[0])
        if not known:
            assert data_type in NOTHING_KNOWN.get(op, ()), f"nothing known of {op} {DType(data_type)} at {version}"
            continue
        assert data_type not in NOTHING_KNOWN.get(op, ())
        columns: list[Constant | None] = [stacked([given[i] for given in known]) for i in range(inputs)]
        together = ours(op, columns, version, attributes)
        result = stacked(results)
        assert together is None or raw(together[0]) == raw(result)
        judges[judged(op, columns, version, attributes, [result])] += 1
    assert judges[1] + judges[2] > 0
    if has_onnx(REFERENCE_RIGHT_SINCE.get(op, "1.16")):
        assert judges[0] == 0, "something that no runtime has"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_long_random_tensors(op: str) -> None:
    """Runtimes have other code for many elements at once."""
    for case, inputs, version, attributes, data_type in elementwise_cases():
        if case != op or version not in (13, 18, 22) or data_type == T.STRING:
            continue
        columns = [many(data_type, 131, seed) for seed in range(inputs)]
        columns = [c if isinstance(c, Constant) else of(data_type, c) for c in columns]
        ones = [[Constant(data_type, c.bits[i : i + 1]) for c in columns] for i in range(131)]
        found = [ours(op, given, version, attributes) for given in ones]
        keep = [i for i, f in enumerate(found) if f is not None]
        if keep:
            kept: list[Constant | None] = [Constant(data_type, c.bits[keep]) for c in columns]
            results = stacked([f[0] for f in found if f is not None])
            judged(op, kept, version, attributes, [results])


SHAPES: dict[str, Any] = {
    "scalars": ((), ()),
    "none": ((0,), (1,)),
    "none of some": ((2, 0), (1,)),
    "rows and columns": ((2, 1), (3,)),
    "more axes": ((3,), (2, 1, 3)),
}


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("op", [op for op in BINARY if op not in ("And", "Or", "Xor", "Pow", "Sum")])
def test_shapes(op: str, shapes: str) -> None:
    data_type = T.FLOAT if op == "Sum" else T.UINT32
    inputs: list[Constant | None] = [
        of(data_type, np.arange(1, 1 + int(np.prod(shape))).reshape(shape)) for shape in SHAPES[shapes]
    ]
    attributes = BINARY[op][1][0]
    found = ours(op, inputs, 18, attributes)
    assert found is not None
    assert judged(op, inputs, 18, attributes, found) > 0


UNKNOWN: dict[str, Any] = {
    # id: (operator, version, attributes, inputs)
    "no divisor": ("Div", 14, {}, [of(T.INT32, [1]), of(T.INT32, [0])]),
    "quotient out of range": ("Div", 14, {}, [of(T.INT32, [-(2**31)]), of(T.INT32, [-1])]),
    "no remainder": ("Mod", 13, {}, [of(T.INT64, [1]), of(T.INT64, [0])]),
    "remainder of the least": ("Mod", 13, {"fmod": 1}, [of(T.INT8, [-128]), of(T.INT8, [-1])]),
    "magnitude of the least": ("Abs", 13, {}, [of(T.INT32, [-(2**31)])]),
    "NaN": ("Sub", 13, {}, [of(T.FLOAT, [np.inf]), of(T.FLOAT, [np.inf])]),
    "NaN passed on": ("Neg", 13, {}, [of(T.FLOAT, [np.nan])]),
    "two zeros": ("Max", 13, {}, [of(T.FLOAT, [-0.0]), of(T.FLOAT, [0.0])]),
    "sum of three": ("Sum", 13, {}, [of(T.FLOAT, [1.0])] * 3),
    "power of floats": ("Pow", 13, {}, [of(T.FLOAT, [2.0]), of(T.FLOAT, [2.0])]),
    "power past float64": ("Pow", 13, {}, [of(T.INT64, [3]), of(T.INT64, [39])]),
    "power past the type": ("Pow", 13, {}, [of(T.INT32, [2]), of(T.INT32, [31])]),
    "negative power": ("Pow", 13, {}, [of(T.INT32, [2]), of(T.INT32, [-1])]),
    "shift past the end": ("BitShift", 11, {"direction": "LEFT"}, [of(T.UINT8, [1]), of(T.UINT8, [8])]),
    "sum past the type": ("ReduceSum", 13, {}, [of(T.INT32, [2**31 - 1, 1])]),
    "sum past float64": ("ReduceSum", 13, {}, [of(T.INT64, [2**60, 1])]),
    "sum of floats": ("ReduceSum", 13, {}, [of(T.FLOAT, [1.0, 2.0])]),
    "largest of none": ("ReduceMax", 13, {}, [of(T.INT32, [])]),
    "unsorted": ("TopK", 11, {"sorted": 0}, [of(T.INT32, [1, 2]), of(T.INT64, [1])]),
    "range without a step": ("Range", 11, {}, [of(T.INT32, 0), of(T.INT32, 5), of(T.INT32, 0)]),
    "range of fractions": ("Range", 11, {}, [of(T.FLOAT, 0.0), of(T.FLOAT, 1.0), of(T.FLOAT, 0.1)]),
    "range too long": ("Range", 11, {}, [of(T.INT64, 0), of(T.INT64, 2**40), of(T.INT64, 1)]),
    "crossed bounds": ("Clip", 13, {}, [of(T.INT32, [1]), of(T.INT32, 2), of(T.INT32, 1)]),
    "infinity without a bound": ("Clip", 13, {}, [of(T.FLOAT, [np.inf]), of(T.FLOAT, 0.5)]),
    "scalar to NonZero": ("NonZero", 13, {}, [of(T.INT32, 1)]),
    "none of many": ("OneHot", 11, {}, [of(T.INT64, []), of(T.INT64, 2**40), of(T.INT64, [0, 1])]),
    "negative index at 9": ("OneHot", 9, {}, [of(T.INT64, [-1]), of(T.INT64, 3), of(T.INT64, [0, 1])]),
    "types differ": ("Add", 14, {}, [of(T.INT32, [1]), of(T.INT64, [1])]),
    "text": ("Add", 14, {}, [of(T.STRING, [b"a"]), of(T.STRING, [b"b"])]),
    "bool that is neither": ("Not", 1, {}, [Constant(T.BOOL, np.array([2], "u1"))]),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_certain_is_not_known(case: str) -> None:
    op, version, attributes, inputs = UNKNOWN[case]
    assert ours(op, inputs, version, attributes) is None


VIOLATIONS: dict[str, Any] = {
    "broadcast": ("Add", 14, {}, [of(T.INT32, [1, 2]), of(T.INT32, [1, 2, 3])], r"\[2\], \[3\]"),
    "missing": ("Add", 14, {}, [of(T.INT32, [1])], "input 1 of Add is missing"),
    "axis": ("ArgMax", 13, {"axis": 1}, [of(T.INT32, [1])], r"axis = 1 is outside \[-1, 0\]"),
    "axes": ("ReduceSum", 13, {}, [of(T.INT32, [1]), of(T.INT64, [-2])], r"axis = -2 is outside \[-1, 0\]"),
    "axis of a sum": ("CumSum", 14, {}, [of(T.INT32, [1]), of(T.INT64, 1)], r"axis = 1 is outside \[-1, 0\]"),
    "too many": ("TopK", 11, {}, [of(T.INT32, [1]), of(T.INT64, [2])], r"k = 2 is outside \[0, 1\]"),
    "values": ("OneHot", 11, {}, [of(T.INT64, [1]), of(T.INT64, 3), of(T.INT64, [0])], r"has \[1\]"),
}


@pytest.mark.parametrize("case", VIOLATIONS)
def test_what_the_specification_forbids_is_refused(case: str) -> None:
    op, version, attributes, inputs, message = VIOLATIONS[case]
    with pytest.raises(SpecViolation, match=message):
        ours(op, inputs, version, attributes)
    assert by_onnxruntime(model_of(op, inputs, version, attributes, [inputs[-1].data_type])) is None
