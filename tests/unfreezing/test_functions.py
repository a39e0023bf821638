"""`unfreeze` of models with functions: a call with an edited node is inlined, another one stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from gather_infer import diff, unfreeze
from tests.unfreezing.cases import SIZES, feeds_of, run

HEADER = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]> g '
LOCAL = '<domain: "local", opset_import: ["" : 18, "local" : 1]> '
SPLIT = LOCAL + "split (a) => (b) { s = Constant<value = int64[3] {2,2,-1}>() r = Reshape(a, s) b = Neg(r) }"
TWICE = LOCAL + "twice (a) => (b) { b = Add(a, a) }"
STEP = (
    LOCAL + "step <k: int = 1> (a, o) => (b, c) { n = local.twice(a) c = Softmax<axis: int = @k>(n) b = Identity(a) }"
)
BRANCH = (
    LOCAL + "branch (a, c) => (b) { s = Constant<value = int64[3] {2,2,-1}>() b = If(c) "
    "<then_branch = t () => (p) { n = Neg(a) p = Reshape(n, s) }, else_branch = e () => (p) { p = Reshape(a, s) }> }"
)
OUTER = LOCAL + "outer (a) => (b, c) { b = local.split(a) c = local.twice(a) }"

CASES = {
    "one of two calls is edited": (
        "(float[2,4] x, float[2,4] w) => (float[2,2,2] y, float[2,2,2] z) "
        "{ y = local.split(x) v = local.twice(w) z = local.split(v) }",
        (SPLIT, TWICE),
        "(float[batch,4] x, float[2,4] w) => (float[batch,2,2] y, float[2,2,2] z) <int64[3] s = {-1,2,2}> "
        "{ r = Reshape(x, s) y = Neg(r) v = Add(w, w) q = Reshape(v, s) z = Neg(q) }",
        ["split", "twice"],
    ),
    "calls without an edit, with attributes and names of their own": (
        "(float[2,4] x) => (float[2,2,2] y, float[2,4] z) <int64[3] s = {2,2,-1}> "
        "{ u, v = local.step<k=0>(x) p, q = local.step(x) y0 = Reshape(q, s) y = Neg(y0) z = Sub(v, u) }"
        .replace("<k=0>", "<k=1>"),
        (STEP, TWICE),
        "(float[batch,4] x) => (float[batch,2,2] y, float[batch,4] z) <int64[3] s = {-1,2,2}> "
        "{ n = Add(x, x) c = Softmax<axis=1>(n) y0 = Reshape(c, s) y = Neg(y0) z = Sub(c, x) }",
        ["step", "step"],
    ),
    "a function that is called twice and edited twice": (
        "(float[2,4] x) => (float[2,2,2] y) { a = local.split(x) u = Abs(x) b = local.split(u) y = Mul(a, b) }",
        (SPLIT,),
        "(float[batch,4] x) => (float[batch,2,2] y) <int64[3] s = {-1,2,2}> "
        "{ r = Reshape(x, s) a = Neg(r) u = Abs(x) q = Reshape(u, s) b = Neg(q) y = Mul(a, b) }",
        [],
    ),
    "a function that calls others, one of which is edited": (
        "(float[2,4] x) => (float[2,2,2] y, float[2,4] z) { y, z = local.outer(x) }",
        (OUTER, SPLIT, TWICE),
        "(float[batch,4] x) => (float[batch,2,2] y, float[batch,4] z) <int64[3] s = {-1,2,2}> "
        "{ r = Reshape(x, s) y = Neg(r) z = Add(x, x) }",
        ["twice"],
    ),
    "a branch in a function": (
        "(float[2,4] x, bool c) => (float[2,2,2] y) { y = local.branch(x, c) }",
        (BRANCH,),
        "(float[batch,4] x, bool c) => (float[batch,2,2] y) <int64[3] s = {-1,2,2}> { y = If(c) "
        "<then_branch = t () => (p) { n = Neg(x) p = Reshape(n, s) }, "
        "else_branch = e () => (q) { q = Reshape(x, s) }> }",
        [],
    ),
    "a call in a branch": (
        "(float[2,4] x, bool c) => (float[2,2,2] y, float[2,4] z) { y = If(c) "
        "<then_branch = t () => (float[2,2,2] p) { p = local.split(x) }, "
        "else_branch = e () => (float[2,2,2] q) { n = Abs(x) q = local.split(n) }> z = If(c) "
        "<then_branch = u () => (float[2,4] m) { m = local.twice(x) }, "
        "else_branch = v () => (float[2,4] o) { o = Abs(x) }> }",
        (SPLIT, TWICE),
        "(float[batch,4] x, bool c) => (float[batch,2,2] y, float[batch,4] z) <int64[3] s = {-1,2,2}> { y = If(c) "
        "<then_branch = t () => (p) { r = Reshape(x, s) p = Neg(r) }, "
        "else_branch = e () => (q) { n = Abs(x) r = Reshape(n, s) q = Neg(r) }> z = If(c) "
        "<then_branch = u () => (m) { m = Add(x, x) }, else_branch = v () => (o) { o = Abs(x) }> }",
        ["twice"],
    ),
}  # fmt: skip


def model_of(text: str, functions: tuple[str, ...] = ()) -> ModelProto:
    return onnx.parser.parse_model(HEADER + text + "".join(functions))


def called(proto: ModelProto) -> list[str]:
    names = {f.name for f in proto.functions}
    found = [n.op_type for n in proto.graph.node]
    found += [n.op_type for node in proto.graph.node for a in node.attribute for n in a.g.node]
    return sorted(name for name in found if name in names)


@pytest.mark.parametrize("name", CASES)
def test_calls_follow_the_size(name: str) -> None:
    text, functions, dynamic, calls = CASES[name]
    static, wanted = model_of(text, functions), model_of(dynamic)
    before = static.SerializeToString()
    result = unfreeze(static, ["x.0=batch"])
    assert not result.refused, result.why_refused
    assert static.SerializeToString() == before
    onnx.checker.check_model(result.proto, full_check=True)
    assert called(result.proto) == calls
    held = {f.name: {n.op_type for n in f.node} for f in result.proto.functions}
    assert set(calls) <= held.keys() and all(
        any(name in nodes for nodes in held.values()) for name in held.keys() - {*calls}
    )
    for function in result.proto.functions:
        assert function.SerializeToString() in [f.SerializeToString() for f in static.functions]
    for size in SIZES:
        feeds: dict[str, Any] = feeds_of(wanted, size, "batch")
        for condition in (False, True):
            given = {n: np.array(condition) if n == "c" else each for n, each in feeds.items()}
            given = {n: given[n][:2] if n == "w" else given[n] for n in given}
            for one, other in zip(run(wanted, given), run(result.proto, given), strict=True):
                np.testing.assert_array_equal(one, other)
    assert str(diff(static, result.proto, dims=result.freed, details=False).verdict) in ("proved", "runs")
    assert result.edits


def test_a_function_with_another_opset_is_not_inlined() -> None:
    other = SPLIT.replace('"" : 18', '"" : 17')
    result = unfreeze(model_of("(float[2,4] x) => (float[2,2,2] y) { y = local.split(x) }", (other,)), ["x.0=batch"])
    assert "calls a function of the model, which is not edited" in result.why_refused


def test_an_input_that_a_call_omits() -> None:
    function = LOCAL + (
        "f (a, lo, hi) => (b) { c = Clip(a, lo, hi) s = Constant<value = int64[3] {2,2,-1}>() b = Reshape(c, s) }"
    )
    text = "(float[2,4] x) => (float[2,2,2] y) <float hi = {0.5}> { y = local.f(x, , hi) }"
    result = unfreeze(model_of(text, (function,)), ["x.0=batch"])
    assert not result.refused, result.why_refused
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(3, 4) - 6}
    np.testing.assert_array_equal(run(result.proto, feeds)[0], np.minimum(feeds["x"], 0.5).reshape(3, 2, 2))


def test_a_call_with_a_value_that_an_edit_reads_stays_inlined() -> None:
    """The size behind the stride is read from a value inside the function."""
    function = LOCAL + (
        "f (a) => (b) { p = MaxPool<kernel_shape: ints = [1, 1], strides: ints = [2, 2]>(a) b = Neg(p) }"
    )
    text = (
        "(float[1,1,6,4] x) => (float[1,2,3,2] y) <float[1,1,3,2] k = {7,7,7,7,7,7}> "
        "{ b = local.f(x) y = Concat<axis=1>(b, k) }"
    )
    result = unfreeze(model_of(text, (function,)), ["x.2=height", "x.3=width"])
    assert not result.refused, result.why_refused
    onnx.checker.check_model(result.proto, full_check=True)
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 1, 9, 5)).astype(np.float32)}
    pooled = -feeds["x"][:, :, ::2, ::2]
    wanted = np.concatenate([pooled, np.full_like(pooled, 7)], 1)
    np.testing.assert_array_equal(run(result.proto, feeds)[0], wanted)


def test_outputs_that_are_inputs_or_given_twice() -> None:
    """onnxruntime does not load such a function, so that the rows are not compared."""
    function = LOCAL + "f (a) => (b, b, a) { s = Constant<value = int64[3] {2,2,-1}>() b = Reshape(a, s) }"
    text = "(float[2,4] x) => (float[2,2,2] y, float[2,2,2] z, float[2,4] w) { y, z, w = local.f(x) }"
    result = unfreeze(model_of(text, (function,)), ["x.0=batch"], verify=False)
    assert not result.refused, result.why_refused
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(3, 4)}
    split = feeds["x"].reshape(3, 2, 2)
    for found, wanted in zip(run(result.proto, feeds), (split, split, feeds["x"]), strict=True):
        np.testing.assert_array_equal(found, wanted)
