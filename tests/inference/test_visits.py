"""Interpretation of a node around the call of its rule: failures, declarations, remembered sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer import infer
from gather_infer.inference.inference_driver import infer_with_shapes
from gather_infer.symbolic import Interval, symbol
from gather_infer.tensor import UNKNOWN, DType, SymbolicTensor, ValueRange
from tests.inference.models import model
from tests.oracle.soundness import Runtime

AXES, TERMS = 6, 8
WIDE = "x=[" + ", ".join(" + ".join(f"s{i}{j}" for j in range(TERMS)) for i in range(AXES)) + "]"
"""A product of these dims has 8^6 terms."""


@pytest.mark.parametrize("nodes", ["y = Flatten<axis = 0>(x)", "n = Size(x) y = Expand(x, n)", "y = Reshape(x, all)"])
def test_a_dim_that_is_too_large_leaves_the_node_unknown(nodes: str) -> None:
    named = ", ".join(f"float[s{i}{j}] x{i}{j}" for i in range(AXES) for j in range(TERMS))
    text = f"(float[a, b, c, d, e, f] x, {named}) => (y, z, w) {{ all = Constant<value_ints = [-1]>() {nodes} z = Relu(y) w = Relu(x) }}"
    found = infer(model(text, opset=18), inputs=[WIDE])
    (given_up,) = [d for d in found.diagnostics if d.code == "GI213"]
    assert (
        given_up.location is not None and given_up.location.op_type == nodes.split(" = ")[1].split("<")[0].split("(")[0]
    )
    assert found["w"] == found["x"] != UNKNOWN
    assert isinstance(found["z"], SymbolicTensor) and found["z"].shape is None


BRANCHES = """v = If(c) <
    then_branch = t () => (float[a] o) { o = Constant<value_floats = [1.0]>() },
    else_branch = e () => (float[a] p) { p = Constant<value_floats = [1.0, 2.0]>() }
