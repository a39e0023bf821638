# ruff: noqa: E501
"""Common subexpressions and duplicate constants."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer.passes import optimize
from tests.rewrites.table import Case, assert_same_runs, judge, model, rewritten

_MANY = " ".join(f"n{i} = LeakyRelu<alpha = 0.{i + 1}>(x)" for i in range(8, 32))
_MANY_NAMES = ", ".join(f"n{i}" for i in range(8, 32))
_ONES = ", ".join(["1"] * 65)

CASES = {
    "two nodes": Case(
        "common-subexpressions",
        "g (float[N] x) => (float[N] y) { a = Relu(x) b = Relu(x) y = Add(a, b) }",
        "g (float[N] x) => (float[N] y) { a = Relu(x) y = Add(a, a) }",
        near={
            "another attribute": "g (float[N] x) => (float[N] y) { a = LeakyRelu<alpha = 0.1>(x) b = LeakyRelu(x) y = Add(a, b) }",
            "another order": "g (float[N] x, float[N] z) => (float[N] y) { a = Sub(x, z) b = Sub(z, x) y = Add(a, b) }",
            "another operator": "g (float[N] x) => (float[N] y) { a = Relu(x) b = Neg(x) y = Add(a, b) }",
            "drawn anew": """g (float[N] x) => (float[N] y) {
                a = RandomUniformLike(x) b = RandomUniformLike(x) y = Add(a, b) }""",
            "drawn with a seed": """g (float[N] x) => (float[N] y) {
                a = RandomNormalLike<seed = 1.0>(x) b = RandomNormalLike<seed = 1.0>(x) y = Add(a, b) }""",
            "training": """g (float[N] x) => (float[N] y) <float r = {0.5}, bool t = {1}> {
                a = Dropout(x, r, t) b = Dropout(x, r, t) y = Add(a, b) }""",
            "an input left out": """g (float[N] x, float lo) => (float[N] y) {
                a = Clip(x, lo) b = Clip(x, "", lo) y = Add(a, b) }""",
            "another domain": "g (float[N] x) => (float[N] y) { a = Gelu(x) b = com.microsoft.Gelu(x) y = Add(a, b) }",
            "an output that only one of them has": """g (float[1, 1, N] x) => (float[1, 1, M] y, int64[1, 1, M] i) {
                a, i = MaxPool<kernel_shape = [1]>(x) b = MaxPool<kernel_shape = [1]>(x) y = Add(a, b) }""",
            "one of the other": "g (float[N] x) => (float[N] y) { a = Relu(x) y = Relu(a) }",
            "other bits": """g (float[N] x) => (float[N] y) <float s = {0.0}, float t = {-0.0}> {
                a = Add(x, s) b = Add(x, t) y = Sub(a, b) }""",
            "another shape": """g (float[1] x) => (float[1] y) <float s = {0.5}, float[1] t = {0.5}> {
                a = Add(x, s) b = Add(x, t) y = Sub(a, b) }""",
            "a default that a caller may override": """g (float[N] x, float t = {0.5}) => (float[N] y) <float s = {0.5}> {
                a = Add(x, s) b = Add(x, t) y = Sub(a, b) }""",
            "large constants, which are merged by another rule": f"""g (float[65] x) => (float[65] y) <float[65] s = {{{_ONES}}}, float[65] t = {{{_ONES}}}> {{
                a = Add(x, s) b = Add(x, t) y = Sub(a, b) }}""",
        },
    ),
    "constants of the same bits": Case(
        "common-subexpressions",
        "g (float[N] x) => (float[N] y) <float s = {0.5}, float t = {0.5}> { a = Add(x, s) b = Add(x, t) y = Sub(a, b) }",
        "g (float[N] x) => (float[N] y) <float s = {0.5}> { a = Add(x, s) y = Sub(a, a) }",
    ),
    "quantized twice": Case(
        "common-subexpressions",
        """g (float[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {0}, float t = {0.5}> {
             q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z) p = QuantizeLinear(x, t, z) b = DequantizeLinear(p, t, z) y = Add(a, b) }""",
        """g (float[N] x) => (float[N] y) <float s = {0.5}, uint8 z = {0}> {
             q = QuantizeLinear(x, s, z) a = DequantizeLinear(q, s, z) y = Add(a, a) }""",
    ),
    "weights that are dequantized twice": Case(
        "common-subexpressions",
        """g (float[N, 2] x) => (float[N, 2] y) <int8[2, 2] w = {1, 2, 3, 4}, float s = {0.5}, float t = {0.5}> {
             a = DequantizeLinear(w, s) b = DequantizeLinear(w, t) m = MatMul(x, a) y = MatMul(m, b) }""",
        """g (float[N, 2] x) => (float[N, 2] y) <int8[2, 2] w = {1, 2, 3, 4}, float s = {0.5}> {
             a = DequantizeLinear(w, s) m = MatMul(x, a) y = MatMul(m, a) }""",
    ),
    "chains": Case(
        "common-subexpressions",
        """g (float[N] x) => (float[N] y) {
             a = Relu(x) b = Relu(x) c = Neg(a) d = Neg(b) e = Abs(c) f = Abs(d) y = Add(e, f) }""",
        "g (float[N] x) => (float[N] y) { a = Relu(x) c = Neg(a) e = Abs(c) y = Add(e, e) }",
    ),
    "of a value that many read": Case(
        "common-subexpressions",
        f"g (float[N] x) => (float[N] y) {{ {_MANY} a = Relu(x) b = Relu(x) y = Sum(a, b, {_MANY_NAMES}) }}",
        f"g (float[N] x) => (float[N] y) {{ {_MANY} a = Relu(x) y = Sum(a, a, {_MANY_NAMES}) }}",
    ),
    "attributes in another order": Case(
        "common-subexpressions",
        """g (float[N, 3] x, float[3, 2] w) => (float[N, 2] y) {
             a = Gemm<alpha = 0.5, beta = 2.0>(x, w) b = Gemm<beta = 2.0, alpha = 0.5>(x, w) y = Add(a, b) }""",
        """g (float[N, 3] x, float[3, 2] w) => (float[N, 2] y) { a = Gemm<alpha = 0.5, beta = 2.0>(x, w) y = Add(a, a) }""",
    ),
    "one of them is an output": Case(
        "common-subexpressions",
        "g (float[N] x) => (float[N] y, float[N] b) { a = Relu(x) b = Relu(x) y = Neg(a) }",
        "g (float[N] x) => (float[N] y, float[N] b) { b = Relu(x) y = Neg(b) }",
    ),
    "several outputs": Case(
        "common-subexpressions",
        """g (float[N, 4] x) => (float[N, 2] y, float[N, 2] z) {
             a, b = Split<axis = 1, num_outputs = 2>(x) c, d = Split<axis = 1, num_outputs = 2>(x) y = Add(a, d) z = Sub(c, b) }""",
        """g (float[N, 4] x) => (float[N, 2] y, float[N, 2] z) {
             a, b = Split<axis = 1, num_outputs = 2>(x) y = Add(a, b) z = Sub(a, b) }""",
    ),
    "an inner node and an outer one": Case(
        "common-subexpressions",
        """g (float[N] x, bool c) => (float[N] y, float[N] z) {
             y = If (c) <then_branch = t () => (float[N] p) { r = Relu(x) p = Neg(r) },
                         else_branch = e () => (float[N] q) { q = Abs(x) }>
             a = Relu(x) z = Exp(a) }""",
        """g (float[N] x, bool c) => (float[N] y, float[N] z) {
             a = Relu(x)
             y = If (c) <then_branch = t () => (float[N] p) { p = Neg(a) },
                         else_branch = e () => (float[N] q) { q = Abs(x) }>
             z = Exp(a) }""",
        near={
            "in two branches": """g (float[N] x, bool c) => (float[N] y) {
                y = If (c) <then_branch = t () => (float[N] p) { r = Relu(x) p = Neg(r) },
                            else_branch = e () => (float[N] q) { s = Relu(x) q = Abs(s) }> }""",
            "the outer one reads another value": """g (float[N] x, int64 m) => (float[N] y) {
                a = Neg(x)
                k = Loop (m, "", a) <body = b (int64 i, bool d, float[N] p) => (bool e, float[N] q) {
                    e = Identity(d) q = Neg(p) }>
                y = Add(k, a) }""",
        },
        ranges={"m": (0, 3)},
    ),
    "constants, the second one an output": Case(
        "common-constants",
        "g (float[N] x) => (float[N] y, float[2] d) <float[2] c = {1, 2}, float[2] d = {1, 2}> { a = ReduceSum(c) b = ReduceSum(d) e = Add(x, a) y = Add(e, b) }",
        "g (float[N] x) => (float[N] y, float[2] d) <float[2] d = {1, 2}> { a = ReduceSum(d) b = ReduceSum(d) e = Add(x, a) y = Add(e, b) }",
    ),
    "constants": Case(
        "common-constants",
        "g (float[N] x) => (float[N] y) <float[2] c = {1, 2}, float[2] d = {1, 2}> { a = ReduceSum(c) b = ReduceSum(d) e = Add(x, a) y = Add(e, b) }",
        "g (float[N] x) => (float[N] y) <float[2] c = {1, 2}> { a = ReduceSum(c) b = ReduceSum(c) e = Add(x, a) y = Add(e, b) }",
        near={
            "another sign of zero": "g (float[N] x) => (float[N] y) <float c = {0}, float d = {-0.0}> { e = Add(x, c) y = Mul(e, d) }",
            "another type": "g (float[N] x) => (double[N] y) <float c = {0}, double d = {0}> { e = Add(x, c) f = Cast<to = 11>(e) y = Mul(f, d) }",
            "another shape": "g (float[N] x) => (float[N] y) <float c = {1}, float[1] d = {1}> { e = Add(x, c) y = Mul(e, d) }",
            "it can be overridden": "g (float[N] x, float d) => (float[N] y) <float c = {1}, float d = {1}> { e = Add(x, c) y = Mul(e, d) }",
            "two outputs": "g (float[N] x) => (float[N] y, float c, float d) <float c = {1}, float d = {1}> { e = Add(x, c) y = Mul(e, d) }",
            "quantization": """g (float[N] x) => (float[N] y) <float s = {0.5}, float t = {0.5}, uint8 z = {0}> {
                q = QuantizeLinear(x, s, z) r = DequantizeLinear(q, t, z) y = Relu(r) }""",
            "the first of a quantization": """g (float[N] x) => (uint8[N] y) <float s = {0.5}, float t = {0.5}, uint8 z = {0}> {
                a = Mul(x, t) y = QuantizeLinear(a, s, z) }""",
            "the second of a quantization": """g (float[N] x) => (uint8[N] y) <float t = {0.5}, float s = {0.5}, uint8 z = {0}> {
                a = Mul(x, t) y = QuantizeLinear(a, s, z) }""",
        },
    ),
    "nodes of constants": Case(
        "common-constants",
        """g (float[N] x) => (float[N] y) <float c = {1.5}> {
             a = Constant<value = float {1.5}>() b = Constant<value_float = 1.5>() e = Add(x, a) f = Mul(e, b) y = Sub(f, c) }""",
        "g (float[N] x) => (float[N] y) <float c = {1.5}> { e = Add(x, c) f = Mul(e, c) y = Sub(f, c) }",
    ),
    "a constant of a branch": Case(
        "common-constants",
        """g (float[N] x, bool c) => (float[N] y) <float k = {1.5}> {
             a = Add(x, k)
             y = If (c) <then_branch = t () => (float[N] p) <float l = {1.5}> { p = Mul(a, l) },
                         else_branch = e () => (float[N] q) { m = Constant<value = float {1.5}>() q = Sub(a, m) }> }""",
        """g (float[N] x, bool c) => (float[N] y) <float k = {1.5}> {
             a = Add(x, k)
             y = If (c) <then_branch = t () => (float[N] p) { p = Mul(a, k) },
                         else_branch = e () => (float[N] q) { q = Sub(a, k) }> }""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    judge(CASES[name])


@pytest.mark.parametrize("opset", (7, 9, 10, 11, 13, 14, 15, 18, 21))
def test_at_every_opset(opset: int) -> None:
    before = model(
        """g (float[N] x) => (float[N] y) <float c = {2}, float d = {2}> {
           a = Mul(x, c) b = Mul(x, d) e = Transpose(a) f = Transpose(b) y = Add(e, f) }""", opset)  # fmt: skip
    after = rewritten(before, "common-constants", "common-subexpressions")
    assert [n.op_type for n in after.graph.node] == ["Mul", "Transpose", "Add"]
    assert [t.name for t in after.graph.initializer] == ["c"]
    assert_same_runs(before, after, Case("", "", ""), 20)


def test_both_outputs_of_a_graph_stay() -> None:
    before = model("g (float[N] x) => (float[N] y, float[N] z) { y = Sin(x) z = Sin(x) }")
    after = rewritten(before, "common-subexpressions")
    assert [o.name for o in after.graph.output] == ["y", "z"]
    assert sorted(n.op_type for n in after.graph.node) in (["Identity", "Sin"], ["Sin", "Sin"])
    assert_same_runs(before, after, Case("", "", ""), 20)


def _weights(*arrays: np.ndarray) -> ModelProto:
    names = [f"w{at}" for at in range(len(arrays))]
    nodes, value = [], "x"
    for at, name in enumerate(names):
        nodes.append(helper.make_node("Add", [value, name], [f"v{at}"]))
        value = f"v{at}"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, arrays[0].shape) for n in ("x", value))
    tensors = [numpy_helper.from_array(array, name) for array, name in zip(arrays, names, strict=True)]
    return helper.make_model(
        helper.make_graph(nodes, "g", [x], [y], tensors), opset_imports=[helper.make_opsetid("", 21)], ir_version=10
    )


