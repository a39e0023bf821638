"""Verdicts on the rows of small models, and onnxruntime as the judge of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.parser import parse_model

from gather_infer import IndependenceVerdict, UsageError, independence
from gather_infer.inference import infer
from gather_infer.provenance.row_verdicts import default_axes, independence_of
from tests.oracle.row_independence import Feeds, judge, run_session
from tests.provenance.row_models import MIXED, OPEN, PROVED, RANDOM, model_text

NO_PLACE = "the output has no axis of the size of the rows"
SAME = "the drawn elements lead to the same branch or number of iterations"
LEAVES = "its index may leave the axis"
ONE_ROW = "its index is known to be in bounds for one row alone"
UNSEEN = {
    # mixed, but no run shows it: why
    "If: a branch that mixes": SAME,
    "Slice: up to an input": "its size depends on elements",
    "elementwise: rows with each other row": NO_PLACE,
    "Slice: some rows": NO_PLACE,
    "Concat: a row more": NO_PLACE,
    "Pad: rows": NO_PLACE,
    "reduction: rows inside of a merged axis": NO_PLACE,
    "Softmax: merged rows": NO_PLACE,
    "MatMul: rows with rows": NO_PLACE,
    "If: a condition of all rows": SAME,
    "Loop: until all rows are done": SAME,
    "Resize: rows": NO_PLACE,
    "Tile: rows repeated, then added to others": NO_PLACE,
    "merged axes in another order": NO_PLACE,
    "Slice: from the second row of two batches": NO_PLACE,
    "Concat: rows moved by two": NO_PLACE,
    "Concat: with the number of rows": NO_PLACE,
    "Reshape: the numbers of rows": NO_PLACE,
    "ScatterND: merged rows, another stride": NO_PLACE,
    "number of a row: in 8 bits": LEAVES,
    "Where: an offset in the row or above": LEAVES,
    "GatherND: tuples of which one has another row": ONE_ROW,
    "If: a branch that varies along a selected axis": SAME,
    "NonZero: three positions further": LEAVES,
}


def model_of(text: str) -> onnx.ModelProto:
    return parse_model(model_text(text))


def drawn(model: onnx.ModelProto, binding: Mapping[str, int], seed: int) -> Feeds:
    numbers = np.random.default_rng(seed)
    feeds: Feeds = {}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        shape = [binding[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
        match value.type.tensor_type.elem_type:
            case TensorProto.INT64:
                feeds[value.name] = numbers.integers(0, 2, shape)
            case TensorProto.BOOL:
                feeds[value.name] = numbers.integers(0, 2, shape).astype(bool)
            case _:
                feeds[value.name] = numbers.standard_normal(shape).astype(np.float32)
    return feeds


@pytest.mark.parametrize("name", PROVED)
def test_rows_are_proved_to_be_independent_and_a_runtime_agrees(name: str) -> None:
    model = model_of(PROVED[name])
    inference = infer(model)
    assert [d for d in inference.diagnostics if str(d.severity) == "error"] == []
    axes = default_axes(inference)
    result = independence_of(inference, axes)
    assert str(result) == "rows of B are independent: proved"

    def draw(binding: Mapping[str, int], seed: int) -> Feeds:
        return drawn(model, binding, seed)

    assert judge(result, axes, run_session(model.SerializeToString()), draw, {"B2": 3}) >= 6


@pytest.mark.parametrize("name", RANDOM)
def test_rows_are_independent_whatever_numbers_are_drawn(name: str) -> None:
    """The runtime gets the drawn numbers as an initializer."""
    model = model_of(RANDOM[name])
    inference = infer(model)
    result = independence_of(inference, default_axes(inference))
    assert str(result) == "rows of B are independent: proved"
    (node,) = (node for node in model.graph.node if "Random" in node.op_type or node.op_type == "Bernoulli")
    numbers = (
        np.random.default_rng(5)
        .random([dim for dim in inference.shape(node.output[0]) if isinstance(dim, int)])
        .astype(np.float32)
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(numbers, node.output[0]))
    model.graph.node.remove(node)

    def draw(binding: Mapping[str, int], seed: int) -> Feeds:
        return drawn(model, binding, seed)

    axes = default_axes(inference)
    assert judge(result, axes, run_session(model.SerializeToString()), draw, {}) >= 6


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MIXED)
def test_a_node_mixes_rows_and_a_run_shows_it(name: str) -> None:
    result = independence(model_of(MIXED[name]))
    cause = result.cause
    assert cause is not None and cause.mixes and cause.path and cause.node is not None
    assert (result.verdict is IndependenceVerdict.REFUTED) == (name not in UNSEEN), result
    assert bool(cause.run) == (name not in UNSEEN)


@pytest.mark.parametrize("name", [*MIXED, *OPEN])
def test_nothing_is_refuted_without_a_run(name: str) -> None:
    result = independence(model_of({**MIXED, **OPEN}[name]), run=False)
    assert result.verdict is IndependenceVerdict.OPEN
    assert result.cause is not None and result.cause.mixes == (name in MIXED)
    assert result.cause.reason


WRONG_ROWS: dict[str, tuple[Any, str]] = {
    "no such input": (["z.0"], "'z.0': expected input.axis, such as ids.0"),
    "no such axis": (["x.3"], "'x.3': input x is float32[B, 4, 6]"),
    "two axes of an input": (["x.0", "x.1"], "input x has rows along two axes"),
    "no axis": (["x"], "expected input.axis"),
}


@pytest.mark.parametrize(("rows", "message"), WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_axes_that_do_not_fit_are_refused(rows: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        independence(model_of("y = Relu(x)"), rows=rows)


def test_rows_need_a_dynamic_axis_or_a_name() -> None:
    text = "(float[2, 4] x) => y = Relu(x)"
    with pytest.raises(UsageError, match="name the axes of the rows"):
        independence(model_of(text))
    assert independence(model_of(text), rows=["x.0"]).verdict is IndependenceVerdict.PROVED
    with pytest.raises(UsageError, match="the number of rows is 1"):
        independence(model_of("(float[1, 4] x) => y = Relu(x)"), rows=["x.0"])
    with pytest.raises(UsageError, match="different sizes"):
        independence(model_of("(float[2, 4] x, float[3, 4] z) => y = Relu(x) w = Relu(z)"), rows=["x.0", "z.0"])


STATIC = {
    # of 2 rows beside another size of 2: the graph, and whether it is proved
    "heads of the same size": ("(float[2, 2, 3] x) => y = Softmax <axis = 1> (x)", True),
    "softmax over rows": ("(float[2, 2, 3] x) => y = Softmax <axis = 0> (x)", False),
    "merged and transposed": ("(float[2, 2, 3] x) => a = Reshape(x, s) t = Reshape(a, r) y = Softmax <axis = 1> (t) <int64[2] s = {4, 3}, int64[3] r = {2, 2, 3}>", True),
    "rows and heads exchanged": ("(float[2, 2, 3] x) => t = Transpose <perm = [1, 0, 2]> (x) y = Softmax <axis = 1> (t)", False),
    "a straddling Reshape": ("(float[2, 6] x) => y = Reshape(x, s) z = Softmax <axis = 1> (y) <int64[2] s = {3, 4}>", False),
    "a constant with equal rows": ("(float[2, 3] x) => y = Add(x, c) <float[2, 3] c = {1, 2, 3, 1, 2, 3}>", True),
    "a constant with other rows": ("(float[2, 3] x) => y = Add(x, c) <float[2, 3] c = {1, 2, 3, 1, 2, 4}>", False),
    "a constant along another axis of 2": ("(float[2, 2, 3] x) => y = Add(x, c) <float[2, 3] c = {1, 2, 3, 1, 2, 4}>", True),
    "MatMul of rows with rows": ("(float[2, 3] x) => t = Transpose <perm = [1, 0]> (x) y = MatMul(x, t)", False),
    "Gemm over rows": ("(float[2, 2] x) => y = Gemm <transA = 1> (x, c) <float[2, 2] c = {1, 2, 3, 4}>", False),
    "sorted rows": ("(float[2, 3] x) => y, i = TopK <axis = 0> (x, k) <int64[1] k = {2}>", False),
    "joined with other rows": ("(float[2, 3] x) => y = Concat <axis = 0> (x, c) <float[2, 3] c = {1, 2, 3, 4, 5, 6}>", False),
    "joined with rows along another axis": ("(float[2, 2] x) => m = ReduceMax <axes = [1], keepdims = 0> (x) r = Reshape(m, s) e = Expand(r, t) y = Concat <axis = 0> (x, e) <int64[2] s = {1, 2}, int64[2] t = {2, 2}>", False),
    "joined with a constant that repeats a row": ("(float[2, 3] x) => e = Expand(c, t) y = Concat <axis = 0> (e, x) <float[1, 3] c = {1, 2, 3}, int64[2] t = {2, 3}>", True),
    "the first row written": ("(float[2, 3] x) => y = ScatterElements <axis = 0> (x, i, c) <int64[2, 3] i = {0, 0, 0, 0, 0, 0}, float[2, 3] c = {1, 2, 3, 4, 5, 6}>", False),
    "a scale that keeps the size": ("(float[2, 2, 3] x) => y = Resize(x, , s) <float[3] s = {1.4, 1, 1}>", False),
    "a position that absorbs the rows": ("(float[2, 2, 3] x) => y = Reshape(x, s) z = Softmax <axis = 0> (y) <int64[2] s = {2, -1}>", False),
    "a branch with other rows": ("(float[2, 3] x) => y = If (q) <then_branch = t () => (float[2, 3] v) { v = Relu(x) }, else_branch = e () => (float[2, 3] w) { w = Identity(c) }> <float[2, 3] c = {1, 2, 3, 4, 5, 6}>", False),
    "a first branch with other rows": ("(float[2, 3] x) => y = If (q) <then_branch = t () => (float[2, 3] v) { v = Identity(c) }, else_branch = e () => (float[2, 3] w) { w = Relu(x) }> <float[2, 3] c = {1, 2, 3, 4, 5, 6}>", False),
    "rows as the values of OneHot": ("(float[2] x) => y = OneHot(i, d, x) <int64[3] i = {0, 1, 2}, int64 d = {3}>", False),
    "listed elements in a constant with equal rows": ("(float[2, 3] x) => k = Greater(x, z) n = NonZero(k) t = Transpose <perm = [1, 0]> (n) g = GatherND(x, t) y = ScatterND(c, t, g) <float z = {0}, float[2, 3] c = {1, 2, 3, 1, 2, 3}>", True),
    "listed elements in a constant with other rows": ("(float[2, 3] x) => k = Greater(x, z) n = NonZero(k) t = Transpose <perm = [1, 0]> (n) g = GatherND(x, t) y = ScatterND(c, t, g) <float z = {0}, float[2, 3] c = {1, 2, 3, 1, 2, 4}>", False),
    "normalized over all axes": ("(float[2, 3] x) => y = LayerNormalization <axis = 0> (x, c, c) <float[2, 3] c = {1, 2, 3, 1, 2, 3}>", False),
}  # fmt: skip


@pytest.mark.parametrize(("text", "is_proved"), STATIC.values(), ids=STATIC)
def test_a_fixed_number_of_rows_is_followed_by_position(text: str, is_proved: bool) -> None:
    result = independence(model_of(text), rows=["x.0"])
    assert (result.verdict is IndependenceVerdict.PROVED) == is_proved, result


def test_the_path_names_the_nodes_from_the_cause_to_the_output() -> None:
    text = "a = Relu(x) m = ReduceMean <axes = [0]> (a) s = Sub(x, m) y = Neg(s)"
    found = independence(model_of(text))
    assert found.cause is not None
    assert found.cause.path == ("ReduceMean#1", "Sub#2", "Neg#3")
    assert str(found) == (
        "rows of B are independent: refuted, output y: ReduceMean#1 (ReduceMean): it combines elements along the axis"
        " of the rows (ReduceMean#1 -> Sub#2 -> Neg#3)"
    )


FUNCTION = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[B, 4] x) => (float[B, 4] y) { y = local.F <axis = AXIS> (x) }
<domain: "local", opset_import: ["" : 17]>
F <axis> (a) => (b) { b = Softmax <axis: int = @axis> (a) }"""


@pytest.mark.parametrize(("axis", "is_proved"), [(1, True), (0, False)])
def test_functions_are_entered(axis: int, is_proved: bool) -> None:
    result = independence(parse_model(FUNCTION.replace("AXIS", str(axis))))
    assert (result.verdict is IndependenceVerdict.PROVED) == is_proved
