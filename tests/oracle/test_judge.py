"""Runs that the judge of random graphs attributes to an error of the runtime, and runs that it does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from tests.oracle.graph_builder import Input, session
from tests.oracle.optimized_graphs import differs, examine, has_more_to_do, rounding_session
from tests.oracle.runtime_faults import may_hide_a_fault


def parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "l": 1]> {text}')


def compared(before: str, after: str, feeds: dict[str, Any]) -> str:
    model = parsed(before)
    return differs(model, session(model), session(parsed(after)), feeds, {}, Counter())


@pytest.mark.parametrize("data", ["float", "bool", "never", "zero", "index", "count"])
@pytest.mark.parametrize("dims", [(), (3,)])
def test_the_runtime_takes_what_it_is_fed(data: str, dims: tuple[int, ...]) -> None:
    given = Input("x", dims, data)
    model = parsed("g (float x) => (float y) { y = Identity(x) }")
    model.graph.input[0].CopyFrom(given.proto())
    model.graph.output[0].type.CopyFrom(given.proto().type)
    fed = given.feed({}, np.random.default_rng(0))
    assert np.array_equal(session(model).run(None, {"x": fed})[0], fed)


CONCAT = """g (float[3,N] x) => (float[A,B] y) {{ y = l.F(x) }} <domain: "l", opset_import: ["": 21]>
    F (x) => (y) {{ c = Constant<value = float[{0},2] {{{1}}}>() z = Concat<axis = 0>(x, c) y = Neg(x) }}"""


def test_an_empty_constant_in_a_function_may_hide_a_fault() -> None:
    """onnxruntime runs it with a wrong N."""
    values = {"x": np.ones((3, 6), np.float32)}
    model = parsed(CONCAT.format(0, ""))
    assert session(model).run(None, values)
    assert may_hide_a_fault(model, values)
    assert not may_hide_a_fault(parsed(CONCAT.format(1, "1, 2")), values)


LOOP = """g (float[1,N] x, int64[2] f, int64 n, bool c) => (int64[R] y, float[1,N] z) {{
    a = Loop(n, c) <body = b (int64 i, bool d) => (bool e, float[] v) {{ e = Identity(d) {} }}>
    y = Shape(a) z = {}(x) }}"""


def test_other_dims_of_a_loop_that_never_ran() -> None:
    feeds = {
        "x": np.ones((1, 6), np.float32),
        "f": np.array([1, 6]),
        "n": np.array(0),
        "c": np.array(True),
    }
    hidden, shown = LOOP.format("v = Reshape(x, f)", "Neg"), LOOP.format("v = Identity(x)", "Neg")
    first, second = (session(parsed(text)).run(None, feeds)[0].tolist() for text in (hidden, shown))
    assert first != second
    assert not compared(hidden, shown, feeds)
    assert compared(hidden, shown.replace("Neg", "Abs"), feeds)
    once = {**feeds, "n": np.array(1)}
    assert not compared(hidden, shown, once)
    wrong = LOOP.format("v = Concat<axis = 0>(x, x)", "Neg")
    assert compared(hidden, wrong, once)


def test_a_run_in_which_something_drawn_fails() -> None:
    text = """g (float[4,N] x) => (int64[K] y) <float h = {0.5}, bool t = {1}, int64 two = {2}> {
        d = Dropout(x, h, t) n = NonZero(d) y = Gather<axis = 1>(n, two) }"""
    model, feeds = parsed(text.replace("Dropout(x, h, t)", "Dropout<seed = 1>(x, h, t)")), {"x": np.ones((4, 9), "f4")}
    before = session(model)
    assert not differs(model, before, RuntimeError("out of bounds"), feeds, {}, Counter())
    plain = parsed(text.replace("Dropout(x, h, t)", "Identity(x)"))
    assert differs(plain, session(plain), RuntimeError("out of bounds"), feeds, {}, Counter())


def test_bytes_of_runs_with_other_dims_than_there_may_be() -> None:
    before = parsed("g (float[4,N] x) => (float[A,B] y) <float[0,99] e = {}> { y = Concat<axis = 0>(x, e) }")
    after = parsed("""g (float[4,N] x) => (float[A,B] y) <int64[2] s = {4, 99}> {
        y = Expand(x, s) }""")
    assert not has_more_to_do(before, after, {"x": np.ones((4, 1), np.float32)}, {}, Counter())
    plain = parsed("g (float[4,N] x) => (float[A,B] y) { y = Neg(x) }")
    assert has_more_to_do(plain, after, {"x": np.ones((4, 1), np.float32)}, {}, Counter())


def test_rounding_that_the_runtime_leaves_out_is_no_difference() -> None:
    """Between Cast and Sub onnxruntime removes the Casts: it computes in float32."""
    decided = """g (float[N] x) => (float16[N] y) <float16 c = {14336}, bool t = {1}> { h = Cast<to = 10>(x)
        y = If(t) <then_branch = a () => (float16[N] z) { z = Sub(h, c) }, else_branch = b () => (float16[N] z)
        { z = Identity(h) }> }"""
    plain = "g (float[N] x) => (float16[N] y) <float16 c = {14336}> { h = Cast<to = 10>(x) y = Sub(h, c) }"
    feeds = {"x": np.linspace(1, 3, 2001, dtype=np.float32)}
    model = parsed(decided)
    assert compared(decided, plain, feeds)
    before, after = rounding_session(model), rounding_session(parsed(plain))
    assert not differs(model, before, after, feeds, {}, Counter())
    wrong = rounding_session(parsed(plain.replace("Sub", "Add")))
    assert differs(model, before, wrong, feeds, {}, Counter())


def test_an_empty_result_that_numpy_cannot_hold() -> None:
    text = f"g (float[N] x) => (float[A,B,C] y) <int64[3] s = {{0, {2**40}, {2**40}}}> {{ y = ConstantOfShape(s) }}"
    counts: Counter[str] = Counter()
    runtime = session(parsed(text))
    assert not differs(parsed(text), runtime, runtime, {"x": np.ones(3, np.float32)}, {}, counts)
    assert counts == {"results that numpy cannot hold": 1}


def test_an_original_that_fails_only_with_more_outputs() -> None:
    """A Concat with an empty operand of other dims (a known fault) gives a size that depends on what is an output."""
    _, _, mismatches = examine(1570045085, 12, shrink=False)
    assert mismatches == []
