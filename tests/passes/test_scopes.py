# ruff: noqa: E501  (models as text)
"""Facts of one scope only: facts of a branch, names used by a subgraph or a training graph, persisted constraints."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from gather_infer.passes import optimize
from tests.passes.folding_models import assert_same_outputs


def parsed(text: str) -> ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "local": 1]> {text}')
    onnx.checker.check_model(made)
    return made


BRANCHES = {
    "a value of the branch stands for it": "p = Identity(nz) q = Neg(p)",
    "an If in the branch passes it on": """p = If (on) <then_branch = a () => (int64[K,L] u) { u = Identity(nz) }, else_branch = b () => (int64[R,S] v) { v = Neg(nz) }>
        q = Neg(p)""",
}


@pytest.mark.parametrize("what", BRANCHES)
def test_what_is_known_in_a_branch_is_not_known_around_it(what: str) -> None:
    """In the branch there are three elements, by its condition; outside of it the number is unknown."""
    made = parsed(
        f"""g (bool[N] m) => (int64[A,B] y, int64[1] w) <int64 three = {{3}}, int64 one = {{1}}, bool on = {{1}}> {{
            nz = NonZero(m) s = Shape(nz) d = Gather(s, one) c = Equal(d, three)
            y = If (c) <then_branch = t () => (int64[C,D] q) {{ {BRANCHES[what]} }}, else_branch = e () => (int64[E,F] r) {{ r = Abs(nz) }}>
            z = Shape<start = 1>(nz) w = Neg(z) }}"""
    )
    after = optimize(made)
    assert after.applied
    for trues in range(5):
        assert_same_outputs(made, after.proto, {"m": np.arange(5) < trues})


def test_what_is_known_of_a_node_in_a_branch_is_not_known_of_its_twin_around_it() -> None:
    """In the branch x is as long as z, for so the condition says, and so is their sum; around it x may be repeated."""
    made = parsed(
        """g (float[M] z, float[N] x) => (float[A] y, float[B] w) <int64[1] zero = {0}> {
            k = Shape(z) n = Shape(x) c = Equal(k, n) d = Squeeze(c)
            y = If (d) <then_branch = t () => (float[C] q) { p = Add(z, x) q = Neg(p) }, else_branch = e () => (float[E] r) { r = Abs(x) }>
            a = Add(z, x) b = Slice(a, zero, k) w = Exp(b) }"""
    )
    after = optimize(made)
    assert "op(x) == op(x), both read the same" in [done.law for done in after.applied]
    for one, other in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 5), (3, 1), (3, 3)):
        assert_same_outputs(made, after.proto, {"z": np.arange(one, dtype="f4"), "x": np.arange(other, dtype="f4")})


def test_a_name_that_a_branch_inside_passes_on_stays_when_the_one_around_it_goes() -> None:
    """onnx's checker refuses a branch without nodes; its evaluator runs it."""
    text = """g (float[N] x, bool b) => (float[N] y) <bool on = {1}> {
        y = If (on) <then_branch = t () => (float[N] q) {
            r = Abs(x) p = Identity(r)
            o = If (b) <then_branch = a () => (float[N] p) { }, else_branch = c () => (float[N] v) { v = Sqrt(x) }>
            q = Neg(o) }, else_branch = e () => (float[N] z) { z = Exp(x) }> }"""
    after = optimize(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')).proto
    assert [node.op_type for node in after.graph.node].count("If") == 1
    x = np.array([1, 4], "f4")
    for flag, expected in ((True, [-1, -4]), (False, [-1, -2])):
        (found,) = ReferenceEvaluator(after).run(None, {"x": x, "b": np.array(flag)})
        np.testing.assert_array_equal(found, np.array(expected, "f4"))


def test_what_a_branch_passes_on_is_made_before_it() -> None:
    """The Split stands where the last Slice was, so what reads it has to move behind it."""
    text = """g (float[6] x, bool b) => (float[C] y, float[4] z) <int64[1] o = {0}, int64[1] k = {2}, int64[1] e = {6}> {
        a = Slice(x, o, k) p = Neg(a)
        w = If (b) <then_branch = t () => (float[2] p) { }, else_branch = f () => (float[2] v) { v = Constant<value = float[2] {5, 6}>() }>
        y = Exp(w) c = Slice(x, k, e) z = Abs(c) }"""
    before = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    after = optimize(before).proto
    assert "Split" in [node.op_type for node in after.graph.node]
    for flag in (True, False):
        feeds = {"x": np.arange(6, dtype="f4"), "b": np.array(flag)}
        for old, new in zip(*(ReferenceEvaluator(each).run(None, feeds) for each in (before, after)), strict=True):
            np.testing.assert_array_equal(old, new)


def test_an_attribute_that_the_call_gives_is_not_its_default() -> None:
    """Once the data of the Gather are known, its shape is known but for the axis."""
    made = parsed(
        """g (float[N] x) => (int64[2] w) { w = local.F<axis = 1>(x) }
        <domain: "local", opset_import: ["": 21]> F <axis> (a) => (z) {
            k = Constant<value = int64[2] {4, 3}>() c = ConstantOfShape(k) n = Constant<value = int64[1] {0}>() i = Neg(n)
            g = Gather<axis: int = @axis>(c, i) z = Shape(g) }"""
    )
    after = optimize(made)
    assert after.applied
    (found,) = ReferenceEvaluator(after.proto).run(None, {"x": np.ones(3, "f4")})
    np.testing.assert_array_equal(found, [4, 1])


def test_a_sparse_constant_can_stand_for_its_identity() -> None:
    made = parsed(
        "g (float[3] x) => (float[3] y) { a = Identity(s) y = Add(x, a) }".replace("Identity(s)", "Identity(x)")
    )
    made.graph.node[0].input[0] = "s"
    values = numpy_helper.from_array(np.array([2], "f4"), "s")
    places = numpy_helper.from_array(np.array([1]), "s_indices")
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [3]))
    after = optimize(made).proto
    assert [node.op_type for node in after.graph.node] == ["Add"]
    assert_same_outputs(made, after, {"x": np.array([1, 2, 3], "f4")})


