"""`fold_floats`: what a runtime evaluates, what stays, and that outputs are those of onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer.errors import UsageError
from gather_infer.passes import fold, optimize
from gather_infer.verification import verify
from tests.passes.folding_models import assert_same_outputs, model, ops, run, tensor
from tests.verification.models import absent_runtime, fake_runtime

W = "float[3] w = {0.1, -2.5, 7}, float[2, 3] m = {1.5, 2, 3, -4, 5, 6}"


def parsed(text: str, opset: int = 18) -> ModelProto:
    proto: ModelProto = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": {opset}]> {text}')
    return proto


def of(nodes: str, constants: str = W, result: str = "float[A, B]", opset: int = 18) -> ModelProto:
    """A model in which `c`, made of constants, is added to an input."""
    return parsed(f"g ({result} x) => ({result} y) <{constants}> {{ {nodes} y = Add(x, c) }}", opset)


FOLDED = {
    # id: (the nodes that make c, opset)
    "Exp": ("c = Exp(m)", 18),
    "a chain": ("a = Sin(m) b = Sqrt(w) d = Mul(a, b) c = Tanh(d)", 18),
    "MatMul": ("t = Transpose(m) c = MatMul(m, t)", 18),
    "Gemm": ("c = Gemm<transB = 1, alpha = 0.3>(m, m)", 18),
    "Softmax": ("c = Softmax<axis = 0>(m)", 18),
    "LayerNormalization": ("c, mean, inv = LayerNormalization(m, w)", 18),
    "an output left out": ("c, \"\", inv = LayerNormalization(m, w) ", 18),
    "ReduceMean": ("c = ReduceMean<keepdims = 1>(m)", 18),
    "ReduceMean of opset 11": ("c = ReduceMean<axes = [1]>(m)", 11),
    "Pow": ("e = Exp(w) c = Pow(e, w)", 18),
    "Erf": ("c = Erf(m)", 18),
    "an input left out": ("k = Exp(w) s = ReduceMax<keepdims = 0>(k) c = Clip(m, \"\", s)", 18),
    "Einsum": ("c = Einsum<equation = \"ij,kj->ik\">(m, m)", 18),
    "TopK": ("k = Constant<value_ints = [2]>() v, i = TopK(m, k) c = Exp(v)", 18),
    "of one size": ("n = Constant<value_int = 5>() c = HannWindow(n)", 18),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", FOLDED)
def test_the_outputs_are_those_of_onnxruntime(case: str) -> None:
    nodes, opset = FOLDED[case]
    made = of(nodes, opset=opset)
    feeds = {"x": np.ones((1, 1), np.float32)}
    plain, result = fold(made), fold(made, fold_floats=True)
    assert plain.floats is None and ops(plain.proto.graph)[0] != "Add"
    assert ops(result.proto.graph) == ["Add"]
    assert result.floats is not None and result.floats.runtime.startswith("onnxruntime 1.")
    assert result.floats.tolerance == 1e-5
    assert {str(n) for n in result.floats.nodes} == {str(d.node) for d in result.applied if d.rule == "fold-floats"}
    onnx.checker.check_model(result.proto, full_check=True)
    assert_same_outputs(made, result.proto, feeds)  # the same runtime, so even the bits are the same
    assert not fold(result.proto, fold_floats=True).applied
    assert ops(optimize(made, fold_floats=True).proto.graph) == ["Add"]


def test_conv_and_lstm() -> None:
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    constants = {"d": floats(1, 2, 5, 5), "k": floats(3, 2, 3, 3), "s": floats(4, 1, 3), "w": floats(1, 8, 3),
                 "r": floats(1, 8, 2)}  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["d", "k"], ["c"]),
        helper.make_node("LSTM", ["s", "w", "r"], ["", "h"], hidden_size=2),
        helper.make_node("Add", ["x", "c"], ["y"]),
        helper.make_node("Add", ["x", "h"], ["z"]),
    ]
    types = {"y": (TensorProto.FLOAT, None), "z": (TensorProto.FLOAT, None)}
    made = model(nodes, {"x": (TensorProto.FLOAT, [1])}, types, constants)
    result = fold(made, fold_floats=True)
    assert ops(result.proto.graph) == ["Add", "Add"]
    assert_same_outputs(made, result.proto, {"x": np.zeros(1, np.float32)})


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.DOUBLE])
def test_the_tolerance_is_that_of_the_type(kind: int) -> None:
    array = np.array([0.3, 2, -5]).astype(helper.tensor_dtype_to_np_dtype(kind))
    nodes = [helper.make_node("Softmax", ["c"], ["s"]), helper.make_node("Add", ["x", "s"], ["y"])]
    made = model(nodes, {"x": (kind, ["N", 3])}, {"y": (kind, ["N", 3])}, {"c": array})
    result = fold(made, fold_floats=True)
    assert result.floats is not None
    assert result.floats.tolerance == (1e-2 if kind == TensorProto.FLOAT16 else 1e-5)
    assert_same_outputs(made, result.proto, {"x": np.ones((2, 3), array.dtype)})


BODY = """g (bool b, float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> {
    y = If(b) <then_branch = t () => (float[3] p) { e = Exp(w) p = Add(x, e) },
               else_branch = f () => (float[3] q) { q = Sub(x, w) }> }"""


def test_in_a_branch() -> None:
    made = parsed(BODY)
    result = fold(made, fold_floats=True)
    assert ops(result.proto.graph.node[0].attribute[0].g) == ["Add"]
    for b in (True, False):
        assert_same_outputs(made, result.proto, {"b": np.array(b), "x": np.ones(3, np.float32)})


SCALES = f"{W}, float s = {{0.1}}, uint8 z = {{3}}, uint8[2, 3] v = {{1, 2, 3, 4, 5, 6}}"
KEPT = {
    # id: (nodes, constants, what is said of it)
    "exact": ("c = Relu(x)", W, ""),
    "an input that is no constant": ("e = Exp(x) c = Mul(e, m)", W, ""),
    "random": ("c = RandomNormalLike(m)", W, ""),
    "random, of a seed": ("c = RandomUniform<shape = [2, 3], seed = 1.0>()", W, ""),
    "coins": ("p = Abs(m) c = Bernoulli<seed = 1.0>(m)", W, ""),
    "dropout": ("r = Constant<value_float = 0.5>() t = Equal(r, r) c, k = Dropout<seed = 1>(m, r, t)", W, ""),
    "dequantized weights": ("c = DequantizeLinear(v, s, z)", SCALES, ""),
    "quantized and dequantized": ("q = QuantizeLinear(m, s, z) c = DequantizeLinear(q, s, z)", SCALES, ""),
    "what dequantized weights make": ("d = DequantizeLinear(v, s, z) p = Mul(d, m) c = Exp(p)", SCALES, ""),
    "an integer product of quantized weights": (
        "k = QLinearMatMul(v, s, z, u, s, z, s, z) c = DequantizeLinear(k, s, z)",
        f"{SCALES}, uint8[3, 1] u = {{1, 2, 3}}",
        "",
    ),
    "a size that elements decide": (
        "n = Constant<value_floats = [nan, 1.0]>() u = Unique(n) c = Exp(u)",
        W,
        "the size of its result is not known before",
    ),
    "another domain": ("c = own.Exp(m)", W, ""),
    "no kernel": ("h = Cast<to = 16>(m) e = Erf(h) c = Cast<to = 1>(e)", W, "no runtime evaluates it: "),
    "a cast without a result": ("n = Constant<value_floats = [nan]>() i = Cast<to = 6>(n) c = Cast<to = 1>(i)", W, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_kept(case: str) -> None:
    nodes, constants, reason = KEPT[case]
    made = of(nodes, constants)
    if "own." in nodes:
        made.opset_import.append(helper.make_opsetid("own", 1))
    result = fold(made, fold_floats=True)
    assert result.floats is None
    kept = [op for op in ops(made.graph) if op in ops(result.proto.graph)]
    assert not any(d.rule == "fold-floats" for d in result.applied) and kept
    said = [d.message for d in result.diagnostics if d.code == "GI401"]
    assert len(said) == bool(reason) and all(f"not folded: {reason}" in text for text in said)


def test_what_a_caller_may_override_is_no_constant() -> None:
    made = parsed("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { e = Exp(w) y = Add(x, e) }")
    assert not fold(made, fold_floats=True).applied


def test_the_budgets() -> None:
    square = np.ones((700, 700), np.float32)
    nodes = [helper.make_node("MatMul", ["a", "a"], ["c"], "product"), helper.make_node("Add", ["x", "c"], ["y"])]
    types = {"x": (TensorProto.FLOAT, [1])}, {"y": (TensorProto.FLOAT, None)}
    made = model(nodes, *types, {"a": square})
    result = fold(made, fold_floats=True, max_growth=1 << 30)
    assert not result.applied
    assert [d.message for d in result.diagnostics] == [
        f"not folded: it takes {2 * 700**2 + 700**3} operations, the budget is 268435456"
    ]
    made = model(nodes, *types, {"a": square[:300, :300]})
    grown = fold(made, fold_floats=True, max_growth=1000)
    assert not grown.applied
    assert [d.message for d in grown.diagnostics] == [
        "not folded: its result float32[300, 300] is past the budget of 1000 bytes"
    ]
    assert len(fold(made, fold_floats=True).applied) == 1


def test_names_of_the_rule() -> None:
    made = of("c = Exp(m)")
    assert not fold(made, fold_floats=True, skip=["fold-floats"]).applied
    assert len(fold(made, fold_floats=True, passes=["fold-floats"]).applied) == 1
    with pytest.raises(UsageError, match="it needs --fold-floats as well"):
        fold(made, passes=["fold-floats"])


def test_without_onnxruntime_the_reference_evaluator_does_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = of("s = Softmax(m) c = Erf(s)")
    with monkeypatch.context() as patched:
        absent_runtime(patched, tmp_path / "site")
        result = fold(made, fold_floats=True)
    assert result.floats is not None and result.floats.runtime == f"onnx's reference evaluator {onnx.__version__}"
    feeds = {"x": np.zeros((1, 1), np.float32)}
    np.testing.assert_allclose(run(result.proto, feeds)[0], run(made, feeds)[0], rtol=0, atol=result.floats.tolerance)


@pytest.mark.parametrize(("results", "said"), [
    ("[np.float32([[1, 2, 3]])]", "onnxruntime 0.0 returns float32[1, 3], not the inferred types"),
    ("[np.float64([[1, 2, 3], [4, 5, 6]])]", "onnxruntime 0.0 returns float64[2, 3], not the inferred types"),
    ("os.abort()", "no runtime evaluates it: the process ended by SIGABRT"),
])  # fmt: skip
def test_a_runtime_that_is_wrong(results: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_runtime(monkeypatch, tmp_path / "site", f"return {results}")
    result = fold(of("c = Exp(m)"), fold_floats=True)
    assert not result.applied
    assert [d.message for d in result.diagnostics] == [f"not folded: {said}"]


def test_verification_compares_with_the_tolerance() -> None:
    made = of("c = Exp(m)")
    result = fold(made, fold_floats=True)
    near, far = ModelProto(), ModelProto()
    for copy, factor in ((near, 1 + 1e-6), (far, 1 + 1e-3)):
        copy.CopyFrom(result.proto)
        (held,) = (t for t in copy.graph.initializer if t.name == "c")
        held.CopyFrom(tensor("c", (numpy_helper.to_array(held) * factor).astype(np.float32)))
    assert result.floats is not None
    for tolerance, after, ok in ((None, near, False), (1e-5, near, True), (1e-5, far, False)):
        found = verify(made, after, 2, inference=result.inference, rtol=tolerance, atol=tolerance)
        assert found.ok is ok, (tolerance, found)