def test_large_weights_are_compared_as_a_whole() -> None:
    one = np.random.default_rng(0).standard_normal((600, 600)).astype("f4")
    other = one.copy()
    other[300, 300] += 1  # the ends are the same
    after = rewritten(_weights(one, other, one.copy(), other.copy()), "common-constants")
    assert [t.name for t in after.graph.initializer] == ["w0", "w1"]
    assert [n.input[1] for n in after.graph.node] == ["w0", "w1", "w0", "w1"]


def test_nans_are_equal_by_their_bits() -> None:
    nan, payload = (np.array([bits], "<u4").view("<f4") for bits in (0x7FC00000, 0x7FC00001))
    after = rewritten(_weights(nan, payload, nan.copy()), "common-constants")
    assert [t.name for t in after.graph.initializer] == ["w0", "w1"]


def test_external_weights(tmp_path: Path) -> None:
    one = np.random.default_rng(0).standard_normal((64, 64)).astype("f4")
    made = _weights(one, one.copy(), one + 1)
    stored = ModelProto()
    stored.CopyFrom(made)  # saving takes the weights out
    onnx.save_model(stored, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    result = optimize(tmp_path / "m.onnx")
    assert [n.input[1] for n in result.proto.graph.node] == ["w0", "w0", "w2"]
    result.save(tmp_path / "out.onnx", external_data="out.bin")
    assert_same_runs(made, onnx.load(tmp_path / "out.onnx"), Case("", "", ""), 5)


def test_initializers_that_are_the_same_are_merged_below_ir_4_with_their_inputs() -> None:
    """No runtime feeds them; from IR version 4 on a caller may override one alone."""
    made = _weights(np.ones(3, "f4"), np.ones(3, "f4"))
    made.ir_version = 3
    made.opset_import[0].version = 8
    for name in ("w0", "w1"):
        made.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, (3,)))
    after = optimize(made).proto.graph
    assert [value.name for value in after.input] == ["x", "w0"] and [t.name for t in after.initializer] == ["w0"]
    assert [node.input[1] for node in after.node] == ["w0", "w0"]
    made.ir_version = 4
    assert optimize(made).proto == made