TRAINED = {
    "what is initialized": lambda info: info.initialization_binding.add(key="v", value="start"),
    "what is updated": lambda info: info.update_binding.add(key="v", value="next"),
    "what a training node reads": lambda info: info.algorithm.node.append(helper.make_node("Neg", ["v"], ["n"])),
}


@pytest.mark.parametrize("what", TRAINED)
def test_a_training_graph_goes_by_names(what: str) -> None:
    """No node of the main graph reads v, and v is what w is."""
    made = parsed("g (float[3] x) => (float[3] y) { y = Add(x, w) }".replace("w)", "x)"))
    made.graph.node[0].input[1] = "w"
    for name in ("w", "v"):
        made.graph.initializer.append(numpy_helper.from_array(np.ones(3, "f4"), name))
    info = made.training_info.add()
    info.algorithm.name = "a"
    info.initialization.name = "i"
    TRAINED[what](info)
    assert optimize(made).proto == made


RECORDED = {
    "nothing was edited": ("g (float[N] x) => (float[N] y) { y = Abs(x) }", False),
    "something was edited": ("g (float[N] x) => (float[N] y) { a = Identity(x) y = Abs(a) }", True),
    "something was edited before the last inference": (
        """g (float[N] x) => (float[N] y, int64 w) { w = local.F(x) y = Abs(x) }
        <domain: "local", opset_import: ["": 21]> F (a) => (r) { s = Constant<value_string = "s">() e = Equal(s, s) r = Cast<to = 7>(e) }""",
        True,
    ),
}


@pytest.mark.parametrize("what", RECORDED)
def test_what_edits_may_rest_on_is_recorded(what: str) -> None:
    text, is_recorded = RECORDED[what]
    made = parsed(text)
    result = optimize(made, dims=["N=1..4"])
    assert bool(result.proto.metadata_props) == is_recorded
    assert is_recorded or result.proto == made
    assert_same_outputs(made, result.proto, {"x": np.array([1, -2], "f4")})
