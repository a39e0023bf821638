"""Nodes whose bodies read what stands behind them, functions that are called like operators, loops that are given up."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from gather_infer import infer
from gather_infer.inference.bodies import induction
from gather_infer.inference.topology import captures
from gather_infer.tensor import UNKNOWN, DType, SequenceType, SymbolicTensor
from gather_infer.validate import Kind, verdicts
from tests.inference.models import model
from tests.oracle.soundness import Runtime, compare

INNER = "If(c) <then_branch = t2 () => (float[e] o2) {{ o2 = {0} }}, else_branch = e2 () => (float[e] p2) {{ p2 = Neg(x) }}>"
READS = {
    # id: (the then_branch of an If, what it reads from outside)
    "at once": ("o = Neg(late)", {"late"}),
    "two graphs below": (f"o = {INNER.format('Neg(late)')}", {"c", "late", "x"}),
    "two graphs below, what the middle one has": (f"late2 = Neg(x) o = {INNER.format('Neg(late2)')}", {"c", "x"}),
    "as an output": ("", {"late"}),
}


def reading(nodes: str) -> onnx.ModelProto:
    out = "o" if nodes else "late"
    return model(
        f"""(float[N] x, bool c) => (y) {{
        y = If(c) <then_branch = t () => (float[d] {out}) {{ {nodes} }}, else_branch = e () => (float[d] p) {{ p = Neg(x) }}>
        late = Concat<axis = 0>(x, x) }}""",
        opset=18,
    )


@pytest.mark.parametrize("name", READS)
def test_a_body_that_reads_what_stands_behind_its_node(name: str) -> None:
    nodes, names = READS[name]
    proto = reading(nodes)
    assert captures(proto.graph.node[0].attribute[0].g) == names
    found = infer(proto)
    assert found.diagnostics == ()
    right = model("(float[N] x, bool c) => (y) { y = Neg(x) }", opset=18)
    del right.graph.node[:]
    right.graph.node.extend(reversed(proto.graph.node))
    assert found["y"] == infer(right)["y"] != UNKNOWN


@pytest.mark.parametrize(("kind", "dtype"), [("float", DType.FLOAT32), ("int64", None)])
def test_a_function_with_other_inputs_than_the_operator_of_its_name(kind: str, dtype: DType | None) -> None:
    """Nobody counts the inputs of the operator: what holds of both results is the element type, if it is the same."""
    text = f"""<ir_version: 8, opset_import: ["" : 18]> g (float[N] x, {kind}[N, 3] w) => (y) {{ y = Relu(x, w) }}
        <domain: "", opset_import: ["" : 18]> Relu (a, b) => (c) {{ c = Neg(b) }}"""
    found = infer(onnx.parser.parse_model(text))
    assert [d.code for d in found.diagnostics] == ["GI109"]
    assert found["y"] == SymbolicTensor(dtype)


GROWING = """(float[N] x, int64 m) => (y) { go = Constant<value = bool {1}>()
    y = Loop(m, go, x) <body = b (int64 i, bool k, float[A] s) => (bool k2, float[B] s2) {
        s2 = Concat<axis = 0>(s, x) k2 = Identity(k) }> }"""


@pytest.mark.parametrize(
    ("limit", "value", "rank", "dtype"),
    [
        ("MAX_RETRIES", 0, None, None),
        ("MAX_RETRIES", 1, None, None),
        ("MAX_RETRIES", 2, 1, DType.FLOAT32),
        ("MAX_TRIALS", 1, None, DType.FLOAT32),
        ("MAX_TRIALS", 2, 1, DType.FLOAT32),
    ],
)
def test_a_loop_that_is_given_up(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, rank: int | None, dtype: DType | None
) -> None:
    """Of its state nothing is said that does not hold in every run: its length is (m + 1)*N."""
    proto = model(GROWING, opset=18)
    monkeypatch.setattr(induction, limit, value)
    found = infer(proto)["y"]
    assert isinstance(found, SymbolicTensor) and (found.rank, found.dtype) == (rank, dtype)
    runtime = Runtime(proto)
    for n, m in ((0, 1), (3, 0), (3, 2)):
        ran = runtime.run({"x": np.ones(n, np.float32), "m": np.array(m)})
        assert ran["y"].shape == ((m + 1) * n,)
        assert compare(infer(proto), ran, {"N": n}).wrong == []


def test_a_function_is_not_followed_as_the_operator_of_its_name() -> None:
    """An Identity that negates: it is enough that x and -x are in bounds, and nobody knows what is needed."""
    text = """<ir_version: 8, opset_import: ["" : 18]> g (int64[N] x, float[9] table) => (z) { y = Identity(x) z = Gather(table, y) }
        <domain: "", opset_import: ["" : 18]> Identity (a) => (b) { b = Neg(a) }"""
    (found,) = verdicts(infer(onnx.parser.parse_model(text)))
    assert (found.kind, found.condition, found.tight) == (Kind.CONDITIONAL, "0 <= x < 9", False)


def test_a_function_that_is_called_like_an_operator_that_addresses() -> None:
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[9] table, int64[N] i) => (y, z) { y = Gather(table, i) z = Neg(y) }
        <domain: "", opset_import: ["" : 18]> Gather (a, b) => (c) { c = Expand(a, b) }"""
    found = infer(onnx.parser.parse_model(text))
    assert [d.code for d in found.diagnostics] == ["GI109"]
    assert found["z"] == SymbolicTensor(DType.FLOAT32)


@pytest.mark.parametrize(
    ("body", "rank"),
    [("r = NonZero(s2) f = Squeeze(r, v0) t = Cast<to = 1>(f)", 1), ("t = Concat<axis = 0>(s2, x)", 1)],
)
def test_a_state_of_one_rank_keeps_it(body: str, rank: int) -> None:
    """Its size is another one in each iteration, that nobody knows, or one that grows."""
    proto = model(
        f"""(float[N] x, int64 m) => (y) {{ v0 = Constant<value_ints = [0]>() go = Constant<value = bool {{1}}>()
        y = Loop(m, go, x) <body = b (int64 i, bool k, float[A] s2) => (bool k2, float[B] t) {{ {body} k2 = Identity(k) }}> }}""",
        opset=18,
    )
    inference = infer(proto)
    found = inference["y"]
    assert isinstance(found, SymbolicTensor) and (found.rank, found.dtype) == (rank, DType.FLOAT32)
    runtime = Runtime(proto)
    for n, m in ((0, 1), (3, 0), (3, 2)):
        x = np.arange(n, dtype=np.float32)
        assert compare(inference, runtime.run({"x": x, "m": np.array(m)}), {"N": n}).wrong == []


def test_members_of_no_known_type_stay_so() -> None:
    proto = model(
        """(float[N] x, int64 m, bool c, float[1] s) => (y) {
        y = Loop(m, c, s) <body = b (int64 i, bool k, seq(float[A]) t) => (bool k2, seq(float[A]) u) {
            u = Identity(t) k2 = Identity(k) }> }""",
        opset=18,
    )
    proto.graph.input[3].type.sequence_type.SetInParent()
    proto.graph.node[0].attribute[0].g.input[2].type.sequence_type.elem_type.Clear()
    found = infer(proto)["y"]
    assert isinstance(found, SequenceType) and found.element is None