>"""


@pytest.mark.parametrize(("other", "length"), [("int64", 2), ("int32", None)])
def test_a_condition_that_fails_decides_nothing(other: str, length: int | None) -> None:
    """Less(3, 2) takes the second branch; of numbers of two types it is an error, and the result is unknown."""
    text = f"(float[n] x) => (v) {{ a = Constant<value = int64 {{3}}>() b = Constant<value = {other} {{2}}>() c = Less(a, b) {BRANCHES} }}"
    found = infer(model(text, opset=18))
    assert [d.code for d in found.errors] == ([] if length else ["GI211"])
    fact = found["v"]
    assert isinstance(fact, SymbolicTensor) and fact.shape is not None
    assert fact.shape == (length,) if length else found.is_generated(fact.shape[0])


@pytest.mark.parametrize(("other", "is_decided"), [("int64", True), ("int32", False)])
def test_a_condition_on_sizes_that_fails_decides_nothing(other: str, is_decided: bool) -> None:
    text = f"""(float[n] x) => (v) {{
        s = Shape(x) q = Squeeze(s) b = Constant<value = {other} {{-1}}>() c = LessOrEqual(q, b) {BRANCHES} }}"""
    fact = infer(model(text, opset=18))["v"]
    assert isinstance(fact, SymbolicTensor)
    assert (fact.shape == (2,)) is is_decided


def stating(proto: onnx.ModelProto, info: onnx.ValueInfoProto) -> onnx.ModelProto:
    proto.graph.value_info.append(info)
    return proto


MYSTERY = "(float[n] x) => (y) { z = local.Mystery (x) y = Relu (z) }"
DECLARED: dict[str, tuple[onnx.ValueInfoProto, Any, Any]] = {
    # id: (what is declared of z, what is known of it, what is known of it without assumptions)
    "type and shape": (
        helper.make_tensor_value_info("z", TensorProto.FLOAT16, ["k", 3]),
        SymbolicTensor(DType.FLOAT16, (symbol("k"), 3)),
        SymbolicTensor(DType.FLOAT16),
    ),
    "type": (
        helper.make_tensor_value_info("z", TensorProto.DOUBLE, None),
        SymbolicTensor(DType.FLOAT64),
        SymbolicTensor(DType.FLOAT64),
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_of_an_unknown_node(name: str) -> None:
    info, assumed, certain = DECLARED[name]
    proto = stating(model(MYSTERY, domains=', "local" : 1'), info)
    assert infer(proto)["z"] == assumed
    found = infer(proto, assume=False)
    assert found["z"] == certain
    assert [b.type for b in found.trusted_annotations] == [certain]


def test_a_sequence_that_is_declared_is_not_taken_without_assumptions() -> None:
    info = helper.make_tensor_sequence_value_info("z", TensorProto.FLOAT, ["k", 3])
    proto = stating(model("(float[n] x) => (z) { z = local.Mystery (x) }", domains=', "local" : 1'), info)
    assert str(infer(proto)["z"]) != str(UNKNOWN) == str(infer(proto, assume=False)["z"])
    assert infer(proto, assume=False).trusted_annotations == ()


def test_what_agrees_with_what_is_declared_is_not_believed() -> None:
    proto = model("(float[n] x) => (y) { z = Neg(x) y = Relu(z) }")
    for assume in (True, False):
        found = infer(stating(proto, helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n"])), assume=assume)
        assert found.trusted_annotations == () and found["z"] == found["x"]


@pytest.mark.parametrize(("test", "rank"), [("Less(s, one)", 2), ("GreaterOrEqual(s, one)", 1), ("Less(s, two)", None)])
def test_a_branch_of_another_rank_is_taken_where_no_size_is_0(test: str, rank: int | None) -> None:
    """A size is less than 1 only where it is 0; whether it is less than 2 is unknown."""
    text = f"""(float[n] x, float[a, b] w) => (y) {{
        one = Constant<value_int = 1>() two = Constant<value_int = 2>()
        e = Shape(x) s = Squeeze(e) c = {test}
        y = If(c) <then_branch = t () => (float[p] o) {{ o = Neg(x) }}, else_branch = f () => (float[p, q] o2) {{ o2 = Neg(w) }}> }}"""
    proto = model(text, opset=18)
    found = infer(proto)
    fact = found["y"]
    assert isinstance(fact, SymbolicTensor) and fact.rank == rank
    assert [str(a) for a in found.assumptions] == (["n >= 1 (node If#5)"] if rank else [])
    certain = infer(proto, assume=False)["y"]
    assert isinstance(certain, SymbolicTensor) and certain.rank is None
    runtime = Runtime(proto)
    for n in (0, 1, 2, 5):
        feeds = {"x": np.ones(n, np.float32), "w": np.ones((2, 3), np.float32)}
        ran = runtime.run(feeds)["y"]
        assert rank is None or n == 0 or ran.ndim == rank


PADDED = "(float[N, M] x, int64[N] ids, float[4, 2] table) => (y, z) { s = Constant<value_ints = [-3]>() e = Constant<value_ints = [-1]>() y = Slice(x, s, e) z = Gather(table, ids) }"


@pytest.mark.parametrize("assume", [True, False])
def test_a_model_is_inferred_again_under_what_it_was_given(assume: bool) -> None:
    proto = model(PADDED, opset=18)
    first = infer(proto, dims=["N=1..9"], inputs=["x=[N, 7]"], ranges=["ids=0..3"], assume=assume)
    again = infer_with_shapes(first, {}, ())
    assert (again["y"], again["z"], again["ids"]) == (first["y"], first["z"], first["ids"])
    assert again.assumptions == first.assumptions and again.assume is assume
    assert again.declared.symbol_bounds("N") == Interval(1, 9)
    wider = infer_with_shapes(first, {"x": (symbol("Q") + 2, 7)}, (), ranges={"ids": ValueRange(0, symbol("N"))})
    found, ids = wider["x"], wider["ids"]
    assert isinstance(found, SymbolicTensor) and found.shape == (symbol("Q") + 2, 7)
    assert isinstance(ids, SymbolicTensor) and ids.value_range == ValueRange(0, symbol("N"))
    assert wider.assume is assume and wider.input_constraints is not None and "Q" in wider.input_constraints.known


@pytest.mark.parametrize("assume", [True, False])
def test_what_is_assumed_the_second_time_was_to_be_assumed(assume: bool) -> None:
    text = "(float[N] x) => (y) { v0 = Constant<value_ints = [0]>() s = Shape(x) m = Neg(s) e = Constant<value_ints = [1]>() y = Slice(x, m, e, v0) }"
    first = infer(model(text, opset=18), assume=assume)
    for found in (first, infer_with_shapes(first, {}, ())):
        assert [str(a) for a in found.assumptions] == (["N >= 1 (node Slice#4)"] if assume else [])
