"""Sizes of the second model are computed for the runs in which the first one succeeds, and for no others."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gather_infer import DiffVerdict, diff
from tests.equality.runs import are_equal, outputs_of, proved
from tests.verification.models import model

CONSTANTS = "<int64[2] m = {-1, 4}, int64 zero = {0}, int64[1] minus = {-1}, int64[1] four = {4}, int64 five = {5}>"
ROW = "f = Gather<axis = 1>(x, zero)"
SHAPES = "sh = Shape(x) s = Shape<start = 1, end = 2>(x) r = Reshape(x, m) g = Relu(r)"
INFERRED = "q = Concat<axis = 0>(minus, s, four) y = Reshape(g, q)"
FIRST = f"(float[b, s, 4] x) => (y, f) {CONSTANTS} {{ {ROW} {SHAPES} y = Reshape(g, sh) }}"
SECOND = f"(float[b, s, 4] x) => (y, f) {CONSTANTS} {{ {SHAPES} {INFERRED} {ROW} }}"


def test_a_bound_that_the_first_model_implies_before_it_is_needed() -> None:
    """The first model reads row 0 of axis s, so s >= 1, and the Reshape to [-1, s, 4] is one to [b, s, 4]."""
    assert diff(model(FIRST), model(SECOND), runs=0).is_proved


def test_inputs_that_are_called_otherwise() -> None:
    renamed = SECOND.replace("float[b, s, 4] x", "float[rows, columns, 4] data").replace("(x", "(data")
    assert diff(model(FIRST), model(renamed), runs=0).is_proved


@pytest.mark.parametrize("given", [["s=2..9"], {"s": (2, 9)}, {"b": 3}])
def test_dims_that_are_given(given: list[str] | dict[str, object]) -> None:
    assert diff(model(FIRST), model(SECOND), dims=given, runs=0).is_proved


def test_a_type_that_the_caller_gives() -> None:
    assert diff(model(FIRST), model(SECOND), inputs={"x": "float32[n, m, 4]"}, runs=0).is_proved


def test_without_the_node_that_implies_the_bound() -> None:
    """At s = 0, the first model computes [b, 0, 4] or fails, and the second one may not."""
    before, after = (text.replace(ROW, "f = Relu(x)") for text in (FIRST, SECOND))
    assert diff(model(before), model(after), runs=0).verdict is DiffVerdict.UNKNOWN


def test_a_bound_that_only_the_second_model_implies() -> None:
    """The first model runs at s = 1 ... 5, where row 5 does not exist."""
    after = SECOND.replace(ROW, f"{ROW} h = Gather<axis = 1>(x, five)")
    found = diff(model(FIRST), model(after), runs=0)
    assert found.verdict is DiffVerdict.UNKNOWN and found.obligations


@pytest.mark.parametrize("recorded", ["s=0..3", "s=2", "s=4..6"])
def test_a_bound_that_the_second_file_records(recorded: str) -> None:
    """A file may record that it is for some sizes only: an obligation, also where it contradicts the first model."""
    first = model(FIRST.replace(ROW, "f = Gather<axis = 1>(x, five)"))
    second = model(SECOND.replace(ROW, "f = Gather<axis = 1>(x, five)"))
    assert diff(first, second, runs=0).is_proved
    entry = second.metadata_props.add()
    entry.key, entry.value = "gather_infer.dims", recorded
    assert not diff(first, second, runs=0).is_proved


def test_the_runs_agree() -> None:
    """The proof above holds in onnxruntime, at every small size."""
    import onnxruntime

    one, two = (
        onnxruntime.InferenceSession(model(text).SerializeToString(), providers=["CPUExecutionProvider"])
        for text in (FIRST, SECOND)
    )
    for b in (0, 1, 2, 3):
        for s in (1, 2, 5):
            x = np.arange(b * s * 4, dtype=np.float32).reshape(b, s, 4)
            for mine, its in zip(one.run(None, {"x": x}), two.run(None, {"x": x}), strict=True):
                np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize(
    ("mine", "its", "sentence"),
    [
        ("", "b=2..", "b is in [2, inf) in the second model"),
        ("", "b=..5", "b is in [0, 5] in the second model"),
        ("b=7..9", "b=..5", "b is in [0, 5] in the second model"),
        ("b=7..9", "b=5..9", ""),
    ],
)
def test_sizes_that_a_file_records(mine: str, its: str, sentence: str) -> None:
    """A file that records other sizes than the first one takes is an obligation, whichever bound it is."""
    first, second = (model("(float[b] x) => (y) { y = Neg(x) }") for _ in range(2))
    for proto, recorded in ((first, mine), (second, its)):
        if recorded:
            entry = proto.metadata_props.add()
            entry.key, entry.value = "gather_infer.dims", recorded
    found = diff(first, second, runs=0)
    assert found.obligations == ((sentence,) if sentence else ())
    assert found.is_proved == (not sentence)


WINDOWS = "a = Conv<strides = [4]>(x, k) y = Conv<strides = [8]>(a, w) n = Shape<end = 1>(x) h = Shape<start = 2>(x)"
LENGTH = {"quotients": "s = Add(h, three) q = Div(s, four) l = Div(q, eight)", "rounded up": "l = Div(h, eight)"}


@pytest.mark.parametrize(("length", "is_proved"), [("quotients", True), ("rounded up", False)])
def test_a_bound_of_a_maximum(length: str, is_proved: bool) -> None:
    """8 windows of 4 need 29 elements: then max(0, (h + 3)//4 - 8)//8 + 1 is (h + 3)//4//8."""
    inputs = "(float[b, 1, h] x, float[1, 1, 1] k, float[1, 1, 8] w) => (z)"
    numbers = "<int64[1] three = {3}, int64[1] four = {4}, int64[1] eight = {8}>"
    first = model(
        f"{inputs} {numbers} {{ {WINDOWS} l = Shape<start = 2>(y) t = Concat<axis = 0>(l, n) z = Reshape(y, t) }}"
    )
    second = model(f"{inputs} {numbers} {{ {WINDOWS} {LENGTH[length]} t = Concat<axis = 0>(l, n) z = Reshape(y, t) }}")
    assert diff(first, second, runs=0).is_proved is is_proved


@pytest.mark.parametrize(("operands", "is_equal"), [("w, k", True), ("w", False)])
def test_a_bound_that_follows_from_an_equation(operands: str, is_equal: bool) -> None:
    """The MatMul needs s == t + 1, so that the Reshape to [-1, s, 4] is one to [b, s, 4]. If s == t, it may be 0."""
    inputs = "(float[b, s, 4] x, float[3, s] u, float[t, 2] w, float[1, 2] k) => (y, f)"
    nodes = f"c = Concat<axis = 0>({operands}) f = MatMul(u, c) {SHAPES}"
    first = model(f"{inputs} {CONSTANTS} {{ {nodes} y = Reshape<allowzero = 1>(g, sh) }}")
    inferred = INFERRED.replace("Reshape(", "Reshape<allowzero = 1>(")
    second = model(f"{inputs} {CONSTANTS} {{ {nodes} {inferred} }}")
    assert proved(first, second) is is_equal
    different = 0
    for b, s, t in product((0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3)):
        feeds = {"x": np.arange(b * s * 4).reshape(b, s, 4), "u": np.ones((3, s)), "w": np.ones((t, 2))}
        feeds["k"] = np.ones((1, 2))
        outputs = outputs_of(first, feeds)
        if outputs is not None:
            others = outputs_of(second, feeds)
            different += others is None or not are_equal(outputs, others)
    assert bool(different) is not is_equal
