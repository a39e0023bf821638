"""Rewrites that are wrong in one way each: a few runs find every one, and what is right is verified."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper

from gather_infer.inference import infer
from gather_infer.verification import verify
from tests.verification.models import model, untyped, verified

WRONG = {
    # what is wrong: (the model, the rewritten model)
    "another axis": (
        "(float[N, N] x, int64[2] i) => (float[N, M] y) { y = Gather<axis=1>(x, i) }",
        "(float[N, N] x, int64[2] i) => (float[N, M] y) { z = Transpose(x) y = Gather<axis=1>(z, i) }",
    ),
    "a constant is off by one": (
        "(int64[N] x) => (int64[N] y) <int64 c = {3}> { y = Add(x, c) }",
        "(int64[N] x) => (int64[N] y) <int64 c = {4}> { y = Add(x, c) }",
    ),
    "only where a size is 0": (
        "(float[N] x) => (int64[1] y) { y = Shape(x) }",
        "(float[N] x) => (int64[1] y) <int64[1] c = {1}> { s = Shape(x) y = Max(s, c) }",
    ),
    "only where the second of four sizes is 0": (
        "(float[A, B, C, D] x) => (int64[1] y) { y = Shape<start=1, end=2>(x) }",
        "(float[A, B, C, D] x) => (int64[1] y) <int64[1] c = {1}> { s = Shape<start=1, end=2>(x) y = Max(s, c) }",
    ),
    "only where a size is 1": (
        "(float[N] x) => (int64[1] y) { y = Shape(x) }",
        """(float[N] x) => (int64[1] y) <int64[1] one = {1}, int64[1] two = {2}> {
            s = Shape(x) is = Equal(s, one) y = Where(is, two, s) }""",
    ),
    "only for a large size": (
        "(float[N] x) => (int64[1] y) { y = Shape(x) }",
        "(float[N] x) => (int64[1] y) <int64[1] c = {13}> { s = Shape(x) y = Min(s, c) }",
    ),
    "only where two sizes differ": (
        "(float[N, M] x) => (int64[1] y) { y = Shape<start=0, end=1>(x) }",
        "(float[N, M] x) => (int64[1] y) { y = Shape<start=1, end=2>(x) }",
    ),
    "only for -0.0": (
        "(float[N] x) => (float[N] y) <float z = {0.0}> { y = Add(x, z) }",
        "(float[N] x) => (float[N] y) { y = Identity(x) }",
    ),
    "only for NaN": (
        "(float[N] x) => (float[N] y) <float z = {0.0}> { is = Equal(x, x) y = Where(is, x, z) }",
        "(float[N] x) => (float[N] y) { y = Identity(x) }",
    ),
    "only for Inf and NaN": (
        "(float[N] x) => (float[N] y) { y = Sub(x, x) }",
        "(float[N] x) => (float[N] y) <float[1] z = {0.0}> { s = Shape(x) y = Expand(z, s) }",
    ),
    "only for negative indices": (
        "(float[9] x, int64[N] i) => (float[N] y) { y = Gather(x, i) }",
        "(float[9] x, int64[N] i) => (float[N] y) <int64 z = {0}> { j = Max(i, z) y = Gather(x, j) }",
    ),
    "the last index is clipped": (
        "(float[101] x, int64[N] i) => (float[N] y) { y = Gather(x, i) }",
        "(float[101] x, int64[N] i) => (float[N] y) <int64 c = {99}> { j = Min(i, c) y = Gather(x, j) }",
    ),
    "only past a number that the model has": (
        "(int64[N] i) => (int64[N] y) <int64 c = {1000}> { y = Min(i, c) }",
        "(int64[N] i) => (int64[N] y) { y = Identity(i) }",
    ),
    "only past the end of the type": (
        "(int64[N] i) => (int64[N] y) <int64 c = {2}> { a = Mul(i, c) y = Div(a, c) }",
        "(int64[N] i) => (int64[N] y) { y = Identity(i) }",
    ),
    "the component of a tuple": (
        "(float[5, 7] x, int64[N, 2] i) => (float[N] y) { y = GatherND(x, i) }",
        """(float[5, 7] x, int64[N, 2] i) => (float[N] y) <int64[2] c = {4, 5}> {
            j = Min(i, c) y = GatherND(x, j) }""",
    ),
    "a condition that is taken for true": (
        "(float[N] x, bool c) => (float[N] y) { n = Neg(x) y = Where(c, x, n) }",
        "(float[N] x, bool c) => (float[N] y) { y = Identity(x) }",
    ),
    "a default that is taken for a constant": (
        "(float[N] x, float c = {2.0}) => (float[N] y) { y = Mul(x, c) }",
        "(float[N] x, float c = {2.0}) => (float[N] y) { y = Add(x, x) }",
    ),
    "the values of two outputs are exchanged": (
        "(float[N] x) => (float[N] a, float[N] b) { a = Neg(x) b = Abs(x) }",
        "(float[N] x) => (float[N] a, float[N] b) { b = Neg(x) a = Abs(x) }",
    ),
    "another order of outputs": (
        "(float[N] x) => (float[N] a, float[N] b) { a = Neg(x) b = Abs(x) }",
        "(float[N] x) => (float[N] b, float[N] a) { a = Neg(x) b = Abs(x) }",
    ),
    "an input is gone": (
        "(float[N] x, float[N] z) => (float[N] y) { y = Neg(x) }",
        "(float[N] x) => (float[N] y) { y = Neg(x) }",
    ),
    "another element type": (
        "(float[N] x) => (double[N] y) { y = Cast<to=11>(x) }",
        "(float[N] x) => (float[N] y) { y = Identity(x) }",
    ),
    "another rank": (  # of outputs without a type
        "(float[N, 1] x) => (float y) { y = Identity(x) }",
        "(float[N, 1] x) => (float[N] y) <int64[1] a = {1}> { y = Squeeze(x, a) }",
    ),
    "it fails": (
        "(float[N, M] x) => (float[K] y) <int64[1] s = {-1}> { y = Reshape(x, s) }",
        "(float[N, M] x) => (float[K] y) <int64[1] s = {10}> { y = Reshape(x, s) }",
    ),
    "it is not loaded": (
        "(float[N] x) => (float[N] y) { y = Neg(x) }",
        "(float[N] x) => (float[N] y) { y = Negate(x) }",
    ),
    "texts": (
        '(string[N] x) => (string[M] y) <string[1] c = {"x"}> { y = Concat<axis=0>(x, c) }',
        '(string[N] x) => (string[M] y) <string[1] c = {"X"}> { y = Concat<axis=0>(x, c) }',
    ),
    "a type that numpy lacks": (
        "(bfloat16[N] x) => (bfloat16[N] y) { y = Identity(x) }",
        "(bfloat16[N] x) => (bfloat16[N] y) { f = Cast<to=1>(x) g = Abs(f) y = Cast<to=16>(g) }",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rewrite_is_found(name: str) -> None:
    before, after = (untyped(model(text)) if name == "another rank" else model(text) for text in WRONG[name])
    found = verified(before, after)
    assert found.mismatches and not found.ok, found
    assert all(str(mismatch) for mismatch in found.mismatches)


@pytest.mark.parametrize(
    "name",
    [
        "texts",
        "a type that numpy lacks",
        "only for -0.0",
        "only for negative indices",
        "a condition that is taken for true",
    ],
)
def test_a_model_is_verified_against_itself(name: str) -> None:
    proto = model(WRONG[name][0])
    found = verified(proto, proto, 4)
    assert found.ok and len(found.runs) == 4, found
    assert found.compared_outputs == tuple(o.name for o in proto.graph.output)
    assert (found.runtime, found.skipped, found.redraws) == ("onnxruntime", (), 0)


def test_what_a_mismatch_says() -> None:
    before = model("(float[N, 2] x) => (float[N, 2] y) <float[2] c = {0.0, 1.0}> { z = Mul(x, x) y = Mul(z, c) }")
    after = model("(float[N, 2] x) => (float[N, 2] y) <float[2] c = {-0.0, 1.0}> { z = Mul(x, x) y = Mul(z, c) }")
    found = verified(before, after, 1)
    (size,) = dict(found.runs[0].binding).values()
    assert [str(m) for m in found.mismatches] == [f"output y at N={size}: element [0, 0] is -0.0, was 0.0"]


def test_the_bits_of_a_nan_count() -> None:
    before = model("(float[N] x) => (float[N] y) <float z = {0.0}> { n = Mul(x, z) i = Div(n, n) y = Neg(i) }")
    after = model("(float[N] x) => (float[N] y) <float z = {0.0}> { n = Mul(x, z) y = Div(n, n) }")
    (mismatch,) = verified(before, after, 1).mismatches
    assert {mismatch.original, mismatch.rewritten} == {"nan (0x7fc00000)", "nan (0xffc00000)"}
    assert verified(before, after, 1, rtol=0.0).ok


def test_a_tolerance() -> None:
    before = model("(float[N] x) => (float[N] y) <float c = {3.0}> { y = Div(x, c) }")
    after = model("(float[N] x) => (float[N] y) <float c = {0.33333334}> { y = Mul(x, c) }")
    assert not verified(before, after).ok
    assert verified(before, after, rtol=1e-6, atol=1e-6).ok
    assert verified(before, after, rtol=1e-6, atol=1e-6).atol == 1e-6
    worse = model("(float[N] x) => (float[N] y) <float c = {0.3334}> { y = Mul(x, c) }")
    assert not verified(before, worse, rtol=1e-6, atol=1e-6).ok


def test_an_output_without_a_type_is_compared_by_what_a_run_gives() -> None:
    before = untyped(model("(int64[N] x) => (int64[N] y) { y = Identity(x) }"))
    after = untyped(model("(int64[N] x) => (int32[N] y) { y = Cast<to=6>(x) }"))
    (mismatch, *_) = verified(before, after).mismatches
    size = dict(mismatch.binding or ())["N"]
    assert mismatch.reason == f"is int32[{size}], was int64[{size}]"


def test_a_sequence_is_compared_member_by_member() -> None:
    before = model(
        "(seq(float[N]) x) => (float[M] y, seq(float[N]) z) { y = ConcatFromSequence<axis=0>(x) z = Identity(x) }"
    )
    found = verified(before, before, 4)
    assert found.ok and found.compared_outputs == ("y", "z")
    after = model(
        """(seq(float[N]) x) => (float[M] y, seq(float[N]) z) <int64 k = {0}> {
            y = ConcatFromSequence<axis=0>(x) first = SequenceAt(x, k) other = Neg(first)
            rest = SequenceErase(x, k) z = SequenceInsert(rest, other, k) }"""
    )
    mismatch = verified(before, after, 4).mismatches[0]
    assert mismatch.output == "z" and mismatch.index == (0, 0)


def test_an_optional_is_there_or_not() -> None:
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["N"]))
    node = helper.make_node("OptionalHasElement", ["x"], ["y"])
    output = helper.make_tensor_value_info("y", TensorProto.BOOL, [])
    graph = helper.make_graph([node], "g", [helper.make_value_info("x", kind)], [output])
    before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    after = type(before)()
    after.CopyFrom(before)
    after.graph.node.append(helper.make_node("Not", ["y_"], ["y"]))
    after.graph.node[0].output[0] = "y_"
    assert verified(before, before, 4).ok
    assert not verified(before, after, 4).ok


def test_sizes_keep_to_what_is_declared() -> None:
    proto = model(
        """(float[B, total] x, float[B, past] a, float[B, seq] b) => (float[B, M] y) {
            c = Concat<axis=1>(a, b) y = Add(x, c) }"""
    )
    dims = ("total=past+seq", "seq=2..5", "B=3")
    found = verified(proto, proto, 8, dims=dims)
    assert found.ok and found.redraws == 0
    sizes = [dict(run.binding) for run in found.runs]
    assert all(binding.keys() == {"past", "seq"} and 2 <= binding["seq"] <= 5 for binding in sizes)
    assert 0 in {binding["past"] for binding in sizes}


def test_sizes_meet_what_the_model_demands() -> None:
    proto = model(
        """(float[N] x, float[512, 2] t) => (float[N, 2] y) <int64 o = {0}, int64 s = {1}> {
            k = Shape(x) n = Squeeze(k) r = Range(o, n, s) y = Gather(t, r) }"""
    )
    found = verified(proto, proto, 4, dims=("N=300..",))
    assert found.ok and all(300 <= dict(run.binding)["N"] <= 512 for run in found.runs), found


def test_dims_without_a_name() -> None:
    proto = model("(float[?, 3] x) => (float[?, 3] y) { y = Neg(x) }")
    assert {name for run in verified(proto, proto, 2).runs for name, _ in run.binding} == {"x.0"}
    static = model("(float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }")
    found = verified(static, static, 2)
    assert found.ok and [run.binding for run in found.runs] == [(), ()]


def test_large_sizes_where_small_ones_do_not_run() -> None:
    proto = model(
        "(float[B, 1, H, W] x, float[2, 1, 20, 20] w) => (float[B, 2, A, C] y) { y = Conv<strides=[2, 2]>(x, w) }"
    )
    found = verified(proto, proto, 6)
    assert found.ok and len(found.runs) == 6 and found.redraws > 0
    assert all(dict(run.binding)["H"] >= 20 and dict(run.binding)["W"] >= 20 for run in found.runs)
    assert 1 in {dict(run.binding)["B"] for run in found.runs}


def test_the_same_seed_draws_the_same() -> None:
    proto = model("(float[N, M] x) => (float[N, M] y) { y = Neg(x) }")
    inference = infer(proto)
    first, again, other = (verify(proto, proto, 3, inference=inference, seed=seed).runs for seed in (1, 1, 2))
    assert first == again != other


def test_initializers_that_are_inputs_of_an_old_model_are_constants() -> None:
    proto = model("(float[N] x, float c = {2.0}) => (float[N] y) { y = Mul(x, c) }", opset=8, ir_version=3)
    assert infer(proto).inputs == ("x",)
    assert verified(proto, proto).ok
    after = model("(float[N] x, float c = {2.0}) => (float[N] y) { y = Add(x, x) }", opset=8, ir_version=3)
    assert verified(proto, after).ok