def test_calls_of_functions_are_not_merged() -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "own": 1]>
        g (float[N] x) => (float[N] y) { a = own.f(x) b = own.f(x) y = Add(a, b) }
        <domain: "own", opset_import: ["": 21]> f (x) => (y) { y = RandomUniformLike(x) }"""
    made = onnx.parser.parse_model(text)
    assert optimize(made).proto == made


def test_weights_are_compared_to_their_ends() -> None:
    one = np.zeros((1200, 1000), "f4")
    other = one.copy()
    other[1150, 0] = 1  # past the first million, and not at the ends
    after = rewritten(_weights(one, other), "common-constants")
    assert [t.name for t in after.graph.initializer] == ["w0", "w1"]


def test_the_first_of_two_nodes_stays_and_nothing_moves() -> None:
    before = model("g (float[N] x) => (float[N] y) { a = Relu(x) b = Neg(a) c = Relu(x) y = Add(b, c) }")
    for node in before.graph.node:
        node.name = f"of {node.output[0]}"
    after = optimize(before).proto
    assert [node.name for node in after.graph.node] == ["of a", "of b", "of y"]


def test_constants_of_a_model_that_is_trained_stay_apart() -> None:
    """A training graph names those that it changes; the model after training is not known."""
    made = _weights(np.ones(3, "f4"), np.ones(3, "f4"))
    made.graph.initializer.append(numpy_helper.from_array(np.ones(2, "f4"), "trained"))
    info = made.training_info.add()
    info.algorithm.name = "a"
    info.update_binding.add(key="trained", value="new")
    assert optimize(made).proto == made


def test_constants_that_folding_has_made_are_compared_in_the_same_run() -> None:
    ones = ", ".join("1" * 70)
    made = model(
        f"""g (float[70] x) => (float[70] y) <float[70] a = {{{ones}}}, float[70] b = {{{ones.replace("1", "-1")}}}> {{
            c = Neg(a) d = Sub(b, a) e = Add(d, a) f = Mul(x, c) y = Add(f, e) }}"""
    )
    result = optimize(made)
    assert len(result.proto.graph.initializer) == 1
    assert not optimize(result.proto).applied


def test_equal_nodes_are_merged_before_one_of_them_is_rewritten() -> None:
    """A rule for the Unsqueeze would change the reduction that only it reads."""
    before = model(
        """g (float[N, 4] x) => (float[N, 1] y, float[N] z) <int64[1] a = {1}> {
            r = ReduceSum<keepdims = 0>(x, a) y = Unsqueeze(r, a) s = ReduceSum<keepdims = 0>(x, a) z = Neg(s) }"""
    )
    after = optimize(before).proto
    assert [node.op_type for node in after.graph.node] == ["ReduceSum", "Unsqueeze", "Neg"]


def test_onnxruntime_fuses_shared_dequantizations(tmp_path: Path) -> None:
    """As many operators on quantized numbers as without the rule."""
    made = model(
        """g (float[1, 2, 4, 4] x) => (uint8[1, 2, 4, 4] y, uint8[1, 2, 4, 4] z)
        <float s = {0.05}, uint8 p = {128}, int8 q = {0}, float v = {0.01}, int8[2, 2, 1, 1] w = {1, 2, 3, 4}> {
        a = QuantizeLinear(x, s, p) b = DequantizeLinear(a, s, p) c = DequantizeLinear(a, s, p)
        k = DequantizeLinear(w, v, q) l = DequantizeLinear(w, v, q)
        d = Conv(b, k) e = Conv<dilations = [2, 2]>(c, l) y = QuantizeLinear(d, s, p) z = QuantizeLinear(e, s, p) }""",
        17,
    )
    after = rewritten(made, "common-subexpressions")
    assert sum(node.op_type == "DequantizeLinear" for node in after.graph.node) == 2
    counts = []
    for each in (made, after):
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(tmp_path / "fused.onnx")
        onnxruntime.InferenceSession(each.SerializeToString(), options, providers=["CPUExecutionProvider"])
        counts.append(Counter(node.op_type for node in onnx.load(tmp_path / "fused.onnx").graph.node))
    assert counts[0] == counts[1] and counts[0]["QLinearConv"] == 2
