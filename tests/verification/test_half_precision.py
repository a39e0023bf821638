# ruff: noqa: E501  (models as text)
"""Half precision: onnxruntime rounds some values only, and verification all of them."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import ModelProto

from gather_infer.inference import infer
from gather_infer.model import ModelFile
from gather_infer.verification.rounding import ROUNDED, rounded
from tests.verification.models import model, verified

BEFORE = "(float16[N] x) => (float16[N] y) { a = Mul(x, x) t = Cast<to=1>(a) u = Cast<to=10>(t) y = Add(u, x) }"
AFTER = "(float16[N] x) => (float16[N] y) { a = Mul(x, x) y = Add(a, x) }"


def bits(proto: ModelProto) -> bytes:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float16)
    return session.run(None, {"x": x})[0].tobytes()


def test_every_value_is_rounded() -> None:
    """Numpy, too, rounds each result to float16."""
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float16)
    expected = (x * x + x).tobytes()
    proto = model(AFTER)
    assert bits(proto) != expected, "onnxruntime has a kernel of float16 for each: the Identities are not needed"
    assert bits(rounded(ModelFile.from_proto(proto), infer(proto))) == expected


FUNCTION = """<ir_version: 10, opset_import: ["": 18, "f": 1]> g (float16[N] x) => (float16[N] y) { y = f.f(x) }
<opset_import: ["": 18], domain: "f"> f (x) => (y) { a = Mul(x, x) y = Add(a, x) }"""


def test_values_in_functions_and_bodies_are_rounded() -> None:
    import onnx.parser

    in_function = onnx.parser.parse_model(FUNCTION)
    in_body = model(
        "(float16[N] x) => (float16[N] y) <bool c = {1}> { y = If (c) <then_branch = t () => (float16[N] o) { a = Mul(x, x) o = Add(a, x) }, else_branch = e () => (float16[N] p) { p = Neg(x) }> }"
    )
    plain = model(AFTER)
    expected = bits(rounded(ModelFile.from_proto(plain), infer(plain)))
    for proto in (in_function, in_body):
        assert bits(rounded(ModelFile.from_proto(proto), infer(proto))) == expected


BRANCH = """<ir_version: 10, opset_import: ["": 18, "f": 1]> g (float16[N] x, bool c) => (float16[N] y, float[1] z)
    { y, z = f.f(x, c) }
    <opset_import: ["": 18], domain: "f"> f (x, c) => (y, z) { a = Mul(x, x) y = Add(a, x)
    z = If (c) <then_branch = t () => (float[1] o) <float[1] o = {2}> { }, else_branch = e () => (float[1] p)
    { v = Constant<value = float[1] {3}>() p = Neg(v) }> }"""


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch_of_a_function_that_returns_an_initializer(taken: bool) -> None:
    """onnx's inliner alone leaves a model that onnxruntime does not load."""
    import onnx.parser

    proto = onnx.parser.parse_model(BRANCH)
    session = ort.InferenceSession(rounded(ModelFile.from_proto(proto), infer(proto)).SerializeToString())
    x = np.ones(3, np.float16)
    y, z = session.run(None, {"x": x, "c": np.array(taken)})
    assert y.tolist() == [2, 2, 2] and z.tolist() == [2 if taken else -3]


def test_a_cast_that_changes_nothing_may_go() -> None:
    found = verified(model(BEFORE), model(AFTER))
    assert found.ok and ROUNDED in found.notes and found.runtime == "onnxruntime"


@pytest.mark.parametrize("to", [1, 11], ids=["float", "double"])
def test_a_value_that_is_no_longer_rounded_is_found(to: int) -> None:
    after = (
        f"(float16[N] x) => (float16[N] y) {{ f = Cast<to={to}>(x) a = Mul(f, f) b = Add(a, f) y = Cast<to=10>(b) }}"
    )
    assert not verified(model(AFTER), model(after)).ok


def test_bfloat16_that_onnxruntime_refuses_is_run_by_the_evaluator() -> None:
    before = model("(bfloat16[N] x) => (bfloat16[N] y) { a = Mul(x, x) i = Identity(a) y = Add(i, x) }")
    after = model("(bfloat16[N] x) => (bfloat16[N] y) { a = Mul(x, x) y = Add(a, x) }")
    found = verified(before, after)
    assert found.ok and found.runtime == "onnx's reference evaluator"
    assert any(note.startswith("onnxruntime does not load the original: ") for note in found.notes)
    wrong = model("(bfloat16[N] x) => (bfloat16[N] y) { a = Mul(x, x) y = Sub(a, x) }")
    assert not verified(before, wrong).ok
